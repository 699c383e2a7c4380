"""The callbacks for PyTorch Lightning, Hugging Face's Trainer and Keras.

The frameworks are too large to be asked for here; tests/frameworks has them. Each stand-in below
has what the callbacks touch, and calls them in the order of the framework's own loop.
"""

import contextlib
import importlib
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import tune
from stand_in_runner import StandInRunner
from tune._reporter import Reporter


class Tensor:
    def __init__(self, value):
        self._value = value

    def item(self):
        return self._value


# PyTorch Lightning: fit checks sanity, then trains and validates each epoch.


class LightningCallback:
    pass


class LightningStrategy:
    """Of one process, or of the second of two, which hears what the first one said."""

    def __init__(self, heard=None):
        self._heard = heard or {}

    def reduce_boolean_decision(self, decision, all=True):
        assert not all
        return decision or self._heard.get("stop", False)

    def broadcast(self, value, src=0):
        return self._heard.get("path", value)


class LightningTrainer:
    def __init__(self, callback, rank=0, heard=None):
        self.callback = callback
        self.callback_metrics = {}
        self.is_global_zero = rank == 0
        self.sanity_checking = False
        self.should_stop = False
        self.state = types.SimpleNamespace(fn=None)
        self.strategy = LightningStrategy(heard)
        self.world_size = 1 if heard is None else 2
        self.num_training_batches = self.val_check_batch = 10
        self.global_step = 0
        self.fit_loop = types.SimpleNamespace(batch_idx=9, on_advance_end=self.end_epoch)
        self.saved = []
        self.epochs = 0

    def fit(self, accuracies):
        self.state.fn = "fit"
        self.callback.on_fit_start(self, None)
        self.sanity_checking = True
        self.callback.on_validation_end(self, None)
        self.sanity_checking = False
        self.callback.on_train_start(self, None)
        for accuracy in accuracies:
            self.callback_metrics["val_accuracy"] = Tensor(accuracy)
            self.callback.on_validation_end(self, None)
            self.fit_loop.on_advance_end()
            if self.should_stop:
                break
        self.callback.teardown(self, None, "fit")

    def end_epoch(self):
        self.callback_metrics["images"] = Tensor(3)  # Of the training epoch.
        self.epochs += 1

    def validate(self):
        self.state.fn = "validate"
        self.callback.on_validation_end(self, None)

    def save_checkpoint(self, path):
        self.saved.append(path)
        if self.is_global_zero:
            with open(path, "w") as file:
                file.write(str(self.epochs))


# Hugging Face: after a step log, evaluate each set, save; what to do is in `control`.


class HuggingFaceCallback:
    def on_train_begin(self, args, state, control, **kwargs):
        pass

    def on_evaluate(self, args, state, control, **kwargs):
        pass

    def on_save(self, args, state, control, **kwargs):
        pass

    def on_train_end(self, args, state, control, **kwargs):
        pass


class HuggingFaceTrainer:
    def __init__(self, callback, output_dir="", saves=False, rank=0):
        self.callback = callback
        strategy = "epoch" if saves else "no"
        self.args = types.SimpleNamespace(
            output_dir=output_dir, eval_strategy="epoch", save_strategy=strategy
        )
        self.state = types.SimpleNamespace(global_step=0, is_world_process_zero=rank == 0)
        self.control = types.SimpleNamespace(should_save=False, should_training_stop=False)
        self.saves = saves

    def evaluate(self, *sets):
        for metrics in sets:
            self.callback.on_evaluate(
                self.args, self.state, self.control, metrics=metrics, model=None
            )

    def train(self, evaluations, evaluates_at_start=False):
        self.callback.on_train_begin(self.args, self.state, self.control, model=None)
        if evaluates_at_start:
            self.evaluate(*evaluations[0])
        for sets in evaluations:
            self.state.global_step += 10
            self.control.should_save = self.saves
            self.evaluate(*sets)
            if self.control.should_save:
                folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
                os.mkdir(folder)
                self.control.should_save = False
                self.callback.on_save(self.args, self.state, self.control, model=None)
            if self.control.should_training_stop:
                break
        self.callback.on_train_end(self.args, self.state, self.control, model=None)


# Keras: fit calls set_model, then on_epoch_end with the logs.


class KerasCallback:
    model = None

    def set_model(self, model):
        self.model = model


