"""What an objective is given, and the program that runs it in a trial:

    python -m tune._trial OBJECTIVE METRIC...

The process takes one trial after another (`serve: true`, docs/PYTHON.md): what it has imported and
set up serves them all. Each begins with the environment and folder of the first, and with the
random numbers of its own seed. One that fails takes the process with it, and so does one that
leaves a thread or a process of multiprocessing at work: what that still reports is its own trial's,
until the process has ended as any program of Python does.

Thread rule: that of the module `tune`.
"""

from __future__ import annotations

import gc
import inspect
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, Sequence, Set, Union

import tune

from . import _objective
from ._number import as_number

Saved = Union[str, "os.PathLike[str]", Callable[[Path], object], None]


class Trial(Dict[str, Any]):
    """A trial's configuration, `trial["lr"]`, nested as in the space, with its calls beside it."""

    _suffixed: Optional[Path] = None  # Where a function that adds a suffix to its path has written.

    def report(
        self,
        metrics: Optional[Mapping[str, object]] = None,
        /,
        *,
        checkpoint: Saved = None,
        step: Optional[int] = None,
        **named: object,
    ) -> int:
        """As `tune.report`. A checkpoint may be a function too, which saves to the path it is given:

            trial.report(val_accuracy=accuracy, checkpoint=lambda path: torch.save(model.state_dict(), path))

        The path has no suffix; "checkpoint.zip" of a function that adds one is found.
        """
        if callable(checkpoint):
            checkpoint = self._save(checkpoint)
        return tune.report({**(metrics or {}), **named}, checkpoint=checkpoint, step=step)

    def _save(self, save: Callable[[Path], object]) -> Path:
        path = self.folder / "checkpoint"
        before = _stamps_beside(path)
        save(path)
        if path.exists():
            return path
        made = [one for one, stamp in _stamps_beside(path).items() if before.get(one) != stamp]
        if not made and self._suffixed is not None and self._suffixed.exists():
            return self._suffixed  # Written again, within a tick of the file system's clock.
        if len(made) != 1:
            wrote = f"; it wrote {', '.join(one.name for one in made)}" if made else ""
            raise ValueError(f"checkpoint: the function wrote no {path}{wrote}")
        self._suffixed = made[0]
        return made[0]

    @property
    def number(self) -> int:
        """From 0; 0 outside a sweep."""
        return tune.trial() or 0

    @property
    def seed(self) -> int:
        return tune.seed()

    @property
    def folder(self) -> Path:
        return tune.folder()

    @property
    def restored(self) -> Optional[Path]:
        """As `tune.restored()`: the checkpoint to go on from."""
        return tune.restored()

    @property
    def iteration(self) -> int:
        """As `tune.iteration()`: iterations behind it."""
        return tune.iteration()

    def finish(self, returned: object, metrics: Sequence[str]) -> str:
        """What the objective returned is one more report, unless it is the last one again, whoever made that.

        A note where a reader may take the returned value for the trial's, and another one counts.
        """
        if inspect.isgenerator(returned):
            returned = self._report_all(returned, metrics)
        if returned is None:
            return ""
        values = _named(returned, metrics)
        numbers = {name: as_number(name, value) for name, value in values.items()}
        note = _worse_than_reported(numbers, metrics)
        last = tune._reporter.reported()
        if not last or any(last.get(name) != number for name, number in numbers.items()):
            self.report(values)
        return note

    def _report_all(self, reports: Generator[object, None, object], metrics: Sequence[str]) -> object:
        """What a generator yields are reports; what it returns behind them is given back."""
        while True:
            try:
                values = next(reports)
            except StopIteration as end:
                return end.value
            self.report(_named(values, metrics))


def _stamps_beside(path: Path) -> Dict[Path, object]:
    """Of the path with a suffix more: what tells that something was written there."""
    stamps: Dict[Path, object] = {}
    for one in sorted(path.parent.glob(path.name + ".*")):
        try:
            status = one.stat()
        except FileNotFoundError:  # A dangling link, or a temporary file that somebody renamed.
            continue
        stamps[one] = status.st_ino, status.st_mtime_ns, status.st_size
    return stamps


def _named(returned: object, names: Sequence[str]) -> Mapping[str, object]:
    """A map of metrics; else the value of the sweep's metric, or a tuple of those of several."""
    if isinstance(returned, Mapping):
        return returned
    values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(values) != len(names):
        raise TypeError(
            f"the objective gave {len(values)} values, expected {len(names)}: {', '.join(names)};"
            " a map names them"
        )
    return dict(zip(names, values))


def _worse_than_reported(returned: Mapping[str, float], metrics: Sequence[str]) -> str:
    """Optuna judges a trial by what its objective returns; here its best report counts."""
    mode = os.environ.get("TUNE_MODE")
    if len(metrics) != 1 or mode not in ("max", "min"):
        return ""
    name = metrics[0]
    extremes = tune._reporter.extremes(name)
    if name not in returned or extremes is None:
        return ""
    best = extremes[1] if mode == "max" else extremes[0]
    is_worse = returned[name] < best if mode == "max" else returned[name] > best
    if not is_worse:
        return ""
    return (
        f"returned value: the objective returned {name}={returned[name]:.6g}, and its best report,"
        f" {best:.6g}, is what counts; where the returned value alone is to count, report the others"
        " under another name"
    )


def _seed(number: int) -> None:
    """Of the libraries that are loaded: a trial's draws are its own, whatever ran here before."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def _run(objective: Callable[[Trial], object], metrics: Sequence[str]) -> str:
    """A note for a person: what may be wrong with the trial's value; empty: nothing."""
    _seed(tune.seed())
    trial = Trial(tune.config())
    try:
        return trial.finish(objective(trial), metrics)
    except tune.Stop:
        return ""
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _threads() -> Set[int]:
    """All that run Python code, whoever started them; without tqdm's, which draws its bars anew."""
    drawing = {thread.ident for thread in threading.enumerate() if _is_of_tqdm(thread)}
    return {number for number in sys._current_frames() if number not in drawing}


def _is_of_tqdm(thread: threading.Thread) -> bool:
    return type(thread).__module__.split(".")[0] == "tqdm"


def _processes() -> Set[int]:
    if "multiprocessing" not in sys.modules:
        return set()
    return {child.pid for child in sys.modules["multiprocessing"].active_children()}


def _left_at_work(threads: Set[int], processes: Set[int]) -> List[str]:
    """What runs that did not run before."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        *(f"thread {names.get(number, number)}" for number in sorted(_threads() - threads)),
        *(f"process {number}" for number in sorted(_processes() - processes)),
    ]


def main() -> None:
    _, file, *metrics = sys.argv
    objective = _objective.load(Path(file))
    _objective.stand_for_main(objective)
    folder = os.getcwd()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TUNE_")}
    while True:
        threads, processes = _threads(), _processes()
        note = _run(objective, metrics)
        left = _left_at_work(threads, processes)
        if left:
            print(
                f"tune: the objective has returned and left at work: {', '.join(left)}. This process"
                " ends with this trial; the next trial begins in one of its own",
                file=sys.stderr,
                flush=True,
            )
            return
        if "torch" in sys.modules:
            gc.collect()  # What it holds of a device is free for the next one.
        variables = tune._reporter.next_trial(note)
        if variables is None:
            return
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        os.environ.update(variables)


if __name__ == "__main__":
    _self = sys.modules["__main__"]  # Stays, whatever stands for it.
    main()
elif __name__ == "__mp_main__" and len(sys.argv) > 1:
    globals().update(_objective.main_again(sys.argv[1]))
