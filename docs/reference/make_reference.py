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
from collections.abc import Callable, Iterable, Iterator
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
    describe,
    format_notes,
    options_of,
    reader_notes,
    summary_of,
)
from leafgate.disclosure import schema as report_schema
from leafgate.errors import ExitCode
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.metrics import Metric, PersonMetric, ReleaseMetric
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import Role
from leafgate.session.report_formats import offered_formats

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "policy.schema.json"
OWN = "leafgate"
"""The pages are about what this distribution offers."""
GENERATED = "This page is made from the code by `python docs/reference/make_reference.py`, and a test compares both."
SAME_AS_EXPLAIN = (
    "`leafgate explain NAME` prints the same of one of them, and of everything that other installed plugins offer."
)

POLICY = f"""# Policy keys

{GENERATED}
The same as JSON Schema is in [policy.schema.json](policy.schema.json); `leafgate schema` prints it with every plugin
that you have installed.

A policy is one YAML file. It is read strictly: unknown keys, keys that stand twice, anchors and aliases, numbers that
are not finite and paths that leave the folder are refused, each with its place. All texts are YAML 1.2: `yes` and `no`
are texts, `true` and `false` are not. Paths are relative to the policy, data files to `--root` where it is given.

The keys `build`, `attacks` and `metrics` name components with `use:`. Each component has options of its own, which
stand beside `use:`: see [Builders](builders.md), [Attacks](attacks.md) and [Metrics](metrics.md).

Editors that know the YAML language server complete keys and mark mistakes while you type: let the policy begin with
`# yaml-language-server: $schema=policy.schema.json`, and write the schema beside it with `leafgate schema >
policy.schema.json`. The schema is of draft-07, which these editors read. It accepts some policies that the reader
refuses, so `leafgate validate` has the last word. A policy that others extend may leave out what the schema requires,
and one that `extends` another may do so at its top level.
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

A builder makes the release: it grows a tree or a forest, generalises a table, or reads a model that exists already
([`published`](#published)). A policy names one under `build`.

{GENERATED}
{SAME_AS_EXPLAIN}
"""

ATTACKS = f"""# Attacks

An attack computes what an adversary can believe of each person from the release and from what the policy grants. A
policy lists one attack or more under `attacks`. The [metrics](metrics.md) judge what they believe.

{GENERATED}
{SAME_AS_EXPLAIN}
"""

METRICS = f"""# Metrics

A metric gives a score to each person or to the release, and a policy limits the score with `at_least` or `at_most`: one
metric or more stand under `metrics`. The audit fails where a limit is broken.

{GENERATED}
{SAME_AS_EXPLAIN}
"""

SOURCES = f"""# Data sources

A data source reads tables that the core does not read itself, or has an engine count their records where they are. A
policy names one under `data.source`, by its name alone (`source: duckdb`) or with options. [Large
tables](../how-to/large-tables.md) explains how to use them, and [plugins](plugin-sources.md#a-data-source) can add
others.

{GENERATED}
{SAME_AS_EXPLAIN}
"""

COMMANDS = f"""# Commands

{GENERATED}
`leafgate COMMAND --help` prints the same.
"""

