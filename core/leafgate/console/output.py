"""What is printed: whatever names stand in it, a line stays one, moves nothing, and is no command to a CI runner."""

from __future__ import annotations

import sys

import typer

from leafgate.io.text import printable_line


def say(line: str, *, err: bool = False) -> None:
    """Print a line of words, on stderr if it is an error."""
    if err:
        typer.echo(printable_line(line), err=True)
    else:
        print_document(f"{printable_line(line)}\n")


def print_document(text: str | bytes) -> None:
    """Print a document on stdout as it is: the same bytes, UTF-8, wherever it goes."""
    content = text.encode() if isinstance(text, str) else text
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(content.decode())
        return
    sys.stdout.flush()
    stream.write(content)
