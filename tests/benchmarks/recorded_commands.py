"""What every command of leafgate does with small inputs, for the record of `same_results.py`.

A session runs commands in one process and in a folder of its own. Recorded are the words, the exit code, what is
printed, and each file that is written. Inputs have no clock, no machine and no path in them: files of models come from
the archives of `tests/plugins/*/producers`, tables and policies are written here. Of leafgate, only its command line is
imported, so that names within the code may change between two records.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

sys.path.append(str(Path(__file__).parents[1] / "support"))

from command_line import leafgate
from hostile_models import LARGE
from plugin_mistakes import MISTAKES
from producer_archive import Archive, archives_in, case_of
from stranger import announce
from survey import PEOPLE, policy, survey

TESTS = Path(__file__).resolve().parents[1]
LONGEST_TEXT = 20_000
"""Of a longer text or file, the record has its digest alone."""
UNRECORDED = {"timings.json"}
"""Files that are written about the clock."""
UNEQUAL = re.compile(r'("(?:seconds|platform|machine)": )[^,\n}]+|\b[0-9.]+ seconds\b(?! \(`time_limit`\))')
"""What depends on the clock or the machine in printed texts."""
MADE_BY = re.compile(r"Made by python [^<\n]*")
"""The line of a page with the versions of Python and of libraries."""
DAY = "2026-11-02"


@dataclass
class Session:
    """Commands in one folder, and what came of each.

    Attributes:
        folder: An empty folder.
        steps: What came of each command, in order.
    """

    folder: Path
    steps: list[dict[str, Any]] = field(default_factory=list)

    def leafgate(self, *words: object) -> int:
        """Run and record one command in the folder; words name files as seen from there."""
        before = self._digests()
        with contextlib.chdir(self.folder):
            ended = leafgate(*words)
        after = self._digests()
        written = sorted(name for name in after if before.get(name) != after[name])
        step = {
            "words": [self._without_paths(str(word)) for word in words],
            "exit code": int(ended.code),
            "printed": self._text(ended.out),
            "errors": self._text(ended.err),
            "files": {name: self._content(self.folder / name) for name in written},
            "removed": sorted(before.keys() - after.keys()),
        }
        self.steps.append(step)
        return ended.code

    def write(self, name: str, content: str | bytes | Mapping[str, Any]) -> str:
        """Write a file (a mapping as JSON) and return its name."""
        if not isinstance(content, str | bytes):
            content = json.dumps(content, indent=1)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def _digests(self) -> dict[str, str]:
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.name not in UNRECORDED)
        found = {str(path.relative_to(self.folder)): path.read_bytes() for path in files if path.suffix != ".pyc"}
        return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}

    def _content(self, path: Path) -> Any:
        content = path.read_bytes()
        if path.suffix == ".json" and len(content) <= LONGEST_TEXT * 10:
            with contextlib.suppress(ValueError):
                document = json.loads(self._without_paths(content.decode()))
                if isinstance(document, dict) and "versions" in document:
                    document["versions"] = sorted(document["versions"])
                return document
        try:
            return self._text(content.decode())
        except UnicodeDecodeError:
            return hashlib.sha256(content).hexdigest()

    def _text(self, text: str) -> Any:
        text = self._without_paths(text)
        return text.splitlines() if len(text) <= LONGEST_TEXT else hashlib.sha256(text.encode()).hexdigest()

    def _without_paths(self, text: str) -> str:
        for place, name in ((str(self.folder), "FOLDER"), (str(TESTS), "TESTS"), (str(TESTS.parent), "TOP")):
            text = text.replace(place, name)
        return MADE_BY.sub("Made by VERSIONS", UNEQUAL.sub(lambda found: f"{found[1] or ''}CLOCK", text))


@dataclass(frozen=True)
class Commands:
    """One record of some commands: the name of its file, and what to run."""

    name: str
    run: Callable[[Session], None]

    def recorded(self) -> list[dict[str, Any]]:
        """What came of the commands."""
        with tempfile.TemporaryDirectory() as name:
            session = Session(Path(name).resolve())
            self.run(session)
            return session.steps


# --- Reports ---

OUTCOMES: Mapping[str, Mapping[str, Any]] = {
    "pass": {},
    "fail": {"metrics.0.at_least": 24},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
}
"""Changes of the survey's policy by which its audit ends so."""
FORMATS = ("text", "html", "junit", "mapping:nist_800_226", "markdown", "model_card", "sarif", "sheet")


