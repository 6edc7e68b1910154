"""A pass exposes nobody: random tables and models, audited by the policies that leafgate itself proposes.

One seed decides the table, the model, the policy, and what the adversary finds in what was published.
"""

from __future__ import annotations

import json
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import leafgate
from generator.models import RECIPES, Fitted, Recipe, fit, published_file
from generator.outsider import Exposed, Outsider, secret_of
from generator.people import (
    TARGET,
    People,
    Rng,
    draw_people,
    with_missing_secrets,
    with_several_rows,
    with_spellings,
)
from generator.policies import first_policy
from generator.published import Published, read_release
from leafgate import InconclusiveError, LeafgateError
from leafgate.app import open_session
from leafgate.commands.repair.plan import repair_file
from leafgate.io.yaml import parse_yaml
from leafgate.kernel.findings import Report
from leafgate.kernel.schema import bin_names
from leafgate.session.audit import POLICY_FILE
from leafgate.session.run import Session

FILE_ALONE = "file alone"
"""The verdict of a case that fails by `file_disclosure` alone: its other limits are judged like a pass's."""
JUDGED = ("pass", FILE_ALONE)
TABLE = "people.csv"
NOTHING = Published(b"", lambda frame: np.zeros((len(frame), 1), dtype=np.int64))
"""What is published where nothing could be built: everybody is in one group."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        seed: of the case.
        kind: of its model.
        how: who wrote the policy: `init` or `audit`; with `, harmless` where a value was declared harmless, with
            `, drop` where people with missing cells are left out, with `, child` where the limits are an organisation's
            and the policy has its table read otherwise, with `, spelled` where a class has two spellings, with
            `, unrecorded` where the class of some people is not recorded, with `, persons` where people have several
            rows, with `, repaired` where the file is what a repair wrote.
        verdict: pass, fail, inconclusive, invalid, `file alone`, or crash.
        exposed: what the adversary found, where the verdict let it try.
        words: of the error.
        groups: how many groups of people the adversary can tell from each other, where it tried.
    """

    seed: int
    kind: str
    how: str
    verdict: str
    exposed: tuple[Exposed, ...] = ()
    words: str = ""
    groups: int = 0

    @property
    def exposes(self) -> bool:
        """Did the adversary find what a limit should have?"""
        return bool(self.exposed)

    @property
    def is_failure(self) -> bool:
        """Did leafgate let a file pass that exposes somebody, or break down?"""
        return self.verdict == "crash" or (self.verdict == "pass" and self.exposes)

    @property
    def is_oversight(self) -> bool:
        """Would the file pass, though it exposes somebody, if it disclosed nothing else?"""
        return self.verdict == FILE_ALONE and self.exposes

    def __str__(self) -> str:
        said = "; ".join(map(str, self.exposed)) or self.words
        return f"seed {self.seed}, {self.kind}, {self.how}: {self.verdict}: {said}"


@dataclass(frozen=True, eq=False)
class Audited:
    """An audit of a case, and what was published."""

    report: Report
    policy: Mapping[str, Any]
    published: Published
    session: Callable[[], Session] | None = None
    audit: Any = None


Limits = Mapping[str, Any]


def run_case(seed: int, *, kind: str = "", repair: bool = False, limits: Limits | None = None) -> list[Outcome]:
    """The outcome of a seed's case, and with `repair`, where it fails, that of the repaired model.

    Args:
        seed: decides everything.
        kind: of the model; one of RECIPES, drawn if empty.
        repair: is a model that fails repaired?
        limits: in place of those that leafgate proposes, to try the harness itself; of fitted models alone, on clean
            tables.
    """
    rng = np.random.default_rng(seed)
    names = list(RECIPES)
    shares = np.array([RECIPES[name].share for name in names], dtype=float)
    chosen = str(rng.choice(names, p=shares / shares.sum()))
    kind = kind or chosen
    recipe = RECIPES[kind]
    by_init = not recipe.draw or (not recipe.in_onnx and rng.random() < 0.4 and limits is None)
    gaps = recipe.gaps and rng.random() < 0.45
    people = draw_people(rng, numbers=recipe.numbers, gaps=gaps, owned=not by_init, only_numbers=recipe.in_onnx)
    other = rng.spawn(1)[0]  # so that what it decides leaves all else as it is
    changed = by_init and recipe.draw is not None and other.random() < 0.7
    reading = str(other.choice(READINGS)) if changed else ""
    for change in (with_spellings, with_missing_secrets, with_several_rows) if limits is None else ():
        people = change(people, rng.spawn(1)[0])
    how = ("init" if by_init else "audit") + (", harmless" if people.harmless or people.edges else "")
    how += f", {reading}" if reading else ""
    how += ", spelled" if people.meaning else ""
    how += ", unrecorded" if people.no_answer else ""
    how += ", persons" if people.person else ""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="first-policies-") as folder:
        warnings.simplefilter("ignore")
        case = partial(Outcome, seed, kind)
        options: dict[str, Any] = {"by_init": by_init, "reading": reading, "limits": limits}
        outcome, audited = _tried(case, how, people, lambda: _audited(rng, recipe, people, Path(folder), **options))
        outcomes = [outcome]
        if repair and audited is not None and outcome.verdict in {"fail", FILE_ALONE} and recipe.draw is not None:
            repaired = partial(_repaired, people, audited, Path(folder))
            outcomes.append(_tried(case, f"{how}, repaired", people, repaired)[0])
        return outcomes


