#!/usr/bin/env python3
"""A spot machine is taken away: how long from the notice until its worker has left, and what is repeated?

    bench/outlive/spot_notice.py [--rounds 7] [--seconds 2] [--megabytes 14] [--seed 7] [--bin build/release/bin]
    tests/object_store/with_rgw bench/outlive/spot_notice.py ...    checkpoints in that store, too

A program of the Python module trains iterations of so many seconds, each with a checkpoint of random bytes, on a
worker that does not see the tuner's folder. At a drawn moment of an iteration a notice comes (`--notice
file:`); another worker then takes the trial up. Told are the time from the notice until the worker's
process has ended, and the part of it after the iteration that ran had ended: saving, uploading, leaving. Needs root.
"""

import argparse
import os
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time
import uuid

SPACE = """trainable: {{command: [python3, trial.py], working_dir: .}}
metric: sum
mode: max
seed: 5
samples: 1
space: {{x: {{uniform: [0, 1]}}}}
checkpoint: {{storage: "{storage}"}}
"""

# The moments at which iterations end are told in a file of this machine's: one clock for all.
TRIAL = """import os, pathlib, time, tune
path = tune.folder() / "weights"
for i in range(tune.iteration() + 1, 1000):
    time.sleep({seconds})
    path.write_bytes(os.urandom({size}))
    with open("{ends}", "a") as ends:
        print(i, time.monotonic(), file=ends, flush=True)
    tune.report(sum=float(i), checkpoint=path)
"""


def query(folder, sql):
    with sqlite3.connect(f"file:{folder}/tune.db?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def wait_for_reports(home, count):
    while True:
        try:
            if query(home, "select count(*) from reports")[0][0] >= count:
                return
        except sqlite3.Error:
            pass
        time.sleep(0.02)


def notice(tune, storage, options, draw):
    """The seconds from notice to end, those after the last iteration's end, and the iterations repeated."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="tune_home_"))
    away = pathlib.Path(tempfile.mkdtemp(prefix="tune_away_"))
    ends = away / "ends"
    (home / "space.yaml").write_text(SPACE.format(storage=storage))
    (home / "trial.py").write_text(TRIAL.format(seconds=options.seconds, size=int(options.megabytes * 1e6), ends=ends))
    tuner = subprocess.Popen([tune, "run", "space.yaml", "--cpus", "0", "--listen", "127.0.0.1:0"], cwd=home,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    words = next(line for line in tuner.stderr if "--join" in line).split()
    join = words[words.index("--connect"):]
    threading.Thread(target=tuner.stderr.read, daemon=True).start()
    workers = []

    def start_worker(*more):
        hide = f'mount -t tmpfs -o ro,size=4k none "{home}" && exec "$@"'
        log = open(away / f"worker-{len(workers)}.log", "w", encoding="utf-8")
        workers.append(subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", hide, "sh", tune, "worker", *join, "--cpus", "1", "--cache",
             str(away / f"machine-{len(workers)}"), "--name", f"machine-{len(workers)}", *more],
            cwd=away, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True))

    try:
        start_worker("--notice", f"file:{away}/notice")
        wait_for_reports(home, 2)
        time.sleep(draw.uniform(0, options.seconds))
        told = time.monotonic()
        (away / "notice").write_text("")
        status = workers[0].wait()
        left = time.monotonic()
        assert status == 0, (away / "worker-0.log").read_text()
        rows = [line.split() for line in ends.read_text().splitlines()]
        last, ended = int(rows[-1][0]), float(rows[-1][1])
        start_worker()
        wait_for_reports(home, last + 1)
        repeated = query(home, "select count(*) - count(distinct iteration) from reports")[0][0]
        first = query(home, "select from_iteration from attempts where number = 2")[0][0]
        outcome = query(home, "select outcome from attempts where number = 1")[0][0]
        assert outcome == "preempted", outcome
        return left - told, left - max(ended, told), repeated + last - first
    finally:
        for process in (*workers, tuner):
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(home)
        shutil.rmtree(away)


def make_bucket():
    """A fresh one in the store of the environment, by awscli."""
    name = "notice-" + uuid.uuid4().hex[:12]
    subprocess.run(["aws", "s3", "mb", f"s3://{name}"], check=True, stdout=subprocess.DEVNULL)
    return f"s3://{name}/sweeps"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--megabytes", type=float, default=14)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--bin", default="build/release/bin")
    options = parser.parse_args()
    tune = str(pathlib.Path(options.bin).resolve() / "tune")
    stores = {"the tuner": "auto"}
    if os.environ.get("AWS_ENDPOINT_URL_S3"):
        stores["object store"] = make_bucket()
    draw = random.Random(options.seed)
    print("| store | notice to end, median | beyond the iteration, median | worst | iterations repeated |")
    print("|---|---|---|---|---|")
    for name, storage in stores.items():
        found = []
        for number in range(options.rounds):
            place = storage if storage == "auto" else f"{storage}/{number}"
            found.append(notice(tune, place, options, draw))
        whole, beyond, repeated = zip(*found)
        print(f"| {name} | {statistics.median(whole):.2f} s | {statistics.median(beyond):.2f} s | {max(beyond):.2f} s "
              f"| {sum(repeated)} |", flush=True)


if __name__ == "__main__":
    main()
