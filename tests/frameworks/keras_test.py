"""tune.keras with the real Keras."""

import contextlib
import io
import os
import re
import tempfile
import unittest

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy
import tune
import tune.keras
from attempts import Trial

_EPOCHS = 4


def build_model():
    keras.utils.set_random_seed(7)
    model = keras.Sequential(
        [keras.layers.Dense(8, activation="tanh"), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
    return model


def fit(model, *more, **named):
    inputs = numpy.random.default_rng(1).normal(size=(48, 4)).astype("float32")
    targets = numpy.sin(inputs.sum(axis=1, keepdims=True))
    callback = tune.keras.ReportCallback("val_loss", checkpoint=True)
    options = dict(initial_epoch=tune.iteration(), epochs=_EPOCHS, batch_size=8, verbose=0)
    model.fit(
        inputs,
        targets,
        validation_data=(inputs, targets),
        callbacks=[*more, callback],
        **{**options, **named},
    )
    return callback


def program():
    """As the docs have it."""
    keras.utils.set_random_seed(99)  # Another process has other random numbers.
    restored = tune.restored()
    model = keras.models.load_model(restored) if restored else build_model()
    fit(model)


def forgetful_program():
    tune.restored()
    fit(build_model())


class Keras(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def trial(self, name="one", **named):
        return Trial(os.path.join(self.folder, name), **named)

    def said_by(self, trial, train):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertTrue(trial.attempt(train))
        return said.getvalue()

    def test_a_restored_trial_ends_as_one_that_was_left_alone(self):
        alone = self.trial("alone")
        alone.attempt(program)
        self.assertEqual(len(alone.curve), _EPOCHS)
        for last in range(1, _EPOCHS):
            killed = self.trial(f"killed-{last}")
            self.assertFalse(killed.attempt(program, dies_after=last))
            self.assertEqual(self.said_by(killed, program), "")
            self.assertEqual(killed.curve, alone.curve)

    def test_a_rate_that_falls_on_a_plateau_goes_on_as_it_was(self):
        def train():
            restored = tune.restored()
            model = keras.models.load_model(restored) if restored else build_model()
            fit(model, keras.callbacks.ReduceLROnPlateau("val_loss", patience=0, min_delta=1000))
            rates.append(float(model.optimizer.learning_rate))

        rates = []
        trial = self.trial()
        trial.attempt(train, dies_after=2)
        trial.attempt(train)
        self.trial("alone").attempt(train)
        # Keras' callbacks count from the beginning, where the best is any value.
        self.assertAlmostEqual(rates[0], rates[1] * 10, places=6)

    def test_a_program_that_never_loads_the_checkpoint_is_warned_of(self):
        trial = self.trial()
        self.assertEqual(trial.attempt(forgetful_program, dies_after=2), False)
        said = self.said_by(trial, forgetful_program)
        self.assertRegex(said, "WARNING: .*starts anew.*keras.models.load_model")

    def test_a_stop_ends_the_fit_in_order(self):
        trial = self.trial(stop_at=2)
        self.assertTrue(trial.attempt(program))
        self.assertEqual(len(trial.curve), 2)

    def test_the_docs_have_the_program_that_goes_on(self):
        root = os.path.join(os.path.dirname(__file__), "..", "..")
        for path in ("docs/PYTHON.md", "python/tune/keras.py"):
            with open(os.path.join(root, path)) as file:
                text = file.read()
            snippet = re.search(
                r"\n( *)restored = tune\.restored\(\)\n(?:\1.*\n)+", text[: text.index("class ")]
                if path.endswith(".py") else text[text.index("from tune.keras"):],
            )
            self.assertIsNotNone(snippet, path)
            self.assertIn("keras.models.load_model(restored)", snippet.group())
            self.assertIn("initial_epoch=tune.iteration()", snippet.group())


if __name__ == "__main__":
    unittest.main()
