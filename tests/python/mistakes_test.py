"""Wrong arguments of the module: each is told in a line, with what was read and where, and nothing is begun."""

import unittest

from sweep_test import Array, SweepCase, number

import tune


class AMistake(SweepCase):
    def told(self, kind, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertFalse((self.folder / "tune.db").exists())
        self.assertEqual([path.name for path in self.folder.glob(".tune-*")], [])
        return str(caught.exception)

    def test_in_the_space_is_told_with_its_name(self):
        told = self.told(tune.TuneError, lambda: self.run_sweep(number, {"net": {"x": {"unform": [0, 1]}}}))
        self.assertTrue(told.startswith("space.net.x: 'unform' is not a domain; did you mean 'uniform'?"), told)

    def test_in_an_argument_is_told(self):
        told = self.told(tune.TuneError, lambda: self.run_sweep(number, limts={}))
        self.assertEqual(told, "unknown key 'limts'; did you mean 'limits'?")
        told = self.told(tune.TuneError, lambda: self.run_sweep(number, mode="up"))
        self.assertEqual(told, "mode: read 'up', expected max or min")

    def test_of_a_type_is_told(self):
        told = self.told(TypeError, lambda: self.run_sweep(number, {"x": tune.choice(object())}))
        self.assertIn("expected numbers, texts", told)
        self.told(TypeError, lambda: self.run_sweep(3.5))

    def test_a_number_that_is_not_finite_is_told(self):
        for space, text in (({"x": float("nan")}, "space.x: read nan, expected a finite number"), ({"x": [1.0, float("inf")]}, "space.x: read inf"),
                            ({"n": {"x": {"const": {"y": float("-inf")}}}}, "space.n.x.const.y: read -inf")):
            told = self.told(ValueError, lambda space=space: self.run_sweep(number, space))
            self.assertIn(text, told)
        for make in (lambda: tune.choice(1.0, float("inf")), lambda: tune.const(float("nan")), lambda: tune.uniform(0, float("inf"))):
            self.assertIn("expected a finite number", self.told(ValueError, make))

    def test_that_is_seen_as_the_sweep_begins_is_in_the_exception(self):
        told = self.told(tune.TuneError, lambda: self.run_sweep(number, db="."))
        self.assertIn("is a folder", told)

    def test_a_name_that_commands_would_take_for_an_option_is_told_before_anything_runs(self):
        self.assertIn("expected a name that does not begin with '-'", self.told(tune.TuneError, lambda: self.run_sweep(number, name="-x")))

    def test_names_what_was_read_and_its_place(self):
        for call, text in (
                (dict(metric=None), "'metric' is missing"), (dict(metric=5), "metric: read 5, expected the name of a reported value"),
                (dict(mode="maximum"), "mode: read 'maximum', expected max or min"), (dict(samples="x"), "samples: read 'x', expected an integer"),
                (dict(num_samples=3), "num_samples: tune.run calls it samples"), (dict(folder=None), "folder: read None, expected a path"),
                (dict(db=3), "db: read 3, expected a path"),
                (dict(scheduler=tune.asha), "scheduler: read the function asha (function), expected numbers")):
            told = self.told((tune.TuneError, TypeError), lambda call=call: self.run_sweep(number, **call))
            self.assertTrue(told.startswith(text), told)
        for objective in (None, 3.5):
            told = self.told(TypeError, lambda objective=objective: self.run_sweep(objective, name="of_none"))
            self.assertTrue(told.startswith(f"objective: read {objective}, expected a function"), told)
        for space, text in ((None, "space: read None, expected a map"), ({"net": {"x": {1, 2}}}, "space.net.x: read {1, 2} (set), expected"),
                            ({"x": tune.uniform}, "space.x: read the function uniform (function), expected"),
                            ({"x": tune.choice(1, 2, weights=0.5)}, "space.x: weights: read 0.5, expected a list of 2 numbers"),
                            ({"x": [1, 2]}, "space.x: read a list, expected {choice: [1, 2]}")):
            told = self.told((tune.TuneError, TypeError), lambda space=space: tune.run(number, space, metric="value", mode="max"))
            self.assertTrue(told.startswith(text), told)
        for call, text in ((lambda: tune.load(5), "name: read 5"), (lambda: tune.resume(5), "name: read 5"),
                           (lambda: tune.resume("one", samples="x"), "samples: read 'x'"),
                           (lambda: tune.resume("one", samples=Array([3])), "samples: read [3], expected an integer"), (lambda: tune.choice(1, b"a"), "choice: read b'a'")):
            told = self.told(TypeError, call)
            self.assertTrue(told.startswith(text), told)

    def test_in_the_name_of_a_sweep_is_told(self):
        with self.assertRaisesRegex(tune.TuneError, "there is no such database"):
            tune.load()
        self.run_sweep(number)
        with self.assertRaisesRegex(tune.TuneError, "no sweep is named 'other'"):
            tune.load("other")


if __name__ == "__main__":
    unittest.main()
