"""The release file `leafgate/release/1`: written byte for byte the same, read without trust.

A release that was read from a model file records that file, and what it discloses beyond its predictions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from io import BytesIO
from json.encoder import encode_basestring
from secrets import token_hex
from typing import TYPE_CHECKING, Any, get_args

from leafgate.algorithms.witness import Witness
from leafgate.errors import ReleaseError
from leafgate.garbage_collection import paused_garbage_collection
from leafgate.io.json import (
    append_readable,
    are_numbers,
    are_texts,
    flag_at,
    is_number,
    list_at,
    may_hold_surrogates,
    object_at,
    one_of,
    parse_json,
    parse_plainly,
    refuse_unknown,
)
from leafgate.io.tree_reader import TreeReader
from leafgate.io.tree_writer import TreeWriter
from leafgate.io.yaml import parse_yaml
from leafgate.kernel import release as releases
from leafgate.kernel.leaf import Statistic
from leafgate.kernel.noise import LAWS, Noise
from leafgate.kernel.schema import Column, Role, Schema, bin_names
from leafgate.kernel.tree import MAX_TREES, Node, tree_arrays

if TYPE_CHECKING:
    from leafgate.algorithms.node_counts import FileNumbers
    from leafgate.ir.content import FileContent
    from leafgate.kernel.training_rows import TrainingRows


def read_model_file(document: Any, place: str) -> releases.ModelFile | None:
    """The part `file` of a release file; ReleaseError where it cannot be meant."""
    if document is None:
        return None
    document = object_at(document, place)
    refuse_unknown(document, ("format", "model_sha256", "discloses"), ReleaseError, place)
    if not all(isinstance(document.get(key), str) for key in ("format", "model_sha256")):
        raise ReleaseError("`format` and `model_sha256` must be texts", place=place)
    items = enumerate(list_at(document, "discloses", place))
    found = tuple(read_disclosure(item, f"{place}.discloses[{i}]") for i, item in items)
    return releases.ModelFile(document["format"], document["model_sha256"], found)


def read_disclosure(document: Any, place: str, texts: Collection[str] = frozenset()) -> releases.FileDisclosure:
    """One item of a file's disclosures; `texts` may stand in one besides leafgate's own, with `#` for each number."""
    item: Mapping[str, Any] = object_at(document, place)
    refuse_unknown(item, ("kind", "severity", "says", "level"), ReleaseError, place)
    if not all(isinstance(item.get(key), str) for key in ("kind", "severity", "says")):
        raise ReleaseError("`kind`, `severity` and `says` must be texts", place=place)
    if item["severity"] not in releases.SEVERITIES or item.get("level") not in (None, *releases.LEVELS):
        raise ReleaseError("has a `severity` or a `level` that there is not", place=place)
    text = re.sub("[0-9]{1,9}", "#", item["says"])
    kinds, own_texts = own_disclosures()
    kind = item["kind"] if item["kind"] in kinds else "other_content"
    known = text in texts or (kind == item["kind"] and text in own_texts)
    return releases.FileDisclosure(kind, item["severity"], item["says"] if known else FOREIGN_WORDS, item.get("level"))


FOREIGN_WORDS = "something that its file describes in words that leafgate does not write"
"""What reports say of such an item: its own words may name people."""


@cache
def own_disclosures() -> tuple[frozenset[str], frozenset[str]]:
    """The kinds of disclosures that leafgate writes, and what the core says of them, with `#` for each number."""
    name = "disclosures.yaml"
    document = parse_yaml(files("leafgate.io").joinpath(name).read_bytes(), name)
    return frozenset(document["kinds"]), frozenset(document["texts"])


def read_calibrated_sums(document: Any, place: str) -> tuple[releases.CalibratedSum, ...]:
    """The calibrated sums in the file of a release or a model; whether they are those of its trees is not checked."""
    found = []
    for i, each in enumerate(list_at({"sums": document}, "sums", place)):
        each, here = object_at(each, f"{place}[{i}]"), f"{place}[{i}]"
        refuse_unknown(each, ("trees", "link", "mean", "points"), ReleaseError, here)
        points = list_at({"points": [], **each}, "points", here)
        if not all(
            isinstance(of_class, list) and all(are_numbers(point) and len(point) == 2 for point in of_class)
            for of_class in points
        ):
            raise ReleaseError("must be lists of pairs of numbers", place=f"{here}.points")
        if type(each.get("trees")) is not int:
            raise ReleaseError("must be a whole number", place=f"{here}.trees")
        link = one_of(each.get("link"), releases.Link, f"{here}.link")
        is_mean = flag_at({"mean": False, **each}, "mean", here)
        pairs = tuple(tuple((float(at), float(share)) for at, share in of_class) for of_class in points)
        found.append(releases.CalibratedSum(each["trees"], link, is_mean, pairs))
    return tuple(found)


def read_naive_bayes(document: Any, schema: Schema, place: str) -> releases.NaiveBayes | None:
    """The model in a release file, if there is one; ReleaseError where it is none."""
    if document is None:
        return None
    document = object_at(document, place)
    refuse_unknown(document, ("shares", "normals"), ReleaseError, place)
    shares = object_at(document.get("shares"), f"{place}.shares")
    if not shares or any(label not in schema.classes for label in shares):
        raise ReleaseError("needs shares of the classes", place=f"{place}.shares")
    if (
        not all(is_number(share) and 0 < share <= 1 for share in shares.values())
        or abs(sum(shares.values()) - 1) > 1e-6
    ):
        raise ReleaseError("shares are above 0 and sum to 1", place=f"{place}.shares")
    normals: dict[str, dict[str, tuple[float, float]]] = {}
    for name, within in object_at(document.get("normals"), f"{place}.normals").items():
        within = object_at(within, f"{place}.normals.{name}")
        if name not in schema or not schema[name].numeric or set(within) != set(shares):
            raise ReleaseError("needs columns of numbers, and each class", place=f"{place}.normals.{name}")
        if any(not are_numbers(normal) or len(normal) != 2 or normal[1] <= 0 for normal in within.values()):
            raise ReleaseError("needs a mean, and a variance above 0", place=f"{place}.normals.{name}")
        normals[name] = {label: (float(normal[0]), float(normal[1])) for label, normal in within.items()}
    return releases.NaiveBayes(shares, normals)


def records_document(records: releases.Records) -> dict[str, Any]:
    """The records as a release file contains them."""
    return {
        "columns": list(records.columns),
        "rows": [list(row) for row in records.rows],
        "weight": list(records.weight),
    }


def read_records(document: Any, schema: Schema, noise: Mapping[str, Noise], place: str) -> releases.Records | None:
    """The published records, if there are any; numbers under noise may lie outside their column's bounds."""
    if document is None:
        return None
    document = object_at(document, place)
    refuse_unknown(document, ("columns", "rows", "weight"), ReleaseError, place)
    columns, rows, weight = (list_at(document, key, place) for key in ("columns", "rows", "weight"))
    if not are_texts(columns) or any(name not in schema for name in columns):
        raise ReleaseError("names a column the schema does not have", place=f"{place}.columns")
    if len(set(columns)) != len(columns) or not rows:
        raise ReleaseError("needs rows, and each column once", place=place)
    if len(rows) != len(weight) or any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        raise ReleaseError("every row needs one cell a column, and one weight", place=f"{place}.rows")
    if any(not isinstance(people, int) or isinstance(people, bool) or people < 1 for people in weight):
        raise ReleaseError("weights are whole numbers of people, 1 or more", place=f"{place}.weight")
    for number, row in enumerate(rows):
        for name, cell in zip(columns, row, strict=True):
            if name not in noise or not is_number(cell):  # noise leads out of the bounds
                _check_cell(cell, schema[name], f"{place}.rows[{number}].{name}")
    return releases.Records(tuple(columns), tuple(tuple(row) for row in rows), tuple(weight))


