import json
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import leafgate
from hostile_models import LARGE, lightgbm, neutral
from hostile_skops import HOSTILE as SKOPS
from hostile_skops import schema_with
from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate.readers import parse_bounded_json
from patience import ends_soon
from refused_models import assert_refused_in_little_memory

SMALL = {name: make for files in LARGE.values() for name, make in files.items() if name not in SKOPS}


@pytest.mark.thorough
@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_a_file_that_would_come_to_much_is_refused_soon_and_in_little_memory(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    assert_refused_in_little_memory(tmp_path, make())


HALF = "\\ud800"
XGBOOST = """{"learner": {"feature_names": ["NAME"]}, "version": [3, 0, 0]}"""
LONE = {
    "a neutral file": json.dumps(neutral(features=["a\ud800"])).encode(),
    "XGBoost": XGBOOST.replace("NAME", HALF).encode(),
    "LightGBM": lightgbm(rest=f'\npandas_categorical:[["{HALF}"]]'),
    "skops": schema_with(b'"__module__"', b'"\\ud800": "", "__module__"'),
    "the other half": json.dumps(neutral(classes=["a", "b\udc00"])).encode(),
    "the wrong way round": json.dumps(neutral(classes=["a", "\udc00\ud800"])).encode(),
}


@pytest.mark.parametrize("content", LONE.values(), ids=LONE)
def test_half_a_sign_is_no_text_and_ends_in_exit_code_2(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(content)
    result = leafgate("convert", tmp_path / "model", tmp_path / "out")
    assert result.code == 2
    assert "is not UTF-8 text" in result.err


def test_whole_signs_and_backslashes_are_texts() -> None:
    assert parse_bounded_json(rb'["\ud83d\ude00", "\\ud800"]', "file") == ["\N{GRINNING FACE}", "\\ud800"]


def test_hostile_files_of_skops_end_soon_too() -> None:
    with ends_soon(), pytest.raises(ReleaseError):
        read_foreign(LARGE["skops"]["scalers in a row"](), "m")
