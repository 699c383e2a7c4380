"""`tune.sklearn.SearchCV` beside scikit-learn's own searches."""

import contextlib
import importlib.util
import io
import os
import tempfile
import unittest

BIN = os.environ.get("TUNE_BIN_DIR", "")
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None

import tune


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
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return search.fit(*(fit or (self.x, self.y)))

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

    def test_a_candidate_that_fails_is_left_out_and_keeps_its_error(self):
        from sklearn.linear_model import LogisticRegression

        found = self.search(LogisticRegression(max_iter=500), {"C": [-1.0, 1.0]}, n_iter=None)
        self.assertEqual(found.cv_results_["params"], [{"C": 1.0}])
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


if __name__ == "__main__":
    unittest.main()
