"""The file a release is read from: which one it is, and what a model's file tells beyond its predictions."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from leafgate.errors import ReleaseError
from leafgate.json_parts import list_at, object_at
from leafgate.levels import LEVELS, Level
from leafgate.strict_json import refuse_unknown

Severity = Literal["low", "medium", "high"]
"""low: of the algorithm; medium: of all people together; high: of small groups, or of single people."""


@dataclass(frozen=True)
class Disclosure:
    """One thing a file tells: its `kind`, how much harm it can do, and what it is, in words without any cell.

    `level` is the publication level of the leaves that it amounts to, None where it is about something else.
    """

    kind: str
    severity: Severity
    says: str
    level: Level | None = None

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {"kind": self.kind, "severity": self.severity, "says": self.says}
        return told if self.level is None else told | {"level": self.level}

    def written(self) -> dict[str, Any]:
        """As files of leafgate have it: of other content not where it stood, in words that no reader could check."""
        says = self.says.partition(" (")[0] if self.kind == "other_content" else self.says
        return replace(self, says=says).described()


RATIOS = Disclosure(
    "ratios", "medium", "shares to the last digit: of small leaves they betray how many people are in them"
)
COUNTS = Disclosure("counts", "high", "how many people of each class are at the leaves", "counts")
SIZES = Disclosure("sizes", "high", "how many people are at the leaves", "counts")
SCORES = Disclosure("scores", "low", "each leaf's score, without which nobody could predict")
NUMBERS = Disclosure(
    "numbers",
    "low",
    "each leaf's number, without which nobody could predict: often the mean of its people's",
)

PEOPLE = 100
"""So many numbers may be what people have."""
SIGNS = 10
"""So many letters of a text count as one number."""

MAX_TEXT = 199
"""Signs of the longest text that writers of model files make up of their own words."""

MAX_DIGITS, MAX_NUMBER = 24, 9
"""Digits of such a text in all, as in a version and a date, and of one number in it."""

DIGITS = frozenset("0123456789")
TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]")
BETWEEN_WORDS = frozenset(" \t\n_-.:,;()[]{}<>/|'\"=+*!$~%")

OTHER_CONTENT = "other content, which nobody needs to predict"


def text_size(*texts: str | bytes) -> int:
    """What texts that nobody needs count in `other_content`: any of them may name somebody, however short it is."""
    long = sum(map(len, texts)) // SIGNS
    return max(PEOPLE, long) if any(text.strip() for text in texts) else long


def has_known_words(text: str, words: Collection[str]) -> bool:
    """Is a text made of these words (in small letters) and a few digits alone, with or without signs between them?

    Words may follow one another as in `TreeEnsemble12` or `concat_result`. One letter alone is a word: people name
    steps so.
    """
    if len(text) == 1:
        return True
    if len(text) > MAX_TEXT or sum(sign in DIGITS for sign in text) > MAX_DIGITS:
        return False
    return all(
        token in BETWEEN_WORDS or token.lower() in words or (token[0] in DIGITS and len(token) <= MAX_NUMBER)
        for token in TOKEN.findall(text)
    )


def unread_texts(
    place: str, texts: Iterable[str], words: Collection[str], names: Collection[str] = frozenset()
) -> Iterator[tuple[str, int]]:
    """For `other_content`: the texts that are none of `names`, which readers account for, nor made of known words.

    A text may also be one of the names and known words behind it, as in `age_cast1`. No text is part of the result.
    """
    strange = {text for text in set(texts) - {""} if text not in names and not _derived(text, words, names)}
    if strange:
        yield place, text_size(*strange)


def _derived(text: str, words: Collection[str], names: Collection[str]) -> bool:
    """Is it made of known words, perhaps behind a name?"""
    if has_known_words(text, words):
        return True
    ends = range(min(len(text), 2 * MAX_TEXT) - 1, 0, -1)
    return any(text[:end] in names and has_known_words(text[end:], words) for end in ends)


def other_content(parts: Iterable[tuple[str, int]]) -> tuple[Disclosure, ...]:
    """What stands in a file and was not read: for each part its kind and place in words, and how many numbers it holds.

    `high` where they could be people's; nothing where there is nothing.
    """
    found = list(parts)
    if not found:
        return ()
    places = list(dict.fromkeys(place for place, _ in found))
    listed = ", ".join(places[:8]) + (f" and {len(places) - 8} more" if len(places) > 8 else "")
    many = sum(size for _, size in found) >= PEOPLE
    says = f"{OTHER_CONTENT}: {len(found)} part(s) ({listed})"
    return (Disclosure("other_content", "high" if many else "medium", says),)


@dataclass(frozen=True)
class AuditedFile:
    """The file whose bytes were audited: its `name` without any folder, its `format`, the SHA-256 of these bytes.

    Make it `of` the bytes that were read, never of a second reading: the file may have been replaced in between.
    """

    name: str
    format: str
    sha256: str

    @classmethod
    def of(cls, path: Path, format: str, content: bytes) -> Self:
        """The file at `path`, of which `content` was read. Bytes of the name that are no text are replaced."""
        name = os.fsencode(path.name).decode("utf-8", "replace")
        return cls(name, format, hashlib.sha256(content).hexdigest())

    def described(self) -> dict[str, Any]:
        """As a report has it."""
        return {"name": self.name, "format": self.format, "sha256": self.sha256}


@dataclass(frozen=True)
class ModelFile:
    """The file a release was read from, if that is somebody else's model: its format, digest, and what it discloses."""

    format: str
    sha256: str
    discloses: tuple[Disclosure, ...] = ()

    def described(self) -> dict[str, Any]:
        """As a release file has it."""
        told = [item.written() for item in self.discloses]
        return {"format": self.format, "sha256": self.sha256, "discloses": told}


