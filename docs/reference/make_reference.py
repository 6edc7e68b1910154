"""Write the reference pages that follow from the code, and policy.schema.json.

policy.md comes from the models of policies; builders.md, attacks.md and metrics.md from the descriptions that `leafgate
explain` prints; commands.md from the command line; report.md from the models of the report document and their comments,
and from the report formats; statements.md from the model of the predicate.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast, get_args

import typer
from pydantic import BaseModel

from component_families import ATTACK_PAGE, BUILDER_PAGE, GENERATED, METRIC_PAGE, SOURCE_PAGE
from component_pages import OWN, component_page
from leafgate.api.registry import Plugins, load_plugins
from leafgate.app import readable
from leafgate.cli.app import app_for
from leafgate.commands.attest.statement import PREDICATE_TYPE, AuditPredicate
from leafgate.commands.scaffold.json_schema import policy_schema
from leafgate.console.describe import (
    format_notes,
    options_of,
    summary_of,
)
from leafgate.disclosure import schema as report_schema
from leafgate.errors import ExitCode
from leafgate.io import evidence as evidence_schema
from leafgate.kernel.components import Component
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import ROLES, Role
from leafgate.session.report_formats import offered_formats
from reference_markdown import bullet, cell, prose, wrapped, wrapped_paragraphs

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "policy.schema.json"

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

COMMANDS = f"""# Commands

Every command has `--help`, which prints the same; `leafgate --version` prints the version. Arguments in brackets are
optional.

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

