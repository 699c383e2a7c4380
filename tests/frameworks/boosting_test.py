"""tune.xgboost, tune.lightgbm and tune.catboost with the real packages."""

import contextlib
import io
import os
import tempfile
import unittest

import catboost
import lightgbm
import numpy
import xgboost
import tune
import tune.catboost
import tune.lightgbm
import tune.xgboost
from attempts import Trial

_ROUNDS = 6
_RANDOM = numpy.random.default_rng(3)
INPUTS = _RANDOM.normal(size=(200, 5))
TARGETS = numpy.sin(INPUTS.sum(axis=1)) + 0.1 * _RANDOM.normal(size=200)
TEST = slice(150, 200)
TRAIN = slice(0, 150)


def xgboost_program(callback=None, **options):
    callback = callback or tune.xgboost.ReportCallback("test-rmse", checkpoint=True)
    train, test = (xgboost.DMatrix(INPUTS[part], TARGETS[part]) for part in (TRAIN, TEST))
    named = dict(num_boost_round=_ROUNDS - tune.iteration(), xgb_model=tune.restored(),
                 evals=[(train, "train"), (test, "test")])
    params = {"max_depth": 3, "eta": 0.3, "nthread": 1, "seed": 1}
    booster = xgboost.train(
        params, train, verbose_eval=False, callbacks=[callback], **{**named, **options})
    return callback, booster


def lightgbm_program(callback=None, **options):
    callback = callback or tune.lightgbm.ReportCallback("test-l2", checkpoint=True)
    train = lightgbm.Dataset(INPUTS[TRAIN], TARGETS[TRAIN], free_raw_data=False)
    test = lightgbm.Dataset(INPUTS[TEST], TARGETS[TEST], reference=train, free_raw_data=False)
    named = dict(num_boost_round=_ROUNDS - tune.iteration(), init_model=tune.restored())
    params = {"objective": "l2", "num_leaves": 7, "num_threads": 1, "verbosity": -1, "seed": 1,
              "deterministic": True}
    booster = lightgbm.train(
        params, train, valid_sets=[test], valid_names=["test"], callbacks=[callback],
        **{**named, **options})
    return callback, booster


def catboost_program(callback=None):
    callback = callback or tune.catboost.ReportCallback("validation-RMSE")
    model = catboost.CatBoostRegressor(
        iterations=_ROUNDS, depth=3, verbose=False, thread_count=1, allow_writing_files=False)
    model.fit(INPUTS[TRAIN], TARGETS[TRAIN], eval_set=(INPUTS[TEST], TARGETS[TEST]),
              use_best_model=False, callbacks=[callback])
    return callback, model


PROGRAMS = [xgboost_program, lightgbm_program, catboost_program]
SAVING = [xgboost_program, lightgbm_program]


