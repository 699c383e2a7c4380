"""Sweeps from Python, by the real program."""

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import tune
from tune import _sweep

PYTHON_FOLDER = str(Path(__file__).resolve().parents[2] / "python")
BIN = os.environ.get("TUNE_BIN_DIR", "")


def number(trial):
    return trial["x"] ** 2


def inverse(trial):
    return 1 / trial["x"]


def in_map(config):
    return {"value": config["x"], "loss": 1}


def in_steps(trial):
    for step in range(3):
        yield {"value": trial["x"] * step}


def in_steps_and_a_last_one(trial):
    yield trial["x"]
    return trial["x"] + 1


def that_reports(trial):
    for step in range(3):
        trial.report(value=trial["x"] + step)
    return trial["x"] + 2


def whose_callback_reports(trial):
    for value in (3, 1, 2):
        tune.report(value=value + trial["x"])  # As a framework's callback does.
    return 2 + trial["x"]


def that_returns_its_last(trial):
    for value in (3, 1, 2):
        trial.report(value=value + trial["x"])
    return 2 + trial["x"]


def that_reports_under_another_name(trial):
    for value in (3, 1, 2):
        trial.report(validation=value)
    return 2 + trial["x"]


def of_two(trial):
    return trial["x"], 1 - trial["x"]


def that_fails(trial):
    raise RuntimeError("no such thing")


def that_saves(trial):
    total = int(trial.restored.read_text()) if trial.restored else 0
    for _ in range(trial.iteration, 4):
        total += 1
        trial.report(value=total, checkpoint=lambda path: path.write_text(str(total)))


def of_its_seed(trial):
    return trial.seed


def its_process(trial):
    if trial["x"] == 1:
        os._exit(3)
    return os.getpid()


def that_leaves_a_mess(trial):
    mess = os.environ.get("MESS", ""), os.getcwd() == "/"
    os.environ["MESS"] = "made"
    os.chdir("/")
    print("trial", trial.number, "was here")
    return float(any(mess))


def whose_thread_reports_late(trial, is_daemon=False):
    """The thread waits until its trial, or its process, is over."""
    number = trial.number

    def report():
        while tune.trial() == number and threading.main_thread().is_alive():
            time.sleep(0.001)
        tune.report(value=100 + number)

    trial.report(value=number)
    threading.Thread(target=report, daemon=is_daemon).start()


def whose_daemon_reports_late(trial):
    whose_thread_reports_late(trial, True)


def whose_fork_reports_late(trial):
    """The child waits until another trial has begun, and reports then: each opens a FIFO that the other waits for."""
    trial.report(value=trial.number)
    if trial.number > 0:
        Path("begun").write_text("")
        Path("tried").read_text()
        return
    if os.fork() == 0:
        Path("begun").read_text()
        try:
            trial.report(value=100)
            Path("answer").write_text("taken")
        except ConnectionError:
            Path("answer").write_text("refused")
        Path("tried").write_text("")
        os._exit(0)


def of_random_numbers(trial):
    return random.random()


def that_is_stopped(trial):
    for step in range(9):
        trial.report(value=trial["x"])


def that_starts_others(trial):
    subprocess.Popen(["sleep", "36173"], start_new_session=True)
    return 1


@unittest.skipUnless(BIN, "the programs' folder is not known")
class SweepCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        environ = mock.patch.dict(os.environ, {"TUNE_PROGRAM": BIN + "/tune"})
        environ.start()
        self.addCleanup(environ.stop)

    def run_sweep(self, objective, space=None, **more):
        wanted = {"metric": "value", "mode": "min", "samples": 2, "seed": 1, **more}
        with contextlib.redirect_stderr(io.StringIO()) as told:
            sweep = tune.run(objective, space or {"x": tune.uniform(0, 1)}, **wanted)
        self.told = told.getvalue()
        return sweep


