"""For XGBoost, from 1.4: `xgboost.train`, `xgboost.cv` and the estimators like XGBClassifier.

    from tune.xgboost import ReportCallback

    xgboost.train(params, train, num_boost_round=500 - tune.iteration(), evals=[(test, "test")],
                  xgb_model=tune.restored(),
                  callbacks=[ReportCallback("test-rmse", checkpoint=True)])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Optional

import xgboost

from . import folder
from ._boosting import Due, latest
from ._callbacks import Metrics, is_stopped_by, warn_unless_restored


class ReportCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Reports the metrics of each round, or of each `every`-th, and ends the training on a stop.

    `metrics`: names as XGBoost prints them, such as "test-rmse" (of `xgboost.cv` their means); a map
    {reported name: name}; None: all. `checkpoint`: also save the model for each report; not in
    `xgboost.cv`, which has several. An iteration of the sweep is a report: with `every=10`, ten
    rounds. `stopped` tells afterwards.
    """

    def __init__(
        self, metrics: Metrics = None, *, checkpoint: bool = False, every: int = 1
    ) -> None:
        super().__init__()
        self._due = Due(metrics, every)
        self._checkpoint = checkpoint
        self.stopped = False

    def before_training(self, model: Any) -> Any:
        if hasattr(model, "save_model"):
            if model.num_boosted_rounds() == 0:
                warn_unless_restored("xgboost.train(..., xgb_model=tune.restored())")
        elif self._checkpoint:
            raise ValueError("checkpoint: xgboost.cv trains several models and none can go on")
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        if not self._due.is_now():
            return False
        path: Optional[Path] = None
        if self._checkpoint:
            path = folder() / "checkpoint.ubj"
            model.save_model(str(path))
        self.stopped = is_stopped_by(self._due.choose(latest(evals_log)), path)
        return self.stopped
