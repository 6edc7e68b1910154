"""Write the reference pages that follow from the code, and policy.schema.json.

policy.md comes from the models of policies; builders.md, attacks.md and metrics.md from the descriptions that `leafgate
explain` prints; commands.md from the command line; report.md from the models of the report document and their comments,
and from the report formats; statements.md from the model of the predicate; model-readers.md from the readers of model
files.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, cast, get_args

import typer
from pydantic import BaseModel

from leafgate.api.data_engines import DataEngine
from leafgate.api.registry import Plugins, load_plugins, use_of
from leafgate.app import readable
from leafgate.cli.app import app_for
from leafgate.commands.attest.predicate import PREDICATE_TYPE, AuditPredicate
from leafgate.commands.attest.statements import ALL_PASSED, PASSED_OR_WAIVED, PROPERTY, SVR, TEST_RESULT
from leafgate.commands.scaffold.json_schema import policy_schema
from leafgate.console.describe import (
    Description,
    Option,
    OptionGroup,
    describe,
    format_notes,
    options_of,
    reader_notes,
    summary_of,
)
from leafgate.disclosure import schema as report_schema
from leafgate.errors import ExitCode
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.metrics import Metric, PersonMetric
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import Role
from leafgate.session.report_formats import offered_formats

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "policy.schema.json"
SENTENCES = r"(?<=\.) (?=[A-Z])"
"""Where one sentence ends and another begins."""
SCALE = ("Scale", "Scores mean")
"""The facts of a metric that say what its scores mean."""
TYPES = {
    "string": "text",
    "object": "mapping",
    "boolean": "boolean",
    "list": "list",
    "mapping": "mapping",
    "number": "number",
    "integer": "integer",
    "role": "role",
}
"""Words for types of options; other words are choices."""
OWN = "leafgate"
"""The pages are about what this distribution offers."""
GENERATED = "<!-- made by docs/reference/make_reference.py -->"
EXPLAIN = """Options that are not marked as required may be left out, those without a type are texts, and bold marks the
default. `leafgate explain NAME` also prints """

POLICY = f"""# Policy keys

A policy is one YAML file ([a first one](../tutorials/first-audit.md)). Reading is strict: unknown keys, duplicate keys,
anchors, aliases, numbers that are not finite, and paths that leave the folder are refused. Texts follow YAML 1.2: `yes`
and `no` are texts. Paths are relative to the policy; data files are relative to `--root`, where it is given.

`build`, `attacks` and `metrics` name components with `use:`, and options stand beside it; see [Builders](builders.md),
[Attacks](attacks.md) and [Metrics](metrics.md). A key that is not marked as required may be left out, one without a
type is a text, and bold marks the default.

`leafgate schema` prints a [JSON Schema](policy.schema.json) (draft-07) with the options of every installed plugin.
Editors with a YAML language server complete and check keys if the policy begins with `# yaml-language-server:
$schema=policy.schema.json`. The schema accepts some policies that `leafgate validate` refuses.

{GENERATED}
"""

ROLES = {
    "quasi_identifier": "The adversary knows it of everyone in the table. Everything else is unknown to them.",
    "sensitive": "A secret. Attacks try to infer it. Several columns may be secrets.",
    "private": "Unknown to the adversary, but not a secret to be judged. Trees may ask about it.",
    "class": "What the tree predicts; one column at most. Usually `[class, sensitive]` or `[class, quasi_identifier]`.",
    "key": "Addresses a record, and keeps every row apart. No builder, attack or release sees it. Stands alone.",
    "weight": "How many people the row stands for, a whole number. Limits count each row as one person, unless the "
    "column says `counts: people` and the `reason`. Stands alone.",
    "identifier": "A name or a number of a person. Dropped when the file is read. Stands alone.",
    "ignored": "Dropped when the file is read. Stands alone.",
}

BUILDERS = f"""# Builders