REPORT = f"""# The report document

`leafgate audit --out DIR` writes the report as `report.json`, in the format `leafgate/report/1`. Every other format of
a report is a view made from this document alone. [Reports](../how-to/reports.md) explains how to read reports and what
a public one leaves out; [Formats](formats.md) lists the other files.

{GENERATED}

Whoever reads a public report may be an adversary, so numbers of few people are masked before they are written. A masked
number is an object: `{{"fewer_than": 10}}` (positive, and below 10), `{{"more_than": 0.9}}`, or
`{{"from": 40, "to": 49}}` (both included). What is described as being for auditors is left out of public reports.

A key that is not required may be left out. A report is
refused if it has other keys, except in `evidence`, or if its verdict does not follow from its findings.
"""
FORMATS_OF_REPORTS = """## Report formats

`leafgate audit --to NAME` and `leafgate report --to NAME` write these. [Plugins](plugin-formats.md#report-format) can
add formats.

| name | file | media type | what it is |
| --- | --- | --- | --- |"""
STATEMENTS = f"""# Statements about a report

`leafgate attest` writes signed statements about a public report into `statements.intoto.jsonl`, and `leafgate verify`
verifies them. [Sign what an audit found](../how-to/attest.md) explains how to use them.

{GENERATED}

Each line of the file is a [DSSE](https://github.com/secure-systems-lab/dsse) envelope, an object with the keys
`payload`, `payloadType` and `signatures`. The payload, in base64, is a Statement v1 of in-toto with one of these types:

| statement | `predicateType` | what it has |
| --- | --- | --- |
| `audit` | `{PREDICATE_TYPE}` | what this page describes |
| `test-result` | `{TEST_RESULT}` | the criteria as tests, the policy and its waivers as configuration |
| `svr` | `{SVR}` | of a pass: `{ALL_PASSED}` or `{PASSED_OR_WAIVED}`, and `{PROPERTY}ID` of each that passed |

The lines stand in this order. Envelopes and payloads are JSON with sorted keys and without spaces, and a line ends with
a line break. The subject is the release (`release.json`) and the model's file, with their SHA-256. Where digests are
kept back, it is the policy.

The project has no address of its own yet, so that the type of the predicate and the verifier's identifier begin with
`leafgate:`. The predicate has version 0: each minor version may change it, and its type then has another number. Every
key is taken from the [report](report.md), or follows from it. Keys that are not required may be left out, and other
keys are refused. The names `metric`, `comparator`, `threshold`, `passed` and `sampleSize` are those of the predicate
eval-result, which is proposed for in-toto.
"""
READERS = f"""# Model readers

A model reader reads the trees of a model file that another program wrote. `build: {{use: published, path: FILE}}`
audits such a file, and `leafgate convert`, `scrub`, `repair` and `init --model` take it too. The format is recognised
by the file's first bytes, not by its name. [What a model's file tells beyond its predictions](file-formats.md) says
what each format discloses, and [Audit the file of a model](../how-to/audit-a-model-file.md) how to use them.
[Plugins](plugin-readers.md#a-model-reader) can add readers.

{GENERATED}

| name | what it reads | largest file | also |
| --- | --- | --- | --- |"""
ATTACK_OPTIONS = frozenset({"name", "knows", "access", "time_limit"})
"""Options of all attacks, which have no meaning where a builder holds an attack."""
MASKED: frozenset[type[BaseModel]] = frozenset(
    {report_schema.FewerThan, report_schema.MoreThan, report_schema.FromTo, report_schema.Nowhere}
)
"""Models of the report document that have no section of their own."""

EXIT_CODES = {
    ExitCode.PASS: "Success. Of an audit: every limit holds, or is [waived](../how-to/waivers.md).",
    ExitCode.FAIL: "A limit is broken, a claim of the release is refuted, or no release keeps the builder's promise.",
    ExitCode.INVALID: "The policy, the command line or the data is invalid, and nothing was judged.",
    ExitCode.INCONCLUSIVE: "Inconclusive: an attack or a plugin could not run, or evidence is missing. Never a pass.",
    ExitCode.INTERNAL: "Internal error, or the result could not be written, for example because the disk is full.",
    ExitCode.INTERRUPTED: "Interrupted, for example with Ctrl-C. SIGTERM ends a run with 143, SIGHUP with 129.",
}
EXIT_CODE_NOTES = """A release may be published only where its audit ends with 0. `leafgate report` ends with the
code of the stored verdict, its waivers judged again, `leafgate sweep` with 0 if
[some release passes](../how-to/sweep.md), `leafgate sheet` and `leafgate map` with 0 if they wrote what they were asked
for, whatever the verdict, `leafgate repair` with 0 if [the new model passes](../how-to/repair.md); of
`leafgate diff` see [its table](../how-to/diff.md).

An audit or a sweep claims the folder of `--out` before it changes anything in it. While it runs, every other audit and
sweep with the same folder ends with 2 and leaves it as it is, so that a report and a release are always of one run; a
claim ends with its process. Different folders may share one cache of shadow models: each process keeps what the others
added. Files are written whole or not at all. A run that is interrupted (Ctrl-C, SIGTERM, SIGHUP) finishes the files
that it is writing, if any, removes its temporary files, and ends its workers. A run that is killed (SIGKILL) may leave
files named `.leafgate-*`, which the next command that writes into that folder deletes. Where the disk is full, a run
ends with 4 and one line that says so, or with 3 where only the cache of an attack finds no room. What other runs
finished stays: their folders, finished points of a sweep, cached shadow models, and a release that can be drawn only
once. Windows and some network file systems have no locks on folders: give each audit a folder of its own there.

Errors are printed on stderr, a line each: where, what is wrong, and what to do. With `--json` they are one document of
the format `leafgate/error/1` on stdout, whose `problems` have `place`, `message` and `remedy`.
"""


