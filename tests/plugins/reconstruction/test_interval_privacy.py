"""Interval privacy, its loss, and the error of estimates, held against closed forms; and a whole audit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtri

from leafgate import InconclusiveError, PolicyError
from leafgate.api import (
    BuildResult,
    Column,
    Law,
    Noise,
    Release,
    ScoringContext,
    Table,
    TreeBuilder,
    UnreadableError,
    noise_with,
)
from leafgate.app import Report, Tables, audit_policy, document
from leafgate.testing import grant_knowledge
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.protection.metrics import Confidence, Exposure
from leafgate_plugins.reconstruction.attacks import BeDr, PcaDr, Posterior, SpectralFilter
from leafgate_plugins.reconstruction.metrics import (
    Interval,
    IntervalPrivacy,
    NormalisedRmse,
    PrivacyLoss,
    entropy_in,
    entropy_shared,
    interval,
)
from noise_laws import density
from random_tables import table_of
from scoring import score_of_release, scores_of_people
from shared_tables import case_of, mean_square_error, one_normal, secret_numbers, shared, shared_with_origins
from standins import finding, plugins_with, policy_with

NORMAL = ndtri((np.arange(50_000) + 0.5) / 50_000) * 10
EVEN = (np.arange(20_000) + 0.5) / 20_000 * 8


def number(bounds: tuple[float, float] | None, bins: tuple[float, ...] | None = None) -> Column:
    return Column("a", frozenset({"sensitive"}), bounds=bounds, bins=bins)


def of(numbers: np.ndarray, noise: Noise, column: Column | None = None) -> Interval:
    return interval(column or number(None), numbers, np.ones(len(numbers), dtype=np.int64), noise)


@pytest.mark.parametrize("snr", [0.5, 1.0, 1.3, 1.7, 10.0])
def test_the_loss_of_a_normal_column_is_one_minus_one_by_the_root_of_one_and_snr(snr: float) -> None:
    found = of(NORMAL, noise_with("gaussian", 100 / snr))
    assert found.loss == pytest.approx(1 - 1 / np.sqrt(1 + snr), abs=1e-3)
    assert found.before == pytest.approx(10 * np.sqrt(2 * np.pi * np.e), rel=0.01)
    assert found.after == pytest.approx(found.before / np.sqrt(1 + snr), rel=1e-3)


def test_the_loss_of_drawn_normal_numbers_is_so_too() -> None:
    drawn = np.random.default_rng(2).normal(0, 10, 200_000)
    assert of(drawn, Noise("gaussian", 10.0)).loss == pytest.approx(1 - 1 / np.sqrt(2), abs=2e-3)


@pytest.mark.parametrize("half", [0.5, 2.0, 4.0, 30.0])
def test_the_loss_of_an_even_column_under_even_noise_is_the_closed_form(half: float) -> None:
    """The sum of two uniform numbers, of widths L = 8 and 2a: h(W) = log max + min / (2 max) nats."""
    nats = np.log(max(8, 2 * half)) + min(8, 2 * half) / (2 * max(8, 2 * half)) - np.log(2 * half)
    found = of(EVEN, Noise("uniform", half), number((0, 8)))
    assert found.loss == pytest.approx(1 - np.exp(-nats), abs=1e-3)
    assert found.before == pytest.approx(8)


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_the_entropy_under_noise_is_that_of_a_quadrature(law: Law) -> None:
    numbers, share, noise = np.array([0.0, 1.0, 5.5]), np.array([0.2, 0.5, 0.3]), Noise(law, 1.3)

    def spread(w: float) -> float:
        here = float(share @ density(noise, w - numbers))
        return -here * np.log2(here) if here > 0 else 0.0

    jumps = np.sort(np.concatenate([numbers - 1.3, numbers + 1.3]))
    parts = [integrate.quad(spread, low, high, limit=500)[0] for low, high in pairwise([-15, *jumps, 20])]
    assert entropy_shared(numbers, share * 10, noise) == pytest.approx(sum(parts), abs=1e-6)


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_of_one_number_nothing_is_lost_and_of_two_far_apart_half(law: Law) -> None:
    assert of(np.full(9, 3.7), Noise(law, 2.0), number((0, 8))).loss == pytest.approx(0, abs=1e-9)
    assert of(np.array([0.3, 900.1]), Noise(law, 2.0)).loss == pytest.approx(0.5)


def test_the_entropy_in_bins_is_that_of_a_density_constant_in_each() -> None:
    """Half of the people evenly in [0, 4), half in [4, 5]: 2^h is the geometric mean of 8 and 2."""
    numbers, weight = np.array([1.0, 4.5, 5.0]), np.array([4.0, 3.0, 1.0])
    assert 2 ** entropy_in(numbers, weight, np.array([0.0, 4.0, 5.0])) == pytest.approx(4)
    assert of(numbers[:2], Noise("uniform", 1.0), number((0, 5), (0, 4, 5))).before == pytest.approx(4)


def test_people_of_one_record_count_each() -> None:
    noise, column = Noise("gaussian", 1.0), number((0, 8))
    weighed = interval(column, np.array([1.0, 6.0, np.nan]), np.array([3, 1, 5]), noise)
    assert weighed == of(np.array([6.0, 1.0, 1.0, 1.0]), noise, column)


def test_what_cannot_be_measured_is_inconclusive() -> None:
    with pytest.raises(InconclusiveError, match="all equal"):
        of(np.full(5, 3.0), Noise("gaussian", 1.0))
    with pytest.raises(InconclusiveError, match="nobody has a number"):
        of(np.array([np.nan]), Noise("gaussian", 1.0))
    with pytest.raises(InconclusiveError, match="too fine"):
        of(np.array([0.0, 1e12]), Noise("gaussian", 1.0))


def case_without_attack(table: Table, release: Release) -> ScoringContext:
    return ScoringContext(table, None, release, grant_knowledge(table))


def test_the_worst_column_is_judged_unless_one_is_named() -> None:
    numbers = {"a": EVEN, "b": EVEN[::-1]}
    table = secret_numbers(numbers, dict.fromkeys("ab", (0, 2, 8)))
    case = case_without_attack(table, shared(table, {"a": Noise("uniform", 8.0), "b": Noise("uniform", 1.0)}))
    metric = PrivacyLoss(at_most=1)
    assert score_of_release(metric, case) == score_of_release(PrivacyLoss(at_most=1, column="b"), case)
    assert score_of_release(metric, case) > score_of_release(PrivacyLoss(at_most=1, column="a"), case)
    columns = metric.score(case).evidence["columns"]
    assert [each["column"] for each in columns] == ["a", "b"]
    least = IntervalPrivacy(at_least=0)
    assert score_of_release(least, case) == min(each["after"] for each in columns)
    assert [each["after"] for each in columns] == pytest.approx(
        [each["before"] * (1 - each["loss"]) for each in columns]
    )
    with pytest.raises(PolicyError, match="no noise on this column"):
        score_of_release(IntervalPrivacy(at_least=0, column="c"), case)


@pytest.mark.thorough
def test_the_error_of_estimates_is_measured_by_the_spread_of_the_originals() -> None:
    """Least error over spread of normal numbers at SNR 1: sqrt(1/2)."""
    case = case_of(one_normal(), shared(one_normal(), {"a": Noise("gaussian", 10.0)}), Posterior(), "a")
    scores = scores_of_people(NormalisedRmse(at_least=0), case)
    assert scores.nunique() == 1
    assert scores.iloc[0] == pytest.approx(np.sqrt(mean_square_error(case)) / case.table.numbers("a").std())
    assert scores.iloc[0] == pytest.approx(np.sqrt(0.5), rel=0.03)


def test_an_attack_without_estimates_has_no_error() -> None:
    case = case_without_attack(one_normal(), shared(one_normal(), {"a": Noise("gaussian", 10.0)}))
    with pytest.raises(UnreadableError):
        scores_of_people(NormalisedRmse(at_least=0), case)


def test_of_equal_numbers_no_error_can_be_measured() -> None:
    table = secret_numbers({"a": np.array([5.0])}, {"a": (0, 4, 10)})
    case = case_of(table, shared(table, {"a": Noise("gaussian", 1.0)}), Posterior(), "a")
    with pytest.raises(InconclusiveError, match="the same number"):
        scores_of_people(NormalisedRmse(at_least=0), case)


class Sharing(TreeBuilder):
    """Shares the wage under noise."""

    use: Literal["sharing"] = "sharing"
    scale: float = 20.0

    def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
        return shared_with_origins(table, {"wage": Noise("gaussian", self.scale)})


WAGES = [(float(wage), ill) for wage in range(0, 100) for ill in ("flu", "cold")]


def report_of(*metrics: dict[str, Any], **build: Any) -> Report:
    attacks = (Posterior, SpectralFilter, PcaDr, BeDr)
    judges = (IntervalPrivacy, PrivacyLoss, NormalisedRmse, Confidence, Exposure)
    plugins = plugins_with(Sharing, Linking, *attacks, *judges)
    columns = {
        "wage": {"role": "sensitive", "bins": [0, 25, 50, 75, 100]},
        "ill": {"role": ["class", "quasi_identifier"], "values": ["flu", "cold"]},
    }
    said = {"data": {"columns": columns}, "build": {"use": "sharing", **build}, "metrics": list(metrics)}
    said |= {"attacks": [{"use": attack.model_fields["use"].default} for attack in attacks]}
    policy = policy_with(plugins, **said)
    return audit_policy(policy, plugins, Tables(table_of(policy.data.meaning().columns, WAGES))).report


ALL = (
    {"use": "interval_privacy", "at_least": 30},
    {"use": "privacy_loss", "at_most": 0.6},
    {"use": "normalised_rmse", "at_least": 0.4},
    {"use": "confidence", "at_most": 0.999, "allow": 0.2},
    {"use": "exposure", "at_most": 0.1, "average": True},
)


def test_an_audit_of_shared_numbers_judges_every_attack() -> None:
    report = report_of(*ALL)
    assert report.exit_code == 0
    for attack in ("posterior", "spectral_filter", "pca_dr", "be_dr"):
        assert finding(report, f"normalised_rmse@{attack}#wage").people == 200
        assert finding(report, f"exposure@{attack}#wage").passed
    assert finding(report, "interval_privacy").value == pytest.approx(100 * (1 - 0.39), abs=10)


def test_too_little_noise_fails_and_the_public_hears_no_number_made_of_the_originals() -> None:
    report = report_of(*ALL, scale=0.5)
    assert report.exit_code == 1
    fields = {each["id"]: each for each in document(report, "public")["findings"]}
    for each in (fields[name] for name in ("interval_privacy", "privacy_loss", "normalised_rmse@posterior#wage")):
        assert each["passed"] is False
        assert each.get("value") is None
        assert "columns" not in each.get("evidence", {})
    (seen,) = (each for each in document(report, "auditor")["findings"] if each["id"] == "privacy_loss")
    assert seen["evidence"]["columns"][0]["loss"] > 0.9
