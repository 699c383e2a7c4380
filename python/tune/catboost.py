"""For CatBoost, on CPUs (CatBoost calls nobody while it trains on a GPU).

    from tune.catboost import ReportCallback

    CatBoostClassifier(iterations=500).fit(X, y, eval_set=(X_test, y_test),
                                           callbacks=[ReportCallback("validation-Logloss")])

There are no checkpoints: CatBoost does not give the model to its callbacks.
"""

from __future__ import annotations

from typing import Any

from ._boosting import Due, latest
from ._callbacks import Metrics, is_stopped_by, warn_unless_restored


class ReportCallback:
    """Reports the metrics of each round, or of each `every`-th, and ends the training on a stop.

    `metrics`: the name of the data and that of the metric, "learn-RMSE", "validation-RMSE"; a map
    {reported name: name}; None: all. An iteration of the sweep is a report: with `every=10`, ten
    rounds. `stopped` tells afterwards.
    """

    def __init__(self, metrics: Metrics = None, *, every: int = 1) -> None:
        self._due = Due(metrics, every)
        self.stopped = False

    def after_iteration(self, info: Any) -> bool:
        """True: go on."""
        if info.iteration <= 1:
            warn_unless_restored("fit(..., init_model=tune.restored())")
        if self._due.is_now():
            self.stopped = is_stopped_by(self._due.choose(latest(info.metrics)), None)
        return not self.stopped
