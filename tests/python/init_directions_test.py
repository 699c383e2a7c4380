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
            log = f"epoch 1 {label}: 0.25\nepoch 2 {label}: 0.25\n"
            answers = [Answer(LOOP + f'print(f"epoch {{epoch}} {label}: {{v}}")\n'), Answer("x = 1\n", log)]
            for answer in answers[:1] if label.startswith("test") else answers:
                self.assertEqual((answer.metric, answer.values), (name, ["0.25"] * 2), label)
                self.assertEqual(None if asked_for_direction(answer.space) else answer.mode, mode, label)

    def test_strokes_that_part_values_turn_nothing(self):
        answer = Answer(LOOP + 'print(f"{epoch} -loss: {w} -val_loss: {v}")\n')
        self.assertEqual((answer.metric, answer.mode, len(answer.to_do)), ("val_loss", "min", 1), answer.to_do)
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


class Pairs(unittest.TestCase):
    """Two values behind one name are asked, but for a value and how many there are."""

    def answers_of(self, line):
        """(of a script that prints the line with .3f for each number with a point, of a log of it)"""
        names = iter("abcdefgh")
        text = re.sub(r"\d+(?:\.\d+)?", lambda m: "{" + next(names) + (":.3f}" if "." in m.group(0) else "}"), line)
        script = "a = b = c = d = f = 0.5\nfor epoch in (1, 2):\n    " + f'print(f"epoch {{epoch}} {text}")\n'
        return [Answer(script), Answer("x = 1\n", f"epoch 1 {line}\nepoch 2 {line}\n")]

    def test_two_values_behind_a_name_are_asked(self):
        for line, metric in (("loss: 0.158 / 0.896 | acc: 0.975 / 0.625", "acc"), ("loss: 0.25|0.75", "loss"), ("loss=0.25/0.75", "loss")):
            for answer in self.answers_of(line):
                self.assertEqual(answer.metric, metric)
                self.assertTrue(any(f"two values stand behind '{metric}'" in t for t in answer.to_do), (line, answer.to_do))
        for line in ("{epoch} loss: {v}|{w}", "loss={v}/{w}"):
            self.assertIn("two values stand behind 'loss'", space_of(LOOP + f'print(f"{line}")\n'))
        self.assertIn("two values stand behind 'acc'", space_of(LOOP + 'print("acc %.2f/%.2f" % (v, w))\n'))
        self.assertIn("two values stand behind 'acc'", space_of(LOOP + 'print("acc {:.2f}/{:.2f}".format(v, w))\n'))

    def test_two_values_behind_the_word_of_the_validation_are_asked(self):
        for answer in self.answers_of("loss 0.331 (320 samples), val: 0.663/0.625%"):
            self.assertEqual(answer.metric, "val")
            self.assertEqual([t for t in answer.to_do if "two values" in t], [t for t in answer.to_do if "two values stand behind 'val'" in t])
            self.assertTrue(asked_for_direction(answer.space))

    def test_a_count_a_time_and_named_values_are_not_asked(self):
        for line in ("loss 0.3, val 3/100", "accuracy: 95/100 (95%)", "loss: 0.3 | 1.5s", "loss 0.5 (0.6)", "loss: 0.3 | acc: 0.5",
                     "acc 0.5 | 0.3 loss", "time 0.5/0.6 loss 0.3"):
            for answer in self.answers_of(line):
                self.assertFalse(any("two values" in t for t in answer.to_do), (line, answer.to_do))
        self.assertNotIn("two values", space_of(LOOP + 'print(f"Train/Val loss: {v:.3f}/{w:.3f}")\n'))

    def test_held_out_is_of_the_validation(self):
        for answer in self.answers_of("loss 0.3 held-out 0.5"):
            self.assertEqual(answer.metric, "held_out")
            self.assertTrue(any("'held_out' stands behind loss" in t for t in answer.to_do), answer.to_do)


if __name__ == "__main__":
    unittest.main()
