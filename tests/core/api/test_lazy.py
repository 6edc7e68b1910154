"""Modules that are imported on first use."""

import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from leafgate.api import install_command, lazy

TOP = Path(__file__).resolve().parents[3]


def test_a_lazy_module_is_imported_when_an_attribute_is_read() -> None:
    program = (
        "import sys; from leafgate.lazy_loading import lazy; np = lazy('numpy'); repr(np); "
        "print('numpy' in sys.modules); np.zeros(1); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]


def test_a_lazy_module_has_the_attributes_of_the_module() -> None:
    import math

    assert lazy("math").sqrt is math.sqrt
    with pytest.raises(AttributeError, match="no attribute 'cube'"):
        _ = lazy("math").cube


def test_a_module_that_is_not_installed_is_an_error_on_first_use() -> None:
    absent = lazy("no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = absent.anything


@pytest.mark.parametrize("name", ["leafgate", "leafgate.api", "leafgate.app", "leafgate.readers"])
def test_a_module_lists_what_it_exports_and_nothing_else(name: str) -> None:
    module = import_module(name)
    assert dir(module) == module.__all__ == sorted(set(module.__all__))
    assert all(hasattr(module, each) for each in module.__all__)
    assert not {"lazy_exports", "TYPE_CHECKING", "sys"} & set(dir(module))
    names: dict[str, object] = {}
    exec(f"from {name} import *", names)
    assert {"attack", "SecretBelief", "InconclusiveError", "lazy"} <= names.keys() or name != "leafgate.api"
    assert set(module.__all__) - {"__version__"} <= names.keys()


EXTRAS: dict[str, list[str]] = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev"}))
def test_an_install_command_names_the_packages_of_the_project_s_extra(extra: str) -> None:
    program, *words = shlex.split(install_command(extra))
    assert (program, words[0]) == ("pip", "install")
    assert {Requirement(word) for word in words[1:]} == {Requirement(text) for text in EXTRAS[extra]}


def test_an_install_command_is_quoted_for_a_shell() -> None:
    assert install_command("onnx") == 'pip install "onnx>=1.16"'


def test_an_extra_that_is_not_in_the_metadata_is_installed_from_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: None)
    assert install_command.__wrapped__("onnx") == 'pip install ".[onnx]" in a checkout of leafgate'


def test_no_message_names_an_extra_that_an_index_could_give_to_others() -> None:
    sources = [path for folder in ("core", "plugins") for path in (TOP / folder).rglob("*.py")]
    named = re.compile(r"""leafgate\[\{?\w+""")
    assert [path.name for path in sources if named.search(path.read_text(encoding="utf-8"))] == []
