"""Runs the command line as `python -m localrag`."""

from __future__ import annotations

import sys

from localrag.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
