"""Statistics of categories (CTR) and logarithms are read as CatBoost predicts, and their counts are never published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leafgate
from command_line import leafgate as command
from installed_readers import read_foreign
from leafgate.api import ReleaseError
from leafgate.readers import ModelIR
from producer_archive import archives_in

catboost = pytest.importorskip("catboost.core")  # a folder of tests is called catboost, too

ARCHIVE = archives_in(Path(__file__).parent / "producers")[-1]
QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
ROWS = 300
KINDS = ["Borders", "Buckets", "BinarizedTargetMeanValue", "Counter", "Borders:Prior=-0.5", "Counter:Prior=0.3"]
LOSSES = ["RMSE", "MAE", "Huber:delta=1", "LogCosh", "Poisson", "Tweedie:variance_power=1.4"]


def random_table(rng: np.random.Generator, categories: int) -> pd.DataFrame:
    """Numbers, some of them missing, and columns of texts, some of them rare."""
    cells: dict[str, Any] = {}
    for i, numbers in enumerate([rng.integers(0, 60, ROWS).astype(float), rng.normal(0, 1e-3, ROWS)]):
        cells[f"number {i}"] = np.where(rng.random(ROWS) < 0.1 * i, np.nan, numbers)
    for i in range(categories):
        texts = [f"{'vxyé '[i]}{j}" if j % 2 else f"t{j}" for j in range(int(rng.integers(2, 12)))]
        cells[f"texts {i}"] = rng.choice(texts, ROWS, p=rng.dirichlet(np.ones(len(texts))))
    return pd.DataFrame(cells)


def texts_of(table: pd.DataFrame) -> list[str]:
    """The columns of texts."""
    return [str(name) for name in table if not pd.api.types.is_numeric_dtype(table[name])]


def around(table: pd.DataFrame, model: Any, rng: np.random.Generator) -> pd.DataFrame:
    """The people, rows on each border, beside it and with a gap, and rows with texts of no or another column."""
    changed, texts = [], texts_of(table)
    ends = np.array([-np.inf, np.inf], dtype=np.float32)
    for index, borders in model.get_borders().items():
        for border in np.array(borders, dtype=np.float32):
            with np.errstate(over="ignore"):
                cells = [border, *np.nextafter(border, ends), np.nan]
            changed += [{**table.iloc[rng.integers(ROWS)], table.columns[index]: float(cell)} for cell in cells]
    known = [*pd.unique(table[texts].to_numpy().ravel()), "unheard of"]
    for _ in range(400):
        name = str(rng.choice(texts))
        some = {each: str(rng.choice(known)) for each in (texts if rng.random() < 0.5 else [name])}
        changed.append({**table.iloc[rng.integers(ROWS)], **some})
    every = pd.concat([table, pd.DataFrame(changed)], ignore_index=True)
    return every.replace([np.inf, -np.inf], np.nan)


def random_model(seed: int) -> tuple[Any, pd.DataFrame, np.random.Generator]:
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(1, 4)))
    score = sum(table[name].rank().fillna(0).to_numpy() / ROWS * rng.normal() for name in table)
    score = score + rng.normal(0, 0.3, ROWS)
    options: dict[str, Any] = {
        **QUIET,
        "iterations": int(rng.choice([5, 30, 80])),
        "depth": int(rng.integers(1, 6)),
        "random_seed": seed,
        "grow_policy": str(rng.choice(["SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"])),
        "max_ctr_complexity": int(rng.integers(1, 5)),
        "one_hot_max_size": int(rng.integers(2, 5)),
        "model_size_reg": float(rng.choice([0.0, 0.5])),
        "cat_features": texts_of(table),
    }
    if rng.random() < 0.5:
        options["simple_ctr"] = rng.choice(KINDS, 2, replace=False).tolist()
        options["combinations_ctr"] = [str(rng.choice(KINDS[:4]))]
    if rng.random() < 0.2:
        options["ctr_leaf_count_limit"] = 4
    if seed % 3:
        classes = int(rng.integers(2, 4))
        target = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
        return catboost.CatBoostClassifier(**options).fit(table, target), table, rng
    loss = LOSSES[seed // 3 % len(LOSSES)]
    return catboost.CatBoostRegressor(loss_function=loss, **options).fit(table, np.exp(score)), table, rng


def saved(model: Any, table: pd.DataFrame, path: Path) -> Path:
    model.save_model(str(path), format="json", pool=catboost.Pool(table, cat_features=texts_of(table)))
    return path


def has_parts_of_numbers(document: Any) -> bool:
    tables = (document.get("ctr_data") or {}).values()
    return any(isinstance(each, float) for table in tables for each in table["hash_map"])


PART_OF_MANY = [pytest.param(seed, marks=() if seed < 8 else pytest.mark.thorough) for seed in range(40)]


@pytest.mark.parametrize("seed", PART_OF_MANY)
@pytest.mark.filterwarnings("ignore:Change of")
def test_a_random_model_answers_as_catboost_or_is_refused_by_name(seed: int, tmp_path: Path) -> None:
    model, table, rng = random_model(seed)
    path = saved(model, table, tmp_path / "model.json")
    if has_parts_of_numbers(json.loads(path.read_bytes())):
        with pytest.raises(ReleaseError, match="BinarizedTargetMeanValue with parts of numbers"):
            leafgate.load_model(path)
        return
    read = leafgate.load_model(path)
    asked = around(table, model, rng)
    answer = read.predict_proba if seed % 3 else read.predict
    theirs = model.predict_proba(asked) if seed % 3 else model.predict(asked)
    assert answer(asked) == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def people(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    jobs = ["clerk", "cook", "driver", "nurse", "smith", "tailor", "astronaut"]
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS).astype(float),
            "job": rng.choice(jobs, ROWS, p=[0.2, 0.2, 0.15, 0.15, 0.15, 0.14, 0.01]),
            "ward": rng.choice(["east", "north", "south", "west"], ROWS),
        }
    )
    score = table["age"] + 30 * table["job"].isin(["nurse", "cook"]) + 10 * (table["ward"] == "east")
    return table, np.where(score + rng.normal(0, 9, ROWS) > 70, "yes", "no")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People, a model of them with CatBoost's defaults but for its size, and a policy."""
    folder = tmp_path_factory.mktemp("statistics")
    table, ill = people(np.random.default_rng(0))
    table.assign(ill=ill).to_csv(folder / "people.csv", index=False)
    options = {"iterations": 20, "depth": 3, "cat_features": ["job", "ward"], "random_seed": 0}
    model = catboost.CatBoostClassifier(**QUIET, **options).fit(table, ill)
    saved(model, table, folder / "model.json")
    model.save_model(str(folder / "model.cbm"))
    asked = around(table, model, np.random.default_rng(1)).dropna(ignore_index=True)
    asked.assign(yes=model.predict_proba(asked)[:, 1]).to_csv(folder / "asked.csv", index=False)
    given = ("init", folder / "people.csv", "--class", "ill", "--model", folder / "model.json")
    assert command(*given, "--out", folder / "policy.yaml").code == 0
    return folder


