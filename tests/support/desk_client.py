"""A desk's pages without a server, and a browser, or something else, that asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="starlette's test client is not installed")

from leafgate.commands.desk.cases import Case, Desk  # noqa: E402
from leafgate.commands.desk.decisions import Decider  # noqa: E402
from leafgate.commands.desk.jobs import Line  # noqa: E402
from leafgate.commands.desk.pages import desk_app  # noqa: E402
from leafgate.commands.desk.server import Secrets  # noqa: E402

PORT = 4711


class Attacker:
    """A browser, or something else, that asks a desk."""

    def __init__(
        self, folder: Path, *, is_in: bool, org: tuple[Path, ...] = (), decider: Decider | None = None
    ) -> None:
        self.given = Secrets(PORT)
        self.line = Line(Desk(folder, org))
        app = desk_app(Desk(folder, org), self.line, self.given, decider or Decider())
        self.client = testclient.TestClient(app, base_url=self.given.origin, follow_redirects=False)
        self.folder = folder
        if is_in:
            self.client.get(self.given.address)

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(f"{self.given.root}{path}", **options)

    def post(self, path: str, data: Any = None, *, headers: Any = None, csrf: str | None = None, **options: Any) -> Any:
        sent = {"csrf": self.given.csrf if csrf is None else csrf, **(data or {})}
        own = {"origin": self.given.origin} if headers is None else headers
        return self.client.post(f"{self.given.root}{path}", data=sent, headers=own, **options)

    def seen(self, case: str) -> dict[str, str]:
        return {"seen": Case(self.folder / case).state_digest}
