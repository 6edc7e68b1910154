"""First policies hold models to limits that certainty breaks, and honest models keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leafgate
from leafgate.api import InvalidError
from leafgate.app import parse_yaml

pytest.importorskip("sklearn")
pytest.importorskip("skops")

PUBLIC = ["age", "hours"]


def people(n: int = 1200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(18, 78, n), "hours": rng.integers(10, 60, n)})


def verdicts(audit: leafgate.Audit) -> dict[str, str]:
    """The verdict of each finding by its metric."""
    return dict(zip(audit.findings["metric"], audit.findings["verdict"], strict=True))


def audited(model: Any, table: pd.DataFrame, y: pd.Series, **options: Any) -> leafgate.Audit:
    return leafgate.audit(model.fit(table, y), table, y, search_remedies=False, **options)


def pay_of(table: pd.DataFrame, seed: int = 0) -> pd.Series:
    """A pay in cents, which grows with hours, and differs among people who are alike."""
    rng = np.random.default_rng(seed)
    return pd.Series(np.round(300 * table["hours"] * rng.uniform(0.5, 1.5, len(table)), 2), name="pay")


def regressor(**options: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(**{"min_samples_leaf": 40, "random_state": 0, **options})


def test_a_mean_tree_of_spread_out_pay_passes() -> None:
    table = people()
    audit = audited(regressor(max_depth=4), table, pay_of(table).round(0))
    found = verdicts(audit)
    assert found.pop("file_disclosure") in {"pass", "fail"}  # what a file discloses besides is scrubbed
    assert set(found.values()) == {"pass"}


def test_a_median_that_is_the_pay_of_one_person_is_exposure() -> None:
    table = people()
    audit = audited(regressor(criterion="absolute_error", max_depth=3), table, pay_of(table))
    assert verdicts(audit)["exposure"] == "fail"


def test_a_leaf_of_people_who_all_earn_the_same_is_exposure() -> None:
    table = people()
    y = pay_of(table).round(0).where(table["age"] < 70, 1200.0)
    assert verdicts(audited(regressor(), table, y))["exposure"] == "fail"


def test_ten_people_of_whom_one_has_all_the_gains_expose_that_one() -> None:
    table = people(600)
    young = table["age"] < 23
    y = pd.Series(np.where(young, 0.0, np.random.default_rng(0).integers(2000, 9000, len(table))), name="gain")
    y.iloc[np.flatnonzero(young)[:1]] = 4787.0
    audit = audited(regressor(min_samples_leaf=10, max_leaf_nodes=6), table, y)
    assert verdicts(audit)["exposure"] == "fail"


def test_a_quantile_of_boosting_is_exposure() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    table = people()
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.5, max_iter=1, learning_rate=1, random_state=0)
    assert verdicts(audited(model, table, pay_of(table)))["exposure"] == "fail"


def test_the_onnx_file_of_a_mean_tree_with_constant_leaves_fails(tmp_path: Path) -> None:
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    table = people()
    y = pay_of(table).round(0).where(table["age"] < 70, 1200.0)
    model = regressor().fit(table, y)
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(model, table.to_numpy(dtype=np.float32)[:1]).SerializeToString())
    audit = leafgate.audit(path, table.set_axis(["f0", "f1"], axis=1), y, search_remedies=False, encoding={})
    assert verdicts(audit)["exposure"] == "fail"


def test_repair_does_not_hand_a_median_tree_back() -> None:
    table = people(400)
    repaired = leafgate.repair(audited(regressor(criterion="absolute_error", max_depth=3), table, pay_of(table)))
    assert not repaired.found or verdicts(repaired.audit)["exposure"] == "pass"


def classifier(**options: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**{"min_samples_leaf": 20, "random_state": 0, **options})


def test_a_leaf_of_one_diagnosis_fails_however_few_people_it_is_of_all() -> None:
    table = people(3000)
    rng = np.random.default_rng(0)
    ill = rng.random(3000) < 0.3
    y = pd.Series(np.where((table["age"] >= 76) | ill, "hiv", "none"), name="diagnosis")
    audit = audited(classifier(max_leaf_nodes=4), table, y)
    assert verdicts(audit)["exposure"] == "fail"
    assert not any("allow" in limit for limit in limits_of(audit))
    honest = pd.Series(
        np.where(np.random.default_rng(1).random(3000) < 0.3 + 0.3 * (table["age"] >= 60), "hiv", "none")
    )
    found = verdicts(audited(classifier(max_leaf_nodes=4), table, honest.rename("diagnosis")))
    assert (found["exposure"], found["confidence"], found["k_anonymity"]) == ("pass", "pass", "pass")


def limits_of(audit: leafgate.Audit) -> list[dict[str, Any]]:
    """The limits of the policy that an audit was by."""
    metrics: list[dict[str, Any]] = parse_yaml(audit.to_policy().encode(), "policy.yaml")["metrics"]
    return metrics


def test_the_healthy_member_of_a_group_knows_nine_diagnoses() -> None:
    table = people(1000)
    old = np.flatnonzero(table["age"] >= 75)
    states = np.where(np.random.default_rng(0).random(1000) < 0.5, "ill", "well")
    states[old], states[old[0]] = "ill", "well"
    y = pd.Series(states, name="state")
    model = classifier(min_samples_leaf=len(old), max_leaf_nodes=2).fit(table.iloc[:, :1] >= 75, y)
    assert len(old) > 10
    table = (table.iloc[:, :1] >= 75).astype(int)
    assert verdicts(leafgate.audit(model, table, y, search_remedies=False))["exposure"] == "fail"
    without = [{"use": "exposure", "at_most": 0}]
    assert verdicts(leafgate.audit(model, table, y, limits=without, search_remedies=False))["exposure"] == "pass"


def unbalanced(n: int = 3000) -> tuple[pd.DataFrame, pd.Series]:
    table = people(n)
    chance = np.where(table["age"] >= 70, 0.15, 0.012)
    return table, pd.Series(np.where(np.random.default_rng(0).random(n) < chance, "yes", "no"), name="died")


def test_limits_on_an_unbalanced_class_fit_its_shares_and_ask_the_owner() -> None:
    table, y = unbalanced()
    audit = audited(classifier(min_samples_leaf=300), table, y)
    [confidence] = [limit for limit in limits_of(audit) if limit["use"] == "confidence"]
    assert confidence["at_most"] > (y == "no").mean()
    assert any("Only the owner" in warning for warning in audit.warnings)
    assert not any("'no'" in warning or "'yes'" in warning for warning in audit.warnings)


def test_a_value_that_the_owner_calls_harmless_is_not_judged() -> None:
    table, y = unbalanced()
    audit = audited(classifier(min_samples_leaf=100), table, y, harmless=["no"])
    assert [limit.get("values") for limit in limits_of(audit)] == [None, ["yes"], ["yes"], None]
    found = verdicts(audit)
    assert (found["exposure"], found["confidence"]) == ("pass", "pass")
    strict = verdicts(audited(classifier(min_samples_leaf=100), table, y))
    assert strict["exposure"] == "fail"


def test_a_harmless_value_of_the_class_leaves_other_secrets_as_they_are() -> None:
    table, y = unbalanced()
    audit = leafgate.audit(
        classifier(min_samples_leaf=100).fit(table, y),
        table,
        y,
        secret=["died", "age"],
        harmless="no",
        search_remedies=False,
        roles={"age": {"role": "sensitive", "bins": [10, 30, 50, 70, 90]}},
    )
    limits = [(limit["use"], limit.get("secret"), limit.get("values")) for limit in limits_of(audit)]
    assert ("exposure", "age", None) in limits
    assert ("exposure", "died", ["yes"]) in limits


def test_harmless_values_are_spelled_as_the_class_is() -> None:
    table, y = unbalanced()
    numbered = (y == "yes").astype(int)
    audit = audited(classifier(min_samples_leaf=100), table, numbered, harmless=0)
    assert [limit.get("values") for limit in limits_of(audit)] == [None, ["1"], ["1"], None]
    with pytest.raises(InvalidError, match="no list of values"):
        audited(classifier(), table, numbered, harmless={"no": 1})


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (
            "GradientBoostingRegressor",
            {"n_estimators": 3, "learning_rate": 0.1, "max_depth": 3, "min_samples_leaf": 21},
        ),
        (
            "GradientBoostingRegressor",
            {"n_estimators": 1, "learning_rate": 0.23, "max_depth": 3, "min_samples_leaf": 21},
        ),
        ("HistGradientBoostingRegressor", {"max_iter": 2, "max_depth": 3, "min_samples_leaf": 21}),
    ],
)
def test_a_median_behind_a_learning_rate_is_exposure(model: str, options: dict[str, Any]) -> None:
    from sklearn import ensemble

    table = people(500)
    y = pay_of(table)
    median = getattr(ensemble, model)(loss="absolute_error", random_state=0, **options)
    assert verdicts(audited(median, table, y))["exposure"] == "fail"
    mean = getattr(ensemble, model)(random_state=0, **{**options, "max_depth": 2, "min_samples_leaf": 60})
    assert (
        verdicts(audited(mean, table, y, limits=[{"use": "exposure", "at_most": 0, "insiders": 1}]))["exposure"]
        == "pass"
    )


@pytest.mark.parametrize(("harmless", "problem"), [(["maybe"], "no value"), (["no", "yes"], "no limit is left")])
def test_harmless_names_some_values_of_the_class(harmless: list[str], problem: str) -> None:
    table, y = unbalanced(300)
    with pytest.raises(InvalidError, match=problem):
        audited(classifier(), table, y, harmless=harmless)


def test_harmless_is_for_default_limits() -> None:
    table, y = unbalanced(300)
    with pytest.raises(InvalidError, match="default limits"):
        audited(classifier(), table, y, harmless="no", limits={"k_anonymity": 5})


def test_a_limit_that_no_release_can_keep_is_said_before_any_search() -> None:
    table, y = unbalanced()
    limits = [{"use": "confidence", "at_most": 0.95}]
    audit = leafgate.audit(classifier(min_samples_leaf=300).fit(table, y), table, y, limits=limits)
    assert any("no release of this table can keep it: too many people" in each for each in audit.warnings)
    assert all("No release of this table can keep" in remedy.text for remedy in audit.remedies)
    more = leafgate.audit(
        classifier(min_samples_leaf=2).fit(table, y), table, y, limits=[*limits, {"use": "k_anonymity", "at_least": 10}]
    )
    first = next(each for each in more.report.findings if each.metric == "k_anonymity").remedies[0]
    assert first.text == "First change what no release of this table can keep, the limit of `confidence`."
    repaired = leafgate.repair(audit)
    assert not repaired.found
    assert any("no release of this table can keep it" in sentence for sentence in repaired.sentences)


def test_a_total_that_one_person_dominates_does_not_bind_every_release() -> None:
    table = people(400)
    pay = pay_of(table).round()
    pay[7] = 5e7  # the mean of everybody tells it, a median does not
    audit = audited(regressor(criterion="absolute_error"), table, pay)
    assert verdicts(audit)["exposure"] == "fail"
    assert audit.warnings == ()
    means = audited(regressor(), table, pay)
    dominated = next(each for each in means.report.findings if each.metric == "exposure")
    assert "people_whose_number_dominates_a_total" in dominated.evidence
    assert means.warnings == ()


def test_membership_is_limited_where_a_control_is_given() -> None:
    table, y = unbalanced(400)
    uses = [limit["use"] for limit in limits_of(audited(classifier(), table, y, control=unbalanced(300)))]
    assert uses == ["k_anonymity", "exposure", "confidence", "file_disclosure", "membership_auc", "membership_excluded"]


def honest_and_copied() -> tuple[Any, pd.DataFrame, pd.Series, dict[str, Any]]:
    """A forest that knows its people by heart, and controls: other people, and its own with a little changed."""
    from sklearn.ensemble import RandomForestClassifier

    def drawn(seed: int) -> tuple[pd.DataFrame, pd.Series]:
        rng = np.random.default_rng(seed)
        table = people(400, seed).assign(income=np.round(rng.lognormal(10, 0.6, 400), -2))
        return table, pd.Series(np.where(rng.random(400) < 0.3, "yes", "no"), name="ill")

    table, y = drawn(0)
    controls = {
        "other people": drawn(1),
        "a cent more": (table.assign(income=table["income"] + 0.01), y),
        "another rounding": (table.assign(income=(table["income"] / 1000).round() * 1000), y),
        "last year": (table.assign(income=table["income"] * 0.97, age=table["age"] - 1), y),
    }
    return RandomForestClassifier(10, random_state=0).fit(table, y), table, y, controls


@pytest.mark.thorough
def test_a_control_of_near_copies_makes_no_model_look_safe() -> None:
    """Neither by loss, nor with shadow models, nor by exclusion; beside other people the forest fails."""
    model, table, y, controls = honest_and_copied()
    shadows = {"shadows": {"models": 8}}
    attacks: list[dict[str, Any]] = [{"use": "loss_threshold"}, {"use": "lira", **shadows}, {"use": "rmia", **shadows}]
    limits = {"membership_auc": 0.6}
    for name, control in controls.items():
        audit = leafgate.audit(model, table, y, control=control, attacks=attacks, limits=limits, search_remedies=False)
        if name == "other people":
            assert verdicts(audit)["membership_auc"] == "fail"
            assert audit.verdict == "fail"
            continue
        assert audit.verdict == "inconclusive", name
        problems = [str(each.evidence["problem"]) for each in audit.report.findings if each.id.startswith("attack:")]
        assert len(problems) == 3
        assert all("copies of people in the table" in problem for problem in problems)
        assert "`control`" in " ".join(remedy.text for remedy in audit.remedies)


def test_nobody_is_excluded_by_a_control_of_near_copies() -> None:
    from sklearn.tree import DecisionTreeClassifier

    _, table, y, controls = honest_and_copied()
    tree = DecisionTreeClassifier(random_state=0).fit(table, y)
    for name, verdict in (("other people", "fail"), ("a cent more", "inconclusive")):
        audit = leafgate.audit(
            tree,
            table,
            y,
            control=controls[name],
            attacks=["leaf_exclusion"],
            limits={"membership_excluded": 0.05},
            search_remedies=False,
        )
        assert verdicts(audit)["membership_excluded"] == verdict
