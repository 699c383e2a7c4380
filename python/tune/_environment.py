"""What the environment says of the trial. Functions of the variables they are given.

Thread rule: any thread.
"""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any, Dict, Mapping, Optional


def config(environ: Mapping[str, str], defaults: Mapping[str, Any]) -> Dict[str, Any]:
    """The map in the file TUNE_CONFIG, over `defaults`; these alone where there is none."""
    path = environ.get("TUNE_CONFIG")
    if not path:
        return _over(defaults, {})
    try:
        chosen = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RuntimeError(f"TUNE_CONFIG: {path} cannot be read: {error}") from error
    if not isinstance(chosen, dict):
        raise RuntimeError(f"TUNE_CONFIG: {path} holds a {type(chosen).__name__}, expected a map")
    return _over(defaults, chosen)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Dict[str, Any]:
    joined = dict(above)
    for name, value in below.items():
        if name not in above:
            # A copy, so that changing the answer does not change the defaults.
            joined[name] = _over(value, {}) if isinstance(value, Mapping) else value
        elif isinstance(value, Mapping) and isinstance(above[name], Mapping):
            joined[name] = _over(value, above[name])
    return joined


def integer(environ: Mapping[str, str], name: str) -> Optional[int]:
    """An integer variable; None where it is absent."""
    text = environ.get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise RuntimeError(f"{name}: read {text!r}, expected an integer") from None


def trial(environ: Mapping[str, str]) -> Optional[int]:
    return integer(environ, "TUNE_TRIAL")


def restored(environ: Mapping[str, str]) -> Optional[Path]:
    path = environ.get("TUNE_RESTORED")
    return Path(path) if path else None


class Folder:
    """The trial's own folder. Outside a sweep the first call makes one, which later calls give."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._fresh: Optional[Path] = None

    def leave_to_parent(self) -> None:
        """To be called in a process just forked: a thread of its parent may have held the lock."""
        self._lock = threading.Lock()

    def path(self) -> Path:
        given = self._environ.get("TUNE_DIR")
        if given:
            Path(given).mkdir(parents=True, exist_ok=True)
            return Path(given)
        with self._lock:
            if self._fresh is None:
                self._fresh = _fresh_folder(Path("tune-out").absolute())
            return self._fresh


def _fresh_folder(parent: Path) -> Path:
    for number in itertools.count(1):
        path = parent / str(number)
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            # An earlier run's, or that of one which runs beside us: making it tells, looking first
            # would not.
            continue
    raise AssertionError("numbers do not end")
