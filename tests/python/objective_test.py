"""A Python function on its way into a trial: `tune._objective`."""

import json
import tempfile
import unittest
from pathlib import Path

import tune
from tune import _objective

BEGINS = """
import tune
def objective(trial):
    return trial["x"]
{}
"""
HOW = 'objective, {"x": 1}, metric="value", mode="min"'


class AScript(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, text):
        (self.folder / "study.py").write_text(text)
        head = {"how": "script", "script": "study.py", "name": "objective", "sys_path": []}
        (self.folder / ".tune").mkdir(exist_ok=True)
        kept = self.folder / ".tune/1.objective"
        kept.write_text(json.dumps(head) + "\n")
        return kept

    def test_that_begins_a_sweep_in_a_trial_is_told_of_its_guard(self):
        for call, begins in (
            ("tune.run", f"def main(): tune.run({HOW})\nmain()"),
            ("tune.run", f"from tune import run\nrun({HOW})"),
            ("tune.resume", "tune.resume('mine')"),
            ("head.run", f"tune.Head('lab.db').run({HOW})"),
        ):
            with self.assertRaises(tune.ObjectiveError) as caught:
                _objective.load(self.write(BEGINS.format(begins)))
            told = f'objective: {call} runs in each trial, too, which imports this file: write it under  if __name__ == "__main__":'
            self.assertIn(told, str(caught.exception))
        self.assertEqual(_objective.load(self.write(BEGINS.format("")))({"x": 3}), 3)

    def test_that_begins_a_sweep_at_its_top_is_refused_before_it_begins(self):
        for begins in (f"tune.run({HOW})", f"sweep: tune.Sweep = tune.run({HOW})", f"try:\n    tune.run({HOW})\nexcept OSError:\n    pass"):
            self.write(BEGINS.format(begins))
            with self.assertRaisesRegex(tune.ObjectiveError, "^study.py:[56]: tune.run would run in each trial, too"):
                _objective._check_guard(self.folder / "study.py")


if __name__ == "__main__":
    unittest.main()
