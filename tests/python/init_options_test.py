"""`tune init`: options over which no sweep should search, and ranges that hold their defaults."""

import re
import unittest

from init_sharing_test import ARGUMENTS, PRINTED, space_of


class Meaning(unittest.TestCase):
    """Options that change what the metric means are no parameters of a sweep."""

    def left(self, metric, *options, body=""):
        declared = "".join(f"p.add_argument({o})\n" for o in options)
        script = ARGUMENTS + declared + body + f"for e in (1, 2):\n    print(f'epoch {{e}} {metric} {{1 / e}}')\n"
        line = re.search(r"; (.*) \(changes? what (\w+) means\)|: ([^;]*) \(changes? what \w+ means\)", space_of("train.py", script))
        return (line.group(1) or line.group(3)).split(", ") if line else []

    LOSS = "'--loss', choices=['mse', 'mae'], default='mse'"
    WEIGHT = "'--kl-weight', type=float, default=1.0"
    SMOOTHING = "'--label-smoothing', type=float, default=0.1"

    def test_the_loss_and_its_weights_beside_a_loss(self):
        self.assertEqual(self.left("val_loss", self.LOSS, self.WEIGHT, self.SMOOTHING, "'--criterion', choices=['ce', 'focal']"),
                         ["--loss", "--kl-weight", "--label-smoothing", "--criterion"])
        for metric in ("val_acc", "val_rmse"):
            self.assertEqual(self.left(metric, self.LOSS, self.WEIGHT, self.SMOOTHING), [], metric)
        self.assertEqual(self.left("val_loss", "'--weight-decay', type=float, default=0.1"), [])

    def test_what_is_measured_and_on_what(self):
        options = ["'--horizon', type=int, default=12", "'--threshold', type=float, default=0.5", "'--window', type=int, default=10",
                   "'--noise', type=float, default=0.1", "'--subset', type=int, default=1000", "'--year', type=int, default=2020",
                   "'--reward-scale', type=float, default=1.0", "'--env', choices=['CartPole', 'Pendulum']",
                   "'--scoring', choices=['r2', 'neg_mse']"]
        self.assertEqual(self.left("val_acc", *options), [o.split("'")[1] for o in options])

    def test_k_of_the_metric_and_k_of_the_nearest_neighbours(self):
        k = "'--k', type=int, default=5"
        self.assertEqual((self.left("recall", k), self.left("acc", k)), (["--k"], []))

    def test_a_weight_between_the_parts_of_a_variational_autoencoder(self):
        beta = "'--beta', type=float, default=1.0"
        self.assertEqual((self.left("val_loss", beta, body="kl_div = 1\n"), self.left("val_loss", beta)), (["--beta"], []))


class Ranges(unittest.TestCase):
    def test_the_default_lies_within_and_a_factor_stays_below_one(self):
        for option, domain in (("'--lr-decay', type=float, default=0.95", "lr_decay: {uniform: [0.9, 0.995]}"),
                               ("'--ema-decay', type=float, default=0.999", "ema_decay: {uniform: [0.998, 0.9999]}"),
                               ("'--lr-decay', type=float, default=0.1", "lr_decay: {uniform: [0.05, 0.2]}"),
                               ("'--weight-decay', type=float, default=0.5", "weight_decay: {loguniform: [0.05, 5.0]}"),
                               ("'--smoothing', type=float, default=0.9", "smoothing: {uniform: [0.8, 0.99]}"),
                               ("'--smoothing', type=float, default=0.1", "smoothing: {uniform: [0.0, 0.2]}"),
                               ("'--C', type=float, default=1.0", "C: {loguniform: [0.01, 100.0]}")):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument({option})\n" + PRINTED)
            self.assertIn(f"\n  {domain}   #", space)


if __name__ == "__main__":
    unittest.main()
