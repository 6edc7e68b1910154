"""The sessions in a page of documentation, run again: what each command prints now.

    python tests/replay.py docs/tutorials/first-audit.md README.md         writes the pages anew with what was printed

A fenced `console` block holds commands after `$ ` with their output; `# ...` ends an output that is cut short. A fenced
`diff` block edits the file its `+++` line names. A fenced `python` block that begins with a comment of nothing but a
file's name, such as `# train.py`, is written to that file. Blocks run from top to bottom, in one folder that holds
`policies`, `docs/ci` and `docs/r`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from leafgate.cli import run

BLOCK = re.compile(r"^```(console|diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"# (\w+\.py)\n")
SKOPS_DIGEST = re.compile(r"(\.skops\" \(skops\), sha256 )[0-9a-f]+(.*?  release by [^\n]*sha256 )[0-9a-f]+", re.DOTALL)
"""The two digests that an audit of a skops file prints: of the file, and of the release that was read from it."""
CUT = "# ...\n"
PLAIN = re.compile(r"leafgate ([^|<>;&$`*?~{}\\#]+?)(?: > (\S+))?")
"""A command that asks nothing of the shell but to write its output to a file."""
TOP = Path(__file__).resolve().parents[2]
GIVEN = ("policies", "docs/ci", "docs/r")
"""The folders of the repository that commands find where they are run."""


def replayed(page: str) -> str:
    """The page with the outputs that its commands have now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for given in GIVEN:
            shutil.copytree(TOP / given, folder / given)
        return BLOCK.sub(lambda block: f"```{block[1]}\n{_replayed_block(block[1], block[2], folder)}```", page)


def without_skops_digests(text: str) -> str:
    """Mask digests of skops files, which differ in every run: they name their parts by addresses in memory."""
    return SKOPS_DIGEST.sub(r"\1...\2...", text)


def _replayed_block(kind: str, text: str, folder: Path) -> str:
    if kind == "python":
        if script := SCRIPT.match(text):
            (folder / script[1]).write_text(text, encoding="utf-8")
        return text
    if kind == "diff":
        _edit(text, folder)
        return text
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    result = re.split(r"^\$ .*\n", text, flags=re.MULTILINE)[1:]
    printed = _run(commands, folder)
    pairs = zip(commands, result, printed, strict=True)
    return "".join(f"$ {command}\n{_as_long_as(before, now)}" for command, before, now in pairs)


def _as_long_as(text: str, printed: str) -> str:
    """What was printed, cut where the page cuts it."""
    if not text.endswith(CUT):
        return printed
    return "".join(printed.splitlines(keepends=True)[: text.count("\n") - 1]) + CUT


def _run(commands: list[str], folder: Path) -> list[str]:
    """What each command prints, stderr included; `$?` is the exit code of the one before, as at a prompt."""
    printed, code = [], 0
    with contextlib.chdir(folder):
        for command in commands:
            plain = PLAIN.fullmatch(command)
            result, code = _run_here(plain[1], plain[2]) if plain else _run_by_shell(command, code)
            printed.append(result)
    return printed


def _run_here(words: str, file: str | None) -> tuple[str, int]:
    """A command of leafgate in this process: the start of another costs more than most commands."""
    shown, written = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(written if file else shown), contextlib.redirect_stderr(shown):
        code = run(shlex.split(words))
    if file:
        Path(file).write_text(written.getvalue(), encoding="utf-8")
    return shown.getvalue(), code


def _run_by_shell(command: str, code: int) -> tuple[str, int]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"(exit {code})\n{command}"],
        env=os.environ | {"PATH": path, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout, done.returncode


def _edit(diff: str, folder: Path) -> None:
    """Make the change a diff shows; what it takes away must stand in the file just once."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++", "@@"))]
    file = folder / re.findall(r"^\+\+\+ (\S+)", diff, re.MULTILINE)[0]
    old = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
    new = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"{file.name} does not hold just once:\n{old}")
    file.write_text(text.replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(replayed(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
