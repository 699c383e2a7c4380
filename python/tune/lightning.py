"""For PyTorch Lightning, as `lightning` or `pytorch_lightning`, from 2.0.

    from tune.lightning import ReportCallback

    trainer = Trainer(callbacks=[ReportCallback("val_accuracy", checkpoint=True)])
    trainer.fit(model, ckpt_path=tune.restored())
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Union

from . import _random_state, folder
from ._callbacks import (
    Metrics,
    callback_class,
    choose,
    is_stopped_by,
    logged_names,
    warn_unless_restored,
)

_Callback: Any = callback_class(["lightning.pytorch", "pytorch_lightning"])


class ReportCallback(_Callback):  # type: ignore[misc]
    """Reports what was logged, after each validation of `fit`, and ends the fit on a stop.

    `metrics`: names given to `self.log`; a map {reported name: logged name}; None: all of them.
    `at`: "validation_end", or "train_epoch_end" for a training without validation. With several
    processes the first one reports, and all of them stop. `stopped` tells afterwards.

    The last validation of an epoch is reported when the epoch is over: when the epoch's own metrics
    are known, when callbacks and schedulers of learning rates have seen them. `checkpoint`: also
    save one for each of these reports; a fit that goes on from it equals one that was never
    interrupted. Lightning cannot do so from within an epoch, so validations there are reported
    without a checkpoint; "always": with one, from which the epoch's batches begin again.
    """

    def __init__(
        self,
        metrics: Metrics = None,
        *,
        checkpoint: Union[bool, str] = False,
        at: str = "validation_end",
    ) -> None:
        super().__init__()
        if at not in ("validation_end", "train_epoch_end"):
            raise ValueError(f"at: read {at!r}, expected 'validation_end' or 'train_epoch_end'")
        if checkpoint not in (False, True, "always"):
            raise ValueError(f"checkpoint: read {checkpoint!r}, expected True, False or 'always'")
        self._names = logged_names(metrics)
        self._checkpoint = checkpoint
        self._at = at
        self._is_due = False  # A report is to be made when the epoch is over.
        self._is_between_epochs = False
        self._before: Dict[str, object] = {}  # The metrics as the epoch began.
        self._restored: Dict[str, Any] = {}  # What `state_dict` gave, until the fit goes on.
        self._trainer: Any = None  # Of the fit that runs.
        self._let_go: Optional[Callable[[], None]] = None
        self.stopped = False

    def state_dict(self) -> Dict[str, Any]:
        # Lightning itself saves neither the state of random numbers nor that a fit is to end.
        if self._trainer is None:
            return {}
        return {
            "random": _random_state.get(),
            "ends": self._trainer.should_stop,
            "is_between_epochs": self._is_between_epochs,
        }

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._restored = state_dict

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        # Before the loaders are asked for their first batches. Several processes differ in their
        # random numbers, of which the checkpoint has the first one's.
        if self._restored and trainer.world_size == 1:
            _random_state.set(self._restored["random"])

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.global_step == 0:
            warn_unless_restored("trainer.fit(model, ckpt_path=tune.restored())")
        self._go_on(trainer)
        self._trainer = trainer
        self._before = {}
        self._is_due = self._is_between_epochs = False
        self._follow(trainer)

    def _go_on(self, trainer: Any) -> None:
        if self._restored.get("ends"):
            trainer.should_stop = True
        if self._restored.get("is_between_epochs"):
            # With `max_steps` Lightning would end the epoch that is over once more.
            trainer.fit_loop._restarting = False
            trainer.fit_loop.epoch_loop.restarting = False
        self._restored = {}

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._trainer = None
        if self._let_go is not None:
            self._let_go()

    def _follow(self, trainer: Any) -> None:
        """Calls `_end_epoch` when an epoch is wholly over. No hook comes after all that others do
        in theirs, and after the schedulers that go by a metric."""
        if self._let_go is not None:
            self._let_go()  # Of a fit that ended with an error.
        loop = trainer.fit_loop
        end = loop.on_advance_end

        def end_and_report() -> None:
            end()
            self._end_epoch(trainer)

        def let_go() -> None:
            loop.on_advance_end = end
            self._let_go = None

        loop.on_advance_end = end_and_report
        self._let_go = let_go

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        # Lightning validates a little before the first epoch, and when `validate` is called.
        if self._at != "validation_end" or trainer.sanity_checking or trainer.state.fn != "fit":
            return
        if _is_last_of_epoch(trainer):
            self._is_due = True
            return
        # A metric of the training epoch has no value here: what is there is the last epoch's.
        fresh = {
            name: value
            for name, value in trainer.callback_metrics.items()
            if self._before.get(name) is not value
        }
        names = {name: logged for name, logged in self._names.items() if logged in fresh}
        if self._names and not names:
            return  # The end of the epoch has them, or tells of a wrong name.
        saves = self._checkpoint == "always" or (self._checkpoint and _has_no_end(trainer))
        self._report(trainer, names, fresh, bool(saves))

    def _end_epoch(self, trainer: Any) -> None:
        if self._is_due or self._at == "train_epoch_end":
            self._is_due = False
            self._is_between_epochs = True
            self._report(trainer, self._names, trainer.callback_metrics, bool(self._checkpoint))
            self._is_between_epochs = False
        self._before = dict(trainer.callback_metrics)

    def _report(
        self, trainer: Any, names: Dict[str, str], logged: Mapping[str, object], saves: bool
    ) -> None:
        path = self._save(trainer) if saves else None
        stop = False
        if trainer.is_global_zero:
            stop = is_stopped_by(choose(names, logged), path)
        # A process that trained on alone would wait for the others for ever.
        self.stopped = bool(trainer.strategy.reduce_boolean_decision(stop, all=False))
        trainer.should_stop = trainer.should_stop or self.stopped

    def _save(self, trainer: Any) -> Path:
        # All processes take part in saving, to the path of the first.
        first = str(folder() / "checkpoint.ckpt") if trainer.is_global_zero else None
        path = trainer.strategy.broadcast(first)
        trainer.save_checkpoint(path)
        return Path(path)


def _has_no_end(trainer: Any) -> bool:
    """Nobody knows when the epoch ends, or when it is validated next."""
    return math.isinf(trainer.num_training_batches) or trainer.val_check_batch is None


def _is_last_of_epoch(trainer: Any) -> bool:
    if _has_no_end(trainer):
        return bool(trainer.is_last_batch)
    left = trainer.num_training_batches - (trainer.fit_loop.batch_idx + 1)
    return bool(left < trainer.val_check_batch)
