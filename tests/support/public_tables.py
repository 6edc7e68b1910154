"""The public benchmark files, and how each is read; counts are those of the data's README."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
LOANS = [
    "credit.policy",
    "purpose",
    "int.rate",
    "installment",
    "log.annual.inc",
    "dti",
    "fico",
    "days.with.cr.line",
    "revol.bal",
    "revol.util",
    "inq.last.6mths",
    "delinq.2yrs",
    "pub.rec",
    "not.fully.paid",
]
CREDIT = [
    *["ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"],
    *(f"BILL_AMT{i}" for i in range(1, 7)),
    *(f"PAY_AMT{i}" for i in range(1, 7)),
    "default payment next month",
]
SPACED = {"header": False, "skip_initial_space": True, "comment": "|"}


@dataclass(frozen=True)
class File:
    """How to read one file, and what must come out."""

    path: str
    names: list[str]
    target: str
    classes: dict[str, int]
    distinct: int
    csv: dict[str, Any] = field(default_factory=lambda: {"header": False})
    options: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    dropped: int = 0


def numbered(count: int) -> list[str]:
    return [f"c{i}" for i in range(1, count + 1)]


KEPT, LEFT_OUT = ({"missing": ["?"], "on_missing": word} for word in ("keep", "drop"))
POISONOUS = {"e": 4208, "p": 3916}
FILES = {
    "adult": File("adult/adult.data", ADULT, "income", {"<=50K": 24720, ">50K": 7841}, 32537, SPACED, KEPT),
    "adult without unknowns": File(
        "adult/adult.data", ADULT, "income", {"<=50K": 22654, ">50K": 7508}, 30139, SPACED, LEFT_OUT, dropped=2399
    ),
    "adult test": File("adult/adult.test", ADULT, "income", {"<=50K.": 12435, ">50K.": 3846}, 16276, SPACED, KEPT),
    "adult test without unknowns": File(
        "adult/adult.test", ADULT, "income", {"<=50K.": 11360, ">50K.": 3700}, 15055, SPACED, LEFT_OUT, dropped=1221
    ),
    "nursery": File(
        "nursery/nursery.data",
        numbered(9),
        "c9",
        {"not_recom": 4320, "priority": 4266, "spec_prior": 4044, "very_recom": 328, "recommend": 2},
        12960,
    ),
    "mushroom": File("mushroom/agaricus-lepiota.data", numbered(23), "c1", POISONOUS, 8124, options=KEPT),
    "mushroom without unknowns": File(
        "mushroom/agaricus-lepiota.data",
        numbered(23),
        "c1",
        {"e": 3488, "p": 2156},
        5644,
        options=LEFT_OUT,
        dropped=2480,
    ),
    "loans": File("lendingclub/loan_data.csv", LOANS, "not.fully.paid", {"0": 8045, "1": 1533}, 9578, {}),
    "votes": File(
        "congressional_voting/house-votes-84.data", numbered(17), "c1", {"democrat": 267, "republican": 168}, 342
    ),
    "german": File(
        "german_credit/german.data",
        numbered(21),
        "c21",
        {"1": 700, "2": 300},
        1000,
        {"header": False, "delimiter": " "},
    ),
    "credit": File(
        "default_credit_card_clients/default_of_credit_card_clients.csv",
        CREDIT,
        CREDIT[-1],
        {"0": 23364, "1": 6636},
        29965,
        {},
        ignored=("ID",),
    ),
}
