"""Downgrading: Chang's submarines, what is promised, and what it costs."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from exhaustive import Tiny, fewest, holds, tiny, visible
from leafgate.app import Audit, open_session
from leafgate_plugins.downgrading.components import Downgrading
from leafgate_plugins.downgrading.grid import WITHHELD
from leafgate_plugins.downgrading.options import Conditioning, NaiveBayes, Restoration, TreeInference
from leafgate_plugins.downgrading.search import Objective, Search, search_cells_to_withhold

POLICIES = Path(__file__).resolve().parents[3] / "policies"
PAPERS = {"use": "tree_inference", "train_on": "complete", "least": 1}
COLUMNS = ["diesels", "range", "depth"]


def submarines(folder: Path, **changed: Any) -> Audit:
    """The example policy with other sections, audited."""
    return open_session(written(folder, **changed)).audit()


def written(folder: Path, **changed: Any) -> Path:
    document = yaml.safe_load((POLICIES / "submarines.yaml").read_text())
    document["data"] |= changed.pop("data", {})
    (folder / "submarines.csv").write_bytes((POLICIES / "submarines.csv").read_bytes())
    (folder / "policy.yaml").write_text(yaml.safe_dump({**document, **changed}, sort_keys=False))
    return folder / "policy.yaml"


def build(*against: Any, **options: Any) -> dict[str, Any]:
    return {"use": "downgrading", "tau": 0.4, "rho": 0.7, "v": 0.5, "against": list(against)} | options


def rows(audit: Audit) -> list[list[str]]:
    """The published records, a withheld cell as `-`."""
    assert audit.artifact is not None
    assert audit.artifact.release.records is not None
    return [["-" if cell == WITHHELD else cell for cell in row] for row in audit.artifact.release.records.rows]


def values(audit: Audit, metric: str = "confidence") -> dict[str, float | None]:
    return {f.id: f.value for f in audit.report.findings if f.metric == metric}


THIRDS = [["low", "short", "medium"], ["medium", "medium", "medium"], ["high", "long", "deep"]]


def test_before_downgrading_the_submarines_give_away_what_is_withheld(tmp_path: Path) -> None:
    """Chang 2003, table 2: both probabilities are 1."""
    audit = submarines(tmp_path, build=build(PAPERS, "conditioning", tau=1, rho=1))
    assert sorted(rows(audit)) == sorted([*THIRDS, ["low", "-", "medium"], ["-", "medium", "medium"]])
    result = values(audit)
    assert [result[f"confidence@{use}#{c}"] for use in ("tree_inference", "conditioning") for c in COLUMNS[:2]] == [
        1
    ] * 4


def test_fractional_cases_give_the_first_secret_of_the_papers_table_three_quarters(tmp_path: Path) -> None:
    """The Preveze, whose range is withheld, goes to each of three branches: medium 1, low 1/3."""
    attacks = [{"use": "tree_inference", "least": 1, "prune": False}]
    audit = submarines(tmp_path, build=build(PAPERS, tau=1, rho=1), attacks=attacks)
    assert values(audit)["confidence@tree_inference#diesels"] == pytest.approx(3 / 4)


def test_against_the_papers_adversary_it_withholds_what_the_paper_withholds(tmp_path: Path) -> None:
    """Chang 2003, table 3: range of S. Cruz and diesels of Preveze; then 1/3 and 1/3, but 1/2 for who counts depths."""
    audit = submarines(tmp_path, build=build(PAPERS))
    assert rows(audit) == [*THIRDS, ["-", "-", "medium"], ["-", "-", "medium"]]
    result = values(audit)
    for column in ("diesels", "range"):
        assert result[f"confidence@tree_inference#{column}"] == pytest.approx(1 / 3)
        assert result[f"confidence@conditioning#{column}"] == pytest.approx(1 / 2)


def test_both_depths_go_against_conditioning_and_adversaries_are_left_with_a_third(tmp_path: Path) -> None:
    audit = open_session(POLICIES / "submarines.yaml").audit()
    assert rows(audit) == [*THIRDS, ["-"] * 3, ["-"] * 3]
    assert list(values(audit).values()) == pytest.approx([1 / 3] * 8)
    assert audit.report.verdict == "pass"


def test_the_price_is_told(tmp_path: Path) -> None:
    """Table 3 withholds two more cells of the four that the two submarines showed."""
    shares = [{"use": "cells_withheld", "name": n, "among": n, "at_most": 9} for n in ("threatened", "all", "count")]
    audit = submarines(tmp_path, build=build(PAPERS), metrics=shares)
    assert [f.value for f in audit.report.findings if f.value is not None] == [2 / 4, 2 / 13, 2]


def test_a_table_that_withholds_nothing_loses_no_function(tmp_path: Path) -> None:
    metrics = [{"use": "functionality", "at_most": 0}, {"use": "cells_withheld", "at_most": 0}]
    audit = submarines(tmp_path, build={"use": "table"}, metrics=metrics)
    assert [f.value for f in audit.report.findings if f.passed is not None] == [0, 0]


def test_an_attack_on_a_table_without_withheld_cells_is_inconclusive(tmp_path: Path) -> None:
    audit = submarines(tmp_path, build={"use": "table"}, metrics=[{"use": "confidence", "at_most": 1}])
    assert audit.report.verdict == "inconclusive"
    assert "withholds no cell" in str([found.evidence for found in audit.report.findings])


def test_protected_cells_that_are_published_are_never_a_pass(tmp_path: Path) -> None:
    """Whatever the metrics of the policy are about."""
    metrics = [{"use": "cells_withheld", "at_most": 1}]
    audit = submarines(tmp_path, build={"use": "table"}, attacks=[{"use": "linking"}], metrics=metrics)
    assert audit.report.verdict == "inconclusive"
    ids = ["protected#diesels", "protected#range", "unlimited", "cells_withheld"]
    assert [f.id for f in audit.report.findings] == ids


def test_each_step_is_on_the_trail_which_only_auditors_receive(tmp_path: Path) -> None:
    policy = written(tmp_path)
    assert leafgate("audit", policy, "--out", tmp_path / "all").code == 0
    assert not (tmp_path / "all" / "trail.json").exists()
    assert leafgate("audit", policy, "--out", tmp_path / "own", "--audience", "auditor").code == 0
    trail = tmp_path / "own" / "trail.json"
    assert stat.S_IMODE(trail.stat().st_mode) == 0o600
    release = json.loads((tmp_path / "own" / "release.json").read_text())
    steps = json.loads(trail.read_text())["steps"]
    items = {(step["record"], step["withheld"]) for step in steps}
    cells = [(i, zip(COLUMNS, row, strict=True)) for i, row in enumerate(release["records"]["rows"])]
    hidden = {(i, column) for i, row in cells for column, cell in row if cell == WITHHELD}
    assert len(steps) == len(items) == 4
    assert items < hidden
    assert all(step["because"]["believed"] > 0.4 for step in steps)
    assert "trail" not in release
    assert "origins" not in release


@pytest.mark.parametrize("options", [{"tau": 0.3}, {"v": 0.0}, {"tau": 0.3, "release": "both"}])
def test_limits_that_cannot_be_kept_end_in_a_failure_that_says_how_far_it_came(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """Three equally likely values cannot be believed with less than a third."""
    roles = {"depth": {"role": "class", "values": ["medium", "deep"]}}
    columns = yaml.safe_load((POLICIES / "submarines.yaml").read_text())["data"]["columns"] | roles
    policy = written(tmp_path, data={"columns": columns}, build=build(PAPERS, **options))
    result = leafgate("audit", policy, "--out", tmp_path / "out", "--audience", "auditor")
    assert result.code == 1
    assert "some protected cells cannot be held below the limits" in result.out
    full = json.loads((tmp_path / "out" / "report.json").read_bytes())["findings"][0]["evidence"]["reason_in_full"]
    assert "of 2 protected cells these cannot: " in full
    assert "The best table found withholds" in full
    assert not (tmp_path / "out" / "release.json").exists()
    assert not re.search(r"Cruz|Preveze|short|\blow\b", result.out + result.err + full)


def test_the_public_hears_no_number_of_a_failure(tmp_path: Path) -> None:
    policy = written(tmp_path, build=build(PAPERS, tau=0.01))
    result = leafgate("audit", policy, "--out", tmp_path / "out")
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert set(report["findings"][0]["evidence"]) == {"people", "reason", "remedy"}
    assert not re.search(r"[0-9]", report["findings"][0]["evidence"]["reason"])
    assert "withholds" not in result.out + result.err
    alone = leafgate("build", policy, "--out", tmp_path / "release.json")
    assert alone.code == 1
    assert not re.search(r"withholds|[0-9] of", alone.out + alone.err)


def test_a_share_of_the_cells_may_stay_as_they_are_and_the_audit_counts_them(tmp_path: Path) -> None:
    limit = [{"use": "confidence", "of": "conditioning", "at_most": 0.4, "allow": 0.5}]
    data = {"protect": [{"column": "diesels", "keys": ["S. Cruz", "Preveze"]}]}
    audit = submarines(tmp_path, data=data, build=build("conditioning", allow=0.5, tau=0.4), metrics=limit)
    assert audit.report.verdict == "pass"
    assert [f.violations for f in audit.report.findings] == [1]


def test_what_is_known_of_everyone_is_never_withheld(tmp_path: Path) -> None:
    columns = yaml.safe_load((POLICIES / "submarines.yaml").read_text())["data"]["columns"]
    columns["depth"]["role"] = "quasi_identifier"
    result = leafgate("audit", written(tmp_path, data={"columns": columns}), "--out", tmp_path, "--audience", "auditor")
    assert result.code == 1
    assert "nothing left to withhold" in (tmp_path / "report.json").read_text()


def test_people_alike_are_published_one_by_one_where_a_cell_of_theirs_is_secret(tmp_path: Path) -> None:
    """One record for two would tell that their withheld cells are equal."""
    (tmp_path / "d.csv").write_text("a,b\n" + "x,u\n" * 3 + "y,u\n" * 3 + "x,v\n" * 4 + "y,v\n" * 4)
    column = {"role": "private", "values": ["x", "y"]}
    fields = {
        "leafgate": 1,
        "name": "pairs",
        "data": {
            "path": "d.csv",
            "columns": {"a": column, "b": {"role": "private", "values": ["u", "v"]}},
            "protect": [{"column": "a", "where": {"b": "u"}}],
        },
        "build": build("conditioning", tau=0.9),
        "attacks": [{"use": "conditioning"}],
        "metrics": [{"use": "confidence", "at_most": 0.9}],
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(fields))
    audit = open_session(tmp_path / "p.yaml").audit()
    assert audit.report.verdict == "pass"
    assert audit.artifact is not None
    assert audit.artifact.release.records is not None
    assert audit.artifact.release.records.weight == (4, 4, 1, 1, 1, 1, 1, 1)
    assert audit.report.findings[0].people == 6


def test_the_reader_s_tree_is_learned_from_the_complete_records(tmp_path: Path) -> None:
    columns = yaml.safe_load((POLICIES / "submarines.yaml").read_text())["data"]["columns"]
    columns["depth"]["role"] = "class"
    audit = submarines(tmp_path, data={"columns": columns}, build=build(PAPERS, release="both"))
    assert audit.artifact is not None
    release = audit.artifact.release
    assert (release.count_semantics, release.model, len(release.trees)) == ("sampled", "trees", 1)
    assert audit.report.findings[0].value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"build": build("guessing")}, "guessing"),
        ({"build": build({"use": "conditioning", "rounds": 2})}, "unknown key"),
        ({"build": build()}, "at least 1"),
        ({"build": build("conditioning", tau=1.2)}, "less than or equal to 1"),
        ({"build": build("conditioning", columns=["dept"])}, "'dept', which is no column"),
        ({"build": build("conditioning", weights={"dept": 1})}, "'dept', which is no column; did you mean 'depth'?"),
        ({"build": build("conditioning", release="both")}, "needs a column with the role `class`"),
        ({"data": {"protect": []}}, "quasi_identifier"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, changed: dict[str, Any], what: str) -> None:
    result = leafgate("validate", written(tmp_path, **changed))
    assert result.code == 2
    assert what in result.out + result.err


def test_something_must_be_secret(tmp_path: Path) -> None:
    columns = yaml.safe_load((POLICIES / "submarines.yaml").read_text())["data"]["columns"]
    columns["depth"]["role"] = "quasi_identifier"
    result = leafgate("validate", written(tmp_path, data={"columns": columns, "protect": []}))
    assert result.code == 2
    assert "nothing is secret" in result.out + result.err


def test_the_judges_share_nothing_with_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a search that withholds nothing but what is secret the audit fails, whatever the builder may claim."""
    from leafgate_plugins.downgrading import builder as module

    monkeypatch.setattr(module, "search_cells_to_withhold", lambda cells, protected, aim: Search(protected.copy()))
    audit = open_session(written(tmp_path)).audit()
    assert audit.report.verdict == "fail"
    assert values(audit)["confidence@conditioning#range"] == 1