class Boosting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.count = 0

    def trial(self, **named):
        self.count += 1
        return Trial(os.path.join(self.folder, str(self.count)), **named)

    def test_each_round_is_reported_as_the_package_measures_it(self):
        for program in PROGRAMS:
            with self.subTest(program.__name__):
                trial, kept = self.trial(), []
                self.assertTrue(trial.attempt(lambda: kept.append(program())))
                values = [next(iter(metrics.values())) for metrics in trial.curve]
                self.assertEqual(len(values), _ROUNDS)
                model = kept[0][1]
                if program is xgboost_program:
                    predicted = model.predict(xgboost.DMatrix(INPUTS[TEST]))
                else:
                    predicted = model.predict(INPUTS[TEST])
                error = numpy.mean((predicted - TARGETS[TEST]) ** 2)
                wanted = error if program is lightgbm_program else error**0.5
                self.assertAlmostEqual(values[-1], wanted, places=5)
                self.assertLess(values[-1], values[0])

    def test_a_stop_ends_the_training_in_order_with_the_rounds_so_far(self):
        rounds = {xgboost_program: lambda m: m.num_boosted_rounds(),
                  lightgbm_program: lambda m: m.current_iteration(),
                  catboost_program: lambda m: m.tree_count_}
        for program in PROGRAMS:
            with self.subTest(program.__name__):
                trial, kept = self.trial(stop_at=3), []
                self.assertTrue(trial.attempt(lambda: kept.append(program())))
                callback, model = kept[0]
                self.assertTrue(callback.stopped)
                self.assertEqual((len(trial.curve), rounds[program](model)), (3, 3))

    def test_a_restored_trial_ends_as_one_that_was_left_alone(self):
        for program in SAVING:
            alone = self.trial()
            alone.attempt(program)
            for last in range(1, _ROUNDS):
                with self.subTest(program.__name__, last=last):
                    killed = self.trial()
                    self.assertFalse(killed.attempt(program, dies_after=last))
                    self.assertEqual(self.said_by(lambda: killed.attempt(program)), "")
                    numpy.testing.assert_allclose(
                        [list(one.values()) for one in killed.curve],
                        [list(one.values()) for one in alone.curve], rtol=1e-6)

    def test_a_program_that_forgets_its_checkpoint_is_warned(self):
        for program, option in ((xgboost_program, "xgb_model"), (lightgbm_program, "init_model")):
            with self.subTest(program.__name__):
                trial = self.trial()
                trial.attempt(program, dies_after=2)
                said = self.said_by(lambda: trial.attempt(lambda: program(**{option: None})))
                self.assertIn(f"{option}=tune.restored()", said)
                self.assertEqual(said.count("WARNING"), 1)

    def test_every_third_round_is_an_iteration_where_that_is_asked_for(self):
        trial = self.trial()
        trial.attempt(lambda: catboost_program(tune.catboost.ReportCallback(every=3)))
        self.assertEqual(len(trial.curve), 2)
        self.assertEqual(set(trial.curve[0]), {"learn-RMSE", "validation-RMSE"})
        with self.assertRaisesRegex(ValueError, "every: read 0, expected an integer from 1"):
            tune.lightgbm.ReportCallback(every=0)

    def test_cross_validation_reports_means_and_saves_nothing(self):
        data = xgboost.DMatrix(INPUTS, TARGETS)
        by_lightgbm = {"objective": "l2", "verbosity": -1, "num_threads": 1}
        ways = {
            "test-rmse": lambda **named: xgboost.cv(
                {"nthread": 1}, data, num_boost_round=4, nfold=3,
                callbacks=[tune.xgboost.ReportCallback("test-rmse", **named)])["test-rmse-mean"],
            "valid-l2": lambda **named: lightgbm.cv(
                by_lightgbm, lightgbm.Dataset(INPUTS, TARGETS), num_boost_round=4, nfold=3,
                stratified=False,
                callbacks=[tune.lightgbm.ReportCallback("valid-l2", **named)])["valid l2-mean"],
        }
        for metric, run in ways.items():
            with self.subTest(metric):
                trial, kept = self.trial(), []
                trial.attempt(lambda: kept.append(run()))
                numpy.testing.assert_allclose([one[metric] for one in trial.curve], kept[0], rtol=1e-6)
                with self.assertRaisesRegex(ValueError, "checkpoint: .*cv trains several models"):
                    self.trial().attempt(lambda: run(checkpoint=True))

    def test_estimators_take_them_too(self):
        trial = self.trial()
        model = xgboost.XGBRegressor(n_estimators=3, callbacks=[tune.xgboost.ReportCallback()])
        trial.attempt(lambda: model.fit(INPUTS[TRAIN], TARGETS[TRAIN], verbose=False,
                                        eval_set=[(INPUTS[TEST], TARGETS[TEST])]))
        self.assertEqual([list(one) for one in trial.curve], [["validation_0-rmse"]] * 3)
        trial = self.trial()
        model = lightgbm.LGBMRegressor(n_estimators=3, verbosity=-1)
        trial.attempt(lambda: model.fit(INPUTS[TRAIN], TARGETS[TRAIN], callbacks=[tune.lightgbm.ReportCallback()],
                                        eval_set=[(INPUTS[TEST], TARGETS[TEST])], eval_names=["test"]))
        self.assertEqual([list(one) for one in trial.curve], [["test-l2"]] * 3)

    def test_a_metric_that_is_not_there_is_told_with_those_that_are(self):
        with self.assertRaisesRegex(ValueError, r"test-rsme is not logged \(did you mean test-rmse\?\)"):
            self.trial().attempt(lambda: xgboost_program(tune.xgboost.ReportCallback("test-rsme")))
        with self.assertRaisesRegex(ValueError, "nothing is logged: give the training data to evaluate on"):
            self.trial().attempt(lambda: xgboost_program(evals=[]))

    def said_by(self, run):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            run()
        return said.getvalue()


if __name__ == "__main__":
    unittest.main()
