"""The release file, `leafgate/release/1`: written byte for byte the same, read without trust."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from leafgate.bins import bin_names
from leafgate.disclosed import AuditedFile, read_model_file
from leafgate.errors import ReleaseError
from leafgate.json_parts import are_numbers, are_texts, flag_at, list_at, object_at, one_of
from leafgate.naive_bayes import read_naive_bayes
from leafgate.records_file import read_noise, read_records, records_document
from leafgate.release import Combine, Counted, Level, Model, Publish, Release
from leafgate.schema import Column, Role, Schema
from leafgate.strict_json import parse_json, readable, refuse_unknown
from leafgate.tree import leaves
from leafgate.tree_file import MAX_TREES, read_tree, tree_document

if TYPE_CHECKING:
    from leafgate.node_numbers import FileNumbers

FORMAT = "leafgate/release/1"
KEYS = (
    *("format", "builder", "target", "classes", "publish", "counted", "selection", "schema"),
    *("guarantee", "combine", "model", "alternatives", "records", "noise", "bayes", "file", "trees"),
)

MAX_IMPLIED = 10_000_000
"""Numbers on leaves that a file may leave out, because they are 0: each takes memory that the file does not."""
NUMBER_BYTES = 6
"""A number that a file does not leave out takes as many bytes or more: a name in quotes, a colon, a digit, a comma."""


@dataclass(frozen=True, repr=False)
class Sealed:
    """A release together with the very bytes that are audited and published.

    `origins`, which those do not hold, say for each published record which row of the table it was made from;
    `trail` says how it was made; `audited_file` is the file it was read from, None where it was built; `built` says
    that a builder made it in this process, so that it was read from nobody's file or object. `node_numbers` are those
    of the model's file it was read from.
    """

    release: Release
    content: bytes
    origins: tuple[int, ...] | None = None
    trail: tuple[Mapping[str, Any], ...] = ()
    audited_file: AuditedFile | None = None
    built: bool = False
    node_numbers: FileNumbers | None = None

    def __repr__(self) -> str:
        return f"Sealed(sha256={self.sha256!r})"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def seal(release: Release) -> Sealed:
    """The release as anyone will read it: written, and read back from what was written."""
    content = release.sealed if release.sealed is not None else readable(document(release))
    return Sealed(
        read_release(content, "release"),
        content,
        release.origins,
        release.trail,
        release.audited_file,
        built=release.sealed is None and release.file is None,
        node_numbers=release.node_numbers,
    )


def document(release: Release) -> dict[str, Any]:
    """The release as the JSON document of design 4.3."""
    told: dict[str, Any] = {
        "format": FORMAT,
        "builder": dict(release.builder),
        "target": release.target if release.schema.having("class") else None,
        "classes": list(release.classes) if release.schema.having("class") else [],
        "publish": {"leaves": release.publish.leaves, "measure": measure_of(release)},
        "counted": release.counted,
        "selection": None if release.selection is None else dict(release.selection),
        "schema": release.schema.described(),
        "guarantee": dict(release.guarantee),
        "combine": release.combine,
        "model": release.model,
        "alternatives": {name: tree_document(tree) for name, tree in release.alternatives.items()},
        "records": None if release.records is None else records_document(release.records),
        "trees": [tree_document(tree) for tree in release.trees],
    }
    if release.noise:
        told["noise"] = {name: noise.described() for name, noise in release.noise.items()}
    if release.bayes is not None:
        told["bayes"] = release.bayes.described()
    if release.file is not None:
        told["file"] = release.file.described()
    if not release.publish.measure:
        del told["selection"]
    return told


def measure_of(release: Release) -> str | None:
    """The published selection measure; None where it is kept back."""
    return None if release.selection is None else release.selection.get("measure")


def read_release(content: bytes, place: str) -> Release:
    """The release in a file's bytes; ReleaseError says what is wrong with it, and where."""
    told = object_at(parse_json(content, ReleaseError, place), place)
    if told.get("format") != FORMAT:
        raise ReleaseError(f"is not a release file: its `format` is not {FORMAT!r}", place=place)
    refuse_unknown(told, KEYS, ReleaseError, place)
    if (
        len(list_at(told, "trees", place)) + len(object_at(told.get("alternatives", {}), f"{place}.alternatives"))
        > MAX_TREES
    ):
        raise ReleaseError(f"has more than {MAX_TREES:,} trees", place=place)
    schema = _schema(told.get("schema"), f"{place}.schema")
    _check_class(told, schema, place)
    _check_implied(content, len(told["classes"]), place)
    publish = object_at(told.get("publish"), f"{place}.publish")
    refuse_unknown(publish, ("leaves", "measure"), ReleaseError, f"{place}.publish")
    selection = told.get("selection")
    noise = read_noise(told.get("noise", {}), schema, f"{place}.noise")
    release = Release(
        builder=object_at(told.get("builder"), f"{place}.builder"),
        schema=schema,
        trees=tuple(
            read_tree(tree, schema, f"{place}.trees[{i}]") for i, tree in enumerate(list_at(told, "trees", place))
        ),
        publish=Publish(one_of(publish.get("leaves"), Level, f"{place}.publish.leaves"), measure="selection" in told),
        counted=one_of(told.get("counted"), Counted, f"{place}.counted"),
        selection=None if selection is None else object_at(selection, f"{place}.selection"),
        guarantee=object_at(told.get("guarantee", {}), f"{place}.guarantee"),
        combine=one_of(told.get("combine", "one"), Combine, f"{place}.combine"),
        model=one_of(told.get("model", "trees"), Model, f"{place}.model"),
        alternatives={
            name: read_tree(tree, schema, f"{place}.alternatives.{name}")
            for name, tree in object_at(told.get("alternatives", {}), f"{place}.alternatives").items()
        },
        records=read_records(told.get("records"), schema, noise, f"{place}.records"),
        noise=noise,
        bayes=read_naive_bayes(told.get("bayes"), schema, f"{place}.bayes"),
        file=read_model_file(told.get("file"), f"{place}.file"),
        sealed=content,
    )
    _check_whole(release, publish.get("measure"), place)
    return release


