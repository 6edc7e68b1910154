"""Shape files are what their script makes of the files of all versions of the producers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from leafgate.app import parse_yaml
from leafgate.readers import read_shape
from make_shapes import remade, shape_file, with_shapes


@pytest.mark.thorough
@pytest.mark.parametrize("plugin", with_shapes())
def test_a_shape_file_is_what_its_script_makes_of_the_producers_files(plugin: str) -> None:
    path = shape_file(plugin)
    assert remade(plugin, parse_yaml(path.read_bytes(), plugin)) == path.read_text("utf-8")


@pytest.mark.thorough
def test_what_a_new_version_writes_is_added_and_what_no_version_writes_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = shape_file("xgboost")
    document, fields = parse_yaml(path.read_bytes(), "xgboost"), read_shape("leafgate_plugins.xgboost").tables
    for table, key in (("tree", "base_weights"), ("tree", "tree_param"), ("file", "version")):
        del document["tables"][table][key]
        monkeypatch.delitem(cast("dict[str, Any]", fields[table]), key)
    document["tables"]["tree"]["written_by_nobody"] = "number"
    monkeypatch.setitem(
        cast("dict[str, Any]", fields["tree"]), "written_by_nobody", next(iter(fields["tree"].values()))
    )
    assert remade("xgboost", document) == path.read_text("utf-8")
