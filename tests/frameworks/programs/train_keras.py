"""Keras, as docs/PYTHON.md has it, with shuffled data and dropout."""

import keras
import numpy
import tune
from tune.keras import ReportCallback


def build_model():
    keras.utils.set_random_seed(tune.seed())
    model = keras.Sequential(
        [keras.layers.Dense(8, activation="tanh"), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    )
    model.compile(optimizer=keras.optimizers.Adam(tune.config()["lr"]), loss="mse")
    return model


inputs = numpy.random.default_rng(1).normal(size=(48, 4)).astype("float32")
targets = numpy.sin(inputs.sum(axis=1, keepdims=True))
restored = tune.restored()
model = keras.models.load_model(restored) if restored else build_model()
model.fit(
    inputs,
    targets,
    validation_data=(inputs, targets),
    initial_epoch=tune.iteration(),
    epochs=40,
    batch_size=8,
    verbose=0,
    callbacks=[ReportCallback(["val_loss", "loss"], checkpoint=True)],
)
