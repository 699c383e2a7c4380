"""Reports and their answers.

The protocol, lines of JSON over TUNE_SOCKET, one report at a time:
    {"protocol": 1, "report": {"metrics": {"val_loss": 0.5}, "iteration": 3, "checkpoint": "/..."}}
        `iteration` and `checkpoint` may be absent; what is not finite is written "NaN",
        "Infinity" or "-Infinity".
    {"answer": "continue", "iteration": 3}, or "stop"; or {"error": "one line"}
"""

from __future__ import annotations

import json
import math
import operator
import os
import threading
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from ._connection import ANSWER_BYTES_MAX, Connection
from ._environment import integer
from ._number import as_number, on_the_wire, shown

_PROTOCOL = 1
_TRIAL_BYTES_MAX = 64 << 20  # A thousand parameters, in variables of up to 128 KiB each.

PathLike = Union[str, "os.PathLike[str]"]


class Stop(SystemExit):
    """The trial shall end: raised by `report`. Uncaught, it ends the program with status 0."""

    def __init__(self) -> None:
        super().__init__(0)


class ReportError(ValueError):
    """The sweep did not take a report; the text says why. Nothing has changed by it."""


class Reporter:
    """Makes one process's reports.

    Thread rule: any thread; one report at a time, the others wait.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._holder: Optional[int] = None  # The thread that reports now.
        self._connection: Optional[Connection] = None  # Made at the first report.
        self._last: Optional[int] = None  # The last iteration, once one was reported.
        self._is_stopped = False
        self._has_looked_back = False  # The program asked for what lies behind.
        self._reported: Dict[str, float] = {}  # The last report.
        self._extremes: Dict[str, Tuple[float, float]] = {}  # Least and greatest of each metric.

    def reported(self) -> Dict[str, float]:
        """What this process reported last of the trial; empty: nothing."""
        return self._reported

    def extremes(self, metric: str) -> Optional[Tuple[float, float]]:
        """The least and the greatest value that it reported of the trial; None: it reported no number."""
        return self._extremes.get(metric)

    def look_back(self) -> None:
        self._has_looked_back = True

    def iteration(self) -> int:
        if self._last is not None:
            return self._last
        return integer(self._environ, "TUNE_FROM_ITERATION") or 0

    def report(
        self,
        metrics: Mapping[str, object],
        named: Mapping[str, object],
        checkpoint: Optional[PathLike],
        step: Optional[int],
        training_iteration: Optional[int],
    ) -> int:
        values = _values(metrics, named)
        given = _given_iteration([step, training_iteration, metrics.get("training_iteration")])
        path = None if checkpoint is None else _checkpoint_path(checkpoint)
        if self._holder == threading.get_ident():
            # Waiting for ourselves would never end.
            raise RuntimeError("a signal handler called report while its thread was in report")
        with self._lock:
            self._holder = threading.get_ident()
            try:
                return self._report(values, given, path)
            finally:
                self._holder = None

    def next_trial(self, note: str = "") -> Optional[Dict[str, str]]:
        """Ends the trial and waits for another: its variables TUNE_...; None: there is none.

        Outside a sweep there is none. `note` is a line for a person about the trial that ends.
        """
        request: Dict[str, Any] = {"protocol": _PROTOCOL, "next": True}
        if note:
            request["note"] = note
        name = self._environ.get("TUNE_SOCKET")
        if not name:
            return None
        with self._lock:
            try:
                line = json.dumps(request).encode("ascii") + b"\n"
                answer = json.loads(self._ask(name, line, _TRIAL_BYTES_MAX))
            except ConnectionError:
                return None
            self._last = None
            self._is_stopped = self._has_looked_back = False
            self._reported, self._extremes = {}, {}
        variables: Dict[str, str] = answer["trial"]
        return variables

    def leave_to_parent(self) -> None:
        """To be called in a process just forked: connection and lock are its parent's."""
        self._lock = threading.Lock()
        self._holder = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _report(self, values: Dict[str, float], given: Optional[int], path: Optional[str]) -> int:
        if self._is_stopped:
            raise Stop
        name = self._environ.get("TUNE_SOCKET")
        if not name:
            iteration = self._print(values, given, path)
            self._keep(values)
            return iteration
        self._check_beginning(given)
        answer, self._last = _read_answer(self._ask(name, _encode(values, given, path)))
        self._keep(values)
        if answer == "stop":
            self._is_stopped = True
            raise Stop
        return self._last

    def _keep(self, values: Dict[str, float]) -> None:
        self._reported = values
        for name, value in values.items():
            if math.isfinite(value):
                low, high = self._extremes.get(name, (value, value))
                self._extremes[name] = min(low, value), max(high, value)

    def _check_beginning(self, given: Optional[int]) -> None:
        """A program that begins anew would have its first values taken for those of later iterations."""
        is_later = self._last is not None or given is not None or self._has_looked_back
        if is_later or not self._environ.get("TUNE_RESTORED"):
            return
        raise ReportError(
            f"this attempt goes on from the checkpoint of iteration {self.iteration()}, and the "
            "program never asked for it: load what tune.restored() names and begin after "
            "tune.iteration(), or report without checkpoints"
        )

    def _ask(self, name: str, line: bytes, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        if self._connection is None:
            self._connection = Connection(name)
        try:
            return self._connection.exchange(line, bytes_max)
        except BaseException:
            # Also when a signal broke it off: the answer that is still to come would be taken for
            # that of the next report.
            self._connection.close()
            self._connection = None
            raise

    def _print(self, values: Dict[str, float], given: Optional[int], path: Optional[str]) -> int:
        last = self.iteration()
        if given is not None and given <= last:
            raise ReportError(f"training_iteration: read {given}, expected one above {last}")
        self._last = last + 1 if given is None else given
        words = [f"{name}={value:.6g}" for name, value in values.items()]
        if path is not None:
            words.append(f"checkpoint={path}")
        print(f"report {self._last}: {' '.join(words)}", flush=True)
        return self._last


def _values(metrics: Mapping[str, object], named: Mapping[str, object]) -> Dict[str, float]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics: read {shown(metrics)}, expected names and numbers")
    values: Dict[str, float] = {}
    for name, value in [*metrics.items(), *named.items()]:
        if name == "training_iteration":
            continue  # Says which iteration, in whatever way it is given.
        if not isinstance(name, str) or not name:
            raise TypeError(f"metrics: read the name {name!r}, expected a text")
        if name in values:
            raise ValueError(f"{name}: reported twice")
        values[name] = as_number(name, value)
    if not values:
        raise ValueError("metrics: none is there, expected at least one")
    return values


def _given_iteration(names_of_it: Sequence[object]) -> Optional[int]:
    given = [number for number in names_of_it if number is not None]
    if not given:
        return None
    if len(given) > 1:
        raise ValueError("step and training_iteration are two names of one thing: give one")
    try:
        number = operator.index(given[0])  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(given[0], bool) or number < 1:
        name = "training_iteration" if names_of_it[0] is None else "step"
        hint = f"; steps begin at 1: {name}=epoch + 1" if repr(given[0]) == "0" else ""
        raise ValueError(f"{name}: read {given[0]!r}, expected an integer from 1{hint}")
    return number


def _checkpoint_path(checkpoint: PathLike) -> str:
    path = os.fspath(checkpoint)
    if not isinstance(path, str):
        raise TypeError(f"checkpoint: read {shown(path)}, expected a path as text")
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise ValueError(f"checkpoint: {path} is not there")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"checkpoint: the path {path!r} is not UTF-8") from None
    return path


def _encode(values: Mapping[str, float], given: Optional[int], path: Optional[str]) -> bytes:
    report: Dict[str, Any] = {"metrics": {name: on_the_wire(v) for name, v in values.items()}}
    if given is not None:
        report["iteration"] = given
    if path is not None:
        report["checkpoint"] = path
    return json.dumps({"protocol": _PROTOCOL, "report": report}).encode("ascii") + b"\n"


def _read_answer(line: bytes) -> Tuple[str, int]:
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        if isinstance(answer.get("error"), str):
            raise ReportError(answer["error"])
        word, iteration = answer.get("answer"), answer.get("iteration")
        if word in ("continue", "stop") and isinstance(iteration, int):
            return word, iteration
    read = line[:200].decode("utf-8", "replace").strip()
    raise ReportError(
        f"read the answer {read!r}, which this module (protocol {_PROTOCOL}) does not know:"
        " install the module that came with this tune"
    )