class AnObjective(SweepCase):
    def test_gives_a_number(self):
        sweep = self.run_sweep(number)
        self.assertEqual((sweep.name, sweep.status), ("number", "FINISHED"))
        self.assertEqual([trial.value for trial in sweep], [trial.config["x"] ** 2 for trial in sweep])
        self.assertEqual(sweep.best.value, min(trial.value for trial in sweep))

    def test_gives_a_map_of_metrics(self):
        trial = self.run_sweep(in_map).trials[0]
        self.assertEqual(trial.reports[0]["loss"], 1)
        self.assertEqual(trial.value, trial.config["x"])

    def test_yields_its_iterations(self):
        for trial in self.run_sweep(in_steps):
            x = trial.config["x"]
            self.assertEqual([one["value"] for one in trial.reports], [0, x, 2 * x])

    def test_that_yields_and_returns_has_reported_both(self):
        for trial in self.run_sweep(in_steps_and_a_last_one):
            x = trial.config["x"]
            self.assertEqual([one["value"] for one in trial.reports], [x, x + 1])

    def test_that_returns_what_it_reported_last_has_reported_it_once(self):
        for objective in (that_reports, whose_callback_reports):
            self.assertEqual([trial.iterations for trial in self.run_sweep(objective)], [3, 3], objective)

    def test_whose_returned_value_is_not_its_best_is_told_once(self):
        for objective in (that_returns_its_last, whose_callback_reports):
            sweep = self.run_sweep(objective, {"x": tune.choice(0, 0.5)}, samples=3, max_concurrent=1)
            self.assertEqual([trial.value - trial.config["x"] for trial in sweep], [1, 1, 1])
            returned = 2 + sweep.trials[0].config["x"]
            self.assertIn(f"the objective returned value={returned:.6g}, and its best report, {returned - 1:.6g}, is what counts",
                          self.told)
            self.assertEqual(self.told.count("the objective returned"), self.told.count("more trials alike") + 1)
            self.assertEqual(len(sweep.doubts), 1)
        for quiet, mode in ((that_reports, "max"), (number, "min"), (that_reports_under_another_name, "min")):
            sweep = self.run_sweep(quiet, mode=mode)
            self.assertEqual(sweep.doubts, [], quiet)

    def test_gives_a_value_for_each_metric(self):
        sweep = self.run_sweep(of_two, metric=["a", "b"], mode=["min", "min"], samples=3)
        self.assertEqual(len(sweep.front), 3)
        with self.assertRaisesRegex(tune.SweepError, "of_two has several objectives, and so no best trial but a front"):
            sweep.best
        self.assertIn("3 trials, front [<trial 0 ", repr(sweep))
        report = sweep.trials[0].reports[0]
        self.assertAlmostEqual(report["a"] + report["b"], 1)

    def test_has_a_seed_of_its_own_in_each_run(self):
        sweep = self.run_sweep(of_its_seed, repeat=3, samples=1)
        values = [trial.value for trial in sweep]
        self.assertEqual(len(set(values)), 3)
        self.assertAlmostEqual(sweep.best.mean, sum(values) / 3)
        self.assertIn("(mean of its configuration's runs ", repr(sweep.best))

    def test_is_chosen_by_what_is_expected_of_it(self):
        sweep = self.run_sweep(number, samples=12)
        best = sweep.expected_best
        self.assertEqual(best.config, sweep.best.config)
        self.assertAlmostEqual(best.expected, best.value, delta=0.05)
        self.assertIsNone(sweep.best.expected)
        with self.assertRaisesRegex(tune.SweepError, "from 10 trials that were neither stopped nor failed; there are 3"):
            self.run_sweep(number, samples=3).expected_best

    def test_saves_checkpoints_by_a_function(self):
        best = self.run_sweep(that_saves, mode="max").best
        self.assertEqual(best.value, 4)
        self.assertEqual(best.checkpoint.read_text(), "4")

    def test_that_fails_is_told_with_its_traceback(self):
        with self.assertRaises(tune.SweepError) as caught:
            self.run_sweep(that_fails)
        text = str(caught.exception)
        self.assertIn("no trial of that_fails has a value; trial 0:", text)
        self.assertIn("Traceback (most recent call last)", text)
        self.assertIn("RuntimeError: no such thing", text)

    def test_whose_trials_fail_in_part_leaves_a_sweep(self):
        sweep = self.run_sweep(inverse, {"x": tune.grid_search(0, 1)}, samples=1)
        self.assertEqual([trial.status for trial in sweep], ["ERROR", "TERMINATED"])
        self.assertIn("ZeroDivisionError", sweep.trials[0].error)
        self.assertIn("Traceback", sweep.trials[0].log)


