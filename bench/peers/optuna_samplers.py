#!/usr/bin/python3
"""Optuna's samplers on the functions of bench/search_quality, one trial after the other: ask, answer, tell. Prints the
same CSV as `search_quality run`.

    bench/peers/optuna_samplers.py BIN_DIR [--program search_quality|front_quality|limit_quality] [--sampler NAME]... [--function NAME]...
                                   [--first-seed 0] [--seeds 20] [--trials 80]

To stderr: the processor time of a suggestion, the time to tell its result included. The functions are those of our
program, asked over a pipe, so that both sides see the same values and the same noise. Each domain is written as Optuna's
users would, in its best form: an ordinal list as the integer of its place. Nobody tells a sampler the reference point of
several objectives. Those that end in _limits take the limits as Optuna's constraints.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings

import optuna


def told_constraints(trial):
    return trial.user_attrs["constraints"]


SAMPLERS = {
    "optuna_random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "optuna_tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "optuna_tpe_multivariate": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "optuna_gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "optuna_gp_limits": lambda seed: optuna.samplers.GPSampler(seed=seed, constraints_func=told_constraints),
    "optuna_tpe_limits": lambda seed: optuna.samplers.TPESampler(seed=seed, constraints_func=told_constraints),
    "optuna_tpe_multivariate_limits": lambda seed: optuna.samplers.TPESampler(
        seed=seed, multivariate=True, group=True, constraints_func=told_constraints),
    "optuna_nsga2_limits": lambda seed: optuna.samplers.NSGAIISampler(seed=seed, constraints_func=told_constraints),
    "optuna_nsga2": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    "optuna_cmaes": lambda seed: optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
}


def suggest(trial, name, domain):
    """A value of one of our domains; high ends that ours exclude are the double or integer before."""
    kind = next(key for key in domain if key not in ("when", "weights"))
    arguments = domain[kind]
    if kind in ("uniform", "loguniform"):
        low, high = arguments
        return trial.suggest_float(name, low, math.nextafter(high, low), log=kind == "loguniform")
    if kind == "quniform":
        low, high, step = arguments
        return trial.suggest_float(name, low, high, step=step)
    if kind in ("randint", "lograndint"):
        low, high = arguments
        return trial.suggest_int(name, low, high - 1, log=kind == "lograndint")
    if kind == "ordinal":
        return arguments[trial.suggest_int(name, 0, len(arguments) - 1)]
    if kind == "choice":
        return trial.suggest_categorical(name, arguments)
    sys.exit(f"optuna_samplers: no translation of the domain {kind}")


def configuration_of(trial, space):
    """Parameters stand after those that their conditions name."""
    configuration = {}
    for name, domain in space.items():
        wanted = domain.get("when", {})
        if all(configuration.get(other) in (value if isinstance(value, list) else [value])
               for other, value in wanted.items()):
            configuration[name] = suggest(trial, name, domain)
    return configuration


def run(program, function, sampler, seed, trials):
    directions = ["minimize"] * function.get("objectives", 1)
    study = optuna.create_study(directions=directions, sampler=SAMPLERS[sampler](seed))
    answers = subprocess.Popen([program, "answer", function["name"], str(seed)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    took = 0.0
    for number in range(trials):
        asked_at = time.process_time()
        trial = study.ask()
        configuration = configuration_of(trial, function["space"])
        took += time.process_time() - asked_at
        answers.stdin.write(json.dumps(configuration) + "\n")
        answers.stdin.flush()
        answer = json.loads(answers.stdout.readline())
        if "constraints" in answer:
            trial.set_user_attr("constraints", answer["constraints"])
        told_at = time.process_time()
        study.tell(trial, answer["values"] if "values" in answer else answer["value"])
        took += time.process_time() - told_at
        print(f"{function['name']},{sampler},{seed},{number},{answer['regret']!r}")
    answers.stdin.close()
    if answers.wait() != 0:
        sys.exit(f"optuna_samplers: {program} failed")
    print(f"{sampler} on {function['name']}, seed {seed}: {1e3 * took / trials:.1f} ms a suggestion", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("--program", default="search_quality", choices=["search_quality", "front_quality", "limit_quality"])
    parser.add_argument("--sampler", action="append", choices=list(SAMPLERS))
    parser.add_argument("--function", action="append")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=80)
    options = parser.parse_args()
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    program = os.path.join(options.bin_dir, options.program)
    described = subprocess.run([program, "describe"], stdout=subprocess.PIPE, text=True, check=True).stdout
    functions = [json.loads(line) for line in described.splitlines()]
    print("function,searcher,seed,trial,regret")
    is_limited = options.program == "limit_quality"
    for sampler in options.sampler or [name for name in SAMPLERS if name.endswith("_limits") == is_limited]:
        for function in functions:
            if options.function and function["name"] not in options.function:
                continue
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                run(program, function, sampler, seed, options.trials)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
