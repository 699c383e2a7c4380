"""Asking and telling from Python: tune.Study."""

import math
import unittest

from sweep_test import SweepCase

import tune


class AStudy(SweepCase):
    def test_goes_on_after_what_it_refuses(self):
        for name in (None, "kept"):
            with tune.Study({"x": tune.uniform(0, 1)}, metric="v", mode="max", seed=1, name=name) as study:
                numbers = [number for number, _ in study.ask_many(3)]
                study.tell(0, 0.5)
                for wrong, text in ((lambda: study.tell(0, 0.6), "tell: the trial 0 is over, its value 0.5"), (lambda: study.tell(9, 0.6), "never asked for"),
                                    (lambda: study.tell(1, [0.1, 0.2]), "expected one number")):
                    with self.assertRaises(tune.TuneError) as caught:
                        wrong()
                    self.assertIn(text, str(caught.exception))
                    self.assertNotIn("line ", str(caught.exception))
                for wrong in (0, -1):
                    with self.assertRaises(ValueError):
                        study.ask_many(wrong)
                study.tell(1, 0.25, iteration=3)
                with self.assertRaises(tune.TuneError):
                    study.tell(1, 0.5, iteration=3)
                study.tell(1, 0.75)
                self.assertEqual((numbers, study.ask()[0]), ([0, 1, 2], 3))
        self.assertEqual([(t.number, t.value) for t in tune.load("kept").trials[:2]], [(0, 0.5), (1, 0.75)])

    def test_that_is_kept_is_gone_on_with_under_its_seed_alone(self):
        space = {"x": tune.uniform(0, 1)}
        with tune.Study(space, name="kept", seed=1) as study:
            study.ask()
        with tune.Study(space, name="kept", seed=2) as study, self.assertRaises(tune.TuneError) as caught:
            study.ask()
        self.assertIn("seed: 1 is stored, the file has 2", str(caught.exception))
        with tune.Study(space, name="kept") as study:
            self.assertEqual(study.ask()[0], 1)

    def test_keeps_nothing_in_a_database_without_a_name(self):
        with self.assertRaisesRegex(ValueError, "db: nothing is kept without a name"):
            tune.Study({"x": tune.uniform(0, 1)}, db="study.db")

    def test_asks_and_tells(self):
        with tune.Study({"x": tune.uniform(0, 1)}, metric="v", mode="max", seed=1) as study:
            asked = study.ask_many(3)
            self.assertEqual([trial for trial, _ in asked], [0, 1, 2])
            study.tell(0, asked[0][1]["x"], iteration=1)
            study.tell(0, asked[0][1]["x"])
            study.tell(1, failed=True)
            study.tell(2, math.nan)
            with self.assertRaisesRegex(tune.TuneError, "the trial 0 is over, its value "):
                study.tell(0, 1)

    def test_knows_its_best(self):
        space = {"x": tune.choice(1, 2, 3), "net": {"depth": 4}}
        for name in (None, "kept"):
            with tune.Study(space, metric="v", mode="max", search="grid", name=name) as study:
                self.assertIsNone(study.best)
                for number, config in study.ask_many(3):
                    study.tell(number, config["x"] if config["x"] < 3 else math.inf)
                self.assertEqual(study.best, (1, {"x": 2, "net": {"depth": 4}}, 2, 1))
        with tune.Study(space, metric="v", mode="max", search="grid", name="kept") as study:  # Of an earlier life.
            self.assertEqual(study.best.config, study.sweep().best.config)
        with tune.Study(space, metric=["v", "w"], mode=["max", "min"]) as study:
            with self.assertRaisesRegex(tune.TuneError, "no best trial, but a front"):
                study.best

    def test_takes_the_metrics_that_limits_name(self):
        space = {"x": tune.choice(1, 2, 3)}
        with tune.Study(space, metric="v", mode="max", search="grid", feasible=["ms <= 20"], name="limited") as study:
            with self.assertRaisesRegex(tune.TuneError, "feasible names 'ms'"):
                study.tell(study.ask()[0], 1)
            study.tell(0, 1, metrics={"ms": 10})
            for number, config in study.ask_many(2):
                study.tell(number, config["x"], metrics={"ms": config["x"] * 10})
            self.assertEqual((study.best.value, study.best.feasible, study.best.violation), (2, True, 0))
            worst = study.sweep().trial(2)
            self.assertEqual((worst.feasible, worst.violation), (False, 0.5))

    def test_with_a_name_goes_on(self):
        space = {"x": tune.choice(1, 2)}
        for expected in (0, 1):
            with tune.Study(space, metric="v", mode="max", seed=1, name="kept") as study:
                trial, config = study.ask()
                self.assertEqual(trial, expected)
                study.tell(trial, config["x"])
        self.assertEqual([trial.status for trial in tune.load("kept")], ["TERMINATED", "TERMINATED"])

    def test_says_when_the_space_is_exhausted(self):
        with tune.Study({"x": tune.choice(1, 2)}, search="grid") as study:
            self.assertEqual(len(study.ask_many(5)), 2)
            with self.assertRaises(LookupError):
                study.ask()

    def test_tells_a_mistake_with_its_place(self):
        with tune.Study({"x": {"unform": [0, 1]}}) as study:
            with self.assertRaisesRegex(tune.TuneError, "^space.x: 'unform' is not a domain"):
                study.ask()


if __name__ == "__main__":
    unittest.main()
