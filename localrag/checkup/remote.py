"""Checks of a remote engine: whether it answers, and where text goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from localrag.checkup.base import CheckResult
from localrag.errors import LocalragError

if TYPE_CHECKING:
    from localrag.settings import Settings


def check_remote(settings: Settings) -> Iterator[CheckResult]:
    """Whether the servers that the settings name can be used; nothing where they name none.

    The servers are asked what they serve; an OpenAI-compatible one writes a few words as well. No text of a
    document is sent.
    """
    from localrag.engine.remote_choice import notices, remote_embedder, remote_model

    # A person waits: a server that is not there is told at once.
    remote = replace(settings.remote, retries=0)
    if not remote.url and not remote.embed_url:
        return
    try:
        for notice in notices(remote):
            yield CheckResult("Where text goes", "warn", notice, "Empty the settings under [remote].")
    except LocalragError as error:
        yield CheckResult("Remote engine", "fail", error.message, error.hint)
        return
    if remote.url:
        try:
            with closing(remote_model(remote)) as model:
                about = model.describe()
            detail = f"{about.name}, {about.n_ctx:,} tokens of context, {about.sequences} requests at a time"
            yield CheckResult("Remote engine", "ok", detail)
        except LocalragError as error:
            yield CheckResult("Remote engine", "fail", error.message, error.hint)
    if remote.embed_url:
        try:
            with closing(remote_embedder(remote)) as embedder:
                space = embedder.space
            yield CheckResult("Remote vectors", "ok", f"{space.model}, {space.dimension} dimensions")
        except LocalragError as error:
            yield CheckResult("Remote vectors", "warn", error.message, error.hint)
