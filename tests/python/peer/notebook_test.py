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


# The folder has a file that the function reads; the best trial's checkpoint comes back.
ON_A_CLUSTER = """
import os, tune
from pathlib import Path
head = tune.connect(os.environ["ADDRESS"])

def objective(trial):
    offset = float(Path("data/offset.txt").read_text())
    model = trial.folder / "model.txt"  # In the working folder it would be every trial's.
    for step in range(3):
        model.write_text(f"{trial['x'] + offset} {step}")
        trial.report(value=trial["x"] + offset + step, checkpoint=str(model))
"""
RUN_THERE = """
sweep = head.run(objective, {"x": tune.grid_search([1, 4, 2])}, metric="value", mode="max", samples=1, tags={"team": "vision"})
print([trial.value for trial in sweep.trials], sweep.tags)
"""
FETCH = """
exported = sweep.export("model")
print(sorted(str(file.relative_to(exported)) for file in exported.rglob("*") if file.is_file()))
print((exported / "config.json").read_text().strip())
print([file.read_text() for file in exported.rglob("model.txt")])
"""
SUBMIT = """
job = head.submit(["sh", "-c", "cat data/offset.txt; pwd"], name="look")
job.follow()
print(job.state, job.exit_status)
"""


def execute(folder, cells, **variables):
    """What each cell showed, run by a kernel of its own: a list of maps from MIME types, standard output as text/plain."""
    notebook = {
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
            for i, text in enumerate(cells)
        ],
    }
    Path(folder, "a.ipynb").write_text(json.dumps(notebook))
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "a.ipynb", "--output", "b.ipynb"],
        cwd=folder, env={**os.environ, "TUNE_PROGRAM": BIN + "/tune", "HOME": folder, **variables}, capture_output=True, text=True, timeout=120,
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    executed = json.loads(Path(folder, "b.ipynb").read_text())
    return [[output.get("data") or {"text/plain": output["text"]} for output in cell["outputs"]] for cell in executed["cells"]]


@unittest.skipUnless(BIN and HAS_JUPYTER, "Jupyter is not there")
class ANotebookOnACluster(unittest.TestCase):
    """The head has no worker of its own; the one that joins has another folder and a cache of its own."""

    def setUp(self):
        self.here, self.there, self.worker = (self.folder() for _ in range(3))
        head = self.start(self.there, "head", "--cpus", "0", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        told = {}
        for line in head.stderr:
            for words in ("the page of", "workers join with"):
                if words in line:
                    told[words] = line.rsplit(": ", 1)[1].strip() if words == "the page of" else line.split(words + ": ", 1)[1].strip()
            if len(told) == 2:
                break
        self.address = told["the page of"]
        self.start(self.worker, *told["workers join with"].split()[1:], "--cpus", "2", "--cache", self.worker + "/cache")

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def start(self, folder, *arguments):
        process = subprocess.Popen([BIN + "/tune", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def end():
            process.terminate()
            process.communicate(timeout=60)

        self.addCleanup(end)
        return process

    def test_submits_a_function_and_its_folder_watches_it_and_fetches_the_best_checkpoint(self):
        Path(self.here, "data").mkdir()
        Path(self.here, "data", "offset.txt").write_text("10")
        _, run, fetch, submit = execute(self.here, [ON_A_CLUSTER, RUN_THERE, FETCH, SUBMIT], ADDRESS=self.address)
        self.assertIn("<b>objective</b> FINISHED, 3 of 3 trials ended", "".join(run[0]["text/html"]))
        self.assertEqual("".join(run[-1]["text/plain"]), "[13, 16, 14] {'team': 'vision'}\n")
        fetched = "".join(fetch[-1]["text/plain"])
        self.assertIn('{"x":4}', fetched)
        self.assertIn("['14.0 2']", fetched)
        told = "".join(text for output in submit for text in output["text/plain"])
        self.assertTrue(told.startswith("10" + self.worker), told)  # In the worker's cache.
        self.assertTrue(told.endswith("SUCCEEDED 0\n"), told)


@unittest.skipUnless(BIN and HAS_JUPYTER, "Jupyter is not there")
class ANotebook(unittest.TestCase):
    def execute(self, *cells, without=()):
        with tempfile.TemporaryDirectory() as folder:
            hidden = "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in without)
            return execute(folder, [hidden, *cells])[1:]

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
