"""Who may import whom, and what may be loaded before anything is computed."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
CORE = TOP / "core" / "leafgate"
BUNDLED = TOP / "plugins" / "leafgate_plugins"
PLUGINS = sorted(face.parent.name for face in BUNDLED.glob("*/__init__.py"))
CLASSES = {
    ".".join(file.relative_to(TOP / "plugins").with_suffix("").parts)
    for name in ("builder", "builders", "components", "metrics")
    for file in (TOP / "plugins").rglob(f"{name}.py")
}
"""The modules of the classes that plugins offer by name."""
HEAVY = {"numpy", "pandas", "pyarrow", "scipy", "sklearn", "duckdb", "cvxpy", "gekko", "matplotlib", "mlflow"}


def imported(file: Path) -> Iterator[str]:
    """The packages a file imports anywhere, by statement or by name."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.split(".")[0]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_the_core_imports_no_plugin() -> None:
    names = {file: {*imported(file)} for file in files(CORE)}
    assert {"typer", "pluggy", "pydantic"} <= set().union(*names.values())  # imports are seen
    assert [file for file, own in names.items() if "leafgate_plugins" in own] == []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_imports_no_other_plugin(plugin: str) -> None:
    others = re.compile(rf"leafgate_plugins\.(?!{plugin}\b)\w+")
    for file in files(BUNDLED / plugin):
        assert not others.search(file.read_text(encoding="utf-8")), file.name


PRIVATE = re.compile(
    r"leafgate\.(cli|commands|console|disclosure|engine|estimators|plugin_output|policy|reports|session)(\.\w+)*"
)
"""The modules that no bundled plugin may import: pyproject.toml has the contract, and this also sees `lazy`."""


def private_imports(file: Path) -> set[str]:
    """The modules of the core that a file imports and may not, by statement or by `lazy`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy":
            texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            names |= {text.rstrip(".") for text in texts if isinstance(text, str)}
    return {name for name in names if PRIVATE.fullmatch(name)}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_bundled_plugin_imports_nothing_that_runs_commands_or_writes_reports(plugin: str) -> None:
    for file in files(BUNDLED / plugin):
        assert not private_imports(file), file.name


def loaded_by(program: str, *words: object, among: set[str] = HEAVY) -> set[str]:
    """The modules of these, by default the heavy packages, in memory after a program ran in a process of its own."""
    ending = f"\nimport json, sys; print('\\n' + json.dumps(sorted(set(sys.modules) & {among!r})))"
    command = [sys.executable, "-c", program + ending, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


RUN = "import sys; from leafgate.cli import run; assert run(sys.argv[1:]) == 0"


def test_the_plugin_interface_loads_nothing_heavy() -> None:
    assert not loaded_by("import leafgate, leafgate.api, leafgate.app, leafgate.readers")


@pytest.mark.parametrize("module", ["leafgate", "leafgate.api", "leafgate.app", "leafgate.readers"])
def test_what_a_public_module_offers_lazily_is_what_type_checkers_see(module: str) -> None:
    file = CORE.parent / (module.replace(".", "/") + "/__init__.py")
    file = file if file.exists() else CORE.parent / (module.replace(".", "/") + ".py")
    guarded = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.If)]
    declared = {alias.name for node in guarded for each in node.body for alias in getattr(each, "names", ())}
    found = import_module(module)
    assert declared <= set(dir(found))
    for name in declared:
        assert getattr(found, name) is not None


def test_faces_load_nothing_heavy() -> None:
    assert len(PLUGINS) >= 6
    assert not loaded_by("; ".join(f"import leafgate_plugins.{name}" for name in PLUGINS))


@pytest.mark.parametrize(
    "words",
    [("validate", TOP / "policies" / "mortgage.yaml"), ("plugins",), ("explain", "kadet"), ("schema",), ("--help",)],
    ids=lambda words: words[0],
)
def test_commands_that_touch_no_data_load_nothing_heavy(words: tuple[object, ...]) -> None:
    assert not loaded_by(RUN, *words)


@pytest.mark.parametrize(
    ("words", "needless"),
    [
        (("--version",), {"pydantic", "pluggy", "yaml", "leafgate.cli.audit", "leafgate_plugins"}),
        (("--help",), {"leafgate.kernel.components", "leafgate.kernel.table", "rich", *CLASSES}),
        (
            ("validate", TOP / "policies" / "mortgage.yaml"),
            {
                "leafgate.disclosure.schema",
                "leafgate.policy.strictness",
                "leafgate.commands.sweep.axes",
                *CLASSES
                - {
                    "leafgate_plugins.kadet.builder",
                    "leafgate_plugins.linking.components",
                    "leafgate_plugins.protection.metrics",
                },
            },
        ),
    ],
    ids=["--version", "--help", "validate"],
)
def test_a_command_loads_no_module_of_the_others(words: tuple[object, ...], needless: set[str]) -> None:
    assert not loaded_by(RUN, *words, among=needless)


def test_completion_in_a_shell_loads_what_the_help_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LEAFGATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "leafgate validate --")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert not loaded_by(RUN, among={"leafgate.kernel.components", "leafgate.kernel.table", "rich", *CLASSES, *HEAVY})


def test_the_process_ends_without_a_search_for_unused_cycles() -> None:
    program = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0)); "
        "from leafgate.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "10000 True"


def test_the_measurement_itself_sees_what_is_heavy() -> None:
    assert loaded_by("from leafgate.io.tables import reader") >= {"numpy", "pandas"}
