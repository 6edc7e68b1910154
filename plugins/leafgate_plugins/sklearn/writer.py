"""skops files of changed models: the original's pipeline and estimator with other trees, and without numbers of people.

The estimator is built anew. Of the original it keeps settings, names of columns and classes, and nothing that was
counted.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from leafgate.api import Floats, Ids, InconclusiveError, ReleaseError
from leafgate.ir.model import levels, summed_up
from leafgate.kernel.release import ADDED_UP
from leafgate.lazy_loading import install_command
from leafgate.readers import LEAF, CategoryCodes, ModelIR, Numeric, Origin, TreeIR
from leafgate_plugins.sklearn.disclosures import SEARCHES
from leafgate_plugins.sklearn.idle_categories import forget_idle_categories
from leafgate_plugins.sklearn.skops import SCHEMA, read
from leafgate_plugins.sklearn.unread import ATTRIBUTES, BOOSTERS

PLACE = "skops file"
FORESTS = frozenset({"RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor"})
WRITTEN = FORESTS | {"DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor"}
FITTED = ("classes_", "n_classes_", "n_outputs_", "n_features_in_", "feature_names_in_", "max_features_")
"""What a tree or forest needs to predict, beside its trees."""

NEUTRAL_SETTINGS: Mapping[str, Any] = {
    **{"random_state": None, "class_weight": None, "warm_start": False, "oob_score": False, "verbose": 0}
}
"""Settings that may tell of people or of chance: weights of classes are often made from how many people have them."""

SAMPLE_SIZES = frozenset({"n_samples_seen_"})
"""Attributes of transformers that count people, without which they transform all the same."""

NOTHING: Mapping[str, Any] = {
    **{"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True}
}
"""What skops writes for None."""

SELECTOR = "make_column_selector"
DTYPE = "leafgate dtype "
"""What stands before the name of a NumPy type in the schema that skops loads."""

MAX_OBJECTS = 100_000
COUNTS_REMEDY = "write the model at the level labels or shares"


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as a skops file: the pipeline and the estimator of the original one, with the model's trees.

    Of a search over settings the best estimator is written. Where the leaves are labels or shares, all numbers of
    people and all impurities are zero; where they are counts, the numbers are those of the model.

    Args:
        model: Trees over features of the original: labels, shares, counts, or numbers.
        original: The skops file that the model was made from. Without its trees it is loaded by skops, which trusts no
            type but those that it trusts by itself.

    Raises:
        ReleaseError: the original is no skops file of a tree or a forest of scikit-learn, or scikit-learn has no such
            tests, leaves or ways to combine trees.
        InconclusiveError: skops or scikit-learn is not installed.
    """
    before = _original_model(original)
    thing = _replaced(_loaded(original), lambda old: _estimator(model, before, old))
    objects = list(_objects(thing))
    for each in objects:
        _restore(each)
        _forget_people(each)
    if not _names_of_categories(before, thing):
        forget_idle_categories(objects, before, model)
    from skops.io import dumps

    return renumbered(dumps(thing))


def check_original(original: bytes) -> None:
    """Refuse a file into whose estimator no other trees can be put.

    Raises:
        ReleaseError: it is no skops file of a tree or a forest of scikit-learn.
        InconclusiveError: skops or scikit-learn is not installed.
    """
    _original_model(original)


@lru_cache(maxsize=1)
def _original_model(original: bytes) -> ModelIR:
    """The model in the original file; ReleaseError where no other trees can be put into its estimator.

    It is read once for all models that a search puts into one file.
    """
    if not original.startswith(b"PK\x03\x04"):
        raise ReleaseError(
            "needs the skops file of the model: new trees are put into its estimator",
            place=PLACE,
            remedy="start from a skops file, or write another format",
        )
    before = read(original, PLACE)
    kind = before.producer.rpartition(" ")[2]
    if kind not in WRITTEN:
        raise ReleaseError(
            f"holds a {kind}, into which no other trees are put",
            place=PLACE,
            remedy=f"write another format; these can be written: {', '.join(sorted(WRITTEN))}",
        )
    return before


def entries_of(content: bytes) -> dict[str, bytes]:
    """The entries of a zip by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_entries(entries: Mapping[str, bytes]) -> bytes:
    """A zip with these entries, all of one time."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in entries.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return file.getvalue()


def renumbered(content: bytes) -> bytes:
    """The file with numbers from 1 in place of the places in memory by which skops names parts of an object."""
    entries = entries_of(content)
    schema = json.loads(entries.pop(SCHEMA))
    numbers: dict[int, int] = {}
    files: dict[str, str] = {}
    waiting: list[Any] = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(reversed(here))
            continue
        if not isinstance(here, dict):
            continue
        if isinstance(here.get("__id__"), int):
            here["__id__"] = numbers.setdefault(here["__id__"], len(numbers) + 1)
        if isinstance(here.get("file"), str) and here["file"] in entries:
            new = f"{len(files) + 1}.{here['file'].partition('.')[2]}"
            here["file"] = files.setdefault(here["file"], new)
        waiting.extend(reversed(here.values()))
    kept = {files.get(name, name): without_gaps(entry) for name, entry in entries.items()}
    written = json.dumps(schema, indent=2).encode()
    return with_entries({**dict(sorted(kept.items())), SCHEMA: written})


