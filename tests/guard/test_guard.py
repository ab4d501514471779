"""The guard against the network refuses what leaves the machine, here and in processes that tests start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Refusals
from tests.guard.sitecustomize import NetworkRefused, is_local

FAR = "192.0.2.1"  # reserved for documentation: nobody answers there

REACH = f"""
import _socket
try:
    _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(({FAR!r}, 80))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("host", "local"),
    [
        (None, True),
        ("", True),
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        (b"127.0.0.1", True),
        ("example.org", False),
        ("localhost.example.org", False),
        (FAR, False),
        ("0x7f.1", False),
        (7, False),
    ],
)
def test_what_counts_as_this_machine(host: object, local: bool) -> None:
    assert is_local(host) is local


def test_connection_is_refused(refusals: Refusals) -> None:
    with pytest.raises(NetworkRefused):
        socket.create_connection((FAR, 80), timeout=1)
    with socket.socket() as plain, pytest.raises(NetworkRefused):
        plain.connect_ex((FAR, 80))
    with socket.socket(type=socket.SOCK_DGRAM) as datagram, pytest.raises(NetworkRefused):
        datagram.sendto(b"x", (FAR, 53))
    assert len(refusals.take()) == 3


def test_name_look_up_is_refused(refusals: Refusals) -> None:
    for look_up in (
        lambda: socket.getaddrinfo("example.org", 80),
        lambda: socket.gethostbyname("example.org"),
    ):
        with pytest.raises(NetworkRefused):
            look_up()
    assert len(refusals.take()) == 2


def test_sockets_within_the_machine_work(tmp_path: Path) -> None:
    left, right = socket.socketpair()
    left.sendall(b"pair")
    assert right.recv(4) == b"pair"
    left.close()
    right.close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(("localhost", server.getsockname()[1]), timeout=5)
        client.close()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="not here: no Unix sockets")
def test_unix_sockets_work(tmp_path: Path) -> None:
    path = os.path.relpath(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_child_process_is_refused_too(refusals: Refusals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REACH], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "NetworkRefused"
    notes = refusals.take()
    assert len(notes) == 1
    assert FAR in notes[0]
    assert str(os.getpid()) not in notes[0]


def test_child_of_a_child_is_refused_too(refusals: Refusals) -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {REACH!r}], check=True)"
    subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert len(refusals.take()) == 1