def _check_cell(cell: Any, column: Column, place: str) -> None:
    if cell == {"withheld": True} or _is_value(cell, column):
        return
    if isinstance(cell, dict) and set(cell) == {"from", "to"} and column.numeric and are_numbers([*cell.values()]):
        return
    several = cell["in"] if isinstance(cell, dict) and set(cell) == {"in"} else None
    if isinstance(several, list) and several and all(_is_value(item, column) for item in several):
        return
    raise ReleaseError("is no cell, or outside the column's domain", place=place)


def _is_value(cell: Any, column: Column) -> bool:
    if cell is None:
        return column.missing
    if column.values is not None:
        return isinstance(cell, str) and cell in column.domain_set
    low, high = column.bounds or (cell, cell)
    return is_number(cell) and bool(low <= cell <= high)


def read_noise(document: Any, schema: Schema, place: str) -> dict[str, Noise]:
    """Each noisy column's law."""
    found = {}
    for name, law in object_at(document, place).items():
        law = object_at(law, f"{place}.{name}")
        refuse_unknown(law, ("law", "scale"), ReleaseError, f"{place}.{name}")
        if name not in schema or not schema[name].numeric:
            raise ReleaseError("is about no column of numbers", place=f"{place}.{name}")
        if law.get("law") not in LAWS or not is_number(law.get("scale")) or law["scale"] <= 0:
            remedy = f"`law` is one of {', '.join(LAWS)}, `scale` a number above 0"
            raise ReleaseError("is no law of noise", place=f"{place}.{name}", remedy=remedy)
        found[name] = Noise(law["law"], float(law["scale"]))
    return found


