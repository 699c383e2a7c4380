"""For Hugging Face's Trainer.

    from tune.transformers import ReportCallback

    trainer = Trainer(..., callbacks=[ReportCallback("eval_accuracy", checkpoint=True)])
    trainer.train(resume_from_checkpoint=tune.restored())
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from ._callbacks import Metrics, choose, is_stopped_by, logged_names, missing, not_logged

_TrainerCallback: Any = importlib.import_module("transformers").TrainerCallback


class ReportCallback(_TrainerCallback):  # type: ignore[misc]
    """Reports after each evaluation during training, and ends the training on a stop.

    `metrics`: names as the Trainer gives them, such as "eval_loss"; a map {reported name: name};
    None: all numbers. With several evaluation sets name the metrics: a report is made when all of
    them are there. `checkpoint`: where the Trainer saves one after the evaluation (save_strategy
    as eval_strategy), the report waits for it and names it. With several processes the first one
    reports, and all of them stop. `stopped` tells afterwards.
    """

    def __init__(self, metrics: Metrics = None, *, checkpoint: bool = False) -> None:
        super().__init__()
        self._names = logged_names(metrics)
        self._checkpoint = checkpoint
        self._logged: Dict[str, object] = {}  # Not reported yet.
        self._is_training = False
        self._has_reported = False
        self.stopped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._is_training = True

    def on_evaluate(
        self,
        args: Any,
        state: Any,
        control: Any,
        metrics: Optional[Mapping[str, object]] = None,
        **kwargs: Any,
    ) -> None:
        # An evaluation before the first step (eval_on_start) is no iteration.
        if not self._is_training or state.global_step == 0:
            return
        self._logged.update(metrics or {})
        if missing(self._names, self._logged):
            return  # Of another evaluation set, whose turn comes.
        if not (self._checkpoint and control.should_save):
            self._report(state, control, None)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._checkpoint or not self._logged or missing(self._names, self._logged):
            return
        path = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        _wait_for_all()  # Each process saves a part of it.
        self._report(state, control, path)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._is_training = False
        absent = missing(self._names, self._logged)
        if absent and not self._has_reported:
            raise ValueError(not_logged(absent[0], self._logged))

    def _report(self, state: Any, control: Any, path: Optional[Path]) -> None:
        stop = False
        if state.is_world_process_zero:
            stop = is_stopped_by(choose(self._names, self._logged), path)
        self._logged.clear()
        self._has_reported = True
        self.stopped = _as_the_first_says(stop)
        if self.stopped:
            control.should_training_stop = True


def _distributed() -> Any:
    """torch.distributed where this process is one of several, else None."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def _wait_for_all() -> None:
    distributed = _distributed()
    if distributed is not None:
        distributed.barrier()


def _as_the_first_says(stop: bool) -> bool:
    # A process that trained on alone would wait for the others for ever.
    distributed = _distributed()
    if distributed is None:
        return stop
    words = [stop]
    distributed.broadcast_object_list(words, src=0)
    return words[0]