A builder makes the release: it grows trees, generalises a table, or reads an existing model
([`published`](#published)). A policy names one under `build`.

{EXPLAIN}its formula and source.

{GENERATED}
"""

ATTACKS = f"""# Attacks

An attack computes what an adversary can infer about each person from the release and from the knowledge that the
policy grants. A policy lists one or more under `attacks`, for example `- {{use: linking}}`; [metrics](metrics.md) limit
what they infer.

Unless an entry says otherwise, an attack needs the release file, uses no granted knowledge, and reads numbers of every
kind: `exact`, of a `bootstrap` or another sample (`sampled`), with noise (`noisy`; `perturbed` in records), or of
`unknown` origin. An attack that cannot read the numbers, or lacks access, is inconclusive and never passes.

{EXPLAIN}its formula and source.

{GENERATED}
"""

METRICS = f"""# Metrics

A metric scores each person or the whole release, and a policy limits the score with `at_least` or `at_most`.
[Choose limits](../how-to/limits.md) helps you decide.

Every metric has the option `name`, and a metric of an attack also `of`: the attack that it judges, every one when left
out. Unless an entry says otherwise, a metric assumes whatever the attack it judges assumes.

{EXPLAIN}worked examples and the source.

{GENERATED}
"""

SOURCES = f"""# Data sources

A data source reads tables that the core does not read itself, or lets an engine count their records where they are. A
policy names one under `data.source`, by its name alone (`source: duckdb`) or with options. [Large
tables](../how-to/large-tables.md) explains how to use them; [plugins](plugin-sources.md#a-data-source) can add others.

{GENERATED}
"""

COMMANDS = f"""# Commands

Every command has `--help`, which prints the same. Arguments in brackets are optional.

{GENERATED}
"""

REPORT = f"""# The report document

`leafgate audit --out DIR` writes the report as `report.json`, in the format `leafgate/report/1`; every other report
format is a view of it. [Reports](../how-to/reports.md) explains how to read it.

Readers of a public report may be adversaries, so numbers of few people (small cells) are masked: as
`{{"fewer_than": 10}}` (positive, and below 10), `{{"more_than": 0.9}}`, or `{{"from": 40, "to": 49}}` (both
included). A public report leaves out what is *for auditors*.

A key without a type is a text, a *count* is an integer or masked, a *score* is a number or masked, and a plural is a
list. A key with a question mark may be left out or `null`. A report is refused if it has other keys, except in
`evidence`, or if its verdict does not follow from its findings.

{GENERATED}
"""
FORMATS_OF_REPORTS = """## Report formats

`--to NAME` of `leafgate audit` and `leafgate report` writes these; [plugins](plugin-formats.md#report-format) can add
formats.
"""
STATEMENTS = f"""# Statements about a report

`leafgate attest` writes signed statements about a public report into `statements.intoto.jsonl`, and `leafgate verify`
verifies them ([how to](../how-to/attest.md)). Each line is a [DSSE](https://github.com/secure-systems-lab/dsse)
envelope with `payload`, `payloadType` and `signatures`. The payload, in base64, is an in-toto Statement v1 with one of
these types, in this order:

- `{PREDICATE_TYPE}` (`audit`): described below.
- `{TEST_RESULT}` (`test-result`): the criteria as tests, the policy and its waivers as configuration.
- `{SVR}` (`svr`): of a pass, `{ALL_PASSED}` or `{PASSED_OR_WAIVED}`, and `{PROPERTY}ID` of each criterion that passed.

Envelopes and payloads are JSON with sorted keys and without spaces. The subjects are the release (`release.json`) and
the model's file, with their SHA-256; where digests are kept back, the subject is the policy.

The predicate has version 0: it may change until leafgate 1.0, and its type then gets another number. Every key is
taken from the [report](report.md) or follows from it; types are as there. A key with a question mark may be left out,
as digests are where they are kept back; other keys are refused. `metric`, `comparator`, `threshold`, `passed` and
`sampleSize` are names of the predicate eval-result that is proposed for in-toto.

{GENERATED}
"""
READERS = f"""# Model readers

A model reader reads the trees of a model file that another program wrote, for `build: {{use: published, path: FILE}}`,
`leafgate convert`, `scrub`, `repair` and `init --model`. The file's first bytes decide the format, not its name.
[What a model's file discloses](file-formats.md) describes each format; [Audit the file of a
model](../how-to/audit-a-model-file.md) shows how to use them. [Plugins](plugin-readers.md#a-model-reader) can add
readers.

{GENERATED}
"""
ATTACK_OPTIONS = frozenset({"name", "knows", "access", "time_limit"})
"""Options of all attacks, which have no meaning where a builder holds an attack."""
MASKED: frozenset[type[BaseModel]] = frozenset(
    {report_schema.FewerThan, report_schema.MoreThan, report_schema.FromTo, report_schema.Nowhere}
)
"""Models of the report document that have no section of their own."""
SEVERAL_COMMANDS = 3
"""An option of so many commands or more is described once, at the head of the page."""

EXIT_CODES = {
    ExitCode.PASS: "Success. Of an audit: every limit holds, or is [waived](../how-to/waivers.md).",
    ExitCode.FAIL: "A limit is broken, a claim of the release is refuted, or no release keeps the builder's promise.",
    ExitCode.INVALID: "The policy, the command line or the data is invalid, and nothing was judged.",
    ExitCode.INCONCLUSIVE: "Inconclusive: an attack or a plugin could not run, or evidence is missing. Never a pass.",
    ExitCode.INTERNAL: "Internal error, or the result could not be written, for example because the disk is full.",
    ExitCode.INTERRUPTED: "Interrupted, for example with Ctrl-C. SIGTERM ends a run with 143, SIGHUP with 129.",
}
EXIT_CODE_NOTES = """Publish a release only if its audit ends with 0. Other commands:

- `leafgate report` ends with the code of the stored verdict, with its waivers judged again.
- `leafgate sweep` ends with 0 if [some release passes](../how-to/sweep.md), and `leafgate repair` if
  [the new model passes](../how-to/repair.md).
- `leafgate sheet` and `leafgate map` end with 0 if they wrote their output, whatever the verdict.
- `leafgate diff` has [its own table](../how-to/diff.md).

An audit or a sweep locks the folder of `--out`: another run with that folder ends with 2 and changes nothing. Windows
and some network file systems have no such locks; use one folder for each audit there. Files are written whole or not at
all; the next run in the folder deletes `.leafgate-*` files of a killed run (SIGKILL). On a full disk a run ends with 4,
or with 3 if only the cache of an attack has no room.

Errors go to stderr, one a line: where, what is wrong, and what to do. With `--json` they are one document of the format
`leafgate/error/1` on stdout, whose `problems` have `place`, `message` and `remedy`.
"""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Components that share a section of a page.

    Attributes:
        title: The heading; empty where a page has no families.
        about: What is so of all members.
        members: Their names.
    """

    title: str
    about: str = ""
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page of one kind of components.

    Attributes:
        common: Headings, and the base classes whose options all components below them have.
        left_out: Beginnings of statements that the introduction makes, or that `leafgate explain` alone prints.
        usual: Statements that the introduction makes of all components, unless an entry or its family says otherwise.
        stated_above: Options that the introduction describes.
        without_formula: Components whose description says as much as their formula.
        families: The sections; empty where the page lists the components one after the other.
    """

    intro: str
    base: type[Component]
    common: dict[str, type[Component]]
    left_out: tuple[str, ...] = ()
    usual: tuple[tuple[str, str], ...] = ()
    stated_above: frozenset[str] = frozenset()
    without_formula: frozenset[str] = frozenset()
    families: tuple[Family, ...] = ()

    def sections(self, names: Iterable[str]) -> tuple[Family, ...]:
        """The families, which must have every component once; one without a title where the page has none."""
        if not self.families:
            return (Family(title="", members=tuple(names)),)
        if sorted(name for family in self.families for name in family.members) != sorted(names):
            raise ValueError("list every component in one Family of docs/reference/make_reference.py")
        return self.families


BUILDER_PAGE = Page(
    intro=BUILDERS,
    base=TreeBuilder,
    common={},
    left_out=("Formula", "Source"),
    families=(
        Family(
            title="Existing files and tables",
            about="[Audit the file of a model](../how-to/audit-a-model-file.md) and [Audit a release "
            "file](../how-to/published-release.md) show how to use `published`.",
            members=("published", "table"),
        ),
        Family(
            title="k-anonymity",
            about="[k-anonymous trees](../explanation/kadet.md) and [Baselines](../explanation/baselines.md) explain "
            "them.",
            members=("kadet", "mondrian", "tds"),
        ),
        Family(
            title="Differential privacy",
            about="[Publish under differential privacy](../how-to/differential-privacy.md) shows how to use them, and "
            "[Private random trees](../explanation/dp-random-trees.md) explains them.",
            members=("dp_random_trees", "dp_laplace_trees"),
        ),
        Family(
            title="Perturbed numbers and withheld cells",
            about="[Learn from perturbed data](../how-to/shared-numbers.md) and [Downgrade a "
            "table](../how-to/downgrading.md) show how to use them.",
            members=("ppdtc45", "downgrading"),
        ),
        Family(
            title="Baselines without protection",
            about="They show what ordinary trees disclose.",
            members=("c45", "id3", "random_trees"),
        ),
    ),
)
ATTACK_PAGE = Page(
    intro=ATTACKS,
    base=AttackModel,
    common={"Options of all attacks": AttackModel},
    left_out=("Formula", "Source", "Reads numbers of every kind"),
    usual=(("Access", "file."), ("Uses, if granted", "nothing more.")),
    families=(
        Family(
            title="Linking and several releases",
            about="[Linking](../explanation/linking.md) and [Nightly "
            "retraining](../how-to/nightly-retraining.md) explain them.",
            members=("linking", "joint"),
        ),
        Family(
            title="Maximum entropy",
            about="These also use that each test was chosen over others: [more](../explanation/maxent.md).",
            members=("maxent", "counting"),
        ),
        Family(
            title="Membership inference",
            about="These infer who is in the table. [Limit membership "
            "inference](../how-to/limit-membership-inference.md) helps you choose; "
            "[Membership](../explanation/membership.md) explains them.",
            members=("loss_threshold", "lira", "rmia", "quantile", "worst_case", "leaf_exclusion", "art", "sacroml"),
        ),
        Family(
            title="Attribute inference",
            about="These infer an input of the model. [Limit input "
            "inference](../how-to/limit-input-inference.md) helps you choose; "
            "[Attributes](../explanation/attributes.md) explains them.",
            members=(
                "likelihood",
                "csmia",
                "lomia",
                "fredrikson",
                "leaf_constraints",
                "art_attribute",
                "sacroml_attribute",
            ),
        ),
        Family(
            title="Table reconstruction",
            about="[Table reconstruction](../explanation/table-reconstruction.md) explains it.",
            members=("table_reconstruction",),
        ),
        Family(
            title="Perturbed numbers",
            about="These estimate original numbers from numbers with noise: [more](../explanation/reconstruction.md).",
            members=("posterior", "spectral_filter", "pca_dr", "be_dr"),
        ),
        Family(
            title="Withheld cells",
            about="These infer cells that published records withhold: [more](../explanation/downgrading.md).",
            members=("conditioning", "naive_bayes", "tree_inference", "restoration"),
        ),
        Family(
            title="Claims of differential privacy",
            about="[Private random trees](../explanation/dp-random-trees.md) explains it.",
            members=("distinguish",),
        ),
    ),
)
METRIC_PAGE = Page(
    intro=METRICS,
    base=Metric,
    common={"Options of metrics of people": PersonMetric},
    left_out=(
        "Source",
        "Scores each person",
        "Scores each attack's belief",
        "Scores the release",
        "It judges",
        "Checks the guarantee",
        "None:",
        "Whatever the attack it judges assumes.",
        "Whatever the attack it judges assumes; p is",
        "Whatever the attack it judges assumes; P* is",
    ),
    without_formula=frozenset(
        {
            "accuracy",
            "accuracy_on_perturbed",
            "alpha_k_anonymity",
            "area_under_curve",
            "attribute_certain",
            "cells_withheld",
            "class_disclosure",
            "file_disclosure",
            "functionality",
            "k_anonymity",
            "k_map",
            "membership_advantage",
            "membership_auc",
            "membership_excluded",
            "membership_tpr",
            "reidentification_risk",
            "smallest_leaf",
            "uniques",
        }
    ),
    stated_above=frozenset({"at_least", "at_most", "name", "of"}),
    families=(
        Family(
            title="Group sizes",
            about="These score each person by the size of their group (equivalence class), not by a secret "
            "([more](../explanation/group-metrics.md)).",
            members=("k_anonymity", "uniques", "reidentification_risk", "k_map"),
        ),
        Family(
            title="Secrets within groups",
            about="These score each person by how much their group still shares a secret. By default they judge the "
            "worse of two distributions: what the adversary derives, and the group's true composition "
            "([why](../explanation/group-metrics.md)). p is the judged distribution of a person's secret, P the shares "
            "among everyone.",
            members=(
                "exposure",
                "confidence",
                "l_diversity",
                "t_closeness",
                "alpha_k_anonymity",
                "beta_likeness",
                "delta_disclosure",
            ),
        ),
        Family(
            title="Beliefs and the truth",
            about="These score each person by comparing P*, which the attack derives, with the truth "
            "([more](../explanation/divergence.md)).",
            members=("divergence", "gain"),
        ),
        Family(
            title="Membership inference",
            about="These score each membership attack; intervals allow for chance "
            "([more](../explanation/membership.md)).",
            members=(
                "membership_tpr",
                "membership_auc",
                "membership_advantage",
                "membership_identified",
                "membership_excluded",
                "leave_one_out",
            ),
        ),
        Family(
            title="Attribute inference",
            about="These score each attack that infers an input of the model ([more](../explanation/attributes.md)).",
            members=("attribute_leak", "attribute_certain"),
        ),
        Family(
            title="Reconstruction",
            about="[Table reconstruction](../explanation/table-reconstruction.md) and "
            "[Reconstruction](../explanation/reconstruction.md) explain them.",
            members=("reconstructed_cells", "normalised_rmse"),
        ),
        Family(
            title="Perturbed numbers",
            about="These score the release by its noise ([more](../explanation/reconstruction.md)).",
            members=("interval_privacy", "privacy_loss"),
        ),
        Family(
            title="Differential privacy budget",
            members=("differential_privacy",),
        ),
        Family(
            title="The model and its file",
            about="These score the release by its shape, its training or its file "
            "([more](../explanation/structure.md)). Some are rules of thumb without an adversary.",
            members=(
                "smallest_leaf",
                "class_disclosure",
                "residual_degrees_of_freedom",
                "risky_settings",
                "generalisation_gap",
                "file_disclosure",
            ),
        ),
        Family(
            title="Usefulness",
            about="These measure what the release is good for, or what protection costs. A policy without other "
            "limits never passes.",
            members=("accuracy", "area_under_curve", "accuracy_on_perturbed", "functionality", "cells_withheld"),
        ),
    ),
)
SOURCE_PAGE = Page(intro=SOURCES, base=DataSource, common={"Options of all engines": DataEngine})


def pages() -> dict[str, str]:
    """The text of each page by its file name, for the plugins of the leafgate distribution alone."""
    plugins = load_plugins([OWN])
    makers: dict[str, Callable[[Plugins], Iterator[str]]] = {
        "policy.md": _policy_page,
        "builders.md": lambda plugins: _component_page(BUILDER_PAGE, plugins),
        "attacks.md": lambda plugins: _component_page(ATTACK_PAGE, plugins),
        "metrics.md": lambda plugins: _component_page(METRIC_PAGE, plugins),
        "data-sources.md": lambda plugins: _component_page(SOURCE_PAGE, plugins),
        "commands.md": _command_page,
        "report.md": _report_page,
        "statements.md": _statement_page,
        "model-readers.md": _reader_page,
    }
    return {name: _without_blank_runs("\n".join(make(plugins))) for name, make in makers.items()}


def _without_blank_runs(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def schema() -> bytes:
    """The JSON Schema of policies, for the plugins of the leafgate distribution alone."""
    return readable(policy_schema(load_plugins([OWN])))


def _policy_page(plugins: Plugins) -> Iterator[str]:
    yield POLICY
    for places, model in _by_model("", Policy):
        yield from _section_head(places, model)
        sections = _sections_of(model)
        yield from (_bullet(option, sections) for option in options_of(cast("type[Component]", model)))
        yield ""
        if places[0].startswith("data.columns"):
            yield from _roles()


def _section_head(places: list[str], model: type[BaseModel]) -> Iterator[str]:
    """The heading and the summary of a section, with the other places where the same keys stand."""
    yield f"## {places[0] or 'Top level'}\n"
    also = f" Also {', '.join(f'`{place}`' for place in places[1:])}." if places[1:] else ""
    summary = _prose(summary_of(model))
    if also or summary.count(" ") > 1:
        yield _wrapped(f"{summary}{also}") + "\n"


def _by_model(
    place: str, model: type[BaseModel], others: frozenset[type[BaseModel]] = frozenset()
) -> list[tuple[list[str], type[BaseModel]]]:
    """Every section of a policy or a report, once, with the places where it stands."""
    places: dict[type[BaseModel], list[str]] = {}
    for where, section in _sections(place, model, others):
        places.setdefault(section, []).append(where)
    return [(where, section) for section, where in places.items()]


def _sections(
    place: str, model: type[BaseModel], others: frozenset[type[BaseModel]] = frozenset()
) -> Iterator[tuple[str, type[BaseModel]]]:
    """The model and every section below it but `others`, each with the place a policy or a report writes it at."""
    yield place, model
    model.model_rebuild()  # so that a field may name a class that is defined below it
    for name, field in model.model_fields.items():
        section = _section_in(field.annotation, others)
        if section is not None:
            several = ".NAME" if "dict" in str(field.annotation) else "[]" if "tuple" in str(field.annotation) else ""
            yield from _sections(f"{place}.{field.alias or name}{several}".lstrip("."), section, others)


def _section_in(annotation: Any, others: frozenset[type[BaseModel]] = frozenset()) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None if issubclass(annotation, Component) or annotation in others else annotation
    return next(filter(None, (_section_in(each, others) for each in get_args(annotation))), None)


def _sections_of(model: type[BaseModel]) -> frozenset[str]:
    """The keys whose defaults are sections of their own on the page."""
    fields = ((field.alias or name, field.annotation) for name, field in model.model_fields.items())
    return frozenset(name for name, annotation in fields if _section_in(annotation) is not None)


def _roles() -> Iterator[str]:
    if set(ROLES) != set(get_args(Role)):
        raise ValueError("ROLES does not list the roles of leafgate.kernel.schema.Role")
    yield "The roles:\n"
    yield from (_wrapped(f"- `{role}`: {meaning}", "  ") for role, meaning in ROLES.items())
    yield ""


def _component_page(page: Page, plugins: Plugins) -> Iterator[str]:
    """The page of one kind of components: what they share, and then each family with its members."""
    components = {use_of(component): component for component in plugins.kind(page.base)}
    described = {name: describe(component, OWN) for name, component in components.items()}
    families = page.sections(described)
    pages = {use_of(each): "attacks.md" for each in plugins.kind(AttackModel)}
    pages |= {use_of(each): "metrics.md" for each in plugins.kind(Metric)}
    own = {name: _own_options(page, components[name], described[name]) for name in described}
    holders = _holders(own)
    yield page.intro
    for family in page.families:
        links = ", ".join(f"[`{name}`](#{name})" for name in family.members)
        yield _wrapped(f"- [{family.title}](#{_anchor(family.title)}): {links}", "  ")
    yield ""
    for title, owner in page.common.items():
        yield f"## {title}\n"
        yield from map(_bullet, _shared(owner))
        yield ""
    everywhere = [option for option, names in holders.items() if _family_of(families, names) is None]
    if everywhere:
        yield "## Options of several\n"
        yield from map(_bullet, everywhere)
        yield ""
    for family in families:
        shared = [option for option, names in holders.items() if _family_of(families, names) is family]
        members = [described[name] for name in family.members]
        of_all = [option for option in shared if len(holders[option]) == len(members)]
        yield from _family(page, family, members, of_all, [option for option in shared if option not in of_all])
        for member in members:
            yield f"##{'#' if family.title else ''} {member.name}\n"
            yield from _component(page, member, _usual(page, members))
            for option in own[member.name]:
                if option not in holders:
                    yield _bullet(option)
                    yield from _parts([group for group in member.groups if group.under == option.name], pages)
            listed = [option for option in own[member.name] if option in holders and option not in of_all]
            others = ", ".join(f"`{option.name}`" for option in listed)
            if others:
                yield f"- Also {others}."
            yield ""


def _own_options(page: Page, component: type[Component], described: Description) -> list[Option]:
    """The options of a component but those that all below its base class have, and those of the introduction."""
    common = {option for owner in page.common.values() if issubclass(component, owner) for option in _shared(owner)}
    options = next((group.options for group in described.groups if not group.under), ())
    return [
        option
        for option in options
        if option not in common and option.name not in page.stated_above and option.type != option.default.strip('"')
    ]


def _shared(owner: type[Component]) -> list[Option]:
    """The options that all components below a base class have with the same default."""
    return [option for option in options_of(owner) if option.name != "scored"]


def _holders(own: dict[str, list[Option]]) -> dict[Option, list[str]]:
    """The options that two components or more have with the same default and meaning, with their names."""
    result: dict[Option, list[str]] = {}
    for name, options in own.items():
        for option in options:
            result.setdefault(option, []).append(name)
    return {option: names for option, names in result.items() if len(names) > 1}


def _family_of(families: tuple[Family, ...], names: list[str]) -> Family | None:
    """The family that all these components are in."""
    return next((family for family in families if set(names) <= set(family.members)), None)


def _repeated(members: list[Description]) -> list[OptionGroup]:
    """The mappings below options that several members have."""
    groups = [group for member in members for group in member.groups if group.under]
    return [group for group in dict.fromkeys(groups) if groups.count(group) > 1]


def _family(
    page: Page, family: Family, members: list[Description], of_all: list[Option], of_several: list[Option]
) -> Iterator[str]:
    """The head of a family: what is so of most members, and the options that all or several of them have."""
    if family.title:
        yield f"## {family.title}\n"
    if family.about:
        yield f"{_wrapped(family.about)}\n"
    usual = {key: text for key, text in _usual(page, members).items() if (key, text) not in page.usual}
    if usual and len(members) > 1:
        yield "Unless stated otherwise:\n"
        yield from (_wrapped(f"- {_statement(key, text)}", "  ") for key, text in usual.items())
        yield ""
    for title, options in {"Options of all": of_all, "Options of several": of_several}.items():
        if options:
            yield f"{title}:\n"
        for option in options:
            yield _bullet(option)
            inner = (each for group in _repeated(members) if group.under == option.name for each in group.options)
            yield from (textwrap.indent(_bullet(each), "  ") for each in inner)
        yield ""


def _statements(page: Page, described: Description) -> dict[str, str]:
    """What a component assumes, reads and judges, by the words before the colon."""
    notes = (note.partition(": ")[::2] for note in described.notes)
    facts = dict(described.facts)
    texts = {"Threat model": facts.get("Threat model", ""), **dict(notes), "Source": _short(facts.get("Source", ""))}
    return {
        key: text
        for key, text in texts.items()
        if (text or key not in facts) and not key.startswith(page.left_out) and not text.startswith(page.left_out)
    }


def _beginning(members: list[Description]) -> str:
    """The sentences with which the threat models of all members begin."""
    sentences = [re.split(SENTENCES, dict(member.facts).get("Threat model", "")) for member in members]
    same = takewhile(lambda each: len(set(each)) == 1, zip(*sentences, strict=False))
    return " ".join(first for first, *_ in same) if len(members) > 1 else ""


def _usual(page: Page, members: list[Description]) -> dict[str, str]:
    """The texts that most members of a family have, of keys that all have; or how all threat models begin."""
    statements = [_statements(page, member) for member in members]
    result = {}
    for key in statements[0]:
        texts = [each.get(key) for each in statements]
        commonest = max(texts, key=texts.count)
        if commonest is not None and None not in texts and 2 * texts.count(commonest) > max(len(texts), 2):
            result[key] = commonest
        elif key == "Threat model" and _beginning(members):
            result[key] = _beginning(members)
    return result


def _statement(key: str, text: str) -> str:
    if key.startswith("Uses"):
        text = ", ".join(", ".join(re.findall(r"`[^`]+`", part)) or part for part in text.rstrip(".").split("; ")) + "."
    return f"{key}: {_linked(_prose(text))}" if text else _prose(key)


def _component(page: Page, described: Description, usual: dict[str, str]) -> Iterator[str]:
    """What a component does, assumes and comes from, and an example of its use in a policy."""
    facts = dict(described.facts)
    yield f"{_wrapped_paragraphs(_prose(described.text.partition('Departure:')[0].rstrip()))}\n"
    if facts.get("Formula") and "Formula" not in page.left_out and described.name not in page.without_formula:
        yield f"```text\n{_wrapped(facts['Formula'])}\n```\n"
    for key, text in _statements(page, described).items():
        if usual.get(key, dict(page.usual).get(key)) != text:
            rest = text.removeprefix(usual.get(key, "")).strip()
            yield _wrapped(f"- {_statement(key, rest)}", "  ")
    scale = "; ".join(text.rstrip(".") for text in map(facts.get, SCALE) if text)
    if scale:
        yield _wrapped(f"- Scale: {_prose(scale)}.", "  ")
    used = described.policy_example.splitlines()[-1:]
    if used and "," in used[0]:
        yield f"- `{used[0].strip().removeprefix('build: ').removeprefix('- ').removeprefix('source: ')}`"


def _parts(groups: list[OptionGroup], pages: dict[str, str]) -> Iterator[str]:
    """The mappings below an option, each with its own options; of attacks and metrics, links to these."""
    links = [
        f"[`{group.picked}`]({pages[group.picked]}#{group.picked})"
        + "".join(f", `{option.name}`" for option in group.options)
        for group in groups
        if group.picked in pages
    ]
    if links:
        yield _wrapped(f"  - With `use`: {'; '.join(links)}.", "    ")
    for group in groups:
        if group.picked not in pages:
            yield from (textwrap.indent(_bullet(option), "  ") for option in group.options)


def _report_page(plugins: Plugins) -> Iterator[str]:
    yield REPORT
    yield from _document(report_schema.ReportDocument)
    yield FORMATS_OF_REPORTS
    for name, offered in sorted(offered_formats(plugins).items()):
        format_ = offered.format
        notes = " ".join([_plain_doc(format_.render), *list(format_notes(offered))[1:]])
        yield _wrapped(f"- `{name}` writes `{format_.filename}`: {notes}", "  ")


def _statement_page(plugins: Plugins) -> Iterator[str]:
    yield STATEMENTS
    yield from _document(AuditPredicate)


def _document(top: type[BaseModel]) -> Iterator[str]:
    """The sections of a document that models describe, each with its keys."""
    for places, model in _by_model("", top, MASKED):
        comments = _field_comments(inspect.getsource(sys.modules[model.__module__]))
        yield from _section_head(places, model)
        document = model.model_json_schema()
        rows = [(name, field.alias or name) for name, field in model.model_fields.items()]
        for name, key in rows:
            optional = "" if key in document.get("required", ()) else "?"
            type_ = _json_type(document["properties"][key])
            type_ = type_.replace("integer or masked", "count").replace("number or masked", "score")
            meaning = comments[model.__name__, name]
            has_section = _section_in(model.model_fields[name].annotation, MASKED) is not None
            says_null = bool(optional) or ("`null`" in meaning and not has_section)
            type_ = type_.removesuffix(" or null") if says_null else type_
            type_ = "" if type_ == "text" else f" ({type_})"
            is_plain = has_section or meaning.rstrip(".").lower() == key
            yield _wrapped(f"- `{key}`{optional}{type_}{'' if is_plain else f': {_cell(meaning)}'}", "  ")
        if not rows:
            yield "It may have any keys."
        yield ""


def _field_comments(source: str) -> dict[tuple[str, str], str]:
    """The text below each field of each class of a module's source, by the names of the class and the field."""
    comments = {}
    for owner in (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for field, below in zip(owner.body, owner.body[1:], strict=False):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                comments[owner.name, field.target.id] = " ".join(ast.literal_eval(below.value).split())  # type: ignore[attr-defined]
    return comments


def _json_type(document: Any) -> str:
    """The type of a value of a report: a number of people may be masked."""
    if "$ref" in document:
        name = document["$ref"].rpartition("/")[2]
        if name == "JsonValue":
            return "any"
        return "masked" if name in {model.__name__ for model in MASKED} - {"Nowhere"} else "object"
    if "anyOf" in document:
        return " or ".join(dict.fromkeys(map(_json_type, document["anyOf"])))
    if "enum" in document or "const" in document:
        return ", ".join(f"`{value}`" for value in document.get("enum", [document.get("const")]))
    if document.get("type") == "array":
        return f"{_json_type(document.get('items', {}))}s"
    return str({"string": "text", None: "any"}.get(document.get("type"), document.get("type")))


def _reader_page(plugins: Plugins) -> Iterator[str]:
    yield READERS
    for reader in plugins.readers:
        notes = " ".join(
            [_plain_doc(reader.read), f"Up to {reader.max_bytes / 2**20:g} MB.", *list(reader_notes(reader))[1:]]
        )
        yield _wrapped(f"- `{reader.name}`: {notes}", "  ")


def _plain_doc(documented: object) -> str:
    """The first paragraph of a docstring, as Markdown."""
    return _prose(summary_of(documented))


def _command_page(plugins: Plugins) -> Iterator[str]:
    yield COMMANDS
    yield "## Exit codes\n"
    if set(EXIT_CODES) != set(ExitCode):
        raise ValueError("EXIT_CODES does not list the codes of leafgate.errors.ExitCode")
    yield from (_wrapped(f"- {int(code)}: {meaning}", "  ") for code, meaning in EXIT_CODES.items())
    yield ""
    yield EXIT_CODE_NOTES
    commands = list(_commands("leafgate", typer.main.get_command(app_for([]))))
    counts = Counter(parameter for _, _, parameters in commands for parameter in parameters)
    several = [parameter for parameter, count in counts.items() if count >= SEVERAL_COMMANDS]
    yield "## Arguments and options of several commands\n"
    yield from (_wrapped(f"- `{name}`: {_cell(meaning)}", "  ") for name, meaning in sorted(several))
    yield ""
    for usage, text, parameters in commands:
        yield f"## {usage}\n"
        yield f"{_wrapped_paragraphs(_prose(text))}\n"
        own = [parameter for parameter in parameters if parameter not in several]
        yield from (_wrapped(f"- `{name}`: {_cell(meaning)}", "  ") for name, meaning in own)
        shared = [name for name, meaning in parameters if (name, meaning) in several and name.startswith("-")]
        others = ", ".join(f"`{_first(name)}`" for name in shared)
        if others:
            yield _wrapped(f"- Also {others}.", "  ")
        yield ""


def _commands(path: str, command: Any) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """The usage, the help and the parameters of a command and of those below it, as typer shows them."""
    context = command.context_class(command, info_name=path)
    usage = command.get_usage(context).removeprefix("Usage: ").replace(" [OPTIONS]", "")
    usage = re.sub(r"\{([^}]*)\}(?:\.\.\.)?|\[(\[[^\]]*\])\]", r"\1\2", usage)
    parameters = (parameter.get_help_record(context) for parameter in command.get_params(context))
    shown = [
        (_parameter(name), meaning if name.startswith("-") else meaning.removesuffix("[required]").rstrip())
        for name, meaning in parameters
        if name != "--help"
    ]
    yield usage.removesuffix(" COMMAND [ARGS]..."), inspect.cleandoc(command.help or ""), shown
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", below)


def _first(name: str) -> str:
    """The longest name of a parameter, without what it takes."""
    return max((each.split()[0] for each in name.split(", ")), key=len)


def _parameter(name: str) -> str:
    """The name of a parameter without its type, unless that lists choices."""
    return re.sub(r" <(?:path|str|float|int range|list\[\w+\])>", "", name).strip("[]")


def _bullet(option: Option, sections: frozenset[str] = frozenset()) -> str:
    """An option with its type, its default and its meaning; the default of one in `sections` stands below."""
    choices = [choice for choice in option.type.split(" | ") if choice != "null"]
    if ROLES.keys() <= set(choices):
        choices = ["role", *(choice for choice in choices if choice not in ROLES)]
    default = option.default.strip('"')
    if not option.default:
        needed = "required"
    elif default in {"null", "", "{}", "[]"} or (option.name in sections and default.startswith("{")):
        needed = ""
    else:
        needed = "" if default in choices else f"default `{option.default}`"
    words = _in_words(choices, default)
    if default in choices and all(f"`{choice}`" in option.meaning for choice in choices):
        words, needed = "", f"default `{default}`"
    if needed.startswith("default") and words in {"boolean", "positive integer", "positive number"}:
        words = ""
    meaning = f": {_cell(option.meaning)}" if option.meaning else ""
    about = ", ".join(each for each in (words, needed) if each not in {"", "text"})
    return _wrapped(f"- `{option.name}`{f' ({about})' if about else ''}{meaning}", "  ")


def _in_words(choices: list[str], default: str) -> str:
    """The types or values of an option, the default in bold."""
    named = []
    for choice in dict.fromkeys(choices):
        words = _type_in_words(choice)
        if choice not in TYPES and re.fullmatch(r"[\w-]+", choice):
            words = f"**`{choice}`**" if choice == default else f"`{choice}`"
        named.append(words)
    return " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _type_in_words(text: str) -> str:
    """A type in words, with an interval of its numbers where there is one."""
    word, _, limits = TYPES.get(text, text).partition(" ")
    ends = dict(re.findall(r"([<>]=?) (\S+)", limits))
    low = next(((bracket, ends[sign]) for sign, bracket in ((">=", "["), (">", "(")) if sign in ends), None)
    high = next(((ends[sign], bracket) for sign, bracket in (("<=", "]"), ("<", ")")) if sign in ends), None)
    if low and high:
        return f"{word} in `{''.join(low)},{''.join(high)}`"
    if not low:
        return word
    return f"positive {word}" if low in {("(", "0"), ("[", "1")} else f"{word} from {low[1]}"


def _prose(text: str) -> str:
    """A text with backticks as Markdown: other signs that Markdown would read are escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts)


def _cell(text: str) -> str:
    """A text on one line, as Markdown."""
    parts = re.split(r"(`[^`]*`|\*\*required\*\*|\[[^\]]*\]\([^)]*\))", " ".join(text.split()))
    escaped = (part if i % 2 else re.sub(r"([*<])", r"\\\1", part) for i, part in enumerate(parts))
    return "".join(escaped).replace("|", "\\|")


def _linked(text: str) -> str:
    """The text with links to the pages, publications and code that it names."""
    text = re.sub(r"docs/([\w/-]+)\.md", r"[\1](../\1.md)", text)
    text = re.sub(r"([^;]*), doi:(10\.\d+/[^\s,;]*[\w)])", r"[\1](https://doi.org/\2)", text)
    return re.sub(r"([^;]*), arXiv:(\d{4}\.\d+)", r"[\1](https://arxiv.org/abs/\2)", text)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _short(source: str) -> str:
    """A source without titles, initials, sections and remarks, and with the first of three authors or more."""
    source = re.sub(r' ?"[^"]{12,}",', "", source)
    source = re.sub(r";.*|, sections? [\d.]+.*|, Definitions? .*|, Algorithm .*", "", source)
    source = re.sub(r" \([^)]*\)$", "", source)
    source = re.sub(r"\b(?:[A-Z]\.[ -]?)+(?=[A-Z][a-z])", "", source)
    return (
        re.sub(r"\b([A-Z][a-z][\w-]*)(?:, (?:de )?[A-Z][a-z][\w-]*){2,},", r"\1 and others,", source)
        if re.search(r"\d", source)
        else ""
    )


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _wrapped_paragraphs(text: str) -> str:
    return "\n\n".join(_wrapped(" ".join(paragraph.split())) for paragraph in text.split("\n\n"))


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    SCHEMA.write_bytes(schema())
