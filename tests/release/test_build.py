"""What a release consists of: distributions that are the same bytes wherever they are built, and their contents."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
INCLUDED: list[str] = [name.lstrip("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]
CACHES = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")
needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling, which builds leafgate, is not installed"
)


def copied_sources(folder: Path, names: list[str], mask: int, day: int) -> Path:
    """A copy of the sources, written in this order, with modes by this mask and other times of change."""
    for name in ("pyproject.toml", *names):
        source, copy = TOP / name, folder / name
        if source.is_dir():
            shutil.copytree(source, copy, ignore=CACHES)
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for path in (folder, *folder.rglob("*")):
        executable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod((0o777 if executable else 0o666) & ~mask)
        os.utime(path, (day * 86_400, day * 86_400))
    return folder


def built(sources: Path, mask: int, **variables: str) -> dict[str, bytes]:
    """The bytes of both distributions by their names, built from these sources."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(sources / "out")]
    subprocess.run(command, cwd=sources, env=environment, umask=mask, check=True, capture_output=True, timeout=120)
    return {path.name: path.read_bytes() for path in (sources / "out").iterdir()}


def digests(files: dict[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each file, because a comparison of bytes that differ prints them."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


@needs_hatchling
@pytest.mark.processes
def test_the_distributions_are_the_same_bytes_wherever_and_whenever_they_are_built(tmp_path: Path) -> None:
    first = built(
        copied_sources(tmp_path / "a", INCLUDED, 0o022, 20_000), 0o022, TZ="UTC", LC_ALL="C", PYTHONHASHSEED="1"
    )
    other = copied_sources(tmp_path / "another folder" / "of sources", INCLUDED[::-1], 0o077, 7_000)
    (other / "notes.txt").write_text("what lies about")
    second = built(other, 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", PYTHONHASHSEED="2")
    version = PROJECT["project"]["version"]
    assert first.keys() == {f"leafgate-{version}.tar.gz", f"leafgate-{version}-py3-none-any.whl"}
    assert digests(first) == digests(second)


@needs_hatchling
@pytest.mark.processes
def test_the_source_distribution_has_what_the_tests_need_and_builds_the_same_wheel(tmp_path: Path) -> None:
    sources = copied_sources(tmp_path / "sources", INCLUDED, 0o022, 20_000)
    content = built(sources, 0o022)
    (source_name,) = (name for name in content if name.endswith(".tar.gz"))
    (wheel_name,) = content.keys() - {source_name}
    with tarfile.open(sources / "out" / source_name) as archive:
        archive.extractall(tmp_path / "extracted", filter="data")
    (extracted,) = (tmp_path / "extracted").iterdir()
    missing = [name for name in ("pyproject.toml", *INCLUDED) if not (extracted / name).exists()]
    assert missing == []
    assert digests(built(extracted, 0o022))[wheel_name] == digests(content)[wheel_name]
    with zipfile.ZipFile(sources / "out" / wheel_name) as opened:
        folders = {name.partition("/")[0] for name in opened.namelist()}
    assert folders == {"leafgate", "leafgate_plugins", f"leafgate-{PROJECT['project']['version']}.dist-info"}


@pytest.mark.skipif(not (TOP / ".git").exists(), reason="not a checkout")
def test_the_source_distribution_names_every_file_of_the_project() -> None:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True, timeout=60).stdout
    tracked = {name.partition("/")[0] for name in listed.strip("\0").split("\0")}
    assert tracked - {"pyproject.toml"} == set(INCLUDED)


def test_programs_that_a_package_brings_along_are_in_its_component(tmp_path: Path) -> None:
    bundled_files = runpy.run_path(str(TOP / ".ci" / "bundled.py"))["bundled_files"]
    information = tmp_path / "gekko-1.3.3.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: gekko\nVersion: 1.3.3\n")
    (information / "RECORD").write_text("gekko/bin/apm,,\ngekko/gekko.py,,\ngekko.libs/libm.so,,\n")
    for name in ("gekko/bin/apm", "gekko/gekko.py", "gekko.libs/libm.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"solver")
    (files,) = bundled_files(tmp_path).values()
    assert [file["name"] for file in files] == ["gekko/bin/apm", "gekko.libs/libm.so"]
    assert {file["hashes"][0]["content"] for file in files} == {hashlib.sha256(b"solver").hexdigest()}