def _tried(
    case: Callable[..., Outcome], how: str, people: People, audit: Callable[[], Audited | None]
) -> tuple[Outcome, Audited | None]:
    """What comes of an audit, what the adversary finds where it is a pass, and the audit; None where it ends early."""
    try:
        audited = audit()
    except LeafgateError as error:
        verdict = "inconclusive" if isinstance(error, InconclusiveError) else "invalid"
        return case(how, verdict, words=re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")), None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
        return case(how, "crash", words=words), None
    if audited is None:
        return case(how, "none found"), None
    verdict = verdict_of(audited.report)
    if verdict not in JUDGED:
        return case(how, verdict), audited
    outsider = outsider_of(people, audited)
    found = tuple(each for each in outsider.exposed() if each.way != "text" or verdict == "pass")
    return case(how, verdict, found, groups=len(set(outsider.groups().tolist()))), audited


def verdict_of(report: Report) -> str:
    """The verdict of a report; `file alone` where nothing but the disclosures of the file keeps it from passing."""
    if report.verdict == "pass":
        return "pass"
    others = [each for each in report.findings if each.id != "file_disclosure"]
    is_alone = all(each.passed for each in others) and report.verdict == "fail"
    return FILE_ALONE if is_alone else str(report.verdict)


def outsider_of(people: People, audited: Audited) -> Outsider:
    """The adversary of an audit, who judges what the policy judges."""
    data, limits = audited.policy["data"], audited.policy["metrics"]
    specs: Mapping[str, Mapping[str, Any]] = data["columns"]
    roles = {
        name: {spec["role"]} if isinstance(spec["role"], str) else set(spec["role"]) for name, spec in specs.items()
    }
    frame, columns = people.frame, [str(name) for name in people.frame]
    if people.meaning:
        frame = frame.assign(**{TARGET: frame[TARGET].replace(dict(people.meaning))})
    if data.get("on_missing") == "drop" and audited.policy["build"]["use"] != "published":  # models saw everybody
        asked = [name for name in columns if "quasi_identifier" in roles[name]]
        frame = frame[frame[asked].notna().all(axis=1)].reset_index(drop=True)
    declared = specs[TARGET].get("values")
    if people.no_answer and declared is not None and people.no_answer[0] not in declared:  # who are left out
        frame = frame[~frame[TARGET].isin(people.no_answer)].reset_index(drop=True)
    secrets = [TARGET] if "sensitive" in roles[TARGET] else []  # of other secrets the model says nothing
    harmless = [0] if people.edges and any("values" in limit for limit in limits) else []
    return Outsider(
        audited.published,
        frame,
        [secret_of(name, specs[name], frame[name], people.harmless, people.step, harmless) for name in secrets],
        private=[name for name in people.features if name in people.private],
        names=[name for name in columns if roles[name] & {"identifier", "person"} and frame[name].dtype == object],
        texts=people.texts if audited.policy["build"]["use"] == "published" else [],
        k=max((each["at_least"] for each in limits if each["use"] == "k_anonymity"), default=1),
        confidence=_confidence(limits),
        no_answer=people.no_answer,
        persons=pd.factorize(frame[people.person])[0] if people.person else None,
    )


def _confidence(limits: Sequence[Mapping[str, Any]]) -> float:
    """The limit that holds of everybody; 1 where some people are excepted."""
    return min(
        (each["at_most"] for each in limits if each["use"] == "confidence" and not each.get("allow")), default=1.0
    )


def _audited(
    rng: Rng,
    recipe: Recipe,
    people: People,
    folder: Path,
    *,
    by_init: bool,
    reading: str,
    limits: Limits | None,
) -> Audited:
    if recipe.draw is None:
        return _built(recipe.builder, people, folder)
    fitted = fit(recipe, rng, people.learned)
    return _init_with(fitted, people, folder, reading) if by_init else _audit_with(fitted, people, folder, limits)


def _write_policy(people: People, folder: Path, model: Path | None, builder: str = "kadet") -> Path:
    """The table as a file, and the policy that `leafgate init` writes for it."""
    people.frame.to_csv(folder / TABLE, index=False)
    files = {"model": model, "folder": folder, "header": True}
    text = first_policy(folder / TABLE, TARGET, people.harmless, builder, **files)
    (folder / POLICY_FILE).write_text(text, encoding="utf-8")
    return folder / POLICY_FILE


READINGS = ("drop", "child, drop", "child, missing", "child, comment", "child, alias")
"""Ways in which a policy may have fewer people read, or two values as one, than its table has."""


def _read_otherwise(path: Path, people: People, reading: str) -> Path | None:
    """Rewrite the policy so that its table is read in another way; the organisation's policy, where there is one."""
    document: Any = dict(_document(path.read_bytes()))
    data: dict[str, Any] = dict(document["data"])
    name = next(iter(people.texts), "")
    values = people.frame[name].dropna().value_counts().index.tolist() if name else []
    if reading.endswith("drop") and data.get("on_missing"):
        data["on_missing"] = "drop"
    elif reading.endswith("missing") and values:
        data |= {"missing": ["", values[-1]], "on_missing": "drop"}
    elif reading.endswith("comment") and people.frame.iloc[:, 0].notna().all():
        data["csv"] = {**data.get("csv", {}), "comment": str(people.frame.iloc[0, 0])[:1]}
    elif reading.endswith("alias") and len(values) > 1:
        column = {**data["columns"][name], "aliases": {values[-1]: values[0]}}
        column["values"] = [value for value in column["values"] if value != values[-1]]
        data["columns"] = {**data["columns"], name: column}
    document["data"] = data
    if not reading.startswith("child"):
        path.write_text(json.dumps(document))
        return None
    limits = {key: document.pop(key) for key in ("attacks", "metrics")}
    path.write_text(json.dumps(document))
    own = {"leafgate": 1, "name": "organisation", **limits}
    roles = [{"columns": name, "roles": "identifier"} for name in people.names]
    roles += [{"columns": people.person, "roles": "person"}] if people.person else []
    own["data"] = {"unlisted": {"step": 1, "except": roles}}
    if people.no_answer:
        own["data"]["columns"] = {TARGET: data["columns"][TARGET]}
    (path.parent / "organisation.yaml").write_text(json.dumps(own))
    return path.parent / "organisation.yaml"


def _built(builder: str, people: People, folder: Path) -> Audited:
    path = _write_policy(people, folder, None, builder)
    audit = open_session(path).audit(search_remedies=False)
    published = NOTHING if audit.artifact is None else read_release(audit.artifact.content)
    return Audited(audit.report, _document(path.read_bytes()), published)


def _init_with(fitted: Fitted, people: People, folder: Path, reading: str) -> Audited:
    (folder / fitted.file).write_bytes(fitted.content)
    path = _write_policy(people, folder, folder / fitted.file)
    proposed = dict(_document(path.read_bytes()))
    session = open_session(path) if not reading else open_session(path, org=_read_otherwise(path, people, reading))
    audit = session.audit(search_remedies=False)
    return Audited(
        audit.report,
        proposed | {"data": _document(path.read_bytes())["data"]},
        fitted.published,
        session=lambda: session,
    )


def _audit_with(fitted: Fitted, people: People, folder: Path, limits: Limits | None) -> Audited:
    (folder / fitted.file).write_bytes(fitted.content)
    model = fitted.estimator or folder / fitted.file
    roles: dict[str, Any] = dict.fromkeys(people.private, "private") | dict.fromkeys(people.names, "identifier")
    harmless = list(people.harmless)
    if people.step or people.edges:
        own: dict[str, Any] = {"step": people.step} if people.step else {}
        own |= {"bins": list(people.edges), "scale": "ratio"} if people.edges else {}
        roles[TARGET] = {"role": ["class", "sensitive"], **own}
        harmless += bin_names(people.edges)[:1] if people.edges else ()
    audit = leafgate.audit(
        model,
        people.frame,
        TARGET,
        roles=roles,
        secret=people.secrets or None,
        encoding=dict(fitted.encoding),
        search_remedies=False,
        limits=limits,
        harmless=(harmless or None) if limits is None else None,
        no_answer=list(people.no_answer) if None in people.no_answer or len(people) % 2 else None,
        person=people.person if people.person and len(people) % 3 else None,
    )
    assert audit.files is not None
    return Audited(audit.report, _document(audit.files.policy.encode()), fitted.published, audit=audit)


def _document(content: bytes) -> Mapping[str, Any]:
    return parse_yaml(content, POLICY_FILE)


def _repaired(people: People, audited: Audited, folder: Path) -> Audited | None:
    """The audit of the repaired model, and its new file; None where no repair is found."""
    model = folder / audited.policy["build"]["path"]
    if audited.audit is not None:
        result = leafgate.repair(audited.audit, out=folder / "repaired.json" if model.suffix == ".onnx" else None)
        report, content = result.audit.report, result.content
    else:
        assert audited.session is not None
        found = repair_file(audited.session(), model, "repaired.json")
        report, content = found.report, found.content
    if content is None:
        return None
    return Audited(report, audited.policy, published_file(content, people.learned, audited.published))
