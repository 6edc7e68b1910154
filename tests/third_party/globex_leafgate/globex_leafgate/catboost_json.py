"""Models as Globex exports them: CatBoost's JSON, `model.save_model(file, format="json")`, after Globex's own key."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leafgate.readers import ContentField, ModelIR, NumberKind, TreeIR, UnreadTracker

SIZES = FileDisclosure("sizes", "high", "CatBoost keeps how many people end at every leaf (leaf_weights)", "counts")
WEIGHTS = FileDisclosure("sizes", "high", "CatBoost keeps what the people of every leaf weigh (leaf_weights)")
MISSING = FileDisclosure(
    "other_content", "low", "CatBoost keeps which columns had missing cells in training (has_nans)"
)
TRAINING = (
    "CatBoost keeps how it was trained, in # texts and numbers: settings, the seed, the time, errors (model_info)"
)
WHY = "CatBoost takes a missing category for the text that it was given for it"
MISSING_GO_LOW = {"AsIs": True, "AsFalse": True, "AsTrue": False}
MOST_SPLITS = 16  # CatBoost grows no deeper trees
INFINITY = float("inf")


def sniff(head: bytes) -> bool:
    return re.match(rb'\s*\{\s*"globex_export"\s*:', head) is not None


def texts() -> ReaderTexts:
    says = tuple(each.says for each in (SIZES, WEIGHTS, MISSING))
    return ReaderTexts(producers=frozenset({"catboost"}), reasons=(WHY,), disclosures=(*says, TRAINING))


@dataclass(frozen=True)
class Split:
    """A test of an oblivious tree: a number above `border`, or a category with the hash `value`."""

    feature: int
    border: float = INFINITY
    category: str | None = None
    missing_low: bool = False


def read(content: bytes, place: str) -> ModelIR:
    """The model of a file; of a model with two classes the one score is that of the second."""
    from leafgate.readers import CategoryList, ModelIR, UnreadTracker, parse_bounded_json

    document = parse_bounded_json(content, place)
    if not isinstance(document, dict) or document.pop("globex_export", None) != 1 or "features_info" not in document:
        raise ReleaseError("is no model of CatBoost", place=place)
    if "oblivious_trees" not in document:
        raise refusal("its trees are not oblivious", "fit it with grow_policy='SymmetricTree'", place)
    info, trees, (scale, base) = document["features_info"], document["oblivious_trees"], document["scale_and_bias"]
    numeric, categorical = info.get("float_features", []), info.get("categorical_features", [])
    names = tuple(each["feature_id"] or str(each["flat_feature_index"]) for each in (*numeric, *categorical))
    classes = classes_of(document["model_info"], place)
    outputs = 1 if len(classes) == 2 else len(classes)

    unread = UnreadTracker()
    account(document, outputs, len(names), unread)
    shown = [each.get("feature_name", "") for each in (*numeric, *categorical)]
    unread.check_texts("features_info.feature_name", shown, names=names)
    weights = [weight for tree in trees for weight in tree.get("leaf_weights", ())]
    kind: NumberKind = "weight" if is_weighted(document["model_info"], weights) else "rows"
    texts_of = {each["hash"]: each["value"] for each in info.get("cat_features_hash") or ()}
    read_trees = []
    for tree in trees:
        splits = [split_of(each, numeric, len(numeric), texts_of, place) for each in tree["splits"]]
        read_trees.append(tree_of(tree, splits, outputs, scale, kind, place))
    used = {(each.get("float_feature_index"), each.get("border")) for tree in trees for each in tree["splits"]}
    unused = [at for index, each in enumerate(numeric) for at in each["borders"] if (index, at) not in used]
    if unused:
        unread.add("borders that no tree uses", len(unused))

    training = TRAINING.replace("#", str(values_in(document["model_info"])))
    discloses = [FileDisclosure("settings", "high", training)]
    discloses += [WEIGHTS if kind == "weight" else SIZES] if weights else []
    discloses += [MISSING] if any(each["has_nans"] for each in numeric) else []
    return ModelIR(
        format="catboost",
        features=names,
        classes=classes,
        trees=tuple(read_trees),
        values="scores",
        combine="boost",
        base=tuple(map(float, base)),
        discloses=(*discloses, *unread.disclosures()),
        producer="catboost",
        texts=unread.texts,
        unspecified_missing=WHY if categorical else "",
        unspecified_missing_features=frozenset(names[len(numeric) :]),
        category_lists=(CategoryList("", frozenset(texts_of.values())),) if texts_of else (),
    )


def refusal(what: str, remedy: str, place: str) -> ReleaseError:
    return ReleaseError(f"is a model of CatBoost that cannot be read: {what}", place=place, remedy=remedy)


def classes_of(info: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """The classes, first the one of the lowest score; whole numbers as texts."""
    loss = info["params"]["loss_function"]["type"]
    if loss not in {"Logloss", "MultiClass"} or "binclass_probability_threshold" in info:
        raise refusal("its loss or its threshold", "fit it with Logloss or MultiClass and the usual threshold", place)
    names = info["class_params"]["class_names"]
    if any(isinstance(name, bool | float) for name in names) or (loss == "Logloss") != (len(names) == 2):
        raise refusal("its classes are neither texts nor whole numbers", "fit it on classes of texts", place)
    return tuple(map(str, names))


def is_weighted(info: Mapping[str, Any], weights: Sequence[float]) -> bool:
    """Do the weights of leaves count something else than people?"""
    options = info["params"].get("data_processing_options", {})
    balanced = bool(options.get("class_weights")) or options.get("auto_class_weights", "None") != "None"
    return balanced or not all(float(weight).is_integer() for weight in weights)


def split_of(
    split: Mapping[str, Any], numeric: Sequence[Any], first: int, texts_of: Mapping[int, str], place: str
) -> Split:
    """A test of the file; the features of categories have the numbers from `first` on."""
    if split["split_type"] == "FloatFeature":
        at = int(split["float_feature_index"])
        missing_low = MISSING_GO_LOW[numeric[at]["nan_value_treatment"]]
        return Split(at, border=float(split["border"]), missing_low=missing_low)
    if split["split_type"] == "OneHotFeature":
        text = texts_of[split["value"] % 2**32]  # signed here, unsigned in the list
        return Split(first + int(split["cat_feature_index"]), category=text)
    raise refusal("it has tests of statistics of the table", "fit it with one_hot_max_size=255", place)


def tree_of(
    tree: Mapping[str, Any], splits: Sequence[Split], outputs: int, scale: float, kind: NumberKind, place: str
) -> TreeIR:
    """The tree with one test after the other; a way that no value can take is left out, and must be nobody's."""
    import numpy as np

    from leafgate.readers import NodeNumbers, TreeIRBuilder

    ends = 2 ** len(splits) if len(splits) <= MOST_SPLITS else 0
    values = np.array(tree["leaf_values"], dtype=np.float64)
    weights = np.array(tree.get("leaf_weights") or [np.nan] * ends, dtype=np.float64)
    if values.shape != (ends * outputs,) or weights.shape != (ends,):
        raise refusal("a tree has another number of leaves than its tests", "save it again", place)
    builder, leaf_of = TreeIRBuilder(), dict[int, int]()
    # What is known on the way: of a number, above and up to what it is; of a column of categories, what it is not.
    waiting: list[tuple[int, int, int, int, dict[int, Any]]] = [(0, 0, -1, 0, {})]
    while waiting:
        depth, leaf, parent, way, known = waiting.pop()
        ways: list[tuple[int, dict[int, Any]]] = []
        while depth < len(splits) and len(ways) < 2:
            ways = ways_of(splits[depth], known)
            if len(ways) == 1:
                leaf, known = leaf | ways[0][0] << depth, ways[0][1]
                depth += 1
        if depth == len(splits):
            node = builder.add()
            leaf_of[node] = leaf
        else:
            split = splits[depth]
            if split.category is None:
                node = builder.add(split.feature, split.border, float32=True, missing_low=split.missing_low)
            else:
                node = builder.add(split.feature, subset=[split.category])
            low = 0 if split.category is None else 1  # a subset goes low, and is CatBoost's bit 1
            waiting += [(depth + 1, leaf | bit << depth, node, bit ^ low, after) for bit, after in ways]
        if parent >= 0:
            builder.children[parent][way] = node
    nodes, leaves = list(leaf_of), list(leaf_of.values())
    nobody = np.setdiff1d(np.arange(ends), leaves)
    if np.any(weights[nobody] > 0) or np.any(values.reshape(ends, outputs)[nobody]):
        raise refusal("it has numbers at a leaf that nobody can reach", "save it again", place)
    scores, people = np.zeros((len(builder), outputs)), np.full(len(builder), np.nan)
    scores[nodes] = scale * values.reshape(ends, outputs)[leaves]
    people[nodes] = weights[leaves]
    counted = [NodeNumbers("leaf_weights", kind, people)] if tree.get("leaf_weights") else []
    return builder.build(values=scores, numbers=counted)