class AProcessOfTrials(SweepCase):
    def test_runs_one_after_the_other(self):
        values = [trial.value for trial in self.run_sweep(its_process, samples=5, max_concurrent=1)]
        self.assertEqual(len(set(values)), 1)

    def test_that_one_ends_is_followed_by_another(self):
        space = {"x": tune.grid_search(0, 1, 2)}
        first, second, third = self.run_sweep(its_process, space, samples=1, max_concurrent=1)
        self.assertEqual((first.status, second.status, third.status), ("TERMINATED", "ERROR", "TERMINATED"))
        self.assertIn("status 3", second.error)
        self.assertNotEqual(first.value, third.value)

    def test_is_one_trials_own_where_its_memory_is_limited(self):
        more = dict(samples=3, max_concurrent=1, resources={"memory": "1GiB"})
        self.assertEqual(len({trial.value for trial in self.run_sweep(its_process, **more)}), 3)

    def test_begins_each_trial_in_order(self):
        sweep = self.run_sweep(that_leaves_a_mess, samples=3, max_concurrent=1)
        self.assertEqual([trial.value for trial in sweep], [0, 0, 0])
        for trial in sweep:
            self.assertEqual(trial.log.split("\n")[0], f"trial {trial.number} was here")
            self.assertEqual(trial.log.count("was here"), 1)

    def test_draws_by_the_trials_own_seed(self):
        more = dict(samples=6, seed=7)
        values = [trial.value for trial in self.run_sweep(of_random_numbers, max_concurrent=1, **more)]
        self.assertEqual(len(set(values)), 6)
        again = [trial.value for trial in self.run_sweep(of_random_numbers, max_concurrent=2, **more)]
        self.assertEqual(values, again)

    def test_goes_on_after_a_stop(self):
        sweep = self.run_sweep(
            that_is_stopped, samples=6, max_concurrent=1, mode="max",
            scheduler=tune.asha(max_t=9, reduction_factor=2),
        )
        self.assertEqual({trial.status for trial in sweep}, {"TERMINATED"})
        self.assertIn("scheduler", {trial.stop_reason for trial in sweep})

    def test_waits_for_the_threads_of_each(self):
        sweep = self.run_sweep(whose_thread_reports_late, samples=3, max_concurrent=1)
        values = [[one["value"] for one in trial.reports] for trial in sweep]
        self.assertEqual(values, [[0, 100], [1, 101], [2, 102]])
        self.assertIn("left at work: thread Thread-", sweep.trials[0].log)

    def test_hears_no_daemon_of_an_earlier_one(self):
        sweep = self.run_sweep(whose_daemon_reports_late, samples=3, max_concurrent=1)
        numbers = [{one["value"] % 100 for one in trial.reports} for trial in sweep]
        self.assertEqual(numbers, [{0}, {1}, {2}])

    def test_hears_no_fork_of_an_earlier_one(self):
        for name in ("begun", "tried"):
            os.mkfifo(self.folder / name)
        sweep = self.run_sweep(whose_fork_reports_late, samples=2, max_concurrent=1)
        values = [[one["value"] for one in trial.reports] for trial in sweep]
        self.assertEqual(values, [[0], [1]])
        self.assertEqual((self.folder / "answer").read_text(), "refused")

    def test_leaves_nothing_behind(self):
        self.run_sweep(that_starts_others, samples=2, max_concurrent=1)
        left = subprocess.run(["pgrep", "-f", "^sleep 36173$"], capture_output=True, text=True).stdout
        self.assertEqual(left, "")


