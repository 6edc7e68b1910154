"""The declared domains of the data sets that have no policy of their own: from their descriptions, not from the data.

Nursery and Mushroom: UCI's `.names` files. LendingClub has no description with domains: round numbers wide enough for
any loan of that lender; the bounds of `fico` are those of the score.
"""

from __future__ import annotations

from leafgate.kernel.schema import Column, Schema

NURSERY = """
parents usual pretentious great_pret
has_nurs proper less_proper improper critical very_crit
form complete completed incomplete foster
children 1 2 3 more
housing convenient less_conv critical
finance convenient inconv
social nonprob slightly_prob problematic
health recommended priority not_recom
class not_recom recommend very_recom priority spec_prior
"""
MERGED = {"recommend": "recommended", "very_recom": "recommended", "priority": "priority", "spec_prior": "priority"}
"""Three classes of Nursery's five; `not_recom` stays."""

MUSHROOM = """
class e p
cap-shape b c x f k s
cap-surface f g y s
cap-color n b c g r p u e w y
bruises t f
odor a l c y f m n p s
gill-attachment a d f n
gill-spacing c w d
gill-size b n
gill-color k n b h g r o p u e w y
stalk-shape e t
stalk-root b c u e z r ?
stalk-surface-above-ring f y k s
stalk-surface-below-ring f y k s
stalk-color-above-ring n b c g o p e w y
stalk-color-below-ring n b c g o p e w y
veil-type p u
veil-color n o w y
ring-number n o t
ring-type c e f l n p s z
spore-print-color k n b h r o u w y
population a c n s v y
habitat g l m p u w d
"""
LOANS = """
credit.policy 0 1
purpose all_other credit_card debt_consolidation educational home_improvement major_purchase small_business
int.rate [0, 0.3]
installment [0, 1000]
log.annual.inc [6, 16]
dti [0, 40]
fico [300, 850]
days.with.cr.line [0, 20000]
revol.bal [0, 1500000]
revol.util [0, 150]
inq.last.6mths [0, 50]
delinq.2yrs [0, 20]
pub.rec [0, 10]
not.fully.paid 0 1
"""


def schema(domains: str, target: str) -> Schema:
    """One column a line: its name, and its values or bounds."""
    lines = (line.split(" ", 1) for line in domains.strip().splitlines())
    return Schema(tuple(_column(name, domain, target) for name, domain in lines))


def _column(name: str, domain: str, target: str) -> Column:
    roles = frozenset({"class", "sensitive"} if name == target else {"quasi_identifier"})
    if domain.startswith("["):
        low, high = map(float, domain.strip("[]").split(","))
        return Column(name, roles, bounds=(low, high))
    return Column(name, roles, values=tuple(domain.split()))
