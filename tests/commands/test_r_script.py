"""The script of base R that stands beside a scrubbed file answers as the file does."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from command_line import leafgate
from installed_readers import PREDICT_SCRIPT, neutral_file, r_script
from r_files import NUMBERS, files, model_in, table_in
from sample_model import MODEL


def test_a_script_has_the_functions_and_the_model_with_exact_numbers() -> None:
    script = r_script(MODEL, "m")
    assert "predict_people <- function(" in script
    thresholds = [at for tree in MODEL.trees for at in tree.threshold.tolist() if at == at and not at.is_integer()]
    assert all(at.hex() in script for at in thresholds)


def test_scrub_writes_the_script_beside_the_file_and_replaces_no_other(tmp_path: Path) -> None:
    (tmp_path / "model.rds").write_bytes(files()["held-inbag.rds"])
    new = tmp_path / "new.json"
    ended = leafgate("scrub", tmp_path / "model.rds", new, "--leaves", "labels", "--to", "r")
    assert ended.code == 0
    assert 'source("predict.R"); predict_people(people)' in ended.out
    (tmp_path / "predict.R").write_text("# mine\n")
    again = leafgate("scrub", tmp_path / "model.rds", new, "--leaves", "labels", "--to", "r")
    assert again.code == 2
    assert (tmp_path / "predict.R").read_text() == "# mine\n"


RUN = """
source("predict.R")
people <- read.csv("people.csv", na.strings = "", colClasses = scan("types.txt", "", quiet = TRUE), check.names = FALSE)
answers <- predict_people(people)
for (name in names(answers)) if (is.double(answers[[name]])) answers[[name]] <- sprintf("%.17g", answers[[name]])
write.csv(answers, "answers.csv", row.names = FALSE, na = "")
"""
CASES = [name for name in sorted(files()) if name.startswith(("rpart-0", "ranger-0", "forest-0")) and "rds" in name]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("name", CASES[::5])
def test_the_script_answers_as_the_file(name: str, tmp_path: Path) -> None:
    model, rows = model_in(name), table_in(files()[name.replace(".rds", ".csv")])
    read = runpy.run_path(str(PREDICT_SCRIPT))["Model"](json.loads(neutral_file(model)))
    columns = {key: cells for key, cells in rows.items() if not key.startswith(("score.", "label", "number"))}
    origins = dict(zip(model.features, model.origins or (), strict=True))
    if any(origin is None and key not in {*NUMBERS, "smoker"} for key, origin in origins.items()):
        pytest.skip("the file does not list the levels of its factors")
    with open(tmp_path / "people.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*columns], *zip(*columns.values(), strict=True)])
    (tmp_path / "types.txt").write_text(" ".join("numeric" if key in NUMBERS else "character" for key in columns))
    (tmp_path / "predict.R").write_text(r_script(model, name))
    (tmp_path / "run.R").write_text(RUN)
    subprocess.run(["Rscript", "run.R"], cwd=tmp_path, check=True, timeout=120)
    theirs = table_in((tmp_path / "answers.csv").read_bytes())
    mine = read.predict(columns)
    if not model.classes:
        np.testing.assert_allclose([float(text) for text in theirs["prediction"]], mine, rtol=1e-12)
        return
    assert theirs["prediction"] == [text or "" for text in mine]
    if read.has_scores:
        scores = np.array([[float(text or "nan") for text in theirs[label]] for label in model.classes]).T
        np.testing.assert_allclose(scores, read.scores(columns), rtol=1e-12)
