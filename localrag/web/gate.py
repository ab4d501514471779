"""Who may come in: a token that works once, the cookie that it is exchanged for, and where a request is from.

Everything listens on loopback, but a browser also lets foreign pages speak to loopback, under any name that
somebody lets point there. So the name that was asked for, the page that asks, and the cookie must all fit.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets

from localrag.errors import UsageError

_TOKEN_BYTES = 32
_DEFAULT_PORT = 80


def loopback(host: str) -> str:
    """The address to listen on; raises `UsageError` for one that other machines could reach.

    A name is refused, `localhost` but for: what it stands for is decided elsewhere.
    """
    name = host.strip().removeprefix("[").removesuffix("]")
    if name.lower() == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise UsageError(
            f"{host} is not an address of this machine alone.",
            "localrag web serves this machine only: leave --host away, or take 127.0.0.1 or ::1.",
        )
    return str(address)


class Gate:
    """Decides about every request."""

    def __init__(self, address: str, port: int) -> None:
        """`address` and `port` are those that the server listens on."""
        self._host = f"[{address}]" if ":" in address else address
        self._port = port
        names = {self._host, "localhost"}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == _DEFAULT_PORT:  # browsers leave it away
            self._hosts |= names
        self._token: str | None = secrets.token_urlsafe(_TOKEN_BYTES)
        self._secret = secrets.token_urlsafe(_TOKEN_BYTES)

    @property
    def address(self) -> str:
        """What a person opens; works once."""
        return f"http://{self._host}:{self._port}/?token={self._token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. It names the port, for a browser keeps cookies by host alone."""
        return f"localrag-{self._port}"

    def knows_host(self, host: str | None) -> bool:
        """Whether the request asks for this server by a name of its own, so not by one that was rebound."""
        return host is not None and host.lower() in self._hosts

    def knows_origin(self, origin: str | None) -> bool:
        """Whether the page that sends a request came from here."""
        return origin is not None and origin.lower().removeprefix("http://") in self._hosts

    def exchange(self, token: str) -> str | None:
        """The cookie's value for the token; None if it is wrong or was used."""
        if self._token is None or not _same(token, self._token):
            return None
        self._token = None
        return self._secret

    def admits(self, cookie: str | None) -> bool:
        """Whether a cookie is the one that was given for the token."""
        return cookie is not None and self._token is None and _same(cookie, self._secret)


def _same(one: str, other: str) -> bool:
    """Compare without telling by the time it takes how much fits."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