FORMAT = "leafgate/release/1"
KEYS = (
    *("format", "builder", "target", "classes", "publish", "counted", "unit", "selection", "schema"),
    *("guarantee", "combine", "model", "alternatives", "records", "noise", "bayes", "file", "trees"),
    "calibrated_sums",
)

MAX_IMPLIED = 10_000_000
"""Numbers on leaves that a file may leave out, because they are 0: each takes memory that the file does not."""
NUMBER_BYTES = 6
"""A number that a file does not leave out takes as many bytes or more: a name in quotes, a colon, a digit, a comma."""
STATISTIC_BYTES = 8
"""The name of a statistic of classes takes as many bytes or more, with its quotes."""


@dataclass(frozen=True)
class Provenance:
    """What the auditor knows of the model's file or object that a release was read from.

    Attributes:
        audited_file: the file that was read, for reports. The release does not depend on its name.
        node_numbers: what the file counts on its nodes.
        training_rows: what it states of the rows that its trees were grown on, as attacks read it.
        learner: the estimator that was fitted to make the model, where that is known.
        model_content: the texts and numbers that the file contains.
        discloses: what a release file discloses beside what its release states; a model's file states that itself.
        unspecified_missing: the columns of which the file does not state where missing cells go, of those that its
            trees test.
        complete_rows: whether its owner states that nobody with a missing cell was in the training.
        mapped_classes: the class of the model for each value, where the policy maps values of other names and its owner
            does not confirm it.
        reading: how the file was read; None where the release was read from no such file.
        witness: what the library that wrote the file answers, where it was asked.
    """

    audited_file: releases.AuditedFile | None = None
    node_numbers: FileNumbers | None = None
    training_rows: TrainingRows | None = None
    learner: releases.Learner | None = None
    model_content: FileContent | None = None
    discloses: tuple[releases.FileDisclosure, ...] = ()
    unspecified_missing: frozenset[str] = frozenset()
    complete_rows: bool = False
    mapped_classes: Mapping[str, str] = field(default_factory=dict)
    reading: releases.ModelReading | None = None
    witness: Witness | None = None


@dataclass(frozen=True)
class SealedRelease(releases.BuildResult):
    """A release with the bytes that are published of it, and what its owner and the auditor alone may know of it.

    Attributes:
        written: the bytes of the release file that `release` was read from; None as long as the release was only built,
            or made of somebody else's model (`serialize` writes it, and reads it back).
        provenance: what is known of the file or object that it was read from.
        built: whether a builder made it in this process, so that it was read from nobody's file or object.
    """

    written: bytes | None = field(default=None, repr=False)
    provenance: Provenance = field(default_factory=Provenance, repr=False)
    built: bool = False

    @cached_property
    def content(self) -> bytes:
        """The bytes that are published."""
        return release_bytes(self.release) if self.written is None else self.written

    @property
    def starting_trees(self) -> int:
        """How many of the first trees are none of the model's, but the scores that its boosting starts from: 0 or 1."""
        numbers = self.provenance.node_numbers
        return 0 if numbers is None else len(self.release.trees) - len(numbers.trees)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@paused_garbage_collection()
def serialize(built: releases.Release | releases.BuildResult) -> SealedRelease:
    """The release as anyone will read it: written, and read back from what was written."""
    result = releases.BuildResult.of(built)
    if not isinstance(result, SealedRelease):
        result = SealedRelease(result.release, result.origins, result.trail, built=result.release.file is None)
    release = read_release(result.content, "release").release  # of a file, too: a builder may have changed what it read
    if result.written is None and result.release.file is not None:  # in the words of its reader, which is installed
        release = replace(release, file=result.release.file)
    return replace(result, release=release, written=result.content)


