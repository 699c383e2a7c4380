"""Sweeps from Python: begun, gone on with, looked at. The program `tune` does it all; here its
arguments are made and its answers read.

Thread rule: any thread; `run` and `resume` wait in the thread that calls them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _objective, _program
from ._display import Display, curves_as_svg, table_as_html
from ._program import TuneError
from ._space import plain
from ._yaml import as_yaml

Names = Union[str, Sequence[str]]
PathLike = Union[str, "os.PathLike[str]"]
Tags = Union[Mapping[str, str], Sequence[str]]
_NAMES_ELSEWHERE = {"num_samples": "samples", "n_trials": "samples", "direction": "mode", "config": "space"}
_REFUSED = 2
_FAILED = 1
_SOME_FAILED = 3  # Trials did, or no worker could take one.


class SweepError(RuntimeError):
    """A sweep has ended without a result; the text has the first trial's error."""


class TrialResult:
    """One trial of a sweep, as it stood when it was read."""

    def __init__(self, sweep: "Sweep", row: Mapping[str, Any]) -> None:
        self._sweep = sweep
        self.number: int = row["number"]
        self.status: str = row["status"]  # PENDING RUNNING PAUSED TERMINATED ERROR
        self.stop_reason: Optional[str] = row["stop_reason"]
        self.config: Dict[str, Any] = json.loads(row["config"])
        self.iterations: int = row["iterations"] or 0
        self.value: Optional[float] = row["best_value"]  # Its best, of the sweep's metric.
        self.best_iteration: Optional[int] = row["best_iteration"]
        # Of a sweep with limits on results (`feasible`), of its best report; else None.
        self.violation: Optional[float] = row.get("violation")
        self.feasible: Optional[bool] = None if row.get("feasible") is None else bool(row["feasible"])
        self.last_value: Optional[float] = row["last_value"]
        self.attempts: int = row["attempts"]
        self.run_seconds: Optional[float] = row["run_seconds"]
        self.error: Optional[str] = row["error"]
        self.expected: Optional[float] = None  # Of sweep.expected_best: what its configuration should come to.
        self.mean: Optional[float] = None  # Of sweep.best, with `repeat`: of all runs of its configuration.
        self._checkpoint: Optional[str] = row["checkpoint"]

    @property
    def checkpoint(self) -> Optional[Path]:
        """Its latest checkpoint, file or folder as it was reported; None: it has none.

        TuneError: it is on the machine of a head elsewhere, or in an object store (`sweep.export` fetches the best).
        """
        if self._checkpoint is None:
            return None
        if "--head" in self._sweep._db():
            raise TuneError(f"the checkpoint is on the head's machine, {self._checkpoint}; sweep.export(folder) fetches the best trial's")
        if self._checkpoint.startswith("s3://"):
            raise TuneError(f"the checkpoint is in an object store, {self._checkpoint}; sweep.export(folder) fetches the best trial's")
        folder = _present(self._checkpoint, self._sweep.db, self._sweep.name, self.number)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return folder / "data" / manifest["name"] if "name" in manifest else folder

    @property
    def log(self) -> str:
        """What it printed, tracebacks too."""
        return _program.ask(["logs", f"{self._sweep.name}/{self.number}", *self._sweep._db()])

    def log_of_rank(self, rank: int) -> str:
        """The same of one of several ranks (`resources={"workers": 2}`), from 0."""
        return _program.ask(["logs", f"{self._sweep.name}/{self.number}", "--rank", str(rank), *self._sweep._db()])

    def files(self, folder: PathLike) -> Path:
        """What it wrote to tune.folder(), in a new folder; it comes over from a head elsewhere."""
        target = _path("folder", folder)
        _program.ask(["files", f"{self._sweep.name}/{self.number}", "--export", str(target), *self._sweep._db()])
        return target

    @property
    def reports(self) -> List[Dict[str, Any]]:
        """A map for each iteration: `iteration`, `value` and the metrics."""
        return self._sweep.reports(self.number)

    def __repr__(self) -> str:
        value = "no value" if self.value is None else f"{self.value:.6g}"
        value += " infeasible" if self.feasible is False else ""
        value += "" if self.mean is None else f" (mean of its configuration's runs {self.mean:.6g})"
        return f"<trial {self.number} {self.status} {value} {self.config}>"


