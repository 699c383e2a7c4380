"""The state of random numbers that checkpoints hold, in a process without PyTorch."""

import random
import sys
import unittest
from unittest import mock

from tune import _random_state


class Packed(unittest.TestCase):
    def test_numbers_go_on_as_they_would_have(self):
        with mock.patch.dict(sys.modules):
            for name in ("torch", "numpy"):
                sys.modules.pop(name, None)
            random.gauss(0, 1)  # Which keeps a second number.
            packed = _random_state.pack()
            expected = [random.gauss(0, 1) for _ in range(3)]
            random.seed(1)
            _random_state.unpack(packed)
            self.assertEqual([random.gauss(0, 1) for _ in range(3)], expected)
            self.assertNotIn("torch", sys.modules)


if __name__ == "__main__":
    unittest.main()
