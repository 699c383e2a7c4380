"""`tune init` for scripts whose metrics stand on real bars alone: each epoch is an iteration, with its own value."""

import json
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from sweep import tune

_SCRIPTS = os.path.join(os.path.dirname(__file__), "..", "golden", "scripts")


class Bars(unittest.TestCase):
    def test_each_epoch_of_a_bar_is_an_iteration(self):
        scripts = sorted(name for name in os.listdir(_SCRIPTS) if name.startswith("bar"))
        self.assertGreater(len(scripts), 3)
        path = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
        for script in scripts:
            with self.subTest(script), tempfile.TemporaryDirectory() as folder:
                shutil.copy(os.path.join(_SCRIPTS, script), folder)
                with mock.patch.dict(os.environ, PATH=path, PYTHONWARNINGS=""):
                    tune(folder, "init", script)
                    tune(folder, "run", "space.yaml", "--samples", "3", "--seed", "5")
                self.expect_curves(folder)

    def expect_curves(self, folder):
        query = "select config, iteration, value from reports join trials on trials.id = trial order by 1, 2"
        curves = {}
        for row in json.loads(tune(folder, "results", "--sql", query, "--format", "json")[0]):
            config = row["config"] if isinstance(row["config"], dict) else json.loads(row["config"])
            curves.setdefault(config["lr"], []).append((row["iteration"], row["value"]))
        self.assertEqual(len(curves), 3)
        for lr, curve in curves.items():
            expected = [(epoch + 1, 1 - lr / (epoch + 1)) for epoch in range(5)]
            self.assertEqual([iteration for iteration, _ in curve], [iteration for iteration, _ in expected])
            for (_, value), (_, wanted) in zip(curve, expected):
                self.assertAlmostEqual(value, wanted, delta=0.001)  # A bar shows three digits.


if __name__ == "__main__":
    unittest.main()