class ASweep(SweepCase):
    def test_goes_on_and_is_found_again(self):
        sweep = self.run_sweep(number)
        before = [trial.value for trial in sweep]
        with contextlib.redirect_stderr(io.StringIO()):
            more = sweep.resume(samples=4)
        self.assertEqual([trial.value for trial in more][:2], before)
        self.assertEqual(len(more.trials), 4)
        with contextlib.redirect_stderr(io.StringIO()):
            more = sweep.resume(samples=Array(5))  # An integer of NumPy.
        self.assertEqual(len(more.trials), 5)
        self.assertEqual(tune.load().name, "number")
        self.assertEqual(len(tune.load("number").trials), 5)

    def test_has_a_note_and_tags_that_a_person_writes(self):
        sweep = self.run_sweep(number, samples=1, note="first\ntry", tags={"team": "vision", "late": ""})
        self.assertEqual((sweep.note, sweep.tags), ("first\ntry", {"team": "vision", "late": ""}))
        sweep.annotate("-x is\nbetter", tags=["baseline"], untag=["late"])
        self.assertEqual((sweep.note, sweep.tags), ("-x is\nbetter", {"baseline": "", "team": "vision"}))
        sweep.annotate("")
        self.assertEqual(sweep.note, "")
        with self.assertRaisesRegex(tune.TuneError, "^no tag is called 'nix'; there are baseline team=vision$"):
            sweep.annotate(untag=["nix"])
        with self.assertRaisesRegex(tune.TuneError, "^tag: read 'a b', expected a key without spaces"):
            self.run_sweep(number, samples=1, tags=["a b"])
        for wrong in ({"tags": "team"}, {"untag": "team"}):
            with self.assertRaisesRegex(TypeError, "read 'team', expected a"):
                sweep.annotate(**wrong)

    def test_of_a_name_that_is_taken_gets_another(self):
        self.run_sweep(number)
        self.assertEqual(self.run_sweep(number).name, "number-2")

    def test_is_a_space_file(self):
        sweep = self.run_sweep(
            number,
            {"x": tune.loguniform(1e-5, 1), "kind": {"of": tune.choice("a", "yes", weights=[1, 2])},
             "q": tune.quniform(0, 1, 0.25, when={"kind.of": "a"}), "fixed": 3},
            scheduler=tune.asha(max_t=4), search="tpe", limits={"max_concurrent": 1}, seed=None,
        )
        text = str(sweep.spec())
        (self.folder / "again.yaml").write_text(text)
        with contextlib.redirect_stderr(io.StringIO()):
            again = subprocess.run(
                [BIN + "/tune", "run", "again.yaml", "--db", "again.db"], capture_output=True, text=True
            )
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(
            [trial.config for trial in tune.load(db="again.db")], [trial.config for trial in sweep], text
        )

    def test_shows_itself_in_a_notebook(self):
        sweep = self.run_sweep(in_steps)
        self.assertIn("<b>in_steps</b> FINISHED, 2 of 2 trials ended", sweep._repr_html_())
        svg = sweep.plot()._repr_svg_()
        self.assertEqual(svg.count("<polyline"), 2)
        sweep.plot("curves.svg")
        self.assertEqual((self.folder / "curves.svg").read_text(), svg)

    def test_says_what_the_program_says(self):
        self.run_sweep(number)
        self.assertIn("sweep number: seed 1, database tune.db", self.told)
        self.assertIn("trial 1 ended (completed)", self.told)
        self.assertIn("number FINISHED: 2 trials", self.told)