def pages() -> dict[str, str]:
    """The text of each page by its file name, for the plugins of the leafgate distribution alone."""
    plugins = load_plugins([OWN])
    makers: dict[str, Callable[[Plugins], Iterator[str]]] = {
        "policy.md": _policy_page,
        "builders.md": lambda plugins: _component_page(BUILDERS, plugins, TreeBuilder, {}),
        "attacks.md": lambda plugins: _component_page(
            ATTACKS, plugins, AttackModel, {"Options of all attacks": AttackModel}
        ),
        "metrics.md": lambda plugins: _component_page(
            METRICS,
            plugins,
            Metric,
            {"Options of all metrics of people": PersonMetric, "Options of all metrics of the release": ReleaseMetric},
        ),
        "data-sources.md": lambda plugins: _component_page(
            SOURCES, plugins, DataSource, {"Options of all engines": DataEngine}
        ),
        "commands.md": _command_page,
        "report.md": _report_page,
        "statements.md": _statement_page,
        "model-readers.md": _reader_page,
    }
    return {name: "\n".join(make(plugins)).rstrip("\n") + "\n" for name, make in makers.items()}


def schema() -> bytes:
    """The JSON Schema of policies, for the plugins of the leafgate distribution alone."""
    return readable(policy_schema(load_plugins([OWN])))


def _policy_page(plugins: Plugins) -> Iterator[str]:
    yield POLICY
    for place, model in _sections("", Policy):
        yield f"## {place or 'Top level'}\n"
        yield f"{_prose(summary_of(model))}\n"
        yield from _table(options_of(cast("type[Component]", model)), _sections_of(model))
        if place.startswith("data.columns"):
            yield from _roles()


def _sections(
    place: str, model: type[BaseModel], others: frozenset[type[BaseModel]] = frozenset()
) -> Iterator[tuple[str, type[BaseModel]]]:
    """The model and every section below it but `others`, each with the place a policy or a report writes it at."""
    yield place, model
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
    yield "| role | meaning |"
    yield "| --- | --- |"
    yield from (f"| `{role}` | {_cell(meaning)} |" for role, meaning in ROLES.items())
    yield ""


def _component_page(
    intro: str, plugins: Plugins, base: type[Component], common: dict[str, type[Component]]
) -> Iterator[str]:
    """The page of one kind of components: a list of all, the options that they share, and each component."""
    components, attacks = plugins.kind(base), {use_of(attack) for attack in plugins.kind(AttackModel)}
    yield intro
    yield "| name | what it does |"
    yield "| --- | --- |"
    for component in components:
        name = use_of(component)
        yield f"| [`{name}`](#{name}) | {_cell(summary_of(component))} |"
    yield ""
    for title, owner in common.items():
        yield f"## {title}\n"
        yield from _table(_shared(owner))
    for component in components:
        titles = [title for title, owner in common.items() if issubclass(component, owner)]
        shared = [option for title in titles for option in _shared(common[title])]
        yield from _component(describe(component, OWN), titles, shared, attacks)


def _shared(owner: type[Component]) -> list[Option]:
    """The options that all components below a base class have with the same default."""
    return [option for option in options_of(owner) if option.name != "scored"]


def _component(described: Description, titles: list[str], shared: list[Option], attacks: set[str]) -> Iterator[str]:
    yield f"## {described.name}\n"
    yield f"{_prose(described.text)}\n"
    yield "\n".join(_wrapped(f"- {_prose(note)}", "  ") for note in described.notes) + "\n"
    for title, text in described.facts:
        if title == "Formula":
            yield f"**{title}**\n\n```text\n{_wrapped(text)}\n```\n"
        else:
            yield f"{_wrapped(f'**{title}:** {_linked(_prose(text))}')}\n"
    for example in described.examples:
        yield f"{_wrapped(f'**Example:** {_prose(example)}')}\n"
    if described.policy_example:
        yield f"**In a policy**\n\n```yaml\n{described.policy_example}\n```\n"
    for group in described.groups:
        if group.under:
            picked = f", `use: {group.picked}`" if group.picked else ""
            link = f" See [`{group.picked}`](attacks.md#{group.picked})." if group.picked in attacks else ""
            yield f"Under `{group.under}`{picked}: {_prose(group.summary)}{link}\n"
        of_attacks = ATTACK_OPTIONS if group.under and group.picked in attacks else frozenset()
        shared_names = set() if group.under else {option.name for option in shared if option.name != "time_limit"}
        own = [option for option in group.options if option.name not in of_attacks | shared_names]
        own = [option for option in own if group.under or option not in shared]  # some have another `time_limit`
        if own or not titles:
            yield from _table(own)
        if not group.under and titles:
            links = " and the ".join(f"[{title[0].lower()}{title[1:]}](#{_anchor(title)})" for title in titles)
            yield f"{'It also has' if own else 'It has'} the {links}.\n"


def _report_page(plugins: Plugins) -> Iterator[str]:
    yield REPORT
    yield from _document(report_schema.ReportDocument)
    yield FORMATS_OF_REPORTS
    for name, offered in sorted(offered_formats(plugins).items()):
        format_ = offered.format
        notes = " ".join([_plain_doc(format_.render), *list(format_notes(offered))[1:]])
        yield f"| `{name}` | `{format_.filename}` | `{format_.media_type}` | {_cell(notes)} |"


