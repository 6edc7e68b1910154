"""An audit as Python users have it: its verdict, its findings, its page, and the files that repeat it."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leafgate.api.registry import load_plugins
from leafgate.disclosure.document import document
from leafgate.disclosure.summary import in_short, summary
from leafgate.disclosure.wording import decisions, finding_alarm, finding_state, limit_words, number_words
from leafgate.engine.report import Audit as EngineAudit
from leafgate.errors import InvalidError, OutputError
from leafgate.folders import folder_files
from leafgate.io.files import OWNER_ONLY, make_folder, write_files
from leafgate.kernel.findings import verdict_of
from leafgate.kernel.origin import NO_REMEDIES, Lines, PolicyOrigin
from leafgate.lazy_loading import lazy
from leafgate.policy.sources import write_document
from leafgate.session import results
from leafgate.session.report_formats import chosen_formats

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.disclosure.masking import Audience
    from leafgate.io.json import JsonDocument, JsonObject
    from leafgate.io.tables.frames import FrameTable
    from leafgate.kernel.components import Component
    from leafgate.kernel.findings import Remedy, Verdict
else:
    pd = lazy("pandas")

POLICY_FILE = "policy.yaml"


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditFiles:
    """What an audit in memory was made of, and the files by which it can be repeated.

    Attributes:
        document: the policy, as plain mappings and lists; its files are all below one folder.
        tables: the tables that it names under `data`, by their keys: `path`, `test` and `control`.
        contents: the bytes of its other files, by their names.
        model: the name of the model's file among them.
        search_remedies: whether the audit searched for settings that would pass.
        components: classes of the program, which no plugin offers.
    """

    document: JsonObject
    tables: Mapping[str, FrameTable] = field(repr=False)
    contents: Mapping[str, bytes] = field(repr=False)
    model: str
    search_remedies: bool = True
    components: tuple[type[Component], ...] = ()

    @cached_property
    def _written(self) -> tuple[str, Lines]:
        option = "" if self.search_remedies else f" {NO_REMEDIES}"
        option += " --plugin FILE.py, with the file of its own attacks and metrics" if self.components else ""
        head = (
            "# Written by leafgate.audit. To repeat the audit: leafgate audit policy.yaml" + option,
            "# Outsiders are taken to know every quasi_identifier of everyone: check the roles.",
        )
        return write_document(self.document, POLICY_FILE, head)

    @property
    def policy(self) -> str:
        """The text of the policy."""
        return self._written[0]

    @property
    def origin(self) -> PolicyOrigin:
        """Where the policy states what, as in the file of it."""
        given = () if self.search_remedies else (NO_REMEDIES,)
        return PolicyOrigin(POLICY_FILE, self._written[1], given=given)

    def write(self, folder: Path) -> None:
        """Write all of it into a folder, for its owner only."""
        tables = {self.document["data"][key]: b"".join(table.csv_blocks()) for key, table in self.tables.items()}
        write_files(folder, {POLICY_FILE: self.policy.encode(), **tables}, OWNER_ONLY)
        self.write_contents(folder)

    def write_contents(self, folder: Path) -> None:
        """Write the files that are no tables of people into a folder, for their owner only."""
        contents: dict[str, bytes] = {}
        for name, content in self.contents.items():
            files = folder_files(content)
            contents |= {name: content} if files is None else {f"{name}/{each}": files[each] for each in files}
        for name in contents:
            (folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_files(folder, contents, OWNER_ONLY)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that its owner alone can read, deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="leafgate-") as name:
        yield Path(name)


@dataclass(frozen=True, repr=False)
class Audit(EngineAudit):
    """The outcome of an audit; notebooks display it as the page of its public report, since notebooks are passed on.

    `leafgate.audit` returns it. Its public numbers are masked as those of every public report; what only auditors may
    see needs `audience="auditor"`.

    Attributes:
        report: everything that was found out, unmasked.
        artifact: the release that was audited; None if nothing could be built.
        seconds: how long each step took.
        trusted: the distributions that the policy trusts, whose plugins may draw the report; None where it trusts all.
        warnings: the decisions that the public report asks for, and what is doubtful about the policy, a sentence each.
        files: the files by which the audit is repeated; None where the policy was a file already.
    """

    trusted: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    files: AuditFiles | None = None

    @classmethod
    def of(cls, audit: EngineAudit, trusted: tuple[str, ...] | None = None) -> Self:
        """The same audit, as Python users have it."""
        return cls(audit.report, audit.artifact, audit.seconds, trusted)

    @property
    def verdict(self) -> Verdict:
        """`pass`, `fail` or `inconclusive`: could not tell, so do not publish."""
        return self.report.verdict

    @property
    def passed(self) -> bool:
        """Does every limit hold, or is waived? An inconclusive audit has not passed."""
        return self.verdict == "pass"

    @property
    def exit_code(self) -> int:
        """The exit code of `leafgate audit`: 0 for a pass, 1 for a fail, 3 for an inconclusive audit."""
        return int(self.report.exit_code)

    @property
    def findings(self) -> pd.DataFrame:
        """The findings of the public report, a row each; see `findings_for`."""
        return self.findings_for("public")

    def findings_for(self, audience: Audience) -> pd.DataFrame:
        """The findings as an audience may see them, a row each.

        Args:
            audience: `public`, or `auditor` for exact numbers of few people.

        Returns:
            The columns `finding`, `metric`, `attack`, `secret`, `verdict` (`pass`, `fail`, `inconclusive` or
            `waived`), `value` (a number, or words where it is masked), `limit` in words, `people_past` the limit, and
            `meaning`, a sentence that is empty where the limit holds.

        Raises:
            InvalidError: there is no such audience.
        """
        _refuse_unknown_audience(audience)
        rows = [_row(finding) for finding in self._document(audience)["findings"]]
        return pd.DataFrame(rows, columns=list(FINDING_COLUMNS), dtype=object)

    @property
    def remedies(self) -> list[Remedy]:
        """What can be done about findings that fail or are inconclusive, the best first; each once.

        Of a model in memory the texts say what to do in Python, with `leafgate.repair` and the arguments of
        `leafgate.audit`. The report, and the files that `save` writes, name the commands.
        """
        listed: list[Remedy] = []
        for finding in self.report.findings:
            for remedy in finding.remedies if finding.needs_action else ():
                if (remedy.text, remedy.place) not in {(other.text, other.place) for other in listed}:
                    listed.append(remedy)
        if self.files is None:
            return listed
        from leafgate.session.python_text import remedy_in_python

        return [remedy_in_python(remedy) for remedy in listed]

    @property
    def in_short(self) -> dict[str, list[str]]:
        """The report in a few sentences: who is affected, how, what to change, and what that costs in use.

        Of an audit that passes: why, and what that does not mean. They are those of the public report.
        """
        return dict(in_short(self._displayed()))

    def show(self) -> None:
        """Display the page of the public report in a notebook, and print its text elsewhere."""
        page = self._repr_html_() if _in_notebook() else None
        asked = decisions(self.report.notes)  # which the page has
        for warning in self.warnings:
            if warning not in asked:
                print(f"warning: {warning}")
        if page is None:
            print(summary(self._displayed()), end="")
            return
        shown = lazy("IPython.display")
        shown.display(shown.HTML(page))

    def save(self, folder: str | Path, audience: Audience = "public", formats: Collection[str] = ("html",)) -> None:
        """Write the files that `leafgate audit --out FOLDER --to FORMAT` writes, in place of those of earlier audits.

        Args:
            folder: where `report.json`, `release.json`, `timings.json` and the formats go; made if it is not there.
            audience: `public`; or `auditor` for all numbers, in files that only their owner can read.
            formats: the formats of the report beside JSON, such as `html`, `markdown`, `sarif`, `junit` or `text`.

        Raises:
            InvalidError: no plugin offers a format of that name, there is no such audience, or the folder cannot be
                written to.
        """
        _refuse_unknown_audience(audience)
        plugins, out = load_plugins(self.trusted), Path(folder)
        try:
            chosen = chosen_formats(plugins, [formats] if isinstance(formats, str) else formats)
        except InvalidError as error:
            raise type(error).listing(replace(problem, location="formats") for problem in error.problems) from None
        with results.results_folder(out):
            if (out / results.RELEASE).exists() and not results.is_release_file(out / results.RELEASE):
                raise OutputError(
                    "is no release, and would be lost", place=str(out / results.RELEASE), remedy="name another folder"
                )
            results.remove_results(out, results.result_files(plugins))
            results.write_results(self, audience, out, chosen)

    def to_policy(self, folder: str | Path | None = None) -> str:
        """The policy by which `leafgate audit` repeats this audit, as YAML.

        With a folder, the policy is written there as `policy.yaml`, and beside it what it names: the table
        `people.csv`, the model's file, and the tables of test and control people. Only their owner can read them. The
        command `leafgate audit FOLDER/policy.yaml` then ends in the same report.

        Args:
            folder: where the files go; made if it is not there. None to write nothing.

        Returns:
            The text of the policy.

        Raises:
            InvalidError: the audit is by a policy that is a file already, or the folder cannot be written to.
        """
        if self.files is None:
            remedy = "run leafgate audit on the policy that was audited"
            raise InvalidError("the audit was made by a policy of its own", place="to_policy", remedy=remedy)
        if folder is not None:
            make_folder(Path(folder))
            self.files.write(Path(folder))
        return self.files.policy

    def _document(self, audience: Audience) -> JsonDocument:
        return document(self.report, audience)

    def _repr_html_(self) -> str | None:

        from leafgate.session.notebook_display import report_frame

        return report_frame(self._displayed(), load_plugins(self.trusted))

    def _displayed(self) -> JsonDocument:
        """The public report as it is displayed: of a model in memory its remedies are in the words of Python."""
        if self.files is None:
            return document(self.report, "public")
        from leafgate.session.python_text import report_in_python

        return document(report_in_python(self.report), "public")


FINDING_COLUMNS = (
    *("finding", "metric", "attack", "secret", "verdict", "value", "limit", "people_past", "meaning"),
)  # fmt: skip


def _refuse_unknown_audience(audience: object) -> None:
    if audience not in ("public", "auditor"):
        raise InvalidError("is neither public nor auditor", place="audience", remedy="give one of the two")


def _row(finding: JsonDocument) -> dict[str, Any]:
    """One finding of a report document, masked numbers in words."""
    state = finding_state(finding)
    return {
        "finding": finding["id"],
        "metric": finding["metric"],
        "attack": finding["attack"],
        "secret": finding["secret"],
        "verdict": state if state == "waived" else verdict_of([state]),
        "value": _number(finding["value"]),
        "limit": limit_words(finding),
        "people_past": _number(finding["beyond"]),
        "meaning": finding_alarm(finding),
    }


def _number(value: object) -> object:
    return number_words(value) if isinstance(value, Mapping) else value


def _in_notebook() -> bool:
    """Does IPython display pages here? In a terminal it does not."""
    import sys

    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_shell is None else get_shell()
    return hasattr(shell, "kernel")


def with_files(audit: Audit, files: AuditFiles | None, warnings: tuple[str, ...] = ()) -> Audit:
    """The audit with what repeats it, and with the decisions that its report asks for and warnings about its policy."""
    return replace(audit, files=files, warnings=(*decisions(audit.report.notes), *warnings))
