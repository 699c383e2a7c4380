"""Files that trials read, below the folder of the sweep, each under a name made of its content.

Thread rule: any thread, and any process.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Callable


def keep(path: Path, write: Callable[[Path], object]) -> Path:
    """The file, which `write` makes where it is not there yet: it is there whole, or not at all.

    Several may make it at once: each writes one of its own, and the last one's stays.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        write(part)
        with open(part, "rb") as file:  # An empty one would stay for good after a loss of power.
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
