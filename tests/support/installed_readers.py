"""Reading model files with the readers of all installed plugins, which are loaded once."""

from leafgate.app import load_plugins
from leafgate.models import reader
from leafgate.readers import ModelIR

READERS = load_plugins().readers


def is_foreign(head: bytes) -> bool:
    """Does a file that begins so hold somebody else's model?"""
    return reader.is_foreign(head, READERS)


def read_foreign(content: bytes, place: str) -> ModelIR:
    """The checked model in a file's bytes."""
    return reader.read_foreign(content, place, READERS)
