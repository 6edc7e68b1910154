"""What remedies are worth: audits of random tables that fail, and the same audits after doing what the reports say.

    python docs/reproduce/remedies_on_random_tables.py [CASES] [SEED] [train]

Each case is a random table with a random policy, whose release a builder grows or scikit-learn fits. Where the audit
fails, the first remedy of each finding that is not ok is followed as it stands in the public report, and the audit is
repeated once. The table that is printed says how often that passes. With `train` no command is run: fitted models are
trained anew as the next remedy says, where the first would repair them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from leafgate.api.registry import command_name, load_commands, load_plugins
from leafgate.disclosure.document import document
from leafgate.io.json import readable
from leafgate.policy.sources import PolicyDocument
from leafgate.policy.strictness import compare_policies
from leafgate.session.run import open_session

CASES = 200
BUILDERS: Mapping[str, Mapping[str, Any]] = {
    "id3": {},
    "c45": {},
    "kadet": {"k": 2},
    "sklearn tree": {"max_depth": None, "min_samples_leaf": 2},
    "sklearn forest": {"n_estimators": 10, "max_depth": 6, "min_samples_leaf": 2},
}
"""What makes the releases, with the options that they begin with."""
OUTCOMES = (
    "passes at the first try",
    "passes as single leaves",
    "fails again",
    "says that none was found",
    "says nothing a script can do",
)
IN_VAIN = "Tried here without a useful result"
"""What a remedy says where every change that was tried breaks a limit, or leaves a constant."""


@dataclass
class Case:
    """One table and policy: `document` is the policy, `learner` the parameters where a model is fitted."""

    folder: Path
    kind: str
    document: dict[str, Any]
    learner: dict[str, Any]

    def audit(self) -> dict[str, Any]:
        """The public report, with a search for remedies."""
        if self.kind.startswith("sklearn"):
            self._fit()
        (self.folder / "policy.yaml").write_text(json.dumps(self.document))
        report = open_session(self.folder / "policy.yaml").audit(search_remedies=True).report
        found: dict[str, Any] = json.loads(readable(document(report, "public")))
        return found

    def _fit(self) -> None:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.tree import DecisionTreeClassifier
        from skops import io

        people = pd.read_csv(self.folder / "people.csv")
        kind = DecisionTreeClassifier if self.kind == "sklearn tree" else RandomForestClassifier
        model = kind(random_state=0, **self.learner).fit(people.drop(columns="y"), people["y"])
        io.dump(model, self.folder / "model.skops")


def random_case(folder: Path, kind: str, rng: np.random.Generator) -> Case:
    """A table whose class depends on some columns, and a policy with one to three limits on it."""
    n = int(rng.choice([80, 200, 600, 1500]))
    names = [f"c{i}" for i in range(int(rng.integers(2, 5)))]
    sizes = [int(rng.choice([2, 3, 6, 60])) for _ in names]
    people = pd.DataFrame({name: rng.integers(0, size, n) for name, size in zip(names, sizes, strict=True)})
    pull = np.add.reduce([rng.normal() * people[name] / size for name, size in zip(names, sizes, strict=True)])
    people["y"] = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * (pull - pull.mean()))), "yes", "no")
    folder.mkdir()
    people.to_csv(folder / "people.csv", index=False)
    private = set(rng.choice(names[1:], size=int(rng.integers(0, 2)), replace=False))
    columns: dict[str, Any] = {
        name: {"role": "private" if name in private else "quasi_identifier", "bounds": [0, size]}
        for name, size in zip(names, sizes, strict=True)
    }
    columns["y"] = {"role": ["class", "sensitive"], "values": ["no", "yes"]}
    limits = [
        {"use": "k_anonymity", "at_least": int(rng.choice([5, 10, 20, 35]))},
        {"use": "confidence", "at_most": float(rng.choice([0.8, 0.9, 0.95]))},
        {"use": "l_diversity", "at_least": float(rng.choice([1.2, 1.5]))},
        {"use": "exposure", "at_most": 0},
        {"use": "t_closeness", "at_most": float(rng.choice([0.2, 0.35]))},
    ]
    chosen = sorted(rng.choice(len(limits), size=int(rng.integers(1, 4)), replace=False))
    options = dict(BUILDERS[kind])
    fitted = kind.startswith("sklearn")
    policy = {
        "leafgate": 1,
        "name": "random",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "published", "path": "model.skops"} if fitted else {"use": kind, **options},
        "attacks": [{"use": "linking"}],
        "metrics": [limits[i] for i in chosen],
    }
    return Case(folder, kind, policy, options if fitted else {})


def followed(case: Case, report: Mapping[str, Any]) -> str:
    """Do what the first remedies that a script can follow say; the outcome where there is nothing to do, else empty."""
    first = [remedy for each in not_ok(report) for remedy in list(filter(can_follow, each.get("remedies", ())))[:1]]
    if len(first) < len(not_ok(report)):
        said = [remedy for each in not_ok(report) for remedy in each.get("remedies", ())]
        in_vain = any(remedy["action"] == "none" or IN_VAIN in remedy["text"] for remedy in said)
        return OUTCOMES[3] if in_vain else OUTCOMES[4]
    for i, remedy in enumerate(first):
        if remedy not in first[:i]:
            follow(case, remedy)
    return ""


def not_ok(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings that are not ok, and not waived."""
    return [each for each in report["findings"] if each["passed"] is not True and "waiver" not in each]


