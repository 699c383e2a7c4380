"""For PyTorch Lightning, as `lightning` or `pytorch_lightning`, from 2.0.

    from tune.lightning import ReportCallback

    trainer = Trainer(callbacks=[ReportCallback("val_accuracy", checkpoint=True)])
    trainer.fit(model, ckpt_path=tune.restored())
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import folder
from ._callbacks import Metrics, callback_class, choose, is_stopped_by, logged_names

_Callback: Any = callback_class(["lightning.pytorch", "pytorch_lightning"])


class ReportCallback(_Callback):  # type: ignore[misc]
    """Reports what was logged, after each validation of `fit`, and ends the fit on a stop.

    `metrics`: names given to `self.log`; a map {reported name: logged name}; None: all of them.
    `checkpoint`: also save one for each report. `at`: "validation_end", or "train_epoch_end" for
    a training without validation. With several processes the first one reports, and all of them
    stop. `stopped` tells afterwards.
    """

    def __init__(
        self, metrics: Metrics = None, *, checkpoint: bool = False, at: str = "validation_end"
    ) -> None:
        super().__init__()
        if at not in ("validation_end", "train_epoch_end"):
            raise ValueError(f"at: read {at!r}, expected 'validation_end' or 'train_epoch_end'")
        self._names = logged_names(metrics)
        self._checkpoint = checkpoint
        self._at = at
        self.stopped = False

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._at == "validation_end":
            self._report(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self._at == "train_epoch_end":
            self._report(trainer)

    def _report(self, trainer: Any) -> None:
        # Lightning validates a little before the first epoch, and when `validate` is called.
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        path = self._save(trainer) if self._checkpoint else None
        stop = False
        if trainer.is_global_zero:
            stop = is_stopped_by(choose(self._names, trainer.callback_metrics), path)
        # A process that trained on alone would wait for the others for ever.
        self.stopped = bool(trainer.strategy.reduce_boolean_decision(stop, all=False))
        trainer.should_stop = trainer.should_stop or self.stopped

    def _save(self, trainer: Any) -> Path:
        # All processes take part in saving, to the path of the first.
        first = str(folder() / "checkpoint.ckpt") if trainer.is_global_zero else None
        path = trainer.strategy.broadcast(first)
        trainer.save_checkpoint(path)
        return Path(path)
