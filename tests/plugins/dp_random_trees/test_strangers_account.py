"""A private builder of a stranger: its own account is what its claim is compared with, and `distinguish` refutes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from stranger import install
from survey import survey

BUILDER = """
import math
from typing import Annotated, Literal
from leafgate.api import Branch, CategoricalSplit, InconclusiveError, Leaf, MORE, Release, TreeBuilder, hookimpl
from pydantic import Field

leafgate_api = ">=3,<4"

class NoisyStump(TreeBuilder):
    "How many people of each class have each value of the first column of values, with discrete Laplace noise."
    use: Literal["NAME"] = "NAME"
    scale: Annotated[float, MORE, Field(gt=0)] = 2.0
    claimed: float = 0.5
    randomness = "RANDOMNESS"
    guarantees = frozenset({"epsilon"})

    def build(self, table, rng):
        asked = [c for c in table.schema.features if c.values and not c.missing]
        if not asked:
            raise InconclusiveError("no column has values to ask for")
        column = asked[0]
        classes = table.schema.classes
        def leaf(value):
            there = table.codes(column.name) == column.domain.index(value)
            counts = {}
            for i, name in enumerate(classes):
                chance = 1 - math.exp(-1 / self.scale)
                noise = int(rng.geometric(chance)) - int(rng.geometric(chance)) if NOISE else 0
                people = int(table.weight[there & (table.codes(table.schema.target.name) == i)].sum())
                counts[name] = max(people + noise, 0)
            return Leaf(max(counts, key=counts.get), counts)
        tree = CategoricalSplit(column.name, tuple(Branch((value,), leaf(value)) for value in column.domain))
        claim = {"epsilon": {"at_most": self.claimed, "delta": 0}}
        return Release(self.described(), table.schema, (tree,), count_semantics="noisy", selection={}, guarantee=claim)

    ACCOUNT

@hookimpl
def tree_builders():
    return [NoisyStump]
"""
ACCOUNT = """def account(self, release, delta, neighbours):
        return RETURNED
"""
DISTINGUISH: dict[str, Any] = {"use": "distinguish", "runs": 400, "confidence": 0.9999}
HONEST = "(1 if neighbours == 'add_remove' else 2) / self.scale"


def source_of(name: str, returned: str = HONEST, *, noise: bool = True, randomness: str = "system") -> str:
    """The module of a builder; `returned` is what its account returns, empty where it has none."""
    account = ACCOUNT.replace("RETURNED", returned) if returned else ""
    source = BUILDER.replace("ACCOUNT", account).replace("NAME", name).replace("RANDOMNESS", randomness)
    return source.replace("NOISE", str(noise))


def audited(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    claimed: float = 0.5,
    attack: dict[str, Any] = DISTINGUISH,
    **given: Any,
) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings of an audit of the builder's release, which `distinguish` attacks."""
    install(folder, f"leafgate_{name}", source_of(name, **given))
    monkeypatch.syspath_prepend(folder)
    changes = {
        "build": {"use": name, "claimed": claimed},
        "attacks": [attack],
        "metrics": [{"use": "differential_privacy", "at_most": 1, "delta": 0}],
    }
    ended = leafgate("audit", survey(folder, changes), "--out", folder / "out", "--audience", "auditor")
    assert (folder / "out" / "report.json").exists(), ended.err
    report = json.loads((folder / "out" / "report.json").read_bytes())
    return ended.code, {finding["id"]: finding for finding in report["findings"]}


@pytest.mark.thorough
def test_a_claim_that_the_builders_own_account_keeps_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, findings = audited(tmp_path, monkeypatch, "honest_stump")
    assert code == 0
    assert findings["guarantee:epsilon"]["value"] == findings["differential_privacy"]["value"] == 0.5
    assert findings["differential_privacy"]["evidence"]["account"] == "honest_stump"


def test_an_account_that_nothing_tried_to_refute_is_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, findings = audited(tmp_path, monkeypatch, "untried_stump", attack={"use": "linking"}, noise=False)
    assert code == 3
    assert findings["guarantee:epsilon"]["passed"] is None
    assert "no attack that runs the builder" in findings["guarantee:epsilon"]["evidence"]["problem"]
    assert findings["guarantee:epsilon"]["remedies"][0]["text"] == "Add the attack `distinguish`."


def test_a_release_that_names_another_builder_is_vouched_for_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its random numbers follow from a seed that is always the same; the release says that it is by leafgate's own."""
    source = """
from typing import Literal
import numpy as np
from leafgate.api import TreeBuilder, hookimpl

leafgate_api = ">=3,<4"

class Borrowed(TreeBuilder):
    use: Literal["borrowed"] = "borrowed"

    def build(self, table, rng):
        from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees
        return DpLaplaceTrees(trees=8, scale=8.0).build(table, np.random.default_rng(0))

@hookimpl
def tree_builders():
    return [Borrowed]
"""
    install(tmp_path, "leafgate_borrowed", source)
    monkeypatch.syspath_prepend(tmp_path)
    changes = {
        "build": {"use": "borrowed"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "differential_privacy", "at_most": 2}],
    }
    ended = leafgate("audit", survey(tmp_path, changes), "--out", tmp_path / "out")
    assert ended.code == 3
    assert "the release names another builder than the one that made it" in ended.out


