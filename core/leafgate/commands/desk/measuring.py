"""How well an audited release predicts other people: python -m leafgate.commands.desk.measuring POLICY RUN."""

from __future__ import annotations

import sys
from pathlib import Path

from leafgate.algorithms.usefulness import Goal, usefulness
from leafgate.api import InconclusiveError, columns_asked
from leafgate.commands.desk.jobs import MEASURED
from leafgate.console.exit_codes import exit_code_of
from leafgate.errors import ReleaseError
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import readable
from leafgate.models.load import load_release
from leafgate.session.run import build_release, open_session


def measure(policy: Path, run: Path) -> int:
    """Write the columns that a release asks for, and its accuracy and AUC for the people of `data.test`."""
    session = open_session(policy, None, Path("."))
    try:
        release = load_release(run / "results" / "release.json", session.table.schema).release
    except ReleaseError:  # of a model's file, which is read again
        release = build_release(session.policy, session.plugins, session.table, session.tables.test).release
    asked = sorted(set().union(*map(columns_asked, release.trees)))
    found: dict[str, object] = {"columns": asked}
    goals: tuple[Goal, ...] = ("accuracy", "auc") if release.classes else ("loss",)
    others = session.tables.test
    for goal in goals:
        if others is None:
            break
        try:
            use = usefulness(release, others, goal)
        except InconclusiveError:
            continue
        found[goal] = round(use.value, 4)
    write_file(run / MEASURED, readable(found), OWNER_ONLY)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: measure(Path(sys.argv[1]), Path(sys.argv[2])), as_json=True))
