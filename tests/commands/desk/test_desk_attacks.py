"""Attacks on the desk: each is refused, and nothing is written. A few need a server, the others its application."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="starlette's test client is not installed")

from desk_client import PORT, Attacker  # noqa: E402
from desk_visits import audited, small_case  # noqa: E402
from leafgate.commands.demo.audits import policy_text  # noqa: E402
from leafgate.commands.demo.people import people_csv  # noqa: E402
from leafgate.commands.desk import jobs  # noqa: E402
from leafgate.commands.desk.cases import FACTS, POLICY, RECORD, Answer, Case, Desk, file_name, files_below, open_below  # noqa: E402
from leafgate.commands.desk.jobs import Job, ask_job, jobs_of  # noqa: E402
from leafgate.commands.desk.measuring import measure  # noqa: E402
from leafgate.commands.desk.policy_text import PolicyText  # noqa: E402
from leafgate.commands.desk.questions import QUESTIONS, CaseInQuestion  # noqa: E402
from leafgate.commands.desk.reading import read_files  # noqa: E402
from leafgate.commands.desk.results import settings_of  # noqa: E402
from leafgate.commands.desk.server import COOKIE, Secrets, bound_socket, open_browser  # noqa: E402
from leafgate.errors import InvalidError, LeafgateError, ReleaseError  # noqa: E402

TABLE = b"age,ill\n30,yes\n40,no\n"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "desk"
    inside.mkdir()
    (inside / "people.csv").write_bytes(TABLE)
    (tmp_path / "outside.csv").write_bytes(b"secret,of\nsomebody,else\n")
    return inside


@pytest.fixture
def owner(folder: Path) -> Attacker:
    return Attacker(folder, is_in=True)


@pytest.fixture
def stranger(folder: Path) -> Attacker:
    return Attacker(folder, is_in=False)


@pytest.fixture
def unchanged(folder: Path) -> Iterator[None]:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in folder.parent.rglob("*"))
    yield
    assert sorted((path.name, path.stat().st_mtime_ns) for path in folder.parent.rglob("*")) == before


@pytest.mark.usefixtures("unchanged")
class TestRefused:
    """Attacks by requests."""

    def test_1_no_token(self, stranger: Attacker) -> None:
        assert stranger.get("/").status_code == 403

    def test_2_a_guessed_token(self, stranger: Attacker) -> None:
        assert stranger.get("/open/guessed").status_code == 403
        assert stranger.given.token is not None

    def test_3_a_token_that_was_used(self, owner: Attacker, folder: Path) -> None:
        address = owner.given.address
        other = testclient.TestClient(owner.client.app, base_url=owner.given.origin)
        assert other.get(address).status_code == 403
        assert other.get(f"{owner.given.root}/").status_code == 403

    @pytest.mark.parametrize("host", ["evil.example:4711", "localhost:4711", "127.0.0.1", "127.0.0.1:80", "[::1]:4711"])
    def test_4_another_host_as_after_rebinding(self, owner: Attacker, host: str) -> None:
        assert owner.get("/", headers={"host": host}).status_code == 421

    def test_5_another_host_does_not_use_the_token_up(self, stranger: Attacker) -> None:
        assert stranger.client.get(stranger.given.address, headers={"host": "evil.example"}).status_code == 421
        assert stranger.given.token is not None

    @pytest.mark.parametrize(
        "origin", [None, "null", "http://evil.example", "http://127.0.0.1:4712", "http://localhost:4711"]
    )
    def test_6_a_form_of_another_page(self, owner: Attacker, origin: str | None) -> None:
        headers = {} if origin is None else {"origin": origin}
        assert owner.post("/new", {"name": "a", "table": "people.csv"}, headers=headers).status_code == 403

    def test_7_a_form_without_its_secret(self, owner: Attacker) -> None:
        answer = owner.post("/new", {"name": "a", "table": "people.csv"}, csrf="guessed")
        assert answer.status_code == 403

    def test_8_a_page_that_another_site_asks_for(self, owner: Attacker) -> None:
        assert owner.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        assert owner.get("/", headers={"sec-fetch-site": "same-site"}).status_code == 403

    @pytest.mark.parametrize("path", ["../outside.csv", "/etc/passwd", "x/../../outside.csv", "people.csv\0.txt", "."])
    def test_9_a_file_outside_of_the_folder(self, owner: Attacker, path: str) -> None:
        answer = owner.post("/new", {"name": "a", "table": path})
        assert answer.status_code == 422
        assert "somebody" not in answer.text

    @pytest.mark.parametrize("name", ["..", "../x", "a/b", "", ".hidden", "a" * 61, "a\n", SCRIPT])
    def test_10_a_case_outside_of_the_folder(self, owner: Attacker, name: str) -> None:
        answer = owner.post("/new", {"name": name, "table": "people.csv"})
        assert answer.status_code == 422
        assert SCRIPT not in answer.text

    @pytest.mark.parametrize(
        "path", ["/cases/..", "/cases/%2e%2e/runs/1", "/static/..%2f..%2fpages.py", "/static/base.html.j2"]
    )
    def test_11_a_path_out_of_the_folder(self, owner: Attacker, path: str) -> None:
        assert owner.get(path).status_code in {403, 404}

    def test_12_an_upload_of_2_gb_is_refused_before_it_is_read(self, owner: Attacker) -> None:
        headers = {
            "origin": owner.given.origin,
            "content-length": str(2**31),
            "content-type": "multipart/form-data; boundary=x",
        }
        assert owner.client.post(f"{owner.given.root}/new", content=b"x", headers=headers).status_code == 413

    def test_13_a_form_that_does_not_say_how_long_it_is(self, owner: Attacker) -> None:
        headers = {"origin": owner.given.origin, "transfer-encoding": "chunked"}
        answer = owner.client.post(f"{owner.given.root}/new", content=iter([b"x"]), headers=headers)
        assert answer.status_code == 411

    def test_14_a_line_break_in_an_address_or_a_field(self, owner: Attacker) -> None:
        answer = owner.post("/new", {"name": "a\r\nSet-Cookie: x=y", "table": "people.csv"})
        assert answer.status_code == 422
        assert "x=y" not in str(answer.headers)
        assert owner.get("/cases/a%0d%0aset-cookie:%20x=y").status_code == 404

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
    def test_15_another_method(self, owner: Attacker, method: str) -> None:
        assert owner.client.request(method, f"{owner.given.root}/").status_code == 405

    @pytest.mark.parametrize("cookie", ["", "x", '"{cookie}'])
    def test_16_another_cookie(self, owner: Attacker, cookie: str) -> None:
        sent = {"cookie": f"{COOKIE}={cookie.format(cookie=owner.given.cookie)}"}
        owner.client.cookies.clear()
        assert owner.get("/", headers=sent).status_code == 403

    def test_17_the_path_of_another_run(self, owner: Attacker) -> None:
        sent = {"cookie": f"{COOKIE}={owner.given.cookie}"}
        assert owner.client.get(f"/{'0' * 32}/", headers=sent).status_code == 403


def test_the_cookie_is_of_this_run_alone_and_no_script_reads_it(stranger: Attacker) -> None:
    """18: another local server. Browsers send cookies to every port, but only to paths below the cookie's own."""
    answer = stranger.client.get(stranger.given.address)
    attributes = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", f"path={stranger.given.root}"} <= {
        each.strip() for each in attributes.split(";")
    }
    assert "domain" not in attributes
    assert stranger.given.cookie not in answer.text
    assert stranger.given.run != Secrets(PORT).run


