"""The command desk: a guided page in the browser."""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.options import Org

if TYPE_CHECKING:
    from leafgate.commands.desk.decisions import Decider


def desk(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the cases are, a folder each.")],
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Of this computer; 0: any free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    org: Org = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The private key of whoever decides here.")] = None,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="The ledger of approved releases.")] = None,
    ledger_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The file with its secret key.")] = None,
) -> int:
    """Lead through an audit in the browser, to a verdict and a decision. Only this computer reaches the pages."""
    from leafgate.errors import InvalidError

    try:
        import python_multipart  # noqa: F401  # Starlette asks for it when it reads a form
        import uvicorn

        from leafgate.commands.desk.pages import desk_app
        from leafgate.commands.desk.server import Secrets, bound_socket, open_browser
    except ImportError as error:
        from leafgate.lazy_loading import install_command

        remedy = f"install it: {install_command('desk')}"
        raise InvalidError(f"needs the package {error.name}", place="desk", remedy=remedy) from None
    from leafgate.commands.desk.cases import Desk
    from leafgate.commands.desk.jobs import Line
    from leafgate.console.output import say
    from leafgate.io.files import make_folder
    from leafgate.io.locks import locked_folder

    if sys.platform == "win32":
        raise InvalidError("does not run on Windows", place="desk", remedy="use WSL, or the command line")
    if (ledger is None) != (ledger_key is None):
        raise InvalidError("is missing", place="--ledger" if ledger is None else "--ledger-key", remedy="name both")
    decider = _decider(key, ledger, ledger_key)
    make_folder(folder)
    with locked_folder(folder) as free:
        if not free:
            raise InvalidError("a desk is open on this folder already", place=str(folder), remedy="use that one")
        try:
            listening = bound_socket(port)
        except OSError as error:
            raise InvalidError(str(error.strerror), place="--port", remedy="choose another, or leave it out") from None
        shown = Desk(folder.resolve(), tuple(path.resolve() for path in org or ()))
        given = Secrets(listening.getsockname()[1])
        line = Line(shown, ledger, ledger_key)
        server = uvicorn.Server(
            uvicorn.Config(
                desk_app(shown, line, given, decider),
                access_log=False,
                log_level="critical",
                server_header=False,
                lifespan="off",
            )
        )
        say(f"leafgate desk: {given.address}")
        say("Only this computer reaches it, and the address works once. Ctrl-C ends it; a running audit goes on.")
        line.open()
        with TemporaryDirectory(prefix="leafgate-desk-") as private:
            if not no_browser:
                open_browser(given, Path(private))
            try:
                server.run(sockets=[listening])
            finally:
                line.close()
    return 0


def _decider(key: Path | None, ledger: Path | None, ledger_key: Path | None) -> Decider:
    """Who decides; the passphrase of an encrypted key is asked for in the terminal, and nowhere else."""
    from leafgate.commands.attest.keys import key_of_file, signer_of
    from leafgate.commands.desk.decisions import Decider
    from leafgate.errors import LedgerError
    from leafgate.io.files import read_key

    secret = None if ledger_key is None else read_key(ledger_key, LedgerError, str(ledger_key))
    if key is None:
        return Decider(None, ledger, secret)
    content = key_of_file(key)
    passphrase = getpass(f"Passphrase of {key}: ").encode() if b"ENCRYPTED" in content else None
    return Decider(signer_of(content, passphrase), ledger, secret)
