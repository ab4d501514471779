"""Starts the set-up: puts this folder on the import path and hands over to `setuplib`.

`scripts/setup` finds a Python that is new enough and runs this file with it; on Windows it is run by hand:
`py scripts\\_setup.py`. Nothing but the standard library is used, for nothing else is there yet.
"""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036  # this file also meets older Pythons, when run by hand
    sys.exit("Error: localrag needs Python 3.11 or newer; this is Python " + sys.version.split()[0] + ".")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from setuplib.main import main

if __name__ == "__main__":
    sys.exit(main())
