"""Opens an exported study with Optuna, prints what is in it as JSON, and goes on with it.

Usage: read_study.py optuna.db NAME. Exits 77 where there is no Optuna.
"""

import json
import math
import sys

try:
    import optuna
except ImportError:
    print("there is no python3-optuna")
    sys.exit(77)

optuna.logging.set_verbosity(optuna.logging.ERROR)


def plain(value):
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def trial_of(trial):
    return {
        "number": trial.number,
        "state": trial.state.name,
        "params": dict(sorted(trial.params.items())),
        "distributions": {name: repr(d) for name, d in trial.distributions.items()},
        "values": trial.values,
        "intermediate": {step: plain(value) for step, value in trial.intermediate_values.items()},
        "attributes": trial.user_attrs,
        "start": str(trial.datetime_start),
        "complete": str(trial.datetime_complete),
    }


study = optuna.load_study(storage="sqlite:///" + sys.argv[1], study_name=sys.argv[2])
several = len(study.directions) > 1
answer = {
    "directions": [direction.name for direction in study.directions],
    "status": study.user_attrs["status"],
    "trials": [trial_of(trial) for trial in study.trials],
    "best": [trial.number for trial in study.best_trials] if several else study.best_trial.number,
}
try:
    import pandas  # noqa: F401

    frame = study.trials_dataframe()
    answer["rows"] = len(frame)
except ImportError:
    pass


def objective(trial):
    for name, distribution in study.trials[0].distributions.items():
        trial._suggest(name, distribution)
    return [0.5] * len(study.directions) if several else 0.5


study.optimize(objective, n_trials=2)
answer["after"] = [trial.state.name for trial in study.trials]
print(json.dumps(answer))
