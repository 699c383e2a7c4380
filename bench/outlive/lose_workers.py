#!/usr/bin/env python3
"""Workers with a disk of their own are killed, and their disk goes with them: is anything lost?

    bench/outlive/lose_workers.py [--kills 50] [--seed 7] [--bin build/release/bin]

Sweeps of one trial at a time (ASHA, fifo, a program with the Python module) run on workers of another
"machine": a mount namespace in which the tuner's folder is not to be seen. After a drawn time the
worker is killed (SIGKILL), its cache is removed, and another one joins with an empty cache. Each sweep
must end with the table of one that nobody disturbed, and each trial must go on from the last iteration
that it had reported. Needs root.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

CURVE = """trainable:
  curve:
    value: "(x - 0.3)^2 + exp(-0.2 * t)"
    iterations: 20
    seconds: {seconds}
    checkpoint_bytes: 300KiB
metric: loss
mode: min
seed: 11
samples: 4
limits: {{max_concurrent: 1}}
space: {{x: {{uniform: [0, 1]}}}}
{rest}"""

COMMAND = """trainable: {{command: [python3, trial.py, "{seconds}"], working_dir: .}}
metric: sum
mode: max
seed: 5
samples: 3
limits: {{max_concurrent: 1}}
space: {{x: {{uniform: [0, 1]}}}}
"""

TRIAL = """import pathlib, sys, time, tune
restored = tune.restored()
total = float(restored.joinpath("total").read_text()) if restored else 0.0
x = float(tune.config()["x"])
for i in range(tune.iteration() + 1, 16):
    time.sleep(float(sys.argv[1]))
    total += x * i
    state = pathlib.Path("state")
    state.mkdir(exist_ok=True)
    state.joinpath("total").write_text(repr(total))
    state.joinpath("weights").write_bytes(bytes([i]) * 300000)
    tune.report(sum=total, checkpoint=state)
"""

SWEEPS = {
    "fifo": lambda seconds: CURVE.format(seconds=seconds, rest=""),
    "asha": lambda seconds: CURVE.format(
        seconds=seconds,
        rest="scheduler: {asha: {max_t: 20, grace_period: 2, reduction_factor: 2}}\n"),
    "every 3": lambda seconds: CURVE.format(seconds=seconds, rest="checkpoint: {every: 3}\n"),
    "python": lambda seconds: COMMAND.format(seconds=seconds),
}

TABLE = ("select number, status, stop_reason, config, iterations, best_value, best_iteration, "
         "last_value from trials order by number")
# Attempts that did not begin where the trial's last checkpoint was.
LOST = ("select count(*) from attempts b where b.number > 1 and b.from_iteration <> coalesce((select "
        "max(c.iteration) from checkpoints c where c.trial = b.trial and c.iteration <= (select "
        "max(r.iteration) from reports r where r.trial = b.trial and r.attempt < b.number)), 0)")


def query(folder, sql):
    with sqlite3.connect(f"file:{folder}/tune.db?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def write_sweep(folder, kind, seconds):
    (folder / "space.yaml").write_text(SWEEPS[kind](seconds))
    (folder / "trial.py").write_text(TRIAL)


def undisturbed(tune, kind):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_sweep(folder, kind, 0)
        subprocess.run([tune, "run", "space.yaml"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return query(folder, TABLE)


class Sweep:
    """One sweep, its tuner, and the machines that come and go."""

    def __init__(self, tune, kind):
        self.tune = tune
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tune_home_"))
        self.away = pathlib.Path(tempfile.mkdtemp(prefix="tune_away_"))
        self.count = 0
        write_sweep(self.home, kind, 0.04)
        self.tuner = subprocess.Popen(
            [tune, "run", "space.yaml", "--cpus", "0", "--listen", "127.0.0.1:0"], cwd=self.home,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.join = None
        for line in self.tuner.stderr:
            if "--join" in line:
                words = line.split()
                self.join = words[words.index("--connect"):]
                break
        threading.Thread(target=self.tuner.stderr.read, daemon=True).start()

    def start_worker(self):
        self.count += 1
        self.cache = self.away / f"machine-{self.count}"
        hide = f'mount -t tmpfs -o ro,size=4k none "{self.home}" && exec "$@"'
        self.worker = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", hide, "sh", self.tune, "worker", *self.join, "--cpus",
             "1", "--cache", str(self.cache)], cwd=self.away, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def lose_worker(self):
        os.killpg(self.worker.pid, signal.SIGKILL)
        self.worker.wait()
        shutil.rmtree(self.cache, ignore_errors=True)

    def close(self):
        for process in (self.tuner, self.worker):
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.home)
        shutil.rmtree(self.away)


def run(tune, kind, expected, kills_left, draw):
    """Kills and the findings of one sweep."""
    sweep = Sweep(tune, kind)
    kills, found = 0, []
    try:
        sweep.start_worker()
        ends = time.monotonic() + 300
        while sweep.tuner.poll() is None and time.monotonic() < ends:
            if kills < min(kills_left, 8):
                until = time.monotonic() + draw.uniform(0.3, 2.0)
                while time.monotonic() < until and sweep.tuner.poll() is None:
                    time.sleep(0.01)
                if sweep.tuner.poll() is not None:
                    break
                sweep.lose_worker()
                kills += 1
                sweep.start_worker()
            else:
                time.sleep(0.05)
        if sweep.tuner.poll() is None:
            found.append("the sweep did not end within 300 s")
            return kills, found, 0, 0
        if sweep.tuner.returncode != 0:
            found.append(f"status {sweep.tuner.returncode}")
        if query(sweep.home, TABLE) != expected:
            found.append("another table than that of a sweep that nobody disturbed")
        if query(sweep.home, LOST) != [(0,)]:
            found.append("a trial did not go on from its last checkpoint")
        attempts = query(sweep.home, "select count(*), sum(from_iteration > 0) from attempts")[0]
        return kills, found, attempts[0], attempts[1] or 0
    finally:
        sweep.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--bin", default="build/release/bin")
    options = parser.parse_args()
    tune = str(pathlib.Path(options.bin).resolve() / "tune")
    draw = random.Random(options.seed)
    tables = {kind: undisturbed(tune, kind) for kind in SWEEPS}
    rows = {kind: [0, 0, 0, 0, 0] for kind in SWEEPS}
    total, failed = 0, False
    while total < options.kills:
        for kind in SWEEPS:
            if total >= options.kills:
                break
            kills, found, attempts, resumed = run(tune, kind, tables[kind], options.kills - total,
                                                  draw)
            total += kills
            for i, value in enumerate((1, not found, kills, attempts, resumed)):
                rows[kind][i] += value
            for line in found:
                failed = True
                print(f"{kind}: {line}", flush=True)
    print("| sweep | as promised | kills | attempts | of them from a checkpoint |")
    print("|---|---|---|---|---|")
    for kind, (runs, good, kills, attempts, resumed) in rows.items():
        print(f"| {kind} | {good} of {runs} | {kills} | {attempts} | {resumed} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
