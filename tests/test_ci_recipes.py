"""The recipes for GitHub, GitLab and pre-commit: their scripts are run as they stand."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pre_commit.clientlib import load_manifest

from command_line import leafgate
from leafgate.session.stale_results import VERDICTS
from recipes import (
    ACTION,
    BASH,
    GITLAB,
    HOOKS,
    NOTHING,
    TOP,
    Job,
    Ran,
    Runner,
    program,
    python_without_installing,
    read,
    run,
)

REQUIREMENTS = ACTION.parent / "requirements.txt"
SH = ("sh", "-e")
SHA = re.compile(r"[\w/.-]+@[0-9a-f]{40}")
ARGUMENTS_OF_LEAFGATE = """
import json, os, pathlib, sys
out = pathlib.Path(next(word for word in sys.argv if word.startswith("--out="))[6:])
(out.parent / "arguments.json").write_text(json.dumps(sys.argv[1:]))
(out / "report.json").write_text("{}")
(out / "report.md").write_text(os.environ["SUMMARY"])
(out / "release.json").write_text("{}")
sys.exit(int(os.environ["CODE"]))
"""
UNLISTED = "{columns: name, roles: identifier}, {columns: sports_car, roles: private}"
"""What the organisation allows the mortgage policy to say of columns that it does not list itself."""
ORG = (
    "leafgate: 1\nreport: {smallest_cell: 1}\nmetrics:\n  - {use: k_anonymity, at_least: 4}\n"
    f"data: {{unlisted: {{except: [{UNLISTED}]}}}}\n"
)
PLANTED = ("venv", "pip", "ensurepip", "leafgate", "sitecustomize", "usercustomize", "yaml", "numpy", "typing", "runpy")
Audit = Callable[..., Job]


@pytest.fixture
def temp(tmp_path: Path) -> Path:
    """The folder for temporary files of a runner whose owner likes odd names."""
    folder = tmp_path / "it's a $(touch ran) temp"
    folder.mkdir()
    return folder


@pytest.fixture(params=["github", "gitlab"])
def audit(request: pytest.FixtureRequest, temp: Path) -> Audit:
    """A job of either kind on a runner that installs nothing."""
    runner = Runner(temp=temp, programs=python_without_installing(temp.parent / "programs"))
    job: Audit = getattr(runner, request.param)
    return job


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a policy that passes, and one that fails."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(TOP / "policies" / "mortgage.csv", folder)
    passing = (TOP / "policies" / "mortgage.yaml").read_text()
    (folder / "passing.yaml").write_text(passing)
    stricter = passing.replace("k_anonymity, at_least: 3", "k_anonymity, at_least: 4")
    (folder / "failing.yaml").write_text(stricter)
    (folder / "invalid.yaml").write_text("leafgate: 1\n")
    return folder


@pytest.mark.parametrize(("policy", "code", "verdict"), [("passing.yaml", 0, "pass"), ("failing.yaml", 1, "fail")])
def test_a_job_ends_as_the_audit_does_and_keeps_every_format_of_the_public_report_and_nothing_else(
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


@pytest.mark.parametrize("policy", ["invalid.yaml", "nowhere.yaml", "--help", ""])
def test_a_policy_that_is_none_blocks_and_keeps_nothing(audit: Audit, policy: str, checkout: Path) -> None:
    job = audit(checkout, policy=policy)
    assert (job.code, job.kept, job.summary) == (2, {}, "")


@pytest.mark.parametrize("name", ["data", "test", "root", "org", "formats"])
@pytest.mark.parametrize("value", ["--help", "nowhere\n*"])
def test_no_value_of_an_input_is_taken_for_an_option_or_a_pattern(
    audit: Audit, name: str, value: str, checkout: Path
) -> None:
    job = audit(checkout, policy="passing.yaml", **{name: value})
    assert (job.code, job.kept) == (2, {}), job.printed


@pytest.mark.parametrize("name", ["policy", "data", "test", "root", "org", "formats", "install"])
def test_what_an_input_says_is_never_run(audit: Audit, name: str, checkout: Path, tmp_path: Path) -> None:
    bad = "\"; touch ran; $(touch ran) `touch ran` ${LEAFGATE_POLICY@P} * '; touch ran\n touch ran\n"
    job = audit(checkout, **{"policy": "passing.yaml", name: bad})
    assert job.code == (0 if name == "install" else 2)
    assert list(tmp_path.rglob("ran")) == []


@pytest.mark.parametrize("name", ['it\'s "$HOME" [a]*?', "-- --help", "two\nlines", "\\n\\ %s{}~ ünï"])
def test_policies_and_tables_may_have_any_name(audit: Audit, name: str, checkout: Path) -> None:
    folder = checkout / f"{name} folder"
    folder.mkdir()
    (checkout / "passing.yaml").rename(folder / f"{name}.yaml")
    (checkout / "mortgage.csv").rename(folder / f"{name}.csv")
    job = audit(checkout, policy=f"{name} folder/{name}.yaml", data=f"{name} folder/{name}.csv", root=folder.name)
    assert job.code == 0, job.printed
    assert json.loads(job.kept["report.json"])["verdict"] == "pass"


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


@pytest.mark.parametrize("policy", ["invalid.yaml", "failing.yaml", "passing.yaml"])
@pytest.mark.parametrize("linked", [False, True])
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


BACKEND = """
import zipfile
METADATA = "Metadata-Version: 2.1\\nName: leafgate\\nVersion: 0.1.0\\n"
WHEEL = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
SCRIPTS = "[console_scripts]\\nleafgate = leafgate_tiny:main\\n"
PROGRAM = "import sys\\ndef main():\\n    import tiny\\n    print('audited', len(sys.argv), tiny.__name__)\\n"
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "leafgate-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{wheel_directory}/{name}", "w") as wheel:
        wheel.writestr("leafgate_tiny.py", PROGRAM)
        wheel.writestr("leafgate-0.1.0.dist-info/METADATA", METADATA)
        wheel.writestr("leafgate-0.1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("leafgate-0.1.0.dist-info/entry_points.txt", SCRIPTS)
        wheel.writestr("leafgate-0.1.0.dist-info/RECORD", "")
    return name
"""


def wheel_of(name: str, folder: Path, requires: str = "") -> Path:
    """A wheel of an empty module."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", metadata)
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def small_source(tmp_path: Path) -> Path:
    """Sources with the real scripts, and a leafgate that needs one small wheel; its hash is in requirements.txt."""
    source = tmp_path / "source"
    scripts = source / ACTION.parent.relative_to(TOP)
    shutil.copytree(ACTION.parent, scripts)
    (source / "backend.py").write_text(BACKEND)
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (source / "pyproject.toml").write_text(f'{project}[project]\nname = "leafgate"\nversion = "0.1.0"\n')
    wheel = wheel_of("tiny", tmp_path)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (scripts / "requirements.txt").write_text(f"tiny @ {wheel.as_uri()} --hash=sha256:{digest}\n")
    return source


