"""`leafgate.repair`: what it returns is what the command line writes, and is audited as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import leafgate
from command_line import leafgate as command
from installed_readers import PREDICT_SCRIPT
from leafgate.app import document
from repairs import people

LIMITS = {"k_anonymity": 10, "file_disclosure": 0}


def audited(model: Any, **options: Any) -> leafgate.Audit:
    table = people(1, 200)
    features, label = table.drop(columns="class"), table["class"]
    given: dict[str, Any] = {"limits": LIMITS, "publish": "labels", "search_remedies": False, **options}
    return leafgate.audit(model.fit(features, label), features, label, **given)


def test_a_repaired_model_passes_and_is_what_the_command_line_writes(tmp_path: Path) -> None:
    audit = audited(DecisionTreeClassifier(random_state=0))
    assert audit.verdict == "fail"
    repair = leafgate.repair(audit, out=tmp_path / "new.skops", fit_anew=False)
    assert repair.found
    assert repr(repair) == "Repair(found=True, verdict='pass')"
    assert repair.path is not None
    assert repair.path.read_bytes() == repair.content
    audit.to_policy(tmp_path / "files")
    words = ("--policy", tmp_path / "files/policy.yaml", "--out", tmp_path / "other.json", "--only-cut")
    ended = command("repair", tmp_path / "files/model.skops", *words)
    assert ended.code == 0
    assert repair.sentences[0] in ended.out
    third = leafgate.repair(audit, out=tmp_path / "third.json", fit_anew=False, script=True)
    assert third.content == (tmp_path / "other.json").read_bytes()
    assert (tmp_path / "predict.py").read_bytes() == PREDICT_SCRIPT.read_bytes()
    features = people(1, 200).drop(columns="class")
    assert third.model is not None
    assert (
        third.model.predict(features).tolist()
        == leafgate.load_model(tmp_path / "third.json").predict(features).tolist()
    )


@pytest.mark.thorough
def test_a_repaired_model_can_be_loaded_and_its_audit_repeated(tmp_path: Path) -> None:
    repair = leafgate.repair(audited(DecisionTreeClassifier(random_state=0)))
    assert repair.content is not None
    assert repair.name == "repaired.skops"
    model = skops.io.loads(repair.content, trusted=skops.io.get_untrusted_types(data=repair.content))
    assert model.get_n_leaves() < 50
    repair.audit.to_policy(tmp_path)
    ended = command("audit", tmp_path / "policy.yaml", "--no-remedies", "--json")
    assert ended.document == document(repair.audit.report, "public")


@pytest.mark.thorough
def test_a_model_without_a_writer_of_its_own_becomes_a_neutral_file() -> None:
    table = people(1, 200)
    features, label = table.drop(columns="class"), table["class"]
    model = HistGradientBoostingClassifier(max_iter=2, max_depth=2).fit(features, label)
    repair = leafgate.repair(model, features, label, limits=LIMITS, publish="labels")
    assert repair.found
    assert repair.name == "repaired.json"


@pytest.mark.thorough
def test_a_file_that_numbers_the_classes_is_spoken_of_with_them(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=1, min_child_samples=5, verbose=-1)
    repair = leafgate.repair(audited(model), out=tmp_path / "new.json", effort=0.01)
    assert repair.model is not None
    first, second = repair.model.classes_.tolist()
    assert f"answer: 0 is {first!r}, 1 is {second!r}; `leafgate.load_model" in repair.sentences[-1]
    assert leafgate.load_model(tmp_path / "new.json").classes_.tolist() == [0, 1]


def test_a_model_that_passes_is_left_as_it_is() -> None:
    audit = audited(DecisionTreeClassifier(max_depth=1), limits={"k_anonymity": 2}, publish="counts")
    repair = leafgate.repair(audit)
    assert (repair.found, repair.audit, repair.sentences) == (
        False,
        audit,
        ("The model passes already, so nothing is changed.",),
    )


@pytest.mark.thorough
def test_where_no_model_passes_the_sentences_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    repair = leafgate.repair(audited(DecisionTreeClassifier(max_depth=2), limits={"k_anonymity": 1000}))
    assert not repair.found
    assert repair.content is None
    repair.show()
    assert "No useful model was found to pass." in capsys.readouterr().out


def test_what_cannot_be_repaired_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    audit = audited(DecisionTreeClassifier(max_depth=1))
    with pytest.raises(leafgate.LeafgateError, match="end its name in one of"):
        leafgate.repair(audit, out=tmp_path / "new.xyz")
    with pytest.raises(leafgate.LeafgateError, match="script: stands beside a file"):
        leafgate.repair(audit, script=True)
    with pytest.raises(leafgate.LeafgateError, match=r"script: predict\.py reads no file that ends so"):
        leafgate.repair(audit, out=tmp_path / "new.skops", script=True)
    with pytest.raises(leafgate.LeafgateError, match="give the audit alone"):
        leafgate.repair(audit, limits=LIMITS)
    policy = Path(__file__).resolve().parents[3] / "policies/ward.yaml"
    with pytest.raises(leafgate.LeafgateError, match="leafgate repair MODEL"):
        leafgate.repair(leafgate.audit(policy, search_remedies=False))
