"""Trees that shall be right and small: two objectives, of which no one is given up for the other."""
import pickle

import tune
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

config = tune.config(trees=20, depth=8, leaf=1, features=0.3)

images, labels = load_digits(return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(images, labels, test_size=0.3, random_state=0)
model = RandomForestClassifier(config["trees"], max_depth=config["depth"], min_samples_leaf=config["leaf"],
                               max_features=config["features"], random_state=0)
model.fit(train_x, train_y)
tune.report(val_accuracy=model.score(val_x, val_y), kilobytes=len(pickle.dumps(model)) / 1024)
