"""Completion of command lines in shells."""

import sys

import pytest
import typer

from command_line import leafgate
from entry_points import Point, commanding, install

COMPLETION = "_LEAFGATE_COMPLETE"
leaving = typer.Typer()


@leaving.command("leave")
def leave() -> None:
    """End the process."""
    sys.exit(0)


def completions(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    monkeypatch.setenv(COMPLETION, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    ended = leafgate()
    assert (ended.code, ended.err) == (0, "")
    return ended.out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("va",), ["validate"]),
        (("d",), ["diff", "demo", "desk"]),  # the commands of plugins too
        (("plugins", ""), ["new"]),
        (("validate", "--di"), ["--digest"]),
        (("audit", "--audience", ""), ["public", "auditor"]),
    ],
    ids=" ".join,
)
def test_bash_is_offered_commands_options_and_values(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], offered: list[str]
) -> None:
    assert completions(monkeypatch, "leafgate", *words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv(COMPLETION, f"source_{shell}")
    ended = leafgate()
    assert (ended.code, ended.err) == (0, "")
    assert f"{COMPLETION}=complete_{shell}" in ended.out


def test_a_shell_that_typer_does_not_know_gets_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETION, "source_tcsh")
    ended = leafgate()
    assert (ended.code, ended.out) == (4, "")
    assert "tcsh" in ended.err


@pytest.mark.parametrize("asked", ["complete_bash", "source_bash"])
def test_a_command_line_with_words_is_not_completed_and_does_not_pass(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv(COMPLETION, asked)
    monkeypatch.setenv("COMP_WORDS", "leafgate va")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert leafgate("audit", "policy.yaml").code == 4


def test_a_command_that_exits_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", commanding(leaving)))
    monkeypatch.setenv(COMPLETION, "")
    assert leafgate("leave").code == 4
