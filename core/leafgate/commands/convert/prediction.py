"""Predicting by a model's file: `leafgate.load_model`, and `predict.py`, which predicts for leafgate, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.errors import DataError, InvalidError, PolicyError
from leafgate.io.files import EVERYONE, write_file
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.commands.convert import neutral, predict
    from leafgate.io.tables import frames
    from leafgate.ir.model import ModelIR, TreeIR
    from leafgate.kernel.arrays import Floats, Ids
    from leafgate.models import reader
    from leafgate.models.lowering import encoding
else:
    np = lazy("numpy")
    neutral, predict = lazy("leafgate.commands.convert.neutral"), lazy("leafgate.commands.convert.predict")
    frames, reader = lazy("leafgate.io.tables.frames"), lazy("leafgate.models.reader")
    encoding = lazy("leafgate.models.lowering.encoding")

SCRIPT = Path(__file__).with_name("predict.py")
"""The script that answers for people by a neutral file; the same for every model."""


def predictor(model: ModelIR) -> predict.Model:
    """The model, as it answers for cells of its columns; only None and NaN are missing cells."""
    trees = [_fields(tree) for tree in model.trees]
    return predict.Model({**neutral.document_of(replace(model, trees=())), "trees": trees}, empty_is_missing=False)


def leaves_of(tree: TreeIR, rows: Floats) -> Ids:
    """The node in which each row of a model's features ends; missing numbers are NaN.

    Args:
        tree: one whose tests name no texts.
        rows: shape (n_rows, n_features).
    """
    n, n_features = rows.shape
    found: Ids = predict.Tree(_fields(tree)).leaves(
        predict.Rows([*map(predict.Cells, rows.T)], np.arange(n_features), n)
    )
    return found


def _fields(tree: TreeIR) -> dict[str, Any]:
    """A tree by the keys of a neutral file, with arrays in place of lists."""
    return {**vars(tree), "says": tree.values}


class LoadedModel:
    """A model of a file, which predicts as a fitted estimator of scikit-learn does.

    Attributes:
        classes_: the classes, in the order of the columns of `predict_proba`; empty where the model predicts numbers.
        columns: the columns that the model asks about. Tables may have others, which change nothing.
    """

    def __init__(self, model: ModelIR, classes: Sequence[Any]) -> None:
        self._model = predictor(model)
        self.classes_: NDArray[Any] = _array(classes)
        self.columns: tuple[str, ...] = self._model.columns

    @property
    def classes_in_file(self) -> tuple[str, ...]:
        """The classes as the file has them, in the order of `classes_`; empty where the model predicts numbers."""
        return tuple(self._model.classes) if len(self.classes_) else ()

    def __repr__(self) -> str:
        return f"LoadedModel(columns={list(self.columns)})"

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict the class or the number of each row.

        Args:
            X: a table of pandas, Polars, Arrow or NumPy with the columns that the model was given. Missing cells are
                what they are to the model.

        Returns:
            Shape (n_rows,); None (NaN of numbers) where the model takes no such value, and predicts nothing.

        Raises:
            DataError: the table lacks a column, or has texts where the model takes numbers. No cell is printed.
        """
        predicted = self._asked(self._model.predict, X)
        if not len(self.classes_):
            return np.array([np.nan if number is None else number for number in predicted], dtype=np.float64)
        of_class = dict(zip(self._model.classes, self.classes_.tolist(), strict=True))
        return _array([None if name is None else of_class[name] for name in predicted])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Predict the probability of each class.

        Args:
            X: as `predict` takes it.

        Returns:
            Shape (n_rows, n_classes), in the order of `classes_`; NaN where the model predicts nothing.

        Raises:
            DataError: as of `predict`.
            InvalidError: the file has no probabilities: it predicts numbers, or has labels alone.
        """
        if not self._model.has_scores:
            what = "has no probabilities of classes: it predicts numbers, or has labels alone"
            raise InvalidError(what, place="model", remedy="call `predict`")
        return np.asarray(self._asked(self._model.scores, X), dtype=np.float64)

    def _asked(self, answer: Any, table: Any) -> Any:
        """What a function answers for the rows of a table, of which the columns that the model asks about are read."""
        frame = frames.pandas_frame(table, "X")
        try:
            if frames.has_names(table):
                names = [name for name in frame.columns if isinstance(name, str)]
                called = predict.columns_called(self.columns, names)
                frame = frame[list(dict.fromkeys(called.values()))]
            else:
                positions = {name: encoding.POSITIONAL.fullmatch(name) for name in self.columns}
                at = {name: int(found[1]) for name, found in positions.items() if found is not None}
                kept = [name for name in self.columns if at.get(name, frame.shape[1]) < frame.shape[1]]
                called = predict.columns_called(self.columns, kept)
                frame = frame.iloc[:, [at[name] for name in kept]].set_axis(kept, axis=1)
            columns = {each.name: each for each in (frames.table_columns(frame, "X") if called else ())}
            cells = {own: _cells(columns[name]) for own, name in called.items()}
            return answer(cells or {"": [None] * len(frame)})
        except ValueError as error:
            raise DataError(str(error), place="X", remedy="give the columns that the model was given") from None


def _cells(column: frames.FrameColumn) -> list[str | None]:
    """The texts of a column's cells; None where they are missing."""
    texts = [*column.texts, None]
    return [texts[code] for code in column.codes.tolist()]


