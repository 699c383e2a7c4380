"""A head, from Python: what is submitted to it, and what became of it. The program `tune` does it
all, as `tune --head ADDRESS COMMAND`.

Thread rule: any thread.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _objective, _program
from ._display import Display
from ._program import TuneError
from ._space import plain
from ._sweep import (
    Names, PathLike, Sweep, SweepError, Tags, _path, _why_nothing, existing, in_spec, labels_of, run_spec,
)

_OVER = ("FINISHED", "STOPPED")
_OF_THE_HEAD = {"cpus", "gpus", "db", "listen"}
_LOOK_EVERY_S = 1.0


def connect(address: Optional[PathLike] = None) -> "Head":
    """A head: by the address that it prints ("https://HOST:PORT/?key=...&cert=..."), a file that
    holds the address, or, on its own machine, its database ("lab.db"). By default that of TUNE_HEAD.

    TuneError: it is not there, or does not know the key.
    """
    if address is None:
        address = os.environ.get("TUNE_HEAD") or None
    if address is None:
        raise TuneError("connect: expected the address of a head, or TUNE_HEAD set to it")
    head = Head(address)
    head._ask_json(["list"])
    return head


class Head:
    """Made by `tune.connect`."""

    def __init__(self, address: PathLike) -> None:
        text = address if isinstance(address, str) else str(_path("address", address))
        self._file: Optional[Any] = None
        if "://" in text:
            # In a file that others cannot read: all users of a machine see arguments.
            self._file = tempfile.NamedTemporaryFile("w", prefix="tune-head-", encoding="utf-8")
            self._file.write(text + "\n")
            self._file.flush()
            self._place = ["--head", self._file.name]
            self.is_here = False
        else:
            self.is_here = Path(text).suffix in (".db", ".sqlite", ".sqlite3")
            self._place = ["--db" if self.is_here else "--head", text]
        self.address = text.split("?")[0]

    # ---- submitting

    def submit(
        self,
        program: Sequence[str],
        *,
        name: Optional[str] = None,
        cpus: Optional[float] = None,
        gpus: Optional[float] = None,
        gpu_memory: Optional[str] = None,
        memory: Optional[str] = None,
        workers: Optional[int] = None,
        spread: bool = False,
        time: Optional[str] = None,
        unplaceable: Optional[str] = None,
        setup: Optional[str] = None,
        env: Optional[Mapping[str, Optional[str]]] = None,
        retries: Optional[int] = None,
        priority: Optional[int] = None,
        folder: PathLike = ".",
        id: Optional[str] = None,
        after: Sequence[str] = (),
        note: Optional[str] = None,
        tags: Optional[Tags] = None,
    ) -> "Job":
        """A job: any program, once, in a copy of `folder`: `head.submit(["python3", "train.py"], gpus=1)`.

        Comes back when the head has it. `env`: of a variable that is None the worker's own is taken.
        `workers`: so many programs at once, each with those CPUs and GPUs, which find each other as under
        torchrun (RANK, MASTER_ADDR and the like); with `spread` on several machines, too.
        `after`: names of what must be over before. `id`: submitted again with it, it is the same job. TuneError: it was refused; the text says why.
        """
        words = [] if isinstance(program, (str, bytes)) else list(program)
        if not words or not all(isinstance(word, (str, os.PathLike, int, float)) for word in words):
            raise TypeError(f"program: read {program!r}, expected a list of texts: ['python3', 'train.py']")
        arguments = ["submit", "--no-wait", "--working-dir", str(_path("folder", folder).resolve())]
        arguments += _program.options(
            name=name, cpus=cpus, gpus=gpus, gpu_memory=gpu_memory, memory=memory, workers=workers,
            spread=spread, time=time, unplaceable=unplaceable,
            setup=setup, retries=retries, priority=priority, id=id,
        ) + labels_of(note, tags)
        if isinstance(after, str):
            raise TypeError(f"after: read {after!r}, expected a list of names: ['prepare']")
        for name_before in after:
            arguments += ["--after", str(name_before)]
        for variable, value in (env or {}).items():
            arguments += ["--env", variable if value is None else f"{variable}={value}"]
        return Job(self, self._ask([*arguments, "--", *map(str, words)], warns=True).strip())

    def run(
        self,
        objective: Union[Callable[..., Any], Mapping[str, Any]],
        space: Mapping[str, Any],
        *,
        metric: Names,
        mode: Names,
        samples: int = 10,
        name: Optional[str] = None,
        seed: Optional[int] = None,
        search: Union[str, Mapping[str, Any], None] = None,
        scheduler: Union[str, Mapping[str, Any], None] = None,
        repeat: Optional[int] = None,
        unique: Optional[bool] = None,
        max_concurrent: Optional[int] = None,
        priority: Optional[int] = None,
        id: Optional[str] = None,
        folder: PathLike = ".",
        python: Optional[str] = None,
        wait: bool = True,
        note: Optional[str] = None,
        tags: Optional[Tags] = None,
        **more: Any,
    ) -> "HeadSweep":
        """A sweep of a Python function, as `tune.run`, by the head's workers; waits for its end unless
        `wait` is False. Each trial runs in a copy of `folder`.

        `python`: what runs the function there; by default "python3" of the worker's PATH.
        """
        _objective.check_begins("head.run")
        if objective is None or isinstance(objective, str):
            raise _objective.ObjectiveError(
                f"objective: read {objective!r}, expected a function, or a trainable as a space file has it"
            )
        for other in sorted(_OF_THE_HEAD & more.keys()):
            raise TypeError(f"{other}: is the head's own; what a trial needs is resources={{...}}")
        folder = existing(folder)
        more.update(search=search, scheduler=scheduler, samples=samples, repeat=repeat, unique=unique)
        spec = run_spec(objective, space, metric, mode, folder, name, more, elsewhere=not self.is_here)
        trainable = spec["trainable"]
        if callable(objective):
            trainable["command"][0] = python or "python3"
        elif isinstance(trainable, dict) and "command" in trainable:
            trainable["working_dir"] = str(folder / trainable.get("working_dir", "."))
        # Not in the folder, which would be another one each time.
        with tempfile.NamedTemporaryFile("w", suffix=".json", prefix="tune-", encoding="utf-8") as file:
            json.dump(spec, file, indent=1)
            file.flush()
            arguments = ["submit", file.name] + _program.options(
                seed=seed, max_concurrent=max_concurrent, priority=priority, id=id
            ) + labels_of(note, tags)
            try:
                sweep = HeadSweep(self, self._ask(arguments, warns=True).strip())
            except TuneError as error:
                raise TuneError(in_spec(str(error), file.name)) from None
        return sweep.wait() if wait else sweep

    # ---- looking

    def sweep(self, name: str) -> "HeadSweep":
        return HeadSweep(self, name)

    def job(self, name: str) -> "Job":
        return Job(self, name)

    @property
    def sweeps(self) -> "List[HeadSweep]":
        """All of its database, jobs too."""
        return [HeadSweep(self, row["name"]) for row in self._ask_json(["list"])]

    @property
    def jobs(self) -> "List[Job]":
        return [Job(self, row["name"]) for row in self._ask_json(["jobs"])]

    @property
    def queue(self) -> List[Dict[str, Any]]:
        """Whose turn is next, what each has, and why it waits."""
        return list(self._ask_json(["queue"]))

    def _ask(self, arguments: Sequence[str], *, warns: bool = False) -> str:
        return _program.ask([*self._place, *arguments], warns=warns)

    def _ask_json(self, arguments: Sequence[str]) -> Any:
        return json.loads(self._ask([*arguments, "--format", "json"]))

    def __repr__(self) -> str:
        return f"<head {self.address}>"


def _name_of(name: str) -> str:
    if not isinstance(name, str) or not name or name.startswith("-"):
        raise TypeError(f"name: read {name!r}, expected the name of a sweep or job")
    return name


class HeadSweep(Sweep):
    """A sweep of a head. Paths that it tells are those of the head's machine."""

    def __init__(self, head: Head, name: str) -> None:
        # Of a head elsewhere the place is no database; nobody asks for the file then.
        super().__init__(_name_of(name), head._place[1])
        self.head = head

    def wait(self) -> "HeadSweep":
        """Until it is over; shown meanwhile as `tune.run` shows one. SweepError: no trial has a value.
        TuneError: the head has given it up (`limits.unplaceable`).

        Ctrl-C leaves it running.
        """
        told = False
        while (status := self.status) not in _OVER:
            if status == "INTERRUPTED":  # No worker could have it, or a disk took no writes.
                if reason := self._given_up():
                    raise TuneError(f"{self.name} is given up: {reason}; sweep.resume() tries it again")
                if not told:
                    print(f"{self.name} is INTERRUPTED, as the head's log says why; the head tries it again each minute", file=sys.stderr)
                told = True
                time.sleep(_LOOK_EVERY_S)
                continue
            display = Display.choose()
            process = _program.start([*self.head._place, "attach", self.name], stderr=display.stderr)
            assert process.stdout is not None
            _program.Reading(process.stdout)
            try:
                display.follow(process, self)
                process.wait()
            except BaseException:
                process.kill()
                process.wait()
                raise
            display.finish(process, self, "")
        trials = self.trials
        if trials and all(trial.value is None for trial in trials):
            raise SweepError(_why_nothing(self, trials))
        return self

    def stop(self, *, now: bool = False) -> None:
        self.head._ask(["stop", self.name, *_program.options(now=now)])

    def pause(self) -> None:
        self.head._ask(["pause", self.name])

    def unpause(self) -> None:
        self.head._ask(["unpause", self.name])

    def delete(self) -> None:
        self.head._ask(["delete", self.name, "--yes"])

    def resume(
        self, *, samples: Optional[int] = None, errored: bool = False, wait: bool = True, **more: Any
    ) -> "HeadSweep":
        """Goes on with one that is over, by the head's workers."""
        if more:
            raise TypeError(f"{sorted(more)[0]}: a head knows it itself")
        self.head._ask(["resume", self.name, *_program.options(samples=plain(samples, "samples"), errored=errored)])
        return self.wait() if wait else self

    def _db(self) -> List[str]:
        return list(self.head._place)


