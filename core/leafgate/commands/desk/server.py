"""The server of the desk: who may ask, what every answer forbids the browser, and how the browser is opened."""

from __future__ import annotations

import secrets
import webbrowser
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from socket import AF_INET, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leafgate.io.files import OWNER_ONLY, write_file

COOKIE = "leafgate_desk"
LOOPBACK = "127.0.0.1"
MAX_UPLOAD_BYTES = 512 * 2**20
"""All files of a form together."""
MAX_FORM_BYTES = 2**20
"""A form without files: a policy has 256 KB at most."""
PAGE_CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""Of a report, which has its styles in itself: it runs no script, sends no form, and is of no origin."""
HEADERS = {
    "content-security-policy": PAGE_CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with `no-referrer` a form would have no Origin
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class Secrets:
    """What lets a browser in: of one run of the desk, and written nowhere but in the redirect file.

    Attributes:
        port: of the server.
        run: the first part of every path. Browsers send cookies to every port of a computer, but not to other paths.
        token: in the address that is printed; none once it has been used.
        cookie: what the token is exchanged for.
        csrf: in every form.
    """

    port: int
    run: str = field(default_factory=lambda: secrets.token_hex(16))
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def origin(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def root(self) -> str:
        return f"/{self.run}"

    @property
    def address(self) -> str:
        """What a browser opens first."""
        return f"{self.origin}{self.root}/open/{self.token}"

    def exchanged(self, token: str) -> bool:
        """Use the token; False where it is another one, or was used."""
        if self.token is None or not secrets.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = None
        return True


class Gate:
    """Lets in requests of the browser that used the token, and nothing else; every answer has the same headers."""

    def __init__(self, app: ASGIApp, given: Secrets) -> None:
        self._app, self._secrets = app, given

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._opened(scope) or self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, send_safely)
        else:
            await self._app(scope, receive, send_safely)

    def _opened(self, scope: Scope) -> Response | None:
        """The cookie in exchange for the token; a page leads on, since a redirect would be of another site."""
        start = f"{self._secrets.root}/open/"
        headers, path = Headers(scope=scope), str(scope["path"])
        if scope["method"] != "GET" or not path.startswith(start) or self._is_of_another_host(headers):
            return None
        if not self._secrets.exchanged(path.removeprefix(start)):
            return None
        answer = message_page("leafgate desk", "Open the cases", self._secrets.root + "/", refresh=True)
        answer.set_cookie(COOKIE, self._secrets.cookie, path=self._secrets.root, httponly=True, samesite="strict")
        return answer

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is not let in; None for one that is."""
        headers, method = Headers(scope=scope), scope["method"]
        if self._is_of_another_host(headers):
            return message_page("This computer answers to no other name.", status=421)
        if method not in {"GET", "HEAD", "POST"}:
            return message_page("This is not possible here.", status=405)
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return message_page("Another page asked for this. Nothing was done.", status=403)
        is_below = scope["path"].startswith(f"{self._secrets.root}/")
        wanted = self._secrets.cookie.encode()
        if not is_below or not any(secrets.compare_digest(given.encode(), wanted) for given in _cookies(headers)):
            text = (
                "This page belongs to an earlier start, or its address was used. Stop leafgate desk with Ctrl-C, start "
            )
            return message_page(f"{text}it again, and use the address that it prints. Nothing is lost.", status=403)
        if method == "POST":
            return self._refused_form(headers)
        return None

    def _is_of_another_host(self, headers: Headers) -> bool:
        return headers.getlist("host") != [f"{LOOPBACK}:{self._secrets.port}"]

    def _refused_form(self, headers: Headers) -> Response | None:
        """The answer to a form of another page, or one that is too large, before any of it is read."""
        if headers.getlist("origin") != [self._secrets.origin]:
            return message_page("Another page sent this form. Nothing was done.", status=403)
        length, kind = headers.get("content-length", ""), headers.get("content-type", "")
        most = MAX_UPLOAD_BYTES if kind.startswith("multipart/form-data") else MAX_FORM_BYTES
        if not length.isdecimal() or "transfer-encoding" in headers:
            return message_page("The form does not say how long it is.", status=411)
        if int(length) > most + MAX_FORM_BYTES:
            return message_page(
                "The files are larger than 512 MB. Put them into the folder, and choose them.", status=413
            )
        return None


def _cookies(headers: Headers) -> list[str]:
    """The cookies of the desk's name: a server on another port may have set one, too."""
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for name, _, value in parts if name == COOKIE]


def message_page(
    text: str, link: str = "", address: str = "", *, status: int = 200, refresh: bool = False
) -> HTMLResponse:
    """A page of one sentence, which needs no template and discloses nothing."""
    on = f'<meta http-equiv="refresh" content="0; url={escape(address)}">' if refresh else ""
    body = f'<p><a href="{escape(address)}">{escape(link)}</a></p>' if link else ""
    return HTMLResponse(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{on}'
        f'<meta name="viewport" content="width=device-width"><title>leafgate desk</title></head>'
        f"<body><main><h1>{escape(text)}</h1>{body}</main></body></html>",
        status_code=status,
    )


def bound_socket(port: int) -> socket:
    """A socket that only this computer reaches; any free port for 0. OSError where the port is taken."""
    listening = socket(AF_INET, SOCK_STREAM)
    listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # before the address is printed
    except OSError:
        listening.close()
        raise
    return listening


def open_browser(given: Secrets, folder: Path) -> None:
    """Open the address by a file in a folder that only its owner reads, so that no list of processes has the token."""
    page = folder / "open.html"
    text = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={escape(given.address)}"><title>leafgate</title>'
    write_file(page, text.encode(), OWNER_ONLY)
    webbrowser.open(page.as_uri())