def _array(values: Sequence[Any]) -> NDArray[Any]:
    """Classes as an array: of numbers or truth values where all are, else of objects."""
    if values and all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    array: NDArray[Any] = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def load_model(path: str | Path, classes: Sequence[Any] | NDArray[Any] | None = None) -> LoadedModel:
    """Load a model's file to predict by it; nothing in the file is run.

    Args:
        path: a file `leafgate/model/1` (.json), as `leafgate.repair`, `convert` and `scrub` write it; or the file of
            any other model that leafgate reads.
        classes: the classes in the order of the file, such as `classes_` of the estimator that it was written of. By
            default they are as the file has them: whole numbers, other numbers or truth values where all are, else
            texts. Files of LightGBM and XGBoost number classes from 0, and what is made of them does, too: give the
            classes then.

    Returns:
        The model, which has `predict` and `predict_proba`.

    Raises:
        ReleaseError: the file cannot be read, or is no model.
        InvalidError: `classes` are not as many as the file has.
    """
    from leafgate.api.registry import load_plugins
    from leafgate.ir.validate import refuse_later_trees

    model = reader.read_model(Path(path), load_plugins().readers)
    refuse_later_trees(model, Path(path).name)
    given = _typed(model.classes) if classes is None else [*getattr(classes, "tolist", lambda: classes)()]
    if len(given) != len(model.classes):
        what = f"are {len(given)}, and the file has {len(model.classes)}"
        raise InvalidError(what, place="classes", remedy="give a value for each class, in the order of the file")
    return LoadedModel(model, given)


def _typed(texts: Sequence[str]) -> list[Any]:
    """The classes of a file, which has them as texts, as what they were before."""
    for kind in (int, float):
        try:
            numbers = [kind(text) for text in texts]
        except ValueError:
            continue
        if [str(number) for number in numbers] == list(texts):
            return numbers
    return [text == "True" for text in texts] if {*texts} <= {"False", "True"} else list(texts)


def refuse_script(out: Path, place: str = "--script") -> None:
    """PolicyError where the script cannot stand beside a file: it reads neutral files, and replaces no other file."""
    if out.suffix.lower() not in {"", ".json"}:
        raise PolicyError(f"{SCRIPT.name} reads no file that ends so", place=place, remedy="end OUT in .json")
    beside = out.with_name(SCRIPT.name)
    if beside.exists() and beside.read_bytes() != SCRIPT.read_bytes():
        raise PolicyError(f"{beside} is there, and is another file", place=place, remedy="move or delete it")


def write_script(out: Path) -> str:
    """Write the script beside a new file; a line that says how it is run."""
    beside = out.with_name(SCRIPT.name)
    write_file(beside, SCRIPT.read_bytes(), EVERYONE)
    return f"{beside}: answers for people by NumPy alone: python {SCRIPT.name} {out.name} PEOPLE.csv > ANSWERS.csv"
