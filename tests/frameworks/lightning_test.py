"""tune.lightning with the real Lightning: what is reported, and that a trial goes on exactly."""

import contextlib
import io
import logging
import os
import tempfile
import unittest
import warnings

import lightning
import torch
import tune
import tune.lightning
from attempts import Trial
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")

_EPOCHS = 6


class Model(lightning.LightningModule):
    """Logistic regression on drawn points; `scheduler`: a name below."""

    def __init__(self, scheduler=None, lr=0.04):
        super().__init__()
        self.scheduler, self.lr = scheduler, lr
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 1))

    def training_step(self, batch, batch_idx):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))
        self.log("rate", self.trainer.optimizers[0].param_groups[0]["lr"])

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        if self.scheduler == "plateau":
            # Steps at each epoch, as no epoch is better by a thousand.
            plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
                optimizer, factor=0.5, patience=0, threshold=1000, threshold_mode="abs"
            )
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"},
            }
        if self.scheduler == "step":
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)]
        return optimizer


def loaders(shuffle=True):
    inputs = torch.randn(48, 4, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin())
    return DataLoader(data, 8, shuffle=shuffle), DataLoader(data, 16)


class LightningCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def trial(self, name, **named):
        return Trial(os.path.join(self.folder, name), **named)

    def program(self, metrics=None, scheduler=None, callbacks=(), **trainer_options):
        """A training program; each call of it is one run from start to end."""
        options = {"max_epochs": _EPOCHS, **trainer_options}
        report_options = options.pop("report", {"checkpoint": True})

        def train():
            lightning.seed_everything(7, verbose=False)
            self.callback = tune.lightning.ReportCallback(metrics, **report_options)
            self.trainer = lightning.Trainer(
                accelerator="cpu",
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                callbacks=[make() for make in callbacks] + [self.callback],
                **options,
            )
            self.trainer.fit(Model(scheduler), *loaders(), ckpt_path=tune.restored())

        return train

    def expect_same_curve_after_any_death(self, program):
        alone = self.trial("alone")
        self.assertTrue(alone.attempt(program))
        self.assertGreater(len(alone.curve), 2)
        for last in range(1, len(alone.curve) + 1):
            with self.subTest(dies_after=last):
                killed = self.trial(f"killed-{last}")
                self.assertFalse(killed.attempt(program, dies_after=last))
                self.assertTrue(killed.attempt(program))
                self.assertEqual(killed.curve, alone.curve)
        return alone


class Restored(LightningCase):
    """A trial that died after any of its reports ends as one that was left alone."""

    def test_with_shuffled_data_and_dropout(self):
        self.expect_same_curve_after_any_death(self.program())

    def test_with_early_stopping(self):
        def stopping():
            return EarlyStopping("val_loss", patience=2, min_delta=1000.0)

        alone = self.expect_same_curve_after_any_death(self.program(callbacks=[stopping]))
        self.assertEqual(len(alone.curve), 3)

    def test_with_a_rate_that_falls_on_a_plateau(self):
        alone = self.expect_same_curve_after_any_death(self.program(scheduler="plateau"))
        rates = [metrics["rate"] for metrics in alone.curve]
        self.assertEqual([round(rate, 6) for rate in rates], [0.04, 0.04, 0.02, 0.01, 0.005, 0.0025])

    def test_with_a_rate_that_falls_by_steps(self):
        self.expect_same_curve_after_any_death(self.program(scheduler="step"))

    def test_with_validation_twice_an_epoch(self):
        def stopping():
            return EarlyStopping("val_loss", patience=4, min_delta=1000.0)

        for callbacks in ([], [stopping]):
            alone = self.expect_same_curve_after_any_death(
                self.program(
                    scheduler="plateau", callbacks=callbacks, val_check_interval=0.5, max_epochs=3
                )
            )
            self.assertTrue(alone.saved)
            self.assertTrue(all(iteration % 2 == 0 for iteration in alone.saved), alone.saved)

    def test_with_validation_every_other_epoch(self):
        alone = self.expect_same_curve_after_any_death(self.program(check_val_every_n_epoch=2))
        self.assertEqual(len(alone.curve), 3)

    def test_with_validation_that_never_falls_on_the_end_of_an_epoch(self):
        alone = self.expect_same_curve_after_any_death(
            self.program(val_check_interval=4, max_epochs=3)
        )
        self.assertEqual(alone.saved, [1, 2, 3])

    def test_with_a_limit_of_steps(self):
        def stopping():
            return EarlyStopping("val_loss", patience=5, min_delta=1000.0)

        self.expect_same_curve_after_any_death(
            self.program(scheduler="plateau", callbacks=[stopping], max_steps=24, max_epochs=-1)
        )

    def test_without_validation(self):
        self.expect_same_curve_after_any_death(
            self.program(
                "train_loss",
                limit_val_batches=0,
                report={"checkpoint": True, "at": "train_epoch_end"},
            )
        )


