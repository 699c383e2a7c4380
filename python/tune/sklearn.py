"""For scikit-learn: a search over an estimator's parameters, with the interface of GridSearchCV.

    from tune.sklearn import SearchCV

    search = SearchCV(SVC(), {"C": tune.loguniform(1e-2, 1e3), "kernel": ["linear", "rbf"]}, n_iter=50)
    search.fit(X, y)
    search.best_params_, search.best_score_, search.predict(X_new)

Each candidate is a trial: it is cross-validated in a process of its own, on the same folds as all
others, and its scores are in the database as soon as they are known.

Thread rule: that of the estimator.
"""

from __future__ import annotations

import numbers
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import joblib
import numpy
import sklearn
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils.metaestimators import available_if

from ._kept_file import keep
from ._space import Domain, choice
from ._sweep import PathLike, Sweep, SweepError, run

_PLAIN = (bool, int, float, str, type(None))
_ALL_FOLDS_FAILED = "all_folds_failed"  # In place of the columns of cv_results_.


class SearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Searches for the parameters of `estimator` with the best mean score over folds.

    `space`: a domain for each parameter (`tune.uniform` and its like), or a list of values, which
    may be any objects; names as `estimator.set_params` takes them ("svc__C"). `n_iter`: how many
    candidates; None: each combination of the lists. `scoring`: a name or a function as scikit-learn
    has them; a list or map of several, of which `refit` names the one that counts. `refit` may be a
    function, which is given cv_results_ and returns best_index_; the sweep then searches by the
    first score. `error_score`: the score of folds whose training fails; "raise": the first such
    failure ends the search with `tune.SweepError`. `cv`, `return_train_score`: as GridSearchCV.
    `n_jobs`: how many candidates at a time; None or -1: one a core. `search`: "auto", "random",
    "tpe", "gp" and so on. `random_state`: the sweep's seed. `name`, `db`, `folder`: as `tune.run`.

    A candidate whose training fails on all folds is a failed trial: its error is in `sweep_.trials`.
    There is no early stopping: a mean over a part of the folds is no score to compare.

    Afterwards, as GridSearchCV has them: best_params_, best_score_, best_index_, best_estimator_,
    refit_time_, cv_results_, n_splits_, scorer_, multimetric_; and `sweep_`, the `tune.Sweep`.

    Raises TypeError and ValueError as scikit-learn does, `tune.TuneError` where the space is wrong,
    `tune.SweepError` when no candidate could be trained, KeyboardInterrupt after Ctrl-C.
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any],
        *,
        n_iter: Optional[int] = 10,
        scoring: Any = None,
        n_jobs: Optional[int] = None,
        refit: Union[bool, str, Callable[[Dict[str, Any]], int]] = True,
        cv: Any = None,
        error_score: Union[float, str] = numpy.nan,
        return_train_score: bool = False,
        search: Union[str, Mapping[str, Any]] = "auto",
        random_state: Optional[int] = None,
        name: Optional[str] = None,
        db: Optional[PathLike] = None,
        folder: PathLike = ".",
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_iter = n_iter
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.search = search
        self.random_state = random_state
        self.name = name
        self.db = db
        self.folder = folder

    def fit(self, X: Any, y: Any = None, groups: Any = None, **fit_params: Any) -> "SearchCV":
        """Runs the sweep, waits for its end, and trains the best candidate on all data."""
        key, scoring = self._scoring()
        if fit_params and sklearn.get_config().get("enable_metadata_routing", False):
            raise ValueError(
                f"fit: read {', '.join(fit_params)} while enable_metadata_routing is on, which SearchCV does"
                " not know: call sklearn.set_config(enable_metadata_routing=False) first"
            )
        if self.error_score != "raise" and not isinstance(self.error_score, numbers.Number):
            raise ValueError(f"error_score: read {self.error_score!r}, expected a number or 'raise'")
        space, objects = _space_of(self.space)
        _check_names(self.estimator, space)
        samples, algorithm = self.n_iter, self.search
        if samples is None:
            space = {name: _as_choice(domain) for name, domain in space.items()}
            samples, algorithm = _count(space), "grid"
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, groups))  # Drawn once: all candidates have the same.
        folder = Path(self.folder).resolve()
        data = _kept((X, y, splits, fit_params), folder)
        task = Task(
            clone(self.estimator), str(data), objects, key, scoring=scoring, error_score=self.error_score,
            return_train_score=self.return_train_score,
        )
        cpus = None if self.n_jobs in (None, -1) else self.n_jobs
        try:
            self.sweep_ = run(
                task, space, metric=f"mean_test_{key}", mode="max", samples=samples,
                name=self.name or type(self.estimator).__name__, seed=self.random_state,
                search=algorithm, cpus=cpus, db=self.db, folder=folder,
                limits=self._limits(),
            )
        except SweepError as error:  # The first failure may come before the first score.
            raise SweepError(f"error_score: {error}") if self.error_score == "raise" else error
        if self.error_score == "raise":
            _raise_first_failure(self.sweep_)
        self.multimetric_ = isinstance(scoring, dict) or (callable(scoring) and key != "score")
        self.n_splits_ = len(splits)
        is_map = isinstance(scoring, dict) or callable(scoring)
        self.scorer_ = scoring if is_map else check_scoring(self.estimator, scoring)
        self._read(key, objects)
        if self.refit:
            self._refit(X, y, fit_params)
        return self

    def _limits(self) -> Optional[Dict[str, int]]:
        if self.error_score == "raise":
            return {"failed_trials": 1}
        # Of a grid the first value of its first parameter may be one that nothing else goes with.
        return {"failed_alike": 0} if self.n_iter is None else None

    def _scoring(self) -> Tuple[str, Any]:
        """(the part of its name that counts, one scorer or a map of several)."""
        if isinstance(self.scoring, (list, tuple, set)):
            scoring: Any = {str(name): name for name in self.scoring}
        elif isinstance(self.scoring, Mapping):
            scoring = dict(self.scoring)
        elif callable(self.scoring) and isinstance(self.refit, str):
            return self.refit, self.scoring  # It returns a map.
        else:
            return "score", self.scoring
        if isinstance(self.refit, str) and self.refit in scoring:
            key = self.refit
        elif self.refit is False or callable(self.refit):
            key = next(iter(scoring))
        else:
            raise ValueError(
                f"refit: read {self.refit!r}, expected the one of {', '.join(scoring)} that counts,"
                " a function, or False"
            )
        return key, {name: check_scoring(self.estimator, one) for name, one in scoring.items()}

    def _read(self, key: str, objects: Mapping[str, Mapping[str, Any]]) -> None:
        rows = _rows(self.sweep_, f"mean_test_{key}", self.error_score)
        params = [_restored(config, objects) for config, _ in rows]
        results: Dict[str, Any] = {"params": params}
        for name in sorted({name for one in params for name in one}):
            held = [one.get(name) for one in params]
            array = numpy.ma.MaskedArray(numpy.empty(len(held), dtype=object), mask=True)
            for i, one in enumerate(params):
                if name in one:
                    array[i] = held[i]
            results["param_" + name] = array
        for name in sorted({name for _, row in rows for name in row}):
            results[name] = numpy.array([row.get(name, numpy.nan) for _, row in rows], dtype=float)
            if name.startswith("mean_test_"):
                results["rank_test_" + name[len("mean_test_") :]] = _ranks(results[name])
        self.cv_results_ = results
        if self.multimetric_ and not self.refit:
            return  # No score is the one that counts.
        if callable(self.refit):
            self.best_index_ = self.refit(results)
            if not isinstance(self.best_index_, numbers.Integral):
                raise TypeError(f"refit: it returned {self.best_index_!r}, expected an index of cv_results_")
            if not 0 <= self.best_index_ < len(params):
                raise IndexError(
                    f"refit: it returned the index {self.best_index_}, expected one from 0 to {len(params) - 1}"
                )
        else:
            self.best_index_ = int(results[f"rank_test_{key}"].argmin())
            self.best_score_ = float(results[f"mean_test_{key}"][self.best_index_])
        self.best_params_ = params[self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: Mapping[str, Any]) -> None:
        self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        begin = time.perf_counter()
        self.best_estimator_.fit(X, **({} if y is None else {"y": y}), **fit_params)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def score(self, X: Any, y: Any = None) -> float:
        """Of the best estimator, by the scorer that counted."""
        if isinstance(self.scorer_, dict) and callable(self.refit):
            raise ValueError("score: there are several scores, and refit is a function: no one of them counts")
        scorer = self.scorer_[self.refit] if isinstance(self.scorer_, dict) else self.scorer_
        score = scorer(self._best(), X, y)
        return float(score[self.refit] if isinstance(score, Mapping) else score)

    def _best(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("there is no best estimator: call fit first, with refit")
        return self.best_estimator_

    @property
    def classes_(self) -> Any:
        return self._best().classes_

    @property
    def n_features_in_(self) -> Any:
        return self._best().n_features_in_

    @property
    def _estimator_type(self) -> Any:
        return getattr(self.estimator, "_estimator_type", None)

    def __sklearn_tags__(self) -> Any:
        """Of newer scikit-learns: as its estimator is."""
        tags = super().__sklearn_tags__()
        own = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.input_tags = own.regressor_tags, own.input_tags
        return tags


def _delegated(name: str) -> Any:
    def has(search: SearchCV) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), name)

    def call(self: SearchCV, *arguments: Any) -> Any:
        return getattr(self._best(), name)(*arguments)

    call.__name__ = name
    call.__doc__ = f"`{name}` of the best estimator."
    return available_if(has)(call)


