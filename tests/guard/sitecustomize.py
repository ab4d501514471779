"""Refuses every connection and name look-up outside loopback, in this process, for good.

`tests/conftest.py` calls `install` in the test process. Python imports a module of this name by itself when
it starts, so with this folder on PYTHONPATH and LOCALRAG_TEST_NO_NETWORK=1 the processes that tests start
are under guard before their first line.

An audit hook sees what Python's socket module is asked to do, by whatever way it is asked. Sockets within
the machine (loopback, Unix sockets, socket pairs) are let through. Each refusal is also written to the file
that LOCALRAG_TEST_NETWORK_LOG names, so that code which swallows the error is found out all the same.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Any

SWITCH = "LOCALRAG_TEST_NO_NETWORK"
LOG = "LOCALRAG_TEST_NETWORK_LOG"

_LOOKUPS = (
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
)
_SENDING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_state = {"installed": False}


class NetworkRefused(PermissionError):
    """A test reached for the network."""


def install() -> None:
    """Begin to refuse; a second call does nothing. An audit hook cannot be taken away again."""
    if not _state["installed"]:
        _state["installed"] = True
        sys.addaudithook(_hook)


def is_local(host: object) -> bool:
    """Whether a host is this machine; a name is, only if it needs no look-up."""
    if host is None:
        return True
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("latin-1")
    if not isinstance(host, str):
        return False
    name = host.strip("[]").partition("%")[0].lower()
    if name in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in _SENDING:
        address = arguments[1]
        # A Unix socket's address is a path; a connected socket sends without an address.
        if isinstance(address, tuple) and not is_local(address[0]):
            _refuse(event, address[0])
    elif event in _LOOKUPS:
        first = arguments[0]
        host = first[0] if isinstance(first, tuple) else first
        if not is_local(host):
            _refuse(event, host)


def _refuse(event: str, host: object) -> None:
    note = f"{event} {host!r} (process {os.getpid()})"
    log = os.environ.get(LOG)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(note + "\n")
    raise NetworkRefused(f"the network is out of bounds in tests: {note}")


if os.environ.get(SWITCH) == "1":
    install()
