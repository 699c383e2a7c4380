"""A Python function on its way into a trial: `tune._objective`."""

import json
import linecache
import os
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
from pathlib import Path
from unittest import mock

import tune
from tune import _objective

PYTHON_FOLDER = str(Path(__file__).resolve().parents[2] / "python")

BEGINS = """
import tune
def objective(trial):
    return trial["x"]
{}
"""
HOW = 'objective, {"x": 1}, metric="value", mode="min"'


# Each of its processes ends with a number that it reads of an object of the script's.
STARTS = """
import multiprocessing, sys
{}
import tune
from tune import _objective
from pathlib import Path

class Data:
    status = 3

def worker(data):
    sys.exit(data.status)

def objective(trial):
    processes = [multiprocessing.get_context(how).Process(target=worker, args=(Data(),))
                 for how in ("spawn", "forkserver", "fork")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return sum(process.exitcode for process in processes)

if __name__ == "__main__":
    print(_objective.store(objective, Path.cwd()))
"""


class AnObjectivesOwnProcess(unittest.TestCase):
    def test_has_what_the_script_defines_however_it_is_started(self):
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TUNE_")}
        environ.update(PYTHONPATH=PYTHON_FOLDER, PYTHONDONTWRITEBYTECODE="1")
        for hidden in ("", "sys.modules['cloudpickle'] = sys.modules['joblib'] = None"):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "study.py").write_text(STARTS.format(hidden))

                def run(*words):
                    done = subprocess.run([sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    return done.stdout

                kept = run("study.py").strip()
                self.assertEqual(run("-m", "tune._trial", kept, "value"), "report 1: value=9\n")


class ASavingFunction(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        for name, stand_in in (("folder", lambda: self.folder), ("report", self.report)):
            patch = mock.patch.object(tune, name, stand_in)
            patch.start()
            self.addCleanup(patch.stop)
        self.reported = []

    def report(self, metrics, checkpoint, step):
        self.reported.append((checkpoint.name, checkpoint.read_text()))
        return len(self.reported)

    def test_may_add_a_suffix_to_its_path(self):
        (self.folder / "checkpoint.json").write_text("mine")
        trial = tune.Trial({})
        for text in ("1", "2", "3"):
            trial.report(loss=1, checkpoint=lambda path, text=text: path.with_suffix(".zip").write_text(text))
        self.assertEqual(self.reported, [("checkpoint.zip", "1"), ("checkpoint.zip", "2"), ("checkpoint.zip", "3")])
        trial = tune.Trial({})  # After a retry.
        trial.report(loss=1, checkpoint=lambda path: path.with_suffix(".zip").write_text("four"))
        trial.report(loss=1, checkpoint=lambda path: path.write_text("plain"))
        self.assertEqual(self.reported[3:], [("checkpoint.zip", "four"), ("checkpoint", "plain")])

    def test_may_stand_beside_a_file_that_goes_while_it_is_looked_at(self):
        (self.folder / "checkpoint.tmp").symlink_to(self.folder / "gone")
        trial = tune.Trial({})
        trial.report(loss=1, checkpoint=lambda path: path.write_text("plain"))
        (self.folder / "checkpoint").unlink()
        trial.report(loss=1, checkpoint=lambda path: path.with_suffix(".zip").write_text("1"))
        self.assertEqual(self.reported, [("checkpoint", "plain"), ("checkpoint.zip", "1")])

    def test_that_writes_elsewhere_is_told_where_it_should(self):
        def two(path):
            path.with_suffix(".a").write_text("")
            path.with_suffix(".b").write_text("")

        wrong = f"checkpoint: the function wrote no {self.folder}/checkpoint"
        for save, told in ((two, wrong + "; it wrote checkpoint.a, checkpoint.b"), (lambda path: None, wrong)):
            with self.assertRaises(ValueError) as caught:
                tune.Trial({}).report(loss=1, checkpoint=save)
            self.assertEqual(str(caught.exception), told)


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


@unittest.skipUnless(_objective._cloudpickle(), "there is no cloudpickle")
class AFunctionByValue(unittest.TestCase):
    def stored(self, objective):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        return _objective.store(objective, Path(scratch.name))

    def test_is_refused_by_a_python_of_another_version(self):
        kept = self.stored(lambda trial: trial["x"])
        self.assertEqual(_objective.load(kept)({"x": 3}), 3)
        with mock.patch.object(_objective, "_version", lambda: "2.7"):
            with self.assertRaises(tune.ObjectiveError) as caught:
                _objective.load(kept)
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        told = str(caught.exception)
        self.assertTrue(told.startswith(f"objective: it came from Python {here} and holds code of that version alone, and "), told)
        self.assertIn(f' is Python 2.7: name one of that version here (head.run(..., python="python{here}"))', told)

    def test_that_is_importable_is_taken_by_any_version(self):
        kept = self.stored(textwrap.dedent)
        with mock.patch.object(_objective, "_version", lambda: "2.7"):
            self.assertIs(_objective.load(kept), textwrap.dedent)


class ANotebooksFunctionWithoutCloudpickle(unittest.TestCase):
    def in_trial(self, cell):
        """What a trial has of `objective`, which a cell of this text defines."""
        main = types.ModuleType("__main__")
        lines = (len(cell), None, cell.splitlines(True), "<cell>")
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(linecache.cache, {"<cell>": lines}), \
                mock.patch.object(_objective, "_cloudpickle", lambda: None):
            with mock.patch.dict(sys.modules, {"__main__": main}):
                exec(compile(cell, "<cell>", "exec"), vars(main))
                kept = _objective.store(main.objective, Path(folder))
            return _objective.load(kept)

    def test_comes_with_what_its_definition_uses(self):
        for cell in (
            "TIMES = 2\ndef objective(trial, times=TIMES):\n    return trial['x'] * times\n",
            "def noted(f):\n    f.note = 2\n    return f\n@noted\ndef objective(trial):\n    return trial['x'] * objective.note\n",
            "def twice(x):\n    return 2 * x\nh = twice\ndef objective(trial):\n    return h(trial['x'])\n",
            "def twice(x):\n    return 2 * x\nh = twice\ndel twice\ndef objective(trial):\n    return h(trial['x'])\n",
            "lock = __import__('threading').Lock()\ndef objective(trial):\n    import types\n"
            "    return types.SimpleNamespace(lock=2).lock * trial['x']\n",
        ):
            self.assertEqual(self.in_trial(cell)({"x": 3}), 6, cell)

    def test_that_uses_what_has_no_source_is_told_before_anything_starts(self):
        with self.assertRaisesRegex(tune.ObjectiveError, "it uses draw, a builtin_function_or_method, which another process does not have"):
            self.in_trial("import random\ndraw = random.random\ndef objective(trial):\n    return draw()\n")


if __name__ == "__main__":
    unittest.main()