def release_bytes(release: releases.Release) -> bytes:
    """The release as the JSON document `leafgate/release/1`, written tree by tree."""
    file, pieces, writer = BytesIO(), list[str](), TreeWriter(release.classes if release.schema.having("class") else ())
    for number, (key, fact) in enumerate(_facts(release).items()):
        pieces.append(f'{"," if number else "{"}\n "{key}": ')
        if key == "alternatives" and release.alternatives:
            named = [(encode_basestring(name), tree_arrays(tree)) for name, tree in release.alternatives.items()]
            trees = ",".join(f"\n  {name}: {writer.text(tree)}" for name, tree in named)
            pieces.append(f"{{{trees}\n }}")
        elif key == "trees" and release.trees:
            for i, tree in enumerate(release.trees):
                pieces += ",\n  " if i else "[\n  ", writer.text(tree_arrays(tree))
                file.write("".join(pieces).encode())
                pieces.clear()
            pieces.append("\n ]")
        else:
            append_readable(fact, "\n ", pieces)
    pieces.append("\n}\n")
    file.write("".join(pieces).encode())
    return file.getvalue()


def _facts(release: releases.Release) -> dict[str, Any]:
    """The keys of a release file in their order, with what they hold, trees apart."""
    fields: dict[str, Any] = {
        "format": FORMAT,
        "builder": dict(release.builder),
        "target": release.target if release.schema.having("class") else None,
        "classes": list(release.classes) if release.schema.having("class") else [],
        "publish": {"leaves": release.publish.leaves, "measure": measure_of(release)},
        "counted": release.count_semantics,
        "unit": release.unit,
        "selection": None if release.selection is None else dict(release.selection),
        "schema": release.schema.described(),
        "guarantee": dict(release.guarantee),
        "combine": release.combine,
        "model": release.model,
        "alternatives": {},
        "records": None if release.records is None else records_document(release.records),
        "trees": [],
    }
    if release.noise:
        fields["noise"] = {name: noise.described() for name, noise in release.noise.items()}
    if release.bayes is not None:
        fields["bayes"] = release.bayes.described()
    if release.file is not None:
        fields["file"] = release.file.described()
    if release.calibrated_sums:
        fields["calibrated_sums"] = [each.described() for each in release.calibrated_sums]
    if release.unit == "people":
        del fields["unit"]
    if not release.publish.measure:
        del fields["selection"]
    return fields


def measure_of(release: releases.Release) -> str | None:
    """The published selection measure; None where it is kept back."""
    return None if release.selection is None else release.selection.get("measure")


@paused_garbage_collection()
def read_release(content: bytes, place: str) -> SealedRelease:
    """The release in a file's bytes, and these bytes; ReleaseError states what is wrong with it, and where."""
    if (taken_apart := _taken_apart(content)) is not None:
        with suppress(_OtherLayoutError):
            return _read(content, *taken_apart, place)
    return _read(content, object_at(parse_json(content, ReleaseError, place), place), None, place)


def _read(content: bytes, document: dict[str, Any], span: tuple[int, int] | None, place: str) -> SealedRelease:
    """The release whose trees are in the document, or are all that stands in `span` of the file."""
    if document.get("format") != FORMAT:
        raise ReleaseError(f"is not a release file: its `format` is not {FORMAT!r}", place=place)
    refuse_unknown(document, KEYS, ReleaseError, place)
    alternatives = object_at(document.get("alternatives", {}), f"{place}.alternatives")
    trees = list_at(document, "trees", place)
    if len(trees) + len(alternatives) > MAX_TREES:
        raise ReleaseError(f"has more than {MAX_TREES:,} trees", place=place)
    schema = _schema(document.get("schema"), f"{place}.schema")
    _check_class(document, schema, place)
    if span is None:
        _check_implied(content, len(document["classes"]), place)
    publish = object_at(document.get("publish"), f"{place}.publish")
    refuse_unknown(publish, ("leaves", "measure"), ReleaseError, f"{place}.publish")
    selection = document.get("selection")
    noise = read_noise(document.get("noise", {}), schema, f"{place}.noise")
    reader = TreeReader(schema)
    release = releases.Release(
        builder=object_at(document.get("builder"), f"{place}.builder"),
        schema=schema,
        trees=tuple(
            reader.read({f"{place}.trees[{i}]": tree for i, tree in enumerate(trees)})
            if span is None
            else _read_trees(content, span, reader, place)
        ),
        publish=releases.Publish(
            leaves=one_of(publish.get("leaves"), releases.Level, f"{place}.publish.leaves"),
            measure="selection" in document,
        ),
        count_semantics=one_of(document.get("counted"), releases.Counted, f"{place}.counted"),
        selection=None if selection is None else object_at(selection, f"{place}.selection"),
        guarantee=object_at(document.get("guarantee", {}), f"{place}.guarantee"),
        combine=one_of(document.get("combine", "one"), releases.Combine, f"{place}.combine"),
        model=one_of(document.get("model", "trees"), releases.Model, f"{place}.model"),
        alternatives=_named(alternatives, reader, f"{place}.alternatives"),
        records=read_records(document.get("records"), schema, noise, f"{place}.records"),
        noise=noise,
        bayes=read_naive_bayes(document.get("bayes"), schema, f"{place}.bayes"),
        file=read_model_file(document.get("file"), f"{place}.file"),
        unit=one_of(document.get("unit", "people"), releases.CountedUnit, f"{place}.unit"),
        calibrated_sums=read_calibrated_sums(document.get("calibrated_sums", []), f"{place}.calibrated_sums"),
    )
    _check_whole(release, publish.get("measure"), place)
    return SealedRelease(release, written=content)


