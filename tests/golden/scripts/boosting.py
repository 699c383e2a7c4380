# XGBoost: its rounds are printed by the library. Options are read by a function of a class.
import argparse
import xgboost as xgb


class Experiment:
    def options(self):
        parser = argparse.ArgumentParser()
        group = parser.add_argument_group("model")
        group.add_argument("--eta", type=float, default=0.3)
        group.add_argument("--max_depth", type=int, default=6)
        group.add_argument("--min-child-weight", type=float, default=1.0)
        group.add_argument("--rounds", type=int, default=50)
        return parser.parse_args()

    def run(self, a, dtrain, dvalid):
        params = {"eta": a.eta, "max_depth": a.max_depth, "eval_metric": "logloss"}
        xgb.train(params, dtrain, a.rounds, evals=[(dtrain, "train"), (dvalid, "validation")])
