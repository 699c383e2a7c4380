"""A head from Python (`tune.connect`), by the real program."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import tune

TUNE = os.path.join(os.environ.get("TUNE_BIN_DIR", ""), "tune")


PYTHON_FOLDER = str(Path(__file__).resolve().parents[2] / "python")

# Without site-packages, and so without cloudpickle. The file is changed once it was sent.
SCRIPT = """\
import os, sys
sys.modules["cloudpickle"] = sys.modules["joblib"] = None
import tune

def twice(trial):
    return trial["x"] * 2

if __name__ == "__main__":
    head = tune.connect(os.environ["ADDRESS"])
    blocker = head.submit(["sleep", "1000"], cpus=2)
    while blocker.state != "RUNNING":
        pass
    sweep = head.run(twice, {"x": tune.grid_search([1, 2, 5])}, metric="value", mode="max", samples=1, wait=False)
    with open(sys.argv[0], "a") as file:
        file.write("raise RuntimeError('the wrong file')")
    blocker.stop()
    sweep.wait()
    print([trial.value for trial in sweep.trials])
"""


def square(trial):
    for step in range(3):
        trial.report(value=(trial["x"] - 1) ** 2 + step)


def that_fails(trial):
    raise ValueError("no such thing")


class OnAHead(unittest.TestCase):
    def setUp(self):
        environ = mock.patch.dict(os.environ, {"TUNE_PROGRAM": TUNE})
        environ.start()
        self.addCleanup(environ.stop)
        self.there = self.folder()
        self.here = self.folder()
        environment = {name: text for name, text in os.environ.items() if not name.startswith("TUNE_")}
        self.process = subprocess.Popen(
            [TUNE, "head", "--cpus", "2", "--http", "127.0.0.1:0"], cwd=self.there, text=True, stderr=subprocess.PIPE, env=environment)
        self.addCleanup(self.end)
        line = next(line for line in self.process.stderr if "the page of" in line)
        self.head_address = line.split(": ", 1)[1].strip()
        self.head = tune.connect(self.head_address)

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def run_quietly(self, *arguments, **named):
        with contextlib.redirect_stderr(io.StringIO()):
            return self.head.run(*arguments, **named, folder=self.here)

    def test_a_function_is_tuned_there(self):
        sweep = self.run_quietly(square, {"x": tune.grid_search([0, 1, 3])}, metric="value", mode="min", samples=1)
        self.assertEqual((sweep.name, sweep.status, sweep.best.config, sweep.best.value), ("square", "FINISHED", {"x": 1}, 0.0))
        self.assertEqual([trial.value for trial in sweep.trials], [1.0, 0.0, 4.0])
        self.assertEqual([one["value"] for one in sweep.reports(2)], [4.0, 5.0, 6.0])
        self.assertEqual([one.name for one in self.head.sweeps], ["square"])
        self.assertEqual(self.head.sweep("square").best.number, 1)
        self.assertEqual(tune.connect(os.path.join(self.there, "tune.db")).sweep("square").best.number, 1)
        exported = sweep.export(os.path.join(self.here, "model"))
        self.assertEqual(json.loads((exported / "config.json").read_text()), {"x": 1})
        with self.assertRaisesRegex(tune.TuneError, "is there already"):
            sweep.export(exported)
        sweep.delete()
        self.assertEqual(self.head.sweeps, [])

    def test_a_function_of_a_script_goes_over_without_cloudpickle(self):
        """The head's machine may have another file at the same path."""
        program = Path(self.here, "study.py")
        program.write_text(SCRIPT)
        environment = {**os.environ, "PYTHONPATH": PYTHON_FOLDER, "ADDRESS": self.head_address}
        done = subprocess.run([sys.executable, "-S", program.name], cwd=self.here, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "[2, 4, 10]\n"), done.stderr)
        outside = Path(self.folder(), "study.py")
        outside.write_text(SCRIPT)
        done = subprocess.run([sys.executable, "-S", str(outside)], cwd=self.here, env=environment, capture_output=True, text=True, timeout=120)
        self.assertIn("is not in the folder that is sent", done.stderr)

    def test_a_function_that_fails_comes_with_its_traceback(self):
        with self.assertRaisesRegex(tune.SweepError, "ValueError: no such thing"):
            self.run_quietly(that_fails, {"x": 1}, metric="value", mode="min", samples=1)

    def test_a_space_that_is_wrong_is_told_by_its_path(self):
        with self.assertRaisesRegex(tune.TuneError, r"^space\.x: .*"):
            self.run_quietly(square, {"x": {"unifrom": [0, 1]}}, metric="value", mode="min")
        self.assertEqual(self.head.sweeps, [])

    def test_a_job_runs_and_is_followed(self):
        Path(self.here, "words.txt").write_text("from the folder\n")
        job = self.head.submit(["sh", "-c", "cat words.txt; echo $WORD; exit 3"], env={"WORD": "a b"}, folder=self.here, name="first")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            job.follow()
        self.assertEqual(out.getvalue(), "from the folder\na b\n")
        self.assertEqual((job.state, job.exit_status, job.log), ("FAILED", 3, out.getvalue()))
        self.assertIn("exited with status 3", job.reason)
        self.assertEqual([one.name for one in self.head.jobs], ["first"])
        self.assertEqual(self.head.submit(["true"], folder=self.here).wait().state, "SUCCEEDED")

    def test_what_a_job_wrote_comes_here(self):
        job = self.head.submit(["sh", "-c", "mkdir $TUNE_DIR/plots; echo done > $TUNE_DIR/plots/a.txt"], folder=self.here).wait()
        came = job.files(Path(self.here, "came"))
        self.assertEqual(Path(came, "plots", "a.txt").read_text(), "done\n")
        with self.assertRaisesRegex(tune.TuneError, "is there already; name another one"):
            job.files(came)

    def test_a_job_of_several_programs_has_a_log_of_each(self):
        job = self.head.submit(["sh", "-c", "echo $RANK of $WORLD_SIZE"], workers=2, folder=self.here).wait()
        self.assertEqual((job.state, job.log), ("SUCCEEDED", "0 of 2\n"))
        self.assertEqual(job.log_of_rank(1), "1 of 2\n")
        with self.assertRaisesRegex(tune.TuneError, "expected 0 to 1"):
            job.log_of_rank(2)

    def test_a_job_is_stopped(self):
        job = self.head.submit(["sleep", "1000"], folder=self.here)
        while job.state != "RUNNING":
            pass
        self.assertEqual(self.head.queue[0]["sweep"], "sleep")
        job.stop()
        self.assertEqual(job.wait().state, "STOPPED")

    def test_what_a_person_writes_is_there(self):
        job = self.head.submit(["true"], tags={"team": "vision"}, note="a job")
        sweep = self.head.sweep(job.wait().name)
        self.assertEqual((sweep.note, sweep.tags), ("a job", {"team": "vision"}))
        late = self.head.submit(["true"], name="late", after=[job.name])
        self.assertEqual(late.wait().state, "SUCCEEDED")
        ordered = self.run_quietly(square, {"x": tune.grid_search([1])}, metric="value", mode="max", samples=1, after=["late"])
        self.assertEqual(ordered.status, "FINISHED")
        sweep.annotate("- done", tags=["late"])
        self.assertEqual((sweep.note, sweep.tags), ("- done", {"late": "", "team": "vision"}))

    def test_the_same_id_is_the_same_job(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            names = [self.head.submit([program], id="k", folder=self.here).name for program in ("true", "false")]
        self.assertEqual(names, ["true", "true"])
        self.assertIn("true: it was submitted before", told.getvalue())

    def test_what_is_wrong_is_told(self):
        with self.assertRaisesRegex(tune.TuneError, "there is no file"):
            self.head.submit(["./nothing.sh"], folder=self.here)
        with self.assertRaisesRegex(TypeError, "expected a list"):
            self.head.submit("true")
        with self.assertRaisesRegex(TypeError, "expected a list of texts"):
            self.head.submit([b"echo", b"a"])
        with self.assertRaisesRegex(TypeError, "cpus: is the head's own"):
            self.run_quietly(square, {"x": 1}, metric="value", mode="min", cpus=2)
        for name in ("", "--help", None):
            with self.assertRaisesRegex(TypeError, "name: read"):
                self.head.sweep(name)
        with self.assertRaisesRegex(tune.TuneError, "is no folder"):
            self.head.run(square, {"x": 1}, metric="value", mode="min", folder=os.path.join(self.here, "nothing"))
        with self.assertRaisesRegex(KeyError, "has no job nothing"):
            self.head.job("nothing").state
        with self.assertRaisesRegex(tune.TuneError, "not one of this head's"):
            tune.connect(f"{self.head.address}?key={'0' * 32}")
        with self.assertRaisesRegex(tune.TuneError, "expected the address of a head"):
            tune.connect("nowhere")
        with self.assertRaisesRegex(tune.TuneError, "TUNE_HEAD"):
            tune.connect()

    def test_the_key_stands_in_no_argument(self):
        job = self.head.submit(["sleep", "1000"], folder=self.here)
        key = self.head._file and Path(self.head._file.name).read_text().split("key=")[1].strip()
        waiting = subprocess.Popen([TUNE, *self.head._place, "wait", job.name], stdout=subprocess.DEVNULL)
        try:
            self.assertNotIn(key.encode(), Path(f"/proc/{waiting.pid}/cmdline").read_bytes())
            self.assertEqual(os.stat(self.head._file.name).st_mode & 0o077, 0)
        finally:
            waiting.kill()
            waiting.wait()
        job.stop()


if __name__ == "__main__":
    unittest.main()
