"""A network on scikit-learn's digits, epoch by epoch. Runs alone too: python3 train.py"""
import pickle

import tune
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

config = tune.config(hidden=32, alpha=1e-4, lr=1e-3, batch_size=64, epochs=27)

images, labels = load_digits(return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(images / 16, labels, test_size=0.3, random_state=0)

model = MLPClassifier((config["hidden"],), alpha=config["alpha"], learning_rate_init=config["lr"],
                      batch_size=config["batch_size"], random_state=0)
if tune.restored():
    model = pickle.loads(tune.restored().read_bytes())

for epoch in range(tune.iteration(), config["epochs"]):
    model.partial_fit(train_x, train_y, classes=range(10))
    checkpoint = tune.folder() / "model.pickle"
    checkpoint.write_bytes(pickle.dumps(model))
    tune.report(val_accuracy=model.score(val_x, val_y), loss=model.loss_, checkpoint=checkpoint)
