"""The pages of the desk, and what their forms do."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from leafgate.commands.desk import decisions
from leafgate.commands.desk.cases import (
    MAX_LISTED,
    POLICY,
    ROLES,
    Answer,
    Case,
    Desk,
    files_below,
    now,
    open_below,
    who,
)
from leafgate.commands.desk.jobs import LIMIT_SECONDS, Job, Kind, Line, jobs_of
from leafgate.commands.desk.overview import histories, overview, overview_csv
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.commands.desk.questions import DOUBT, QUESTIONS, CaseInQuestion, Question
from leafgate.commands.desk.results import is_usable, job_title, remedies_for, result_context, settings_of
from leafgate.commands.desk.server import REPORT_CSP, Gate, Secrets, message_page
from leafgate.commands.desk.words import words
from leafgate.errors import InvalidError, LeafgateError, Problem, raising_line
from leafgate.io.json import readable
from leafgate.io.yaml import yaml_flow
from leafgate.kernel.paths import parse_path
from leafgate.policy.sources import load_extends_chain
from leafgate.reports.html import environment as report_environment
from leafgate.reports.html import html
from leafgate.reports.mapping import bundled_frameworks, mapping
from leafgate.reports.sheet import sheet

MAX_FIELDS = 10_000
"""Fields of a form: a table may have some thousands of columns."""
STATIC = {
    "desk.css": ("text/css", "commands/desk/static/desk.css"),
    "desk.js": ("text/javascript", "commands/desk/static/desk.js"),
    "report.css": ("text/css", "reports/templates/style.css", "reports/templates/marks.css"),
}
"""The type and the parts of what pages load."""
OF_LIMITS = frozenset({"use", "name", "secret", "at_least", "at_most", "insiders"})
WITHOUT_CELLS = OF_LIMITS | {"role", "varies", "missing_is_value", "leaves", "measure"}
"""Keys of a column, of a limit and of what is published that hold no value of the table."""
CANNOT_START = "Cannot start yet"
ANEW = "The policy is then written anew, and every other question is asked again. Save once more if you want that."
DONE, NOT_NEEDED, TO_ANSWER, FOR_REQUESTER, PROBLEM = "Done", "Not needed", "To answer", "For the requester", "Problem"
CHECK = "Check again"
NOBODY = decisions.Decider()


@dataclass(frozen=True)
class Visit:
    """A request that was let in: its path's parts, the form that it sends, and what it asks for."""

    request: Request
    form: FormData = field(default_factory=FormData)

    def text(self, name: str) -> str:
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def asked(self, name: str) -> str:
        return str(self.request.query_params.get(name, ""))

    def part(self, name: str) -> str:
        return str(self.request.path_params[name])


@dataclass(frozen=True)
class Task:
    """A line of the task list."""

    group: str
    words: str
    state: str
    address: str = ""


@cache
def environment() -> Environment:
    """The templates of pages, which share parts with those of reports, and escape every value as they do."""
    reports = report_environment()
    loaders = [PackageLoader("leafgate.commands.desk", "templates"), PackageLoader("leafgate.reports", "templates")]
    return reports.overlay(loader=ChoiceLoader(loaders))


def _without_cells(value: Any) -> Any:
    """A value of the policy without values of the table, which few people may have."""
    if not isinstance(value, dict):
        return value
    return {key: inner if key in WITHOUT_CELLS else "…" for key, inner in value.items()}


def _asked(case: Case) -> CaseInQuestion:
    return CaseInQuestion(case.facts, case.policy)


def _at(job: Job) -> str:
    """The address of what a job came to."""
    return f"/cases/{job.case.name}/runs/{job.number}"


