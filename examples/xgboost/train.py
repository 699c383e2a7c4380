"""Boosted trees on scikit-learn's digits: a report for every five rounds."""
import tune
import xgboost
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

config = tune.config(eta=0.3, max_depth=4, subsample=1.0, colsample_bytree=1.0, rounds=50)

images, labels = load_digits(return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(images, labels, test_size=0.3, random_state=0)
train, val = xgboost.DMatrix(train_x, train_y), xgboost.DMatrix(val_x, val_y)
parameters = {"objective": "multi:softmax", "num_class": 10, "eval_metric": "merror", "seed": 0, "nthread": 1,
              **{name: config[name] for name in ("eta", "max_depth", "subsample", "colsample_bytree")}}


class Report(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if (epoch + 1) % 5 == 0:
            tune.report(val_error=evals_log["val"]["merror"][-1])
        return False


xgboost.train(parameters, train, config["rounds"], [(val, "val")], callbacks=[Report()], verbose_eval=False)