@pytest.mark.thorough
def test_a_claim_below_the_account_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, findings = audited(tmp_path, monkeypatch, "bold_stump", claimed=0.4)
    assert code == 1
    assert findings["guarantee:epsilon"]["passed"] is False


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("silent_stump", {"returned": ""}, "the builder 'silent_stump' has no account of its releases"),
        (
            "broken_stump",
            {"returned": "1 / 0"},
            "the account of the builder 'broken_stump' fails with ZeroDivisionError",
        ),
        ("odd_stump", {"returned": "float('nan')"}, "is no number from 0 up"),
        ("sure_stump", {"returned": "True"}, "is no number from 0 up"),
        ("rude_stump", {"returned": "exit(0)"}, "fails with SystemExit"),
        ("seeded_stump", {"randomness": "seed"}, "follow from a seed that others may know"),
    ],
)
@pytest.mark.thorough
def test_a_claim_without_an_account_that_can_be_believed_is_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: dict[str, Any], said: str
) -> None:
    code, findings = audited(tmp_path, monkeypatch, name, **given)
    assert code == 3
    assert said in findings["differential_privacy"]["evidence"]["problem"]
    assert findings["guarantee:epsilon"]["passed"] is None


@pytest.mark.thorough
def test_a_false_account_is_refuted_by_running_the_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, findings = audited(tmp_path, monkeypatch, "false_stump", noise=False)
    assert code == 1
    assert findings["differential_privacy"]["passed"] is True
    assert findings["guarantee:epsilon"]["evidence"]["problem"] == "an attack refutes it"


@pytest.mark.thorough
def test_a_release_that_was_read_shows_nothing_of_its_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(tmp_path, monkeypatch, "stored_stump")
    again = {
        "build": {"use": "published", "path": "out/release.json"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "differential_privacy", "at_most": 1, "delta": 0}],
    }
    ended = leafgate("audit", survey(tmp_path, again), "--out", tmp_path / "again", "--audience", "auditor")
    assert ended.code == 3
    assert "this audit did not run its builder" in (tmp_path / "again" / "report.json").read_text()


SHARED = ("noise = int(rng.geometric(chance)) - int(rng.geometric(chance)) if NOISE else 0\n", "noise = 0\n")
LABEL = "return Leaf(max(counts, key=counts.get), counts)"
TRUE_LABEL = """true = {name: int(table.weight[there & (table.codes(table.schema.target.name) == i)].sum())
                    for i, name in enumerate(classes)}
            return Leaf(max(true, key=true.get), counts)"""
ONE_NOISE = """moved = int(rng.geometric(1 - math.exp(-1 / self.scale))) + 40
            return Leaf(max(counts, key=counts.get), {name: count + moved for name, count in counts.items()})"""


@pytest.mark.parametrize(
    ("name", "swaps"), [("labels", [(LABEL, TRUE_LABEL)]), ("shared", [SHARED, (LABEL, ONE_NOISE)])]
)
@pytest.mark.thorough
def test_labels_without_noise_and_noise_that_numbers_share_are_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, swaps: list[tuple[str, str]]
) -> None:
    source = BUILDER
    for written, instead in swaps:
        assert written in source
        source = source.replace(written, instead)
    monkeypatch.setattr("test_strangers_account.BUILDER", source)
    code, findings = audited(tmp_path, monkeypatch, f"{name}_stump")
    assert code == 1
    assert findings["guarantee:epsilon"]["passed"] is False


@pytest.mark.thorough
def test_an_account_below_the_claim_is_as_large_as_the_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs of the builder are compared with is the claim."""
    _, findings = audited(tmp_path, monkeypatch, "boasting_stump", returned="0.01")
    assert findings["differential_privacy"]["value"] == 0.5


@pytest.mark.thorough
def test_where_weights_count_no_people_no_account_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_weighed_stump", source_of("weighed_stump"))
    monkeypatch.syspath_prepend(tmp_path)
    changes = {
        "build": {"use": "weighed_stump", "claimed": 0.5},
        "attacks": [DISTINGUISH],
        "metrics": [{"use": "differential_privacy", "at_most": 1, "delta": 0}],
        "data.columns.times": {"role": "weight"},
    }
    path = survey(tmp_path, changes)
    lines = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "people.csv").write_text("\n".join([lines[0] + ",times", *(line + ",3" for line in lines[1:])]) + "\n")
    ended = leafgate("audit", path, "--out", tmp_path / "out", "--audience", "auditor")
    assert ended.code == 3
    assert "the policy's weights count no people" in (tmp_path / "out" / "report.json").read_text()