def test_every_answer_forbids_what_no_page_needs(owner: Attacker) -> None:
    """19: framing, scripts of its own, sniffing, storing."""
    for path in ("/", "/new", "/nowhere", "/static/desk.js"):
        headers = owner.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"


def test_a_link_leads_nowhere(owner: Attacker, folder: Path) -> None:
    """20: links to files and folders outside, and in place of a case and of its files."""
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    (folder / "down").symlink_to(folder.parent, target_is_directory=True)
    (folder / "case").symlink_to(folder.parent, target_is_directory=True)
    assert list(files_below(folder)) == ["people.csv"]
    for path in ("link.csv", "down/outside.csv"):
        with pytest.raises(InvalidError, match="no file of this folder"):
            open_below(folder, path)
        assert owner.post("/new", {"name": "a", "table": path}).status_code == 422
    assert owner.get("/cases/case").status_code == 404
    inside = folder / "b"
    inside.mkdir()
    (inside / POLICY).symlink_to(folder.parent / "outside.csv")
    (inside / RECORD).write_text("{}")
    assert "somebody," not in owner.get("/cases/b/policy").text
    assert "mapping" not in owner.get("/cases/b").text
    a_case(owner, folder).save(files={"table": "link.csv"})
    (folder / "a" / "link.csv").symlink_to(folder.parent / "outside.csv")
    assert owner.post("/cases/a/jobs", {**owner.seen("a"), "kind": "audit"}).status_code == 400
    assert not (folder / "a" / "runs").exists()
    os.mkfifo(inside / "pipe.csv")
    assert "b/pipe.csv" not in list(files_below(folder))


