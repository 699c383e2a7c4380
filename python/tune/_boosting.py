"""What the callbacks of XGBoost, LightGBM and CatBoost share: names of metrics, and when a report is due.

Thread rule: the thread that trains.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ._callbacks import Metrics, choose, logged_names


class Due:
    """Which of the rounds are reported, and what of their metrics."""

    def __init__(self, metrics: Metrics, every: int) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every: read {every!r}, expected an integer from 1")
        self._names = logged_names(metrics)
        self._every = every
        self._rounds = 0

    def is_now(self) -> bool:
        """Counts a round. The rounds of an attempt that goes on are counted from its checkpoint."""
        self._rounds += 1
        return self._rounds % self._every == 0

    def choose(self, logged: Mapping[str, object]) -> Dict[str, float]:
        if not logged:
            raise ValueError("nothing is logged: give the training data to evaluate on")
        return choose(self._names, logged)


def latest(history: Mapping[str, Mapping[str, Any]]) -> Dict[str, object]:
    """{"test": {"rmse": [0.3, 0.2]}} as {"test-rmse": 0.2}; of (mean, deviation) the mean."""
    found: Dict[str, object] = {}
    for data, metrics in history.items():
        for metric, values in metrics.items():
            last = values[-1]
            found[f"{data}-{metric}"] = last[0] if isinstance(last, tuple) else last
    return found
