"""The comparison with the other builders again, with one thing changed each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from diversity_runs import ACCURACY, BUILDERS, Row, audited, error_of
from kadet_runs import K_GRID, Setting
from kadet_variations import with_columns, with_education, with_relationship
from leafgate.session.run import read_tables

Change = Callable[[Setting], Setting]


@dataclass(frozen=True)
class Variation:
    """Test errors in per cent for every k of the grid, by builder, with one thing changed."""

    setting: str
    pruned: bool
    change: str
    errors: Mapping[str, Sequence[float]]

    def mean(self, builder: str, ks: Sequence[int] = K_GRID) -> float:
        return sum(error for k, error in zip(K_GRID, self.errors[builder], strict=True) if k in ks) / len(ks)

    def worse(self, builder: str, ks: Sequence[int] = K_GRID) -> float:
        """By how many points a builder errs more than kADET, on average over some k."""
        return self.mean(builder, ks) - self.mean("kadet", ks)


@dataclass(frozen=True)
class Error:
    """One error of one variation, as the CSV file has it."""

    setting: str
    pruned: bool
    change: str
    builder: str
    k: int
    test_error: float


def flat(variations: Sequence[Variation]) -> Iterator[Error]:
    for v in variations:
        for builder, errors in v.errors.items():
            for k, error in zip(K_GRID, errors, strict=True):
                yield Error(v.setting, v.pruned, v.change, builder, k, error)


def as_it_is(rows: Sequence[Row], setting: str, *, pruned: bool) -> Variation:
    """Nothing changed: the rows that are there."""
    mine = [row for row in rows if (row.setting, row.told, row.pruned) == (setting, "tree", pruned)]
    errors: dict[str, list[float]] = {}
    for row in mine:
        errors.setdefault(row.builder, []).append(row.test_error or 0)
    return Variation(setting, pruned, "nothing", errors)


def variations(setting: Setting) -> Iterator[Variation]:
    """Pruned trees under other hierarchies and orders, and for gain ratio with another measure and column too."""
    changes: dict[str, Change] = {
        "one more level for Education": with_education,
        "one level for Relationship": with_relationship,
        "both": lambda s: with_relationship(with_education(s)),
        "no hierarchies": without_hierarchies,
        "columns in reverse order": lambda s: with_columns(s, lambda columns: columns[::-1]),
    }
    if setting.measure == "gain_ratio":
        changes["best test by gain"] = lambda s: replace(s, measure="gain")
        changes["fnlwgt as a 14th attribute"] = with_weight
    for name, change in changes.items():
        yield _varied(change(setting), name)


def _varied(setting: Setting, change: str) -> Variation:
    """With all attributes without Mondrian, which takes long there and is far behind."""
    builders = [builder for builder in BUILDERS if setting.name == "adult-id3" or builder != "mondrian"]
    errors = {builder: [_error(setting, builder, k) for k in K_GRID] for builder in builders}
    return Variation(setting.name, pruned=True, change=change, errors=errors)


def _error(setting: Setting, builder: str, k: int) -> float:
    return error_of(audited(setting, {**BUILDERS[builder], "k": k, "measure": setting.measure}, ACCURACY))


def without_hierarchies(setting: Setting) -> Setting:
    return with_columns(setting, lambda columns: [replace(column, hierarchy=None) for column in columns])


def with_weight(setting: Setting) -> Setting:
    """The setting with the census weight fnlwgt, which the policy leaves out, as one more public number."""
    policy = setting.run.policy
    weight = policy.data.columns["fnlwgt"].model_copy(update={"role": ("quasi_identifier",)})
    data = policy.data.model_copy(update={"columns": {**policy.data.columns, "fnlwgt": weight}})
    policy = policy.model_copy(update={"data": data})
    return replace(setting, run=replace(setting.run, policy=policy, tables=read_tables(policy)))