class Job:
    """A program that runs once. What it tells is read anew each time."""

    def __init__(self, head: Head, name: str) -> None:
        self.name = _name_of(name)
        self.head = head

    @property
    def state(self) -> str:
        """PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED."""
        return str(self._row()["state"])

    @property
    def reason(self) -> str:
        """Why it stands so, for a person; empty: there is nothing to say."""
        row = self._row()
        return str(row["why"] or row["reason"] or "")

    @property
    def exit_status(self) -> Optional[int]:
        """Its program's own, 128 and the signal's number where it died of one; None: it is not over."""
        return self._row()["exit_status"]  # type: ignore[no-any-return]

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self.head._ask(["logs", self.name])

    def log_of_rank(self, rank: int) -> str:
        """The same of one of several ranks (`workers`), from 0."""
        return self.head._ask(["logs", self.name, "--rank", str(rank)])

    def files(self, folder: PathLike) -> Path:
        """What it wrote to $TUNE_DIR, in a new folder of this machine."""
        target = _path("folder", folder)
        self.head._ask(["files", f"{self.name}/0", "--export", str(target)])
        return target

    def wait(self) -> "Job":
        """Until it is over."""
        process = _program.start([*self.head._place, "wait", self.name])
        try:
            process.communicate()
        except KeyboardInterrupt:
            process.kill()
            process.wait()
            raise
        if self.state in ("PENDING", "RUNNING"):
            raise TuneError(f"{self.head!r} cannot be reached; {self.name} goes on there")
        return self

    def follow(self) -> "Job":
        """Prints what it prints, until it is over."""
        process = _program.start([*self.head._place, "logs", self.name, "--follow"])
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line, end="")
        except KeyboardInterrupt:
            process.kill()
            raise
        finally:
            process.stdout.close()
            process.wait()
        return self.wait()

    def stop(self) -> None:
        self.head._ask(["stop", self.name, "--now"])

    def delete(self) -> None:
        self.head._ask(["delete", self.name, "--yes"])

    def _row(self) -> Dict[str, Any]:
        for row in self.head._ask_json(["jobs"]):
            if row["name"] == self.name:
                return dict(row)
        raise KeyError(f"{self.head!r} has no job {self.name}")

    def __repr__(self) -> str:
        row = self._row()
        return f"<job {self.name} {row['state']}{' (' + row['reason'] + ')' if row['reason'] else ''}>"