class Sweep:
    """A sweep of a database. What it tells is read anew each time."""

    def __init__(self, name: str, db: PathLike) -> None:
        self.name = name
        self.db = Path(db)

    # ---- results

    @property
    def status(self) -> str:
        """RUNNING, INTERRUPTED, FINISHED or STOPPED."""
        return str(self._status()["status"])

    @property
    def best(self) -> Optional[TrialResult]:
        """The best trial; None: no trial has a value. SweepError where there are several objectives.

        With `repeat` the best run of the best configuration: `value` is that run's own, `mean` that of all its runs,
        by which configurations are compared.
        """
        if self._has_several_objectives():
            raise SweepError(
                f"{self.name} has several objectives, and so no best trial but a front: sweep.front"
            )
        numbers = self._results("--best")
        if not numbers:
            return None
        best = self.trial(numbers[0])
        runs = _program.ask_json(["best", self.name, *self._db()])[0].get("runs")
        best.mean = runs["mean"] if runs else None
        return best

    @property
    def expected_best(self) -> TrialResult:
        """The best trial by what a model of all results expects of its configuration, which is `expected`.

        Under noise the best result is often a lucky one. SweepError: there are several objectives, or fewer than ten
        trials that were neither stopped nor failed.
        """
        try:
            told = _program.ask_json(["best", self.name, "--expected", *self._db()])[0]
        except TuneError as error:
            raise SweepError(str(error)) from None
        best = self.trial(told["trial"])
        best.expected = told["expected"]["value"]
        return best

    @property
    def front(self) -> List[TrialResult]:
        """Of several objectives: the trials that no other is better than in all."""
        return [self.trial(number) for number in self._results("--best", "--by", "run")]

    @property
    def trials(self) -> List[TrialResult]:
        """All, by number."""
        return [TrialResult(self, row) for row in self._rows("")]

    def trial(self, number: int) -> TrialResult:
        rows = self._rows(f"and t.number = {int(number)}")
        if not rows:
            raise KeyError(f"{self.name} has no trial {number}")
        return TrialResult(self, rows[0])

    def reports(self, trial: Optional[int] = None) -> List[Dict[str, Any]]:
        """A map for each report, by trial and iteration: `trial`, `iteration`, `value`, and the metrics.

        `value` is that of the sweep's metric, None where it is no number. Another metric of one of these
        three names is there as "metric.value" and so on.

        An iteration that came again, after a retry or where pbt let the trial go on as a copy of another, is
        there once, as it came last: the `value` of a trial may be of one that is not among them.
        """
        where = "" if trial is None else f"and t.number = {int(trial)}"
        rows = self._ask(
            "select t.number as trial, r.iteration, r.value, r.metrics,"
            " (select e.metric from experiments e where e.id = t.experiment) as metric from reports r"
            f" join trials t on t.id = r.trial where t.experiment = :experiment {where}"
            " order by t.number, r.iteration, r.attempt"
        )
        latest: Dict[Any, Dict[str, Any]] = {}  # An iteration that came again counts once.
        for row in rows:
            latest[row["trial"], row["iteration"]] = _report_of(row)
        return list(latest.values())

    @property
    def doubts(self) -> List[str]:
        """What may be wrong with its values; empty: nothing was noticed."""
        return [str(doubt) for doubt in self._status().get("doubts", [])]

    @property
    def note(self) -> str:
        """What a person wrote to it; nothing that tune decides depends on it."""
        return str(self._status()["note"])

    @property
    def tags(self) -> Dict[str, str]:
        """What a person finds it by."""
        return dict(self._status()["tags"])

    def spec(self) -> "Spec":
        """What a space file would say, with the seed that was drawn: it begins with the same trials."""
        rows = self._ask("select spec, seed from experiments where id = :experiment")
        return Spec({**json.loads(rows[0]["spec"]), "seed": int(rows[0]["seed"])})

    def export(self, folder: PathLike) -> Path:
        """The best trial's weights and configuration, in a new folder; it comes over from a head elsewhere."""
        target = _path("folder", folder)
        _program.ask(["best", self.name, "--export", str(target), *self._db()])
        return target

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each trial: number, status, values, parameters."""
        import pandas

        return pandas.DataFrame(_program.ask_json(["results", self.name, *self._db()]))

    def plot(self, file: Optional[PathLike] = None) -> Any:
        """The trials' curves as SVG: written to `file`, or shown in a notebook."""
        svg = curves_as_svg(self.reports(), self._status())
        if file is not None:
            Path(file).write_text(svg, encoding="utf-8")
            return None
        return Picture(svg)

    # ---- acting

    def annotate(self, note: Optional[str] = None, *, tags: Optional[Tags] = None, untag: Sequence[str] = ()) -> None:
        """Writes a note in place of the one that is there, adds tags, removes those of the keys `untag`.

            sweep.annotate("the lr was too high", tags={"team": "vision"})
        """
        words = labels_of(None, tags)
        if isinstance(untag, str):
            raise TypeError(f"untag: read {untag!r}, expected a list of keys")
        for key in untag:
            words += ["--untag", str(key)]
        text = [] if note is None else ["--", str(note)]
        if words or text:
            _program.ask(["note", *words, *self._db(), self.name, *text])

    def resume(
        self, *, samples: Optional[int] = None, errored: bool = False, **more: Any
    ) -> "Sweep":
        return resume(self.name, db=self.db, samples=samples, errored=errored, **more)

    # ---- reading

    def _has_several_objectives(self) -> bool:
        return isinstance(self.spec()["metric"], list)

    def _db(self) -> List[str]:
        return ["--db", str(self.db)]

    def _status(self) -> Dict[str, Any]:
        return dict(_program.ask_json(["status", self.name, *self._db()])[0])

    def _results(self, *arguments: str) -> List[int]:
        rows = _program.ask_json(["results", self.name, *arguments, *self._db()])
        return [row["number"] for row in rows]

    def _ask(self, sql: str) -> List[Dict[str, Any]]:
        return list(_program.ask_json(["results", self.name, "--sql", sql, *self._db()]))

    def _given_up(self) -> str:
        """Why nobody tries an INTERRUPTED one again (`limits.unplaceable`); empty: that is not so."""
        rows = self._ask("select given_up from experiments where id = :experiment and status = 'INTERRUPTED'")
        return str(rows[0]["given_up"]) if rows else ""

    def _rows(self, where: str) -> List[Dict[str, Any]]:
        return self._ask(
            "select t.*, (select a.error from attempts a where a.trial = t.id and a.error <> ''"
            " and a.outcome not in ('completed', 'stopped')"
            " order by a.number desc limit 1) as error, (select c.path from checkpoints c where"
            " c.trial = t.id and c.state = 'durable' order by c.iteration desc limit 1) as"
            f" checkpoint from trials t where t.experiment = :experiment {where} order by t.number"
        )

    def __repr__(self) -> str:
        status = self._status()
        found = f"front {self.front}" if self._has_several_objectives() else f"best {self.best!r}"
        trials = "1 trial" if status["trials"] == 1 else f"{status['trials']} trials"
        return f"<sweep {self.name} {status['status']}, {trials}, {found}>"

    def _repr_html_(self) -> str:
        return table_as_html(self._status(), _program.ask_json(["results", self.name, "--top", "10", *self._db()]))

    def __iter__(self) -> Iterator[TrialResult]:
        return iter(self.trials)