def read_model_file(told: Any, place: str) -> ModelFile | None:
    """The part `file` of a release file; ReleaseError where it cannot be meant."""
    if told is None:
        return None
    told = object_at(told, place)
    refuse_unknown(told, ("format", "sha256", "discloses"), ReleaseError, place)
    if not all(isinstance(told.get(key), str) for key in ("format", "sha256")):
        raise ReleaseError("`format` and `sha256` must be texts", place=place)
    items = enumerate(list_at(told, "discloses", place))
    found = tuple(read_disclosure(item, f"{place}.discloses[{i}]") for i, item in items)
    return ModelFile(told["format"], told["sha256"], found)


def read_disclosure(told: Any, place: str) -> Disclosure:
    """One item of a file's disclosures."""
    item: Mapping[str, Any] = object_at(told, place)
    refuse_unknown(item, ("kind", "severity", "says", "level"), ReleaseError, place)
    if not all(isinstance(item.get(key), str) for key in ("kind", "severity", "says")):
        raise ReleaseError("`kind`, `severity` and `says` must be texts", place=place)
    if item["severity"] not in get_args(Severity) or item.get("level") not in (None, *LEVELS):
        raise ReleaseError("has a `severity` or a `level` that there is not", place=place)
    kind = item["kind"] if item["kind"] in KINDS else "other_content"
    known = kind == item["kind"] and re.sub("[0-9]{1,9}", "#", item["says"]) in OWN_TEXTS
    return Disclosure(kind, item["severity"], item["says"] if known else FOREIGN_WORDS, item.get("level"))


FOREIGN_WORDS = "something that its file describes in words that leafgate does not write"
"""What reports say of such an item: its own words may name people."""

KIND_WORDS = """
    bootstrap_rows categories class_shares column_names counts extremes gains impurity moments numbers
    other_content paths people_listed ranges rare_values ratios scores scores_betray_counts
    scores_may_betray_counts seed settings shares sizes training_loss training_rows values
"""
KINDS = frozenset(KIND_WORDS.split()) | {"inner values", "second derivatives"}
"""The kinds of disclosures that leafgate writes."""

