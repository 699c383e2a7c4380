"""Asking and telling from Python: `tune ask-tell` at the other end of a pipe (docs/ASK_TELL.md).

A call that is broken off (Ctrl-C) goes on in a thread of the study's own, and its answer is read
before the next call begins: otherwise that one would take it for its own.

Thread rule: any thread; one call at a time, the others wait. A study is the process's that made it: in one
that was forked meanwhile its calls raise TuneError.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import re
import subprocess
import tempfile
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union

from . import _program
from ._number import as_number, on_the_wire
from ._program import TuneError
from ._sweep import Names, PathLike, Sweep, database, in_spec, make_spec


class _Best(NamedTuple):
    number: int
    config: Dict[str, Any]
    value: float
    iteration: int  # At which it was told; 1 for a trial that was told once.


class BestTold(_Best):
    """The best trial of a study, as far as it was told: a tuple of four, and how it stands to limits on results."""

    feasible: Optional[bool] = None  # Whether it keeps the limits; None: there are none.
    violation: Optional[float] = None  # By how much it does not (docs/SPACE.md).


class Study:
    """Configurations to try, and what came of them; who trains, and where, is up to you.

        study = tune.Study({"lr": tune.loguniform(1e-4, 1e-1)}, metric="accuracy", mode="max")
        for _ in range(20):
            number, config = study.ask()
            study.tell(number, train(**config))

    With `name` it is a sweep of the database, which is gone on with where it is there: what was
    told is on disk before `tell` returns. `close`, or a `with`, ends it.
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        *,
        metric: Names = "value",
        mode: Names = "min",
        search: Union[str, Mapping[str, Any], None] = None,
        name: Optional[str] = None,
        seed: Optional[int] = None,
        db: Optional[PathLike] = None,
        **more: Any,
    ) -> None:
        if db is not None and name is None:
            raise ValueError("db: nothing is kept without a name; write name=..., too")
        self.name = name
        self.db = database(db)
        self._exchanges = ThreadPoolExecutor(max_workers=1)
        spec = make_spec(None, space, metric, mode, ".", {**more, "search": search, "seed": seed})
        self._file = tempfile.NamedTemporaryFile(
            "w", suffix=".json", prefix="tune-", encoding="utf-8"
        )
        json.dump(spec, self._file, indent=1)
        self._file.flush()
        arguments = ["ask-tell", self._file.name, "--keep-going"] + _program.options(name=name)
        if name is not None:
            arguments += ["--db", str(self.db)]
        self._process = subprocess.Popen(
            [_program.find(), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_program.AS_TEXT,
            start_new_session=True,  # Ctrl-C is for who trains; the end of its input ends it.
        )

        _STUDIES.add(self)

    def ask(self) -> Tuple[int, Dict[str, Any]]:
        """A trial's number and its configuration. LookupError: the space is exhausted."""
        asked = self.ask_many(1)
        if not asked:
            raise LookupError("the space is exhausted")
        return asked[0]

    def ask_many(self, count: int) -> List[Tuple[int, Dict[str, Any]]]:
        """So many; fewer, when the space is exhausted. ValueError: fewer than one is asked for."""
        count = operator.index(count)
        if count < 1:
            raise ValueError(f"count: read {count}, expected at least 1")
        answers = self._exchange({"ask": count}, count)
        return [(answer["trial"], answer["config"]) for answer in answers if "trial" in answer]

    def tell(
        self,
        trial: int,
        value: Union[object, Sequence[object], None] = None,
        *,
        iteration: Optional[int] = None,
        failed: bool = False,
        metrics: Optional[Mapping[str, object]] = None,
    ) -> None:
        """A value, one for each metric of several. With `iteration` the trial goes on.

        `metrics`: others by name, which limits on results (`feasible`) name.
        """
        told: Dict[str, Any] = {"trial": trial}
        if failed:
            told["failed"] = True
        elif isinstance(value, (list, tuple)):
            told["value"] = [on_the_wire(as_number("value", one)) for one in value]
        else:
            told["value"] = on_the_wire(as_number("value", value))
        if iteration is not None:
            told["iteration"] = iteration
        if metrics is not None:
            told["metrics"] = {name: on_the_wire(as_number(name, one)) for name, one in metrics.items()}
        self._exchange({"tell": told}, 1)

    @property
    def best(self) -> Optional[BestTold]:
        """The best trial so far; None: none has a value. TuneError where there are several objectives."""
        best = self._exchange({"best": True}, 1)[0]
        if best["trial"] is None:
            return None
        told = BestTold(best["trial"], best["config"], best["value"], best["iteration"])
        told.feasible, told.violation = best.get("feasible"), best.get("violation")
        return told

    def sweep(self) -> Sweep:
        """As a sweep of the database, where it has a name."""
        if self.name is None:
            raise ValueError("this study has no name, and is kept nowhere")
        return Sweep(self.name, self.db)

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout and self._process.stderr
        with contextlib.suppress(BrokenPipeError):  # It has ended.
            self._process.stdin.close()
        self._exchanges.shutdown()
        self._process.stdout.close()
        self._process.stderr.close()
        self._process.wait()
        self._file.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _leave_to_parent(self) -> None:
        """In a process just forked, which would hold the pipes open for as long as it lives."""
        self._exchanges = ThreadPoolExecutor(max_workers=1)  # Threads stay behind.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                os.dup2(null, stream.fileno(), inheritable=False)
        os.close(null)

    def _exchange(self, line: Mapping[str, Any], count: int) -> List[Dict[str, Any]]:
        return self._exchanges.submit(self._exchange_whole, line, count).result()

    def _exchange_whole(self, line: Mapping[str, Any], count: int) -> List[Dict[str, Any]]:
        assert self._process.stdin and self._process.stdout and self._process.stderr
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # It says why.
        answers: List[Dict[str, Any]] = []
        while len(answers) < count:
            text = self._process.stdout.readline()
            if not text:
                self._process.wait()
                told = self._process.stderr.read().strip().removeprefix("tune: ")
                raise TuneError(in_spec(told, self._file.name) or "tune has ended")
            answers.append(json.loads(text))
            if "error" in answers[-1]:  # It changed nothing.
                raise TuneError(re.sub(r"^line \d+: ", "", answers[-1]["error"]))
            if "done" in answers[-1]:
                break
        return answers


_STUDIES: "weakref.WeakSet[Study]" = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for study in list(_STUDIES):
        study._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all_to_parent)
