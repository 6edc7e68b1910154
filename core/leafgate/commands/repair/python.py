"""`leafgate.repair`: the most useful model in place of a given one that keeps every limit of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.api.registry import load_plugins
from leafgate.commands.convert.prediction import LoadedModel, refuse_script, write_script
from leafgate.commands.repair.plan import repair_file
from leafgate.commands.repair.result import RepairResult
from leafgate.errors import InvalidError, LeafgateError, ReleaseError, nearest_name
from leafgate.io.files import EVERYONE, write_file
from leafgate.io.tables.frames import Kind
from leafgate.kernel.schema import Column
from leafgate.lazy_loading import install_command
from leafgate.models.lowering.encoding import Encoding, class_values
from leafgate.models.reader import read_foreign
from leafgate.models.writer import model_writer, writable_suffixes
from leafgate.session.audit import Audit, AuditFiles, private_folder
from leafgate.session.model_audit import audit as audit_model
from leafgate.session.model_audit import audit_files, open_files
from leafgate.session.python_text import error_in_python, text_in_python
from leafgate.session.run import Session

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from leafgate.ir.model_readers import ModelReader

NEUTRAL = ".json"
"""The ending of neutral files, which every model that is read can be written as."""


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
        candidates: every model that was tried, with its use in exact numbers, for the data's owner: a row for each
            (CANDIDATE_COLUMNS), the given one first; None where nothing was tried.
    """

    audit: Audit
    content: bytes | None = field(default=None, repr=False)
    name: str = ""
    path: Path | None = None
    sentences: tuple[str, ...] = ()
    candidates: pd.DataFrame | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Repair(found={self.found}, verdict={self.audit.verdict!r})"

    @property
    def found(self) -> bool:
        """Is there a new model, which passes?"""
        return self.content is not None

    @cached_property
    def model(self) -> LoadedModel | None:
        """The new model, with `predict` and `predict_proba`, its classes as in `y`; None where there is none."""
        return None if self.content is None or self.audit.files is None else _loaded(self.audit.files)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the use of each candidate against its tightest limit on people.

        Args:
            ax: where to draw; a new figure when left out.

        Raises:
            ImportError: matplotlib is not installed.
            InvalidError: nothing was tried.
        """
        if self.candidates is None:
            raise InvalidError("nothing was tried, so there is nothing to draw", place="plot")
        return draw_candidates(self.candidates, ax)

    def show(self) -> None:
        """Print what was changed, or what stands in the way."""
        for sentence in self.sentences:
            print(sentence)


def repair(
    audit: Any,
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    out: str | Path | None = None,
    keep: str | None = None,
    effort: float = 1.0,
    time_limit: float | None = None,
    fit_anew: bool = True,
    columns: str = "used",
    script: bool = False,
    **options: Any,
) -> Repair:
    """Find the most useful model in place of a given one that keeps every limit of its audit.

    Args:
        audit: an audit that `leafgate.audit` made of a model; or a fitted model, which is audited first.
        X: of a model, the people whom it was fitted on, as `leafgate.audit` takes them.
        y: of a model, what it predicts.
        out: the file to write, whose ending chooses the format, such as `.skops`, `.onnx` or `.json` (the neutral
            format of leafgate). None to write nothing; the format is then the given model's where it can be written.
        keep: what is kept as high as possible: `auc`, `balanced_accuracy`, `accuracy` or, of a model of numbers,
            `loss`; None for what fits the limits: AUC, of labels alone balanced accuracy.
        effort: how many times the default amount of work is done; the same work finds the same model again.
        time_limit: after so many seconds no further candidate is looked at, whatever the effort, and the best so far is
            returned: a repetition may find another one. None for no limit.
        fit_anew: whether trees may be grown and the model's estimator fitted on the table; otherwise it is only cut.
        columns: what a tree that is grown anew may ask about: the columns that the model takes (`used`), or `all`; the
            first sentence then names those that it does not take.
        script: whether to write `predict.py` beside `out`, a neutral file (.json), which predicts by NumPy alone. Where
            the file has numbers for the classes, so do its answers, and a sentence says which is which.
        options: of a model, the other arguments of `leafgate.audit`.

    Returns:
        The repaired model's file, its audit, and what was changed. Where no model was found to pass, or the given one
        passes already, there is no file, and the sentences say so.

    Raises:
        InvalidError: an argument is wrong, the audit is not of a model in memory, or `out` has an ending that no plugin
            writes.
        InconclusiveError: the model is not of these people, or a limit could not be judged.
    """
    numbers = {"effort": effort} | ({} if time_limit is None else {"time_limit": time_limit})
    _refuse_unfit(numbers, {"fit_anew": fit_anew, "script": script})
    _refuse_unknown(options)
    if isinstance(audit, Audit):
        if X is not None or y is not None or options:
            raise InvalidError("has its table and its limits already", place="audit", remedy="give the audit alone")
        given = audit
    else:
        given = audit_model(audit, X, y, **{"search_remedies": False, **options})
    if given.files is None:
        remedy = "run leafgate repair MODEL --policy POLICY --out NEW"
        raise InvalidError("is by a policy of its own", place="audit", remedy=remedy)
    plugins = load_plugins()
    target = _new_file(out, plugins.readers, script=script)
    if given.passed:
        return Repair(audit=given, sentences=("The model passes already, so nothing is changed.",))
    suffixes = writable_suffixes(plugins.readers)
    names = _names(given.files.model, suffixes) if target is None else [target.name]
    repaired = partial(
        repair_file,
        keep=keep,
        effort=effort,
        seconds=time_limit,
        fit_anew=fit_anew,
        columns=columns,
        known=given,
    )
    try:
        name, result = _repaired(given.files, names, repaired)
    except LeafgateError as error:
        raise error_in_python(error, given.files.document) from None
    if result.content is None:
        lines = "The model passes already." if result.passes_already else "No useful model was found to pass."
        return Repair(audit=given, sentences=(lines, *map(_sentence, result.lines)), candidates=result.candidates)
    if target is not None:
        write_file(target, result.content, EVERYONE)
        if script:
            write_script(target)
    again = audit_files(_with_model(given.files, name, result.content))
    sentences = tuple(map(_sentence, result.lines))
    if target is not None and (numbered := _numbered_classes(again)):
        sentences = (*sentences, numbered)
    return Repair(
        audit=again, content=result.content, name=name, path=target, sentences=sentences, candidates=result.candidates
    )


def _refuse_unfit(numbers: Mapping[str, object], truths: Mapping[str, object]) -> None:
    """InvalidError for an argument that is no number from 0, or neither True nor False."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:  # NaN is not
            raise InvalidError("is no number from 0", place=name, remedy=NUMBERS[name])
    for name, value in truths.items():
        if not isinstance(value, bool):
            raise InvalidError("is neither True nor False", place=name, remedy="give one of the two")