def _check_class(told: Mapping[str, Any], schema: Schema, place: str) -> None:
    """Trees predict one class; records alone need none."""
    found = schema.having("class")
    needed = bool(told.get("trees")) or bool(told.get("alternatives")) or told.get("model") != "none"
    if len(found) > 1 or any(column.values is None for column in found) or (needed and not found):
        raise ReleaseError("needs one column with the role `class`, and its `values`", place=f"{place}.schema")
    target = found[0].name if found else None
    classes = list(found[0].values or ()) if found else []
    if told.get("target") != target or told.get("classes") != classes:
        raise ReleaseError("`target` and `classes` do not agree with `schema`", place=place)


def _check_implied(content: bytes, classes: int, place: str) -> None:
    """Leaves hold a number for each class, also where the file names few of them."""
    leaves_counted = sum(content.count(key) for key in (b'"counts"', b'"shares"', b'"scores"'))
    if leaves_counted * classes > max(MAX_IMPLIED, len(content) // NUMBER_BYTES):
        raise ReleaseError(f"has leaves and classes for more than {MAX_IMPLIED:,} numbers", place=place)


def _check_whole(release: Release, measure: Any, place: str) -> None:
    """What no part of the file can see alone: it must not tell more, or other, than it says it does."""
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
    for tree in (*release.trees, *release.alternatives.values()):
        for leaf in leaves(tree):
            told = {"counts": leaf.counts, "shares": leaf.shares, "error_rates": leaf.error_rate}
            more = [level for level, fact in told.items() if fact is not None and level != release.publish.leaves]
            more += ["scores"] if leaf.scores is not None and not _may_score(release) else []
            if more or (release.publish.leaves == "counts" and leaf.counts is None):
                raise ReleaseError("leaves tell other statistics than it says", place=f"{place}.publish.leaves")


def _may_score(release: Release) -> bool:
    """Are scores what the counts say anyway, or what nobody could predict without?"""
    return release.publish.leaves == "counts" or release.combine == "boost"


def _schema(told: Any, place: str) -> Schema:
    return Schema(tuple(_column(name, spec, f"{place}.{name}") for name, spec in object_at(told, place).items()))


def _column(name: str, told: Any, place: str) -> Column:
    told = object_at(told, place)
    refuse_unknown(told, ("role", "values", "bounds", "ordered", "missing", "bins", "edges"), ReleaseError, place)
    roles, values, bounds = told.get("role"), told.get("values"), told.get("bounds")
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
        ordered=flag_at(told, "ordered", place),
        missing=flag_at(told, "missing", place),
        bins=_bins(told, place),
        edges=_edges(told, place),
    )


def _bins(told: Mapping[str, Any], place: str) -> tuple[float, ...] | None:
    bins = told.get("bins")
    if bins is None:
        return None
    if not are_numbers(bins) or len(bins) < 2 or sorted(set(bins)) != bins:
        raise ReleaseError("`bins` must be numbers that increase", place=place)
    return tuple(bins)


def _edges(told: Mapping[str, Any], place: str) -> tuple[float, ...] | None:
    """Of a class of numbers: where its intervals, which are its values, begin and end."""
    edges = told.get("edges")
    if edges is None:
        return None
    if not are_numbers(edges) or len(edges) < 3 or list(bin_names(edges)) != told.get("values"):
        raise ReleaseError("`edges` must be the numbers that the `values` begin and end at", place=place)
    return tuple(map(float, edges))
