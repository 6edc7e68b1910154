"""A plugin whose attack reports its progress and takes long, and whose builder never ends, installed for commands."""

from __future__ import annotations

from pathlib import Path

from stranger import install

WORD = "a word of the plugin"
"""What the attack prints in its fourth room."""
AWAKE = "LEAFGATE_TEST_AWAKE"
"""The environment's name of a file that is made then, and when the builder begins."""
SOURCE = f"""
import os, sys, time
from typing import Literal
from leafgate.api import TreeBuilder, hookimpl, report_progress
from leafgate_plugins.linking.components import Linking
leafgate_api = ">=3,<4"

def say():
    print({WORD!r}, file=sys.stderr)
    if {AWAKE!r} in os.environ:
        open(os.environ[{AWAKE!r}], "w").close()

class SlowAttack(Linking):
    use: Literal["slow_attack"] = "slow_attack"
    rooms: int = 6

    def infer(self, release, known):
        for room in range(self.rooms):
            report_progress(room, self.rooms, "rooms")
            time.sleep(0.15)
            if room == 3:
                say()
        return super().infer(release, known)

class SlowBuilder(TreeBuilder):
    use: Literal["slow_builder"] = "slow_builder"

    def build(self, table, rng):
        say()
        time.sleep(60)

@hookimpl
def tree_builders():
    return [SlowBuilder]

@hookimpl
def attack_models():
    return [SlowAttack]
"""
FOREVER = {"attacks": [{"use": "slow_attack", "rooms": 10_000}]}
"""Changes of a policy whose audit does not end."""


def install_slow_plugin(folder: Path) -> None:
    """Put the plugin into a folder, which must be on the search path."""
    install(folder, "leafgate_slow", SOURCE)
