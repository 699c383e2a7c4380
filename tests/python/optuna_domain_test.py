"""Which domain an Optuna distribution becomes, without Optuna: `tune.from_optuna`."""

import unittest

from tune import _optuna


class Distribution:
    def __init__(self, low, high, step=None, log=False):
        self.low, self.high, self.step, self.log = low, high, step, log


class FloatDistribution(Distribution):
    pass


class IntDistribution(Distribution):
    pass


class ADistributionWithAStep(unittest.TestCase):
    def test_is_a_domain_of_multiples_where_its_low_is_one(self):
        for made, domain in (
            (IntDistribution(8, 32, 8), {"qrandint": [8, 32, 8]}),
            (IntDistribution(3, 9, 1), {"randint": [3, 10]}),
            (FloatDistribution(0, 0.5, 0.25), {"quniform": [0, 0.5, 0.25]}),
            (FloatDistribution(0.3, 0.9, 0.1), {"quniform": [0.3, 0.9, 0.1]}),
        ):
            self.assertEqual(_optuna._domain("x", made), domain)

    def test_is_a_list_of_its_points_where_its_low_is_no_multiple(self):
        self.assertEqual(_optuna._domain("kernel", IntDistribution(3, 9, 2)), {"ordinal": [3, 5, 7, 9]})
        self.assertEqual(_optuna._domain("drop", FloatDistribution(0.1, 0.5, 0.2)), {"ordinal": [0.1, 0.2 + 0.1, 0.5]})

    def test_of_more_points_than_a_space_lists_is_refused(self):
        with self.assertRaisesRegex(ValueError, "from_optuna: width has 50000 points, .* at most 10000"):
            _optuna._domain("width", IntDistribution(1, 99999, 2))


if __name__ == "__main__":
    unittest.main()