def ways_of(split: Split, known: dict[int, Any]) -> list[tuple[int, dict[int, Any]]]:
    """The answers 0 and 1 that are possible after what is known, each with what is known then."""
    if split.category is None:
        above, up_to = known.get(split.feature, (-INFINITY, INFINITY))
        below = [(0, known | {split.feature: (above, min(up_to, split.border))})] if split.border > above else []
        return below + ([(1, known | {split.feature: (split.border, up_to)})] if split.border < up_to else [])
    only, never = known.get(split.feature, (None, frozenset()))
    if only is not None or split.category in never:
        return [(int(only == split.category), known)]
    return [
        (0, known | {split.feature: (None, never | {split.category})}),
        (1, known | {split.feature: (split.category, never)}),
    ]


def account(document: Mapping[str, Any], outputs: int, features: int, unread: UnreadTracker) -> None:
    """Record whatever is in the file besides the trees and the record of the training."""
    from leafgate.readers import ContentField as Field
    from leafgate.readers import ContentKind as Kind

    def tables(**fields: ContentField) -> ContentField:
        return Field(Kind.TABLES, fields=fields)

    number, numbers, text, yes_or_no = map(Field, (Kind.NUMBER, Kind.NUMBERS, Kind.TEXT, Kind.ANY))
    yes_or_no, index = replace(yes_or_no, max_values=1), Field(Kind.NUMBER, below=features)
    kinds = Field(Kind.TEXT, pattern=re.compile("FloatFeature|OneHotFeature|AsIs|AsFalse|AsTrue"))
    named = {"feature_id": text, "feature_name": text, "feature_index": index, "flat_feature_index": index}
    columns = {
        "float_features": tables(**named, borders=numbers, has_nans=yes_or_no, nan_value_treatment=kinds),
        "categorical_features": tables(**named, values=numbers),
        "cat_features_hash": tables(hash=number, value=text),
    }
    asked = {"float_feature_index": index, "cat_feature_index": index, "split_index": number, "split_type": kinds}
    splits = tables(**asked, border=number, value=number)
    fields = {
        "features_info": Field(Kind.TABLE, fields=columns),
        "model_info": Field(Kind.TABLE),
        "oblivious_trees": tables(leaf_values=numbers, leaf_weights=numbers, splits=splits),
        "scale_and_bias": Field(Kind.ANY, max_values=1 + outputs),
    }
    filled = {name: each for name, each in document["features_info"].items() if each is not None}
    unread.check_table({**document, "features_info": filled}, fields, {})


def values_in(content: Any) -> int:
    """How many texts, numbers and keys there are in the content."""
    count, waiting = 0, [content]
    while waiting:
        here = waiting.pop()
        waiting += here.values() if isinstance(here, dict) else here if isinstance(here, list) else []
        count += len(here) if isinstance(here, dict) else not isinstance(here, list)
    return count


CATBOOST = ModelReader(
    name="globex_catboost", sniff=sniff, read=read, max_bytes=64 * 2**20, texts=texts, tested=("catboost",)
)
