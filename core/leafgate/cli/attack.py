"""One attack on one release file, and its belief as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from leafgate.engine.attack import run_attack
from leafgate.engine.build import with_policy_columns
from leafgate.errors import InconclusiveError, PolicyError, nearest_name
from leafgate.io.json import readable
from leafgate.io.release_codec import serialize
from leafgate.kernel.belief import (
    AttributeBelief,
    Belief,
    CellBelief,
    GroupBelief,
    MechanismBelief,
    MembershipBelief,
    PosteriorBelief,
    SecretBelief,
    TableBelief,
    secret_of,
)
from leafgate.kernel.components import AttackModel
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.knowledge import AdversaryKnowledge
from leafgate.models.load import check_options, load_release
from leafgate.progress import progress_step
from leafgate.session.run import Session, granted_knowledge


def run_single_attack(run: Session, release: Path, use: str, secret: str | None) -> tuple[Belief, AdversaryKnowledge]:
    """What the attack `use` (a name in the policy, else a plugin with its defaults) believes of `secret`.

    Raises PolicyError when nobody offers the attack or it does not speak of the secret, ReleaseError when the
    release does not fit the policy, InconclusiveError when the attack fails.
    """
    artifact = serialize(load_release(release, run.table.schema, readers=run.plugins.readers))
    if artifact.release.file is None:
        check_options(artifact.release, run.plugins, release.name)
    artifact = replace(artifact, release=with_policy_columns(artifact.release, run.table.schema))
    attack = _attack(run, use)
    known = granted_knowledge(run.policy, attack, run.tables, artifact, readers=run.plugins.readers)
    with progress_step(f"attack {use}"):
        tried = run_attack(attack, artifact, known, run.plugins)
    if tried.problem:
        raise InconclusiveError(tried.problem, place=f"attack {use}")
    speaks = [belief for belief in tried.beliefs if secret in {None, secret_of(belief)}]
    if len(speaks) != 1:
        about = [str(secret_of(belief)) for belief in tried.beliefs]
        remedy = nearest_name(secret, about, "name one of them")
        raise PolicyError(f"the attack speaks about: {', '.join(about) or 'nothing'}", place="--secret", remedy=remedy)
    return speaks[0], known


def _attack(run: Session, use: str) -> AttackModel:
    for attack in run.policy.attacks:
        if attack.called == use:
            return attack
    offered = run.plugins.component(use)
    if offered is None or not issubclass(offered, AttackModel):
        names = [str(c.model_fields["use"].default) for c in run.plugins.kind(AttackModel)]
        remedy = nearest_name(use, names, f"installed: {', '.join(names)}")
        raise PolicyError(f"nobody offers the attack {use!r}", place="--use", remedy=remedy)
    try:
        return offered.model_validate({"use": use})
    except ValidationError as error:
        needed = ", ".join(str(wrong["loc"][0]) for wrong in error.errors(include_input=False))
        raise PolicyError(
            f"{use!r} needs {needed}", place="--use", remedy="put it into the policy, and name it here"
        ) from None


def belief_file(belief: Belief, known: AdversaryKnowledge) -> bytes:
    """The belief as CSV; of an attack on the mechanism, which believes nothing of people, its evidence as JSON."""
    return readable(_plain(belief.document)) if isinstance(belief, MechanismBelief) else belief_csv(belief, known)


def _plain(document: Any) -> Any:
    """Evidence with nothing held back."""
    if isinstance(document, Mapping):
        return {key: _plain(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_plain(value) for value in document]
    return (
        _plain(document.content)
        if isinstance(document, AuditorOnly)
        else document.count
        if isinstance(document, PeopleCount)
        else document
    )


def belief_csv(belief: Belief, known: AdversaryKnowledge) -> bytes:
    """The belief as CSV: the known columns, weight, group, then p(VALUE) for each value of the secret.

    Of hidden cells: row (the position among the published records), column, the attack's estimate, then p(VALUE).
    Where people are known by their keys each has a row, with the key. There is no group where the attack has no
    equivalence classes. Of candidates: their columns, score, p_value, excluded and exclusion_p_value. Of a table: the
    reconstructed records.
    """
    columns = list(_described_rows(belief, known))
    if isinstance(belief, PosteriorBelief):
        chances = belief.posterior.reset_index(drop=True)
        columns.append(chances.set_axis([f"p({value})" for value in chances.columns], axis=1))
    return pd.concat(columns, axis=1).to_csv(index=False, lineterminator="\n").encode()


def _described_people(belief: GroupBelief | SecretBelief, known: AdversaryKnowledge) -> Iterator[pd.DataFrame]:
    """The columns that say whom each row of a belief about people is about."""
    if isinstance(belief, SecretBelief) and belief.of_people and known.releases is not None:
        rows = known.releases.record[: known.releases.in_table]
        if known.releases.keys is not None:
            yield pd.DataFrame({"key": known.releases.keys[: len(rows)]})
        yield known.records.iloc[rows].reset_index(drop=True)
        yield pd.DataFrame({"weight": known.releases.weight[: len(rows)]})
    elif belief.records is not None:
        yield belief.records.reset_index(drop=True)
    else:
        yield known.records.reset_index(drop=True)
        yield pd.DataFrame({"weight": known.weight})


def _described_rows(belief: Belief, known: AdversaryKnowledge) -> Iterator[pd.DataFrame]:
    """The columns that say what each row of a belief is about."""
    if isinstance(belief, CellBelief):
        yield pd.DataFrame({"row": belief.record_positions, "column": belief.secret})
        if belief.estimates is not None:
            yield pd.DataFrame({"estimate": belief.estimates})
    elif isinstance(belief, GroupBelief | SecretBelief):
        yield from _described_people(belief, known)
        if belief.equivalence_class is not None:
            yield pd.DataFrame({"group": belief.equivalence_class})
    elif isinstance(belief, AttributeBelief):
        targets = known.targets[belief.secret]
        yield pd.concat([group.frame for group in targets.groups], ignore_index=True)
        yield pd.DataFrame(belief.posterior, columns=[f"p({value})" for value in targets.secret.domain])
        if belief.certain is not None:
            proven = np.array([*map(str, targets.secret.domain), ""], dtype=object)[belief.certain]
            yield pd.DataFrame({"certain": proven})
    elif isinstance(belief, TableBelief):
        yield belief.records
    elif isinstance(belief, MembershipBelief) and known.candidates is not None:
        yield known.candidates.frame.reset_index(drop=True)
        about = {"score": belief.scores, "p_value": belief.p_values, "excluded": belief.excluded}
        about["exclusion_p_value"] = belief.exclusion_p_values
        yield pd.DataFrame({name: numbers for name, numbers in about.items() if numbers is not None})