for _name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform",
              "inverse_transform", "score_samples"):
    setattr(SearchCV, _name, _delegated(_name))


class Task:
    """The objective: cross-validates one candidate. Data and folds are read once a process.

    GridSearchCV of that one candidate does the work, so that its scores are what the installed
    scikit-learn gives it: weights of samples, scorers of all kinds, errors.
    """

    def __init__(self, estimator: Any, data: str, objects: Mapping[str, Mapping[str, Any]], key: str,
                 **options: Any) -> None:
        self.estimator, self.data, self.objects, self.options = estimator, data, objects, options
        self.key = key
        self.settings = sklearn.get_config()
        self._loaded: Optional[Tuple[Any, ...]] = None

    def __call__(self, trial: Mapping[str, Any]) -> Dict[str, float]:
        if self._loaded is None:
            self._loaded = joblib.load(self.data, mmap_mode="r")
        X, y, splits, fit_params = self._loaded
        with sklearn.config_context(**self.settings):
            estimator = clone(self.estimator).set_params(**_restored(trial, self.objects))
            search = GridSearchCV(estimator, {}, cv=splits, refit=False, **self.options)
            try:
                search.fit(X, y, **fit_params)
            except Exception:
                error_score = self.options["error_score"]
                if error_score == "raise" or not numpy.isfinite(error_score):
                    raise  # A failed trial.
                traceback.print_exc()
                return {"mean_test_" + self.key: float(error_score), _ALL_FOLDS_FAILED: 1.0}
        columns = search.cv_results_
        if "mean_test_" + self.key not in columns:
            names = [name[len("mean_test_") :] for name in columns if name.startswith("mean_test_")]
            raise ValueError(
                f"scoring: it returned {', '.join(names)}, and refit names none of them: name the one that counts"
            )
        return {
            name: float(column[0])
            for name, column in columns.items()
            if name.startswith(("mean_", "std_", "split"))
        }


