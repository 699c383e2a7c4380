"""What a head costs: jobs submitted and run, a restart under many sweeps, lists of a long history.

    python3 bench/head/head_bench.py [--bin build/release/bin] [--jobs 1000] [--sweeps 50]

Standard library alone. Each number is of one head on this machine, in a folder of its own; the medians of `submit` are over 20.
"""

from __future__ import annotations

import argparse
import http.client
import json
import pathlib
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
import urllib.parse

JOB = {"name": "noop", "trainable": {"command": ["true"]}, "metric": "exit_status", "mode": "min", "samples": 1}
# Trials that never end by themselves.
SWEEP = {
    "name": "sweep", "trainable": {"curve": {"value": "x", "iterations": 1_000_000, "seconds": 1}},
    "metric": "v", "mode": "max", "samples": 4, "space": {"x": {"uniform": [0, 1]}}, "resources": {"cpu": 0.1},
}


class Head:
    def __init__(self, programs: pathlib.Path, db: pathlib.Path, *options: str) -> None:
        self.tune, self.db = str((programs / "tune").resolve()), db
        log = db.with_suffix(".log")
        with open(log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen([self.tune, "head", "--db", str(db), *options], stderr=file)
        while "the head runs" not in log.read_text(encoding="utf-8"):
            if self.process.poll() is not None:
                raise SystemExit(log.read_text(encoding="utf-8"))
            time.sleep(0.005)

    def submit(self, spec: dict, name: str) -> None:
        """As tune submit asks, without its checks."""
        request = {
            "tuner": self.process.pid, "sweep": name,
            "submit": {"seed": "1", "spec": {**spec, "name": name}, "base_dir": str(self.db.parent / "work"), "provenance": {}},
        }
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.db.with_suffix(".artifacts") / "control.sock"))
            client.sendall(json.dumps(request).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                answer += client.recv(65_536)
        if "ok" not in json.loads(answer):
            raise SystemExit(answer.decode())

    def ask(self, sql: str) -> int:
        connection = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchone()[0]
        finally:
            connection.close()

    def until(self, sql: str, count: int) -> None:
        while self.ask(sql) < count:
            time.sleep(0.01)

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait()


def over_http(programs: pathlib.Path, folder: pathlib.Path, jobs: int, waits: bool) -> None:
    """From another machine: the address of the head's page alone, and a folder that it does not run in.

    waits: there is no worker, so that no job runs beside the submissions.
    """
    here = folder / ("waiting" if waits else "laptop")
    here.mkdir()
    (here / "train.py").write_text("print('hi')\n", encoding="utf-8")
    place = ("--cpus", "0", "--listen", "127.0.0.1:0") if waits else ("--cpus", "2")
    head = Head(programs, folder / (here.name + ".db"), *place, "--http", "127.0.0.1:0")
    log = head.db.with_suffix(".log")
    while "the page of" not in log.read_text(encoding="utf-8"):
        time.sleep(0.005)
    address = re.search(r"http://\S+", log.read_text(encoding="utf-8")).group()
    run = [head.tune, "--head", address, "submit", *(["--no-wait"] if waits else []), "--", "echo", "hi"]
    times = [timed(lambda: subprocess.run(run, cwd=here, check=True, capture_output=True)) for _ in range(20)]
    if not waits:
        print(f"tune --head submit -- echo hi, to its end: {1000 * statistics.median(times):.0f} ms")
    # The folder is there by now.
    connection = sqlite3.connect(f"file:{head.db}?mode=ro", uri=True)
    spec, base_dir, provenance = connection.execute("select spec, base_dir, provenance from experiments order by id limit 1").fetchone()
    connection.close()
    known = {**json.loads(provenance), "submission": ""}
    place = urllib.parse.urlsplit(address)
    client = http.client.HTTPConnection(place.netloc)
    key = urllib.parse.parse_qs(place.query)["key"][0]

    def submit_all() -> None:
        for i in range(jobs):
            body = json.dumps({"tuner": 1, "sweep": f"noop-{i}", "submit": {
                "seed": "1", "spec": {**json.loads(spec), "name": f"noop-{i}"}, "base_dir": base_dir, "provenance": known,
                "package": known["package"]}})
            client.request("POST", "/api/v1/submissions", body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
            answer = json.loads(client.getresponse().read())
            if "ok" not in answer:
                raise SystemExit(str(answer))

    beside = "none of them run" if waits else "beside those that run"
    print(f"{jobs} jobs submitted one by one over HTTP, {beside}: {jobs / timed(submit_all):.0f}/s")
    client.close()
    head.end()


def timed(action) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--sweeps", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "lab.db"
        (db.parent / "work").mkdir()  # What programs write in their folder is looked at.
        head = Head(options.bin, db, "--cpus", "2")
        run = [head.tune, "submit", "--db", str(db), "--", "echo", "hi"]
        times = [timed(lambda: subprocess.run(run, check=True, capture_output=True)) for _ in range(20)]
        print(f"tune submit -- echo hi, to its end: {1000 * statistics.median(times):.0f} ms")

        def submit_all() -> None:
            for i in range(options.jobs):
                head.submit(JOB, f"noop-{i}")

        begin = time.perf_counter()
        seconds = timed(submit_all)
        print(f"{options.jobs} jobs submitted one by one: {options.jobs / seconds:.0f}/s")
        head.until("select count(*) from experiments where status = 'FINISHED'", options.jobs + 20)
        print(f"{options.jobs} jobs to their ends: {options.jobs / (time.perf_counter() - begin):.0f}/s")
        for command in (["list"], ["jobs"]):
            times = [timed(lambda: subprocess.run([head.tune, *command, "--db", str(db)], check=True, capture_output=True)) for _ in range(5)]
            print(f"tune {command[0]} of {options.jobs + 20}: {1000 * statistics.median(times):.0f} ms")
        head.end()

        for waits in (False, True):
            over_http(options.bin, pathlib.Path(folder), options.jobs, waits)

        db = pathlib.Path(folder) / "many.db"
        trials = "select count(*) from attempts where outcome = 'running'"
        head = Head(options.bin, db, "--cpus", "20")
        for i in range(options.sweeps):
            head.submit(SWEEP, f"sweep-{i}")
        head.until(trials, 4 * options.sweeps)
        head.end(signal.SIGKILL)
        begin = time.perf_counter()
        head = Head(options.bin, db, "--cpus", "20")
        print(f"restart under {options.sweeps} sweeps, until it runs: {time.perf_counter() - begin:.2f} s")
        head.until("select count(*) from attempts where outcome = 'running' and number > 1", 4 * options.sweeps)
        print(f"until its own worker runs all {4 * options.sweeps} trials again: {time.perf_counter() - begin:.2f} s")
        head.end()


if __name__ == "__main__":
    main()
