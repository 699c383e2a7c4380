"""Whole programs that use the module, in a sweep and outside one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from importlib import metadata
from pathlib import Path

from stand_in_runner import StandInRunner, go_on

PYTHON_FOLDER = str(Path(__file__).resolve().parents[2] / "python")

TRAINING = """
import tune
cfg = tune.config(lr=0.5, epochs=3)
try:
    for epoch in range(tune.iteration(), cfg["epochs"]):
        tune.report(val_accuracy=cfg["lr"] + epoch)
finally:
    print("put away")
print("end")
"""


class ProgramCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def start(self, program, environ, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TUNE_")}
        clean.update(environ, PYTHONPATH=PYTHON_FOLDER, PYTHONDONTWRITEBYTECODE="1")
        return subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=clean,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def run_program(self, program, environ=None):
        """Status, standard output, standard error."""
        process = self.start(program, environ or {})
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error

    def file_with(self, text):
        path = self.folder / "config.json"
        path.write_text(text)
        return str(path)


class AProgramRunsUnchanged(ProgramCase):
    @unittest.skipUnless("TUNE_BIN_DIR" in os.environ, "the programs' folder is not known")
    def test_by_hand_with_the_folder_beside_the_program_on_the_path(self):
        (self.folder / "train.py").write_text(TRAINING)
        done = subprocess.run(
            f"export PYTHONPATH={os.environ['TUNE_BIN_DIR']}/python\n{sys.executable} train.py",
            shell=True,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"]},
            text=True,
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("report 1: val_accuracy=0.5"), done.stdout)

    def test_outside_a_sweep_with_its_defaults(self):
        status, out, error = self.run_program(TRAINING)
        self.assertEqual((status, error), (0, ""))
        self.assertEqual(
            out.splitlines(),
            [
                "report 1: val_accuracy=0.5",
                "report 2: val_accuracy=1.5",
                "report 3: val_accuracy=2.5",
                "put away",
                "end",
            ],
        )

    def test_in_a_sweep_with_the_trials_configuration(self):
        with StandInRunner() as runner:
            config = self.file_with('{"lr": 0.25}')
            ran = self.run_program(TRAINING, {**runner.environ, "TUNE_CONFIG": config})
            self.assertEqual(ran, (0, "put away\nend\n", ""))
            values = [report["metrics"]["val_accuracy"] for report in runner.reports]
            self.assertEqual(values, [0.25, 1.25, 2.25])

    def test_a_restored_one_does_only_what_is_left(self):
        with StandInRunner() as runner:
            status, _, _ = self.run_program(
                TRAINING, {**runner.environ, "TUNE_FROM_ITERATION": "2"}
            )
            self.assertEqual(status, 0)
            self.assertEqual([r["metrics"]["val_accuracy"] for r in runner.reports], [2.5])

    def test_a_stop_ends_it_with_status_0_and_puts_away_first(self):
        def answer(message, count):
            return {"answer": "stop" if count == 2 else "continue", "iteration": count}

        with StandInRunner(answer) as runner:
            self.assertEqual(self.run_program(TRAINING, runner.environ), (0, "put away\n", ""))
            self.assertEqual(len(runner.reports), 2)

    def test_a_runner_that_is_gone_ends_it_with_the_reason(self):
        status, _, error = self.run_program(TRAINING, {"TUNE_SOCKET": "@nobody-listens-here"})
        self.assertEqual(status, 1)
        self.assertIn("ConnectionError: the process that runs this trial is gone", error)

    def test_a_decreasing_iteration_is_an_error_outside_a_sweep_too(self):
        calls = ["report(a=1, step=5)", "report(a=1)", "report(a=1, step=6)"]
        program = "import tune\n" + "\n".join("tune." + call for call in calls)
        status, out, error = self.run_program(program)
        self.assertEqual((status, out), (1, "report 5: a=1\nreport 6: a=1\n"))
        self.assertIn("training_iteration: read 6, expected one above 6", error)


class Configurations(ProgramCase):
    def config(self, call, text):
        environ = {} if text is None else {"TUNE_CONFIG": self.file_with(text)}
        program = f"import tune, json; print(json.dumps({call}))"
        status, out, error = self.run_program(program, environ)
        self.assertEqual((status, error), (0, ""))
        return json.loads(out)

    def test_the_trials_values_stand_over_the_defaults(self):
        text = '{"lr": 0.1, "layers": [8, 8], "adam": {"beta": 0.9}}'
        call = 'tune.config({"lr": 1, "layers": [1, 2, 3], "adam": {"beta": 0, "eps": 1}}, c=3)'
        expected = {"lr": 0.1, "layers": [8, 8], "adam": {"beta": 0.9, "eps": 1}, "c": 3}
        self.assertEqual(self.config(call, text), expected)

    def test_without_defaults_it_is_the_trials_own(self):
        chosen = self.config("tune.config()", '{"a": {"b": [1, null]}}')
        self.assertEqual(chosen, {"a": {"b": [1, None]}})

    def test_outside_a_sweep_it_is_the_defaults(self):
        self.assertEqual(self.config("tune.config(lr=1)", None), {"lr": 1})
        self.assertEqual(self.config("tune.config()", None), {})

    def test_a_map_in_the_place_of_a_value_replaces_it(self):
        chosen = self.config("tune.config(a=1, b={})", '{"a": {"x": 1}, "b": 2}')
        self.assertEqual(chosen, {"a": {"x": 1}, "b": 2})

    def test_changing_it_changes_neither_the_defaults_nor_the_next_answer(self):
        program = (
            "import tune\n"
            "defaults = {'a': {'b': 1}}\n"
            "tune.config(defaults)['a']['b'] = 2\n"
            "tune.config(defaults)['a']['c'] = 2\n"
            "print(defaults, tune.config(defaults))"
        )
        self.assertEqual(self.run_program(program)[1], "{'a': {'b': 1}} {'a': {'b': 1}}\n")

    def test_a_file_that_is_torn_is_named(self):
        for text, words in (('{"a"', "cannot be read"), ("[1]", "holds a list, expected a map")):
            path = self.file_with(text)
            environ = {"TUNE_CONFIG": path}
            status, _, error = self.run_program("import tune; tune.config()", environ)
            self.assertEqual(status, 1)
            self.assertIn(f"TUNE_CONFIG: {path} {words}", error)


class WhoTheTrialIs(ProgramCase):
    PROGRAM = "import tune; print(tune.trial(), tune.restored(), tune.iteration(), tune.folder())"

    def test_in_a_sweep_the_environment_says_it(self):
        folder = str(self.folder / "new" / "trial")
        environ = {
            "TUNE_TRIAL": "12",
            "TUNE_RESTORED": "/ck/model.pt",
            "TUNE_FROM_ITERATION": "4",
            "TUNE_DIR": folder,
        }
        _, out, _ = self.run_program(self.PROGRAM, environ)
        self.assertEqual(out, f"12 /ck/model.pt 4 {folder}\n")
        self.assertTrue(os.path.isdir(folder))
        # The folder is there after a retry: no error.
        self.assertEqual(self.run_program(self.PROGRAM, environ)[0], 0)

    def test_outside_a_sweep_there_is_none_and_each_run_has_a_fresh_folder(self):
        parent = os.path.realpath(self.folder)
        for number in (1, 2):
            expected = f"None None 0 {parent}/tune-out/{number}\n"
            self.assertEqual(self.run_program(self.PROGRAM)[1], expected)

    def test_a_run_has_one_folder_however_often_it_asks(self):
        program = "import os, tune; a = tune.folder(); os.chdir('/'); print(a == tune.folder())"
        self.assertEqual(self.run_program(program)[1], "True\n")

    def test_where_no_folder_can_be_made_it_says_so(self):
        (self.folder / "tune-out").write_text("a file")
        status, _, error = self.run_program(self.PROGRAM)
        self.assertEqual(status, 1)
        self.assertIn("tune-out/1", error)

    def test_nothing_is_made_until_it_is_asked_for(self):
        self.run_program("import tune; tune.report(a=1)")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_trial_has_a_seed_of_its_own(self):
        program = "import tune; print(tune.seed(), tune.seed(5))"
        _, output, _ = self.run_program(program, {"TUNE_SEED": "1804289383"})
        self.assertEqual(output, "1804289383 1804289383\n")
        _, output, _ = self.run_program(program)
        self.assertEqual(output, "0 5\n")

    def test_a_number_that_is_none_is_named(self):
        _, _, error = self.run_program("import tune; tune.trial()", {"TUNE_TRIAL": "x"})
        self.assertIn("TUNE_TRIAL: read 'x', expected an integer", error)


class Forks(ProgramCase):
    def test_a_forked_process_has_a_connection_of_its_own(self):
        program = (
            "import os, tune\n"
            "tune.report(a=1)\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    tune.report(a=2)\n"
            "    os._exit(0)\n"
            "assert os.waitpid(pid, 0)[1] == 0\n"
            "tune.report(a=3)\n"
        )
        with StandInRunner() as runner:
            status, _, error = self.run_program(program, runner.environ)
            self.assertEqual((status, error), (0, ""))
            said = [[m["report"]["metrics"]["a"] for m in said] for said in runner.connections]
            self.assertEqual(said, [[1, 3], [2]])

    def test_a_process_forked_while_a_thread_reports_does_not_wait_for_it(self):
        program = (
            "import os, sys, threading, tune\n"
            "thread = threading.Thread(target=lambda: tune.report(a=1))\n"
            "thread.start()\n"
            "sys.stdin.readline()  # The report is out, its answer is not back.\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    tune.report(a=2)\n"
            "    os._exit(0)\n"
            "assert os.waitpid(pid, 0)[1] == 0\n"
            "thread.join()\n"
        )
        first_is_there, second_is_there = threading.Event(), threading.Event()

        def answer(message, count):
            if message["report"]["metrics"]["a"] == 1:
                first_is_there.set()
                second_is_there.wait()
            second_is_there.set()
            return go_on(message, count)

        with StandInRunner(answer) as runner:
            process = self.start(program, runner.environ, stdin=subprocess.PIPE)
            self.addCleanup(process.kill)
            self.assertTrue(first_is_there.wait(60))
            _, error = process.communicate("go\n", timeout=60)
            # Python 3.12 and later warn of any fork beside threads.
            self.assertEqual(process.returncode, 0, error)
            self.assertEqual(len(runner.connections), 2)


class Installing(ProgramCase):
    def test_pip_installs_it_without_a_network(self):
        try:
            versions = [metadata.version(name) for name in ("pip", "wheel", "setuptools")]
        except metadata.PackageNotFoundError as error:
            self.skipTest(f"no {error.name}")
        if int(versions[-1].split(".")[0]) < 61:
            self.skipTest("setuptools is older than 61")
        # A copy: building leaves folders beside the sources.
        source = self.folder / "source"
        shutil.copytree(PYTHON_FOLDER, source)
        target = self.folder / "site"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        command += ["--no-build-isolation", "--target", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        there = sorted(os.listdir(target / "tune"))
        for file in ("__init__.py", "keras.py", "lightning.py", "py.typed", "transformers.py"):
            self.assertIn(file, there)


if __name__ == "__main__":
    unittest.main()
