"""What a sweep gives of its reports: `Sweep.reports`, without the program."""

import json
import math
import unittest

from tune._sweep import Sweep


def reports_of(*rows, metric="loss"):
    """Of rows of trial, iteration, value, metrics."""
    sweep = Sweep("mnist", "tune.db")
    names = ("trial", "iteration", "value", "metrics", "metric")
    sweep._ask = lambda sql: [dict(zip(names, (*row[:3], json.dumps(row[3]), metric))) for row in rows]
    return sweep.reports()


class AReport(unittest.TestCase):
    def test_has_metrics_of_its_own_columns_names_beside_these(self):
        given = {"loss": 0.5, "value": 7, "iteration": 40, "trial": 9}
        self.assertEqual(
            reports_of((3, 1, 0.5, given), (3, 2, 0.5, given), (4, 1, 0.5, given)),
            [{"trial": trial, "iteration": iteration, "value": 0.5, "loss": 0.5, "metric.value": 7,
              "metric.iteration": 40, "metric.trial": 9} for trial, iteration in ((3, 1), (3, 2), (4, 1))],
        )

    def test_has_the_sweeps_own_metric_of_the_name_value_once(self):
        reports = reports_of((0, 1, 0.5, {"value": 0.5}), (0, 2, None, {"value": "NaN"}), metric="value")
        self.assertEqual(reports, [{"trial": 0, "iteration": 1, "value": 0.5}, {"trial": 0, "iteration": 2, "value": None}])

    def test_has_floats_for_what_is_not_finite(self):
        report, = reports_of((0, 1, None, {"loss": "NaN", "up": "Infinity", "down": "-Infinity"}))
        self.assertTrue(math.isnan(report["loss"]))
        self.assertEqual((report["up"], report["down"]), (math.inf, -math.inf))


if __name__ == "__main__":
    unittest.main()
