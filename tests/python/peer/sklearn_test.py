"""`tune.sklearn.SearchCV` beside scikit-learn's own searches."""

import contextlib
import importlib.util
import io
import os
import pickle
import tempfile
import unittest
import warnings

BIN = os.environ.get("TUNE_BIN_DIR", "")
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None

import tune


# Scorers and choosers: functions of a module, as GridSearchCV's own workers need them.


def accuracy(estimator, x, y):
    return estimator.score(x, y)


def accuracy_where_c_is_large(estimator, x, y):
    return estimator.score(x, y) if estimator.C > 0.5 else float("nan")


def two_scores(estimator, x, y):
    score = estimator.score(x, y)
    return {"right": score, "wrong": 1 - score}


def fastest_of_the_worst(results):
    return int(results["rank_test_" + ("right" if "rank_test_right" in results else "score")].argmax())


def no_index(results):
    return "first"


def beyond(results):
    return 99


@unittest.skipUnless(BIN and HAS_SKLEARN, "scikit-learn is not there")
class Searches(unittest.TestCase):
    def setUp(self):
        os.environ["TUNE_PROGRAM"] = os.path.join(BIN, "tune")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        from sklearn.datasets import load_iris

        self.x, self.y = load_iris(return_X_y=True)

    def search(self, estimator, space, fit=None, **options):
        from tune.sklearn import SearchCV

        search = SearchCV(estimator, space, folder=self.folder, db=os.path.join(self.folder, "tune.db"), **options)
        fit = fit if isinstance(fit, dict) else dict(zip("Xy", fit or (self.x, self.y)))
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return search.fit(**fit)

    def both(self, estimator, grid, fit=None, **options):
        """(our search of each combination, scikit-learn's), of equal columns and values."""
        from sklearn.model_selection import GridSearchCV

        ours = self.search(estimator, grid, fit=fit, n_iter=None, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = GridSearchCV(estimator, grid, **options).fit(**(fit or {"X": self.x, "y": self.y}))
        self.assertEqual(set(ours.cv_results_), set(theirs.cv_results_))
        self.assertEqual([repr(sorted(one.items())) for one in ours.cv_results_["params"]],
                         [repr(sorted(one.items())) for one in theirs.cv_results_["params"]])
        for name in theirs.cv_results_:
            if name.startswith("param_"):  # Newer scikit-learns have numbers where older ones have objects.
                self.assertEqual(ours.cv_results_[name].tolist(), theirs.cv_results_[name].tolist(), name)
            elif name != "params" and not name.endswith("_time"):
                self.assertEqual([str(one) for one in ours.cv_results_[name]],
                                 [str(one) for one in theirs.cv_results_[name]], name)
        for name in ("multimetric_", "n_splits_", "best_index_", "best_params_", "best_score_"):
            self.assertEqual(hasattr(ours, name), hasattr(theirs, name), name)
            if hasattr(theirs, name):
                self.assertEqual(str(getattr(ours, name)), str(getattr(theirs, name)), name)
        return ours, theirs

    def test_each_combination_has_the_scores_that_grid_search_gives_it(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        grid = {"C": [0.1, 1, 10], "class_weight": [None, "balanced", {0: 1, 1: 2, 2: 1}]}
        more = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro", "return_train_score": True}
        ours = self.search(SVC(gamma=0.1), grid, n_iter=None, **more)
        theirs = GridSearchCV(SVC(gamma=0.1), grid, **more).fit(self.x, self.y)
        self.assertEqual(set(ours.cv_results_), set(theirs.cv_results_))
        by_params = {repr(sorted(p.items())): i for i, p in enumerate(theirs.cv_results_["params"])}
        self.assertEqual(len(ours.cv_results_["params"]), 9)
        for i, params in enumerate(ours.cv_results_["params"]):
            at = by_params[repr(sorted(params.items()))]
            for name in ours.cv_results_:
                if name.startswith(("mean_t", "split", "rank_test")) and "time" not in name:
                    self.assertEqual(ours.cv_results_[name][i], theirs.cv_results_[name][at], name)
        self.assertEqual(ours.best_score_, theirs.best_score_)
        self.assertEqual(ours.score(self.x, self.y), theirs.score(self.x, self.y) if ours.best_params_ == theirs.best_params_
                         else ours.scorer_["f1_macro"](ours.best_estimator_, self.x, self.y))

    def test_folds_drawn_without_a_seed_are_the_same_for_all_candidates(self):
        from sklearn.model_selection import KFold
        from sklearn.neighbors import KNeighborsClassifier

        found = self.search(KNeighborsClassifier(), {"n_jobs": [1, 2]}, n_iter=None, cv=KFold(3, shuffle=True))
        first, second = found.cv_results_["split0_test_score"]
        self.assertEqual(first, second)

    def test_a_pipeline_of_frames_is_searched_trained_and_asked(self):
        import pandas
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler, StandardScaler
        from sklearn.svm import SVC

        frame = pandas.DataFrame(self.x, columns=list("abcd"))
        space = {"svc__C": tune.loguniform(1e-2, 1e2), "scale": [StandardScaler(), MinMaxScaler()]}
        from sklearn.pipeline import Pipeline

        pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
        found = self.search(pipeline, space, fit=(frame, self.y), n_iter=6, random_state=3)
        self.assertEqual(len(found.sweep_.trials), 6)
        self.assertEqual(list(found.feature_names_in_), list("abcd"))
        self.assertGreater(found.score(frame, self.y), 0.9)
        self.assertEqual(len(found.predict(frame)), 150)
        self.assertFalse(hasattr(found, "predict_proba"))
        self.assertTrue(make_pipeline(found))  # It is an estimator.

    def test_a_loss_is_made_small_by_its_negative(self):
        from sklearn.linear_model import Ridge

        found = self.search(Ridge(), {"alpha": [1e-3, 1e6]}, n_iter=None, scoring="neg_mean_squared_error")
        self.assertEqual(found.best_params_, {"alpha": 1e-3})
        self.assertLess(found.best_score_, 0)

    def test_a_function_chooses_the_best_as_in_grid_search(self):
        from sklearn.svm import SVC

        grid = {"C": [1, 0.001, 0.01]}
        self.both(SVC(), grid, refit=fastest_of_the_worst)
        ours, _ = self.both(SVC(), grid, scoring={"right": "accuracy", "f1": "f1_macro"}, refit=fastest_of_the_worst)
        self.assertFalse(hasattr(ours, "best_score_"))
        self.assertEqual(len(ours.predict(self.x)), 150)
        with self.assertRaisesRegex(TypeError, "refit: it returned 'first', expected an index"):
            self.search(SVC(), grid, n_iter=None, refit=no_index)
        with self.assertRaisesRegex(IndexError, "refit: it returned the index 99, expected one from 0 to 2"):
            self.search(SVC(), grid, n_iter=None, refit=beyond)

    def test_a_score_that_is_no_number_is_the_worst(self):
        from sklearn.svm import SVC

        ours, _ = self.both(SVC(), {"C": [0.1, 1, 0.01, 10]}, scoring=accuracy_where_c_is_large)
        self.assertEqual(ours.cv_results_["rank_test_score"].tolist(), [3, 2, 3, 1])

    def test_scores_may_have_any_names_or_none_that_counts(self):
        from sklearn.svm import SVC

        grid = {"C": [0.001, 1]}
        ours, theirs = self.both(SVC(), grid, scoring={"score": "accuracy", "f1": "f1_macro"}, refit="score")
        self.assertEqual(ours.score(self.x, self.y), theirs.score(self.x, self.y))
        ours, theirs = self.both(SVC(), grid, scoring={"score": "accuracy"}, refit="score")
        self.assertEqual(ours.score(self.x, self.y), theirs.score(self.x, self.y))
        self.both(SVC(), grid, scoring=["accuracy", "f1_macro"], refit=False)
        ours, theirs = self.both(SVC(), grid, scoring=two_scores, refit="right")
        self.assertEqual(ours.score(self.x, self.y), theirs.score(self.x, self.y))
        with self.assertRaisesRegex(tune.SweepError, "it returned right, wrong, and refit names none of them"):
            self.search(SVC(), grid, n_iter=None, scoring=two_scores)

    def test_what_fails_has_the_score_that_errors_have_in_grid_search(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.neighbors import KNeighborsClassifier

        model, grid = LogisticRegression(max_iter=500), {"C": [-1.0, 1.0]}
        for scores in ({}, {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}):
            for error_score in (float("nan"), 0.25):
                self.both(model, grid, error_score=error_score, return_train_score=True, **scores)
        # Of three neighbours the smallest fold has too few.
        folds = [([0, 50], [100, 101]), ([0, 1, 2, 50, 51], [102, 103])]
        self.both(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=folds)
        with self.assertRaisesRegex(tune.SweepError, "error_score: .*trial 0(.|\n)*must be a float"):
            self.search(model, grid, n_iter=None, error_score="raise")
        with self.assertRaises(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            GridSearchCV(model, grid, error_score="raise").fit(self.x, self.y)
        with self.assertRaisesRegex(ValueError, "error_score: read 'ignore', expected a number or 'raise'"):
            self.search(model, grid, error_score="ignore")

    def test_a_grid_that_begins_with_failures_is_searched_to_its_end(self):
        from sklearn.linear_model import LogisticRegression

        grid = {"penalty": ["l1", "l2"], "C": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]}
        found = self.search(LogisticRegression(solver="lbfgs", max_iter=500), grid, n_iter=None, n_jobs=1)
        self.assertEqual([trial.status for trial in found.sweep_.trials], ["ERROR"] * 10 + ["TERMINATED"] * 10)
        self.assertEqual((len(found.cv_results_["params"]), found.best_params_["penalty"]), (20, "l2"))

    def test_a_list_may_hold_what_is_not_finite(self):
        import numpy
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import SVC

        name = "simpleimputer__missing_values"
        found = self.search(make_pipeline(SimpleImputer(), SVC()), {name: [numpy.nan, -1.0]}, n_iter=None)
        self.assertEqual([str(params[name]) for params in found.cv_results_["params"]], ["nan", "-1.0"])
        self.assertFalse(numpy.isnan(found.cv_results_["mean_test_score"]).any())

    def test_each_combination_is_one_of_grid_search_and_constants_too(self):
        from sklearn.svm import SVC

        space = {"C": tune.grid_search(0.1, 1, 10), "kernel": tune.const("rbf"), "gamma": [0.1, 1]}
        found = self.search(SVC(), space, n_iter=None)
        tried = [(params["C"], params["kernel"], params["gamma"]) for params in found.cv_results_["params"]]
        self.assertEqual(sorted(tried), [(c, "rbf", gamma) for c in (0.1, 1, 10) for gamma in (0.1, 1)])

    def test_a_list_of_grids_is_refused(self):
        from sklearn.svm import SVC

        with self.assertRaisesRegex(TypeError, "space: read a list, expected one map of parameters; of several"):
            self.search(SVC(), [{"C": [1]}, {"gamma": [1]}])

    def test_a_candidate_that_fails_keeps_its_error(self):
        from sklearn.linear_model import LogisticRegression

        found = self.search(LogisticRegression(max_iter=500), {"C": [-1.0, 1.0]}, n_iter=None)
        self.assertEqual(found.best_params_, {"C": 1.0})
        failed = [trial for trial in found.sweep_.trials if trial.status == "ERROR"]
        self.assertEqual(len(failed), 1)
        self.assertIn("must be a float", failed[0].log)

    def test_where_all_fail_the_error_says_why(self):
        from sklearn.linear_model import LogisticRegression

        with self.assertRaisesRegex(tune.SweepError, "must be a float"):
            self.search(LogisticRegression(), {"C": [-1.0, -2.0]}, n_iter=None)

    def test_what_cannot_be_searched_is_refused_before_anything_starts(self):
        from sklearn.svm import SVC

        class Distribution:
            def rvs(self):
                return 1.0

        with self.assertRaisesRegex(TypeError, r"space: C is a distribution of SciPy's; write tune\.uniform"):
            self.search(SVC(), {"C": Distribution()})
        with self.assertRaisesRegex(ValueError, "SVC has no parameter c; it has C, "):
            self.search(SVC(), {"c": [1]})
        with self.assertRaisesRegex(ValueError, "refit: read True, expected the one of accuracy, f1"):
            self.search(SVC(), {"C": [1]}, scoring=["accuracy", "f1"])
        with self.assertRaisesRegex(ValueError, "n_iter: None tries each combination, and C has no list"):
            self.search(SVC(), {"C": tune.uniform(1, 2)}, n_iter=None)
        with self.assertRaisesRegex(tune.TuneError, "space.C"):
            self.search(SVC(), {"C": tune.uniform(2, 1)})
        self.assertFalse(os.path.exists(os.path.join(self.folder, "tune.db")))

    def test_it_is_copied_and_shown_as_estimators_are(self):
        from sklearn.base import clone, is_classifier
        from sklearn.svm import SVC, SVR

        from tune.sklearn import SearchCV

        search = SearchCV(SVC(C=3), {"C": tune.uniform(1, 2)}, n_iter=5)
        self.assertEqual(clone(search).get_params()["estimator__C"], 3)
        self.assertIn("SearchCV(", repr(search))
        self.assertTrue(is_classifier(search))
        self.assertFalse(is_classifier(SearchCV(SVR(), {})))
        with self.assertRaisesRegex(AttributeError, "call fit first"):
            search.predict(self.x)

    def test_weights_of_samples_count_as_in_grid_search(self):
        import numpy
        from sklearn.svm import SVC

        weights = numpy.arange(150.0) + 1
        fit = {"X": self.x, "y": self.y, "sample_weight": weights}
        ours, theirs = self.both(SVC(), {"C": [0.01, 0.1, 1]}, fit=fit, cv=3)
        self.assertEqual(ours.predict(self.x).tolist(), theirs.predict(self.x).tolist())
        self.both(SVC(), {"C": [0.01, 1]}, fit=fit, cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro")
        self.both(SVC(), {"C": [0.01, 1]}, fit=fit, cv=3, scoring=accuracy)

    def test_parameters_that_would_be_routed_are_refused(self):
        import sklearn
        from sklearn.svm import SVC

        if "enable_metadata_routing" not in sklearn.get_config():
            self.skipTest("this scikit-learn routes nothing")
        with sklearn.config_context(enable_metadata_routing=True):
            with self.assertRaisesRegex(ValueError, "fit: read sample_weight while enable_metadata_routing is on"):
                self.search(SVC(), {"C": [1]}, fit={"X": self.x, "y": self.y, "sample_weight": [1.0] * 150})

    def test_settings_of_scikit_learn_hold_in_the_trials(self):
        import sklearn
        from sklearn.preprocessing import StandardScaler

        def setting(estimator, x, y):
            return float(sklearn.get_config()["assume_finite"])

        with sklearn.config_context(assume_finite=True):
            found = self.search(StandardScaler(), {"with_std": [True]}, n_iter=None, scoring=setting, cv=2)
        self.assertEqual(found.best_score_, 1.0)

    def test_groups_stay_together(self):
        import numpy
        from sklearn.model_selection import GroupKFold
        from sklearn.svm import SVC

        fit = {"X": self.x, "y": self.y, "groups": numpy.arange(150) // 7}
        self.both(SVC(), {"C": [0.01, 1]}, fit=fit, cv=GroupKFold(4))

    def test_sparse_data_and_lists_are_searched(self):
        import scipy.sparse
        from sklearn.svm import SVC

        for x in (scipy.sparse.csr_matrix(self.x), self.x.tolist()):
            ours, theirs = self.both(SVC(), {"C": [0.01, 1]}, fit={"X": x, "y": list(self.y)}, cv=3)
            self.assertEqual(ours.decision_function(x).tolist(), theirs.decision_function(x).tolist())
            self.assertEqual(ours.n_features_in_, 4)
            self.assertEqual(ours.classes_.tolist(), [0, 1, 2])

    def test_a_search_is_pickled(self):
        from sklearn.svm import SVC

        found = self.search(SVC(), {"C": [1]}, n_iter=None, cv=2)
        again = pickle.loads(pickle.dumps(found))
        self.assertEqual(again.score(self.x, self.y), found.score(self.x, self.y))


if __name__ == "__main__":
    unittest.main()