TREES = b'\n "trees": ['
BETWEEN_TREES = b"\n  },\n  {"
END_OF_TREES = b"\n ]"
"""How a release file that leafgate wrote begins, separates and ends its trees. JSON has no line breaks in texts."""

BYTES_AT_ONCE = 2_500_000
"""Trees are read until they have so many bytes, and then the next ones: that takes little memory, and little time for
each of many small trees."""


def _read_trees(content: bytes, span: tuple[int, int], reader: TreeReader, place: str) -> Iterator[Node]:
    """The trees between two positions of a file, some at once."""
    (begin, end), n_read = span, 0
    while begin < end:
        cut = content.find(BETWEEN_TREES, begin + BYTES_AT_ONCE, end)
        last = end if cut < 0 else cut + BETWEEN_TREES.index(b",")
        text = content[begin:last]
        begin = last + 1
        _check_implied(text, len(reader.classes), place)
        trees = reader.written(text)
        if trees is None:
            try:
                if may_hold_surrogates(text):
                    raise _OtherLayoutError
                documents = parse_plainly(b"[" + text + b"]")
            except (ValueError, RecursionError):
                raise _OtherLayoutError from None
            trees = reader.read({f"{place}.trees[{n_read + i}]": tree for i, tree in enumerate(documents)})
        yield from trees
        n_read += len(trees)
        if n_read > MAX_TREES:
            raise ReleaseError(f"has more than {MAX_TREES:,} trees", place=place)


def _named(documents: Mapping[str, Any], reader: TreeReader, place: str) -> dict[str, Node]:
    """Trees by their names."""
    trees = reader.read({f"{place}.{name}": tree for name, tree in documents.items()})
    return dict(zip(documents, trees, strict=True))


class _OtherLayoutError(Exception):
    """What stands where `release_bytes` writes trees is not trees alone."""


def _taken_apart(content: bytes) -> tuple[dict[str, Any], tuple[int, int]] | None:
    """The document in a release file without its trees, and where they begin and end in a file as leafgate writes it.

    Other keys may stand in what lies between: whoever reads the trees checks that all of it is trees.
    """
    begin = content.find(TREES) + len(TREES)
    end = content.rfind(END_OF_TREES, begin)
    if begin < len(TREES) or end <= begin:
        return None
    mark = token_hex(16)  # which the file cannot hold anywhere else
    without_trees = content[:begin] + f'"{mark}"'.encode() + content[end:]
    with suppress(ValueError, RecursionError):
        document = None if may_hold_surrogates(without_trees) else parse_plainly(without_trees)
        if isinstance(document, dict) and document.get("trees") == [mark]:
            return document, (begin, end)
    return None


def _check_class(document: Mapping[str, Any], schema: Schema, place: str) -> None:
    """Trees predict one class; records alone need none."""
    found = schema.having("class")
    needed = bool(document.get("trees")) or bool(document.get("alternatives")) or document.get("model") != "none"
    if len(found) > 1 or any(column.values is None for column in found) or (needed and not found):
        raise ReleaseError("needs one column with the role `class`, and its `values`", place=f"{place}.schema")
    target = found[0].name if found else None
    classes = list(found[0].values or ()) if found else []
    if document.get("target") != target or document.get("classes") != classes:
        raise ReleaseError("`target` and `classes` do not agree with `schema`", place=place)


