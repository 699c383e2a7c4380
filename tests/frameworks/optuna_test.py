"""tune export --to optuna, opened by the newest and by the oldest Optuna."""

import os
import subprocess
import sys
import tempfile
import unittest

from sweep import export, run_small_sweep

_GO_ON = """
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = {printed}
states = sorted(trial.state.name for trial in study.trials)
assert len(states) == 8 and "PRUNED" in states and "COMPLETE" in states, states
best = study.best_trial
assert set(best.params) == {{"x", "rate", "width", "kind"}}, best.params
assert best.intermediate_values[max(best.intermediate_values)] is not None
assert best.user_attrs["config"]["depth"] == 3
study.optimize(
    lambda trial: trial.suggest_float("x", *ends(trial, "x"))
    + trial.suggest_int("width", 8, 32, step=8),
    n_trials=3,
)
assert study.trials[-1].state.name == "COMPLETE"
print(optuna.__version__)
"""
_ENDS = """
def ends(trial, name):
    distribution = study.trials[0].distributions[name]
    return distribution.low, distribution.high
"""


class Optuna(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        run_small_sweep(cls.folder)

    def opened_by(self, python, printed):
        done = subprocess.run(
            [python, "-W", "ignore", "-c", _ENDS + _GO_ON.format(printed=printed)],
            text=True, capture_output=True, timeout=300, env={**os.environ, "PYTHONPATH": ""},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_printed_line_opens_the_study_in_the_newest_and_in_the_oldest(self):
        newest = self.opened_by(sys.executable, export(self.folder, "optuna", "newest"))
        oldest = self.opened_by(
            os.environ["OLDEST_OPTUNA_PYTHON"], export(self.folder, "optuna", "oldest")
        )
        self.assertEqual((newest, oldest), ("5.0.0", "3.0.6"))

    def test_a_study_that_the_oldest_went_on_with_can_be_upgraded(self):
        printed = export(self.folder, "optuna", "both")
        self.opened_by(os.environ["OLDEST_OPTUNA_PYTHON"], printed)
        storage = f"sqlite:///{self.folder}/both/optuna.db"
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c",
             "import sys; from optuna.cli import main; sys.exit(main())",
             "storage", "upgrade", "--storage", storage],
            check=True, capture_output=True, timeout=300,
        )
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c",
             f"import optuna; assert len(({printed}).trials) == 11"],
            check=True, timeout=300,
        )


if __name__ == "__main__":
    unittest.main()
