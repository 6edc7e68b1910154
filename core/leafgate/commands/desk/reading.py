"""What the files of a case are, found out in a process of its own: python -m leafgate.commands.desk.reading FOLDER.

It writes `facts.json` and, where there is none, the policy that `leafgate init` writes for the same files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leafgate.api.registry import load_plugins
from leafgate.commands.desk.cases import FACTS, POLICY, Case, ColumnFacts, Facts, ModelFacts, Role
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.commands.desk.questions import QUESTIONS, CaseInQuestion
from leafgate.commands.scaffold.column_guesses import MANY, Guess, column_line, is_left_out
from leafgate.commands.scaffold.policy import Draft, Files, draft_of, first_policy
from leafgate.console.exit_codes import exit_code_of
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import readable
from leafgate.io.yaml import parse_yaml
from leafgate.kernel.answers import unanswered_values
from leafgate.kernel.paths import DocumentPath
from leafgate.kernel.spelling import loose_form, same_form, spellings_of_one
from leafgate.models.reader import read_model
from leafgate.session.domains import bounds_domain, list_domain, number_domain
from leafgate.session.draft import MAX_SECRET_VALUES
from leafgate.session.results import is_release_file


def read_files(folder: Path) -> int:
    """Write what the files of a case are, and a first policy for them where there is none."""
    case = Case(folder)
    files = {role: folder / name for role, name in case.files.items()}
    model, release = files.get("model"), dict[str, Any]()
    if model is not None and is_release_file(model):
        release = json.loads(model.read_bytes())
        model = None
    given = Files(files["table"], model, folder, test=files.get("test"), control=files.get("control"))
    target = case.record.target if not release else release["target"]
    draft = draft_of(given, target)
    facts = _facts(draft, files, release)
    if not case.has_policy:
        policy = PolicyText(first_policy(given, target, draft=draft).text)
        if release:
            policy = _of_release(policy, release, files["model"].name)
        for question in QUESTIONS:
            if (answer := case.record.answers.get(question.name)) and question.fields(CaseInQuestion(facts, policy)):
                policy = question.answered(CaseInQuestion(facts, policy), answer.fields)
        write_file(folder / POLICY, policy.text.encode(), OWNER_ONLY)
    write_file(folder / FACTS, readable(facts.model_dump()), OWNER_ONLY)
    return 0


def _of_release(policy: PolicyText, release: Mapping[str, Any], name: str) -> PolicyText:
    """The policy for a release of leafgate, which states the columns that it was made with."""
    start, _, rest = policy.text.partition("\nbuild:")
    end = rest[rest.index("\npublish:") :]
    policy = PolicyText(f"{start}\nbuild: {{use: published, path: {json.dumps(name)}}}\n{end}")
    specs: dict[DocumentPath, Any] = {("data", "columns", column): spec for column, spec in release["schema"].items()}
    level = {"leaves": release["publish"]["leaves"], "measure": bool(release["publish"].get("measure"))}
    return policy.changed({**specs, ("publish",): level})


def _facts(draft: Draft, files: Mapping[Role, Path], release: Mapping[str, Any]) -> Facts:
    """What the pages show of the files; of values that few people have, how many there are."""
    return Facts(
        format="leafgate/desk-facts/1",
        rows=max((guess.people + guess.gaps for guess in draft.guesses), default=0),
        most_rows=draft.most_rows or 1,
        target=draft.target,
        chosen=draft.chosen,
        person=draft.person,
        varies=draft.person is not None and _varies(draft),
        model=_of_model(draft, files, release),
        columns={guess.name: _of_column(guess, draft) for guess in draft.guesses},
    )


def _varies(draft: Draft) -> bool:
    """Has a person different values of the class in different rows?"""
    known = draft.person_of >= 0
    codes = draft.classes.cat.codes.to_numpy()[known].astype(np.int64)
    pairs = np.unique(np.stack([draft.person_of[known], codes]), axis=1)
    return bool(pairs.shape[1] > len(np.unique(pairs[0])))


def _of_model(draft: Draft, files: Mapping[Role, Path], release: Mapping[str, Any]) -> ModelFacts | None:
    if release:
        producer, level = f"leafgate, builder {release['builder']['use']}", release["publish"]["leaves"]
        return ModelFacts(kind="release", format=release["format"], level=level, producer=producer, discloses=[])
    if draft.hints is None:
        return None
    model = read_model(files["model"], load_plugins().readers)
    says = [each.says for each in model.disclosures]
    return ModelFacts(
        kind="model", format=model.format, level=model.level, producer=model.producer or "", discloses=says
    )


def _of_column(guess: Guess, draft: Draft) -> ColumnFacts:
    """What the pages show of a column."""
    spec = parse_yaml(f"is: {column_line(guess, draft.hints)}".encode(), guess.name)["is"]
    shown = sorted(guess.people_with.items(), key=lambda item: -item[1])
    common = {text: people for text, people in shown if people >= guess.smallest_cell}
    same = spellings_of_one(guess.possible, same_form)
    similar = [each for each in spellings_of_one(guess.possible, loose_form) if len({*map(same_form, each)}) > 1]
    return ColumnFacts(
        distinct=len(guess.values),
        numeric=guess.numeric,
        common=dict(list(common.items())[:MANY]),
        gaps=sorted(guess.missing),
        unanswered=list(unanswered_values(guess.possible)) if guess.possible else [],
        same=[list(each) for each in same],
        similar=[list(each) for each in similar],
        proposed=spec,
        left_out=is_left_out(guess, draft.hints),
        domain=_domain(guess),
        secret_domain=_secret_domain(guess),
    )


def _domain(guess: Guess) -> dict[str, Any]:
    """The domain of a column that is taken in although `init` leaves it out."""
    if guess.numeric and guess.possible:
        return bounds_domain([float(text) for text in guess.possible], guess.people)
    return list_domain(guess.possible, list(guess.people_with.values()), guess.smallest_cell)


def _secret_domain(guess: Guess) -> dict[str, Any]:
    """The domain of a column that is a secret: intervals of its numbers, or its values."""
    if not guess.numeric or len(guess.possible) <= MAX_SECRET_VALUES:
        values = sorted(guess.possible, key=float) if guess.numeric else list(guess.possible)
        return {"values": values} if len(values) <= MANY else {}
    numbers = np.repeat([float(text) for text in guess.people_with], list(guess.people_with.values()))
    return number_domain(numbers, [float(text) for text in guess.possible])


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: read_files(Path(sys.argv[1])), as_json=True))