def _check_implied(content: bytes, classes: int, place: str) -> None:
    """Leaves hold a number for each class, also where the file names few of them."""
    if len(content) // STATISTIC_BYTES * classes <= MAX_IMPLIED:
        return
    leaves_counted = sum(content.count(key) for key in (b'"counts"', b'"shares"', b'"scores"'))
    if leaves_counted * classes > max(MAX_IMPLIED, len(content) // NUMBER_BYTES):
        raise ReleaseError(f"has leaves and classes for more than {MAX_IMPLIED:,} numbers", place=place)


def _check_whole(release: releases.Release, measure: Any, place: str) -> None:
    """Refuse a file that publishes more, or other numbers, than its `publish` section states."""
    if not isinstance(release.builder.get("use"), str):
        raise ReleaseError("`use` must be a text", place=f"{place}.builder")
    if measure != measure_of(release):
        raise ReleaseError("does not agree with `selection`", place=f"{place}.publish.measure")
    if release.model == "none" and (release.trees or release.alternatives):
        raise ReleaseError("says `none`, and there are trees", place=f"{place}.model")
    if (release.model == "naive_bayes") != (release.bayes is not None) or (release.bayes and release.trees):
        raise ReleaseError("says `naive_bayes` where there is no `bayes`, or trees", place=f"{place}.model")
    if release.combine == "one" and len(release.trees) > 1:
        raise ReleaseError("says `one`, and there are several trees", place=f"{place}.combine")
    classes = len(release.classes) if release.trees else 0
    if not releases.are_sums_of(release.calibrated_sums, len(release.trees), release.combine, classes):
        raise ReleaseError("are not those of its trees and classes", place=f"{place}.calibrated_sums")
    stated: dict[releases.Level, Statistic] = {"counts": "counts", "shares": "shares", "error_rates": "error_rate"}
    for tree in (*release.trees, *release.alternatives.values()):
        leaves = tree_arrays(tree).statistics
        more: list[str] = [
            level for level, name in stated.items() if name in leaves.numbers and level != release.publish.leaves
        ]
        more += ["scores"] if "scores" in leaves.numbers and not _may_score(release) else []
        if more or (release.publish.leaves == "counts" and not leaves.publishes("counts").all()):
            raise ReleaseError("leaves have other statistics than the file states", place=f"{place}.publish.leaves")


def _may_score(release: releases.Release) -> bool:
    """Are scores what the counts say anyway, or what nobody could predict without?"""
    return release.publish.leaves == "counts" or release.combine == "boost"


def _schema(document: Any, place: str) -> Schema:
    return Schema(tuple(_column(name, spec, f"{place}.{name}") for name, spec in object_at(document, place).items()))


def _column(name: str, document: Any, place: str) -> Column:
    document = object_at(document, place)
    refuse_unknown(document, ("role", "values", "bounds", "ordered", "missing", "bins", "edges"), ReleaseError, place)
    roles, values, bounds = document.get("role"), document.get("values"), document.get("bounds")
    if not are_texts(roles) or not set(roles) <= set(get_args(Role)):
        raise ReleaseError(f"`role` must be a list of {', '.join(get_args(Role))}", place=place)
    if values is not None and (not are_texts(values) or len(set(values)) != len(values)):
        raise ReleaseError("`values` must be a list of different texts", place=place)
    if bounds is not None and (not are_numbers(bounds) or len(bounds) != 2 or bounds[0] > bounds[1]):
        raise ReleaseError("`bounds` must be two numbers, the lower first", place=place)
    return Column(
        name,
        frozenset(roles),
        values=None if values is None else tuple(values),
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        ordered=flag_at(document, "ordered", place),
        missing=flag_at(document, "missing", place),
        bins=_bins(document, place),
        edges=_edges(document, place),
    )


def _bins(document: Mapping[str, Any], place: str) -> tuple[float, ...] | None:
    bins = document.get("bins")
    if bins is None:
        return None
    if not are_numbers(bins) or len(bins) < 2 or sorted(set(bins)) != bins:
        raise ReleaseError("`bins` must be numbers that increase", place=place)
    return tuple(bins)


def _edges(document: Mapping[str, Any], place: str) -> tuple[float, ...] | None:
    """Of a class of numbers: where its intervals, which are its values, begin and end."""
    edges = document.get("edges")
    if edges is None:
        return None
    if not are_numbers(edges) or len(edges) < 3 or list(bin_names(edges)) != document.get("values"):
        raise ReleaseError("`edges` must be the numbers that the `values` begin and end at", place=place)
    return tuple(map(float, edges))