EVERY = (TreeInference(), Conditioning(), NaiveBayes(), Restoration())
AGAINST = (EVERY, EVERY[:1], EVERY[1:2], EVERY[2:], EVERY[:2])


def aim_of(seed: int, columns: int) -> Objective:
    tau, rho = (0.75, 0.66, 0.85)[(seed // 3) % 3], (1.0, 0.8, 0.7)[seed % 3]
    return Objective(AGAINST[seed % 5], tau, rho, 1.0, np.ones(columns), np.ones(columns, dtype=np.bool_))


def searched(table: Tiny, aim: Objective) -> int | None:
    """Further cells withheld; None where the search fails."""
    found = search_cells_to_withhold(table.cells, table.protected, aim)
    return None if found.given_up else int((found.hidden & ~table.protected).sum())


@pytest.mark.thorough
def test_it_withholds_hardly_more_than_the_best_of_all_sets() -> None:
    """At most 3 times the optimum's cells on every table, 1.5 times on average; what it misses is counted."""
    ratios, missed = [], 0
    for seed in range(40):
        table = tiny(seed, 8)
        aim = aim_of(seed, table.protected.shape[1])
        mine, best = searched(table, aim), fewest(table, aim)
        assert not (best is None and mine is not None)
        missed += mine is None and best is not None
        if mine is not None and best is not None:
            assert mine <= 3 * best
            ratios += [mine / best] if best else []
    assert len(ratios) >= 20
    assert np.mean(ratios) <= 1.5
    assert missed <= 1


@given(seed=st.integers(0, 10_000), cells=st.integers(3, 16), allow=st.sampled_from([0.0, 0.4]))
def test_it_ends_hides_every_secret_cell_and_claims_no_more_than_holds(seed: int, cells: int, allow: float) -> None:
    table = tiny(seed, cells)
    columns = table.protected.shape[1]
    aim = aim_of(seed, columns)
    allowed = np.arange(columns) != seed % columns
    aim = Objective(aim.against, aim.tau, aim.rho, 1.0, aim.weights, allowed, allow)
    found = search_cells_to_withhold(table.cells, table.protected, aim)
    further = found.hidden & ~table.protected
    assert (found.hidden >= table.protected).all()
    assert visible(table, found.hidden)
    assert not further[:, ~allowed].any()
    assert not further[~table.protected.any(axis=1)].any()
    assert len(found.steps) == further.sum()
    assert [step["round"] for step in found.steps] == sorted(step["round"] for step in found.steps)
    if not found.given_up:
        assert holds(table, found.hidden, aim)


@given(seed=st.integers(0, 10_000))
@pytest.mark.thorough
def test_the_loss_of_function_stays_within_its_bound(seed: int) -> None:
    table = tiny(seed, 12)
    columns = table.protected.shape[1]
    every = np.ones(columns, dtype=np.bool_)
    least = search_cells_to_withhold(
        table.cells, table.protected, Objective(EVERY[:1], 1, 1, 1, np.ones(columns), every)
    ).loss
    bound = least + 0.02
    found = search_cells_to_withhold(
        table.cells, table.protected, Objective(EVERY[:1], 0.7, 0.8, bound, np.ones(columns), every)
    )
    assert found.loss <= bound + 1e-9


def test_an_adversary_may_be_named_or_described() -> None:
    builder = Downgrading.model_validate({"use": "downgrading", "tau": 0.5, "against": ("conditioning", PAPERS)})
    assert [each.use for each in builder.against] == ["conditioning", "tree_inference"]
    assert builder.described()["against"][1]["train_on"] == "complete"


def test_records_that_show_the_same_do_not_stand_in_the_order_of_what_they_hide(tmp_path: Path) -> None:
    rows = [f"k{i},{'abcd'[i % 4]},x" for i in range(80)] + [f"v{i},{'abcd'[i % 4]},y" for i in range(80)]
    columns = {
        "id": {"role": "key"},
        "job": {"role": "private", "values": list("abcd")},
        "zone": {"role": "private", "values": ["x", "y"]},
    }
    (tmp_path / "people.csv").write_text("\n".join(["id,job,zone", *rows]) + "\n", encoding="utf-8")
    document = {
        "leafgate": 1,
        "name": "ties",
        "data": {"path": "people.csv", "columns": columns, "protect": [{"column": "job", "where": {"zone": "x"}}]},
        "build": {"use": "downgrading", "tau": 0.9, "rho": 0.9},
        "attacks": [{"use": "naive_bayes"}],
        "metrics": [{"use": "confidence", "at_most": 0.9}],
    }
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    run = open_session(path)
    sealed = run.audit().artifact
    assert sealed is not None
    assert sealed.origins is not None
    assert sealed.release.records is not None
    place = sealed.release.records.columns.index("job")
    hidden = [i for i, row in enumerate(sealed.release.records.rows) if row[place] == {"withheld": True}]
    truth = run.table.without_key.frame["job"].astype(str).to_numpy()[[sealed.origins[i] for i in hidden]]
    assert len(hidden) == 80
    assert truth.tolist() != sorted(truth)
    assert run.audit().artifact == sealed  # the file does not tell ties apart, and repeats