def _report_of(row: Mapping[str, Any]) -> Dict[str, Any]:
    """Of a row with trial, iteration, value, metric (the sweep's) and metrics (JSON)."""
    report = {"trial": row["trial"], "iteration": row["iteration"], "value": _number_of(row["value"])}
    for name, number in json.loads(row["metrics"] or "{}").items():
        if name == "value" == row["metric"]:
            continue  # Is there.
        report["metric." + name if name in ("trial", "iteration", "value") else name] = _number_of(number)
    return report


def _number_of(read: Any) -> Any:
    """JSON has a word for what is not finite: "NaN", "Infinity"."""
    return float(read) if isinstance(read, str) else read


class Picture(str):
    """SVG that a notebook shows."""

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<a picture, {len(self)} bytes of SVG>"


class Spec(Dict[str, Any]):
    """A space file as a map; printed, it is YAML."""

    def __str__(self) -> str:
        return as_yaml(self)


def make_spec(
    objective: Union[Callable[..., Any], Mapping[str, Any], str, None],
    space: Mapping[str, Any],
    metric: Names,
    mode: Union[Names, None],
    folder: PathLike,
    more: Mapping[str, Any],
    *,
    elsewhere: bool = False,
) -> Spec:
    """Keys in the order that a reader wants; those of `more` with a trailing `_` left out: `from_`."""
    # Of what is neither a name nor a list of names the program says so.
    names = [metric] if isinstance(metric, str) else list(metric) if isinstance(metric, (list, tuple)) else []
    spec = Spec({"metric": plain(metric, "metric"), "mode": plain(mode, "mode")})
    if mode is None:
        del spec["mode"]
    if callable(objective):
        path = _objective.store(objective, Path(folder), elsewhere=elsewhere)
        command = [sys.executable, "-m", "tune._trial", str(path.relative_to(folder)), *names]
        spec["trainable"] = {"command": command, "working_dir": str(folder), "serve": True}
    elif isinstance(objective, (str, Mapping)):
        spec["trainable"] = plain(objective)
    elif objective is not None:
        raise _objective.ObjectiveError(
            f"objective: read {objective!r}, expected a function, or a trainable as a space file has it"
        )
    if space is None:  # A space file may leave it out.
        raise TuneError("space: read None, expected a map from parameters to domains or constants")
    spec["space"] = plain(space, "space")
    for name, value in more.items():
        if value is not None:
            spec[name.rstrip("_")] = plain(value, name.rstrip("_"))
    if isinstance(spec.get("search"), str):
        spec["search"] = {"algorithm": spec["search"]}
    for name in ("repeat", "unique"):  # Options of every search.
        if name in spec:
            spec["search"] = {**spec.get("search", {"algorithm": "random"}), name: spec.pop(name)}
    if isinstance(spec.get("scheduler"), str):
        spec["scheduler"] = {spec["scheduler"]: {}}
    return spec


