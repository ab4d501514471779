"""The process behind one page: runs the application with a driver that speaks to the server over pipes.

Run as `python -m localrag.web.application [FILE]` by the server, never by hand.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil

_LOOK_SECONDS = 1.0


def main() -> None:
    """Run until the application ends, or the server does."""
    from localrag.settings import load_usable_settings
    from localrag.tui.app import run

    threading.Thread(target=_end_with, args=(os.getppid(),), name="localrag-web", daemon=True).start()
    settings, wrong = load_usable_settings()
    run(Path(sys.argv[1]) if len(sys.argv) > 1 else None, settings, [str(error) for error in wrong])


def _end_with(server: int) -> None:
    """End when the server is gone, even if it was killed and could not say so."""
    while psutil.pid_exists(server) and (sys.platform == "win32" or os.getppid() == server):
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
