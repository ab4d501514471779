"""The package's public names, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import localrag
from localrag import errors


def test_public_names_are_there() -> None:
    for name in localrag.__all__:
        assert getattr(localrag, name) is not None, name
    assert set(localrag.__all__) <= set(dir(localrag))


def test_every_error_is_public() -> None:
    tree = {errors.LocalragError}
    while True:
        wider = tree | {child for parent in tree for child in parent.__subclasses__()}
        if wider == tree:
            break
        tree = wider
    ours = {error.__name__ for error in tree if error.__module__ == errors.__name__}
    assert ours <= set(localrag.__all__)
    assert all(getattr(localrag, name) is getattr(errors, name) for name in ours)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        getattr(localrag, "".join(("nothing", "_here")))


def test_import_is_cheap() -> None:
    program = (
        "import sys, localrag; localrag.__version__; "
        "print([name for name in ('numpy', 'sqlite_utils', 'textual', 'llama_cpp', 'jinja2') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