class Pages:
    """Answers requests that the gate let in."""

    def __init__(self, desk: Desk, line: Line, given: Secrets, decider: decisions.Decider = NOBODY) -> None:
        self._desk, self._line, self._secrets, self._decider = desk, line, given, decider

    def routes(self) -> list[Route]:
        """The addresses below the run's own path."""
        case, run = "/cases/{case}", "/cases/{case}/runs/{run:int}"
        listed: list[tuple[str, str, Callable[[Visit], Response]]] = [
            ("GET", "/", self.show_cases),
            ("GET", "/new", self.show_new),
            ("POST", "/new", self.make_case),
            ("GET", "/security", self.show_security),
            ("GET", "/overview", self.show_overview),
            ("GET", "/ledger", self.show_ledger),
            ("GET", case, self.show_case),
            ("GET", f"{case}/files", self.show_files),
            ("GET", f"{case}/questions/{{question}}", self.show_question),
            ("POST", f"{case}/questions/{{question}}", self.answer_question),
            ("GET", f"{case}/policy", self.show_policy),
            ("POST", f"{case}/policy", self.change_policy),
            ("GET", f"{case}/requester", self.show_requester),
            ("GET", f"{case}/check", self.show_check),
            ("POST", f"{case}/jobs", self.ask_job),
            ("GET", run, self.show_run),
            ("GET", f"{run}/state", self.show_state),
            ("GET", f"{run}/report", self.show_report),
            ("POST", f"{run}/stop", self.stop_run),
            ("POST", f"{run}/use", self.use_file),
            ("GET", f"{run}/decision", self.show_decision),
            ("POST", f"{run}/decision", self.decide),
            ("GET", f"{run}/sheet", self.show_sheet),
            ("GET", "/static/{name}", self.show_static),
        ]
        root = self._secrets.root
        return [Route(f"{root}{path}", self._endpoint(answer), methods=[method]) for method, path, answer in listed]

    def _endpoint(self, answer: Callable[[Visit], Response]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                if request.method != "POST":
                    return await run_in_threadpool(answer, Visit(request))
                async with request.form(max_files=len(ROLES), max_fields=MAX_FIELDS) as form:
                    visit = Visit(request, form)
                    if not secrets.compare_digest(visit.text("csrf").encode(), self._secrets.csrf.encode()):
                        return message_page("This form is not of this desk. Nothing was done.", status=403)
                    return await run_in_threadpool(answer, visit)
            except HTTPException:
                raise
            except LeafgateError as error:
                lines = [*map(str, error.problems)]
                name = request.path_params.get("case", "")
                return self._page("message", status=400, title="There is a problem", lines=lines, name=name)
            except Exception as error:
                print(f"leafgate desk: {raising_line(error)}", file=sys.stderr)
                lines = ["What you sent may not be saved; all that was saved before is. The terminal says where."]
                return self._page("message", status=500, title="leafgate made a mistake.", lines=lines, name="")

        return endpoint

    def _page(self, template: str, case: Case | None = None, status: int = 200, **context: Any) -> Response:
        """A page, whose template has its title where none is given."""
        seen = "" if case is None else case.state_digest
        shared = {"root": self._secrets.root, "csrf": self._secrets.csrf, "case": case, "seen": seen, "who": who()}
        context["void"] = [] if case is None else [found for found in decisions.decided_in(jobs_of(case)) if found.void]
        page = environment().get_template(f"{template}.html.j2")
        return HTMLResponse(page.render({**shared, "has_error": status == 422, **context}), status_code=status)

    def _to(self, address: str) -> Response:
        return RedirectResponse(f"{self._secrets.root}{address}", status_code=303)

    def _case(self, visit: Visit) -> Case:
        case = self._desk.case(visit.part("case"))
        if case is None:
            raise HTTPException(404)
        if visit.request.method == "POST" and visit.text("seen") != case.state_digest:
            raise InvalidError("Changed in another window. Nothing was saved.")
        return case

    def _question(self, visit: Visit, case: Case) -> Question:
        found = [each for each in QUESTIONS if each.name == visit.part("question")] if case.is_read else []
        if not found or self._question_state(case, found[0]) == NOT_NEEDED:
            raise HTTPException(404)
        return found[0]

    def _job(self, visit: Visit, case: Case) -> Job:
        found = [job for job in jobs_of(case) if str(job.number) == visit.part("run")]
        if not found:
            raise HTTPException(404)
        return found[0]

    # Cases

    def show_cases(self, visit: Visit) -> Response:
        wanted = visit.asked("q").casefold()
        rows = [row for row in self._listed() if wanted in f"{row[0].name} {row[1]} {row[3]}".casefold()]
        return self._page("cases", rows=rows, query=visit.asked("q"))

    def _listed(self) -> Iterator[tuple[Case, str, str, str]]:
        """Every case with its state in words, when it was changed, and who began it."""
        for case in self._desk.cases():
            by = changed = ""
            try:
                asked = [(job.record.asked.isoformat(), job.record.by) for job in jobs_of(case)]
                answered = [(each.at, each.by) for each in case.record.answers.values()]
                changed, by = max([*asked, *answered], default=("", ""))
                state = self._state(case)
            except Exception as error:  # a case whose files are broken hides no other
                place = error.problems[0].location if isinstance(error, LeafgateError) else "a file"
                state = f"Problem: {place} cannot be read"
            yield case, state, changed, by

    def _state(self, case: Case) -> str:
        """The state of a case in a few words; never the words of a decision."""
        jobs = jobs_of(case)
        if waiting := [job for job in jobs if job.is_open]:
            return self._job_words(waiting[0])
        if decided := decisions.decided_in(jobs):
            return self._job_words(decided[-1].job)
        if case.problems:
            return "Problem: the policy is not valid"
        if not case.is_read:
            is_failed = bool(jobs) and jobs[-1].kind == "read" and jobs[-1].state == "failed"
            return "Problem: the files could not be read" if is_failed else "New"
        if audits := self._audits(case):
            return self._job_words(audits[-1])
        to_answer = sum(task.state == TO_ANSWER for task in self._question_tasks(case))
        return f"{to_answer} to answer" if to_answer else "Ready to run"

    def _audits(self, case: Case) -> list[Job]:
        """The audits of what the case's policy asks for, those whose result is current last."""
        audits = [job for job in jobs_of(case) if job.is_of_case]
        return sorted(audits, key=lambda job: job.report is not None and not job.differences)

    def _job_words(self, job: Job) -> str:
        """The state of a job in a few words."""
        if job.is_open:
            return self._place(job)
        if decisions.has_decisions(job) and (found := decisions.decided_about(job)):
            return str(words()["decided"][found.state])
        if job.state != "done":
            return "Stopped" if job.state == "stopped" else "No result"
        report = None if job.kind == "read" else job.report
        late = "Out of date: " if job.differences else ""
        return "Read" if report is None else f"{late}{words()['in_short'][report['verdict']]}"

    def _place(self, job: Job) -> str:
        if job.state == "running":
            return f"Running (step {len(job.steps_begun)})" if job.steps_begun else "Running"
        waiting = [(each.case.name, each.number) for each in self._line.waiting()]
        place = waiting.index((job.case.name, job.number)) + 1 if (job.case.name, job.number) in waiting else 1
        return f"In line ({place})"

    def show_new(self, visit: Visit, problems: Mapping[str, str] | None = None) -> Response:
        listed = list(islice(files_below(self._desk.folder), MAX_LISTED))
        given = {name: visit.text(name) for name in ("name", *ROLES)}
        status = 422 if problems else 200
        return self._page(
            "new", status=status, files=words()["files"], listed=listed, given=given, problems=problems or {}
        )

    def make_case(self, visit: Visit) -> Response:
        """Copy the chosen or uploaded files into a new folder, and have them read."""
        with ExitStack() as opened:
            chosen: dict[str, tuple[str, Any]] = {}
            problems: dict[str, str] = {}
            for role in ROLES:
                upload, path = visit.form.get(f"{role}_file"), visit.text(role)
                if isinstance(upload, UploadFile) and upload.filename:
                    chosen[role] = upload.filename, upload.file
                elif path:
                    try:
                        content = opened.enter_context(open_below(self._desk.folder, path))
                        chosen[role] = path.rpartition("/")[2], content
                    except InvalidError as error:
                        problems[role] = str(error.problems[0].message)
            if "table" not in chosen and "table" not in problems:
                problems["table"] = "Choose the table, or upload it."
            if problems:
                return self.show_new(visit, problems)
            try:
                case = self._desk.new_case(visit.text("name"))
            except InvalidError as error:
                return self.show_new(visit, {"name": f"{error.problems[0].message}: {error.problems[0].hint}"})
            files_ = {role: case.add_file(role, name, content) for role, (name, content) in chosen.items()}
        case = case.save(files=files_)
        return self._to(f"/cases/{case.name}/runs/{self._line.add(case, 'read').number}")

    def show_security(self, visit: Visit) -> Response:
        return self._page("security", folder=self._desk.folder.name)

    def show_overview(self, visit: Visit) -> Response:
        """What a service sees of all cases, as a page or as a table in a file."""
        rows = overview((case, state) for case, state, *_ in self._listed())
        if visit.asked("as") == "csv":
            return Response(overview_csv(rows), media_type="text/csv")
        return self._page("overview", rows=rows, headings=words()["overview"])

    def show_ledger(self, visit: Visit) -> Response:
        tables, verified = histories(self._decider, self._desk.cases())
        return self._page("ledger", tables=tables, verified=verified)

    # One case

    def show_case(self, visit: Visit) -> Response:
        case = self._case(visit)
        jobs = [(job, job_title(job), self._job_words(job)) for job in jobs_of(case)]
        return self._page("case", case, tasks=self._tasks(case), jobs=jobs, problems=case.problems)

    def _tasks(self, case: Case) -> list[Task]:
        if not case.is_read:
            return [Task("Files", "Choose the model and the table", TO_ANSWER, "/new")]
        at, audits = f"/cases/{case.name}", self._audits(case)
        result = DONE if audits and audits[-1].state == "done" else TO_ANSWER if audits else CANNOT_START
        decided = decisions.decided_in(jobs_of(case))
        to_decide = [found.job for found in decided] or (audits if result == DONE else [])
        state = words()["decided"][decided[-1].state] if decided else "Yours to do" if to_decide else CANNOT_START
        return [
            Task("Files", "Choose the model and the table", DONE, f"{at}/files"),
            *self._question_tasks(case),
            Task("Audit", "Check your answers and run", DONE if audits else TO_ANSWER, f"{at}/check"),
            Task("Audit", "Read the result", result, f"{at}/runs/{audits[-1].number}" if audits else ""),
            Task("Audit", "Decide", state, f"{_at(to_decide[-1])}/decision" if to_decide else ""),
        ]

    def _question_tasks(self, case: Case) -> list[Task]:
        tasks = []
        for question in QUESTIONS:
            state = self._question_state(case, question)
            address = "" if state == NOT_NEEDED else f"/cases/{case.name}/questions/{question.name}"
            tasks.append(Task(question.texts["group"], question.texts["task"], state, address))
        return tasks

    def _question_state(self, case: Case, question: Question) -> str:
        fields, answer = question.fields(_asked(case)), case.record.answers.get(question.name)
        to_check = CHECK if question.to_check(_asked(case)) else ""
        if not fields:
            return to_check or NOT_NEEDED
        if self._problems_at(case, question):
            return PROBLEM
        if answer is None or any(one.name not in answer.fields for one in fields):
            return TO_ANSWER
        return FOR_REQUESTER if question.doubts(_asked(case), answer.fields) else to_check or DONE

    def _problems_at(self, case: Case, question: Question) -> list[Problem]:
        problems = [(each, each.path or parse_path(each.location, case.policy.document)) for each in case.problems]
        paths = question.paths(_asked(case))
        return [each for each, place in problems if any(place[: len(path)] == path for path in paths)]

    # Questions

    def show_question(
        self,
        visit: Visit,
        given: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
        anew: str = "",
    ) -> Response:
        case = self._case(visit)
        question = self._question(visit, case)
        fields, answer = question.fields(_asked(case)), case.record.answers.get(question.name)
        earlier = self._desk.earlier_answer(case, question.name) if answer is None else None
        filled = given if given is not None else answer.fields if answer else {}
        rows = [(f"f{number}", one, filled.get(one.name, one.chosen)) for number, one in enumerate(fields)]
        said = [(one.legend, one.in_words(earlier[1].fields)) for one in fields] if earlier else []
        return self._page(
            "question",
            case,
            422 if problems else 200,
            title=question.heading(_asked(case)),
            question=question,
            found=[*question.found(_asked(case)), *self._set_by_others(case, question)],
            rows=rows,
            problems=problems or {},
            messages=self._problems_at(case, question),
            anew=anew,
            earlier=earlier,
            said=[each for each in said if each[1]],
            to_check=[case.policy.line(path) for path in question.to_check(_asked(case))],
            lines=self._lines(case, question),
        )

    def _lines(self, case: Case, question: Question) -> list[tuple[int, str]]:
        """The lines of the policy that a question is about, without values of a table."""
        lines = list[tuple[int, str]]()
        for path in question.paths(_asked(case)):
            value, number = case.policy.get(*path), case.policy.line(path)
            value = "…" if path == ("data", "missing") else _without_cells(value)
            if number is not None:
                lines.append((number, f"{'-' if isinstance(path[-1], int) else f'{path[-1]}:'} {yaml_flow(value)}"))
        return sorted(lines)

    def _set_by_others(self, case: Case, question: Question) -> list[str]:
        """The limits of the policies that this one must keep to."""
        if question.name != "limits" or not (case.org or case.policy.get("extends")):
            return []
        *others, _ = load_extends_chain(case.folder / POLICY, case.org).policies
        return [
            f"{yaml_flow(_without_cells(limit))}: set by {other.file}, line {line.number}; may be tightened."
            for other in others
            for number, limit in enumerate(other.document.get("metrics", ()))
            if (line := other.lines.get(("metrics", number)))
        ]

    def answer_question(self, visit: Visit) -> Response:
        """Save the answers, and write what follows from them into the policy."""
        case = self._case(visit)
        question = self._question(visit, case)
        fields = question.fields(_asked(case))
        given = {one.name: visit.text(f"f{number}") for number, one in enumerate(fields)}
        if problems := question.problems(_asked(case), given):
            return self.show_question(visit, given, problems)
        policy = question.answered(_asked(case), given)
        if visit.text("checked"):
            policy = policy.checked(question.to_check(CaseInQuestion(case.facts, policy)))
        answers = {**case.record.answers, question.name: Answer(fields=given, by=who(), at=now())}
        target = given.get("target", "").removeprefix("column:") if question.name == "predicted" else ""
        if target in case.facts.columns and target != case.facts.target:
            if visit.text("anew") != target:
                return self.show_question(visit, given, {"target": ANEW}, anew=target)
            case = case.save(target=target, answers={question.name: answers[question.name]})
            case.forget_policy()
            return self._to(f"/cases/{case.name}/runs/{self._line.add(case, 'read').number}")
        case = case.save(policy=policy, answers=answers)
        if self._problems_at(case, question):
            return self._to(f"/cases/{case.name}/questions/{question.name}")
        still = [task for task in self._question_tasks(case) if task.state == TO_ANSWER]
        return self._to(still[0].address if still else f"/cases/{case.name}")

    def _doubts(self, case: Case) -> list[tuple[str, str, Sequence[str]]]:
        """The questions for the requester, by name, and what each is about."""
        given = case.record.answers
        known = [(each, given[each.name].fields) for each in QUESTIONS if each.name in given]
        if not case.is_read:  # what was answered is there, and not what it was about
            return [(each.name, each.texts["requester"], ()) for each, said in known if DOUBT in said.values()]
        asked = [(each, each.doubts(_asked(case), said)) for each, said in known if each.fields(_asked(case))]
        return [(each.name, each.texts["requester"], about) for each, about in asked if about]

    def show_requester(self, visit: Visit) -> Response:
        case = self._case(visit)
        return self._page("requester", case, listed=[(asks, about) for _, asks, about in self._doubts(case)])

    def show_policy(self, visit: Visit, text: str | None = None, problems: Sequence[Problem] = ()) -> Response:
        case = self._case(visit)
        shown = Markup(escape(case.policy.text if text is None else text))  # noqa: S704  # it is escaped
        found = problems or case.problems
        return self._page("policy", case, 422 if problems else 200, text=shown, problems=found)

    def change_policy(self, visit: Visit) -> Response:
        """Save the text as it is, if it is YAML; what is wrong with it stands above it."""
        case = self._case(visit)
        text = visit.text("policy").replace("\r\n", "\n")
        try:
            columns = PolicyText(text).get("data", "columns")
        except LeafgateError as error:
            return self.show_policy(visit, text, error.problems)
        if not isinstance(columns, dict):
            return self.show_policy(visit, text, [Problem("data.columns", "is missing", "declare the columns")])
        case = case.save(policy=PolicyText(text))
        return self._to(f"/cases/{case.name}/policy" if case.problems else f"/cases/{case.name}")

    def show_check(self, visit: Visit) -> Response:
        case = self._case(visit)
        if not case.is_read:
            raise HTTPException(404)
        pairs = zip(self._question_tasks(case), QUESTIONS, strict=True)
        rows = [(task, case.record.answers.get(question.name)) for task, question in pairs]
        to_answer = sum(task.state == TO_ANSWER for task, _ in rows)
        return self._page("check", case, rows=rows, problems=case.problems, to_answer=to_answer)

    # Runs

    def ask_job(self, visit: Visit) -> Response:
        """Put an audit, a remedy or the reading of the files in line."""
        case = self._case(visit)
        jobs = [job for job in jobs_of(case) if str(job.number) == visit.text("run")]
        changes = dict(settings_of(jobs[0])).get(visit.text("does")) if jobs else None
        known: list[Kind] = ["read", *(("audit",) if case.is_read else ()), *(("set",) if changes else ())]
        known += ["repair", "scrub"] if case.is_read and "model" in case.files else []
        asked = [kind for kind in known if kind == visit.text("kind")]
        if not asked:
            raise InvalidError("there is no such audit")
        if asked != ["read"] and (problems := case.problems):
            raise InvalidError.listing(problems)
        case.refuse_links()
        return self._to(f"/cases/{case.name}/runs/{self._line.add(case, asked[0], changes).number}")

    def use_file(self, visit: Visit) -> Response:
        """Make what a remedy came to the case's file, and note who did so; the given file stays where it is."""
        case = self._case(visit)
        job = self._job(visit, case)
        if not is_usable(job):
            raise InvalidError("only what passed, and is current, can be used in place of the given file")
        policy = job.policy
        if policy.get("build", "path"):
            policy = policy.changed({("build", "path"): job.output})
        used = Answer(fields={"path": job.output}, by=who(), at=now())
        case = case.save(policy=policy, answers={**case.record.answers, "file": used})
        return self._to(f"/cases/{case.name}")

    def show_run(self, visit: Visit) -> Response:
        case = self._case(visit)
        job = self._job(visit, case)
        if job.state == "done" and job.kind == "read":
            return self.show_files(visit)
        if job.state == "done" and job.report is not None:
            return self._result(case, job, is_public=visit.asked("view") == "public")
        running = "The audit runs" if job.kind != "read" else "The files are read"
        titles = {"waiting": self._place(job), "running": running, "stopped": "Stopped. Nothing was decided."}
        failed = "No result. This is not a pass." if job.kind != "read" else "The files could not be read"
        title = titles.get(job.state, failed)
        about: dict[str, Any] = {
            "kind": job_title(job),
            "place": self._place(job),
            "limit": LIMIT_SECONDS // 60,
        }
        return self._page("run", case, title=title, job=job, **about)

    def show_files(self, visit: Visit) -> Response:
        case = self._case(visit)
        return self._page("files", case, facts=case.facts)

    def _result(self, case: Case, job: Job, *, is_public: bool) -> Response:
        jobs = [each for each in jobs_of(case) if each.kind != "read" and each.state == "done" and each.report]
        others = [each for each in jobs if each.number == job.number or not (each.differences or job.differences)]
        doubts = sum(task.state == FOR_REQUESTER for task in self._question_tasks(case))
        about: dict[str, Any] = {"kind": job_title(job), "public": is_public, "doubts": doubts}
        remedies = [] if job.differences else remedies_for(job)
        shown: dict[str, Any] = result_context(job, others, is_public=is_public)
        return self._page("result", case, job=job, remedies=remedies, **about, **shown)

    def show_state(self, visit: Visit) -> Response:
        """What the script of a page that waits asks for."""
        job = self._job(visit, self._case(visit))
        steps = [{"words": words, "seconds": seconds} for words, seconds in job.steps_begun]
        return JSONResponse({"state": job.state, "place": self._place(job), "steps": steps, "seconds": job.seconds})

    def show_report(self, visit: Visit) -> Response:
        """The report's own page, in a sandbox."""
        job = self._job(visit, self._case(visit))
        report = job.public_report if visit.asked("view") == "public" else job.report
        if report is None:
            raise HTTPException(404)
        return Response(html(report), media_type="text/html", headers={"content-security-policy": REPORT_CSP})

    def stop_run(self, visit: Visit) -> Response:
        case = self._case(visit)
        job = self._job(visit, case)
        self._line.stop(job)
        return self._to(f"/cases/{case.name}/runs/{job.number}")

    # Decisions

    def _decided(self, visit: Visit, case: Case) -> tuple[decisions.Decided, list[decisions.OpenQuestion]]:
        found = decisions.decided_about(self._job(visit, case))
        if found is None:
            raise HTTPException(404)
        return found, decisions.open_questions(found, self._doubts(case))

    def show_decision(self, visit: Visit, problems: Mapping[str, str] | None = None) -> Response:
        """What was decided, and the form to decide; a record that cannot be read has a state alone."""
        case = self._case(visit)
        found, questions = self._decided(visit, case)
        about: dict[str, Any] = {"found": found, "questions": questions, "decider": self._decider}
        about |= {"given": visit.form, "problems": problems or {}, "words": words(), "frameworks": bundled_frameworks()}
        title = "Decide about " + (found.file["name"] if found.case else "a file")
        return self._page("decide", case, 422 if problems else 200, title=title, **about)

    def decide(self, visit: Visit) -> Response:
        """Check a decision, and record it when it is sent a second time, to be signed."""
        case = self._case(visit)
        found, questions = self._decided(visit, case)
        is_signed = visit.text("do") == "sign"
        form = decisions.DecisionForm(questions, {key: visit.text(key).replace("\r\n", "\n") for key in visit.form})
        if found.case is None or found.job.differences:
            raise InvalidError("cannot be decided about here: read what its page says", place=_at(found.job))
        if visit.text("about") != found.seen:
            return self.show_decision(visit, {"": words()["decide"]["changed"]})
        if visit.text("do") == "change":
            return self.show_decision(visit)
        if problems := form.problems(found, self._decider, is_signed=is_signed):
            return self.show_decision(visit, problems)
        if is_signed:
            return self._to(f"{_at(found.job)}/decision")
        return self._page("sign", case, found=found, form=form, words=words())

    def show_sheet(self, visit: Visit) -> Response:
        """The decision sheet to print, or what the report answers to the clauses of a framework."""
        found, _ = self._decided(visit, self._case(visit))
        if found.case is None:
            raise HTTPException(404)
        if visit.asked("mapping") in bundled_frameworks():
            return Response(mapping(found.case.report, visit.asked("mapping")), media_type="text/plain")
        facts = found.case.record.request.facts.model_dump(mode="json", exclude_none=True)
        content = sheet(found.case.report, readable(facts))
        return Response(content, media_type="text/html", headers={"content-security-policy": REPORT_CSP})

    def show_static(self, visit: Visit) -> Response:
        """The styles, among them those of reports, and the script."""
        if visit.part("name") not in STATIC:
            raise HTTPException(404)
        kind, *parts = STATIC[visit.part("name")]
        return Response(b"".join(files("leafgate").joinpath(part).read_bytes() for part in parts), media_type=kind)


def desk_app(desk: Desk, line: Line, given: Secrets, decider: decisions.Decider = NOBODY) -> ASGIApp:
    """The pages of a desk behind their gate; without a key nobody decides there."""
    pages = Pages(desk, line, given, decider)

    async def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return message_page("There is no such page.", "All cases", f"{given.root}/", status=status)

    app = Starlette(routes=pages.routes(), exception_handlers={HTTPException: not_found})
    return Gate(app, given)
