"""A sweep in a notebook, by the kernel that Jupyter starts."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = os.environ.get("TUNE_BIN_DIR", "")
HAS_JUPYTER = all(importlib.util.find_spec(name) for name in ("nbconvert", "ipykernel", "nbformat"))

OBJECTIVE = """
import math, tune
SCALE = 3
def helper(x):
    return math.sqrt(x) * SCALE
def objective(trial):
    for step in range(3):
        trial.report(value=helper(trial["x"]) + step)
"""
RUN = """
sweep = tune.run(objective, {"x": tune.uniform(0, 1)}, metric="value", mode="max", samples=4, seed=1)
print(sweep.best.value == max(math.sqrt(trial.config["x"]) * 3 + 2 for trial in sweep))
"""
MISTAKE = """
lock = __import__("threading").Lock()
def bad(trial):
    with lock:
        return 1
try:
    tune.run(bad, {"x": tune.uniform(0, 1)}, metric="value", mode="max")
except tune.ObjectiveError as error:
    print(error)
"""


@unittest.skipUnless(BIN and HAS_JUPYTER, "Jupyter is not there")
class ANotebook(unittest.TestCase):
    def execute(self, *cells, without=()):
        """What each cell showed: a list of maps from MIME types, standard output as text/plain."""
        with tempfile.TemporaryDirectory() as folder:
            hidden = "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in without)
            notebook = {
                "nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
                "cells": [
                    {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [],
                     "execution_count": None, "source": text}
                    for i, text in enumerate([hidden, *cells])
                ],
            }
            (Path(folder) / "a.ipynb").write_text(json.dumps(notebook))
            environ = {**os.environ, "TUNE_PROGRAM": BIN + "/tune", "HOME": folder}
            done = subprocess.run(
                [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "a.ipynb", "--output", "b.ipynb"],
                cwd=folder, env=environ, capture_output=True, text=True, timeout=120,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            executed = json.loads((Path(folder) / "b.ipynb").read_text())
        return [
            [output.get("data") or {"text/plain": output["text"]} for output in cell["outputs"]]
            for cell in executed["cells"][1:]
        ]

    def test_runs_its_functions_and_shows_a_table_and_curves(self):
        _, run, sweep, plot = self.execute(OBJECTIVE, RUN, "sweep", "sweep.plot()")
        table, right = run
        self.assertIn("<b>objective</b> FINISHED, 4 of 4 trials ended", "".join(table["text/html"]))
        self.assertIn("objective FINISHED: 4 trials", "".join(table["text/html"]))
        self.assertEqual("".join(right["text/plain"]), "True\n")
        self.assertIn("<table>", "".join(sweep[0]["text/html"]))
        self.assertEqual("".join(plot[0]["image/svg+xml"]).count("<polyline"), 4)

    def test_does_so_without_cloudpickle(self):
        _, run = self.execute(OBJECTIVE, RUN, without=["cloudpickle", "joblib"])
        self.assertEqual("".join(run[-1]["text/plain"]), "True\n")

    def test_tells_what_no_other_process_can_have(self):
        told = "".join(self.execute(OBJECTIVE, MISTAKE, without=["cloudpickle", "joblib"])[1][0]["text/plain"])
        self.assertIn("it uses lock, a lock, which another process does not have", told)
        told = "".join(self.execute(OBJECTIVE, MISTAKE)[1][0]["text/plain"])
        self.assertIn("objective: it cannot be pickled", told)


if __name__ == "__main__":
    unittest.main()
