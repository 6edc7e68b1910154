"""What a job installs: hashed requirements, leafgate from its sources, and plugins that change no pinned version."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from recipes import (
    ACTION,
    BASH,
    TOP,
    Job,
    Runner,
    program,
    python_without_installing,
    run,
)

REQUIREMENTS = ACTION.parent / "requirements.txt"

PLANTED = ("venv", "pip", "ensurepip", "leafgate", "sitecustomize", "usercustomize", "yaml", "numpy", "typing", "runpy")

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


@pytest.mark.processes
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


@pytest.mark.processes
def test_a_file_with_another_hash_is_not_installed(
    small_source: Path, real_python: Path, temp: Path, checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny-1.0-py3-none-any.whl").unlink()
    wheel_of("tiny", tmp_path, requires="Summary: another file of this name\n")
    job = Runner(temp=temp, programs=real_python, source=small_source).github(checkout, policy="passing.yaml")
    assert job.code != 0
    assert "DO NOT MATCH THE HASHES" in job.printed
    assert (job.kept, job.outputs["folder"]) == ({}, "")


@pytest.mark.processes
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


@pytest.mark.thorough
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
