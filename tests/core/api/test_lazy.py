"""Modules that are imported on first use."""

import subprocess
import sys
from importlib import import_module

import pytest

from leafgate.api import lazy


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
