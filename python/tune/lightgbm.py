"""For LightGBM, from 3.3: `lightgbm.train`, `lightgbm.cv` and the estimators like LGBMClassifier.

    from tune.lightgbm import ReportCallback

    lightgbm.train(params, train, num_boost_round=500 - tune.iteration(), valid_sets=[test],
                   valid_names=["test"], init_model=tune.restored(),
                   callbacks=[ReportCallback("test-l2", checkpoint=True)])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional

import lightgbm

from . import folder
from ._boosting import Due
from ._callbacks import Metrics, is_stopped_by, warn_unless_restored


class ReportCallback:
    """Reports the metrics of each round, or of each `every`-th, and ends the training on a stop.

    `metrics`: the name of the data and that of the metric, "test-l2" (of `lightgbm.cv`
    "valid-l2", the mean); a map {reported name: name}; None: all. `checkpoint`: also save the model
    for each report; not in `lightgbm.cv`, which has several. An iteration of the sweep is a report:
    with `every=10`, ten rounds. `stopped` tells afterwards.
    """

    order = 25  # After record_evaluation (20), before early_stopping (30), which may end it.
    before_iteration = False

    def __init__(
        self, metrics: Metrics = None, *, checkpoint: bool = False, every: int = 1
    ) -> None:
        self._due = Due(metrics, every)
        self._checkpoint = checkpoint
        self.stopped = False

    def __call__(self, env: Any) -> None:
        is_one_model = isinstance(env.model, lightgbm.Booster)
        if self._checkpoint and not is_one_model:
            raise ValueError("checkpoint: lightgbm.cv trains several models and none can go on")
        if is_one_model and env.iteration == 0:
            warn_unless_restored("lightgbm.train(..., init_model=tune.restored())")
        if not self._due.is_now():
            return
        path: Optional[Path] = None
        if self._checkpoint:
            path = folder() / "checkpoint.txt"
            env.model.save_model(str(path), num_iteration=-1)
        logged: Dict[str, object] = {}
        for data, metric, value, *_ in env.evaluation_result_list or ():
            # `cv` says "cv_agg" and "valid l2" in older versions.
            logged[metric.replace(" ", "-") if data == "cv_agg" else f"{data}-{metric}"] = value
        self.stopped = is_stopped_by(self._due.choose(logged), path)
        if self.stopped:
            raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)
