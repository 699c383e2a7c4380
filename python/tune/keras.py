"""For Keras: `keras` (also as tensorflow.keras), or `tf_keras`.

    from tune.keras import ReportCallback

    restored = tune.restored()
    model = keras.models.load_model(restored) if restored else build_model(cfg)
    model.fit(..., initial_epoch=tune.iteration(),
              callbacks=[ReportCallback("val_accuracy", checkpoint=True)])
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Mapping, Optional

from . import _random_state, folder, restored
from ._callbacks import (
    Metrics,
    callback_class,
    choose,
    is_stopped_by,
    logged_names,
    warn_unless_restored,
)

# In the model's file, which is an archive, beside Keras' own.
_RANDOM_STATE = "tune_random_state.json"

_Callback: Any = callback_class(["keras.callbacks", "tf_keras.callbacks"])


class ReportCallback(_Callback):  # type: ignore[misc]
    """Reports the logs of each epoch, and ends the fit on a stop.

    `metrics`: names of the logs, such as "val_loss"; a map {reported name: name}; None: all.
    `checkpoint`: also save the whole model for each report (keras.models.load_model reads it); let
    this callback be the last one, so that it saves what others did at the end of the epoch. The state
    of random numbers goes with it, so that shuffling and dropout go on as they would have.
    `stopped` tells afterwards.
    """

    def __init__(self, metrics: Metrics = None, *, checkpoint: bool = False) -> None:
        super().__init__()
        self._names = logged_names(metrics)
        self._checkpoint = checkpoint
        self.stopped = False

    def on_train_begin(self, logs: Optional[Mapping[str, object]] = None) -> None:
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and int(optimizer.iterations) == 0:
            warn_unless_restored("model = keras.models.load_model(tune.restored())")
        elif self._checkpoint:
            _go_on_drawing(restored())

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, object]] = None) -> None:
        path: Optional[Path] = None
        if self._checkpoint:
            path = folder() / "checkpoint.keras"
            self.model.save(str(path))
            _save_random_state(path)
        self.stopped = is_stopped_by(choose(self._names, logs or {}), path)
        if self.stopped:
            self.model.stop_training = True


def _save_random_state(path: Path) -> None:
    if zipfile.is_zipfile(path):  # Older versions of Keras write HDF5.
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(_RANDOM_STATE, _random_state.pack())


def _go_on_drawing(path: Optional[Path]) -> None:
    if path is None or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if _RANDOM_STATE in archive.namelist():
            _random_state.unpack(archive.read(_RANDOM_STATE))