def reports() -> Iterator[Commands]:
    """The formats of reports of each outcome."""

    def run(outcome: str, audience: str, session: Session) -> None:
        survey(session.folder, OUTCOMES[outcome])
        session.leafgate("audit", "policy.yaml", "--out", "out", "--audience", audience)
        for name in FORMATS:
            page = f"page.{name.partition(':')[0]}"
            session.leafgate("report", "out/report.json", "--to", name, "--as-of", DAY, "--out", page)
        session.leafgate("report", "out/report.json", "--expect-release", "0" * 64)

    for outcome in OUTCOMES:
        for audience in ("public", "auditor"):
            yield Commands(f"reports-{outcome}-{audience}", partial(run, outcome, audience))


def components() -> Iterator[Commands]:
    """What is listed and explained of the bundled plugins."""

    def run(session: Session) -> None:
        session.leafgate("--help")
        session.leafgate("plugins", "--json")
        plugins = json.loads("\n".join(session.steps[1]["printed"]))["plugins"]
        for name in sorted({offer["use"] for plugin in plugins for offer in plugin["offers"]}):
            session.leafgate("explain", name)

    yield Commands("components", run)


# --- Policies ---


def places(value: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted place of every value of a policy."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        place = f"{above}.{key}".lstrip(".")
        yield place, each
        yield from places(each, place)


def validations() -> Iterator[Commands]:
    """The errors of policies: each value of the survey's policy is missing, of another type, or has a wrong key."""

    def run(changes: Sequence[Mapping[str, Any]], session: Session) -> None:
        for change in changes:
            survey(session.folder, change)
            session.leafgate("validate", "policy.yaml", "--json")

    listed = [(place, value) for place, value in places(policy()) if not place.rpartition(".")[2].isdigit()]
    yield Commands("validate-missing", partial(run, [{place: ...} for place, _ in listed]))
    other_types = [{place: [{"a": 1}] if isinstance(value, int | str) else 7.5} for place, value in listed]
    yield Commands("validate-types", partial(run, other_types))
    wrong_keys = [{f"{place}.ats_least": 3} for place, value in listed if isinstance(value, Mapping)]
    yield Commands("validate-keys", partial(run, wrong_keys))
    wrong_values: list[dict[str, Any]] = [
        {"build.k": 0},
        {"build.use": "kadett"},
        {"metrics.0.use": "k_anonimity"},
        {"metrics.0.of": "nobody"},
        {"attacks": []},
        {"attacks": [{"use": "linking"}, {"use": "linking"}]},
        {"data.columns.age.bounds": [120, 0]},
        {"data.columns.ill.role": "quasi_identifier"},
        {"data.path": "../people.csv"},
        {"extends": "policy.yaml"},
        {"plugins": ["leafgate>=9"]},
        {"report.smallest_cell": 0},
    ]
    yield Commands("validate-values", partial(run, wrong_values))

    def inherits(session: Session) -> None:
        survey(session.folder)
        own: dict[str, Any] = {"leafgate": 1, "name": "own", "extends": "policy.yaml"}
        changes: list[dict[str, Any]] = [{}, {"build": {"k": 5}}, {"build": {"k": 2}}, {"metrics": []}, {"seed": 3}]
        for i, more in enumerate(changes):
            name = session.write(f"own{i}.yaml", {**own, **more})
            session.leafgate("validate", name, "--digest")
            session.leafgate("validate", name, "--org", "policy.yaml")
            session.leafgate("diff", "policy.yaml", name)
            session.leafgate("audit", name)

    yield Commands("validate-inherited", inherits)


def first_policies() -> Iterator[Commands]:
    """What `init` writes of small tables."""

    def run(session: Session) -> None:
        session.write("people.csv", PEOPLE)
        session.leafgate("init", "people.csv", "--class", "ill")
        session.leafgate("init", "people.csv", "--class", "nobody")
        session.leafgate("init", "people.csv", "--class", "ill", "--control", "people.csv", "--harmless", "no")
        for builder in ("id3", "c45", "dp_random_trees", "dp_laplace_trees"):
            session.leafgate("init", "people.csv", "--class", "ill", "--builder", builder)
        session.write("latin.csv", "name,größe,ill\n".encode("latin-1") + b"a,1,yes\nb,2,no\n" * 20)
        session.leafgate("init", "latin.csv", "--class", "ill")
        session.leafgate("init", "latin.csv", "--class", "ill", "--encoding", "latin-1")
        session.write("bare.csv", PEOPLE.partition("\n")[2])
        session.leafgate("init", "bare.csv", "--no-header")
        for i, bad in enumerate(("", "a\n", "a,a\n1,2\n", 'a,b\n1,"2\n', "a;b\n1;2\n", "a,b\n1\n1,2,3\n", "\0\0")):
            session.leafgate("init", session.write(f"bad{i}.csv", bad))

    yield Commands("init", run)


# --- Files of models ---

PRODUCERS = {
    "catboost": "catboost/producers",
    "lightgbm": "lightgbm/producers",
    "onnxmltools": "onnx/producers/onnxmltools",
    "pmml": "pmml/producers",
    "skl2onnx": "onnx/producers/skl2onnx",
    "sklearn": "sklearn/producers",
    "xgboost": "xgboost/producers",
}
READ_WHOLE = 2
"""Of each program so many files are audited, too."""


def archived(program: str) -> Archive:
    """What the newest version of a program made."""
    return archives_in(TESTS / "plugins" / PRODUCERS[program])[-1]


def people_of(archive: Archive, case: str) -> str:
    """The archive's rows beside the classes that the model of a case predicts, as CSV; empty without classes.

    Models of scikit-learn, and what ONNX has of models, name no columns, which are then x0, x1, ...
    """
    rows = archive.own_rows(case) or {name: list(map(str, column)) for name, column in archive.rows.items()}
    names = [name for name in rows if name != "label" and not name.startswith("raw.")]
    labels = archive.labels(case)
    headings = [f"x{i}" for i in range(len(names))] if {"sklearn", "onnx"} & {*archive.path.parts} else names
    lines = [
        ",".join(cells).replace("nan", "")
        for cells in zip(*(rows[name] for name in names), labels, strict=True)
        if cells[-1]
    ]
    return "\n".join([",".join([*headings, "class"]), *lines]) + "\n" if lines else ""


def audited_file(session: Session, archive: Archive, file: str) -> bool:
    """Write a file and the people whom it predicts, a first policy for them, and audit it; False without classes."""
    people = people_of(archive, case_of(file)) if archive.labels(case_of(file)) else ""
    session.write(file, archive.models[file])
    if not people:
        return False
    session.write("people.csv", people)
    session.leafgate("init", "people.csv", "--class", "class", "--model", file, "--out", "policy.yaml")
    session.leafgate("audit", "policy.yaml", "--no-remedies", "--out", "out", "--audience", "auditor")
    return True


def files() -> Iterator[Commands]:
    """Files of every reader: all are converted, some are audited, scrubbed and written in every format."""

    def convert(program: str, session: Session) -> None:
        archive = archived(program)
        for name in archive.models:
            session.leafgate("convert", session.write(name, archive.models[name]), f"{case_of(name)}.neutral.json")

    def read_whole(program: str, session: Session) -> None:
        archive = archived(program)
        with_classes = [name for name in archive.answered if archive.labels(case_of(name))]
        for file in with_classes[:READ_WHOLE]:
            audited_file(session, archive, file)
            for leaves in ("labels", "shares", "counts"):
                for ending in ("json", "onnx", "skops"):
                    given = ("--leaves", leaves, "--policy", "policy.yaml")
                    session.leafgate("scrub", file, f"{leaves}.{ending}", *given)
            session.leafgate("scrub", file, "own.json", "--leaves", "shares", "--script")

    for program in PRODUCERS:
        yield Commands(f"files-{program}", partial(convert, program))
        yield Commands(f"files-{program}-audited", partial(read_whole, program))


def hostile_files() -> Iterator[Commands]:
    """Files that mean harm."""

    def run(made: Mapping[str, Callable[[], bytes]], session: Session) -> None:
        for number, make in enumerate(made.values()):
            session.leafgate("convert", session.write(f"model{number}", make()), "out.json")
            (session.folder / f"model{number}").unlink()

    for form, made in LARGE.items():
        yield Commands(f"hostile-{re.sub('[^a-z0-9]+', '-', form.lower())}", partial(run, made))


def fitted(session: Session, model: Any) -> None:
    """Write 300 people, and a model that is fitted on them as `model.json`, whose bytes are the same each time."""
    import skops.io

    rng = np.random.default_rng(5)
    x = np.column_stack([rng.integers(18, 60, 300), rng.integers(0, 6, 300), rng.integers(0, 2, 300)])
    ill = np.where(x[:, 0] / 12 + x[:, 1] * x[:, 2] + rng.normal(0, 1.5, 300) > 5, "yes", "no")
    lines = [",".join([*map(str, row), label]) for row, label in zip(x.tolist(), ill, strict=True)]
    session.write("people.csv", "\n".join(["x0,x1,x2,ill", *lines]) + "\n")
    session.write("fitted.skops", skops.io.dumps(model.fit(x, ill)))
    session.leafgate("convert", "fitted.skops", "model.json")
    (session.folder / "fitted.skops").unlink()


def repairs() -> Iterator[Commands]:
    """Repairs of models that fail a limit."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    def run(model: Any, words: Sequence[str], session: Session) -> None:
        fitted(session, model)
        session.leafgate("init", "people.csv", "--class", "ill", "--model", "model.json", "--out", "policy.yaml")
        document = yaml.safe_load((session.folder / "policy.yaml").read_text())
        document["metrics"] = [{"use": "k_anonymity", "at_least": 10}]
        session.write("policy.yaml", document)
        session.leafgate("audit", "policy.yaml", "--out", "out")
        given = ("--policy", "policy.yaml", "--candidates", "tried.csv", "--effort", "0.2")
        session.leafgate("repair", "model.json", *given, "--out", "new.json", *words)

    tree, forest = DecisionTreeClassifier(max_depth=6, random_state=0), RandomForestClassifier(5, random_state=0)
    for number, (model, words) in enumerate(
        [(tree, ()), (tree, ("--columns", "all", "--script")), (tree, ("--only-cut",)), (forest, ())]
    ):
        yield Commands(f"repair-{number}", partial(run, model, words))


def rebuilds() -> Iterator[Commands]:
    """Tables that are rebuilt from the files of models."""

    def run(file: str, session: Session) -> None:
        audited_file(session, archived("sklearn"), file)
        written = yaml.safe_load((session.folder / "policy.yaml").read_text())
        written["attacks"] = [{"use": "rebuild"}]
        written["metrics"] = [{"use": "reconstructed_cells", "counted": "proved", "at_most": 0.1}]
        session.write("policy.yaml", written)
        session.leafgate("audit", "policy.yaml", "--no-remedies", "--audience", "auditor", "--out", "rebuilt")

    for name in ("tree", "forest-three"):
        yield Commands(f"rebuild-{name}", partial(run, f"{name}.skops"))


# --- Several releases ---

KEY = bytes(range(32))
LEAVE, JOIN = 5, 6


def night(session: Session, number: int, **changes: Any) -> str:
    """Write the table and the policy of a night, of which 5 people left and 6 came since the one before."""
    rng = np.random.default_rng(0)
    ages, towns = rng.integers(0, 10, 200), rng.integers(0, 3, 200)
    ill = rng.random(200) < 0.25 + 0.04 * ages + 0.1 * (towns == 1)
    rows = [f"p{i:03},{ages[i]},{'abc'[towns[i]]},{'yes' if ill[i] else 'no'}" for i in range(200)]
    there = rows[LEAVE * number : 188 + JOIN * number]
    columns = {
        "id": {"role": "key"},
        "age": {"role": "quasi_identifier", "bounds": [0, 9]},
        "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    limits = [{"use": "exposure", "at_most": 0}, {"use": "confidence", "at_most": 0.95}]
    document = {
        "leafgate": 1,
        "name": "nightly",
        "data": {
            "path": session.write(f"{number}.csv", "\n".join(["id,age,town,ill", *there]) + "\n"),
            "columns": columns,
        },
        "build": {"use": "kadet", "k": 5},
        "attacks": [{"use": "joint"}],
        "metrics": [{**limit, "of": "joint"} for limit in limits],
        **changes,
    }
    return session.write(f"{number}.yaml", document)


def several() -> Iterator[Commands]:
    """Releases of two nights that are attacked together, and a ledger of them."""

    def joint(session: Session) -> None:
        session.leafgate("build", night(session, 0), "--out", "0.json")
        releases = [{"path": "0.json", "data": "0.csv"}]
        for audience in ("public", "auditor"):
            session.leafgate("audit", night(session, 1, releases=releases), "--out", audience, "--audience", audience)
        session.leafgate("report", "auditor/report.json", "--to", "html", "--out", "page.html")

    def ledger(session: Session) -> None:
        session.write("key", KEY)
        session.write("roll.key", bytes(range(1, 33)))
        key = ("--key", "key")
        session.leafgate("ledger", "new", "ledger.jsonl", *key)
        add = ("ledger", "add", "ledger.jsonl")
        session.leafgate("audit", night(session, 0), "--no-remedies", "--out", "out0")
        roll = ("--roll", "roll.json", "--roll-key", "roll.key", "--policy", "0.yaml", "--purpose", "joint audits")
        until = ("--controller", "A. Clinic", "--expires", "2999-12-31")
        session.leafgate(*add, "out0/report.json", *key, "--data", "0.csv", "--date", DAY, *roll, *until)
        session.leafgate(*add, "out0/report.json", *key, "--data", "0.csv", "--date", "yesterday")
        given = ("--ledger", "ledger.jsonl", "--ledger-key", "key")
        session.leafgate("audit", night(session, 1), "--out", "out1", *given)
        session.leafgate(*add, "out1/report.json", *key, "--data", "1.csv", "--date", DAY, "--json")
        session.leafgate("ledger", "show", "ledger.jsonl")
        session.leafgate("ledger", "verify", "ledger.jsonl", *key, "--json")
        (session.folder / "0.csv").unlink()
        session.leafgate("audit", "1.yaml", "--no-remedies", *given, "--roll-key", "roll.key")
        session.write("left", "p003\n")
        session.leafgate("ledger", "forget", "roll.json", "--roll-key", "roll.key", "--key-cell-file", "left")
        lines = (session.folder / "ledger.jsonl").read_text().splitlines(keepends=True)
        session.write("cut.jsonl", "".join(lines[1:]))
        session.leafgate("ledger", "verify", "cut.jsonl", *key)
        session.write("changed.jsonl", "".join([*lines[:-1], lines[-1].replace("pass", "fail", 1)]))
        session.leafgate("ledger", "verify", "changed.jsonl", *key)

    yield Commands("joint", joint)
    yield Commands("ledger", ledger)


def statements() -> Iterator[Commands]:
    """Signed statements of each outcome, and how they are verified."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    def run(outcome: str, session: Session) -> None:
        for seed, name in ((1, ""), (2, "other-")):
            key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
            private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            session.write(f"{name}private.pem", private)
            public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            session.write(f"{name}public.pem", public)
        survey(session.folder, OUTCOMES[outcome])
        session.leafgate("audit", "policy.yaml", "--out", "out", "--no-remedies")
        given = ("--key", "private.pem", "--time", "2026-11-22T08:00:00Z", "--out", "signed")
        session.leafgate("attest", "out/report.json", *given)
        session.leafgate("attest", "out/release.json", *given[:-1], "other")
        verify = ("verify", "signed", "--as-of", "2026-11-28", "--key")
        for more in (
            (),
            ("--release", "out/release.json", "--policy", "policy.yaml", "--data", "people.csv"),
            ("--data", "policy.yaml"),
        ):
            session.leafgate(*verify, "public.pem", *more)
        session.leafgate(*verify, "other-public.pem")

    for outcome in OUTCOMES:
        yield Commands(f"statements-{outcome}", partial(run, outcome))


# --- Plugins ---

CELL = "47.77"


@contextlib.contextmanager
def installed(session: Session, folder: Path, *modules: str) -> Iterator[None]:
    """Modules of a folder are plugins of distributions of the same names, as long as this lasts."""
    site = session.folder / "site"
    site.mkdir()
    for module in modules:
        announce(site, module)
    before, loaded = list(sys.path), set(sys.modules)
    sys.path[:0] = [str(site), str(folder)]
    try:
        yield
    finally:
        sys.path[:] = before
        for name in set(sys.modules) - loaded:
            if name.partition(".")[0] in modules:
                del sys.modules[name]


def plugins() -> Iterator[Commands]:
    """Plugins with mistakes, one after another, and packages of others."""

    def mistakes(session: Session) -> None:
        for mistake in MISTAKES:
            if mistake.words[0] != "audit":
                continue
            survey(session.folder, mistake.policy, PEOPLE.replace("\n40,f", f"\n{CELL},f", 1))
            session.write("model.acme", "acme")
            session.write("tried.py", mistake.source)
            words = {"POLICY": "policy.yaml", "OUT": "out"}
            session.leafgate(*(words.get(word, word) for word in mistake.words), "--plugin", "tried.py")
            session.steps[-1]["mistake"] = mistake.name

    def acme(session: Session) -> None:
        folder = TESTS / "third_party" / "acme_leafgate"
        session.write("surprise.yaml", (folder / "surprise.yaml").read_bytes())
        session.write("mortgage.csv", (TESTS.parent / "policies" / "mortgage.csv").read_bytes())
        with installed(session, folder, "acme_leafgate"):
            session.leafgate("plugins")
            session.leafgate("explain", "surprise")
            session.leafgate("audit", "surprise.yaml", "mortgage.csv", "--audience", "auditor", "--out", "out")

    yield Commands("plugins-mistakes", mistakes)
    yield Commands("plugins-acme", acme)


PARTS: Mapping[str, Callable[[], Iterator[Commands]]] = {
    "components": components,
    "validate": validations,
    "init": first_policies,
    "reports": reports,
    "statements": statements,
    "several": several,
    "plugins": plugins,
    "files": files,
    "repairs": repairs,
    "rebuilds": rebuilds,
    "hostile": hostile_files,
}
"""The parts of the record, each of which can be made alone."""


def prepare_terminal() -> None:
    """Let nothing depend on the terminal or the number of processors."""
    os.environ.update({"OMP_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1"})