def without_gaps(entry: bytes) -> bytes:
    """An array's file with zeros between the fields of its records, where numpy writes whatever memory held."""
    if not entry.startswith(b"\x93NUMPY"):
        return entry
    array = np.load(io.BytesIO(entry), allow_pickle=False)
    if array.dtype.fields is None or not array.size:
        return entry
    used = np.zeros(array.dtype.itemsize, dtype=bool)
    for field, offset, *_ in array.dtype.fields.values():
        used[offset : offset + field.itemsize] = True
    start = len(entry) - array.nbytes
    records = np.frombuffer(entry, np.uint8, offset=start).reshape(-1, array.dtype.itemsize)
    return entry[:start] + np.where(used, records, 0).astype(np.uint8).tobytes()


def _loaded(original: bytes) -> Any:
    """The object in a skops file without its trees, which are replaced anyway.

    skops does not trust scikit-learn's compiled trees, because some that were put together by hand end the process.
    """
    try:
        from skops.io import get_untrusted_types, loads
    except ImportError as error:
        remedy = install_command("sklearn")
        raise InconclusiveError("skops, which writes such files, is not installed", remedy=remedy) from error
    content = _without_trees(original)
    try:
        untrusted = get_untrusted_types(data=content)
        if not untrusted:
            return loads(content)
    except Exception as error:
        raise ReleaseError(
            f"cannot be loaded by the installed skops and scikit-learn ({type(error).__name__})",
            place=PLACE,
            remedy="install the versions that it was saved with",
        ) from error
    raise ReleaseError(
        f"has {len(untrusted)} type(s) that skops does not trust, which are not loaded here",
        place=PLACE,
        remedy="write another format, or fit the model without functions and classes of your own",
    )


@lru_cache(maxsize=1)
def _without_trees(original: bytes) -> bytes:
    """The skops file with `null` in place of each tree, and of what a search keeps beside its best estimator.

    Two kinds of objects that pipelines often have and that skops does not trust go, too: selectors of columns, of which
    a fitted pipeline keeps what they selected, and types of numbers, of which the name is left. `_restore` makes them.
    """
    entries = entries_of(original)
    schema = json.loads(entries[SCHEMA])
    waiting: list[Any] = [schema]
    named = set[str]()
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, dict) and (here.get("__loader__") == "TreeNode" or here.get("__class__") == SELECTOR):
            here.pop("__reduce__", None)
            here.update(NOTHING)
        elif isinstance(here, dict) and here.get("__loader__") == "DTypeNode":
            here.update(NOTHING, content=json.dumps(DTYPE + _dtype_name(here["content"], entries)))
        elif isinstance(here, dict):
            if here.get("__class__") in SEARCHES and here.get("__loader__") == "ObjectNode":
                kept = here["content"]["content"]
                kept.update((name, NOTHING) for name in kept.keys() - {"best_estimator_", "_sklearn_version"})
            named |= {here["file"]} if isinstance(here.get("file"), str) else set()
            waiting.extend(here.values())
    return with_entries(
        {name: entries[name] for name in sorted(named & entries.keys())} | {SCHEMA: json.dumps(schema).encode()}
    )


def _dtype_name(array: Mapping[str, Any], entries: Mapping[str, bytes]) -> str:
    """The name of the type of an array: of one in the schema itself, which has none of numbers, that of objects."""
    if array.get("type") != "numpy":
        return "|O"
    return str(np.load(io.BytesIO(entries[array["file"]]), allow_pickle=False).dtype.str)


def _replaced(thing: Any, replacement: Callable[[Any], Any]) -> Any:
    """The object with another estimator at the end of its pipelines; of a search its best estimator so."""
    kind = type(thing).__name__
    if kind in SEARCHES:
        return _replaced(thing.best_estimator_, replacement)
    if kind == "Pipeline":
        name, last = thing.steps[-1]
        thing.steps = [*thing.steps[:-1], (name, _replaced(last, replacement))]
        return thing
    return replacement(thing)


