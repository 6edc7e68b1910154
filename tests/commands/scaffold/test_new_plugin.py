"""`leafgate plugins new` writes packages that can be built, are found, and pass the conformance kit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from command_line import leafgate
from leafgate.api import InvalidError
from leafgate.api.offers import component_hooks
from leafgate.app import load_plugins
from leafgate.cli.app import COMMANDS, GROUPS
from leafgate.commands.scaffold import command as scaffold_command
from leafgate.commands.scaffold.plugin import CORE_COMMANDS, Kind, newcomer, package
from leafgate.console.describe import kind_of

POLICIES = Path(__file__).parents[3] / "policies"
SINGLE = get_args(Kind)
KINDS = {"both": (), **{kind: ("--kind", kind) for kind in SINGLE}}
OFFERS = {
    "both": "attack acme_spies, metric acme_spies_doubt",
    **{kind: f"{kind} acme_spies" for kind in SINGLE},
    "command": "command acme-spies",
}


def run(*words: object, folder: Path, search: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with one more folder to import from."""
    environment = os.environ | {"PYTHONPATH": str(search)}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)


@pytest.fixture(scope="module")
def hatchling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what builds packages; skips where pip cannot get it."""
    folder = tmp_path_factory.mktemp("hatchling")
    if run("-m", "pip", "install", "-q", "--target", folder, "hatchling", folder=folder, search=folder).returncode != 0:
        pytest.skip("pip reaches no package index")
    return folder


# a package of both kinds holds the files of each
BUILT = [pytest.param(kind, marks=[pytest.mark.slow] if kind not in {"both", "builder"} else []) for kind in KINDS]


@pytest.mark.processes
@pytest.mark.parametrize("kind", BUILT)
def test_what_it_writes_is_built_and_found_and_passes_its_own_tests(kind: str, tmp_path: Path, hatchling: Path) -> None:
    made = leafgate("plugins", "new", "Acme-Spies", *KINDS[kind], "--out", tmp_path / "spies")
    assert (made.code, made.err) == (0, "")
    installed = tmp_path / "installed"
    pip = ("-m", "pip", "install", "-q", "--no-deps", "--target", installed, tmp_path / "spies")
    alone = () if kind == "both" else ("--no-build-isolation",)  # that it says what builds it is shown once
    done = run(*pip, *alone, folder=tmp_path, search=hatchling if alone else tmp_path)
    assert done.returncode == 0, done.stderr
    listed = run("-c", "from leafgate.cli import main; main()", "plugins", folder=tmp_path, search=installed)
    assert f"acme_spies (acme-spies 0.1.0): {OFFERS[kind]}\n" in listed.stdout
    tests = ("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", tmp_path / "spies" / "tests")
    passed = run(*tests, folder=tmp_path, search=installed)
    assert passed.returncode == 0, passed.stdout
    assert "passed" in passed.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("kind", SINGLE)
def test_the_kit_passes_each_kind_that_it_writes(kind: str, tmp_path: Path) -> None:
    """Each package's own tests, which the marker `processes` runs after an installation."""
    assert leafgate("plugins", "new", f"acme-{kind}", "--kind", kind, "--out", tmp_path / kind).code == 0
    tests = ("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:xdist", "tests")
    done = run(*tests, folder=tmp_path / kind, search=tmp_path / kind)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


def test_a_command_line_knows_every_kind() -> None:
    assert tuple(kind.value for kind in scaffold_command.Kind) == SINGLE
    listed = {kind_of(base) for base in component_hooks().values()}
    assert listed | {"format", "reader", "command"} == set(SINGLE)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_is_as_tidy_as_our_own(kind: str, tmp_path: Path) -> None:
    assert leafgate("plugins", "new", "acme-spies", *KINDS[kind], "--out", tmp_path / "spies").code == 0
    for command in (("check", "--select", "A,B,C4,E,F,I,N,RUF,SIM,UP,W"), ("format", "--check")):
        lint = ("-m", "ruff", *command, "--isolated", "--line-length", "120", "--no-cache", ".")
        done = run(*lint, folder=tmp_path / "spies", search=tmp_path)
        assert done.returncode == 0, done.stdout