OWN_TEXTS = frozenset(
    """
    # list(s) of categories with more than a third as many values as the table has people
    # name(s) of features that end in a value of a column that the policy drops, or does not declare
    # value(s) in # list(s) of categories that are not among the `values` the policy declares: they may name people
    each leaf's number, without which nobody could predict: often the mean of its people's
    each leaf's score, without which nobody could predict
    every category that somebody had in training
    every setting of the learner, its seeds among them
    how many people are at the leaves
    how many people of each class are at every node, exactly (shares times weighted_n_node_samples)
    how many people of each class are at the leaves
    how many people reach each node (nodes_hitrates)
    how many people reach its nodes (recordCount)
    how many rows reach every node
    how many rows reach every node (n_node_samples)
    how much every test gained
    how much every test gained (gain)
    how often people of each class were drawn to every node, and how many different ones
    how well each stage did on rows left out of it (oob_improvement_, oob_scores_)
    how well it did on rows left out (oob_score_)
    mean and spread of a column, and how many rows there are (mean_, var_)
    mean and spread of a column, or the like (offset, scale)
    means to the last digit, from which people at small leaves and their sum follow
    median and quartiles of a column (center_, scale_)
    people of each class on every node
    people of each class on its nodes (recordCount)
    people on every leaf, and how many of them have another class
    scores of the first trees, from which the people of each class at small leaves follow, to the last one
    scores of the first trees: whoever knows how the learner was set and what its scores start from may work \
out the people of each class at small leaves; whether so could not be told
    shares of classes, rounded to # digit(s)
    shares of each class on every node
    shares of each class on its nodes
    shares to the last digit, from which the people of each class at small leaves follow
    shares to the last digit: of small leaves they betray how many people are in them
    the impurity of every node, from which shares of classes follow
    the loss after each stage of training (train_score_)
    the loss on rows set aside (validation_score_)
    the names of # column(s) that the model does not use (feature_names_in_)
    the names of # column(s) that the model does not use (its graph's inputs)
    the names of # column(s) that the policy drops or does not know, which no tree asks about
    the names of # features that the policy does not know, more than columns are: they may name people
    the names of # field(s) that the model does not use (DataField)
    the names of # value(s) that tests part from others
    the number of a column that is farthest from # (max_abs_)
    the people on every node of every tree; with the leaves' values the people of each class
    the people on every node of the first trees; with the leaves' values the people of each class
    the seed, with which training on a guessed table can be repeated
    the share of each class among all rows (class_prior_)
    the share of each class among all rows (its first score)
    the smallest and the largest number of a column (Interval)
    the smallest and the largest number of a column (data_min_, data_max_)
    the smallest and the largest number that anybody has, by feature
    the state of the generator of random numbers that it was trained with
    the weight of each class at every node
    the weight of every single row it was trained on, which class_weight makes its class's
    their sum on every node
    their sum on every node: people, the unsure ones weighing more
    what every inner node would have said
    what replaces missing cells: a column's mean, median or commonest value
    what the forest says of every single row it was trained on (oob_decision_function_)
    what the forest says of every single row it was trained on (oob_prediction_)
    what the smallest and the largest number of a column follow from (Mul, Add, scale)
    where a column's values lie: all of them where they are few, else quantiles (bin_thresholds_)
    where the data lay
    which rows every tree was grown on: they are drawn again from each tree's random_state
    which values a column had in training (categories_)
    which values a column had in training (cats, keys)
    which values of a column were rare in training (ReduceSum, values)
    which values of a column were rare in training (infrequent_categories_)
    other content, which nobody needs to predict: # part(s)
    something that its file describes in words that leafgate does not write
    """.replace("\n    ", "\n")
    .strip()
    .splitlines()
)
"""What leafgate says of disclosures in its files, with `#` for each number: all that is printed of what a file says."""