def answers(folder: Path, file: str) -> tuple[np.ndarray, np.ndarray]:
    """What a file answers, and what CatBoost does."""
    asked = pd.read_csv(folder / "asked.csv")
    return leafgate.load_model(folder / file).predict_proba(asked)[:, 1], asked["yes"].to_numpy()


def audited(folder: Path, file: str) -> dict[str, Any]:
    policy = folder / f"{file}.yaml"
    policy.write_text((folder / "policy.yaml").read_text().replace('"model.json"', f'"{file}"'))
    return {each["metric"]: each for each in command("audit", policy, "--no-remedies", "--json").document["findings"]}


def test_no_policy_publishes_the_counts_of_people_by_category(folder: Path) -> None:
    found = audited(folder, "model.json")
    file, limit = found["published_file"], found["file_disclosure"]
    assert (file["passed"], limit["passed"]) == (False, False)
    kinds = {(each["kind"], each["severity"]) for each in limit["evidence"]["discloses"]}
    assert {("value_counts", "high"), ("people_listed", "high")} <= kinds  # 'astronaut' is the job of a few
    assert "how many people of each class have each category" in file["evidence"]["problem"]
    assert "leafgate scrub" in file["evidence"]["remedy"]


@pytest.mark.parametrize("words", [("convert",), ("scrub", "--leaves", "shares")], ids=["convert", "scrub"])
def test_a_file_that_is_written_anew_holds_sets_of_values_alone(folder: Path, words: tuple[str, ...]) -> None:
    out = folder / f"{words[0]}.json"
    assert command(words[0], folder / "model.json", out, *words[1:], "--script").code == 0
    mine, theirs = answers(folder, out.name)
    assert mine == pytest.approx(theirs, abs=1e-9)
    found = audited(folder, out.name)
    assert found["published_file"]["passed"]
    assert "value_counts" not in json.dumps([*found.values()])
    tables = json.loads((folder / "model.json").read_text())["ctr_data"].values()
    hashes = {text for table in tables for text in table["hash_map"] if len(str(text)) > 12}
    assert hashes
    assert not any(str(text) in out.read_text() for text in hashes)