@pytest.mark.processes
def test_what_it_writes_has_types_that_hold(tmp_path: Path) -> None:
    """All kinds in one process, which reads the types of leafgate and pandas once."""
    together = tmp_path / "together"
    together.mkdir()
    for kind, words in KINDS.items():
        assert leafgate("plugins", "new", f"acme-{kind}", *words, "--out", tmp_path / kind).code == 0
        (tmp_path / kind / f"acme_{kind}").rename(together / f"acme_{kind}")
        (tmp_path / kind / "tests").rename(together / f"tests_{kind}")
    folders = sorted(path.name for path in together.iterdir())
    check = ("-m", "mypy", "--strict", "--explicit-package-bases", *folders)
    done = run(*check, folder=together, search=tmp_path)
    assert (len(folders), done.returncode) == (2 * len(KINDS), 0), done.stdout


def test_its_readme_says_which_releases_the_attack_cannot_read(tmp_path: Path) -> None:
    made = package(newcomer("acme-spies", ("attack",), load_plugins()))
    assert "for example that of `leafgate demo`" in made["README.md"].decode()
    assert b"the paper it comes from" not in b"".join(made.values())


def test_nothing_is_written_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    output = leafgate("plugins", "new", "acme-spies", "--out", tmp_path)
    assert (output.code, output.out) == (2, "")
    assert "is there already" in output.err
    assert [file.name for file in tmp_path.iterdir()] == ["notes"]


def test_an_empty_folder_may_be_there_already(tmp_path: Path) -> None:
    assert leafgate("plugins", "new", "acme-spies", "--out", tmp_path).code == 0
    assert (tmp_path / "acme_spies" / "__init__.py").is_file()


@pytest.mark.parametrize(
    "name", ["", "1st", "../up", "a/b", "a;b", "class", "json", "numpy", "leafgate", "tests", "-", "x" * 60, "été"]
)
def test_a_name_that_no_package_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError):
        newcomer(name, ("attack",), load_plugins())


def test_a_name_that_a_policy_could_not_tell_from_another_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"leafgate .* offers 'k_anonymity' already"):
        newcomer("K-Anonymity", ("metric",), load_plugins())


def test_a_format_needs_a_name_that_no_format_has() -> None:
    with pytest.raises(InvalidError, match=r"leafgate .* offers 'sarif' already"):
        newcomer("sarif", ("format",), load_plugins())
    assert newcomer("sarif", ("attack",), load_plugins()).module == "sarif"


def test_a_reader_needs_a_name_that_no_reader_has() -> None:
    with pytest.raises(InvalidError, match=r"leafgate .* offers 'neutral' already"):
        newcomer("neutral", ("reader",), load_plugins())
    assert newcomer("neutral", ("attack",), load_plugins()).module == "neutral"


def test_a_command_needs_a_name_that_no_command_has() -> None:
    for name in ("explain", "Scrub"):
        with pytest.raises(InvalidError, match=rf"leafgate.* offers '{name.lower()}' already"):
            newcomer(name, ("command",), load_plugins())
        assert newcomer(name, ("attack",), load_plugins()).module == name.lower()
    assert {*COMMANDS, *GROUPS} == CORE_COMMANDS


@pytest.mark.thorough
def test_the_command_of_a_written_plugin_is_one_of_leafgate(tmp_path: Path) -> None:
    """As the entry point of an installation offers it."""
    assert leafgate("plugins", "new", "acme-spies", "--kind", "command", "--out", tmp_path / "spies").code == 0
    info = tmp_path / "spies" / "acme_spies-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-spies\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[leafgate]\nacme_spies = acme_spies\n")
    words = ("-c", "from leafgate.cli import main; main()", "acme-spies", tmp_path / "report.json")
    missing = run(*words, folder=tmp_path, search=tmp_path / "spies")
    assert (missing.returncode, missing.stdout) == (2, "")
    audited = leafgate("audit", POLICIES / "mortgage.yaml", "--json")
    (tmp_path / "report.json").write_text(audited.out)
    passed = run(*words, folder=tmp_path, search=tmp_path / "spies")
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, "", "")


def test_a_name_is_made_a_module_s(tmp_path: Path) -> None:
    made = newcomer("Acme Spies.v2", ("attack", "metric"), load_plugins())
    assert (made.module, made.distribution) == ("acme_spies_v2", "acme-spies-v2")
    assert made.class_name("metric") == "AcmeSpiesV2Doubt"
    assert not any(b"@" in text.replace(b"@hookimpl", b"").replace(b"@pytest", b"") for text in package(made).values())


def test_plugins_without_more_lists_them_as_ever() -> None:
    assert leafgate("plugins").out.startswith("baselines (leafgate ")
    assert leafgate("plugins", "--json").document["format"] == "leafgate/plugins/1"
    assert leafgate("plugins", "old").code == 2
