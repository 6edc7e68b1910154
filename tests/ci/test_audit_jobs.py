"""The jobs for GitHub and GitLab: their scripts are run as they stand, by a runner that installs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cases import more
from recipes import (
    ACTION,
    BASH,
    GITLAB,
    ORG,
    Job,
    Runner,
    python_without_installing,
    read,
    run,
)

pytestmark = pytest.mark.thorough

ARGUMENTS_OF_LEAFGATE = """
import json, os, pathlib, sys
out = pathlib.Path(next(word for word in sys.argv if word.startswith("--out="))[6:])
(out.parent / "arguments.json").write_text(json.dumps(sys.argv[1:]))
(out / "report.json").write_text("{}")
(out / "report.md").write_text(os.environ["SUMMARY"])
(out / "release.json").write_text("{}")
sys.exit(int(os.environ["CODE"]))
"""

Audit = Callable[..., Job]


@pytest.mark.parametrize(("policy", "code", "verdict"), [("passing.yaml", 0, "pass"), ("failing.yaml", 1, "fail")])
def test_a_job_ends_as_the_audit_does_and_keeps_the_public_report_alone(
    audit: Audit, policy: str, code: int, verdict: str, checkout: Path
) -> None:
    before = {path.name for path in checkout.iterdir()}
    job = audit(checkout, policy=policy, formats="sarif markdown junit html text")
    assert job.code == code, job.printed
    assert set(job.kept) == {f"report.{end}" for end in ("json", "sarif", "md", "junit.xml", "html", "txt")}
    report = json.loads(job.kept["report.json"])
    assert (report["verdict"], report["audience"]) == (verdict, "public")
    if job.outputs:
        folder = Path(job.outputs["folder"])
        assert job.summary == job.kept["report.md"]
        assert job.outputs == {"exit-code": str(code), "folder": str(folder), "sarif": str(folder / "report.sarif")}
        assert (folder / "release.json").is_file()
        assert {path.name for path in checkout.iterdir()} == before


@pytest.mark.parametrize("policy", ["invalid.yaml", *more("nowhere.yaml", "--help", "")])
def test_a_policy_that_is_none_blocks_and_keeps_nothing(audit: Audit, policy: str, checkout: Path) -> None:
    job = audit(checkout, policy=policy)
    assert (job.code, job.kept, job.summary) == (2, {}, "")


@pytest.mark.parametrize("name", ["data", *more("test", "root", "org", "formats")])
@pytest.mark.parametrize("value", ["--help", *more("nowhere\n*")])
def test_no_value_of_an_input_is_taken_for_an_option_or_a_pattern(
    audit: Audit, name: str, value: str, checkout: Path
) -> None:
    job = audit(checkout, policy="passing.yaml", **{name: value})
    assert (job.code, job.kept) == (2, {}), job.printed


@pytest.mark.parametrize("name", ["policy", *more("data", "test", "root", "org", "formats", "install")])
def test_what_an_input_says_is_never_run(audit: Audit, name: str, checkout: Path, tmp_path: Path) -> None:
    bad = "\"; touch ran; $(touch ran) `touch ran` ${LEAFGATE_POLICY@P} * '; touch ran\n touch ran\n"
    job = audit(checkout, **{"policy": "passing.yaml", name: bad})
    assert job.code == (0 if name == "install" else 2)
    assert list(tmp_path.rglob("ran")) == []


@pytest.mark.parametrize("name", ['it\'s "$HOME" [a]*?', *more("-- --help", "two\nlines", "\\n\\ %s{}~ ünï")])
def test_policies_and_tables_may_have_any_name(audit: Audit, name: str, checkout: Path) -> None:
    folder = checkout / f"{name} folder"
    folder.mkdir()
    (checkout / "passing.yaml").rename(folder / f"{name}.yaml")
    (checkout / "mortgage.csv").rename(folder / f"{name}.csv")
    job = audit(checkout, policy=f"{name} folder/{name}.yaml", data=f"{name} folder/{name}.csv", root=folder.name)
    assert job.code == 0, job.printed
    assert json.loads(job.kept["report.json"])["verdict"] == "pass"


@pytest.mark.processes
def test_what_leafgate_prints_is_no_command_of_the_runner(temp: Path, checkout: Path) -> None:
    """Between the two lines GitHub takes nothing for a command; nobody can know their token before."""
    passing = (checkout / "passing.yaml").read_text()
    (checkout / "named.yaml").write_text(passing.replace("name: mortgage", 'name: "::error::PASS"'))
    runner = Runner(temp=temp, programs=python_without_installing(temp.parent / "programs"))
    tokens = []
    for code, policy in ((0, "named.yaml"), (2, "::error::nowhere.yaml"), (2, "\n::error::\n")):
        job = runner.github(checkout, policy=policy)
        assert job.code == code, job.printed
        match = re.fullmatch(r"::stop-commands::(leafgate-[0-9a-f]{32})\n(.*)\n::\1::\n(.*)", job.printed, re.DOTALL)
        assert match
        assert (match[2] + match[3]).count("::error::") > 0
        tokens.append(match[1])
    assert len(set(tokens)) == 3


@pytest.mark.processes
def test_an_organisation_s_policy_is_held_against_the_policy(audit: Audit, checkout: Path) -> None:
    (checkout / "org.yaml").write_text(ORG)
    job = audit(checkout, policy="passing.yaml", org="org.yaml")
    assert job.code == 2
    assert re.search(r"metrics.*loosens.*org\.yaml", job.printed, re.DOTALL)
    assert audit(checkout, policy="failing.yaml", org="org.yaml").code == 1


def test_the_arguments_are_those_of_the_inputs(temp: Path, checkout: Path) -> None:
    console_script = temp / "arguments.py"
    console_script.write_text(ARGUMENTS_OF_LEAFGATE)
    programs = python_without_installing(temp.parent / "programs", console_script)
    runner = Runner(temp=temp, programs=programs, variables={"CODE": "0", "SUMMARY": ""})
    given = {"policy": "a policy.yaml", "data": "my data.csv", "test": "t.csv", "root": "/the data"}
    given |= {"org": "org 1.yaml\n\n/abs/*.yaml\n", "formats": "sarif  *\n"}
    job = runner.github(checkout, **given)
    runner.gitlab(checkout, **given)
    written = [json.loads(path.read_text()) for path in temp.rglob("arguments.json")]
    paths = ["--root=/the data", f"--test={checkout}/t.csv", f"--org={checkout}/org 1.yaml", "--org=/abs/*.yaml"]
    after = ["--to=sarif", "--to=*", *paths, "--", f"{checkout}/a policy.yaml", f"{checkout}/my data.csv"]
    assert [words[2:] for words in written] == [after, after]
    assert [words[0] for words in written] == ["audit", "audit"]
    assert f"--out={job.outputs['folder']}" in [words[1] for words in written]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 130])
def test_every_exit_code_is_the_job_s_and_the_report_is_kept_before(
    kind: str, code: int, temp: Path, checkout: Path
) -> None:
    console_script = temp / "arguments.py"
    console_script.write_text(ARGUMENTS_OF_LEAFGATE)
    programs = python_without_installing(temp.parent / "programs", console_script)
    runner = Runner(temp=temp, programs=programs, variables={"CODE": str(code), "SUMMARY": "# the verdict"})
    job: Job = getattr(runner, kind)(checkout, policy="a.yaml")
    assert job.code == code
    assert job.kept == {"report.json": "{}", "report.md": "# the verdict"}
    if kind == "github":
        assert (job.outputs["exit-code"], job.summary) == (str(code), "# the verdict")


def test_a_summary_that_would_be_dropped_is_left_out(temp: Path, checkout: Path) -> None:
    console_script = temp / "arguments.py"
    console_script.write_text(ARGUMENTS_OF_LEAFGATE.replace('os.environ["SUMMARY"]', '"0" * 1_000_000'))
    programs = python_without_installing(temp.parent / "programs", console_script)
    job = Runner(temp=temp, programs=programs, variables={"CODE": "0"}).github(checkout, policy="a.yaml")
    assert (job.code, job.summary) == (0, "")


@pytest.mark.parametrize("policy", ["passing.yaml", *more("failing.yaml", "invalid.yaml")])
@pytest.mark.parametrize("linked", [True, *more(False)])
def test_a_report_that_the_repository_carries_reaches_neither_summary_nor_kept_files(
    audit: Audit, policy: str, linked: bool, checkout: Path
) -> None:
    """Whether it is a folder of the repository or a link to one; what the link leads to stays."""
    committed = checkout / ("old" if linked else "leafgate-report")
    committed.mkdir()
    names = ["report.json", "report.md", "report.sarif", "report.html", "report.junit.xml", "report.txt", "report.x"]
    for name in names:
        (committed / name).write_text("# mortgage: PASS: committed\n")
    if linked:
        (checkout / "leafgate-report").symlink_to("old")
    job = audit(checkout, policy=policy)
    assert job.code == {"invalid.yaml": 2, "failing.yaml": 1, "passing.yaml": 0}[policy]
    assert (job.kept == {}) == (job.code == 2)
    assert "committed" not in job.summary + "".join(job.kept.values())
    if linked:
        assert {path.name: path.read_text() for path in committed.iterdir()} == dict.fromkeys(
            names, "# mortgage: PASS: committed\n"
        )


def test_two_audits_of_one_folder_are_refused(temp: Path, checkout: Path) -> None:
    (temp / "report").mkdir()
    variables = {"LEAFGATE_POLICY": "passing.yaml"}
    script = f"{ACTION.parent}/audit.sh"
    done = run('sh "$SCRIPT" "$FOLDER"', checkout, *BASH, variables=variables | {"SCRIPT": script, "FOLDER": str(temp)})
    assert done.code == 2


@pytest.mark.parametrize(
    "commit", ["", "main", "v1.0", "0" * 39, "0" * 41, "G" * 40, "--upload-pack=touch ran;xxxxxxxxxxxxxxxx"]
)
def test_the_gitlab_job_takes_leafgate_at_a_commit_alone(commit: str, temp: Path, checkout: Path) -> None:
    """A branch or a tag may be moved, and a name that nobody keeps on an index could be anybody's."""
    variables = read(GITLAB)[".leafgate-audit"]["variables"]
    assert (variables["LEAFGATE_SOURCE"], variables["LEAFGATE_COMMIT"]) == ("", "")
    runner = Runner(temp=temp, programs=python_without_installing(temp.parent / "programs"))
    job = runner.gitlab(checkout, policy="passing.yaml", source="https://example.org/GROUP/leafgate", commit=commit)
    assert job.code == 2
    assert "LEAFGATE_COMMIT: is no commit (say all 40 digits" in job.printed
    job = runner.gitlab(checkout, policy="passing.yaml", source="", commit="0" * 40)
    assert job.code == 2
    assert "LEAFGATE_SOURCE: is not set (say https://HOST/GROUP/leafgate)" in job.printed
    job = runner.gitlab(checkout, policy="passing.yaml", source="--upload-pack=touch ran", commit="0" * 40)
    assert job.code != 0
    assert not list(temp.parent.rglob("ran"))
