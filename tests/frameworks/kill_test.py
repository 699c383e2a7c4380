"""Sweeps of the real frameworks by `tune run`, whose trial is killed with -9 twice and whose tuner once: the curves
equal those of a sweep left alone, bit for bit. TUNE_FRAMEWORKS_SEED draws other moments."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_SEED = os.environ.get("TUNE_FRAMEWORKS_SEED", "1")
_EPOCHS = 40
_LIFE_SECONDS_MAX = 250
_SPACE = """\
trainable: {{command: [python3, {script}]}}
metric: {metric}
mode: min
seed: 11
samples: 2
space: {{lr: {{loguniform: [0.01, 0.1]}}}}
limits: {{max_concurrent: 1}}
failure: {{max_failures: 10}}
"""


class Sweep:
    """One in a folder of its own, and its rows."""

    def __init__(self, folder, script, metric):
        self.folder = folder
        os.makedirs(folder)
        shutil.copy(os.path.join(_HERE, "programs", script), folder)
        with open(os.path.join(folder, "space.yaml"), "w") as file:
            file.write(_SPACE.format(script=script, metric=metric))
        self.environment = dict(os.environ)
        self.environment["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
        self.environment["PYTHONPATH"] = _HERE + ":" + os.path.join(_HERE, "..", "python")

    def start(self, *arguments):
        program = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
        with open(os.path.join(self.folder, "said"), "a") as said:
            return subprocess.Popen([program, *arguments], cwd=self.folder, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def rows(self, query):
        """Empty where the database is not there yet."""
        path = os.path.join(self.folder, "tune.db")
        if not os.path.exists(path):
            return []
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()

    def await_iteration(self, life, trial, iteration):
        """Waits until the trial has a checkpoint at or after an iteration."""
        self.await_rows(life, f"trial {trial} did not come to iteration {iteration}",
                        "select 1 from checkpoints join trials on trials.id = trial"
                        f" where number = {trial} and iteration >= {iteration}")

    def await_killed(self, life, trial, count):
        """Waits until the tuner knows of so many attempts that were killed: the next kill may be its own."""
        self.await_rows(life, f"trial {trial} was not told to be killed",
                        "select 1 from attempts join trials on trials.id = trial where outcome = 'killed'"
                        f" and trials.number = {trial} group by 1 having count(*) >= {count}")

    def await_attempt(self, life, trial, count):
        """Waits until the trial's attempt of that number, counted from 1, has begun: the next kill is to end it."""
        self.await_rows(life, f"trial {trial} did not begin its attempt {count}",
                        "select 1 from attempts join trials on trials.id = trial"
                        f" where trials.number = {trial} group by 1 having count(*) >= {count}")

    def await_rows(self, life, failure, query):
        end = time.monotonic() + _LIFE_SECONDS_MAX
        while not self.rows(query):
            if life.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{failure}\n{self.said()}")
            time.sleep(0.005)  # As often as that the database is looked at.

    def kill_trial(self, trial):
        """Kills the program of the trial's present attempt; false: none runs right now."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environ = file.read().split(b"\0")
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    program = file.read().split(b"\0")[0]
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = file.read().rpartition(b")")[2].split()[1].decode()
                with open(f"/proc/{parent}/comm", "rb") as file:
                    is_its_program = file.read().startswith(b"tune_trial")  # And none that this one has started.
            except OSError:
                continue
            is_ours = any(e.startswith(b"TUNE_DIR=" + os.fsencode(self.folder)) for e in environ)
            if is_ours and is_its_program and f"TUNE_TRIAL={trial}".encode() in environ and program.endswith(b"python3"):
                os.kill(int(name), signal.SIGKILL)
                return True
        return False

    def said(self):
        with open(os.path.join(self.folder, "said")) as file:
            return file.read()

    def curves(self):
        """(trial, iteration): the metrics that any attempt reported there."""
        curves = {}
        for trial, iteration, metrics in self.rows(
                "select number, iteration, metrics from reports join trials on trials.id = trial"):
            values = json.loads(metrics)
            curves.setdefault((trial, iteration), []).append(
                {name: value for name, value in values.items() if "runtime" not in name and "per_second" not in name})
        return curves


class Killed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def end(self, sweep, life):
        self.addCleanup(life.kill)
        try:
            status = life.wait(_LIFE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            status = None
        self.assertEqual(status, 0, sweep.said())

    def expect_same_curves(self, script, metric):
        alone = Sweep(os.path.join(self.folder, "alone"), script, metric)
        self.end(alone, alone.start("run", "space.yaml"))
        expected = {at: reports[0] for at, reports in alone.curves().items()}
        self.assertEqual(sorted(expected), [(t, i + 1) for t in range(2) for i in range(_EPOCHS)], alone.said())
        self.assertGreater(len({json.dumps(metrics) for metrics in expected.values()}), 1.5 * _EPOCHS)

        moments = random.Random(f"{_SEED} {script}")
        kills = sorted(("trial", "trial", "tuner"), key=lambda _: moments.random())
        trial = moments.randrange(2)
        killed = Sweep(os.path.join(self.folder, "killed"), script, metric)
        life = killed.start("run", "space.yaml")
        self.addCleanup(lambda: life.kill())
        for number, victim in enumerate(kills):
            killed.await_attempt(life, trial, number + 1)
            killed.await_iteration(life, trial, 1 + 10 * number + moments.randrange(8))
            time.sleep(moments.uniform(0, 0.1))  # To be anywhere in an epoch.
            if victim == "trial":
                self.assertTrue(killed.kill_trial(trial), killed.said())
                killed.await_killed(life, trial, kills[:number + 1].count("trial"))
            else:
                life.kill()
                life.wait(60)
                life = killed.start("resume")
        self.end(killed, life)

        attempts = killed.rows("select outcome, from_iteration from attempts join trials on trials.id = trial"
                               f" where trials.number = {trial} order by attempts.number")
        story = f"trial {trial}, {kills}, attempts {attempts}\n{killed.said()}"
        self.assertEqual([outcome for outcome, _ in attempts].count("killed"), 2, story)
        self.assertEqual(len(attempts), 4, story)
        self.assertTrue(all(start > 0 for _, start in attempts[1:]), story)
        found = killed.curves()
        self.assertEqual(sorted(found), sorted(expected))
        for at, reports in found.items():
            for metrics in reports:
                self.assertEqual(metrics, expected[at], f"{at} {story}")

    def test_lightning(self):
        self.expect_same_curves("train_lightning.py", "val_loss")

    def test_keras(self):
        self.expect_same_curves("train_keras.py", "val_loss")

    def test_transformers(self):
        self.expect_same_curves("train_transformers.py", "eval_loss")


if __name__ == "__main__":
    unittest.main()
