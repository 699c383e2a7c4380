#!/usr/bin/env python3
"""Trials a second of a Python objective that returns at once, stored durably: ours with two slots, and Optuna on
SQLite in the same run, where it can be imported.

usage: bench/python_trials.py [--trials N] [--rounds N]      (programs: build/release/bin)
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "build/release/bin/python"))

import tune  # noqa: E402


def objective(trial):
    return trial["x"] ** 2


def of_report(trial):
    for step in range(300):
        begin = time.perf_counter()
        trial.report(value=step, millis=last if step else 0)
        last = (time.perf_counter() - begin) * 1e3


def ours(count, folder):
    begin = time.perf_counter()
    sweep = tune.run(objective, {"x": tune.uniform(0, 1)}, metric="value", mode="min", samples=count,
                     seed=1, max_concurrent=2, folder=folder, db=Path(folder) / "tune.db")
    elapsed = time.perf_counter() - begin
    assert len(sweep.trials) == count and sweep.status == "FINISHED"
    return count / elapsed


def report_millis(folder):
    sweep = tune.run(of_report, {"x": tune.uniform(0, 1)}, metric="value", mode="min", samples=1,
                     folder=folder, db=Path(folder) / "reports.db")
    return statistics.median(row["millis"] for row in sweep.reports() if row["iteration"] > 1)


def optunas(count, folder):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=f"sqlite:///{folder}/optuna.db", sampler=optuna.samplers.RandomSampler(seed=1))
    begin = time.perf_counter()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=count)
    return count / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("TUNE_PROGRAM", str(ROOT / "build/release/bin/tune"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Of each sweep, what it says.
    rates, waits, peers = [], [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rates.append(ours(options.trials, folder))
            waits.append(report_millis(folder))
            try:
                peers.append(optunas(max(50, options.trials // 50), folder))
            except ImportError:
                pass
    told = lambda values: f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"
    print(f"ours, trials/s                 {told(rates)}")
    print(f"ours, ms a committed report    {told(waits)}")
    print(f"optuna, trials/s               {told(peers)}" if peers else "optuna                         is not here")


if __name__ == "__main__":
    main()