@pytest.fixture
def real_python(tmp_path: Path) -> Path:
    """A folder with the Python that this one's environment was made of: it makes environments and has pip."""
    return program(tmp_path / "real", "python", f'exec "{sys.base_prefix}/bin/python3" "$@"')


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_no_module_that_the_repository_plants_is_run(
    kind: str, small_source: Path, real_python: Path, temp: Path, checkout: Path, tmp_path: Path
) -> None:
    """With the real venv and pip, hostile variables included; run without isolation, the planted modules do run."""
    marker = tmp_path / "planted modules that ran"
    for name in PLANTED:
        (checkout / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r})\n")
    (checkout / "pip.conf").write_text(f"[global]\ntarget = {tmp_path / 'stolen'}\n")
    hostile = {
        "PYTHONPATH": ".",
        "PYTHONSTARTUP": "pip.py",
        "PIP_CONFIG_FILE": "pip.conf",
        "PIP_REQUIRE_VIRTUALENV": "x",
    }
    hostile |= {"PIP_TARGET": str(tmp_path / "stolen"), "PYTHONUSERBASE": str(checkout), "PIP_REQUIREMENT": "x.txt"}
    (checkout / ".config" / "pip").mkdir(parents=True)
    shutil.copy(checkout / "pip.conf", checkout / ".config" / "pip" / "pip.conf")
    runner = Runner(temp=temp, programs=real_python, source=small_source, variables=hostile)
    job: Job = getattr(runner, kind)(checkout, policy="passing.yaml")
    assert job.code == 0, job.printed
    assert re.search(r"^audited \d tiny$", job.printed, re.MULTILINE)
    assert not marker.exists()
    assert not (tmp_path / "stolen").exists()
    if kind == "github":
        later = run("leafgate", checkout, *BASH, variables={"PYTHONPATH": "."}, programs=Path(job.path))
        assert (later.code, later.output, marker.exists()) == (0, "audited 1 tiny\n", False)
    subprocess.run([real_python / "python", "-m", "venv", "here"], cwd=checkout, check=True, timeout=60)
    assert marker.read_text()


