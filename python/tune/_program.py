"""The program `tune`, from Python: where it is, and what it answers.

Thread rule: any thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, List, Optional, Sequence

_PR_SET_PDEATHSIG = 1
# Logs are passed on as they are, and may hold anything.
AS_TEXT: Any = {"encoding": "utf-8", "errors": "replace"}


class TuneError(RuntimeError):
    """The program `tune` refused or failed; the text is what it said."""


def find() -> str:
    """The program: TUNE_PROGRAM, the one this module came with, or the one on PATH.

    FileNotFoundError: none is there; the text says what to do.
    """
    named = os.environ.get("TUNE_PROGRAM")
    if named:
        return named
    package = Path(__file__).resolve().parent
    # A wheel has it inside; elsewhere this module is in the folder `python` beside the programs, or
    # a link to it is, or it is linked from where Python looks.
    here = Path(os.path.abspath(__file__)).parent
    for folder in (package / "bin", here.parent.parent, package.parent.parent):
        if (folder / "tune_cli").is_file() and (folder / "tune").is_file():
            return str(folder / "tune")
    # Ray's program of the same name may stand first on PATH.
    for name in ("tunectl", "tune"):
        found = shutil.which(name)
        if found and (Path(found).resolve().parent / "tune_cli").is_file():
            return found
    raise FileNotFoundError(
        "the program tune is not there: put its folder into PATH, or name it in TUNE_PROGRAM"
    )


def ask(arguments: Sequence[str], *, warns: bool = False) -> str:
    """What the program prints on standard output. TuneError: it refused, and why.

    `warns`: its warnings, and that something was there before, go to standard error here.
    """
    done = subprocess.run(
        [find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, **AS_TEXT
    )
    if done.returncode != 0:
        raise TuneError(_told(done.stderr))
    for line in done.stderr.splitlines() if warns else ():
        if line.startswith("warning: ") or ": it was submitted before" in line:
            print(line, file=sys.stderr)
    return done.stdout


def ask_json(arguments: Sequence[str]) -> Any:
    return json.loads(ask([*arguments, "--format", "json"]))


def _told(errors: str) -> str:
    """Its last line says why; those before it are warnings."""
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    return lines[-1].removeprefix("tune: ") if lines else "tune ended without a word"


def start(arguments: Sequence[str], *, stderr: Optional[int] = None) -> "subprocess.Popen[str]":
    """Starts it so that it ends in order when this process or thread does, however it ends.

    It leads a session of its own: Ctrl-C reaches it through `interrupt` alone.
    """
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def follow_parent() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return subprocess.Popen(
        [find(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        **AS_TEXT,
        start_new_session=True,
        preexec_fn=follow_parent,
    )


class Reading(threading.Thread):
    """Reads a stream to its end, beside whoever waits for its process, which would wait for a reader
    in turn once the pipe is full."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._text = ""
        self.start()

    def run(self) -> None:
        with self._stream:
            self._text = self._stream.read()

    def text(self) -> str:
        """All of it; waits for the stream's end."""
        self.join()
        return self._text


def interrupt(process: "subprocess.Popen[str]") -> None:
    """What Ctrl-C does in a terminal: once, it ends in order; twice, at once."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)


def options(**named: Any) -> List[str]:
    """{"samples": 3, "name": None} as ["--samples", "3"]."""
    words: List[str] = []
    for name, value in named.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(str(value))
    return words
