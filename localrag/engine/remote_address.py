"""Where a remote engine is: its address taken apart, and judged by how far the text travels.

Nothing is looked up for the judgement: only `localhost` and literal addresses are known to be near. A name
could lead anywhere, and elsewhere tomorrow, so a name counts as far.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from localrag.errors import SettingsError

Reach = Literal["machine", "network", "elsewhere"]
"""`machine`: loopback; `network`: a private address; `elsewhere`: all others, names included."""

KEY_VARIABLE = "LOCALRAG_REMOTE_API_KEY"
"""Environment variable of the key; it is read from nowhere else, never stored and never shown."""

_EXAMPLE = "For example http://127.0.0.1:8080 or https://models.example.org."


@dataclass(frozen=True)
class Address:
    """A server's address."""

    scheme: Literal["http", "https"]
    """Whether the way is encrypted."""

    host: str
    """Name or literal address, without brackets."""

    port: int
    """Port; the scheme's own if none was given."""

    path: str
    """Path before the server's own paths, without a slash at its end; usually empty."""

    @property
    def reach(self) -> Reach:
        """How far the text travels."""
        if self.host == "localhost":
            return "machine"
        try:
            address = ipaddress.ip_address(self.host.partition("%")[0])
        except ValueError:
            return "elsewhere"
        mapped = getattr(address, "ipv4_mapped", None) or address
        if mapped.is_loopback:
            return "machine"
        if mapped.is_unspecified or mapped.is_reserved or mapped.is_multicast:
            return "elsewhere"
        return "network" if mapped.is_private or mapped.is_link_local else "elsewhere"

    @property
    def shown(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def notice(self) -> str:
        """What a person must be told before any text is sent; empty if it stays on this machine."""
        if self.reach == "machine":
            return ""
        way = "" if self.scheme == "https" else ", unencrypted"
        if self.reach == "network":
            return f"Text of your documents and your questions go to {self.shown}, in your network{way}."
        return (
            f"TEXT OF YOUR DOCUMENTS AND YOUR QUESTIONS LEAVE THIS MACHINE: they go to {self.shown}{way}, "
            f"because the settings name that server."
        )


def parse_address(url: str, setting: str, *, plain_http: bool = False) -> Address:
    """The address that the setting `setting` names.

    `plain_http` allows unencrypted text to leave the private network. Raises `SettingsError` for what is no
    address, for one that holds a password, and for plain http to anywhere but loopback and private addresses.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise SettingsError(f"{setting} is no address: {error}.", _EXAMPLE) from error
    if parts.username is not None or parts.password is not None:
        # The value itself is not repeated: it holds a secret.
        raise SettingsError(
            f"{setting} holds a user name or password.", f"Give the key in the variable {KEY_VARIABLE}."
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise SettingsError(f"{setting} cannot be {url!r}.", _EXAMPLE)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    path = parts.path.rstrip("/").removesuffix("/v1")
    address = Address(scheme, host.lower(), port or (443 if scheme == "https" else 80), path)
    if scheme == "http" and address.reach == "elsewhere" and not plain_http:
        raise SettingsError(
            f"{setting} would send your text unencrypted to {address.shown}, which is not known to be near.",
            "Use https, or a literal private address; remote.plain_http allows it all the same.",
        )
    return address