def _objects(thing: Any) -> Iterator[Any]:
    """Every object of scikit-learn that another has; nothing below trees."""
    waiting, seen = [thing], set[int]()
    while waiting and len(seen) < MAX_OBJECTS:
        here = waiting.pop()
        if id(here) in seen or isinstance(here, str | bytes | np.ndarray):
            continue
        seen.add(id(here))
        if isinstance(here, Mapping):
            waiting.extend(here.values())
        elif isinstance(here, list | tuple):
            waiting.extend(here)
        elif type(here).__module__.startswith("sklearn.") and hasattr(here, "get_params") and hasattr(here, "__dict__"):
            yield here
            waiting.extend(vars(here).values())


def _restore(thing: Any) -> None:
    """Give an object the types of numbers that it had, and a ColumnTransformer the columns that selectors selected."""
    for name, value in list(vars(thing).items()):
        if isinstance(value, str) and value.startswith(DTYPE):
            setattr(thing, name, np.dtype(value.removeprefix(DTYPE)))
    if type(thing).__name__ == "ColumnTransformer" and "transformers_" in vars(thing):
        selected = {name: columns for name, _, columns in thing.transformers_}
        thing.transformers = [
            (name, step, selected.get(name) if columns is None else columns)
            for name, step, columns in thing.transformers
        ]


def _names_of_categories(before: ModelIR, thing: Any) -> bool:
    """Does the estimator itself know features by names of categories, as of a data frame that an encoder made?"""
    while type(thing).__name__ == "Pipeline":
        thing = thing.steps[-1][1]
    coded = {
        name
        for name, one in zip(before.features, before.origins or (), strict=False)
        if isinstance(one, CategoryCodes) and name != one.column
    }
    return any(
        str(name).rpartition("__")[2] in coded or str(name) in coded
        for name in vars(thing).get("feature_names_in_", ())
    )


def _forget_people(thing: Any) -> None:
    """Take away how many people there were, seeds, and attributes that scikit-learn does not have."""
    for name in list(vars(thing)):
        if name in SAMPLE_SIZES or (name not in ATTRIBUTES and name not in BOOSTERS):
            delattr(thing, name)
    if "random_state" in vars(thing):
        thing.random_state = None


def _estimator(model: ModelIR, before: ModelIR, old: Any) -> Any:
    """A new estimator of the old one's class with the model's trees."""
    kind = type(old).__name__
    counted = bool(model.classes) and all(tree.counts is not None for tree in model.trees) and model.combine != "vote"
    _check_combination(model, kind, counted)
    settings = {**old.get_params(deep=False), **NEUTRAL_SETTINGS}
    if not counted:
        settings["max_samples"] = None
    if counted and settings.get("bootstrap") is True and model.counted != "bootstrap":
        raise ReleaseError("counts draws by weights that it does not have", place=PLACE, remedy=COUNTS_REMEDY)
    if set(model.classes) != set(before.classes) or len(model.classes) != len(before.classes):
        raise ReleaseError("has other classes than the original file", place=PLACE)
    columns, classes = _columns(model, before), [model.classes.index(name) for name in before.classes]
    grown = [_grown(model, tree, columns, classes, old, counted) for tree in model.trees]
    if kind not in FORESTS:
        return _fitted(old, settings, tree_=grown[0])
    template = old.estimators_[0]
    own = {**template.get_params(deep=False), **NEUTRAL_SETTINGS}
    members = [_fitted(template, own, tree_=tree) for tree in grown]
    return _fitted(old, {**settings, "n_estimators": len(grown)}, estimators_=members)


def _fitted(old: Any, settings: Mapping[str, Any], **trees: Any) -> Any:
    """A new object of the old one's class with these settings, what it needs to predict, and its trees."""
    known = old.get_params(deep=False).keys()
    new = type(old)(**{name: value for name, value in settings.items() if name in known})
    for name in FITTED:
        if name in vars(old):
            setattr(new, name, getattr(old, name))
    for name, value in trees.items():
        setattr(new, name, value)
    return new


def _check_combination(model: ModelIR, kind: str, counted: bool) -> None:
    """ReleaseError where scikit-learn's estimator puts trees together in another way, or predicts something else."""
    forest, regressor = kind in FORESTS, kind.endswith("Regressor")
    if regressor != (not model.classes) or model.values == "scores" or model.combine in ADDED_UP - {"sum"}:
        raise ReleaseError(f"is no model that a {kind} can hold", place=PLACE, remedy="write another format")
    if len(model.trees) > 1 and not forest:
        raise ReleaseError(f"has several trees, a {kind} has one", place=PLACE, remedy="write another format")
    of_votes = model.combine == "vote" or (model.values == "labels" and not counted)
    if len(model.trees) > 1 and model.combine != "mean_per_tree" and not of_votes:
        why = "adds up what its trees say, and a forest of scikit-learn takes the mean of shares"
        raise ReleaseError(why, place=PLACE, remedy="write the model with labels, or another format")
    for number, tree in enumerate(model.trees):
        inner = tree.feature != LEAF
        if tree.subsets or not tree.flag("float32")[inner].all():
            raise ReleaseError(
                "has tests by sets of categories, or of numbers in double precision, which scikit-learn has not",
                place=f"{PLACE}.trees[{number}]",
                remedy="write another format",
            )


