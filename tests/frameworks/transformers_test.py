"""tune.transformers with Hugging Face's real Trainer."""

import contextlib
import io
import os
import tempfile
import unittest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
import tune
import tune.transformers
from attempts import Trial

transformers.logging.set_verbosity_error()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, inputs=None, labels=None):
        answers = self.layer(inputs)
        return {"loss": torch.nn.functional.mse_loss(answers, labels), "logits": answers}


def examples():
    inputs = torch.randn(32, 4, generator=torch.Generator().manual_seed(1))
    return [{"inputs": x, "labels": x.sum(dim=0, keepdim=True).sin()} for x in inputs]


class HuggingFace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def trial(self, name="one", **named):
        return Trial(os.path.join(self.folder, name), **named)

    def program(self, restores=True, **arguments):
        """Four epochs of eight steps, the rate so high that some evaluations are not the best."""

        def train():
            transformers.set_seed(7)
            options = dict(
                output_dir=str(tune.folder()),
                eval_strategy="epoch",
                save_strategy="epoch",
                num_train_epochs=4,
                per_device_train_batch_size=4,
                learning_rate=2.0,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                logging_strategy="no",
            )
            trainer = transformers.Trainer(
                Model(),
                transformers.TrainingArguments(**{**options, **arguments}),
                train_dataset=examples(),
                eval_dataset=examples(),
                callbacks=[tune.transformers.ReportCallback("eval_loss", checkpoint=True)],
            )
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.train(resume_from_checkpoint=tune.restored() if restores else None)

        return train

    def said_by(self, trial, train):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertTrue(trial.attempt(train))
        return said.getvalue()

    def test_a_restored_trial_ends_as_one_that_was_left_alone(self):
        for strategy in ("epoch", "best"):
            alone = self.trial("alone-" + strategy)
            program = self.program(save_strategy=strategy, metric_for_best_model="eval_loss",
                                   greater_is_better=False)
            self.assertEqual(self.said_by(alone, program), "")
            self.assertEqual(len(alone.curve), 4)
            for last in range(1, 4):
                with self.subTest(save_strategy=strategy, dies_after=last):
                    killed = self.trial(f"killed-{strategy}-{last}")
                    self.assertFalse(killed.attempt(program, dies_after=last))
                    self.assertTrue(killed.attempt(program))
                    self.assertEqual(killed.curve, alone.curve)

    def test_with_best_each_new_best_is_reported_with_its_checkpoint(self):
        for greater_is_better in (False, True):
            trial = self.trial(str(greater_is_better))
            trial.attempt(
                self.program(
                    save_strategy="best",
                    metric_for_best_model="loss",
                    greater_is_better=greater_is_better,
                )
            )
            sign = -1 if greater_is_better else 1
            losses = [sign * metrics["eval_loss"] for metrics in trial.curve]
            best = [i + 1 for i, loss in enumerate(losses) if loss == min(losses[: i + 1])]
            self.assertEqual(trial.saved, best)
            self.assertEqual(len(losses), 4)

    def test_a_training_whose_reports_have_no_checkpoint_is_warned_of_at_its_beginning(self):
        steps = dict(eval_strategy="steps", save_strategy="steps")
        for name, arguments, expected in [
            ("no", dict(save_strategy="no"), "save_strategy is 'no'.*let it be 'epoch'"),
            ("unequal", dict(save_strategy="steps"), "'steps' and eval_strategy 'epoch'"),
            ("steps", dict(**steps, save_steps=8, eval_steps=4), "save_steps is 8 and eval_steps 4"),
            ("weights", dict(save_only_model=True), "save_only_model"),
        ]:
            with self.subTest(name):
                trial = self.trial(name)
                self.assertRegex(
                    self.said_by(trial, self.program(**arguments)),
                    "^tune: WARNING: checkpoint=True, but .*" + expected,
                )
        trial = self.trial("all is well")
        self.assertEqual(
            self.said_by(trial, self.program(**steps, save_steps=4, eval_steps=8)), ""
        )
        self.assertEqual(trial.saved, [1, 2, 3, 4])

    def test_a_training_that_does_not_go_on_from_its_checkpoint_is_warned_of(self):
        trial = self.trial()
        trial.attempt(self.program(), dies_after=2)
        said = self.said_by(trial, self.program(restores=False, num_train_epochs=1))
        self.assertRegex(said, "WARNING: .*starts anew.*resume_from_checkpoint=tune.restored")

    def test_a_stop_ends_the_training_in_order(self):
        trial = self.trial(stop_at=2)
        self.assertTrue(trial.attempt(self.program()))
        self.assertEqual(len(trial.curve), 2)


if __name__ == "__main__":
    unittest.main()
