"""Models of R answer as R itself, or are refused by name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from command_line import leafgate
from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate.readers import LEAF
from r_files import FOLDER, Compared, compared, files, model_in, table_in

CASES = sorted(name for name in files() if re.fullmatch(r"(rpart|ranger|forest|caret)-\d+\.rds", name))
REFUSED = {
    "bias": "corrects its bias",
    "frame": "an object of the class data.frame; read are rpart",
    "gbm": "an object of the class gbm; read are rpart",
    "lm": "an object of the class lm; read are rpart",
    "no-forest": "a ranger model without its forest",
    "no-trees": "a random forest without its trees",
    "preprocessed": "caret's with preprocessing",
    "ranger-survival": "another type than classification",
    "survival": "a method that is not read",
    "unsupervised": "another type than classification",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if i % 5 == 0 else pytest.mark.thorough) for i, name in enumerate(CASES)]
)
def test_a_model_answers_as_r(name: str) -> None:
    found = compared(model_in(name), table_in(files()[name.replace(".rds", ".csv")]))
    assert found.rows >= 10
    assert found.labels == 0
    assert found.apart <= 1e-9


def test_the_archive_has_sixty_models_of_each_kind_within_its_size() -> None:
    assert len(CASES) == 60
    assert {name.partition("-")[0] for name in CASES} == {"rpart", "ranger", "forest", "caret"}
    assert sum(path.stat().st_size for path in FOLDER.glob("*.tar.xz")) <= 300_000


@pytest.mark.thorough
def test_most_trees_say_where_missing_cells_go() -> None:
    """Only of a tree whose surrogates take very many tests the file is read as one that does not say."""
    unspecified = [name for name in CASES if name.startswith("rpart") and model_in(name).unspecified_missing]
    assert len(unspecified) <= 2


@pytest.mark.thorough
def test_shares_that_priors_weigh_are_not_called_those_of_the_people() -> None:
    trees = [model for name in CASES if name.startswith("rpart") and (model := model_in(name)).values == "shares"]
    assert {model.counted for model in trees} == {"exact", "unknown"}
    for model in trees:
        (tree,) = model.trees
        (counts,) = (number.values for number in tree.numbers if number.name == "yval2")
        if model.counted == "exact":  # for levels that nobody at a node had there are leaves, of other people's shares
            assert (counts[tree.feature == LEAF].sum(axis=1) > 0).all()
        counts = counts[counts.sum(axis=1) > 0]
        shares = counts / counts.sum(axis=1, keepdims=True)
        apart = np.abs(tree.values[:, None] - shares[None]).max(axis=2).min(axis=1)
        assert model.counted == "unknown" or apart.max() < 1e-9


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_is_not_read_is_refused_by_name(case: str) -> None:
    with pytest.raises(ReleaseError, match=REFUSED[case]):
        model_in(f"refused-{case}.rds")


def test_every_refused_file_has_its_reason() -> None:
    assert {name for name in files() if name.startswith("refused-")} == {f"refused-{case}.rds" for case in REFUSED}


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_new_random_models_answer_as_the_r_that_is_installed(tmp_path: Path) -> None:
    script = FOLDER / "make_r_files.R"
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    made = subprocess.run(["Rscript", str(script), str(tmp_path), "29", "3000"], env=environment, capture_output=True)
    if made.returncode and b"there is no package called" in made.stderr:
        pytest.skip("a package of R is not installed")
    assert made.returncode == 0, made.stderr[-500:]
    found: dict[str, Compared] = {}
    for path in sorted(tmp_path.glob("*.rds")):
        model = read_foreign(path.read_bytes(), path.name)
        found[path.name] = compared(model, table_in(path.with_suffix(".csv").read_bytes()))
    assert len(found) == 29
    assert {name: each for name, each in found.items() if each.labels or each.apart > 1e-9} == {}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("held-rpart.rds", "answers <- predict(model, people)"),
        ("held-inbag.rds", "answers <- data.frame(prediction = predict(model, people)$predictions)"),
        ("held-proximity.rds", 'answers <- predict(model, people, type = "prob")'),
    ],
)
def test_three_lines_of_r_write_the_witness(name: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "model.rds").write_bytes(files()[name])
    (tmp_path / "held.csv").write_bytes(files()["held.csv"])
    policy = tmp_path / "policy.yaml"
    ended = leafgate(
        "init", tmp_path / "held.csv", "--class", "target", "--model", tmp_path / "model.rds", "--out", policy
    )
    assert ended.code == 0
    lines = [line for line in ended.err.splitlines() if line.startswith("  ")]
    assert lines[0].endswith('<- readRDS("model.rds"); people <- read.csv("held.csv", stringsAsFactors = TRUE)')
    assert lines[1:] == [f"  {asked}", '  write.csv(cbind(people, answers), "answers.csv", row.names = FALSE)']
