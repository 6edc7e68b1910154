"""The documentation says what is so: made from the code, run again, or followed to its end."""

from __future__ import annotations

import doctest
import json
import pkgutil
import pydoc
import re
import runpy
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from cases import more
from leafgate import algorithms
from leafgate.api import AttackModel, Component, DataSource, Metric, PersonMetric, TreeBuilder
from leafgate.api.registry import Plugin, use_of
from leafgate.app import Plugins, load_plugins, parse_yaml, policy_of
from leafgate.cli.app import COMMANDS, GROUPS
from leafgate.commands.convert import neutral
from leafgate.console.describe import describe, explanation, kind_of, plugins_document, policy_example, summary_of
from leafgate.io import release_codec, tree_reader
from replay import replayed, without_skops_digests

TOP = Path(__file__).resolve().parents[1]
OWN_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(TOP / name for name in OWN_PAGES), *sorted((TOP / "docs").rglob("*.md"))]
HISTORY = "CHANGELOG.md"
"""It may name what there is no longer."""
TEXTS = {str(page.relative_to(TOP)): page.read_text(encoding="utf-8") for page in PAGES}

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
YAML = re.compile(r"^```yaml\n(leafgate: 1\n.*?)^```$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"`(leafgate\w*(?:\.\w+)+)`")
TEST = re.compile(r"`(test_\w+_\w+)`")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (TOP / "tests").rglob("test_*.py"))
FILE = re.compile(r"`((?:tests|docs|core|plugins|policies)/[\w./*-]+)`")
NAMED_PAGE = re.compile(r"(docs/[\w/-]+\.md)(?:, \"?([A-Z][\w ]+\w)(?=\"))?")
"""A page of the documentation, and after a comma the heading of a section."""
CODE_SUFFIXES = {".py", ".md", ".html", ".j2", ".toml", ".yaml"}
MODULE = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)`")
MEMBERS = re.compile(
    r"^\| ((?:`[\w()]+`(?:, )?)+)[^|]*\| (?:all|attacks|builders|metrics|metrics of people) \|", re.MULTILINE
)


def found(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Every match in every page, with the page."""
    return [(name, match) for name, text in TEXTS.items() for match in pattern.findall(text)]


FORMATS = "docs/reference/formats.md"
GENERATOR = "docs/reference/make_reference.py"


@pytest.mark.skipif(Version(version("typer")) < Version("0.26"), reason="older typer writes help otherwise")
def test_the_reference_pages_are_what_the_code_says() -> None:
    for name, text in runpy.run_path(str(TOP / GENERATOR))["pages"]().items():
        assert TEXTS[f"docs/reference/{name}"] == text, f"run python {GENERATOR}"


LEFT_OUT = ("whatever the attack it judges assumes", "none:")
"""Beginnings of threat models of metrics, which their page states in its introduction, or that are none."""
LIMITS = {"at_least", "at_most", "scored"}
"""Options that the page of metrics explains in its introduction, or whose only choice it leaves out."""


@pytest.mark.parametrize(
    ("page", "base"),
    [("builders", TreeBuilder), ("attacks", AttackModel), ("metrics", Metric), ("data-sources", DataSource)],
)
def test_every_component_has_a_section_with_what_explain_prints(page: str, base: type[Component]) -> None:
    text = unlinked(unescaped(TEXTS[f"docs/reference/{page}.md"]))
    plugins = load_plugins(["leafgate"])
    elsewhere = {use_of(each) for kind in (AttackModel, Metric) for each in plugins.kind(kind)}
    for component in plugins.kind(base):
        described, printed = describe(component, "leafgate"), explanation(component, "leafgate")
        _, heading, section = text.partition(f"## {described.name} ")
        section = section.partition(" ## ")[0]
        assert heading, f"{page}.md has no section {described.name}"
        assert summary_of(component) in section
        assert all(fact in printed for _, fact in described.facts)
        threat_model = dict(described.facts).get("Threat model", "")
        said = (sentence in text for sentence in re.split(r"(?<=\.) (?=[A-Z])", threat_model))
        assert all(said) or threat_model.lower().startswith(LEFT_OUT)
        groups = [group for group in described.groups if group.picked not in elsewhere]
        for option in (option for group in groups for option in group.options):
            assert f"  {option.name}: {option.type}" in printed
            assert f"`{option.name}`" in text
            assert option.name in LIMITS or " ".join(option.meaning.split()) in text


def test_every_kind_of_component_that_leafgate_offers_has_a_page() -> None:
    offered = {kind_of(component) for component in load_plugins(["leafgate"]).by_name.values()}
    assert offered == {"builder", "attack", "metric", "source"}


@pytest.mark.parametrize("component", load_plugins(["leafgate"]).by_name.values(), ids=use_of)
def test_the_example_in_a_policy_is_valid(component: type[Component]) -> None:
    example = parse_yaml(policy_example(component).encode(), "example")
    ((key, used),) = example.items()
    used = used["source"] if key == "data" else used
    options = used[0] if isinstance(used, list) else used
    assert component.model_validate_json(json.dumps(options), context={"beside": TOP}).use == options["use"]


def test_every_command_has_a_section() -> None:
    text = TEXTS["docs/reference/commands.md"]
    offered = [words for plugin in load_plugins(["leafgate"]).entries for words in commands_of(plugin)]
    for command in (*COMMANDS, *GROUPS, *offered):
        assert re.search(rf"\n## leafgate {command}[\n ]", text), f"commands.md has no section of {command}"


def commands_of(plugin: Plugin) -> list[str]:
    """The commands that a plugin offers, with the names of their groups."""
    ((_, offers),) = ((each["name"], each["offers"]) for each in plugins_document(Plugins((plugin,)))["plugins"])
    return [offer["use"] for offer in offers if offer["kind"] == "command"]


NAMED_FORMAT = re.compile(r"[\"']\{?(?:\"format\":\s*\")?(leafgate/[a-z]+/\d+)[\"']")


def test_every_format_of_a_file_that_the_code_names_is_on_the_page() -> None:
    sources = [*(TOP / "core").rglob("*.py"), *(TOP / "plugins").rglob("*.py")]
    named = {name for path in sources for name in NAMED_FORMAT.findall(path.read_text(encoding="utf-8"))}
    assert {"leafgate/release/1", "leafgate/model/1", "leafgate/trail/1"} <= named
    assert all(f"`{name}`" in TEXTS[FORMATS] for name in named)


def test_every_key_of_a_release_and_of_a_neutral_file_is_on_the_page() -> None:
    release, _, model = TEXTS[FORMATS].partition("## leafgate/model/1")
    nodes = {key for keys in tree_reader.KEYS.values() for key in keys}
    assert all(f"`{key}`" in release for key in {*release_codec.KEYS, *nodes} - {"kind"})
    assert all(f"`{key}`" in model for key in (*neutral.KEYS, *neutral.SOMETIMES, *neutral.TREE_KEYS))


def test_every_part_of_the_report_document_says_what_its_keys_mean() -> None:
    document = TEXTS["docs/reference/report.md"]
    for key in ("verdict", "findings", "passed", "beyond", "fewer_than", "equivalence_class"):
        assert f"`{key}`" in document or f'"{key}"' in document


PUBLIC_NAMES = re.compile(r"^```\{public-names\} (\S+)\n(?::from: (.*)\n)?```$", re.MULTILINE)
PUBLIC_MODULES = re.compile(r"^```\{public-modules\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def documented() -> dict[str, set[str]]:
    """The modules whose names the pages document, each with the homes that are listed; none listed means all."""
    result: dict[str, set[str]] = {}
    for module, homes in (match for text in TEXTS.values() for match in PUBLIC_NAMES.findall(text)):
        result.setdefault(module, set()).update(homes.split())
    for modules in PUBLIC_MODULES.findall(TEXTS["docs/reference/algorithms.md"]):
        result |= {module: set() for module in modules.split()}
    return result


@pytest.mark.parametrize(
    "module",
    ["leafgate", "leafgate.api", "leafgate.app", "leafgate.estimators", "leafgate.readers", "leafgate.testing"],
)
def test_every_public_name_is_on_a_page(module: str) -> None:
    homes = documented()[module]
    missing = {name: home for name, home in exported_names(module).items() if homes and home not in homes}
    assert not missing, f"add these modules to `:from:` on a page of docs/reference: {missing}"


def test_every_module_of_algorithms_is_on_a_page() -> None:
    modules = {module.name for module in pkgutil.walk_packages(algorithms.__path__, "leafgate.algorithms.")}
    packages = {"leafgate.algorithms.induction"}
    assert modules - packages <= documented().keys()


def exported_names(module: str) -> dict[str, str]:
    names: dict[str, str] = runpy.run_path(str(TOP / "docs/public_names.py"))["public_names"](module)
    return names


def test_exported_names_are_those_of_the_module_and_their_homes() -> None:
    names = exported_names("leafgate.api")
    assert names["Metric"] == "leafgate.kernel.metrics"
    assert exported_names("leafgate.readers")["TreeIR"] == "leafgate.ir.model"
    assert exported_names("leafgate.testing")["reader_conformance"] == "leafgate.testing"
    assert "route" in exported_names("leafgate.algorithms.routing")


def unescaped(text: str) -> str:
    return re.sub(r"\\([*<\[\]|])", r"\1", text)


def unlinked(text: str) -> str:
    """The text on one line, without links' addresses."""
    text = re.sub(r"\[([^][]*)\]\((https?:[^)]*(?:\([^)]*\)[^)]*)*)\)", r"\1", text)
    text = re.sub(r"\[([\w/-]+)\]\(\.\./[\w/-]+\.md\)", r"docs/\1.md", text)
    return " ".join(text.split())


def test_a_link_leads_to_a_file() -> None:
    links = [pair for pair in found(LINK) if "://" not in pair[1]]
    assert len(links) > 500
    assert [(page, link) for page, link in links if not (TOP / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize(("page", "policy"), found(YAML))
def test_a_policy_in_a_page_is_valid(page: str, policy: str, tmp_path: Path) -> None:
    assert policy_of(parse_yaml(policy.encode(), page), tmp_path).policy.attacks


def test_the_policy_in_the_readme_is_the_one_that_is_audited_there() -> None:
    shown = dict(found(YAML))["README.md"]
    audited = (TOP / "policies/mortgage.yaml").read_bytes()
    assert parse_yaml(shown.encode(), "README.md") == parse_yaml(audited, "mortgage.yaml")


@pytest.mark.parametrize(("page", "name"), found(FUNCTION))
def test_a_function_a_page_names_exists(page: str, name: str) -> None:
    assert pydoc.locate(name) is not None


@pytest.mark.parametrize("path", sorted(set(MODULE.findall(TEXTS["docs/explanation/architecture.md"]))))
def test_a_module_that_the_architecture_page_names_exists(path: str) -> None:
    core = TOP / "core/leafgate"
    assert any((root / path).exists() for root in (TOP, core, core / "models"))


def test_a_member_of_a_class_that_the_plugin_page_names_exists() -> None:
    section = TEXTS["docs/reference/plugins.md"].partition("## What a class says of itself")[2].partition("\n## ")[0]
    rows = MEMBERS.findall(section)
    names = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    assert {"unit", "examples", "public_in", "wants_test"} <= names
    members = {name for kind in (AttackModel, Metric, PersonMetric, TreeBuilder) for name in dir(kind)}
    assert names <= members


@pytest.mark.parametrize(("page", "name"), [pair for pair in found(TEST) if pair[0] != HISTORY])
def test_a_test_that_a_page_names_exists(page: str, name: str) -> None:
    assert f"def {name}(" in TESTS


@pytest.mark.parametrize(("page", "path"), [pair for pair in found(FILE) if pair[0] != HISTORY])
def test_a_file_that_a_page_names_exists(page: str, path: str) -> None:
    assert list(TOP.glob(path))


CODE = [path for folder in ("core", "plugins") for path in (TOP / folder).rglob("*") if path.suffix in CODE_SUFFIXES]


def test_pages_and_sections_that_the_code_names_exist() -> None:
    named = [(path, *match) for path in CODE for match in NAMED_PAGE.findall(path.read_text(encoding="utf-8"))]
    assert len(named) > 20
    assert [(str(path), page) for path, page, _ in named if page not in TEXTS] == []
    sections = [(page, section) for _, page, section in named if section]
    assert len(sections) > 1
    assert [pair for pair in sections if not re.search(rf"^#+ {pair[1]}$", TEXTS[pair[0]], re.MULTILINE)] == []


SWEEP = "docs/how-to/limits.md"
"""Its session starts workers."""
SESSIONS = [name for name, text in TEXTS.items() if "```console" in text and name != SWEEP]


@pytest.mark.thorough
@pytest.mark.parametrize("page", [*SESSIONS, *more(SWEEP)])
def test_a_session_in_a_page_prints_what_it_says(page: str) -> None:
    printed = without_skops_digests(replayed(TEXTS[page]))
    assert without_skops_digests(TEXTS[page]) == printed, f"run python tests/support/replay.py {page}"


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if ">>> " in text])
def test_an_example_in_a_page_is_right(page: str) -> None:
    assert doctest.testfile(str(TOP / page), module_relative=False).failed == 0


def test_the_documentation_is_short_enough_to_be_read() -> None:
    pages = [text for name, text in TEXTS.items() if name == "README.md" or name.startswith("docs/")]
    assert sum(len(text.split()) for text in pages) <= 92_000


TERMS = """linking builder attack metric policy plugin group insider `worst` judged grid `counted` `reading`
`published_file` `unlimited` `unattacked` imputation auxiliary power planted bootstrap AUC ROC TPR PPV MCC
SNR witness neutral rehearsal perturbed downgrading distillation refit roll head span bin residual TRE DPIA
SARIF DSSE in-toto equivalence limit finding verdict waiver repair scrub control"""
"""Words that pages use, each of which the glossary explains in bold."""


def test_the_glossary_explains_the_words_of_the_pages() -> None:
    bold = " ".join(re.findall(r"\*\*([^*]+)\*\*", TEXTS["docs/reference/glossary.md"])).lower()
    assert [term for term in TERMS.split() if not re.search(rf"(?<!\w){re.escape(term.lower())}(?!\w)", bold)] == []


NEW_TO_READERS = {
    "people-and-knowledge": """quasi-identifier, insider, equivalence class, k-anonymity, auxiliary people, control,
        re-identification, harmless value""",
    "attacks-and-beliefs": """linking, residual tree, membership inference, attribute inference, imputation,
        class disclosure, differencing, shadow model, planted leak, TPR, ROC curve, AUC, PPV, MCC, SNR, posterior,
        prior, near-copy, joint class""",
    "releases-and-models": """builder, bootstrap, perturbed, downgrading, rehearsal, neutral file, witness,
        distillation, scrub, differential privacy budget, publication level""",
    "policies-and-reports": """threshold rule, waiver, egress check, TRE, DPIA, small cell, secondary suppression,
        SARIF, in-toto, DSSE, ledger, roll, `reading`, `published_file`, `unlimited`, `unattacked`""",
}
"""By section of the glossary: terms of the tool and of the field that somebody new to both does not know."""
OTHER_MEANINGS = {
    "control": r"(?<!disclosure )(?<!version ){}(?! characters)",
    "linking": r"{}(?! (?:by|to)\b)",
}
GENERATED = {name for name, text in TEXTS.items() if "make_reference.py" in text.partition("\n## ")[0]}
WITHOUT_LINKS = {*OWN_PAGES[1:], "docs/reference/glossary.md", "docs/explanation/sources.md"}
UNREAD = re.compile(
    r"^( *)```.*?^ *```$|<!-- ([\w-]+) -->.*?<!-- /\2 -->|^#.*?$|!\[[^\]]*\]\([^)]*\)|\"[A-Z][^\"]*\"",
    re.DOTALL | re.MULTILINE,
)
"""Code blocks, lines that scripts make, headings, pictures and titles of papers."""
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
EXPLAINED = re.compile(r"\[[^\[\]]*\]\([^)]*\)|\*\*[^*]+\*\*|(?<!\*)\*[^*\n]+\*(?!\*)")
"""A link, or a term in bold or italics, which its sentence explains."""


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """The text with spaces in place of what matches."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def unexplained(text: str) -> list[tuple[str, str, int, int]]:
    """Terms that stand in a page without a link or an explanation: section of the glossary, term, beginning and end."""
    prose = blanked(text, UNREAD)
    explained = [match.span() for match in EXPLAINED.finditer(prose)]
    found = []
    sections = ((section, re.split(r",\s+", terms)) for section, terms in NEW_TO_READERS.items())
    for section, term in ((section, term) for section, terms in sections for term in terms):
        if term in text.partition("\n")[0].lower():
            continue
        words = re.sub(r"y$", "(?:y|ies)", re.escape(term)).replace(r"\ ", r"\s+")
        pattern = OTHER_MEANINGS.get(term, "{}").replace("{}", rf"{words}(?:s|es|bed)?(?![\w/-])")
        place = prose if term.startswith("`") else blanked(prose, CODE_SPAN)
        flags = re.NOFLAG if term.isupper() else re.IGNORECASE
        first = re.search(rf"(?<![\w`/.-]){pattern}", place, flags)
        if first and not any(start <= first.start() < end for start, end in explained):
            found.append((section, term, *first.span()))
    return found


@pytest.mark.parametrize("page", sorted(TEXTS.keys() - GENERATED - WITHOUT_LINKS))
def test_a_term_is_linked_or_explained_where_it_first_stands(page: str) -> None:
    assert [(term, f"link ../reference/glossary.md#{section}") for section, term, *_ in unexplained(TEXTS[page])] == []
