"""A study of Optuna's as what a sweep begins with. Optuna itself is asked, by its public interface.

Thread rule: that of the study.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _space
from ._kept_file import keep


_POINTS_MAX = 10_000


def from_optuna(
    study: Any,
    *,
    metric: Union[str, Sequence[str], None] = None,
    folder: Union[str, "os.PathLike[str]"] = "."
) -> Dict[str, Any]:
    """What `tune.run` needs to go on where a study stopped: space, metric, mode, and its trials to learn from.

        study = optuna.load_study(storage="sqlite:///study.db", study_name="mine")
        sweep = tune.run(objective, **tune.from_optuna(study), samples=50)

    The space is that of the study's trials: each parameter with the distribution that it was last
    drawn from. A parameter "optimizer.lr" is {"optimizer": {"lr": ...}} in the space and in the
    configuration. `metric` names the value (default: the study's metric names, else "value"; of
    several objectives value_0, value_1 and so on).
    `folder`: that of `tune.run`; a copy of the study lies there, in .tune/, so that a study in
    memory or on a server will do.

    ValueError: the study has no trial.
    Warns of parameters that only some trials have: a space says such by `when`, which a study does
    not tell.
    """
    import optuna

    trials = study.get_trials(deepcopy=False)
    drawn = [trial for trial in trials if trial.distributions]
    if not drawn:
        raise ValueError(
            f"from_optuna: the study {study.study_name!r} has no trial with parameters, which would"
            " tell the space"
        )
    found: Dict[str, Any] = {}
    for trial in drawn:
        found.update(trial.distributions)
    partial = sorted(name for name in found if any(name not in t.distributions for t in drawn))
    if partial:
        warnings.warn(
            f"only some trials of {study.study_name!r} have {', '.join(partial)}: in this space all"
            " trials do; add when=... where that is not meant",
            stacklevel=2,
        )
    space: Dict[str, Any] = {}
    for name, distribution in found.items():
        *groups, last = name.split(".")
        inner = space
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = _domain(name, distribution)
    maximize = optuna.study.StudyDirection.MAXIMIZE
    modes = ["max" if direction == maximize else "min" for direction in study.directions]
    names = [metric] if isinstance(metric, str) else list(metric or _metric_names(study))
    return {
        "space": space,
        "metric": names[0] if len(modes) == 1 else names,
        "mode": modes[0] if len(modes) == 1 else modes,
        "from_": {"optuna": str(_copy(study, Path(folder).resolve()))},
    }


def _metric_names(study: Any) -> List[str]:
    if len(study.directions) == 1:
        plain = ["value"]
    else:
        plain = [f"value_{i}" for i in range(len(study.directions))]
    return list(getattr(study, "metric_names", None) or plain)


def _domain(name: str, distribution: Any) -> Any:
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        return _space.choice(list(distribution.choices))
    low, high, step, log = distribution.low, distribution.high, distribution.step, distribution.log
    if step is not None and not log and not _is_multiple(low, step):
        return _space.ordinal(_points(name, low, high, step))
    if kind == "FloatDistribution":
        if step is not None:
            return _space.quniform(low, high, step)
        return _space.loguniform(low, high) if log else _space.uniform(low, high)
    if kind == "IntDistribution":
        if log:
            return _space.lograndint(low, high + 1)
        return _space.randint(low, high + 1) if step == 1 else _space.qrandint(low, high, step)
    raise ValueError(f"from_optuna: {name} has a {kind}, which is not known here")


def _is_multiple(low: float, step: float) -> bool:
    return Decimal(str(low)) % Decimal(str(step)) == 0


def _points(name: str, low: float, high: float, step: float) -> List[float]:
    """3, 5, 7, 9: steps from low, where the domains with a `q` are of its multiples.

    Computed as Optuna does, so that they equal what its trials have.
    """
    count = int((Decimal(str(high)) - Decimal(str(low))) / Decimal(str(step))) + 1
    if count > _POINTS_MAX:
        raise ValueError(
            f"from_optuna: {name} has {count} points, which are no multiples of its step {step}; a space"
            f" lists at most {_POINTS_MAX}: give the parameter a domain of your own"
        )
    return [min(i * step + low, high) for i in range(count)]


def _copy(study: Any, folder: Path) -> Path:
    """The study in a SQLite file, under a name made of its trials."""
    import optuna

    trials = study.get_trials(deepcopy=False)
    told = [study.study_name, *((t.number, t.state.name, t.values, t.params) for t in trials)]
    path = folder / ".tune" / f"{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}.optuna.db"

    def write(part: Path) -> None:
        part.unlink(missing_ok=True)  # Of a process that was killed, and had this one's number.
        optuna.copy_study(
            from_study_name=study.study_name, from_storage=study._storage, to_storage=f"sqlite:///{part}"
        )

    return keep(path, write)