NUMBERS = {"effort": "1 is the default amount of work", "time_limit": "give seconds, or None for no limit"}
"""What the numbers mean that a repair takes."""


def _refuse_unknown(options: Mapping[str, object]) -> None:
    """InvalidError for an argument that neither `leafgate.repair` nor `leafgate.audit` has."""
    known = {*signature(repair).parameters, *signature(audit_model).parameters} - {"audit", "model", "options"}
    for name in options.keys() - known:
        remedy = nearest_name(name, sorted(known), "see help(leafgate.repair)")
        raise InvalidError("is no argument of `leafgate.repair`", place=name, remedy=remedy)


def _new_file(out: str | Path | None, readers: Sequence[ModelReader], *, script: bool) -> Path | None:
    """The file to write; an error where it, or the script beside it, cannot be written."""
    if out is None and script:
        raise InvalidError("stands beside a file", place="script", remedy="give `out`, a name that ends in .json")
    if out is None:
        return None
    model_writer(Path(out).name, readers)
    if script:
        refuse_script(Path(out), "script")
    return Path(out)


def _loaded(files: AuditFiles) -> LoadedModel:
    """The model of an audit in memory, whose classes are the values of the class in its table."""
    read = read_foreign(files.contents[files.model], files.model, load_plugins().readers)
    specs = files.document["data"]["columns"]
    target = next(name for name, spec in specs.items() if "class" in spec["role"])
    if not read.classes:
        return LoadedModel(read, ())
    encoding = files.document["build"].get("encoding", {}).get(target)
    column = Column(
        target,
        frozenset({"class"}),
        values=tuple(specs[target]["values"]),
        aliases=specs[target].get("aliases", {}),
    )
    known = None if encoding is None else Encoding(**encoding)
    texts = class_values(read.classes, known, column, files.model)
    kind = next(column.kind for column in files.tables["path"].columns if column.name == target)
    return LoadedModel(read, [_value(text, kind) for text in texts])