def test_a_repaired_model_passes(folder: Path) -> None:
    out = folder / "repaired.json"
    ended = command("repair", folder / "model.json", "--policy", folder / "policy.yaml", "--out", out)
    assert ended.code == 0, ended.err
    assert all(each["passed"] for each in audited(folder, out.name).values())


def test_a_binary_file_with_statistics_is_refused_by_what_is_missing(folder: Path) -> None:
    ended = command("convert", folder / "model.cbm", folder / "new.json", "--trust")
    assert (ended.code, "has the hash alone" in ended.err, "pool=Pool(" in ended.err) == (2, True, True)


def test_a_binary_file_of_logarithms_is_converted(tmp_path: Path) -> None:
    table, _ = people(np.random.default_rng(2))
    ages = table[["age"]]
    model = catboost.CatBoostRegressor(loss_function="Poisson", iterations=9, **QUIET).fit(ages, ages["age"] // 20)
    model.save_model(str(tmp_path / "model.cbm"))
    assert command("convert", tmp_path / "model.cbm", tmp_path / "new.json", "--trust").code == 0
    assert leafgate.load_model(tmp_path / "new.json").predict(ages) == pytest.approx(model.predict(ages))


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", "LogLinQuantile:alpha=0.4", "MultiQuantile:alpha=0.2,0.8"])
def test_losses_whose_sum_is_not_the_answer_are_refused_by_name(loss: str, tmp_path: Path) -> None:
    table, _ = people(np.random.default_rng(2))
    model = catboost.CatBoostRegressor(loss_function=loss, iterations=3, **QUIET).fit(table[["age"]], table["age"])
    model.save_model(str(tmp_path / "model.json"), format="json")
    with pytest.raises(ReleaseError, match=f"has a loss {loss.partition(':')[0]} that is not read"):
        leafgate.load_model(tmp_path / "model.json")


def test_tables_of_which_catboost_writes_one_are_refused_by_name(tmp_path: Path) -> None:
    """CatBoost itself answers otherwise with the file than with the model."""
    table, _ = people(np.random.default_rng(2))
    options = {"iterations": 60, "cat_features": ["job", "ward"], "max_ctr_complexity": 1}
    several = {"simple_ctr": ["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=3"]}
    number = table["age"] + 50 * table["job"].isin(["nurse", "cook"])
    model = catboost.CatBoostRegressor(**QUIET, **options, **several).fit(table, number)
    path = saved(model, table, tmp_path / "model.json")
    again = catboost.CatBoost().load_model(str(path), format="json")
    texts = catboost.Pool(table, cat_features=["job", "ward"])
    assert abs(again.predict(texts) - model.predict(texts)).max() > 0.1
    with pytest.raises(ReleaseError, match="for several borders of the target"):
        leafgate.load_model(path)


def test_people_at_leaves_are_those_of_training_where_tests_ask_for_statistics(folder: Path) -> None:
    document = json.loads((folder / "model.json").read_bytes())
    table = pd.read_csv(folder / "people.csv").drop(columns="ill")
    model = catboost.CatBoost().load_model(str(folder / "model.cbm"))
    leaves = model.calc_leaf_indexes(catboost.Pool(table, cat_features=["job", "ward"]))
    read = read_foreign((folder / "model.json").read_bytes(), "model.json")
    others = 0
    for i, (given, tree) in enumerate(zip(document["oblivious_trees"], read.trees, strict=True)):
        of_statistics = any(each["split_type"] == "OnlineCtr" for each in given["splits"])
        counted = np.bincount(leaves[:, i], minlength=len(given["leaf_weights"]))
        others += of_statistics and counted.tolist() != given["leaf_weights"]
        (numbers,) = tree.numbers
        people = numbers.values[0] if of_statistics else numbers.values[tree.leaves].sum()
        assert (people, tree.size is None) == (ROWS, of_statistics)
        assert np.isnan(numbers.values[1:]).all() == of_statistics
    assert others > 3


def test_a_model_in_memory_is_audited_by_the_file_that_would_be_published(folder: Path) -> None:
    table = pd.read_csv(folder / "people.csv")
    model = catboost.CatBoostClassifier().load_model(str(folder / "model.cbm"))
    given = (model, table.drop(columns="ill"), table["ill"])
    with pytest.raises(ReleaseError, match=r"'job' may be missing.*on_missing=\"drop\""):
        leafgate.audit(*given, limits={"k_anonymity": 2})
    audit = leafgate.audit(*given, limits={"k_anonymity": 2}, on_missing="drop", search_remedies=False)
    assert audit.findings.set_index("finding").loc["published_file", "verdict"] == "fail"


def test_the_classifier_is_trained_again_unless_its_statistics_were_chosen() -> None:
    document = document_of("statistics-of-combined-categories")
    learner = read_document(document).learner
    assert learner is not None
    assert learner.parameters["max_ctr_complexity"] == 3
    document["model_info"]["params"]["flat_params"]["simple_ctr"] = ["Borders"]
    assert read_document(document).learner is None


def document_of(name: str) -> Any:
    return json.loads(ARCHIVE.models[f"{name}.json"])


def read_document(document: Any) -> ModelIR:
    return read_foreign(json.dumps(document).encode(), "model.json")


def first_table(document: Any) -> Any:
    return next(iter(document["ctr_data"].values()))


def another_table(document: Any) -> None:
    document["ctr_data"]["Jane Smith"] = first_table(document)


def the_same_table_by_another_name(document: Any) -> None:
    name, table = next(iter(document["ctr_data"].items()))
    document["ctr_data"][name.replace(":", ": ")] = table


def a_key_of_a_table(document: Any) -> None:
    first_table(document)["Jane Smith"] = 1


def a_key_of_a_statistic(document: Any) -> None:
    document["features_info"]["ctrs"][0]["Jane Smith"] = 1


def another_name(document: Any) -> None:
    document["features_info"]["ctrs"][0]["identifier"] = "Jane Smith"


def a_name_for_a_hash(document: Any) -> None:
    first_table(document)["hash_map"][0] = "Jane Smith"


def a_hash_of_nobody(document: Any) -> None:
    first_table(document)["hash_map"][0] = "12345678901234567890"


def numbers_in_an_empty_place(document: Any) -> None:
    items = first_table(document)["hash_map"]
    items[items.index(str(2**64 - 1)) + 1] = 74971990


def a_number_twice(document: Any) -> None:
    table = first_table(document)
    table["hash_map"] += table["hash_map"][: table["hash_stride"]]


def part_of_a_person(document: Any) -> None:
    first_table(document)["hash_map"][1] = 1.5


def fewer_than_nobody(document: Any) -> None:
    first_table(document)["hash_map"][1] = -1


def another_stride(document: Any) -> None:
    first_table(document)["hash_stride"] = 4


def no_table(document: Any) -> None:
    document["ctr_data"].popitem()


def no_list_of_categories(document: Any) -> None:
    document["features_info"]["cat_features_hash"].pop()


def another_kind(document: Any) -> None:
    document["features_info"]["ctrs"][0]["ctr_type"] = "Mean"


def no_denominator(document: Any) -> None:
    document["features_info"]["ctrs"][0]["prior_denomerator"] = 0


def another_border_of_the_target(document: Any) -> None:
    document["features_info"]["ctrs"][0]["target_border_idx"] = 1


@pytest.mark.parametrize(
    "change",
    [
        *(another_table, the_same_table_by_another_name, a_key_of_a_table, a_key_of_a_statistic, another_name),
        *(a_name_for_a_hash, a_hash_of_nobody, numbers_in_an_empty_place, a_number_twice, part_of_a_person),
        *(fewer_than_nobody, another_stride, no_table, no_list_of_categories, another_kind, no_denominator),
        another_border_of_the_target,
    ],
)
def test_a_table_that_catboost_does_not_write_is_refused(change: Any) -> None:
    document = document_of("statistics-of-categories")
    read_document(document)
    change(document)
    with pytest.raises(ReleaseError, match=r"ctr|model\.json") as refusal:
        read_document(document)
    assert "Jane" not in str(refusal.value)


PLANTED = "Jane Smith, born 1970, of Springfield, HIV positive, case 74971990"


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every place of a document: a container, and the key of something in it."""
    waiting, found = [document], []
    while waiting:
        item = waiting.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        found += [(item, key) for key in keys]
        waiting += [item[key] for key in keys]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_a_text_that_is_planted_anywhere_is_refused_or_disclosed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    document = document_of("statistics-of-combined-categories")
    whole = read_document(document)
    of_statistics = [*places(document["ctr_data"]), *places(document["features_info"]["ctrs"])]
    chosen = of_statistics if seed % 3 else places(document)
    container, key = chosen[rng.integers(len(chosen))]
    if isinstance(container, dict) and seed % 2:
        container[PLANTED] = container[key]
    else:
        container[key] = PLANTED
    try:
        found = read_document(document)
    except ReleaseError as refusal:
        assert "Jane" not in str(refusal)  # noqa: PT017
        return
    texts = {
        *found.texts,
        *found.features,
        *found.classes,
        *(text for each in found.category_lists for text in each.values),
    }
    assert PLANTED in texts or set(found.discloses) - set(whole.discloses)


def test_a_border_of_a_statistic_that_no_tree_uses_is_disclosed() -> None:
    document = document_of("statistics-of-categories")
    document["features_info"]["ctrs"][-1]["borders"].append(74971990.0)
    (found,) = (each for each in read_document(document).discloses if each.kind == "other_content")
    assert "features_info.ctrs.borders that no tree uses" in found.says


def test_combinations_of_too_many_categories_are_refused_by_name() -> None:
    document = document_of("statistics-of-combined-categories")
    for number in range(4000):
        text = f"text {number:040}"  # CatBoost's hashes of long texts are not computed
        document["features_info"]["cat_features_hash"].append({"hash": number, "value": text})
    with pytest.raises(ReleaseError, match=r"more than 10,000,000 combinations.*max_ctr_complexity=1"):
        read_document(document)