def test_a_file_is_kept_under_a_name_that_is_no_path_and_for_its_owner_alone(owner: Attacker, folder: Path) -> None:
    """21: the name of an upload."""
    upload = {"table_file": (f'../../{SCRIPT}".csv', TABLE, "text/html")}
    answer = owner.post("/new", {"name": "a"}, files=upload)
    assert answer.status_code == 303
    [name] = [path.name for path in (folder / "a").iterdir() if path.suffix == ".csv"]
    assert set(name) <= set("_.-abcdefghijklmnopqrstuvwxyz0123456789")
    assert stat.S_IMODE((folder / "a" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o700
    assert SCRIPT not in owner.get("/").text + owner.get("/cases/a").text
    assert owner.get(f"/cases/a/{name}").status_code == 404
    assert [file_name(each, "model") for each in ("policy.yaml", "..", "", "answers.json", "a/b\\c.R")] == [
        "model-policy.yaml",
        "model-",
        "model-",
        "model-answers.json",
        "c.R",
    ]


def a_case(owner: Attacker, folder: Path, column: str = "ill", policy: str | None = None) -> Case:
    """A case whose files were read."""
    inside = folder / "a"
    inside.mkdir(exist_ok=True)
    (inside / "people.csv").write_bytes(TABLE)
    known = {"distinct": 2, "numeric": False, "common": {SCRIPT: 30, "no": 10}, "gaps": []}
    known |= {"unanswered": [], "same": [], "similar": [], "proposed": {"role": "quasi_identifier", "values": [SCRIPT]}}
    known |= {"left_out": False, "domain": {}, "secret_domain": {}}
    facts = {
        "format": "leafgate/desk-facts/1",
        "rows": 2,
        "most_rows": 1,
        "target": column,
        "chosen": True,
        "person": None,
        "varies": False,
        "model": None,
        "columns": {column: known, f"{SCRIPT}x": known},
    }
    columns = f"  columns:\n    {column!r}: {{role: [class, sensitive], values: ['{SCRIPT}', 'no']}}\n"
    columns += f"    '{SCRIPT}x': {{role: quasi_identifier, values: ['{SCRIPT}']}}\n"
    rest = "build: {use: kadet, k: 10}\nattacks:\n  - {use: linking}\nmetrics:\n  - {use: k_anonymity, at_least: 10}\n"
    text = policy or f"leafgate: 1\nname: a\ndata:\n  path: people.csv\n{columns}{rest}"
    case = Case(inside).save(policy=PolicyText(text), files={"table": "people.csv"})
    (inside / FACTS).write_text(json.dumps(facts))
    return case


def test_a_script_in_the_name_of_a_column_is_a_text(owner: Attacker, folder: Path) -> None:
    """22: names and values of a table on every page."""
    a_case(owner, folder, column=SCRIPT)
    for path in (
        "",
        "/policy",
        "/check",
        "/requester",
        *(f"/questions/{name}" for name in ("people", "predicted", "outsiders", "harmless")),
    ):
        answer = owner.get(f"/cases/a{path}")
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
    assert "&lt;script&gt;" in owner.get("/cases/a/questions/outsiders").text


def test_a_policy_loads_no_plugin_file(owner: Attacker, folder: Path) -> None:
    """23: a policy that names a file with code."""
    ran = folder.parent / "ran"
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    columns = "data:\n  path: people.csv\n  columns:\n    ill: {role: [class, sensitive], values: ['yes', 'no']}\n"
    a_case(owner, folder, policy=f"leafgate: 1\nname: a\nplugins: [../evil.py, leafgate, evil]\n{columns}")
    assert "problem" in owner.get("/cases/a").text
    sent = {**owner.seen("a"), "policy": Case(folder / "a").policy.text + "# more\n"}
    assert owner.post("/cases/a/policy", sent).status_code == 303
    assert owner.get("/cases/a/check").status_code == 200
    assert not ran.exists()


def test_a_change_of_another_window_is_not_overwritten(owner: Attacker, folder: Path) -> None:
    """24: a form that was made before the policy changed."""
    case = a_case(owner, folder)
    before, text = owner.seen("a"), case.policy.text
    case.save(policy=PolicyText(text + "# changed elsewhere\n"))
    answer = owner.post("/cases/a/policy", {**before, "policy": text})
    assert answer.status_code == 400
    assert "Changed in another window. Nothing was saved." in answer.text
    assert Case(folder / "a").policy.text.endswith("# changed elsewhere\n")


def test_a_policy_that_is_no_policy_is_not_saved(owner: Attacker, folder: Path) -> None:
    case = a_case(owner, folder)
    for text in ("a: &x [*x]", "[" * 5000, "!!python/object/apply:os.system [id]", "data: 1", "x" * 300_000):
        assert owner.post("/cases/a/policy", {**owner.seen("a"), "policy": text}).status_code == 422
        assert Case(folder / "a").policy.text == case.policy.text


def test_a_policy_that_was_broken_elsewhere_can_be_mended(owner: Attacker, folder: Path) -> None:
    case = a_case(owner, folder)
    before = case.policy.text
    for text in ("a: [", "leafgate: 1\ndata: {columns: 3}\n", "leafgate: 1\nbuild: []\n"):
        (case.folder / POLICY).write_text(text)
        page = owner.get("/cases/a/policy")
        assert page.status_code == 200
        assert "The policy has" in page.text
        assert escape(text.splitlines()[0]) in page.text
        assert "Problem" in owner.get("/").text
        assert owner.get("/cases/a").status_code == 200
    assert owner.post("/cases/a/policy", {**owner.seen("a"), "policy": before}).status_code == 303


def test_a_job_that_there_is_not_is_not_run(owner: Attacker, folder: Path) -> None:
    a_case(owner, folder)
    for kind in ("", "convert", "audit --plugin evil.py", "repair", "../read", "--trust"):
        assert owner.post("/cases/a/jobs", {**owner.seen("a"), "kind": kind}).status_code == 400
    assert not (folder / "a" / "runs").exists()


def test_only_this_computer_is_listened_to() -> None:
    with bound_socket(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_the_file_that_opens_the_browser_is_its_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """25: the token in a list of processes, or in a file that others read."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    given = Secrets(PORT)
    open_browser(given, tmp_path)
    [page] = tmp_path.iterdir()
    assert opened == [page.as_uri()]
    assert str(given.token) not in opened[0]
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert given.address in page.read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["10 GB header", "a schema of lists"])
def test_a_bomb_is_not_opened_and_no_policy_is_written(folder: Path, name: str) -> None:
    """26: an archive that is larger than it seems, and one that is nested too deep."""
    from hostile_skops import HOSTILE

    (folder / "model.skops").write_bytes(HOSTILE[name]())
    Case(folder).save(files={"table": "people.csv", "model": "model.skops"})
    with pytest.raises(LeafgateError):
        read_files(folder)
    assert not (folder / POLICY).exists()


def test_a_job_that_somebody_else_wrote_does_not_run(owner: Attacker, folder: Path) -> None:
    """27: folders of cases with jobs in them. They run when their owner says so, and never write through a link."""
    a_case(owner, folder)
    target = folder.parent / "mine"
    target.write_text("mine")
    asked = {"kind": "read", "by": "chief checker", "asked": "2026-01-01T00:00:00Z", "session": "", "pid": 1}
    for number, begun in ((1, {}), (2, {"started": "2026-01-01T00:00:01Z"})):
        (folder / "a" / "runs" / str(number)).mkdir(parents=True)
        (folder / "a" / "runs" / str(number) / "job.json").write_text(json.dumps(asked | begun))
    (folder / "c").mkdir()
    (folder / "c" / RECORD).write_text(json.dumps({"files": {"table": "../../outside.csv"}}))
    assert owner.line.waiting() == []
    assert [job.state for job in jobs_of(Case(folder / "a"))] == ["stopped", "done"]
    assert "It runs if you say so" in owner.get("/cases/a/runs/1").text
    job = owner.line.add(Case(folder / "a"), "audit")
    (job.folder / "public.json").symlink_to(target)
    other = owner.line.add(Case(folder / "c"), "read")
    assert [(each.case.name, each.number) for each in owner.line.waiting()] == [("a", 3), ("c", 1)]
    owner.line.open()
    end = time.monotonic() + 20
    while owner.line.waiting() and time.monotonic() < end:
        time.sleep(0.05)
    owner.line.close()
    assert [Job(each.case, each.number).state for each in (job, other)] == ["failed", "failed"]
    assert not (folder / "c" / FACTS).exists()
    assert target.read_text() == "mine"


def test_no_page_shows_a_value_that_few_people_have(owner: Attacker, folder: Path) -> None:
    """28: a table whose rare values are somebody's."""
    rows = [
        f"{number % 50},{'AB'[number % 2]},{('yes', 'no ', 'No')[number % 3]},note {number}" for number in range(300)
    ]
    rows += ["77,Rareward,yEs,note x", "78,B,Rareill,note y", "79,A,refused,note z", "rare-age,B,rareILL,note w"]
    inside = folder / "b"
    inside.mkdir()
    (inside / "people.csv").write_text("\n".join(["age,ward,ill,note", *rows]) + "\n")
    Case(inside).save(files={"table": "people.csv"}, target="ill", answers={})
    read_files(inside)
    case = Case(inside)
    asked = [each.name for each in QUESTIONS if each.fields(CaseInQuestion(case.facts, case.policy))]
    assert {"spellings", "gaps", "outsiders", "harmless"} <= set(asked)
    for path in ("", "/check", "/requester", *(f"/questions/{name}" for name in asked)):
        page = owner.get(f"/cases/b{path}").text
        assert [rare for rare in ("Rare", "rare-age", "rareILL", "yEs", "refused<", "note ") if rare in page] == [], (
            path
        )


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a case whose run 1 judged it as it is, and run 2 by a policy that was put back then."""
    folder = tmp_path_factory.mktemp("judged") / "a"
    case = small_case(folder)
    audited(Case(folder))
    strict = case.policy
    case.save(policy=PolicyText(strict.text.replace("at_most: 0.95", "at_most: 0.99")))
    audited(Case(folder))
    case.save(policy=strict)
    return folder.parent


def same_size_and_time(path: Path) -> None:
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"yes", b"no ", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def another_report(path: Path) -> None:
    path.write_text((path.parents[2] / "2" / "results" / "report.json").read_text())


def by_a_link(path: Path) -> None:
    path.rename(path.with_name(f"target-{path.name}"))
    path.symlink_to(f"target-{path.name}")


@pytest.mark.parametrize(
    ("file", "change", "different"),
    [
        ("policy.yaml", by_a_link, [POLICY]),
        ("people.csv", by_a_link, ["people.csv"]),
        ("policy.yaml", lambda path: path.write_text(path.read_text() + "# a remark\n"), []),
        ("policy.yaml", lambda path: path.write_text(path.read_text().replace("0.95", "0.99")), [POLICY]),
        ("people.csv", same_size_and_time, ["people.csv"]),
        ("people.csv", Path.unlink, ["people.csv"]),
        ("runs/1/results/report.json", another_report, ["runs/1/results/release.json", "runs/1/public.json", POLICY]),
        ("runs/1/results/report.json", Path.unlink, ["runs/1/results/report.json"]),
        ("runs/1/results/release.json", Path.unlink, ["runs/1/results/release.json"]),
    ],
)
def test_a_result_is_current_only_if_it_judged_what_is_there(
    judged: Path, tmp_path: Path, file: str, change: Any, different: list[str]
) -> None:
    """29: what a run judged is what its report says, whatever stood there when it was asked for or has ended."""
    shutil.copytree(judged, tmp_path / "desk")
    owner, folder = Attacker(tmp_path / "desk", is_in=True), tmp_path / "desk" / "a"
    first, second = jobs_of(Case(folder))
    assert (first.differences, second.differences) == ([], [POLICY])
    assert "<td>Pass, not decided" in owner.get("/").text
    assert "Out of date: this is not what was audited: policy.yaml" in owner.get("/cases/a/runs/2").text
    assert "a/runs/1/results/release.json" in owner.get("/cases/a/runs/1").text
    change(folder / file)
    assert jobs_of(Case(folder))[0].differences == different


def test_a_report_without_a_digest_is_current_only_if_the_job_began_with_these_files(
    judged: Path, tmp_path: Path
) -> None:
    """Where differential privacy is claimed, a report may have a keyed digest of its table alone."""
    shutil.copytree(judged / "a", tmp_path / "a")
    case = Case(tmp_path / "a")
    report = tmp_path / "a" / "runs" / "1" / "results" / "report.json"
    stated = json.loads(report.read_text())
    del stated["data"]["sha256"]
    report.write_text(json.dumps(stated))
    assert jobs_of(case)[0].differences == ["people.csv"]
    jobs_of(case)[0].save(files=case.digests())
    assert jobs_of(case)[0].differences == []
    same_size_and_time(tmp_path / "a" / "people.csv")
    assert jobs_of(case)[0].differences == ["people.csv"]


def test_what_another_desk_began_keeps_the_digests_of_its_beginning(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit that ends after the desk was closed, whose table was changed before the next desk measures it."""
    shutil.copytree(judged / "a", tmp_path / "a")
    case = Case(tmp_path / "a")
    begun = jobs_of(case)[0].save(files=case.digests())
    document = begun.record.model_dump(mode="json", exclude={"ended"}, exclude_none=True)
    (begun.folder / "job.json").write_text(json.dumps(document))
    same_size_and_time(tmp_path / "a" / "people.csv")
    started: list[str] = []

    def measured(job: Job, step: Any, held: int) -> Any:
        started.append(step.makes)
        (job.folder / step.makes).write_text("{}")
        return SimpleNamespace(pid=2, poll=lambda: 0)

    monkeypatch.setattr(jobs, "_start", measured)
    jobs.Line(Desk(tmp_path))._run(jobs_of(case)[0])
    ended = jobs_of(case)[0].record
    assert (started, ended.files, ended.started) == (["measured.json"], begun.record.files, begun.record.started)


def test_what_an_organisation_sets_is_shown_and_not_loosened(judged: Path, tmp_path: Path) -> None:
    shutil.copytree(judged, tmp_path / "desk")
    limits = "metrics:\n  - {use: k_anonymity, at_least: 20}\n"
    others = "data: {unlisted: {step: 1}}\nreport: {smallest_cell: 5}\n"
    (tmp_path / "org.yaml").write_text(f"leafgate: 1\nname: org\n{limits}{others}")
    owner = Attacker(tmp_path / "desk", is_in=True, org=(tmp_path / "org.yaml",))
    page = owner.get("/cases/a/questions/limits").text
    assert "at_least: 20}: set by org.yaml, line 4; may be tightened." in unescape(page)
    assert "metrics" in page.partition("There is a problem")[2].partition("</ul>")[0]
    assert "Problem" in owner.get("/").text
    assert owner.post("/cases/a/jobs", {**owner.seen("a"), "kind": "audit"}).status_code == 400
    case = Desk(tmp_path / "desk", (tmp_path / "org.yaml",)).cases()[0]
    case.save(policy=PolicyText(case.policy.text.replace("at_least: 5", "at_least: 20")))
    assert "There is a problem" not in owner.get("/cases/a/questions/limits").text
    words = ask_job(case, "audit").steps[0].words
    assert words[words.index("--org") + 1] == str(tmp_path / "org.yaml")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("runs/1/job.json", '{"kind":"audit"}'),
        ("runs/1/job.json", "[" * 100_000),
        ("runs/1/job.json", '{"kind":"set","by":"x","asked":"2026-01-01T00:00:00Z","changes":{"metrics":[]}}'),
        ("answers.json", '{"files":3,"answers":[1]}'),
        ("facts.json", '{"format":"leafgate/desk-facts/1","files":3}'),
        ("policy.yaml", "data: {columns: {}}\nmetrics: 3\n"),
    ],
)
def test_a_broken_file_of_a_case_touches_no_other(owner: Attacker, folder: Path, file: str, content: str) -> None:
    """30: files that are not as the desk writes them, which no message quotes."""
    a_case(owner, folder)
    shutil.copytree(folder / "a", folder / "broken")
    (folder / "broken" / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / "broken" / file).write_text(content)
    listed = owner.get("/")
    assert listed.status_code == 200
    row = listed.text.partition(">broken</a>")[2].partition("</tr>")[0]
    assert ("Problem" in row) == (file != "facts.json")
    assert owner.get("/cases/a/questions/predicted").status_code == 200
    assert owner.get("/cases/broken").status_code in {200, 400, 500}
    owner.line.add(Case(folder / "a"), "audit")
    assert [job.case.name for job in owner.line.waiting()] == ["a"]


def test_a_cookie_of_another_local_server_locks_nobody_out(owner: Attacker) -> None:
    """31: another port may set a cookie of the same name."""
    owner.client.cookies.clear()
    for cookies in (f"{COOKIE}=x; {COOKIE}={owner.given.cookie}", f"{COOKIE}={owner.given.cookie}; {COOKIE}=x"):
        assert owner.get("/", headers={"cookie": cookies}).status_code == 200


def test_a_value_with_marks_of_yaml_is_masked_too(owner: Attacker, folder: Path) -> None:
    """32: a value that ends a list of YAML, before one of a single person."""
    a_case(owner, folder)
    text = Case(folder / "a").policy.text.replace(
        f"['{SCRIPT}', 'no']", "['flu]', 'no', 'Rare'], distinct: [[Rare, rare]]"
    )
    Case(folder / "a").save(
        policy=PolicyText(text.replace("metrics:", "metrics:\n  - {use: exposure, values: [Rare]}"))
    )
    for name in ("predicted", "outsiders", "limits", "harmless"):
        page = owner.get(f"/cases/a/questions/{name}")
        assert page.status_code == 200
        assert "rare" not in page.text.casefold()


def test_what_would_be_lost_is_said_before(owner: Attacker, folder: Path) -> None:
    """Another predicted column takes the policy and the other answers away, and only if it is said twice."""
    case = a_case(owner, folder)
    form = {"f0": f"column:{SCRIPT}x", "f1": "yes"}
    answer = owner.post("/cases/a/questions/predicted", {**owner.seen("a"), **form})
    assert answer.status_code == 422
    assert "every other question is asked again" in answer.text
    assert Case(folder / "a").policy == case.policy
    anew = {"anew": f"{SCRIPT}x"}
    assert owner.post("/cases/a/questions/predicted", {**owner.seen("a"), **form, **anew}).status_code == 303
    assert not Case(folder / "a").has_policy


def test_answers_of_another_case_are_offered_and_not_chosen(owner: Attacker, folder: Path) -> None:
    case = a_case(owner, folder)
    shutil.copytree(folder / "a", folder / "b")
    fields = {"hidden": "no", "target": "doubt"}
    case.save(answers={"predicted": Answer(fields=fields, by="m.keller", at="2026-03-03T00:00:00Z")})
    page = owner.get("/cases/b/questions/predicted").text
    assert "From a, 2026-03-03, m.keller. Still right?" in page
    assert "No, anybody may know it</li>" in page
    assert not [line for line in page.splitlines() if 'value="no" checked' in line]
    assert "From a" not in owner.get("/cases/a/questions/predicted").text


def test_an_invalid_policy_is_not_run_and_what_is_to_be_checked_is_not_done(owner: Attacker, folder: Path) -> None:
    case = a_case(owner, folder)
    assert "Run the audit" in owner.get("/cases/a/check").text
    case.save(policy=PolicyText(case.policy.text.replace("at_least: 10", "at_least: many")))
    assert "Run the audit" not in owner.get("/cases/a/check").text
    assert owner.post("/cases/a/jobs", {**owner.seen("a"), "kind": "audit"}).status_code == 400
    assert not (folder / "a" / "runs").exists()
    assert not ask_job(Case(folder / "a"), "set", {"build": case.policy.get("build")}).is_of_case
    case.save(policy=PolicyText(case.policy.text.replace("'no']}", "'no']}  # CHECK: alike?")))
    pages = [owner.get("/cases/a").text]
    assert owner.post("/cases/a/questions/spellings", {**owner.seen("a"), "checked": "yes"}).status_code == 303
    pages += [owner.get("/cases/a").text]
    lines = [page.partition("Compare spellings")[2].partition("</dd>")[0] for page in pages]
    assert ["Check again" in line for line in lines] == [True, False]
    assert "CHECK" not in Case(folder / "a").policy.text


def test_a_result_says_what_it_does_not_say(judged: Path) -> None:
    """How to examine what nobody examined, and what the file holds that was built."""
    page = Attacker(judged, is_in=True).get("/cases/a/runs/1").text
    assert "name people who are not in the table" in page
    assert 'data-heading="Built (1)"' in page
    assert "numbers of people on its leaves" in page


def test_a_protected_tree_publishes_what_was_answered(owner: Attacker, folder: Path) -> None:
    case = a_case(owner, folder)
    case = case.save(policy=case.policy.changed({("publish",): {"leaves": "labels"}}))
    case.save(policy=case.policy.changed({("build",): {"use": "published", "path": "model.json"}}))
    job: Any = SimpleNamespace(report={"findings": []}, kind="audit", case=Case(folder / "a"), output="model.json")
    [(_, changes)] = settings_of(job)
    assert ask_job(job.case, "set", changes).policy.get("publish") == {"leaves": "labels", "measure": True}


def test_an_error_keeps_its_subject(owner: Attacker, folder: Path) -> None:
    job = ask_job(a_case(owner, folder), "audit")
    problem = {"place": "people.csv", "message": "is a spreadsheet", "remedy": "save it as text"}
    (job.folder / "public.json").write_text(json.dumps({"problems": [problem]}))
    job.save(started=datetime.now(UTC), ended=datetime.now(UTC))
    assert "people.csv: is a spreadsheet (save it as text)" in owner.get("/cases/a/runs/1").text


def test_a_model_whose_rendition_is_not_read_is_measured_from_its_own_file(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, schema: object) -> None:
        raise ReleaseError("is leafgate's own rendition of a model's file")

    shutil.copytree(judged / "a", tmp_path / "a")
    monkeypatch.chdir(tmp_path / "a")
    found = []
    for _ in range(2):
        measure(Path(POLICY), Path("runs/1"))
        found.append(Path("runs/1/measured.json").read_text())
        monkeypatch.setattr("leafgate.commands.desk.measuring.load_release", refused)
    assert found[0] == found[1]
    assert "columns" in json.loads(found[0])


@pytest.mark.thorough
def test_what_a_report_advises_to_set_is_tried_and_becomes_what_the_case_is_about(
    owner: Attacker, folder: Path
) -> None:
    """Of a tree that is built from the table the policy below the run is changed, then its own if somebody says so."""
    inside = folder / "built"
    inside.mkdir()
    (inside / "people.csv").write_bytes(people_csv(300, 1))
    (inside / "test.csv").write_bytes(people_csv(300, 2))
    (inside / POLICY).write_text(policy_text("unprotected"))
    read_files(inside)
    given = audited(Case(inside))
    before = Case(inside).policy.text
    page = owner.get("/cases/built/runs/1").text
    advised = [does for does, _ in settings_of(given)]
    assert advised
    assert all(escape(does.split("`")[0]) in page for does in advised)
    asked = {"kind": "set", "run": "1", "does": advised[0]}
    for forged in ({"does": "Set `metrics`"}, {"run": "2"}, {"run": ""}):
        assert owner.post("/cases/built/jobs", {**owner.seen("built"), **asked, **forged}).status_code == 400
    assert owner.post("/cases/built/jobs", {**owner.seen("built"), **asked}).status_code == 303
    tried = audited(Case(inside), jobs_of(Case(inside))[1])
    assert Case(inside).policy.text == before
    assert tried.report is not None
    assert (tried.report["verdict"], tried.differences, tried.is_of_case) == ("pass", [], False)
    assert "Use what was built anew" in owner.get("/cases/built/runs/1").text
    assert "Fail" in owner.get("/").text
    assert owner.post("/cases/built/runs/1/use", owner.seen("built")).status_code == 400
    assert owner.post("/cases/built/runs/2/use", owner.seen("built")).status_code == 303
    assert Case(inside).policy.text == (tried.folder / POLICY).read_text()
    assert "Pass, not decided" in owner.get("/").text
    assert "Use another file than the given one" in owner.get("/cases/built/check").text
    assert [job.is_of_case and not job.differences for job in jobs_of(Case(inside))] == [False, True]


def test_a_file_of_a_policy_that_is_not_there_is_a_problem_and_ends_no_page(judged: Path, tmp_path: Path) -> None:
    """A repair's policy names the repaired file before there is one."""
    shutil.copytree(judged, tmp_path / "desk")
    case = Case(tmp_path / "desk" / "a")
    case = case.save(policy=case.policy.changed({("build",): {"use": "published", "path": "gone.json"}}))
    shown = Attacker(tmp_path / "desk", is_in=True).get("/cases/a")
    assert shown.status_code == 200
    assert "names a file that cannot be read" in shown.text
    case = case.save(policy=case.policy.changed({("build", "path"): "runs/1/repaired.json"}))
    assert case.problems
    made = case.folder / "runs" / "1" / "repaired.json"
    made.write_text("{}")
    made.with_name("policy.yaml").write_text(case.policy.text.replace("runs/1/", ""))
    names = ("policy.yaml", "runs/1/policy.yaml")
    before = [case.validated(name).identity["sha256"] for name in names]
    made.write_text("{ }")
    assert not case.problems
    assert all(case.validated(name).identity["sha256"] not in before for name in names)
