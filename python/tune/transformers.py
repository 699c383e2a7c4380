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

from ._callbacks import (
    Metrics,
    choose,
    is_stopped_by,
    logged_names,
    missing,
    not_logged,
    warn,
    warn_unless_restored,
)

_TrainerCallback: Any = importlib.import_module("transformers").TrainerCallback


class ReportCallback(_TrainerCallback):  # type: ignore[misc]
    """Reports after each evaluation during training, and ends the training on a stop.

    `metrics`: names as the Trainer gives them, such as "eval_loss"; a map {reported name: name};
    None: all numbers. With several evaluation sets name the metrics: a report is made when all of
    them are there. `checkpoint`: where the Trainer saves one after the evaluation (save_strategy
    as eval_strategy; with "best", after an evaluation that was the best), the report waits for it
    and names it; settings by which that never or seldom happens are warned of as the training
    begins. With several processes the first one reports, and all of them stop. `stopped` tells
    afterwards.
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
        if not state.is_world_process_zero:
            return
        if state.global_step == 0:
            warn_unless_restored("trainer.train(resume_from_checkpoint=tune.restored())")
        lack = _lack_of_checkpoints(args, state) if self._checkpoint else None
        if lack is not None:
            warn(f"checkpoint=True, but {lack}")

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
        if not (self._checkpoint and _saves_next(args, state, control, self._logged)):
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


def _saves_next(args: Any, state: Any, control: Any, logged: Mapping[str, object]) -> bool:
    """Whether a checkpoint is saved once this evaluation is over."""
    if _word(args.save_strategy) != "best":
        return bool(control.should_save)
    # The Trainer decides it after the evaluation, by this comparison.
    name = args.metric_for_best_model or "loss"
    value: Any = logged.get(name if name.startswith("eval_") else "eval_" + name)
    if value is None:
        return False
    best = state.best_metric
    return best is None or bool(value > best if args.greater_is_better else value < best)


def _lack_of_checkpoints(args: Any, state: Any) -> Optional[str]:
    """Why reports will have none, or few of them; None: all is well."""
    saves, evaluates = _word(args.save_strategy), _word(args.eval_strategy)
    remedy = f"; let it be {evaluates!r}, as eval_strategy"
    if evaluates == "no":
        return "eval_strategy is 'no': without evaluations there are no reports"
    if saves == "no":
        return "save_strategy is 'no': no report has a checkpoint" + remedy
    if getattr(args, "save_only_model", False):
        return "save_only_model leaves out what a training needs to go on exactly"
    if saves == "best":
        return None
    if saves != evaluates:
        return (
            f"save_strategy is {saves!r} and eval_strategy {evaluates!r}: a report has a checkpoint"
            " only where they meet by chance" + remedy
        )
    if saves == "steps" and state.eval_steps % state.save_steps != 0:
        return (
            f"save_steps is {state.save_steps} and eval_steps {state.eval_steps}: only a report at"
            " a multiple of both has a checkpoint; let them be equal"
        )
    return None


def _word(strategy: Any) -> str:
    """ "steps", "epoch", "best" or "no": of an enumeration's member or a text."""
    return str(getattr(strategy, "value", strategy))


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
