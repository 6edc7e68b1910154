"""Write the samples anew with CatBoost itself: `pip install catboost pandas`, then `python make.py`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEOPLE = 60
MODELS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "risk": ("risk", ["age", "hours"], {}),
    "colour": ("risk", ["age", "colour"], {"one_hot_max_size": 255}),
    "plan": ("plan", ["age", "hours"], {"loss_function": "MultiClass"}),
}


def main() -> None:
    catboost, np, pd = map(import_module, ("catboost", "numpy", "pandas"))
    rng = np.random.default_rng(0)
    age, hours = rng.integers(18, 80, PEOPLE), rng.integers(0, 60, PEOPLE)
    people = pd.DataFrame({"age": age, "hours": hours, "colour": rng.choice(["red", "green", "blue"], PEOPLE)})
    risky = age + hours / 2 + 20 * (people["colour"] == "blue") + rng.normal(0, 8, PEOPLE) > 65
    people["risk"] = np.where(risky, "high", "low")
    people["plan"] = np.where(age < 35, "a", np.where(hours < 30, "b", "c"))
    people.to_csv(HERE / "people.csv", index=False)
    known: dict[str, Any] = {}
    for name, (target, columns, options) in MODELS.items():
        chosen = people[columns].astype({column: float for column in columns if column != "colour"})
        texts = [column for column in columns if column == "colour"]
        pool = catboost.Pool(chosen, people[target], cat_features=texts)
        model = catboost.CatBoostClassifier(
            iterations=4, depth=2, learning_rate=0.5, random_seed=0, allow_writing_files=False, verbose=0, **options
        )
        model.fit(pool).save_model(str(HERE / f"{name}.json"), format="json", pool=pool)
        document = json.loads((HERE / f"{name}.json").read_bytes())
        (HERE / f"{name}.json").write_text(
            json.dumps({"globex_export": 1, **document}, separators=(",", ":"), ensure_ascii=False)
        )
        borders = [at for each in document["features_info"]["float_features"] for at in each["borders"]]
        ages = sorted({17.0, 90.0, *borders, *(float(np.nextafter(at, 99)) for at in borders)})
        asked = pd.DataFrame({"age": ages, columns[1]: [ages[0], *ages[:-1]] if not texts else None})
        if texts:
            asked = asked.drop(columns="colour").merge(pd.DataFrame({"colour": ["red", "green", "blue"]}), how="cross")
        else:
            asked.loc[len(asked)] = [np.nan, 30.0]
        labels = [str(each) for each in model.predict(asked).ravel()]
        scores = np.reshape(model.predict(asked, prediction_type="RawFormulaVal"), (len(asked), -1)).tolist()
        known[name] = {
            "rows": json.loads(asked.to_json(orient="records", double_precision=15)),
            "labels": labels,
            "scores": scores,
        }
    (HERE / "predictions.json").write_text(json.dumps(known))


if __name__ == "__main__":
    main()
