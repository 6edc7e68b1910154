"""Typical mistakes of people who write plugins: the source of each plugin, how it is used, and what leafgate says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CELL = "47.77"
"""A cell of the survey that stands nowhere else."""
HEAD = '''"""A plugin with a mistake."""
import logging, os, sys, time, warnings
from typing import Annotated, Literal
import numpy as np
import pandas as pd
import typer
from pydantic import Field
from leafgate.api import (
    AtLeast, AttackModel, DataSource, GroupBelief, Metric, ReleaseAtLeast, Release,
    ReportFormat, Score, SecretBelief, TreeBuilder, attack, hookimpl, person_metric, release_metric,
)
leafgate_api = ">=3,<4"

def believed(known, rows=None, **more):
    n = len(known.records) if rows is None else rows
    even = pd.DataFrame(0.5, index=range(n), columns=["no", "yes"])
    return SecretBelief("ill", even, **{"equivalence_class": np.arange(n), **more})
'''


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        name: what is wrong.
        says: what the one message says.
        source: the plugin's module.
        policy: what the policy that uses it changes in that of the survey.
        words: the command that meets the mistake; POLICY and OUT stand for the policy and a folder.
        code: its exit code.
        broken: is the plugin listed as broken?
        healthy: the exit code of an audit that uses nothing of the plugin.
    """

    name: str
    says: str
    source: str
    policy: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ("audit", "POLICY")
    code: int = 3
    broken: bool = False
    healthy: int = 0

    @property
    def row(self) -> str:
        """The row of the mistake in the documentation, without the plugin's name and version."""
        says = re.sub(r"^\w+ \(PLUGIN\)(: )?", "", self.says).strip()
        return f"| `` {says} `` | {self.name} |" if "`" in says else f"| `{says}` | {self.name} |"


