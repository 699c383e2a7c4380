"""Sweeps from Python, and a trial's side of one: standard library alone.

    import tune

    def objective(trial):
        for epoch in range(20):
            trial.report(accuracy=train_one_epoch(lr=trial["lr"]))

    sweep = tune.run(objective, {"lr": tune.loguniform(1e-4, 1e-1)}, metric="accuracy", mode="max")
    print(sweep.best.config)

Or a program of its own, which a space file names:

    cfg = tune.config(lr=1e-3, batch_size=64)       # the trial's configuration over these defaults
    for epoch in range(tune.iteration(), 20):
        ...
        tune.report(val_accuracy=accuracy)          # ends the program when the sweep says stop

Started by `tune run`, the trial is the one that the environment describes (TUNE_CONFIG,
TUNE_SOCKET and so on); started by hand the program runs just the same: `config` gives the
defaults and `report` prints a line.

Thread rule: any thread may call anything; reports are made one after another. A process that was
forked (a data loader's worker) has a connection of its own as soon as it reports. Of the
processes of one distributed training, rank 0 alone should report.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union

from . import _environment
from ._reporter import Reporter, ReportError, Stop

_OF_A_TRIAL = [
    "ReportError", "Stop", "config", "folder", "iteration", "report", "restored", "seed", "trial",
]
# Of sweeps; loaded when they are asked for, which trials seldom do.
_OF_A_SWEEP = {
    "_program": ["TuneError"],
    "_head": ["Head", "HeadSweep", "Job", "connect"],
    "_objective": ["ObjectiveError"],
    "_optuna": ["from_optuna"],
    "_space": [
        "asha", "choice", "const", "fifo", "grid_search", "hyperband", "lograndint", "loguniform",
        "median_stopping", "ordinal", "pasha", "patience", "pbt", "percentile", "qlograndint",
        "qloguniform", "qrandint", "qrandn", "quniform", "randint", "randn", "threshold", "uniform",
    ],
    "_study": ["Study"],
    "_sweep": ["Spec", "Sweep", "SweepError", "TrialResult", "load", "resume", "run"],
    "_trial": ["Trial"],
}
_ROOM_OF = {name: room for room, names in _OF_A_SWEEP.items() for name in names}
__all__ = sorted([*_OF_A_TRIAL, *_ROOM_OF])
__version__ = "0.1.0"

_reporter = Reporter(os.environ)
_folder = _environment.Folder(os.environ)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reporter.leave_to_parent)
    os.register_at_fork(after_in_child=_folder.leave_to_parent)


def config(defaults: Optional[Mapping[str, Any]] = None, /, **named: Any) -> Dict[str, Any]:
    """The trial's configuration as a new dict, nested as in the space file.

    `defaults`, and names with their values, stand where the trial has nothing of that name; outside
    a sweep they are the whole answer. Maps within maps are joined, lists are replaced:

        cfg = tune.config(lr=1e-3, optimizer={"name": "adam"})
        args = argparse.Namespace(**tune.config(vars(parser.parse_args())))
    """
    return _environment.config(os.environ, {**(defaults or {}), **named})


def report(
    metrics: Optional[Mapping[str, object]] = None,
    /,
    *,
    checkpoint: Union[str, os.PathLike[str], None] = None,
    step: Optional[int] = None,
    training_iteration: Optional[int] = None,
    **named: object,
) -> int:
    """Reports one iteration, waits until it is stored and decided, returns the iteration's number.

        tune.report(val_accuracy=0.9, checkpoint="model.pt")
        tune.report({"val/accuracy": 0.9}, step=3)

    A metric is a number, or what holds one (an array or tensor of a single element); None and NaN
    say that it has no value this time. `checkpoint` is a file or a folder, written whole; it is
    copied before this returns, so that its path may be used again. `step`, or
    `training_iteration`, is the iteration, from 1 and above the last one; without it they count on.

    Raises `Stop` when the trial shall end, here and at each later report; TypeError or ValueError
    for what cannot be reported; `ReportError` when the sweep refuses it; ConnectionError when the
    process that ran this trial is gone. Outside a sweep it prints a line instead.
    """
    return _reporter.report(
        {} if metrics is None else metrics, named, checkpoint, step, training_iteration
    )


def restored() -> Optional[Path]:
    """The checkpoint to go on from, file or folder as it was reported; None: from the start."""
    _reporter.look_back()
    return _environment.restored(os.environ)


def iteration() -> int:
    """How many iterations lie behind: those of the restored checkpoint and those reported since."""
    _reporter.look_back()
    return _reporter.iteration()


def seed(default: int = 0) -> int:
    """The trial's own seed, from 0 to 2**31 - 1; `default` outside a sweep.

    It is the same in all attempts of the trial. Where a configuration is run several times
    (`repeat`, `tune retrain`) each run has another one; a program that does not use it runs the
    same draw again:

        torch.manual_seed(tune.seed())
    """
    given = _environment.integer(os.environ, "TUNE_SEED")
    return default if given is None else given


def trial() -> Optional[int]:
    """The trial's number in its sweep, from 0; None outside a sweep."""
    return _environment.trial(os.environ)


def folder() -> Path:
    """A folder for this trial's own files, made if need be.

    In a sweep it is kept with the trial's artifacts and is the same after a retry; outside it is a
    fresh one for each run, ./tune-out/1, ./tune-out/2 and so on.
    """
    return _folder.path()


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(importlib.import_module("." + _ROOM_OF[name], __name__), name)
    # tune.lightning and its like need their framework: they are loaded when they are asked for.
    if name in ("catboost", "keras", "lightgbm", "lightning", "sklearn", "transformers", "xgboost"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'tune' has no attribute {name!r}")