def _rows(sweep: Sweep, metric: str, error_score: Any) -> List[Tuple[Dict[str, Any], Dict[str, float]]]:
    """(configuration, columns of cv_results_) of all candidates that have run, by trial."""
    reports = {row["trial"]: row for row in sweep.reports() if metric in row}
    skipped = ("trial", "iteration", "value", _ALL_FOLDS_FAILED)
    found = {
        trial: {name: _as_float(value) for name, value in row.items() if name not in skipped}
        for trial, row in reports.items()
        if _ALL_FOLDS_FAILED not in row
    }
    columns = {name for row in found.values() for name in row}
    rows = []
    for trial in sweep.trials:
        if trial.number in found:
            rows.append((trial.config, found[trial.number]))
        elif trial.number in reports or trial.status == "ERROR":
            is_score = ("mean_test_", "mean_train_", "split")
            failed = {name: float(error_score) if name.startswith(is_score) else 0.0 for name in columns}
            if not numpy.isfinite(error_score):
                failed.update((name, numpy.nan) for name in columns if name.startswith("std_t"))
            rows.append((trial.config, failed))
    return rows


def _as_float(value: Any) -> float:
    return numpy.nan if value is None else float(value)


def _ranks(means: Any) -> Any:
    """From 1, ties alike; NaN is tied with the worst, as GridSearchCV has it."""
    if numpy.isnan(means).all():
        return numpy.ones(len(means), dtype=numpy.int32)
    means = numpy.where(numpy.isnan(means), numpy.nanmin(means) - 1, means)
    return numpy.array([1 + (means > mean).sum() for mean in means], dtype=numpy.int32)