SPY: dict[str, Any] = {"attacks": [{"use": "linking"}, {"use": "spy"}]}
ODD: dict[str, Any] = {"metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "odd", "at_least": 0.1}]}
OWN: dict[str, Any] = {"build": {"use": "own"}}


def spy(body: str, variables: str = "", signature: str = "self, release, known") -> str:
    """A plugin with an attack."""
    return f"""{HEAD}
class Spy(AttackModel):
    use: Literal["spy"] = "spy"
    {variables}

    def infer({signature}):
        {body}

@hookimpl
def attack_models():
    return [Spy]
"""


def odd(body: str, variables: str = "", base: str = "AtLeast", signature: str = "self, case") -> str:
    """A plugin with a metric."""
    return f"""{HEAD}
class Odd({base}):
    use: Literal["odd"] = "odd"
    judges = frozenset({{GroupBelief, SecretBelief}})
    {variables}

    def score({signature}):
        {body}

@hookimpl
def privacy_metrics():
    return [Odd]
"""


def own(body: str, signature: str = "self, table, rng") -> str:
    """A plugin with a builder."""
    return f"""{HEAD}
class Own(TreeBuilder):
    use: Literal["own"] = "own"

    def build({signature}):
        {body}

@hookimpl
def tree_builders():
    return [Own]
"""


def hook(name: str, body: str, before: str = "") -> str:
    """A plugin with one hook."""
    return f"{HEAD}\n{before}\n\n@hookimpl\ndef {name}():\n    {body}\n"


def at_load(name: str, says: str, source: str, policy: Mapping[str, Any] = SPY, **more: Any) -> Mistake:
    """A mistake for which the plugin is broken."""
    return Mistake(name, says, source, policy, broken=True, **more)


GOOD = "return [believed(known)]"
AT_LOAD: list[Mistake] = [
    at_load("import of what is not installed", "No module named 'acme_solver'", "import acme_solver\n"),
    at_load("syntax error", "SyntaxError: ", "def attack_models(:\n"),
    at_load("exit while it is imported", "SystemExit, line 1", "raise SystemExit(1)\n"),
    at_load(
        "interface not stated",
        "does not state its interface: write `leafgate_api = ",
        spy(GOOD).replace("leafgate_api =", "api ="),
    ),
    at_load(
        "made for an older interface",
        "made for leafgate.api >=1,<2, this is 3.0",
        spy(GOOD).replace(">=3,<4", ">=1,<2"),
    ),
    at_load(
        "interface is a number", "`leafgate_api` is no range of versions such as", spy(GOOD).replace('">=3,<4"', "2")
    ),
    at_load("hook without its mark", "attack_models() has no `@hookimpl`", spy(GOOD).replace("@hookimpl", "")),
    at_load(
        "misspelt hook",
        "'attack_model' is no hook: did you mean 'attack_models'?",
        spy(GOOD).replace("attack_models", "attack_model"),
    ),
    at_load(
        "hook with arguments",
        "Argument(s) {'config'} are declared in the hookimpl",
        spy(GOOD).replace("attack_models()", "attack_models(config)"),
    ),
    at_load(
        "hook without return",
        "attack_models() returns None where a list belongs",
        spy(GOOD).replace("return [Spy]", "[Spy]"),
    ),
    at_load(
        "hook returns a class",
        "attack_models() returns the class Spy where a list belongs",
        spy(GOOD).replace("return [Spy]", "return Spy"),
    ),
    at_load(
        "hook returns objects",
        "an object of the type Spy, which is no AttackModel class",
        spy(GOOD).replace("return [Spy]", "return [Spy()]"),
    ),
    at_load("hook is a generator that raises", "ZeroDivisionError", spy(GOOD).replace("return [Spy]", "yield 1 / 0")),
    at_load(
        "component by the wrong hook",
        "attack_models() offers the class Odd, which is no AttackModel class",
        odd("return 1").replace("privacy_metrics", "attack_models"),
    ),
    at_load(
        "infer without known",
        "`infer` cannot be called as `def infer(self, release, known)`",
        spy(GOOD, signature="self, release"),
    ),
    at_load(
        "score with more arguments",
        "`score` cannot be called as `def score(self, case)`",
        odd("return 1", signature="self, case, limit"),
        ODD,
    ),
    at_load(
        "build without rng",
        "`build` cannot be called as `def build(self, table, rng)`",
        own("pass", "self, table"),
        OWN,
    ),
    at_load("needs is a text", "`needs` must be a set of words, such as frozenset({", spy(GOOD, 'needs = "people"')),
    at_load(
        "unknown need",
        "`needs` must be a set of words",
        spy(GOOD, 'needs = {"luck"}'),
    ),
    at_load("unknown reads", "`reads` must be a set of words", spy(GOOD, 'reads = {"exakt"}')),
    at_load("unknown access", "`access_levels` must be a set of words", spy(GOOD, 'access_levels = {"all"}')),
    at_load("needs is a number", "`needs` must be a set of words", spy(GOOD, "needs = 3")),
    at_load(
        "use without its name",
        'Spy needs a name: use: Literal["..."] = "..."',
        spy(GOOD).replace('Literal["spy"]', "str"),
    ),
    at_load(
        "option without a type",
        "A non-annotated attribute was detected: `rounds = 3`",
        spy(GOOD, "rounds = 3"),
    ),
    at_load("metric without a direction", "derive it from AtLeast or AtMost", odd("return 1", base="Metric"), ODD),
    at_load(
        "judges is a tuple of texts",
        "`judges` must be a frozenset of types of belief",
        odd("return 1", 'judges = ("SecretBelief",)'),
        ODD,
    ),
    at_load("unknown unit", "`unit` must be one of", odd("return 1", 'unit = "pounds"'), ODD),
    at_load(
        "score_range the wrong way round",
        "`score_range` must be its lowest and its highest score",
        odd("return 1", "score_range = (1.0, 0.0)"),
        ODD,
    ),
    at_load(
        "score_range is a text",
        "`score_range` must be its lowest and its highest score",
        odd("return 1", 'score_range = "0 to 1"'),
        ODD,
    ),
    at_load("place that names nothing", "Gone", hook("attack_models", 'return {"spy": "os.path:Gone"}')),
    at_load("commands raise", "RuntimeError, line", hook("commands", 'raise RuntimeError("no terminal")')),
    at_load(
        "command that is no typer app",
        "commands() offers an object of the type function, which is no typer app",
        hook("commands", "return [print_all]", "def print_all(): pass"),
    ),
    at_load(
        "command with an impossible option",
        "commands() offers a command that cannot be made of its function",
        hook("commands", "return [app]", "app = typer.Typer()\n\n@app.command()\ndef show(x: 'Nowhere'): pass"),
    ),
    at_load(
        "report format with a folder in its file name",
        "the filename 'out/report.txt' is not 'report.'",
        hook(
            "report_formats",
            "return [ReportFormat(name='acme', filename='out/report.txt', media_type='text/plain', render=print)]",
        ),
    ),
    at_load(
        "decorator without its name",
        'write `@attack("spy")` above `def spy`',
        HEAD + "\n@attack\ndef spy(release, known):\n    return []\n",
    ),
    at_load(
        "decorated function with an option of no type",
        "the option 'rounds' needs a type, such as `rounds: int`",
        HEAD + '\n@attack("spy")\ndef spy(release, known, *, rounds=3):\n    return []\n',
    ),
    at_load(
        "decorated function without known",
        "spy takes (release, known), and options behind a `*`",
        HEAD + '\n@attack("spy")\ndef spy(release):\n    return []\n',
    ),
    at_load(
        "decorator with an unknown fact",
        "AttackModel has no class variable 'need'",
        HEAD + '\n@attack("spy", need={"people"})\ndef spy(release, known):\n    return []\n',
    ),
]
LEAK = 'cell = next(str(each) for each in known.records["age"] if str(each) == "47.77")'
"""Takes a cell of the table."""
AMONG: dict[str, Any] = {"metrics": [{"use": "k_anonymity", "at_least": 3, "of": "linking"}]}
FORMAT = "return [ReportFormat(name='acme', filename='report.acme', media_type='text/plain', render=render)]"
TO_ACME = ("audit", "POLICY", "--out", "OUT", "--to", "acme")
CALLED = "(PLUGIN): "
"""Stands in messages for the distribution and its version."""


def in_attack(name: str, says: str, body: str, limit: float | None = None, **more: Any) -> Mistake:
    """A mistake of an attack, whose limit is on another attack."""
    attacks = [{"use": "linking"}, {"use": "spy", **({} if limit is None else {"time_limit": limit})}]
    return Mistake(name, says, spy(body), {"attacks": attacks, **AMONG}, **more)


def in_metric(name: str, says: str, score: str, **given: str) -> Mistake:
    """A mistake of a metric, whose score is the only thing that is wrong."""
    return Mistake(name, f"odd {CALLED}{says}", odd(f"return {score}", **given), ODD)


ROWS = "index=range(len(case.table))"
COMMAND = "app = typer.Typer()\n\n@app.command()\ndef demo():\n    pass\n\n@app.command()\ndef acme():\n    pass"
IN_RUN: list[Mistake] = [
    in_attack(
        "infer returns None", f"spy {CALLED}`infer` returned None where a list of beliefs belongs", "believed(known)"
    ),
    in_attack(
        "infer returns one belief",
        f"spy {CALLED}`infer` returned an object of the type SecretBelief where a list of beliefs belongs",
        "return believed(known)",
    ),
    in_attack("infer returns a table", f"spy {CALLED}returned a str where a ", "return believed(known).posterior"),
    in_attack("infer returns nothing", f"spy {CALLED}returned no belief", "return []"),
    in_attack(
        "two beliefs about one secret",
        f"spy {CALLED}returned two beliefs about one secret",
        "return [believed(known), believed(known)]",
    ),
    in_attack(
        "probabilities do not sum to 1",
        f"spy {CALLED}the rows of its posterior do not sum to 1",
        "b = believed(known); b.posterior.iloc[:] = 0.7; return [b]",
    ),
    in_attack(
        "probabilities are missing",
        f"spy {CALLED}its posterior needs one row of probabilities for each record",
        "b = believed(known); b.posterior.iloc[0] = np.nan; return [b]",
    ),
    in_attack(
        "a row too few",
        f"spy {CALLED}its belief needs a whole number for each of 9 records in `equivalence_class`",
        "return [believed(known, len(known.records) - 1)]",
    ),
    in_attack(
        "classes of other rows",
        f"spy {CALLED}its belief needs a whole number for each of 9 records in `equivalence_class`",
        "return [believed(known, equivalence_class=np.arange(3))]",
    ),
    in_attack(
        "columns that are no values",
        f"spy {CALLED}the columns of its posterior are not the secret's domain, in order",
        'b = believed(known); b.posterior.columns = ["sick", "well"]; return [b]',
    ),
    in_attack(
        "unknown secret",
        f"spy {CALLED}its belief is about a column the policy does not have",
        'import dataclasses; return [dataclasses.replace(believed(known), secret="illness")]',
    ),
    in_attack(
        "evidence is no JSON",
        f"spy {CALLED}its evidence is not what JSON can say",
        "return [believed(known, evidence={'rows': known.records})]",
    ),
    in_attack(
        "huge evidence",
        f"spy {CALLED}its evidence has ",
        "return [believed(known, evidence={'numbers': list(range(2_000_000))})]",
    ),
    in_attack(
        "evidence with a key of the core",
        f"spy {CALLED}its evidence has the key `worst`, which is the core's",
        "return [believed(known, evidence={'worst': 1})]",
    ),
    in_attack(
        "knowledge that is not declared",
        "spy (PLUGIN) failed: KeyError, line ",
        'known.distribution["ill"]["yes"]; return [believed(known)]',
    ),
    in_attack(
        "error whose text has a cell", "spy (PLUGIN) failed: ValueError, line ", f"{LEAK}; raise ValueError(cell)"
    ),
    in_attack(
        "prints, warns of and logs a cell",
        "",
        f"{LEAK}; print(cell); print(cell, file=sys.stderr); warnings.warn(cell); logging.error(cell); {GOOD}",
        code=0,
    ),
    in_attack(
        "writes into the table that it is given",
        "",
        f'known.records["age"] = 0.0; {GOOD}',
        code=0,
    ),
    in_attack("writes into what may not be written", "spy (PLUGIN) failed: ValueError, line ", "known.weight[:] = 99"),
    in_attack("ends the program", "spy (PLUGIN) failed: SystemExit, line ", "sys.exit(0)"),
    in_attack("interrupts the program", "", "raise KeyboardInterrupt", code=130),
    in_attack("ends its process", f"spy {CALLED}its process ended without an answer", "os._exit(0)", 60),
    in_attack("is slow", f"spy {CALLED}was ended after its 0.3 seconds (`time_limit`)", "time.sleep(600)", 0.3),
    Mistake(
        "an option that the class has not",
        "attacks[0].rounds: unknown key (known: use, name, knows, time_limit, access)",
        spy(GOOD),
        {"attacks": [{"use": "spy", "rounds": 3}]},
        code=2,
    ),
    in_metric("score returns None", "`score` returned None where a Score belongs", "None"),
    in_metric("score returns a number", "`score` returned an object of the type float where a Score belongs", "0.5"),
    in_metric("scores are missing", "returned a number that is not finite", f"Score(people=pd.Series(np.nan, {ROWS}))"),
    in_metric(
        "scores are infinite", "returned a number that is not finite", f"Score(people=pd.Series(np.inf, {ROWS}))"
    ),
    in_metric(
        "a score too few",
        "returned numbers of shape (16,), wanted (17,)",
        "Score(people=pd.Series(0.5, index=range(len(case.table) - 1)))",
    ),
    in_metric(
        "scores outside of score_range",
        "returned a number outside of its `score_range`, 0 to 1",
        f"Score(people=pd.Series(2.0, {ROWS}))",
        variables="score_range = (0.0, 1.0)",
    ),
    in_metric(
        "a metric of the release returns people's scores",
        "returned a Score that needs a `value` and no `people` (report it to the authors of the plugin)",
        f"Score(people=pd.Series(2.0, {ROWS}))",
        variables="judges = frozenset()",
        base="ReleaseAtLeast",
    ),
    *(
        Mistake(
            f"{name} raises",
            "odd (PLUGIN) failed: ValueError, line ",
            odd(
                f"return Score(people=pd.Series(0.5, {ROWS}))",
                variables=f"def {given}:\n        raise ValueError({CELL})",
            ),
            ODD,
        )
        for name, given in (
            ("missing_requirements", "missing_requirements(self, policy)"),
            ("holds", "holds(self, score)"),
            ("plain_failure_of", "plain_failure_of(self, secret)"),
        )
    ),
    Mistake("build returns None", "own (PLUGIN) returned a NoneType where a Release belongs", own("pass"), OWN),
    Mistake("build returns a mapping", "own (PLUGIN) returned a dict where a Release belongs", own("return {}"), OWN),
    Mistake("build raises", "own (PLUGIN) failed: KeyError, line ", own("return table.frame['nobody']"), OWN),
    Mistake(
        "report format returns a text",
        "the report format 'acme' of PLUGIN returned str, not bytes",
        hook("report_formats", FORMAT, "def render(document, attachments): return 'text'"),
        words=TO_ACME,
        code=4,
    ),
    Mistake(
        "report format raises",
        "the report format 'acme' of PLUGIN raised KeyError in render, line ",
        hook("report_formats", FORMAT, "def render(document, attachments): return document['nothing']"),
        words=TO_ACME,
        code=4,
    ),
    Mistake(
        "reader raises",
        "is not what its format says (KeyError in the reader 'acme')",
        hook(
            "model_readers",
            "return [ModelReader(name='acme', sniff=lambda head: head.startswith(b'acme'), read=read, max_bytes=1000)]",
            "from leafgate.readers import ModelReader\n\ndef read(content, place):\n    return {}['trees']",
        ),
        {"build": {"use": "published", "path": "model.acme"}},
        code=2,
    ),
    Mistake(
        "data source returns a list",
        "the data source 'acme' returned list, and no DataFrame",
        hook(
            "data_sources",
            "return [Acme]",
            'class Acme(DataSource):\n    use: Literal["acme"] = "acme"\n    suffixes = frozenset({".acme"})\n\n'
            "    def read(self, file):\n        return []",
        ),
        {"data.path": "model.acme", "data.source": {"use": "acme"}},
    ),
    Mistake(
        "name of a bundled attack",
        "both offer 'linking' (uninstall one, or list the plugins you trust under `plugins:`)",
        spy(GOOD).replace('"spy"', '"linking"'),
        code=2,
        healthy=2,
    ),
    Mistake(
        "name of a bundled command",
        "PLUGIN offers a command 'demo' that exists already",
        hook("commands", "return [app]", COMMAND),
        words=("--help",),
        code=0,
    ),
    Mistake(
        "name of a bundled report format",
        "(MODULE) both offer the report format 'html'",
        hook("report_formats", FORMAT.replace("acme'", "html'", 1).replace("render=render", "render=print")),
        words=("audit", "POLICY", "--out", "OUT", "--to", "html"),
        code=2,
    ),
]
MISTAKES = [*AT_LOAD, *IN_RUN]
