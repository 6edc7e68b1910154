"""SACRO-ML's structural attack on a file of people and one of models, by a Python that has sacroml.

    python structure_peer.py PEOPLE.npz MODELS.json

It fits the models anew, with the same seeds, and says what came of each, a line of JSON a model: its flags and the
accuracy on the test people.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

FLAGS = (
    *("k_anonymity_risk", "class_disclosure_risk", "smallgroup_risk", "dof_risk", "unnecessary_risk"),
    "gen_error_risk",
)


def main(people: Path, models: Path) -> None:
    import numpy as np
    import sklearn.ensemble
    import sklearn.tree
    from sacroml.attacks.structural_attack import StructuralAttack
    from sacroml.attacks.target import Target

    logging.disable(logging.INFO)
    held = np.load(people)
    x, y, z, zy = (held[name] for name in ("x", "y", "z", "zy"))
    kinds: dict[str, Any] = {
        "tree": sklearn.tree.DecisionTreeClassifier,
        "forest": sklearn.ensemble.RandomForestClassifier,
    }
    for result in json.loads(models.read_text()):
        model = kinds[result["kind"]](random_state=0, **result["options"]).fit(x, y)
        with tempfile.TemporaryDirectory() as folder:
            attack = StructuralAttack(output_dir=folder, write_report=False)
            attack.attack(Target(model=model, X_train=x, y_train=y, X_test=z, y_test=zy))
        found = {flag: bool(getattr(attack.results, flag)) for flag in FLAGS}
        sys.stdout.write(json.dumps(found | {"accuracy": float(model.score(z, zy))}) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