def _raise_first_failure(sweep: Sweep) -> None:
    for trial in sweep.trials:
        if trial.status == "ERROR":
            raise SweepError(f"error_score: trial {trial.number} of {sweep.name} failed: {trial.error}\n\n{trial.log}")


def _space_of(space: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Dict[str, Any]]]:
    """(what the engine searches, {parameter: {its text there: the object}})."""
    if not isinstance(space, Mapping):
        raise TypeError(
            f"space: read a {type(space).__name__}, expected one map of parameters; of several grids make"
            " a search each"
        )
    made: Dict[str, Any] = {}
    objects: Dict[str, Dict[str, Any]] = {}
    for name, domain in space.items():
        if isinstance(domain, Domain) or not isinstance(domain, (list, tuple, numpy.ndarray)):
            if hasattr(domain, "rvs"):
                raise TypeError(
                    f"space: {name} is a distribution of SciPy's; write tune.uniform(low, high),"
                    " tune.loguniform, tune.randint and so on"
                )
            made[name] = domain
            continue
        values = list(domain)
        values = [value.item() if isinstance(value, numpy.generic) else value for value in values]
        if all(_is_plain(value) for value in values):
            made[name] = choice(values)
            continue
        texts = [str(value) for value in values]
        if len(set(texts)) < len(texts):
            texts = [f"{i}: {text}" for i, text in enumerate(texts)]
        objects[name] = dict(zip(texts, values))
        made[name] = choice(texts)
    return made, objects


def _is_plain(value: Any) -> bool:
    """Whether a space can hold it: numbers there are finite."""
    return isinstance(value, _PLAIN) and not (isinstance(value, float) and not numpy.isfinite(value))


def _as_choice(domain: Any) -> Any:
    """A grid_search, which a space runs `samples` times, as a list of which each value is taken once."""
    if not isinstance(domain, Domain) or "grid_search" not in domain:
        return domain
    return Domain({"choice" if key == "grid_search" else key: value for key, value in domain.items()})


def _restored(config: Mapping[str, Any], objects: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    return {
        name: clone(objects[name][value], safe=False) if name in objects else value
        for name, value in config.items()
    }


def _check_names(estimator: Any, space: Mapping[str, Any]) -> None:
    known = estimator.get_params(deep=True)
    for name in space:
        if name.split("__")[0] not in known:
            raise ValueError(
                f"space: {type(estimator).__name__} has no parameter {name}; it has {', '.join(sorted(known))}"
            )


def _count(space: Mapping[str, Any]) -> int:
    count = 1
    for name, domain in space.items():
        if isinstance(domain, Domain) and "const" not in domain:
            options = domain.get("choice") or domain.get("ordinal")
            if options is None:
                raise ValueError(f"n_iter: None tries each combination, and {name} has no list of values")
            count *= len(options)
    return count


def _kept(data: Sequence[Any], folder: Path) -> Path:
    """The data in a file that the trials read, under a name made of its content."""
    path = folder / ".tune" / f"{joblib.hash(data)[:16]}.data"
    return keep(path, lambda part: joblib.dump(data, part))