class KerasModel:
    def __init__(self):
        self.stop_training = False
        self.epochs = 0

    def fit(self, logs, callbacks):
        for callback in callbacks:
            callback.set_model(self)
            callback.on_train_begin()
        for epoch, log in enumerate(logs):
            self.epochs += 1
            for callback in callbacks:
                callback.on_epoch_end(epoch, log)
            if self.stop_training:
                return

    def save(self, path):
        assert path.endswith(".keras")
        with open(path, "w") as file:
            file.write(str(self.epochs))


def module(name, **names):
    made = types.ModuleType(name)
    vars(made).update(names)
    return made


FRAMEWORKS = {
    "lightning": module("lightning"),
    "lightning.pytorch": module("lightning.pytorch", Callback=LightningCallback),
    "transformers": module("transformers", TrainerCallback=HuggingFaceCallback),
    "keras": module("keras"),
    "keras.callbacks": module("keras.callbacks", Callback=KerasCallback),
}


def unload(*packages):
    """Forgets them and what is in them, as if nothing had imported them."""
    for name in list(sys.modules):
        if name.split(".")[0] in packages:
            del sys.modules[name]
    for name in ("lightning", "transformers", "keras"):
        sys.modules.pop("tune." + name, None)
        vars(tune).pop(name, None)


@contextlib.contextmanager
def frameworks(modules, folder=os.devnull):
    """Imports find `modules`, or what lies in `folder`, and no framework that is installed."""
    packages = ("lightning", "pytorch_lightning", "transformers", "keras", "tf_keras")
    with mock.patch.dict(sys.modules), mock.patch.object(sys, "path", [folder, *sys.path]):
        unload(*packages)
        sys.modules.update(modules)
        yield
        unload(*packages)


def stop_at(count_of_stop):
    def answer(message, count):
        word = "stop" if count >= count_of_stop else "continue"
        return {"answer": word, "iteration": count}

    return answer


class CallbackCase(unittest.TestCase):
    def setUp(self):
        self.enterContext(frameworks(FRAMEWORKS))

    def enterContext(self, context):  # unittest's own is there from Python 3.11 on.
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def sweep(self, answer=stop_at(100)):
        """A trial of its own: a runner, a folder, a reporter that has reported nothing."""
        self.folder = os.path.realpath(self.enterContext(tempfile.TemporaryDirectory()))
        self.runner = self.enterContext(StandInRunner(answer))
        environ = {**self.runner.environ, "TUNE_DIR": self.folder}
        self.enterContext(mock.patch.dict(os.environ, environ))
        self.enterContext(mock.patch.object(tune, "_reporter", Reporter(os.environ)))

    def reported(self):
        return [report["metrics"] for report in self.runner.reports]

    def reported_checkpoints(self):
        return [report.get("checkpoint") for report in self.runner.reports]


