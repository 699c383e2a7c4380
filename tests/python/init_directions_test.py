"""`tune init`: which way a value is good, and which of two values behind one name it is."""

import re
import unittest

from init_answers_test import Answer, space_of

import measures

LOOP = "v, w = 0.25, 0.5\nfor epoch in (1, 2):\n    "


def asked_for_direction(space):
    return "is that the right direction?" in space


class Signs(unittest.TestCase):
    def test_a_minus_before_a_name_turns_it(self):
        for label, name, mode in (("-ELBO", "neg_elbo", "min"), ("| -elbo", "neg_elbo", "min"), ("test -ELBO", "test_neg_elbo", "min"),
                                  ("-log_likelihood", "neg_log_likelihood", "min"), ("-loss", "neg_loss", None), ("-val_loss", "neg_val_loss", None)):
            answers = [Answer(LOOP + f'print(f"epoch {{epoch}} {label}: {{v}}")\n'), Answer("x = 1\n", f"epoch 1 {label}: 0.25\nepoch 2 {label}: 0.25\n")]
            for answer in answers[:1] if label.startswith("test") else answers:
                self.assertEqual((answer.metric, answer.values), (name, ["0.25"] * 2), label)
                self.assertEqual(None if asked_for_direction(answer.space) else answer.mode, mode, label)

    def test_strokes_that_part_values_turn_nothing(self):
        answer = Answer(LOOP + 'print(f"{epoch} -loss: {w} -val_loss: {v}")\n')
        self.assertEqual((answer.metric, answer.mode, answer.to_do), ("val_loss", "min", ["no option was found to search over. Give the script one, and "
                                                                                          "name it in the command:"]))
        self.assertEqual(Answer(LOOP + 'print(f"{epoch} - loss: {v}")\n').metric, "loss")

    def test_a_score_of_something_unknown_is_asked(self):
        for name in ("energy_score", "interval_score", "val_anomaly_score", "clash score"):
            self.assertTrue(asked_for_direction(space_of(LOOP + f'print(f"epoch {{epoch}} {name}: {{v}}")\n')), name)
        for name in ("f1_score", "F-score", "val dice score", "adjusted_rand_score", "TM-score", "brier_score"):
            self.assertFalse(asked_for_direction(space_of(LOOP + f'print(f"epoch {{epoch}} {name}: {{v}}")\n')), name)

    def test_a_variance_is_no_metric(self):
        self.assertFalse(measures.is_metric("val_acc_var"))

    def test_the_negated_loss_of_a_scorer_below_the_name_of_a_loss_is_asked(self):
        script = "import sklearn\ns = cross_val_score(m, x, y, cv=5, scoring='neg_mean_squared_error')\n"
        for printed, mode in (("'MSE: %.3f (+/- %.3f)' % (s.mean(), s.std())", "max"), ("'MSE: %.3f' % -s.mean()", "min"),
                              ("f'RMSE: {(-s).mean() ** 0.5}'", "min")):
            space = space_of(script + f"print({printed})\n")
            self.assertIn(f"\nmode: {mode}\n", space, printed)
            self.assertEqual("its name says the contrary" in space, mode == "max", printed)


if __name__ == "__main__":
    unittest.main()