def _columns(model: ModelIR, before: ModelIR) -> Ids:
    """For each feature of the model its position in the original; ReleaseError where it has another meaning there."""
    position = {name: i for i, name in enumerate(before.features)}
    asked = {int(feature) for tree in model.trees for feature in np.unique(tree.feature[tree.feature != LEAF])}
    found = np.zeros(len(model.features), dtype=np.int64)
    own, origins = model.given_origins, before.given_origins
    for feature in sorted(asked):
        name = model.features[feature]
        if name not in position or not _same_origin(name, own[feature], origins[position[name]]):
            raise ReleaseError(
                f"its feature number {feature} is none of the original file",
                place=PLACE,
                remedy="keep the features of the original model, as its pipeline makes them",
            )
        found[feature] = position[name]
    return found


def _same_origin(name: str, one: Origin | None, other: Origin | None) -> bool:
    """Is a feature made of its column in the same way? Categories that only one of them names make no difference."""
    one, other = (Numeric(name) if each is None else each for each in (one, other))
    if isinstance(one, CategoryCodes) and isinstance(other, CategoryCodes):
        codes, others = one.codes, other.codes
        return one.column == other.column and all(codes[value] == others[value] for value in codes if value in others)
    return repr(one) == repr(other)


def _grown(model: ModelIR, tree: TreeIR, columns: Ids, classes: Sequence[int], old: Any, counted: bool) -> Any:
    """scikit-learn's tree with these nodes."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    leaf = tree.feature == LEAF
    strict = tree.flag("strict")
    nodes = np.zeros(tree.nodes, dtype=NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = np.where(leaf, -1, tree.low), np.where(leaf, -1, tree.high)
    nodes["feature"] = np.where(leaf, -2, columns[np.where(leaf, 0, tree.feature)] if len(columns) else 0)
    nodes["threshold"] = np.where(leaf, -2.0, np.where(strict, np.nextafter(tree.threshold, -np.inf), tree.threshold))
    nodes["missing_go_to_left"] = np.where(leaf, 0, tree.flag("missing_low"))
    if counted:
        values, sizes, weights = _counts(model, tree, classes)
        nodes["n_node_samples"], nodes["weighted_n_node_samples"] = sizes, weights
    else:
        values = _leaf_values(model, tree, classes)
    made = Tree(int(old.n_features_in_), np.array([values.shape[1]], dtype=np.intp), 1)
    made.__setstate__(
        {
            "max_depth": len([*levels(tree)]) - 1,
            "node_count": tree.nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values[:, None, :], dtype=np.float64),
        }
    )
    return made


def _leaf_values(model: ModelIR, tree: TreeIR, classes: Sequence[int]) -> Floats:
    """What the leaves say, zero at the inner nodes: labels, shares, or one number."""
    leaves = tree.leaves
    values = np.zeros((tree.nodes, max(1, len(model.classes))))
    if not model.classes:
        values[leaves] = tree.values[leaves]
        return values
    says = tree.values[leaves][:, classes]
    total = says.sum(axis=1, keepdims=True)
    if (total <= 0).any():
        raise ReleaseError("has a leaf that says no class", place=PLACE)
    if model.values == "labels" or model.combine == "vote":  # argmax of the model's own order decides between equals
        best = np.argsort(classes)[tree.values[leaves].argmax(axis=1)]
        says = np.eye(len(classes))[best]
    values[leaves] = says / total if model.values == "counts" and model.combine != "vote" else says
    return values


def _counts(model: ModelIR, tree: TreeIR, classes: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    """Shares of classes, rows and weights of all nodes, from the leaves' counts and, of draws, their rows."""
    if tree.counts is None:
        raise ReleaseError("has no counts", place=PLACE)
    counts = summed_up(tree, tree.counts[:, classes])
    weights = counts.sum(axis=1)
    named = [each.values for each in tree.numbers if each.name == "n_node_samples" and each.members is None]
    if model.counted == "exact" or (not named and model.counted == "unknown" and (weights == np.rint(weights)).all()):
        rows = weights
    elif named:
        rows = summed_up(tree, named[0][:, None])[:, 0]
    else:
        why = "counts draws, and does not say how many people they are of (n_node_samples)"
        raise ReleaseError(why, place=PLACE, remedy=COUNTS_REMEDY)
    if not np.isfinite(weights).all() or (weights <= 0).any():
        raise ReleaseError("has a leaf that counts nobody", place=PLACE, remedy=COUNTS_REMEDY)
    values = counts / weights[:, None]
    if model.values == "shares":
        values[tree.leaves] = tree.values[tree.leaves][:, classes]
    return values, np.rint(rows), weights