class Lightning(CallbackCase):
    def fit(self, accuracies, *args, rank=0, heard=None, **named):
        callback = tune.lightning.ReportCallback(*args, **named)
        trainer = LightningTrainer(callback, rank, heard)
        trainer.fit(accuracies)
        return trainer

    def test_each_validation_of_a_fit_is_reported_once(self):
        self.sweep()
        trainer = self.fit([0.25, 0.5], "val_accuracy")
        self.assertEqual(self.reported(), [{"val_accuracy": 0.25}, {"val_accuracy": 0.5}])
        trainer.validate()
        self.assertEqual(len(self.reported()), 2)

    def test_without_names_all_is_reported_and_a_map_renames(self):
        self.sweep()
        self.fit([0.25])
        self.fit([0.5], {"accuracy": "val_accuracy"})
        self.assertEqual(
            self.reported(), [{"val_accuracy": 0.25, "images": 3.0}, {"accuracy": 0.5}]
        )

    def test_it_may_report_at_the_end_of_the_training_epoch(self):
        self.sweep()
        self.fit([0.25, 0.5], ["images"], at="train_epoch_end")
        self.assertEqual(self.reported(), [{"images": 3.0}, {"images": 3.0}])
        with self.assertRaisesRegex(ValueError, "at: read 'epoch', expected"):
            self.fit([0.25], at="epoch")

    def test_a_stop_ends_the_fit_and_what_comes_after_it_runs(self):
        self.sweep(stop_at(2))
        trainer = self.fit([0.1, 0.2, 0.3], "val_accuracy")
        self.assertEqual((trainer.epochs, trainer.callback.stopped), (2, True))
        self.assertEqual(len(self.reported()), 2)

    def test_a_checkpoint_is_saved_and_reported_with_each_report(self):
        self.sweep()
        self.fit([0.25, 0.5], "val_accuracy", checkpoint=True)
        path = os.path.join(self.folder, "checkpoint.ckpt")
        self.assertEqual(self.reported_checkpoints(), [path, path])
        with open(path) as file:
            self.assertEqual(file.read(), "2")

    def test_a_name_that_is_not_logged_is_an_error_with_the_nearest_one(self):
        self.sweep()
        with self.assertRaisesRegex(ValueError, "val_acc is not logged.*mean val_accuracy"):
            self.fit([0.25], "val_acc")

    def test_the_second_process_saves_and_stops_with_the_first_and_reports_nothing(self):
        self.sweep()
        trainer = self.fit(
            [0.25, 0.5],
            "val_accuracy",
            checkpoint=True,
            rank=1,
            heard={"stop": True, "path": "/of/the/first.ckpt"},
        )
        self.assertEqual((trainer.epochs, trainer.saved), (1, ["/of/the/first.ckpt"]))
        self.assertEqual(self.runner.connections, [])
        self.assertEqual(os.listdir(self.folder), [])

    def test_either_name_of_lightning_is_found_and_the_one_in_use_preferred(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name in ("pytorch_lightning", "lightning"):
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "__init__.py"), "w") as file:
                file.write("class Callback:\n    pass\n")

        def base(*imported):
            importlib.invalidate_caches()
            with frameworks({}, folder):
                for name in imported:
                    importlib.import_module(name)
                return tune.lightning.ReportCallback.__mro__[1].__module__

        self.assertEqual(base(), "pytorch_lightning")  # The other one has no lightning.pytorch.
        with open(os.path.join(folder, "lightning", "pytorch.py"), "w") as file:
            file.write("class Callback:\n    pass\n")
        self.assertEqual(base(), "lightning.pytorch")
        self.assertEqual(base("pytorch_lightning"), "pytorch_lightning")


class HuggingFace(CallbackCase):
    def train(self, evaluations, *args, saves=False, rank=0, at_start=False, **named):
        callback = tune.transformers.ReportCallback(*args, **named)
        trainer = HuggingFaceTrainer(callback, self.folder, saves, rank)
        trainer.train(evaluations, at_start)
        return trainer

    def test_each_evaluation_of_a_training_is_reported_once(self):
        self.sweep()
        trainer = self.train([[{"eval_loss": 0.5}], [{"eval_loss": 0.25}]], "eval_loss")
        self.assertEqual(self.reported(), [{"eval_loss": 0.5}, {"eval_loss": 0.25}])
        trainer.evaluate({"eval_loss": 0.1})  # After the training, as scripts do.
        self.assertEqual(len(self.reported()), 2)

    def test_an_evaluation_before_the_first_step_is_not_reported(self):
        self.sweep()
        self.train([[{"eval_loss": 0.5}]], "eval_loss", at_start=True)
        self.assertEqual(self.reported(), [{"eval_loss": 0.5}])

    def test_without_names_all_numbers_are_reported(self):
        self.sweep()
        self.train([[{"eval_loss": 0.5, "epoch": 1.0, "note": "text"}]])
        self.assertEqual(self.reported(), [{"eval_loss": 0.5, "epoch": 1.0}])

    def test_metrics_of_several_evaluation_sets_are_one_report(self):
        first = [{"eval_a_loss": 3}, {"eval_b_loss": 4}]
        second = [{"eval_a_loss": 1}, {"eval_b_loss": 2}]
        for checkpoint in (False, True):
            with self.subTest(checkpoint=checkpoint):
                self.sweep()
                names = {"a": "eval_a_loss", "b": "eval_b_loss"}
                self.train([first, second], names, saves=checkpoint, checkpoint=checkpoint)
                self.assertEqual(self.reported(), [{"a": 3.0, "b": 4.0}, {"a": 1.0, "b": 2.0}])

    def test_a_stop_ends_the_training_and_what_comes_after_it_runs(self):
        for checkpoint in (False, True):
            with self.subTest(checkpoint=checkpoint):
                self.sweep(stop_at(2))
                trainer = self.train(
                    [[{"eval_loss": 0.5}]] * 4, "eval_loss", saves=checkpoint, checkpoint=checkpoint
                )
                self.assertEqual(trainer.state.global_step, 20)
                self.assertTrue(trainer.callback.stopped)

    def test_a_checkpoint_is_reported_when_the_trainer_has_saved_it(self):
        self.sweep()
        self.train([[{"eval_loss": 0.5}]] * 2, "eval_loss", saves=True, checkpoint=True)
        paths = [os.path.join(self.folder, f"checkpoint-{step}") for step in (10, 20)]
        self.assertEqual(self.reported_checkpoints(), paths)

    def test_where_nothing_is_saved_the_report_goes_without_a_checkpoint(self):
        self.sweep()
        self.train([[{"eval_loss": 0.5}]], "eval_loss", checkpoint=True)
        self.assertEqual(self.reported_checkpoints(), [None])

    def test_a_name_that_never_came_is_an_error_at_the_end(self):
        self.sweep()
        with self.assertRaisesRegex(ValueError, "eval_los is not logged.*mean eval_loss"):
            self.train([[{"eval_loss": 0.5}]], "eval_los")

    def test_the_second_process_reports_nothing_and_stops_with_the_first(self):
        class Distributed:
            """torch.distributed, as the second process of two sees it."""

            barriers = 0

            def is_available(self):
                return True

            def is_initialized(self):
                return True

            def barrier(self):
                self.barriers += 1

            def broadcast_object_list(self, words, src):
                words[:] = [True]

        self.sweep()
        with mock.patch.dict(sys.modules, {"torch.distributed": Distributed()}):
            trainer = self.train(
                [[{"eval_loss": 0.5}]] * 3, "eval_loss", rank=1, saves=True, checkpoint=True
            )
            self.assertEqual(sys.modules["torch.distributed"].barriers, 1)
        self.assertEqual(trainer.state.global_step, 10)
        self.assertEqual(self.runner.connections, [])


