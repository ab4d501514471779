"""The sample library: a dozen short texts about an invented town, in English and Chinese, for the demo."""

from __future__ import annotations

from pathlib import Path


def sample_folder() -> Path:
    """Return the folder that holds the sample texts and nothing else.

    It lies inside the package, so that an installed localrag has it as well as a checkout.
    """
    return Path(__file__).resolve().parent / "texts"
