"""One pool under many sweeps: reports side by side, a restart under workers of other machines, a history of a million trials.

    python3 bench/head/pool_bench.py [--bin build/release/bin] [--sweeps 100] [--seconds 10] [--remote 200] [--trials 1000000]
                                     [--only side,remote,history]

Standard library alone. Each in a folder of its own, on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time
import urllib.request

from head_bench import Head, timed

CURVE = {
    "trainable": {"curve": {"value": "x", "iterations": 1_000_000}}, "metric": "v", "mode": "max",
    "space": {"x": {"uniform": [0, 1]}}, "checkpoint": {"every": 1_000_000},
}


def reports_a_second(programs: pathlib.Path, folder: pathlib.Path, sweeps: int, trials: int, seconds: float) -> float:
    """Of `sweeps` sweeps with `trials` each, all running."""
    db = folder / f"side-{sweeps}.db"
    head = Head(programs, db, "--cpus", str(sweeps * trials))
    try:
        for i in range(sweeps):
            head.submit({**CURVE, "samples": trials}, f"sweep-{i}")
        head.until("select count(*) from trials where iterations > 5", sweeps * trials)
        before, begin = head.ask("select sum(iterations) from trials"), time.perf_counter()
        time.sleep(seconds)
        after, took = head.ask("select sum(iterations) from trials"), time.perf_counter() - begin
        least = head.ask("select min(n) from (select sum(iterations) as n from trials group by experiment)")
        print(f"  {sweeps} sweep(s) of {trials}: {(after - before) / took:.0f} durable reports/s; the slowest sweep has {least} in all")
        return (after - before) / took
    finally:
        head.end(signal.SIGKILL)


def side_by_side(programs: pathlib.Path, folder: pathlib.Path, sweeps: int, seconds: float) -> None:
    ratios = []
    for _ in range(3):
        one = reports_a_second(programs, folder, 1, sweeps, seconds)
        many = reports_a_second(programs, folder, sweeps, 1, seconds)
        ratios.append(many / one)
        for path in folder.glob("side-*.db*"):
            path.unlink() if path.is_file() else None
    print(f"{sweeps} sweeps side by side against one with as many trials: {statistics.median(ratios):.2f} of its reports")


def remote(programs: pathlib.Path, folder: pathlib.Path, trials: int) -> None:
    """Trials on workers that have joined; the head is killed under them."""
    db, workers, sweeps = folder / "remote.db", 4, min(50, trials)
    head = Head(programs, db, "--cpus", "0", "--listen", "127.0.0.1:0")
    log = db.with_suffix(".log")
    join = re.search(r"--connect (\S+) --join (\S+)", log.read_text(encoding="utf-8"))
    joined = [subprocess.Popen(
        [head.tune, "worker", "--connect", join[1], "--join", join[2], "--cpus", str(trials // workers), "--cache", str(folder / f"cache-{i}")],
        stderr=subprocess.DEVNULL) for i in range(workers)]
    spec = {**CURVE, "trainable": {"curve": {"value": "x", "iterations": 1_000_000, "seconds": 0.5}}, "samples": trials // sweeps}
    try:
        for i in range(sweeps):
            head.submit(spec, f"sweep-{i}")
        head.until("select count(*) from trials where iterations > 0", trials)
        head.end(signal.SIGKILL)
        known = dict(rows(db, "select id, iterations from trials"))
        begin = time.perf_counter()
        head = Head(programs, db, "--cpus", "0", "--listen", join[1])
        print(f"kill -9 of the head under {sweeps} sweeps with {trials} trials on {workers} joined workers, until it runs: {time.perf_counter() - begin:.2f} s")
        while any(n <= known[trial] for trial, n in rows(db, "select id, iterations from trials")):
            time.sleep(0.02)
        print(f"until each trial has reported to it (a report each 0.5 s): {time.perf_counter() - begin:.2f} s")
        print(f"attempts: {head.ask('select count(*) from attempts')} of {trials} trials, {head.ask('select count(*) from reports') - head.ask('select sum(iterations) from trials')} iterations twice")
        head.end()
    finally:
        for worker in joined:
            worker.kill()
            worker.wait()


def rows(db: pathlib.Path, sql: str) -> list:
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def history(programs: pathlib.Path, folder: pathlib.Path, trials: int) -> None:
    """1,000 sweeps, a tenth of all trials in one of them."""
    db = folder / "history.db"
    tune = str((programs / "tune").resolve())
    space = folder / "seed.json"
    space.write_text(json.dumps({
        "name": "seed", "trainable": {"curve": {"value": "x + y", "iterations": 1}}, "metric": "v", "mode": "max",
        "samples": 1, "seed": 1, "space": {"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}}}), encoding="utf-8")
    subprocess.run([tune, "run", str(space), "--db", str(db)], check=True, capture_output=True)
    grow(db, sweeps=1_000, trials=trials)
    head = Head(programs, db, "--cpus", "1", "--http", "127.0.0.1:0")
    log = db.with_suffix(".log")
    while "the page of" not in log.read_text(encoding="utf-8"):
        time.sleep(0.005)
    address = re.search(r"http://\S+", log.read_text(encoding="utf-8")).group()
    base, key = address.split("/?key=")
    for what, path in (
        ("list of 1,000 sweeps", "/sweeps"), (f"a page of 100 of a sweep of {trials // 2:,} trials", "/sweeps/large/trials?first=100"),
        ("a page of 100 of a sweep of hundreds", "/sweeps/s-500/trials?first=100"), ("one trial", "/sweeps/large/trials/77"),
    ):
        def ask(path: str = path) -> bytes:
            request = urllib.request.Request(base + "/api/v1" + path, headers={"Authorization": "Bearer " + key})
            return urllib.request.urlopen(request).read()
        first = timed(ask)
        times = [timed(ask) for _ in range(20)]
        print(f"{what}: {1000 * statistics.median(times):.1f} ms (the first {1000 * first:.0f} ms), {len(ask()):,} bytes")
    for command in (["list"], ["jobs"], ["status", "large"], ["results", "large", "--top", "20"], ["best", "large"], ["why", "large/77"]):
        times = [timed(lambda: subprocess.run([tune, *command, "--db", str(db)], check=True, capture_output=True)) for _ in range(3)]
        print(f"tune {' '.join(command)}: {1000 * statistics.median(times):.0f} ms")
    print(f"the database: {db.stat().st_size / 1e6:.0f} MB; the head's memory: {memory_of(head.process.pid):.0f} MB")
    head.end()


def memory_of(pid: int) -> float:
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1000


def grow(db: pathlib.Path, sweeps: int, trials: int) -> None:
    """Rows as a sweep leaves them, many times: half of the trials in the sweep `large`."""
    connection = sqlite3.connect(db)
    connection.execute("pragma foreign_keys = off")

    def copies(table: str, changes: dict, numbers: str) -> None:
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        values = ", ".join(changes.get(column, f"t.{column}") for column in columns)
        connection.execute(f"insert into {table} ({', '.join(columns)}) select {values} from {numbers} as n, {table} as t where {changes['where']}")

    each = trials // 2 // (sweeps - 2)
    connection.execute("create temp table sweep_numbers as with recursive c(i) as (select 2 union all select i + 1 from c where i < ?) select i, "
                       "case i when 2 then 'large' else 's-' || i end as name, case i when 2 then ? else ? end as trials from c", (sweeps, trials // 2, each))
    copies("experiment_rows", {"id": "n.i", "name": "n.name", "samples": "n.trials", "where": "t.id = 1"}, "sweep_numbers")
    connection.execute("create temp table trial_numbers as with recursive c(e, k, m) as (select i, 0, trials from sweep_numbers union all "
                       "select e, k + 1, m from c where k + 1 < m) select row_number() over (order by e, k) + 1 as i, e, k from c")
    copies("trial_rows", {"id": "n.i", "experiment": "n.e", "number": "n.k", "best_value": "abs(random() % 1000000) / 1e6",
                          "last_value": "0.5", "where": "t.id = 1"}, "trial_numbers")
    copies("configuration_rows", {"trial": "n.i", "where": "t.trial = 1"}, "trial_numbers")
    copies("report_rows", {"trial": "n.i", "where": "t.trial = 1"}, "trial_numbers")
    copies("attempt_rows", {"trial": "n.i", "where": "t.trial = 1"}, "trial_numbers")
    connection.commit()
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--remote", type=int, default=200)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--only", default="side,remote,history")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.makedirs(folder / "work")
        if "side" in options.only:
            side_by_side(options.bin, folder, options.sweeps, options.seconds)
        if "remote" in options.only:
            remote(options.bin, folder, options.remote)
        if "history" in options.only:
            history(options.bin, folder, options.trials)


if __name__ == "__main__":
    main()