class Keras(CallbackCase):
    def fit(self, logs, *args, **named):
        model = KerasModel()
        self.callback = tune.keras.ReportCallback(*args, **named)
        model.fit(logs, [self.callback])
        return model

    def test_each_epoch_is_reported(self):
        self.sweep()
        self.fit([{"loss": 1.0, "val_loss": 0.5}, {"loss": 0.5, "val_loss": 0.25}], "val_loss")
        self.assertEqual(self.reported(), [{"val_loss": 0.5}, {"val_loss": 0.25}])

    def test_a_stop_ends_the_fit_and_what_comes_after_it_runs(self):
        self.sweep(stop_at(2))
        model = self.fit([{"loss": 1.0}] * 4)
        self.assertEqual((model.epochs, self.callback.stopped), (2, True))

    def test_the_model_is_saved_and_reported(self):
        self.sweep()
        self.fit([{"loss": 1.0}] * 2, "loss", checkpoint=True)
        path = os.path.join(self.folder, "checkpoint.keras")
        self.assertEqual(self.reported_checkpoints(), [path, path])
        with open(path) as file:
            self.assertEqual(file.read(), "2")

    def test_a_name_that_is_not_logged_is_an_error(self):
        self.sweep()
        with self.assertRaisesRegex(ValueError, "val_loss is not logged.*logged are: loss"):
            self.fit([{"loss": 1.0}], "val_loss")


class WithoutTheFramework(unittest.TestCase):
    def test_the_module_loads_and_the_callback_says_what_is_missing(self):
        absent = {name: None for name in [*FRAMEWORKS, "pytorch_lightning", "tf_keras"]}
        for name in ("lightning", "transformers", "keras"):
            with frameworks(absent):
                with self.assertRaisesRegex(ImportError, name):
                    importlib.import_module("tune." + name)

    def test_a_framework_that_misses_a_part_of_its_own_says_so_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "lightning"))
            with open(os.path.join(folder, "lightning", "pytorch.py"), "w") as file:
                file.write("import a_part_that_is_not_there\n")
            importlib.invalidate_caches()
            with frameworks({}, folder):
                with self.assertRaisesRegex(ImportError, "a_part_that_is_not_there"):
                    importlib.import_module("tune.lightning")

    def test_a_name_that_is_no_part_of_the_module_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'torch'"):
            tune.torch


class TheModule(unittest.TestCase):
    def test_has_each_package_that_needs_a_framework_when_it_is_asked_for(self):
        names = ("catboost", "keras", "lightgbm", "lightning", "sklearn", "transformers", "xgboost")
        for name in names:
            made = module("tune." + name)
            with mock.patch.dict(sys.modules, {"tune." + name: made}), mock.patch.dict(vars(tune)):
                vars(tune).pop(name, None)
                self.assertIs(getattr(tune, name), made)
        with self.assertRaises(AttributeError):
            tune.pytorch


if __name__ == "__main__":
    unittest.main()