def run_spec(
    objective: Union[Callable[..., Any], Mapping[str, Any], str],
    space: Mapping[str, Any],
    metric: Names,
    mode: Names,
    folder: PathLike,
    name: Optional[str],
    more: Mapping[str, Any],
    *,
    elsewhere: bool = False,
) -> Spec:
    """A spec that bears a name: the objective's where none is given. TypeError: `more` has a word of
    another library."""
    for other in _NAMES_ELSEWHERE.keys() & more.keys():
        raise TypeError(f"{other}: tune.run calls it {_NAMES_ELSEWHERE[other]}")
    name = name or _objective.name_of(objective) or "sweep"
    return make_spec(objective, space, metric, mode, folder, {**more, "name": name}, elsewhere=elsewhere)


def run(
    objective: Union[Callable[..., Any], Mapping[str, Any], str],
    space: Mapping[str, Any],
    *,
    metric: Names,
    mode: Names,
    samples: int = 10,
    name: Optional[str] = None,
    seed: Optional[int] = None,
    search: Union[str, Mapping[str, Any], None] = None,
    scheduler: Union[str, Mapping[str, Any], None] = None,
    repeat: Optional[int] = None,
    unique: Optional[bool] = None,
    max_concurrent: Optional[int] = None,
    cpus: Optional[int] = None,
    gpus: Optional[int] = None,
    db: Optional[PathLike] = None,
    folder: PathLike = ".",
    listen: Optional[str] = None,
    note: Optional[str] = None,
    tags: Optional[Tags] = None,
    **more: Any,
) -> Sweep:
    """Runs a sweep, waits for its end, returns it.

        def objective(trial):
            for epoch in range(20):
                trial.report(accuracy=train_one_epoch(lr=trial["lr"]))

        sweep = tune.run(objective, {"lr": tune.loguniform(1e-4, 1e-1)}, metric="accuracy", mode="max")

    `objective` is a function of one argument, the trial (a map: its configuration), which reports,
    or returns a number or a map of metrics, or yields them one iteration after the other. Each trial
    runs it in a process of its own. It may also be what a space file has as `trainable`.
    `space` is what a space file has under `space`, with `tune.uniform` and its like.
    `max_concurrent` trials run at a time, `cpus` and `gpus` are what this machine offers. `folder`
    is where trials run; workers of other machines (`listen`) get a copy of it. `note` and `tags` (a map,
    or a list of keys) are yours, to find it by (`sweep.annotate` changes them). Any other key of a space file can be given by its name (`limits=`, `resources=`, `stop=`, `from_=` ...).

    Ctrl-C, a kernel that is restarted, and the death of this process end the sweep in order: `tune.resume`
    goes on. Raises `TuneError` when the sweep cannot begin or was interrupted (the text says what is wrong),
    `SweepError` when it has ended and no trial has a value, KeyboardInterrupt after Ctrl-C.
    """
    _objective.check_begins("tune.run")
    folder, db = existing(folder), database(db)
    if objective is None:
        raise _objective.ObjectiveError(
            "objective: read None, expected a function, or a trainable as a space file has it"
        )
    more.update(search=search, scheduler=scheduler, samples=samples, repeat=repeat, unique=unique)
    spec = run_spec(objective, space, metric, mode, folder, name, more)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".json", prefix=".tune-", dir=folder, encoding="utf-8"
    ) as file:
        json.dump(spec, file, indent=1)
        file.flush()
        arguments = ["run", file.name, "--db", str(db)] + _program.options(
            seed=seed, max_concurrent=max_concurrent, cpus=cpus, gpus=gpus, listen=listen
        ) + labels_of(note, tags)
        _check(arguments, file.name)
        # The space is read before the name is printed; the file would stay where we are killed.
        return _conduct([*arguments, "--print-name"], None, db, begun=file.close)


