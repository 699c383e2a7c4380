#!/usr/bin/env python3
"""What the engine itself costs: trials and durable reports a second through a real worker, and the time from typing
`tune run` to the first report. Optuna on SQLite does the same no-op trials in the same rounds (Debian's python3-optuna).

usage: run.py BIN_DIR [--toy] [--rounds N]      prints a Markdown table; exits 1 when a run fails.
"""
import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SPACE = """
trainable: {{curve: {{value: "x + 0 * t", iterations: {iterations}}}}}
metric: loss
mode: min
seed: 1
space: {{x: {{uniform: [0, 1]}}}}
limits: {{max_concurrent: {concurrent}}}
"""

OPTUNA = """
import optuna, sys, time
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1], sampler=optuna.samplers.RandomSampler(seed=1))
begin = time.perf_counter()
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=int(sys.argv[2]))
print(int(sys.argv[2]) / (time.perf_counter() - begin))
"""


def fsync_us(folder, count):
    """Median time of a 4 KiB write and fdatasync."""
    times = []
    with open(os.path.join(folder, "fsync"), "wb") as file:
        for _ in range(count):
            file.write(b"x" * 4096)
            begin = time.perf_counter()
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def sweep(bin_dir, folder, samples, iterations, concurrent):
    """Runs one sweep; (trials/s, reports/s, ms from typing to the first report). Rates are over the time from the first
    attempt's start to the last trial's end, as the database has them."""
    space = os.path.join(folder, "space.yaml")
    db = os.path.join(folder, "tune.db")
    for name in os.listdir(folder):
        if name.startswith("tune.db"):
            os.unlink(os.path.join(folder, name))
    with open(space, "w") as file:
        file.write(SPACE.format(iterations=iterations, concurrent=concurrent))
    typed = time.time()
    done = subprocess.run([os.path.join(bin_dir, "tune"), "run", space, "--samples", str(samples), "--db", db,
                           "--cpus", str(concurrent)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"tune run failed with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    rows = sqlite3.connect(db)
    seconds = "(julianday({}) - 2440587.5) * 86400.0"
    begin, end = rows.execute(f"select {seconds.format('min(started_at)')}, {seconds.format('max(finished_at)')} from trials"
                              " where status = 'TERMINATED'").fetchone()
    first, = rows.execute(f"select {seconds.format('min(reported_at)')} from reports").fetchone()
    trials, = rows.execute("select count(*) from trials where status = 'TERMINATED'").fetchone()
    reports, = rows.execute("select count(*) from reports").fetchone()
    if trials != samples or reports != samples * iterations:
        sys.exit(f"expected {samples} trials and {samples * iterations} reports, the database has {trials} and {reports}")
    return trials / (end - begin), reports / (end - begin), (first - typed) * 1e3


def optuna(folder, trials):
    db = os.path.join(folder, "optuna.db")
    if os.path.exists(db):
        os.unlink(db)
    done = subprocess.run(["/usr/bin/python3", "-c", OPTUNA, db, str(trials)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return float(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see that it still runs")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    scale = 0.01 if arguments.toy else 1.0
    rounds = 1 if arguments.toy else arguments.rounds

    noop, four, sixteen, first, peer, disk = [], [], [], [], [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TUNE_BENCH_DIR", ".")) as folder:
        for _ in range(rounds):
            disk.append(fsync_us(folder, 200))
            noop.append(sweep(arguments.bin_dir, folder, int(5000 * scale), 1, 8)[0])
            peer_rate = optuna(folder, max(3, int(200 * scale)))
            if peer_rate is not None:
                peer.append(peer_rate)
            four.append(sweep(arguments.bin_dir, folder, 4, int(5000 * scale), 4)[1])
            sixteen.append(sweep(arguments.bin_dir, folder, 16, int(3000 * scale), 16)[1])
            first.append(sweep(arguments.bin_dir, folder, 1, 1, 1)[2])

    def cell(values, digits=0):
        return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"

    print("| what | ours | peer | goal |\n|---|---|---|---|")
    print(f"| no-op trials through a worker to a durable end, trials/s | {cell(noop)} | "
          f"{'Optuna on SQLite ' + cell(peer) if peer else 'Optuna is not installed'} | 1,000 |")
    print(f"| durable reports/s, 4 trials waiting for each answer | {cell(four)} | | 5,000 |")
    print(f"| durable reports/s, 16 trials | {cell(sixteen)} | | 10,000 |")
    print(f"| typed to the first trial's first report, ms | {cell(first, 1)} | | 100 |")
    print(f"| write and fdatasync of 4 KiB, us | {cell(disk)} | | |")
    print(f"\nmedian (least to most) of {rounds} rounds")


if __name__ == "__main__":
    main()