def _numbered_classes(audit: Audit) -> str:
    """Which class each number is that a file has in its place, as LightGBM's have; empty where it has the classes."""
    assert audit.files is not None
    model = _loaded(audit.files)
    classes = dict(zip(model.classes_in_file, model.classes_.tolist(), strict=True))
    if all(name == str(value) for name, value in classes.items()):
        return ""
    meant = ", ".join(f"{name} is {value!r}" for name, value in classes.items())
    given = f"`leafgate.load_model(FILE, classes={model.classes_.tolist()!r})`"
    return f"the file has numbers for the classes, with which predict.py and others answer: {meant}; {given} knows them"


def _value(text: str, kind: Kind) -> Any:
    """The cell of a table that a text of this kind is of."""
    if kind == "number":
        number = float(text)
        return int(number) if number.is_integer() else number
    return text == "True" if kind == "truth" else text


def _sentence(line: str) -> str:
    """A line of the command with arguments of `leafgate.audit`, whose users have written no policy."""
    return text_in_python(line.strip())


def _names(model: str, suffixes: Sequence[str]) -> list[str]:
    """The names that a new file may have: of the given model's format where that is written, else a neutral file."""
    suffix = Path(model).suffix.lower()
    return [f"repaired{ending}" for ending in dict.fromkeys((suffix, NEUTRAL)) if ending in suffixes]


def _repaired(
    files: AuditFiles, names: Sequence[str], repaired: Callable[[Session, Path, str], RepairResult]
) -> tuple[str, RepairResult]:
    """The first name under which a repaired model can be written, and what the repair came to."""
    with private_folder() as folder:
        session = open_files(files, folder)
        model = folder / files.model
        for name in names[:-1]:
            try:
                return name, repaired(session, model, name)
            except ReleaseError:
                continue
        return names[-1], repaired(session, model, names[-1])


def _with_model(files: AuditFiles, name: str, content: bytes) -> AuditFiles:
    """The files with another model in place of the given one."""
    build = {key: value for key, value in files.document["build"].items() if key != "witness"}
    gone = {files.model, files.document["build"].get("witness", "")}  # the answers are of the given model
    document = {**files.document, "build": {**build, "path": name}}
    contents = {other: each for other, each in files.contents.items() if other not in gone}
    return replace(files, document=document, contents={**contents, name: content}, model=name)


def draw_candidates(candidates: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the use of each candidate against its tightest limit on people; left of the line it is broken."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"a picture needs matplotlib: {install_command('docs')}") from None
    if ax is None:
        ax = pyplot.figure(figsize=(6, 4), layout="constrained").subplots()
    known = candidates.dropna(subset=["headroom", "chosen_by"])
    for step, own in known.groupby("step", sort=False):
        places = own["headroom"].clip(lower=LEAST_HEADROOM)
        sizes = own["verdict"].eq("pass").map({True: 40, False: 12})
        is_given = step == "given"
        ax.scatter(
            *(places, own["chosen_by"]),
            s=120 if is_given else sizes,
            marker="*" if is_given else "o",
            zorder=3 if is_given else 2,
            label=str(step),
        )
    ax.axvline(1.0, color="0.4", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlim(left=LEAST_HEADROOM * 0.9)
    ax.set_xlabel(f"tightest limit on people: by what factor it holds ({LEAST_HEADROOM:g}: that or less)")
    ax.set_ylabel("use to the people that it was chosen by")
    if len(known):
        ax.legend(fontsize=8, title="large: passes", title_fontsize=8)
    return ax


LEAST_HEADROOM = 0.1
"""Where a candidate stands in the picture whose tightest limit is broken by more."""
