"""What the callbacks of all frameworks share.

Thread rule: any thread.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import Stop, report, restored
from ._number import as_number

# Names that the framework logs; or a map from the name that is reported to the one that is logged.
Metrics = Union[str, Sequence[str], Mapping[str, str], None]


def callback_class(modules: Sequence[str]) -> Any:
    """`Callback` of the first of `modules` that the program uses, else of the first that is there.

    A framework can be installed under two names; the one that was imported is the one in use.
    """
    for module in sorted(modules, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(module).Callback
        except ModuleNotFoundError as error:
            # A module that is there and misses another one has something to say.
            if error.name is None or not (module + ".").startswith(error.name + "."):
                raise
    raise ImportError(f"none of {', '.join(modules)} is installed")


def logged_names(metrics: Metrics) -> Dict[str, str]:
    """From the name that is reported to the one that is logged; empty: report all there is."""
    if metrics is None:
        return {}
    if isinstance(metrics, str):
        return {metrics: metrics}
    if isinstance(metrics, Mapping):
        return dict(metrics)
    return {name: name for name in metrics}


def missing(names: Mapping[str, str], logged: Mapping[str, object]) -> List[str]:
    return [name for name in names.values() if name not in logged]


def choose(names: Mapping[str, str], logged: Mapping[str, object]) -> Dict[str, float]:
    """The metrics to report. Raises ValueError for a name that was not logged."""
    absent = missing(names, logged)
    if absent:
        raise ValueError(not_logged(absent[0], logged))
    if names:
        return {reported: as_number(name, logged[name]) for reported, name in names.items()}
    numbers: Dict[str, float] = {}
    for name, value in logged.items():
        try:
            numbers[name] = as_number(name, value)
        except (TypeError, ValueError):
            continue  # Not asked for by name: texts and arrays among the logs are no mistake.
    return numbers


def not_logged(name: str, logged: Mapping[str, object]) -> str:
    """The line that says so."""
    near = difflib.get_close_matches(name, logged, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"{name} is not logged{meant}; logged are: {', '.join(logged) or 'none'}"


def is_stopped_by(values: Mapping[str, float], checkpoint: Optional[os.PathLike[str]]) -> bool:
    """Reports. True: the training shall end, in order, so that the program's end still runs."""
    try:
        report(values, checkpoint=checkpoint)
    except Stop:
        return True
    return False


def warn(text: str) -> None:
    # Not by the module `warnings`, which programs silence.
    print("tune: WARNING: " + text, file=sys.stderr, flush=True)


def warn_unless_restored(remedy: str) -> None:
    """To be called where a training begins at its first step. `remedy`: code that goes on."""
    path = restored()
    if path is not None:
        warn(
            f"this attempt shall go on from the checkpoint {path}, but the training starts anew:"
            f" its results are wrong. Go on with {remedy}"
        )