def test_a_file_with_another_hash_is_not_installed(
    small_source: Path, real_python: Path, temp: Path, checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny-1.0-py3-none-any.whl").unlink()
    wheel_of("tiny", tmp_path, requires="Summary: another file of this name\n")
    job = Runner(temp=temp, programs=real_python, source=small_source).github(checkout, policy="passing.yaml")
    assert job.code != 0
    assert "DO NOT MATCH THE HASHES" in job.printed
    assert (job.kept, job.outputs["folder"]) == ({}, "")


def test_plugins_are_installed_beside_and_change_no_pinned_version(
    small_source: Path, real_python: Path, temp: Path, checkout: Path, tmp_path: Path
) -> None:
    runner = Runner(temp=temp, programs=real_python, source=small_source)
    (tmp_path / "plugins").mkdir()
    acme = wheel_of("acme", tmp_path / "plugins", requires="Requires-Dist: leafgate>=0.1\nRequires-Dist: tiny>=1\n")
    taken = runner.github(checkout, policy="passing.yaml", install=f"acme @ {acme.as_uri()}\n")
    assert taken.code == 0, taken.printed
    greedy = wheel_of("greedy", tmp_path / "plugins", requires="Requires-Dist: tiny>=2\n")
    refused = runner.github(checkout, policy="passing.yaml", install=f"--no-index\ngreedy @ {greedy.as_uri()}\n")
    assert refused.code != 0
    assert "tiny" in refused.printed


def test_the_words_for_pip_install_hashed_requirements_and_then_this_checkout(temp: Path, checkout: Path) -> None:
    runner = Runner(temp=temp, programs=python_without_installing(temp.parent / "programs"))
    runner.github(checkout, policy="passing.yaml", install="acme==1\n--help; touch ran")
    (folder,) = temp.iterdir()
    common = ["--isolated", "--quiet", "--no-input", "--disable-pip-version-check"]
    hashed = ["install", "--require-hashes", "--only-binary", ":all:", "--requirement", str(REQUIREMENTS)]
    own = ["install", "--no-deps", "--no-build-isolation", "--no-index", f"{REQUIREMENTS.parent}/../../.."]
    more = ["install", "--constraint", "installed.txt", "--requirement", "requirements.txt"]
    listed = ["list", "--format=freeze"]
    words = [word for command in (hashed, own, listed, more) for word in (*common, *command)]
    assert (folder / "pip-words").read_text().splitlines() == words
    assert (folder / "requirements.txt").read_text() == "acme==1\n--help; touch ran\n"


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


def pinned() -> Mapping[str, list[tuple[Requirement, int]]]:
    """The requirements of requirements.txt by name, each with the number of its hashes."""
    text = REQUIREMENTS.read_text(encoding="utf-8").replace("\\\n", " ")
    requirements: dict[str, list[tuple[Requirement, int]]] = {}
    for line in filter(None, (line.split("#")[0].strip() for line in text.splitlines())):
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line)
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes)
        parsed = Requirement(requirement)
        requirements.setdefault(canonicalize_name(parsed.name), []).append((parsed, len(hashes)))
    return requirements


