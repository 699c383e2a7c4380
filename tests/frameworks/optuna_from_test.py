"""`from: {optuna: study.db}`: a sweep that learns from a study of the real Optuna."""

import contextlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import optuna
from sweep import tune

optuna.logging.set_verbosity(optuna.logging.ERROR)

_STUDY = """
import sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)

def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.suggest_float("optimizer.rate", 0.001, 0.1, log=True)
    width = trial.suggest_int("width", 8, 32, step=8)
    kind = trial.suggest_categorical("kind", ["adam", "sgd"])
    trial.set_user_attr("size", width)
    if trial.number == 5:
        raise RuntimeError("fails")
    for step in range(2):
        trial.report((x - 0.3) ** 2 + 1 / (step + 1), step)
        if trial.number == 4:
            raise optuna.TrialPruned()
    return (x - 0.3) ** 2 + (0.1 if kind == "sgd" else 0) + 0.01

sampler = optuna.samplers.TPESampler(
    seed=3, constraints_func=lambda trial: [trial.user_attrs.get("size", 0) - 24]
)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1], study_name="old", sampler=sampler)
study.optimize(objective, n_trials=8, catch=(RuntimeError,))
study.enqueue_trial({"x": 0.5})
"""

_SPACE = """\
name: new
trainable: {curve: {value: "(x - 0.3)^2 + exp(-t)", iterations: 3}}
metric: loss
mode: min
seed: 5
samples: 6
search: {algorithm: tpe}
limits: {max_concurrent: 1}
from: {optuna: study.db}
space:
  x: {uniform: [0, 1]}
  optimizer: {rate: {loguniform: [0.001, 0.1]}}
  width: {qrandint: [8, 32, 8]}
  kind: {choice: [adam, sgd]}
  depth: 3
"""


class FromOptuna(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        studies = tempfile.TemporaryDirectory()
        cls.addClassCleanup(studies.cleanup)
        cls.studies = {}
        for name, python in [
            ("newest", os.sys.executable), ("oldest", os.environ["OLDEST_OPTUNA_PYTHON"])
        ]:
            cls.studies[name] = os.path.join(studies.name, name + ".db")
            subprocess.run(
                [python, "-W", "ignore", "-c", _STUDY, cls.studies[name]],
                check=True, timeout=300, env={**os.environ, "PYTHONPATH": ""},
            )

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text=_SPACE):
        with open(os.path.join(self.folder, "space.yaml"), "w") as file:
            file.write(text)

    def take_study(self, name="newest"):
        shutil.copy(self.studies[name], os.path.join(self.folder, "study.db"))

    def query(self, sql):
        with sqlite3.connect(os.path.join(self.folder, "tune.db")) as database:
            return database.execute(sql).fetchall()

    def learn(self, name):
        self.take_study(name)
        self.write()
        _, said = tune(self.folder, "run", "space.yaml")
        self.assertIn("from: learning from 8 trials of the Optuna study 'old'; 1 trial", said)
        (stored,) = self.query("select json_extract(spec, '$.from.trials') from experiments")[0]
        return json.loads(stored)

    def test_its_states_values_parameters_and_constraints_are_those_that_optuna_reads(self):
        for name in self.studies:
            with self.subTest(name):
                self.setUp()
                taken = self.learn(name)
                if name == "oldest":
                    continue  # The newest Optuna does not open the oldest one's file.
                storage = f"sqlite:///{self.folder}/study.db"
                study = optuna.load_study(storage=storage, study_name="old")
                self.assertEqual(len(taken), 9)
                for trial, ours in zip(study.trials, taken):
                    self.assertEqual(dict(ours["config"]), trial.params)
                    size = trial.user_attrs.get("size", 0)
                    failed = trial.state.name == "FAIL" or size > 24
                    self.assertEqual(ours.get("failed", False), failed)
                    if failed or trial.state.name == "WAITING":
                        self.assertEqual(ours["reports"], [])
                        continue
                    values = list(trial.intermediate_values.values())
                    if trial.state.name == "COMPLETE":
                        values.append(trial.value)
                    expected = [[i + 1, value] for i, value in enumerate(values)]
                    self.assertEqual(ours["reports"], expected)

    def test_a_resume_goes_on_without_the_file(self):
        self.take_study()
        self.write()
        tune(self.folder, "run", "space.yaml")
        alone = self.query("select config from trials order by number")
        os.remove(os.path.join(self.folder, "tune.db"))
        tune(self.folder, "run", "space.yaml", "--samples", "3")
        os.remove(os.path.join(self.folder, "study.db"))
        tune(self.folder, "resume", "--samples", "6")
        self.assertEqual(self.query("select config from trials order by number"), alone)
        self.write(_SPACE.replace("from: {optuna: study.db}\n", "name: without\n", 1).replace(
            "name: new\n", "", 1))
        tune(self.folder, "run", "space.yaml")
        without = self.query(
            "select config from trials where experiment = 2 order by number")
        self.assertNotEqual(without, alone)

    def test_a_study_of_another_direction_is_refused_before_anything_is_made(self):
        self.take_study()
        self.write(_SPACE.replace("mode: min", "mode: max"))
        _, said = tune(self.folder, "run", "space.yaml", expect=2)
        self.assertIn("the study 'old' has the mode min, this sweep max", said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "tune.db")))