`--to NAME` of `leafgate audit` and `leafgate report` writes these; [plugins](plugin-kinds.md#a-report-format) can add
formats.
"""
STATEMENTS = f"""# The statement about a report

`leafgate attest` writes a signed statement about a public report into `statements.intoto.jsonl`, and `leafgate verify`
verifies it ([how to](../how-to/attest.md)). The file is one line: a
[DSSE](https://github.com/secure-systems-lab/dsse) envelope with `payload`, `payloadType` and `signatures`. The payload,
in base64, is an in-toto Statement v1 of the type `{PREDICATE_TYPE}`.

Envelope and payload are JSON with sorted keys and without spaces. The subjects are, with their SHA-256, the policy, the
release (`release.json`), the model's file, the report, and `statements.files.json`; where digests are kept back, those
of release, file and report are left out.

The predicate has version 0: it may change in a minor version, and its type then gets another number. Every key is
taken from the [report](report.md) or follows from it; types are as there. A key with a question mark may be left out,
as digests are where they are kept back; other keys are refused.

{GENERATED}
"""

MASKED: frozenset[type[BaseModel]] = frozenset(
    {evidence_schema.FewerThan, evidence_schema.MoreThan, evidence_schema.FromTo, report_schema.Nowhere}
)
"""Models of the report document that have no section of their own."""
SEVERAL_COMMANDS = 3
"""An option of so many commands or more is described once, at the head of the page."""

EXIT_CODES = {
    ExitCode.PASS: "Success. Of an audit: every limit holds, or is [waived](../how-to/waivers.md).",
    ExitCode.FAIL: "A limit is broken, a claim of the release is refuted, or no release keeps the builder's promise.",
    ExitCode.INVALID: "The policy, the command line or the data is invalid, and nothing was judged.",
    ExitCode.INCONCLUSIVE: "Inconclusive: an attack or a plugin could not run, or evidence is missing. Never a pass.",
    ExitCode.INTERNAL: "Internal error, the result could not be written, or the process ended without a verdict.",
    ExitCode.INTERRUPTED: "Interrupted, for example with Ctrl-C. SIGTERM ends a run with 143, SIGHUP with 129.",
}
EXIT_CODE_NOTES = """Publish a release only if its audit ends with 0. Other commands:

- `leafgate report` ends with the code of the stored verdict, with its waivers judged again.
- `leafgate sweep` ends with 0 if [some release passes](../how-to/limits.md#sweep-an-option), and `leafgate repair` if
  [the new model passes](../how-to/remedies.md#repair-a-model).
- `leafgate diff` has [its own table](../how-to/diff.md), and so has [`leafgate case`](../how-to/decide.md).

An audit or a sweep locks the folder of `--out`: another run with that folder ends with 2 and changes nothing. Windows
and some network file systems have no such locks; use one folder for each audit there. Files are written whole or not at
all; the next run in the folder deletes `.leafgate-*` files of a killed run (SIGKILL). On a full disk a run ends with 4,
or with 3 if only the cache of an attack has no room.

Errors go to stderr, one a line: where, what is wrong, and what to do. With `--json` they are one document of the format
`leafgate/error/1` on stdout, whose `problems` have `place`, `message` and `remedy`.
"""


def pages() -> dict[str, str]:
    """The text of each page by its file name, for the plugins of the leafgate distribution alone."""
    plugins = load_plugins([OWN])
    makers: dict[str, Callable[[Plugins], Iterator[str]]] = {
        "policy.md": _policy_page,
        "builders.md": lambda plugins: component_page(BUILDER_PAGE, plugins),
        "attacks.md": lambda plugins: component_page(ATTACK_PAGE, plugins),
        "metrics.md": lambda plugins: component_page(METRIC_PAGE, plugins),
        "data-sources.md": lambda plugins: component_page(SOURCE_PAGE, plugins),
        "commands.md": _command_page,
        "report.md": _report_page,
        "statements.md": _statement_page,
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
        yield from (bullet(option, sections) for option in options_of(cast("type[Component]", model)))
        yield ""
        if places[0].startswith("data.columns"):
            yield from _roles()


def _section_head(places: list[str], model: type[BaseModel]) -> Iterator[str]:
    """The heading and the summary of a section, with the other places where the same keys stand."""
    yield f"## {places[0] or 'Top level'}\n"
    also = f" Also {', '.join(f'`{place}`' for place in places[1:])}." if places[1:] else ""
    summary = prose(summary_of(model))
    if also or summary.count(" ") > 1:
        yield wrapped(f"{summary}{also}") + "\n"


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
        raise ValueError("leafgate.kernel.schema.ROLES does not list the roles of Role")
    yield "The roles, of which `key` and those after it stand alone:\n"
    yield from (wrapped(f"- `{role}`: {meaning}", "  ") for role, meaning in ROLES.items())
    yield ""


def _report_page(plugins: Plugins) -> Iterator[str]:
    yield REPORT
    yield from _document(report_schema.ReportDocument)
    yield FORMATS_OF_REPORTS
    for name, offered in sorted(offered_formats(plugins).items()):
        format_ = offered.format
        notes = " ".join([_plain_doc(format_.render), *list(format_notes(offered))[1:]])
        yield wrapped(f"- `{name}` writes `{format_.filename}`: {notes}", "  ")


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
            yield wrapped(f"- `{key}`{optional}{type_}{'' if is_plain else f': {cell(meaning)}'}", "  ")
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


def _plain_doc(documented: object) -> str:
    """The first paragraph of a docstring, as Markdown."""
    return prose(summary_of(documented))


def _command_page(plugins: Plugins) -> Iterator[str]:
    yield COMMANDS
    yield "## Exit codes\n"
    if set(EXIT_CODES) != set(ExitCode):
        raise ValueError("EXIT_CODES does not list the codes of leafgate.errors.ExitCode")
    yield from (wrapped(f"- {int(code)}: {meaning}", "  ") for code, meaning in EXIT_CODES.items())
    yield ""
    yield EXIT_CODE_NOTES
    _, *commands = _commands("leafgate", typer.main.get_command(app_for([])))
    counts = Counter(parameter for _, _, parameters in commands for parameter in parameters)
    several = [parameter for parameter, count in counts.items() if count >= SEVERAL_COMMANDS]
    yield "## Arguments and options of several commands\n"
    yield from (wrapped(f"- `{name}`: {cell(meaning)}", "  ") for name, meaning in sorted(several))
    yield ""
    for usage, text, parameters in commands:
        yield f"## {usage}\n"
        yield f"{wrapped_paragraphs(prose(text))}\n"
        own = [parameter for parameter in parameters if parameter not in several]
        yield from (wrapped(f"- `{name}`: {cell(meaning)}", "  ") for name, meaning in own)
        shared = [name for name, meaning in parameters if (name, meaning) in several and name.startswith("-")]
        others = ", ".join(f"`{_first(name)}`" for name in shared)
        if others:
            yield wrapped(f"- Also {others}.", "  ")
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


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    SCHEMA.write_bytes(schema())