def _statement_page(plugins: Plugins) -> Iterator[str]:
    yield STATEMENTS
    yield from _document(AuditPredicate)


def _document(top: type[BaseModel]) -> Iterator[str]:
    """The sections of a document that models describe, each with its keys."""
    for place, model in _sections("", top, MASKED):
        comments = _field_comments(inspect.getsource(sys.modules[model.__module__]))
        yield f"## {place or 'Top level'}\n"
        yield f"{_prose(summary_of(model))}\n"
        document = model.model_json_schema()
        rows = [(name, field.alias or name) for name, field in model.model_fields.items()]
        if rows:
            yield "| key | type | required | meaning |"
            yield "| --- | --- | --- | --- |"
        for name, key in rows:
            required = "yes" if key in document.get("required", ()) else ""
            comment = comments[model.__name__, name]
            yield f"| `{key}` | {_cell(_json_type(document['properties'][key]))} | {required} | {_cell(comment)} |"
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
        return "masked number" if name in {model.__name__ for model in MASKED} - {"Nowhere"} else "object"
    if "anyOf" in document:
        return " or ".join(dict.fromkeys(map(_json_type, document["anyOf"])))
    if "enum" in document or "const" in document:
        return ", ".join(f"`{value}`" for value in document.get("enum", [document.get("const")]))
    if document.get("type") == "array":
        return f"list of {_json_type(document.get('items', {}))}s"
    return str({"string": "text", None: "any"}.get(document.get("type"), document.get("type")))


def _reader_page(plugins: Plugins) -> Iterator[str]:
    yield READERS
    for reader in plugins.readers:
        largest, notes = f"{reader.max_bytes / 2**20:g} MB", " ".join(list(reader_notes(reader))[1:])
        yield f"| `{reader.name}` | {_cell(_plain_doc(reader.read))} | {largest} | {_cell(notes)} |"


def _plain_doc(documented: object) -> str:
    """The first paragraph of a docstring, as Markdown."""
    return _prose(summary_of(documented))


def _command_page(plugins: Plugins) -> Iterator[str]:
    yield COMMANDS
    yield "## Exit codes\n"
    yield "| code | meaning |"
    yield "| --- | --- |"
    if set(EXIT_CODES) != set(ExitCode):
        raise ValueError("EXIT_CODES does not list the codes of leafgate.errors.ExitCode")
    yield from (f"| {int(code)} | {_cell(meaning)} |" for code, meaning in EXIT_CODES.items())
    yield ""
    yield EXIT_CODE_NOTES
    yield from _commands("leafgate", typer.main.get_command(app_for([])))


def _commands(path: str, command: Any) -> Iterator[str]:
    """A command and those below it, as typer shows them."""
    yield f"## {path}\n"
    context = command.context_class(command, info_name=path)
    yield f"{_prose(inspect.cleandoc(command.help or ''))}\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield "| argument or option | meaning |"
    yield "| --- | --- |"
    for parameter in command.get_params(context):
        name, meaning = parameter.get_help_record(context)
        yield f"| `{_code_cell(name)}` | {_cell(meaning)} |"
    yield ""
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", below)


def _table(options: Iterable[Option], sections: frozenset[str] = frozenset()) -> Iterator[str]:
    """The options; the default of one in `sections` is described below the table."""
    rows = list(options)
    if not rows:
        yield "It has no options.\n"
        return
    yield "| option | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for option in rows:
        default = f"`{option.default}`" if option.default else "**required**"
        if option.name in sections and option.default.startswith("{"):
            default = "see below"
        yield f"| `{option.name}` | {_cell(option.type)} | {_code_cell(default)} | {_cell(option.meaning)} |"
    yield ""


def _prose(text: str) -> str:
    """A text with backticks as Markdown: other signs that Markdown would read are escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts)


def _cell(text: str) -> str:
    parts = re.split(r"(`[^`]*`|\*\*required\*\*|\[[^\]]*\]\([^)]*\))", " ".join(text.split()))
    escaped = (part if i % 2 else re.sub(r"([*<])", r"\\\1", part) for i, part in enumerate(parts))
    return "".join(escaped).replace("|", "\\|")


def _code_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(text: str) -> str:
    """The text with links to the pages, publications and code that it names."""
    text = re.sub(r"docs/([\w/-]+)\.md", r"[\1](../\1.md)", text)
    text = re.sub(r"\bdoi:(10\.\d+/[^\s,;]*[\w)])", r"[doi:\1](https://doi.org/\1)", text)
    return re.sub(r"\barXiv:(\d{4}\.\d+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    SCHEMA.write_bytes(schema())
