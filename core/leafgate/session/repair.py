"""`leafgate.repair`: the most accurate model below a given one that keeps every limit of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafgate.api.registry import load_plugins
from leafgate.errors import InvalidError, ReleaseError
from leafgate.io.files import EVERYONE, write_file
from leafgate.io.yaml import parse_yaml
from leafgate.models.writer import model_writer, writable_suffixes
from leafgate.session.audit import POLICY_FILE, Audit, AuditFiles
from leafgate.session.model_audit import audit as audit_model
from leafgate.session.model_audit import policy_text, run_files
from leafgate.session.run import Session, open_session
from leafgate.types.report import Report

NEUTRAL = ".json"
"""The ending of neutral files, which every model that is read can be written as."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RepairResult:
    """What a plugin's repair of a file came to.

    Attributes:
        report: the audit of the new file; of the given file, or of the nearest candidate, where there is none.
        content: the new file; None where there is none.
        passes_already: does the given file pass as it is?
        lines: what was changed, or what stands in the way, a line each.
    """

    report: Report
    content: bytes | None = field(default=None, repr=False)
    passes_already: bool = False
    lines: tuple[str, ...] = ()


RepairFunction = Callable[[Session, Path, str], RepairResult]
"""Repairs the model in the file at the path, by the policy of the session, as a file of the given name."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Repair:
    """What `leafgate.repair` returns. Its repr says no number.

    Attributes:
        audit: the audit of the repaired model; of the given one where none was found.
        content: the bytes of the repaired model's file; None where none was found, or none was needed.
        name: the name of that file, whose ending is its format; empty where there is none.
        path: where it was written; None where `out` was not given.
        sentences: what was changed, how accurate the model is now, and what is known of better ones; or what stands in
            the way.
    """

    audit: Audit
    content: bytes | None = field(default=None, repr=False)
    name: str = ""
    path: Path | None = None
    sentences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Repair(found={self.found}, verdict={self.audit.verdict!r})"

    @property
    def found(self) -> bool:
        """Is there a new model, which passes?"""
        return self.content is not None

    def show(self) -> None:
        """Print what was changed, or what stands in the way."""
        for sentence in self.sentences:
            print(sentence)


def repair(audit: Any, X: Any = None, y: Any = None, *, out: str | Path | None = None, **options: Any) -> Repair:  # noqa: N803
    """Find the most accurate model below a given one that keeps every limit of its audit.

    Args:
        audit: an audit that `leafgate.audit` made of a model; or a fitted model, which is audited first.
        X: of a model, the people whom it was fitted on, as `leafgate.audit` takes them.
        y: of a model, what it predicts.
        out: the file to write, whose ending chooses the format, such as `.skops`, `.onnx` or `.json` (the neutral
            format of leafgate). None to write nothing; the format is then the given model's where it can be written.
        options: of a model, the other arguments of `leafgate.audit`.

    Returns:
        The repaired model's file, its audit, and what was changed. Where no model was found to pass, or the given one
        passes already, there is no file, and the sentences say so.

    Raises:
        InvalidError: the audit is not of a model in memory, or `out` has an ending that no plugin writes.
        InconclusiveError: the model is not of these people, or a limit could not be judged.
    """
    if isinstance(audit, Audit):
        if X is not None or y is not None or options:
            raise InvalidError("has its table and its limits already", place="audit", remedy="give the audit alone")
        given = audit
    else:
        given = audit_model(audit, X, y, **{"search_remedies": False, **options})
    if given.files is None:
        remedy = "run leafgate repair MODEL --policy POLICY --out NEW"
        raise InvalidError("is by a policy of its own", place="audit", remedy=remedy)
    target = None if out is None else Path(out)
    plugins = load_plugins()
    if target is not None:
        model_writer(target.name, plugins.readers)
    if given.passed:
        return Repair(audit=given, sentences=("The model passes already, so nothing is changed.",))
    suffixes = writable_suffixes(plugins.readers)
    names = _names(given.files.model, suffixes) if target is None else [target.name]
    name, result = _repaired(given.files, names)
    if result.content is None:
        lines = "The model passes already." if result.passes_already else "No model below it was found to pass."
        return Repair(audit=given, sentences=(lines, *map(_sentence, result.lines)))
    if target is not None:
        write_file(target, result.content, EVERYONE)
    again = run_files(_with_model(given.files, name, result.content))
    sentences = tuple(map(_sentence, result.lines))
    return Repair(audit=again, content=result.content, name=name, path=target, sentences=sentences)


def _sentence(line: str) -> str:
    """A line of the command in the words of `leafgate.audit`, whose users have written no policy."""
    return line.strip().replace("name people in `data.test`", "give `test=(X, y)`")


def _names(model: str, suffixes: Sequence[str]) -> list[str]:
    """The names that a new file may have: of the given model's format where that is written, else a neutral file."""
    suffix = Path(model).suffix.lower()
    return [f"repaired{ending}" for ending in dict.fromkeys((suffix, NEUTRAL)) if ending in suffixes]


def _repaired(files: AuditFiles, names: Sequence[str]) -> tuple[str, RepairResult]:
    """The first name under which a repaired model can be written, and what the repair came to."""
    with files.in_private_folder() as policy:
        session = open_session(policy)
        repair_file: RepairFunction = session.plugins.function("repair")
        for name in names[:-1]:
            try:
                return name, repair_file(session, policy.parent / files.model, name)
            except ReleaseError:
                continue
        return names[-1], repair_file(session, policy.parent / files.model, names[-1])


def _with_model(files: AuditFiles, name: str, content: bytes) -> AuditFiles:
    """The files with another model in place of the given one."""
    document = parse_yaml(files.policy.encode(), POLICY_FILE)
    gone = {files.model, document["build"].pop("witness", "")}  # the answers are of the given model
    document["build"]["path"] = name
    contents = {other: each for other, each in files.contents.items() if other not in gone}
    text = policy_text(document, search_remedies=files.search_remedies)
    return replace(files, policy=text, contents={**contents, name: content}, model=name)
