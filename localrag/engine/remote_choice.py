"""Makes the remote engine that the settings name, and says where text will go."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace

from localrag.engine.remote import Dialect, RemoteModel
from localrag.engine.remote_address import KEY_VARIABLE, Address, parse_address
from localrag.engine.remote_embedder import RemoteEmbedder
from localrag.engine.remote_http import Server
from localrag.engine.remote_llama import LlamaDialect
from localrag.engine.remote_openai import OpenAiDialect
from localrag.engine.remote_waiting import Patience
from localrag.errors import SettingsError
from localrag.sections import RemoteSettings

_LOG = logging.getLogger("localrag")


def remote_model(settings: RemoteSettings, environment: Mapping[str, str] | None = None) -> RemoteModel:
    """The language model at `remote.url`. A warning names the place where text leaves this machine.

    Raises `SettingsError` for an address that cannot be used.
    """
    address = parse_address(settings.url, "remote.url", plain_http=settings.plain_http)
    _warn(address)
    server = _server(address, settings, environment)
    dialect: Dialect
    if settings.dialect == "openai":
        dialect = OpenAiDialect(server, settings.model, settings.context)
    else:
        dialect = LlamaDialect(server, settings.model, settings.context)
    return RemoteModel(dialect, settings.parallel)


def remote_embedder(settings: RemoteSettings, environment: Mapping[str, str] | None = None) -> RemoteEmbedder:
    """The embedding model at `remote.embed_url`; otherwise as `remote_model`."""
    address = parse_address(settings.embed_url, "remote.embed_url", plain_http=settings.plain_http)
    if not settings.embed_model:
        raise SettingsError(
            "remote.embed_url is set and remote.embed_model is not.",
            "Name the model: vectors of different models cannot be compared.",
        )
    _warn(address)
    return RemoteEmbedder(
        _server(address, settings, environment),
        settings.embed_model,
        dialect=settings.dialect,
        query_prefix=settings.embed_query_prefix,
        passage_prefix=settings.embed_passage_prefix,
    )


def notices(settings: RemoteSettings) -> tuple[str, ...]:
    """What must be said of where text goes; empty if it stays on this machine. Raises `SettingsError`."""
    said = [
        parse_address(url, name, plain_http=settings.plain_http).notice
        for name, url in (("remote.url", settings.url), ("remote.embed_url", settings.embed_url))
        if url
    ]
    return tuple(dict.fromkeys(notice for notice in said if notice))


def _server(address: Address, settings: RemoteSettings, environment: Mapping[str, str] | None) -> Server:
    key = (os.environ if environment is None else environment).get(KEY_VARIABLE, "").strip()
    if key and (not key.isascii() or not key.isprintable()):
        raise SettingsError(f"The variable {KEY_VARIABLE} holds characters that no key has.")
    patience = Patience(
        first=float(settings.first_token), between=float(settings.silence), retries=settings.retries
    )
    return Server(address, key, replace(patience, connect=min(patience.connect, patience.first)))


def _warn(address: Address) -> None:
    if address.notice:
        _LOG.warning("%s", address.notice)