def resume(
    name: Optional[str] = None,
    *,
    db: Optional[PathLike] = None,
    samples: Optional[int] = None,
    errored: bool = False,
    cpus: Optional[int] = None,
    gpus: Optional[int] = None,
) -> Sweep:
    """Goes on with a sweep, by default the latest that is not over, and waits for its end.

    `samples` is its new total; `errored` gives trials that failed another chance. Errors as of `run`.
    """
    _objective.check_begins("tune.resume")
    db = database(db)
    name = _name(name) or _to_resume(db)
    samples = plain(samples, "samples")  # NumPy's integer, too.
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int)):
        raise TypeError(f"samples: read {samples!r}, expected an integer")
    arguments = ["resume", name, "--db", str(db)]
    arguments += _program.options(samples=samples, errored=errored, cpus=cpus, gpus=gpus)
    return _conduct(arguments, name, db)


def load(name: Optional[str] = None, *, db: Optional[PathLike] = None) -> Sweep:
    """A sweep of a database, by default the latest. TuneError: there is none."""
    db = database(db)
    named = _name(name)
    if not named:
        return Sweep(_latest(db), db)
    sweep = Sweep(named, db)
    sweep._status()  # TuneError: it is not there.
    return sweep


def database(db: Optional[PathLike]) -> Path:
    """As each command has it: the one that is named, else that of TUNE_DB, else tune.db here."""
    return _path("db", os.environ.get("TUNE_DB") or "tune.db" if db is None else db)


def labels_of(note: Optional[str], tags: Optional[Tags]) -> List[str]:
    """As options of the program."""
    if isinstance(tags, str):
        raise TypeError(f"tags: read {tags!r}, expected a map, or a list of keys: ['baseline']")
    words = [] if note is None else ["--note", str(note)]
    for key in tags or ():
        words += ["--tag", f"{key}={tags[key]}" if isinstance(tags, Mapping) else str(key)]
    return words


def _latest(db: PathLike) -> str:
    return str(_program.ask_json(["status", "--db", str(db)])[0]["name"])


def _to_resume(db: PathLike) -> str:
    """The one that `tune resume` takes without a name: nobody resumes a sweep of ask and tell."""
    rows = _program.ask_json(
        ["results", "--db", str(db), "--sql", "select name from experiments"
         " where json_extract(spec, '$.trainable') is not 'ask-tell'"
         " order by status in ('RUNNING', 'INTERRUPTED') desc, id desc limit 1"]
    )
    return str(rows[0]["name"]) if rows else _latest(db)


def _path(name: str, value: PathLike) -> Path:
    try:
        return Path(value)
    except TypeError:
        raise TypeError(f"{name}: read {value!r}, expected a path") from None


