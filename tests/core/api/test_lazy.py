"""Modules that are imported on first use."""

import subprocess
import sys

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
