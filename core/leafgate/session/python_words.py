"""Remedies in the words of Python users, who have a model and a table in memory and neither a policy nor files.

The report itself stays in the words of the command line, so that its bytes are those of `leafgate audit`: only what
`Audit.remedies`, `Audit.show` and notebooks display is translated.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leafgate.io.json import JsonDocument, JsonObject
    from leafgate.kernel.findings import Remedy

REPAIRED = "`repair = leafgate.repair(audit)`, whose `repair.audit` is the audit of the new model"
PHRASES: tuple[tuple[str, str], ...] = (
    (
        r"Repair the model(?: \(`leafgate repair [^`]*`\), and audit the new file|"
        r": `leafgate repair [^`]*`; then audit NEW)",
        f"Repair the model: {REPAIRED}",
    ),
    (
        r"(?: \(labels where the policy publishes no more\))?(?: \(|: )`(leafgate scrub [^`]*)`"
        r"(?:\), and audit the new file|; then audit NEW)",
        rf": {REPAIRED}; or in a terminal, with the files of `audit.to_policy(FOLDER)`, `\1`",
    ),
    (
        r", take out of its file what it tells beside its predictions \(`leafgate repair [^`]*`\), and audit that file",
        ", audit it with `leafgate.audit`, and let `leafgate.repair` take out of its file what that tells beside its "
        "predictions",
    ),
    (
        r", write its file with labels alone \(`leafgate scrub [^`]*`\), and audit that file",
        ', audit it with `publish="labels"`, and let `leafgate.repair` write its file with labels alone',
    ),
    (r"and audit it again", "and audit it again with `leafgate.audit`"),
    (r"`leafgate repair MODEL [^`]*`", "`leafgate.repair(audit)`"),
    (r"`leafgate repair`", "`leafgate.repair`"),
    (r"(`leafgate (?:explain|plugins)[^`]*`)", r"\1, in a terminal,"),
    (r"`?\bdata\.(control|test)\b`?", r"`\1`"),
    (r"`(?:data\.)?on_missing: (keep|drop)`", r'`on_missing="\1"`'),
    (r"`publish\.leaves: (\w+)`", r'`publish="\1"`'),
    (r"`publish\.leaves`", "`publish`"),
    (r"`build: \{(encoding|trained_by): \.\.\.\}`", r"`\1`"),
    (r"`build\.(encoding|trained_by)(?:\.[^`]*)?`", r"`\1`"),
    (r"`metrics`", "`limits`"),
    (r"Add the attack `(\w+)`", r"Add the attack `\1` to `attacks`"),
    (r"add the metric `(\w+)`", r"add the metric `\1` to `limits`"),
    (r"no attack of the policy", "none of `attacks`"),
)
"""What the command line calls things, as patterns, and what `leafgate.audit` and `leafgate.repair` call them."""
POLICY_KEY = re.compile(r"`(?:build|data|knows|publish|report)\b[.:{][^`]*`|\b(?:build|data|knows|report)\.[a-z]\w*")
"""A key of a policy that is no argument of `leafgate.audit`."""
OF_THE_POLICY = " This is in the policy that `audit.to_policy(FOLDER)` writes."


def in_python(text: str) -> str:
    """What a remedy says, with the functions and arguments of Python in place of commands and keys of a policy.

    Args:
        text: the sentences of a remedy, as `leafgate audit` prints them.

    Returns:
        The same advice. Where it names a key of a policy that `leafgate.audit` has no argument for, it says which
        policy has it.

    >>> in_python("Repair the model: `leafgate repair MODEL --policy POLICY --out NEW`; then audit NEW.")
    'Repair the model: `repair = leafgate.repair(audit)`, whose `repair.audit` is the audit of the new model.'
    >>> in_python("Name more people who are not in the table in `data.control`.")
    'Name more people who are not in the table in `control`.'
    """
    for pattern, words in PHRASES:
        text = re.sub(pattern, words, text)
    return text + (OF_THE_POLICY if POLICY_KEY.search(text) else "")


def remedy_in_python(remedy: Remedy) -> Remedy:
    """The remedy with its text in the words of Python; what scripts follow stays as the report has it."""
    return replace(remedy, text=in_python(remedy.text))


def document_in_python(report: JsonObject) -> JsonDocument:
    """A report document, to be displayed, whose remedies are in the words of Python."""
    return {**report, "findings": [_finding_in_python(finding) for finding in report["findings"]]}


def _finding_in_python(finding: JsonObject) -> JsonObject:
    remedies = finding.get("remedies", ())
    if not remedies:
        return finding
    return {**finding, "remedies": [{**remedy, "text": in_python(remedy["text"])} for remedy in remedies]}