def _objective(trial):
    return (trial["x"] - 0.3) ** 2


def _of_two(trial):
    return trial["x"], 1 - trial["x"]


class FromStudy(unittest.TestCase):
    """`tune.from_optuna`, of studies in memory."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_on(self, study, objective, **more):
        import tune as module

        place = {"folder": self.folder, "db": os.path.join(self.folder, "tune.db")}
        begun = module.from_optuna(study, folder=self.folder)
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            sweep = module.run(objective, **begun, **place, samples=3, seed=1, search="tpe", **more)
        return begun, sweep

    def test_each_distribution_becomes_its_domain_and_all_trials_are_learned_from(self):
        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            trial.suggest_float("optimizer.rate", 0.001, 0.1, log=True)
            trial.suggest_float("drop", 0, 0.5, step=0.25)
            trial.suggest_int("width", 8, 32, step=8)
            trial.suggest_int("depth", 1, 3)
            trial.suggest_int("kernel", 3, 9, step=2)
            trial.suggest_float("keep", 0.1, 0.5, step=0.2)
            trial.suggest_int("units", 1, 100, log=True)
            trial.suggest_categorical("kind", ["adam", None, 2])
            return (x - 0.3) ** 2

        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(objective, n_trials=40)
        begun, sweep = self.run_on(study, _objective)
        self.assertEqual(begun["space"], {
            "x": {"uniform": [0, 1]}, "optimizer": {"rate": {"loguniform": [0.001, 0.1]}},
            "drop": {"quniform": [0, 0.5, 0.25]}, "width": {"qrandint": [8, 32, 8]},
            "depth": {"randint": [1, 4]}, "units": {"lograndint": [1, 101]},
            "kernel": {"ordinal": [3, 5, 7, 9]}, "keep": {"ordinal": [0.1, 0.2 + 0.1, 0.5]},
            "kind": {"choice": ["adam", None, 2]},
        })
        self.assertEqual((begun["metric"], begun["mode"]), ("value", "min"))
        learned = json.loads(sweep._ask(
            "select json_extract(spec, '$.from.trials') as taken from experiments where id = :experiment")[0]["taken"])
        self.assertEqual([dict(trial["config"])["x"] for trial in learned], [t.params["x"] for t in study.trials])
        self.assertEqual(len(sweep.trials), 3)

    def test_two_objectives_keep_their_directions(self):
        study = optuna.create_study(directions=["maximize", "minimize"])
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), n_trials=3)
        begun, sweep = self.run_on(study, _of_two)
        self.assertEqual((begun["metric"], begun["mode"]), (["value_0", "value_1"], ["max", "min"]))
        self.assertEqual(len(sweep.trials), 3)

    def test_what_a_study_does_not_tell_is_said(self):
        import tune as module

        with self.assertRaisesRegex(ValueError, "has no trial with parameters"):
            module.from_optuna(optuna.create_study(), folder=self.folder)
        study = optuna.create_study()
        study.optimize(lambda t: t.suggest_float("y" if t.number else "x", 0, 1), n_trials=2)
        with self.assertWarnsRegex(UserWarning, "only some trials of .* have x, y: "):
            module.from_optuna(study, folder=self.folder)


if __name__ == "__main__":
    unittest.main()
