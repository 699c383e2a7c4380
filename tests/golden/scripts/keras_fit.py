# A model of Keras: what fit() prints is not in the source.
from keras import layers
import keras, argparse
p = argparse.ArgumentParser()
p.add_argument("--units", type=int, default=64)
p.add_argument("--learning-rate", type=float, default=0.001)
p.add_argument("--batch-size", type=int, default=32)
p.add_argument("--epochs", type=int, default=5)
args = p.parse_args()
model = keras.Sequential([layers.Dense(args.units)])
model.compile(optimizer="adam", loss="mse", metrics=["accuracy"])
model.fit(x, y, validation_split=0.1, epochs=args.epochs, verbose=2)
