"""Lightning, with shuffled data, dropout, a falling rate and early stopping that never comes."""

import lightning
import tune
from lightning.pytorch.callbacks import EarlyStopping
from lightning_test import Model, loaders
from tune.lightning import ReportCallback

lightning.seed_everything(tune.seed(), verbose=False)
trainer = lightning.Trainer(
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    max_epochs=40,
    callbacks=[
        EarlyStopping("val_loss", patience=100),
        ReportCallback(["val_loss", "train_loss", "rate"], checkpoint=True),
    ],
)
trainer.fit(Model("step", tune.config()["lr"]), *loaders(), ckpt_path=tune.restored())