def _present(stored: str, db: Path, sweep: str, trial: int) -> Path:
    """Where a stored path of a trial's is now: a database may be moved with its artifacts (tuner/artifact_path.h),
    or copied without them."""
    within = f"/{sweep}/{trial}/"
    begin = stored.rfind(within)
    if begin < 0 or "/../" in stored or stored.endswith("/.."):
        return Path(stored)
    present = Path(os.path.splitext(os.path.abspath(db))[0] + ".artifacts" + stored[begin:])
    only_stayed = not present.exists() and os.path.exists(stored)
    return Path(stored) if only_stayed else present


def existing(folder: PathLike) -> Path:
    path = _path("folder", folder).resolve()
    if not path.is_dir():
        raise TuneError(f"folder: {path} is no folder")
    return path


def _name(value: Optional[str]) -> Optional[str]:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"name: read {value!r}, expected the name of a sweep")
    return value


def _check(arguments: Sequence[str], file: str) -> None:
    """Told as an exception, and before anything is written."""
    try:
        _program.ask([*arguments, "--dry-run"])
    except TuneError as error:
        raise TuneError(in_spec(str(error), file)) from None


def in_spec(text: str, file: str) -> str:
    """An error with the place's name, "space.lr: ...", for the file's line and column, which nobody sees."""
    place = re.match(re.escape(file) + r":(\d+):\d+: ", text)
    if place is None:
        return text
    path: List[str] = []
    for line in Path(file).read_text(encoding="utf-8").splitlines()[: int(place[1])]:
        key = re.match(r'( *)"((?:[^"\\]|\\.)*)": ', line)
        if key is not None:
            del path[len(key[1]) - 1 :]
            path.append(key[2])
    rest = text[place.end() :]
    if len(path) > 1 and rest.startswith(": ".join(path) + ": "):
        rest = rest[len(": ".join(path)) + 2 :]
    if path and rest.startswith((f"{path[-1]}:", f"'{path[-1]}'")):
        del path[-1]
    return f"{'.'.join(path)}: {rest}" if len(path) > 1 else rest


def _conduct(
    arguments: Sequence[str], name: Optional[str], db: PathLike, begun: Callable[[], object] = lambda: None
) -> Sweep:
    """`begun` is called once the program has told the sweep's name."""
    display = Display.choose()
    process = _program.start(arguments, stderr=display.stderr)
    assert process.stdout is not None
    interrupted = False
    sweep = Sweep(name, db) if name else None
    summary: Optional[_program.Reading] = None
    while True:
        try:
            if sweep is None and summary is None:
                line = process.stdout.readline().strip()
                sweep = Sweep(line, db) if line else None
                begun()
            summary = summary or _program.Reading(process.stdout)
            display.follow(process, sweep)
            status = process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
            _program.interrupt(process)
    display.finish(process, sweep, summary.text())
    if interrupted:
        raise KeyboardInterrupt(_interrupted(sweep) if sweep else "the sweep was interrupted; tune.resume() goes on")
    if sweep is None or status == _REFUSED or status == _FAILED:
        raise TuneError(display.last_line() or f"tune ended with status {status}: see what it wrote above")
    if status not in (0, _SOME_FAILED):  # It was killed, or told to end.
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        raise TuneError(_interrupted(sweep, f" (tune ended {how})"))
    if status == _SOME_FAILED and (reason := sweep._given_up()):
        raise TuneError(f"{sweep.name} is given up: {reason}; tune.resume({sweep.name!r}) tries it again")
    trials = sweep.trials
    if trials and all(trial.value is None for trial in trials):
        raise SweepError(_why_nothing(sweep, trials))
    return sweep


def _interrupted(sweep: Sweep, how: str = "") -> str:
    return f"{sweep.name} was interrupted{how}; tune.resume({sweep.name!r}) goes on"


def _why_nothing(sweep: Sweep, trials: Sequence[TrialResult]) -> str:
    failed = [trial for trial in trials if trial.error]
    text = f"no trial of {sweep.name} has a value"
    if not failed:
        return text
    text += f"; trial {failed[0].number}: {failed[0].error}"
    try:
        log = failed[0].log
    except (TuneError, subprocess.SubprocessError):
        return text
    begin = log.find("Traceback (most recent call last)")
    return text + ("\n\n" + log[begin:].rstrip() if begin >= 0 else "")