def can_follow(remedy: Mapping[str, Any]) -> bool:
    """Can a script do it here? A key of the policy needs a value, and a command must be installed."""
    if remedy["action"] == "run" and "train" in sys.argv:
        return False
    if remedy["action"] == "run":
        offered = (app for _, apps in load_commands() for app in apps)
        return remedy["command"][1] in {command_name(each) for app in offered for each in app.registered_commands}
    return remedy["action"] == "retrain" or (remedy["action"] in {"set", "add"} and "value" in remedy)


def follow(case: Case, remedy: Mapping[str, Any]) -> None:
    """Change the policy or the learner, or run the command."""
    if remedy["action"] == "retrain":
        case.learner.update(remedy["parameters"])
    elif remedy["action"] == "run":
        run(case, remedy["command"])
    else:
        *above, last = remedy["place"].split(".")
        section: Any = case.document
        for key in above:
            section = section.setdefault(key, {})
        if isinstance(section.get(last), list):
            section[last].append(remedy["value"])
        else:
            section[last] = remedy["value"]


def run(case: Case, command: Sequence[str]) -> None:
    """Run a command on the audited file; the policy then names the new one."""
    from subprocess import run as start

    words = {"MODEL": case.document["build"].get("path", ""), "POLICY": "policy.yaml", "NEW": "repaired.json"}
    argv = [
        sys.executable,
        "-c",
        "from leafgate.cli import main; main()",
        *(words.get(word, word) for word in command[1:]),
    ]
    start(argv, cwd=case.folder, check=False, capture_output=True, timeout=600)  # noqa: S603
    case.document["build"] = {"use": "published", "path": words["NEW"]}
    case.kind = case.kind.replace("sklearn", "repaired")


def loosened(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The changes between two policies that loosen them."""
    plugins = load_plugins()
    old, new = (PolicyDocument(dict(each), "policy.yaml", {}) for each in (before, after))
    return [change.place for change in compare_policies(old, new, plugins) if change.kind == "looser"]


def outcomes(cases: int, seed: int, kinds: Sequence[str] = tuple(BUILDERS)) -> Iterator[tuple[str, str]]:
    """What makes each failing case, and what came of following its remedies."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as top:
        found = tried = 0
        while found < cases:
            kind = kinds[tried % len(kinds)]
            case = random_case(Path(top) / str(tried), kind, rng)
            tried += 1
            report = case.audit()
            if report["verdict"] != "fail":
                continue
            found += 1
            before = deepcopy(case.document)
            outcome = followed(case, report)
            if not outcome:
                if loosened(before, case.document):
                    raise ValueError(f"a remedy loosens {loosened(before, case.document)}")
                outcome = outcome_of(case.audit())
            yield kind, outcome


def outcome_of(report: Mapping[str, Any]) -> str:
    """Whether the repeated audit passes, and whether anything is left of the trees then."""
    if report["verdict"] != "pass":
        return OUTCOMES[2]
    return OUTCOMES[0] if report["release"]["leaves"] > report["release"]["trees"] else OUTCOMES[1]


def table(counted: Mapping[tuple[str, str], int]) -> str:
    """The counts as a table in Markdown."""
    kinds = [kind for kind in BUILDERS if any(each == kind for each, _ in counted)]
    lines = [f"| release by | {' | '.join(OUTCOMES)} |", "|---" * (len(OUTCOMES) + 1) + "|"]
    for kind in [*kinds, "all"]:
        own = {pair: n for pair, n in counted.items() if kind in {pair[0], "all"}}
        cells = [sum(n for (_, each), n in own.items() if each == outcome) for outcome in OUTCOMES]
        lines.append(f"| {kind} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "train"]
    number, seed = (int(word) for word in (*words, *(str(CASES), "0")[len(words) :]))
    print(table(Counter(outcomes(number, seed))))