class Array:
    """What NumPy, PyTorch and pandas have of an array."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


class AnArray(unittest.TestCase):
    def check(self, array, scalar):
        for made in (tune.choice, tune.ordinal, tune.grid_search):
            name = made.__name__
            self.assertEqual(made(array([1, 2, 3])), {name: [1, 2, 3]})
            self.assertEqual(made(array(["a", "b"])), {name: ["a", "b"]})
            self.assertEqual(made(array([[1, 2], [3, 4]])), {name: [[1, 2], [3, 4]]})
            self.assertEqual(made(scalar(0.5), scalar(0.25)), {name: [0.5, 0.25]})
            self.assertEqual(made([scalar(0.5), scalar(0.25)]), {name: [0.5, 0.25]})
            self.assertEqual(made(scalar(3)), {name: [3]})
            self.assertEqual([type(v) for v in made(array([True, False]))[name]], [bool, bool])
        self.assertEqual(tune.choice([1, 2], weights=array([0.25, 0.75]))["weights"], [0.25, 0.75])
        self.assertEqual(tune.uniform(scalar(0.5), scalar(2)), {"uniform": [0.5, 2]})

    def test_is_a_list_and_its_scalar_a_number(self):
        self.check(Array, Array)

    def test_of_numpy_is_a_list(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        self.check(numpy.array, lambda value: numpy.array([value])[0])

    def test_and_any_other_sequence_are_lists_and_a_text_is_none(self):
        for options in (range(3), (0, 1, 2), {0: "a", 1: "b", 2: "c"}.keys(), (i for i in range(3))):
            self.assertEqual(tune.choice(options), {"choice": [0, 1, 2]})
        self.assertEqual(tune.choice("abc"), {"choice": ["abc"]})
        self.assertEqual(tune.choice({"a": 1}), {"choice": [{"a": 1}]})

    def test_is_a_list_that_a_set_gives_in_the_same_order_in_each_process(self):
        names = ["adagrad", "adam", "adamw", "lbfgs", "lion", "rmsprop", "rprop", "sgd"]
        for made in (tune.choice, tune.ordinal, tune.grid_search):
            for kind in (set, frozenset):
                self.assertEqual(made(kind([3, None, *names, 0.5])), {made.__name__: [0.5, 3, *names, None]})

    def test_has_a_class_that_is_refused_in_one_line_and_so_are_bytes_and_tables(self):
        class Table:
            def __iter__(self):
                return iter("ab")

            def __repr__(self):
                return "   a  b\n0  1  2"

        for value, read in ((Array, "<class '"), (bytearray(b"a"), "bytearray(b'a')"), (memoryview(b"a"), "<memory at "), (Table(), "a b 0 1 2 (Table)")):
            for given in ((value,), (value, value), ([value],)):
                with self.assertRaises(TypeError) as caught:
                    tune.choice(*given)
                told = str(caught.exception)
                self.assertTrue(told.startswith(f"choice: read {read}") and "expected numbers, texts" in told and "\n" not in told, told)


# A sweep whose trials wait, and the file's own way to begin it.
WAITING = """
import signal, tune
def objective(trial):
    trial.report(value=1)
    signal.pause()
if __name__ == "__main__":
    tune.run(objective, {"x": tune.uniform(0, 1)}, metric="value", mode="min", samples=1)
"""


class TheProcess(SweepCase):
    def start(self):
        (self.folder / "waiting.py").write_text(WAITING)
        environ = {**os.environ, "PYTHONPATH": PYTHON_FOLDER, "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [sys.executable, "waiting.py"], cwd=self.folder, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        # Its first report is on disk.
        for _ in range(1200):
            done = subprocess.run(
                [BIN + "/tune", "results", "--sql", "select count(*) as n from reports", "--format", "json"],
                capture_output=True, text=True,
            )
            if done.returncode == 0 and json.loads(done.stdout)[0]["n"] == 1:
                return process
            self.assertIsNone(process.poll(), "it has ended")
        self.fail("no report came")

    def await_interrupted(self):
        for _ in range(1200):
            done = subprocess.run([BIN + "/tune", "status", "--format", "json"], capture_output=True, text=True)
            if done.returncode == 0 and json.loads(done.stdout)[0]["status"] == "INTERRUPTED":
                return
        self.fail("it was not interrupted")

    def test_that_is_interrupted_ends_the_sweep_in_order(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT, told)
        self.assertIn("objective was interrupted; tune.resume('objective') goes on", told)
        self.assertEqual(tune.load().status, "INTERRUPTED")

    def test_that_was_interrupted_left_the_sweep_that_is_resumed_without_a_name(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.run_sweep(number)
        with tune.Study({"x": tune.uniform(0, 1)}, name="told") as study:
            study.ask()
        self.assertEqual((tune.load().name, _sweep._to_resume("tune.db")), ("told", "objective"))

    def test_that_is_killed_leaves_nothing_behind(self):
        self.start().kill()
        self.await_interrupted()
        for _ in range(1200):
            left = subprocess.run(["pgrep", "-f", str(self.folder)], capture_output=True, text=True).stdout
            if not left:
                return
        self.fail(left)


if __name__ == "__main__":
    unittest.main()
