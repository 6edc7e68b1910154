from collections.abc import Callable

import pytest
import typer

from command_line import leafgate
from entry_points import BASICS, Point, commanding, install
from leafgate.api import DataError, InconclusiveError, LeafgateError, NoReleaseError, PolicyError


def app(does: Callable[[], object], name: str | None = "greet") -> typer.Typer:
    """A typer app of one command."""
    made = typer.Typer()
    made.command(name)(does)
    return made


def hello() -> None:
    """Say hello."""
    typer.echo("hello")


def say_hello() -> None:
    typer.echo("hello")


def other() -> None:
    typer.echo("other")


def seven() -> int:
    return 7


def raises(error: BaseException) -> Callable[[], object]:
    def command() -> None:
        raise error

    return command


def test_a_command_of_a_plugin_runs_and_stands_in_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", commanding(app(hello), app(seven, "seven"))))
    greeted = leafgate("greet")
    assert (greeted.code, greeted.out) == (0, "hello\n")
    assert leafgate("seven").code == 7
    helped = leafgate("--help")
    assert helped.code == 0
    assert "greet" in helped.out
    assert "Say hello." in helped.out


def test_a_command_is_called_as_typer_calls_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", commanding(app(say_hello, None))))
    assert leafgate("say-hello").out == "hello\n"


def test_a_group_of_commands_of_a_plugin_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    group, several = typer.Typer(), typer.Typer()
    several.command("say")(seven)
    several.command("greet")(hello)
    group.add_typer(several, name="people")
    install(monkeypatch, Point("spies", commanding(group)))
    assert leafgate("people", "greet").out == "hello\n"
    assert leafgate("people", "say").code == 7
    assert "people" in leafgate("--help").out


def grouped(name: str, *commands: typer.Typer) -> typer.Typer:
    """An app with one group of this name, which has the commands of the others."""
    outer, group = typer.Typer(), typer.Typer()
    group.registered_commands = [command for each in commands for command in each.registered_commands]
    outer.add_typer(group, name=name)
    return outer


@pytest.mark.parametrize("of_core", [True, False])
def test_a_command_is_added_to_a_group_that_exists(monkeypatch: pytest.MonkeyPatch, *, of_core: bool) -> None:
    """The second run finds nothing of the first: the group of the core, or of another plugin, is not changed."""
    name = "plugins" if of_core else "people"
    other_group = Point("late", commanding(grouped("people", app(seven, "seven"))), "Beta")
    install(monkeypatch, Point("spies", commanding(grouped(name, app(hello)))), other_group, BASICS)
    for _ in range(2):
        greeted = leafgate(name, "greet")
        assert (greeted.code, greeted.out, greeted.err) == (0, "hello\n", "")
        assert leafgate("people", "seven").code == 7
    assert leafgate("plugins").out.startswith("spies (acme-spies 1.2)")


def test_a_name_that_a_group_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Point("late", commanding(grouped("plugins", app(other), app(seven, "seven"))), "Beta")
    install(monkeypatch, Point("spies", commanding(grouped("plugins", app(hello)))), late, BASICS)
    greeted = leafgate("plugins", "greet")
    assert greeted.out == "hello\n"
    assert "beta 1.2 offers a command 'greet' that exists already" in greeted.err
    assert leafgate("plugins", "seven").code == 7


@pytest.mark.parametrize("first", [app(say_hello, None), app(hello, "say-hello")], ids=["function", "name"])
@pytest.mark.parametrize("named", [True, False])
def test_the_first_of_two_plugins_keeps_a_name(
    monkeypatch: pytest.MonkeyPatch, first: typer.Typer, *, named: bool
) -> None:
    monkeypatch.setattr(other, "__name__", "say_hello")
    second = app(other, "say-hello" if named else None)
    install(monkeypatch, Point("spies", commanding(first)), Point("late", commanding(second), "Beta"))
    output = leafgate("say-hello")
    assert (output.code, output.out) == (0, "hello\n")
    assert "beta 1.2 offers a command 'say-hello' that exists already" in output.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PolicyError("cannot be meant"), 2),
        (DataError("is not what it should be"), 2),
        (InconclusiveError("could not tell"), 3),
        (NoReleaseError("nothing is safe"), 1),
        (LeafgateError("our fault"), 4),
        (ValueError("Ben has flu"), 4),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, BaseException) else str(given),
)
def test_a_command_of_a_plugin_ends_as_the_core_s_own_do(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    install(monkeypatch, Point("spies", commanding(app(raises(error)))))
    ended = leafgate("greet")
    assert ended.code == code
    assert "Ben" not in ended.err
    if isinstance(error, LeafgateError):
        assert str(error) in ended.err


def test_an_unknown_command_is_a_mistake_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", commanding(app(hello))))
    assert leafgate("greeet").code == 2