def test_every_requirement_is_pinned_with_hashes_and_without_an_address() -> None:
    for requirement, hashes in (each for versions in pinned().values() for each in versions):
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert requirement.url is None
        assert hashes > 0
    text = REQUIREMENTS.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^ *--?(i|f|index|extra|find|trusted)", text, re.MULTILINE)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_pins_are_within_the_ranges_of_the_project_for_each_python(version: str) -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    environment = this_environment() | {"python_version": version, "python_full_version": f"{version}.0"}
    versions = {
        name: [str(requirement.specifier)[2:] for requirement, _ in requirements if holds_in(requirement, environment)]
        for name, requirements in pinned().items()
    }
    for line in (*project["project"]["dependencies"], *project["build-system"]["requires"]):
        wanted = Requirement(line)
        (chosen,) = versions[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(chosen), f"{wanted}: requirements.txt has {chosen}"


def this_environment() -> dict[str, str]:
    """What markers ask for, of this Python."""
    return {name: str(value) for name, value in default_environment().items()}


def holds_in(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether a requirement is one in this environment."""
    return requirement.marker is None or requirement.marker.evaluate(dict(environment))


def test_the_pins_are_complete() -> None:
    """Whatever a pinned package that is installed here needs is pinned, for pip refuses anything else."""
    environment = this_environment() | {"extra": ""}
    pins = pinned()
    for name in pins:
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in map(Requirement, needed):
            assert canonicalize_name(requirement.name) in pins or not holds_in(requirement, environment), requirement


def test_no_page_installs_leafgate_by_a_name_that_is_not_taken() -> None:
    pages = [TOP / "README.md", GITLAB, *(TOP / "docs").glob("*.md")]
    by_name = re.compile(r"(pip install|LEAFGATE_INSTALL:) +['\"]?leafgate\b")
    assert [page.name for page in pages if by_name.search(page.read_text(encoding="utf-8"))] == []


def test_no_script_of_the_action_holds_an_input() -> None:
    for each in read(ACTION)["runs"]["steps"]:
        assert "${{" not in each.get("run", "")
        assert each.get("shell", "bash") == "bash"


def test_the_action_says_what_github_wants_to_know() -> None:
    action = read(ACTION)
    assert {"name", "description", "inputs", "outputs", "runs"} == set(action)
    assert action["runs"]["using"] == "composite"
    assert all(result["description"] for result in (*action["inputs"].values(), *action["outputs"].values()))
    used = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text()))
    assert used == set(action["inputs"])


def test_both_wrappers_have_the_same_inputs() -> None:
    of_github = {f"LEAFGATE_{name.upper()}" for name in read(ACTION)["inputs"]}
    of_gitlab = set(read(GITLAB)[".leafgate-audit"]["variables"])
    assert of_github - of_gitlab == {"LEAFGATE_ARTIFACT", "LEAFGATE_PYTHON-VERSION"}
    assert of_gitlab - of_github == {"LEAFGATE_SOURCE", "LEAFGATE_COMMIT"}


def test_other_people_s_actions_are_pinned_by_commit_everywhere() -> None:
    recipes = [*(TOP / ".github").rglob("*.yml"), *(TOP / "docs").rglob("*.md"), *(TOP / "docs" / "ci").iterdir()]
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*recipes, TOP / "README.md")}
    used = {
        (name, use) for name, text in texts.items() for use in re.findall(r"^[ -]*uses: (\S+/\S+)", text, re.MULTILINE)
    }
    assert len(used) > 5
    ours = "OWNER/leafgate/.github/actions/audit@COMMIT"
    assert [(name, use) for name, use in used if use != ours and not SHA.fullmatch(use)] == []


def test_reports_are_kept_whatever_happens_by_the_names_they_have() -> None:
    steps = [each for each in read(ACTION)["runs"]["steps"] if "uses" in each]
    (keeping,) = (each for each in steps if each["uses"].startswith("actions/upload-artifact@"))
    assert keeping["if"].startswith("always()")
    job = read(GITLAB)[".leafgate-audit"]
    assert job["artifacts"]["when"] == "always"
    names = {Path(path).name for path in keeping["with"]["path"].splitlines()}
    assert names == {Path(path).name for path in job["artifacts"]["paths"]} == set(VERDICTS)


def test_no_recipe_asks_for_what_only_auditors_may_see() -> None:
    files = [*ACTION.parent.iterdir(), *GITLAB.parent.iterdir(), HOOKS]
    assert not any("--audience" in path.read_text() for path in files if path.is_file())


HOOK = read(HOOKS)[0]


def test_the_hook_says_what_pre_commit_wants_to_know() -> None:
    assert [each["id"] for each in read(HOOKS)] == ["leafgate-validate", "leafgate-validate-partial"]
    assert {"id", "name", "entry", "language"} <= set(HOOK)
    assert HOOK["language"] == "python"


def test_the_hook_looks_at_every_yaml_file_for_a_policy_may_be_read_with_any() -> None:
    assert HOOK["types"] == ["yaml"]
    assert "files" not in HOOK
    assert HOOK["require_serial"]


@pytest.mark.parametrize(
    ("files", "code"),
    [(["passing.yaml"], 0), (["passing.yaml", "failing.yaml"], 0), (["passing.yaml", "invalid.yaml"], 2)],
)
def test_the_hook_runs_on_the_files_it_is_given(files: list[str], code: int, checkout: Path) -> None:
    ended = run(f"git init -q . && {HOOK['entry']} {' '.join(files)}", checkout, *BASH, variables=NOTHING)
    assert ended.code == code
    assert all(file in ended.output for file in files)


def test_the_hook_says_of_each_file_what_is_wrong(checkout: Path) -> None:
    (checkout / "other.yaml").write_text("leafgate: 1\nname: other\n")
    words = [checkout / "invalid.yaml", checkout / "passing.yaml", checkout / "other.yaml"]
    output = leafgate("validate", *words)
    assert (output.code, output.out) == (2, f"{words[1]}: the policy 'mortgage' is valid\n")
    assert {line.split(": ")[1] for line in output.err.splitlines()} == {str(words[0]), str(words[2])}


def test_pre_commit_itself_takes_the_manifest() -> None:
    assert [hook["id"] for hook in load_manifest(str(HOOKS))] == ["leafgate-validate", "leafgate-validate-partial"]


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(("policy", "code"), [("passing.yaml", 0), ("invalid.yaml", 1)])
def test_pre_commit_runs_the_hook_on_the_policies_of_a_repository(policy: str, code: int, checkout: Path) -> None:
    (checkout / policy).rename(checkout / "loans.leafgate.yaml")
    if code == 0:
        (checkout / "invalid.yaml").unlink()
    shutil.copy(TOP / "policies" / "mortgage.yaml", checkout / "leafgate.yml")
    hook = {**HOOK, "language": "system"}
    (checkout / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    here = {"PRE_COMMIT_HOME": str(checkout.parent / "pre-commit"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    script = "git init -q . && git add . && pre-commit run --all-files --verbose"
    ended = run(script, checkout, *BASH, variables=here)
    assert ended.code == code, ended.output
    assert "leafgate.yml: the policy 'mortgage' is valid" in ended.output
    assert ("loans.leafgate.yaml: the policy" in ended.output) == (code == 0)
    assert ("leafgate: loans.leafgate.yaml: data: is missing" in ended.output) == (code == 1)


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(
    ("change", "code", "content"),
    [
        ("printf '#' >> org.yaml", 0, "loans.yaml: the policy 'mortgage' is valid"),
        ("sed -i s/:.2/:\\ 9/ org.yaml", 1, "leafgate: loans.yaml: metrics[0].at_least: loosens what it extends"),
        ("echo 'waivers: 3' > waivers.yaml", 1, "leafgate: loans.yaml: waivers.yaml, line 1: waivers: "),
        ("printf '#' >> other.yaml", 0, "no policy is read with these files"),
    ],
)
def test_pre_commit_looks_at_the_policies_that_depend_on_a_changed_file(
    change: str, code: int, content: str, checkout: Path
) -> None:
    (checkout / "invalid.yaml").unlink()
    text = (checkout / "passing.yaml").read_text()
    (checkout / "passing.yaml").unlink()
    (checkout / "loans.yaml").write_text(f"{text}\nextends: org.yaml\nwaivers: waivers.yaml\n")
    (checkout / "org.yaml").write_text(ORG.replace("at_least: 4", "at_least: 2"))
    (checkout / "waivers.yaml").write_text("waivers: []\n")
    (checkout / "other.yaml").write_text("services: {}\n")
    hook = {**HOOK, "language": "system"}
    (checkout / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    here = {"PRE_COMMIT_HOME": str(checkout.parent / "pre-commit"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    commit = "git -c user.name=a -c user.email=a@example.org commit -qm first"
    script = f"git init -q . && git add . && {commit} && {change} && git add . && pre-commit run --verbose"
    ended = run(script, checkout, *BASH, variables=here)
    assert ended.code == code, ended.output
    assert content in ended.output, ended.output
    assert "failing.yaml" not in ended.output


def test_one_json_document_tells_of_one_policy(checkout: Path) -> None:
    output = leafgate("validate", checkout / "passing.yaml", checkout / "failing.yaml", "--json")
    assert output.code == 2
    assert output.problems[0]["place"] == "--json"


PAGE = (TOP / "docs" / "ci.md").read_text(encoding="utf-8")
SHOWN = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_page_s_workflow_gives_the_action_inputs_that_it_has() -> None:
    (workflow,) = (each for each in SHOWN if "jobs" in each)
    (used,) = (each for each in workflow["jobs"]["audit"]["steps"] if each.get("id") == "leafgate")
    assert used["uses"].split("@")[0].endswith(str(ACTION.parent.relative_to(TOP)))
    inputs = read(ACTION)["inputs"]
    assert set(used["with"]) <= set(inputs)
    assert {name for name, result in inputs.items() if result.get("required")} <= set(used["with"])


def test_the_page_lists_the_inputs_of_the_action_with_their_defaults() -> None:
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ?(?:`([^`]*)`|[^|]*?) ?\|", PAGE, re.MULTILINE))
    inputs = read(ACTION)["inputs"]
    assert list(listed) == list(inputs)
    assert all(listed[name] == result.get("default", "") for name, result in inputs.items())


def test_the_page_s_job_extends_the_job_there_is_with_variables_that_it_has() -> None:
    (pipeline,) = (each for each in SHOWN if "include" in each)
    assert (TOP / pipeline["include"][0]["file"]) == GITLAB
    job = read(GITLAB)[pipeline["audit"]["extends"]]
    assert set(pipeline["audit"]["variables"]) <= set(job["variables"])


def test_the_page_s_hook_is_one_there_is() -> None:
    (configured,) = (each for each in SHOWN if "repos" in each)
    assert [hook["id"] for hook in configured["repos"][0]["hooks"]] == [HOOK["id"]]


MLFLOW_STEP = next(
    text for text in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "mlflow" in text
)
REGISTER = """
import os, sys
from mlflow import MlflowClient
client = MlflowClient()
run = client.create_run(client.create_experiment("loans")).info.run_id
client.log_artifact(run, sys.argv[1])
client.create_registered_model("income")
version = client.create_model_version("income", client.get_run(run).info.artifact_uri, run)
print(run, version.version)
"""
LOOK = """
import json
from mlflow import MlflowClient
client = MlflowClient()
(experiment,) = [each for each in client.search_experiments() if each.name == "loans"]
(run,) = client.search_runs([experiment.experiment_id])
print(json.dumps([client.get_registered_model("income").aliases, run.data.tags]))
"""


def promoted(
    checkout: Path, registered: str = "model.json", words: str = ""
) -> tuple[Ran, dict[str, str], dict[str, str]]:
    """The page's MLflow step in a checkout, against a store of files: how it ended, the aliases, the run's tags."""
    store = {"MLFLOW_TRACKING_URI": (checkout.parent / "store").as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true"}
    store |= {"MLFLOW_DISABLE_TELEMETRY": "true", "TMPDIR": str(checkout.parent)}

    def python(program: str, *given: str) -> str:
        done = run(shlex.join(["python", "-W", "ignore", "-c", program, *given]), checkout, *BASH, variables=store)
        assert done.code == 0, done.output
        return done.output.splitlines()[-1]

    run_id, version = python(REGISTER, str(checkout / "governance" / registered)).split()
    names = {"RUN_ID": run_id, "MODEL_NAME": "income", "MODEL_VERSION": version, "MODEL_FILE": registered}
    ended = run(MLFLOW_STEP.replace(" --out ", f" {words} --out "), checkout, *SH, variables=store | names)
    aliases, tags = json.loads(python(LOOK))
    return ended, aliases, tags


@pytest.fixture
def governed(checkout: Path) -> Path:
    """A checkout with a model that passes its policy, another that nobody audited, and an old report that passes."""
    governance = checkout / "governance"
    governance.mkdir()
    (checkout / "data").mkdir()
    shutil.copy(checkout / "mortgage.csv", checkout / "data" / "people.csv")
    assert leafgate("build", checkout / "passing.yaml", "--out", governance / "model.json").code == 0
    (governance / "other.json").write_bytes((governance / "model.json").read_bytes() + b"\n")
    published = "build: {use: published, path: model.json} #"
    for name in ("passing", "failing"):
        (governance / f"{name}.yaml").write_text((checkout / f"{name}.yaml").read_text().replace("build:", published))
    shutil.copy(governance / "passing.yaml", governance / "leafgate.yaml")
    data = checkout / "data" / "people.csv"
    assert leafgate("audit", governance / "leafgate.yaml", data, "--out", checkout / "leafgate-report").code == 0
    return checkout


INSTALLED = pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow-skinny is not installed")


@INSTALLED
def test_the_alias_moves_to_the_version_whose_file_passed(governed: Path) -> None:
    ended, aliases, tags = promoted(governed)
    assert ended.code == 0, ended.output
    assert (aliases, tags["leafgate.verdict"]) == ({"champion": "1"}, "pass")
    model = (governed / "governance" / "model.json").read_bytes()
    assert tags["leafgate.file_sha256"] == hashlib.sha256(model).hexdigest()


@INSTALLED
@pytest.mark.parametrize(
    ("case", "code", "verdict"),
    [
        ("a broken limit", 1, "fail"),
        ("another file", 2, None),
        pytest.param("a wrong option", 2, None, marks=pytest.mark.slow),
        pytest.param("an invalid policy", 2, None, marks=pytest.mark.slow),
    ],
)
def test_the_alias_does_not_move_for_anything_else(case: str, code: int, verdict: str | None, governed: Path) -> None:
    policy = governed / "governance" / "leafgate.yaml"
    if case == "a broken limit":
        shutil.copy(policy.parent / "failing.yaml", policy)
    elif case == "an invalid policy":
        policy.write_text("leafgate: 1\n")
    registered = "other.json" if case == "another file" else "model.json"
    words = "--to pdf" if case == "a wrong option" else ""
    ended, aliases, tags = promoted(governed, registered, words)
    assert (ended.code, aliases, tags.get("leafgate.verdict")) == (code, {}, verdict), ended.output


def test_no_recipe_ignores_an_exit_code() -> None:
    pages = [ACTION, GITLAB, HOOKS, TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    ignoring = re.compile(r"\|\| *(true|:)(?![\w`])|; *true\b")
    assert [page.name for page in pages if ignoring.search(page.read_text(encoding="utf-8"))] == []