class WithinAnEpoch(LightningCase):
    def test_a_checkpoint_is_saved_where_always_is_asked_for(self):
        program = self.program(
            val_check_interval=0.5, max_epochs=3, report={"checkpoint": "always"}
        )
        alone = self.trial("alone")
        alone.attempt(program)
        self.assertEqual(alone.saved, [1, 2, 3, 4, 5, 6])
        for last in range(1, 6):
            killed = self.trial(f"killed-{last}")
            killed.attempt(program, dies_after=last)
            self.assertTrue(killed.attempt(program))
            # The batches differ; how many epochs and validations there are does not.
            self.assertEqual(len(killed.curve), 6, last)
            if last % 2 == 0:
                self.assertEqual(killed.curve, alone.curve)


class Reported(LightningCase):
    def test_a_metric_of_the_training_epoch_is_that_of_its_own_epoch(self):
        seen = []

        class Witness(lightning.Callback):
            def on_train_epoch_end(self, trainer, pl_module):
                seen.append(float(trainer.callback_metrics["train_loss"]))

        trial = self.trial("one")
        trial.attempt(self.program(["train_loss", "val_loss"], callbacks=[Witness]))
        self.assertEqual([metrics["train_loss"] for metrics in trial.curve], seen)
        self.assertEqual(len(seen), _EPOCHS)

    def test_a_validation_within_an_epoch_reports_nothing_of_the_epoch_before(self):
        trial = self.trial("one")
        trial.attempt(
            self.program(["train_loss", "val_loss"], val_check_interval=0.5, max_epochs=2)
        )
        self.assertEqual(
            [sorted(metrics) for metrics in trial.curve],
            [["val_loss"], ["train_loss", "val_loss"]] * 2,
        )

    def test_a_name_that_is_not_logged_is_an_error_with_the_nearest_one(self):
        with self.assertRaisesRegex(ValueError, "val_los is not logged.*did you mean val_loss"):
            self.trial("one").attempt(self.program("val_los"))

    def test_a_stop_ends_the_fit_in_order(self):
        trial = self.trial("one", stop_at=2)
        self.assertTrue(trial.attempt(self.program()))
        self.assertEqual(len(trial.curve), 2)
        self.assertEqual(self.trainer.current_epoch, 2)
        self.assertTrue(self.callback.stopped)

    def test_one_trainer_may_fit_twice(self):
        trial = self.trial("one")

        def train():
            self.program(max_epochs=2)()
            self.trainer.fit_loop.max_epochs = 4
            self.trainer.fit(Model(), *loaders())

        trial.attempt(train)
        self.assertEqual(len(trial.curve), 4)


class NotRestored(LightningCase):
    def test_a_fit_that_does_not_go_on_from_its_checkpoint_is_warned_of(self):
        trial = self.trial("one")
        trial.attempt(self.program(), dies_after=2)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            trial.attempt(self.forgetful())
        self.assertRegex(said.getvalue(), "WARNING: .*starts anew.*ckpt_path=tune.restored")

    def forgetful(self):
        def train():
            trainer = lightning.Trainer(
                accelerator="cpu",
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                max_epochs=1,
                callbacks=[tune.lightning.ReportCallback("val_loss")],
            )
            trainer.fit(Model(), *loaders())

        return train


if __name__ == "__main__":
    unittest.main()
