#!/usr/bin/env python3
"""An object store hangs for a minute: how long do reports take meanwhile, and is anything lost?

    tests/object_store/with_rgw bench/object_store/store_away.py [--away 60] [--bin build/release/bin]
    tests/object_store/with_rgw bench/object_store/store_away.py --toy      seconds: that it runs

Two sweeps of four trials at a time, which report five times a second and save 256 KiB each time: one whose
reports wait for their checkpoints, one with `async: true`. The gateway is stopped (SIGSTOP) and goes on.
Counted are the times from one report of a trial to its next, before and while the gateway is stopped; of a
trial that waits at the end of that time, so far. Nothing is lost if each trial has one attempt and all its
reports, and the store has, after `tune gc`, the checkpoints that rows call durable and no others.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

SPACE = """trainable:
  curve: {{value: "x + t", iterations: {iterations}, seconds: 0.2, checkpoint_bytes: 256KiB}}
metric: loss
mode: min
samples: 4
seed: 3
space: {{x: {{uniform: [0, 1]}}}}
resources: {{cpu: 0.25}}
checkpoint: {{storage: "s3://{bucket}/p", async: {is_async}}}
"""


def report_times(db):
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as database:
        rows = database.execute("select trial, reported_at from reports order by trial, iteration").fetchall()
    times = {}
    for trial, at in rows:
        times.setdefault(trial, []).append(datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp())
    return times


def gaps(times, begin, end):
    """From one report to the next, of those that end in the time; and what was waited for at its end."""
    found = []
    for of_trial in times.values():
        inside = [b - a for a, b in zip(of_trial, of_trial[1:]) if begin <= b <= end]
        before = [t for t in of_trial if t <= end]
        if before and of_trial[-1] != before[-1]:
            inside.append(end - before[-1])
        found += inside
    return found


def run(options, is_async, bucket):
    tune = str(pathlib.Path(options.bin).resolve() / "tune")
    with tempfile.TemporaryDirectory() as folder:
        space = pathlib.Path(folder) / "space.yaml"
        space.write_text(SPACE.format(bucket=bucket, is_async=str(is_async).lower(), iterations=options.iterations))
        db = pathlib.Path(folder) / "tune.db"
        sweep = subprocess.Popen([tune, "run", str(space), "--cpus", "1", "--db", str(db)], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not db.exists() or len(report_times(db)) < 4:
            if sweep.poll() is not None:
                sys.exit(f"tune run: {sweep.stderr.read()}")
            time.sleep(0.2)
        time.sleep(options.before)
        gateway = int(os.environ["TUNE_RGW_GATEWAY"])
        begin = time.time()
        os.kill(gateway, signal.SIGSTOP)
        try:
            time.sleep(options.away)
        finally:
            os.kill(gateway, signal.SIGCONT)
        end = time.time()
        said = sweep.communicate(timeout=900)[1]
        if sweep.returncode != 0:
            sys.exit(f"tune run: {said}")
        subprocess.run([tune, "gc", "--db", str(db)], check=True, stdout=subprocess.DEVNULL)
        times = report_times(db)
        lost = [f"trial {trial} has {len(of_trial)} reports" for trial, of_trial in times.items()
                if len(of_trial) != options.iterations]
        with contextlib.closing(sqlite3.connect(db)) as database:
            if database.execute("select count(*), max(number) from attempts").fetchone() != (4, 1):
                lost.append("there was another attempt")
            durable = {path for (path,) in database.execute("select path from checkpoints where state = 'durable'")}
        stored = {f"s3://{bucket}/{key[:-len('/manifest.json')]}" for key in keys(bucket)
                  if key.endswith("/manifest.json") and "/data/" not in key}
        if stored != durable:
            lost.append(f"the store lacks {sorted(durable - stored)} and has {len(stored - durable)} more")
        subprocess.run([tune, "delete", "space", "--yes", "--db", str(db)], check=True, stdout=subprocess.DEVNULL)
        calm, away = gaps(times, begin - options.before, begin), gaps(times, begin, end)
        return {"calm": statistics.median(calm), "away": statistics.median(away), "most": max(away),
                "reports": sum(1 for of in times.values() for t in of if begin <= t <= end), "lost": lost}


def aws(*arguments):
    return subprocess.run(["/usr/bin/aws", "--endpoint-url", os.environ["AWS_ENDPOINT_URL_S3"], *arguments],
                          check=True, capture_output=True, text=True).stdout


def keys(bucket):
    out = aws("s3api", "list-objects-v2", "--bucket", bucket, "--query", "Contents[].Key", "--output", "text")
    return [urllib.parse.unquote(key) for key in out.split() if key != "None"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--away", type=float, default=60)
    parser.add_argument("--before", type=float, default=15)
    parser.add_argument("--iterations", type=int, default=450)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args()
    if options.toy:
        options.away, options.before, options.iterations = 2, 1, 40
    if not pathlib.Path("/usr/bin/aws").exists():
        print("store_away: skipped: there is no /usr/bin/aws", file=sys.stderr)
        sys.exit(77)
    bucket = f"away-{os.getpid()}"
    aws("s3api", "create-bucket", "--bucket", bucket)
    print("| reports | median before | median while it hangs | longest | reports in that time | lost |")
    print("|---|---|---|---|---|---|")
    failed = False
    for is_async in (False, True):
        found = run(options, is_async, bucket)
        failed |= bool(found["lost"]) or (is_async and not options.toy and found["away"] > 2 * found["calm"])
        print(f"| {'do not wait' if is_async else 'wait'} | {found['calm']:.3f} s | {found['away']:.3f} s | "
              f"{found['most']:.1f} s | {found['reports']} | {'; '.join(found['lost']) or 'nothing'} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
