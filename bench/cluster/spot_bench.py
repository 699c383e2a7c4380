#!/usr/bin/env python3
"""A sweep on machines that are taken away: each lives for 20 s on average, eight at a time.

    python3 bench/cluster/spot_bench.py [--bin build/release/bin] [--trials 2000] [--life 20] [--machines 8] [--toy]

A machine is a worker of this computer, made and listed by a script in the place of a cloud. Twice with deaths (all of them told half
a minute before by SIGTERM; all of them by kill -9), once without. Each trial takes 1 s in four iterations, each with a checkpoint. The
tables are compared; the overhead is the machines' time, from asked for to its death or its return, beyond the trials' seconds.

Standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

CLOUD = """#!/bin/sh
set -eu
cd "$(dirname "$0")"
case $1 in
create)
  [ -e vms/$2 ] && exit 0
  setsid sh -c 'echo $$ >vms/'$2'.new; mv vms/'$2'.new vms/'$2'; exec "{bin}/tune_worker" --connect $TUNE_CONNECT --name '$2' --cpus 1 --gpus 0 --grace 10s' </dev/null >>worker.log 2>&1 &
  while [ ! -e vms/$2 ]; do sleep 0.01; done ;;
delete) [ -e vms/$2 ] && kill -9 -$(cat vms/$2) 2>/dev/null; rm -f vms/$2 ;;
list) for vm in vms/*; do case $vm in *.new | 'vms/*') ;; *) basename $vm ;; esac; done ;;
esac
exit 0
"""


class Machines:
    """Ends each machine at its time; measures how long each was there."""

    def __init__(self, folder: pathlib.Path, life: float, told: bool, seed: int):
        self.folder, self.life, self.told, self.seed = folder, life, told, seed
        self.begun: dict[str, float] = {}
        self.lived = 0.0
        self.deaths = 0
        self.ended: set[str] = set()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def life_of(self, name: str) -> float:
        return random.Random(f"{self.seed} {name.rsplit('-', 1)[1]}").expovariate(1 / self.life)

    def watch(self) -> None:
        told_at: dict[str, float] = {}
        while not self.is_over.wait(0.02):
            now = time.monotonic()
            there = {path.name for path in self.folder.iterdir() if path.suffix != ".new"}
            for name in there - self.ended:
                self.begun.setdefault(name, now)
            for name, begun in self.begun.items():
                if name in self.ended:
                    continue
                if name not in there:  # Given back, or it has left.
                    self.deaths += name in told_at
                    self.end(name, now)
                elif self.life and now > begun + self.life_of(name):
                    self.take_away(name, now, told_at)

    def take_away(self, name: str, now: float, told_at: dict[str, float]) -> None:
        try:
            pid = int((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:  # It is being given back.
            return
        is_told = self.told and name not in told_at
        try:
            if is_told:
                told_at[name] = now
                os.killpg(pid, signal.SIGTERM)
                return
            if self.told and now < told_at[name] + 30:
                os.kill(pid, 0)  # It is still leaving.
                return
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.deaths += 1
        (self.folder / name).unlink(missing_ok=True)
        self.end(name, now)

    def end(self, name: str, now: float) -> None:
        self.lived += now - self.begun[name]
        self.ended.add(name)

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()
        for name in set(self.begun) - self.ended:
            self.end(name, time.monotonic())


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def table(db: pathlib.Path) -> list:
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        return connection.execute(
            "select number, status, stop_reason, config, iterations, best_value, best_iteration, last_value from trials order by number").fetchall()


def live(arguments, told: bool, life: float) -> tuple[list, str]:
    with tempfile.TemporaryDirectory(prefix="tune-spot-") as name:
        folder = pathlib.Path(name)
        (folder / "vms").mkdir()
        (folder / "vm").write_text(CLOUD.replace("{bin}", str(arguments.bin)), encoding="utf-8")
        (folder / "vm").chmod(0o700)
        (folder / "cluster.yaml").write_text(json.dumps({
            "name": "spot", "head": {"listen": f"127.0.0.1:{free_port()}"},
            "pools": {"vm": {"command": {"up": ["./vm", "create", "{name}"], "down": ["./vm", "delete", "{name}"], "list": ["./vm", "list"]},
                             "worker": {"cpus": 1}, "max": arguments.machines, "idle": "1s", "spot": True}}}), encoding="utf-8")
        (folder / "space.yaml").write_text(json.dumps({
            "trainable": {"curve": {"value": "x", "iterations": 4, "seconds": 0.25}}, "metric": "v", "mode": "max",
            "space": {"x": {"uniform": [0, 1]}}, "seed": 11, "samples": arguments.trials, "checkpoint": {"every": 1}}), encoding="utf-8")
        machines = Machines(folder / "vms", life, told, arguments.seed)
        try:
            begin = time.monotonic()
            with open(folder / "log", "w", encoding="utf-8") as log:
                result = subprocess.run([arguments.bin / "tune", "run", "space.yaml", "--cluster", "cluster.yaml"], cwd=folder, stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, check=False)
            took = time.monotonic() - begin
        finally:
            machines.stop()
        if result.returncode != 0:
            raise SystemExit(f"tune run ended with {result.returncode}:\n" + (folder / "log").read_text(encoding="utf-8")[-3000:])
        rows = table(folder / "tune.db")
        with sqlite3.connect(folder / "tune.db") as connection:
            outcomes = dict(connection.execute("select outcome, count(*) from attempts group by 1").fetchall())
        work = float(arguments.trials)
        line = (f"{took:.0f} s | {len(machines.begun)}, {machines.deaths} taken away | {machines.lived:.0f} s | "
                f"{100 * (machines.lived / work - 1):.1f} % | " + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())))
        return rows, line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--life", type=float, default=20)
    parser.add_argument("--machines", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--toy", action="store_true")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    if arguments.toy:
        arguments.trials, arguments.life, arguments.machines = 12, 2, 3
    print(f"{arguments.trials} trials of 1 s, {arguments.machines} machines at a time, each {arguments.life:g} s on average\n")
    print("| machines | from typed to the end | machines | their time | beyond the trials' seconds | attempts | table |\n|---|---|---|---|---|---|---|")
    undisturbed, line = live(arguments, True, 0)
    print(f"| stay | {line} | |", flush=True)
    for what, told in (("go after SIGTERM", True), ("go by kill -9", False)):
        rows, line = live(arguments, told, arguments.life)
        print(f"| {what} | {line} | {'the same' if rows == undisturbed else 'ANOTHER'} |", flush=True)
        if rows != undisturbed:
            other = next((a, b) for a, b in zip(undisturbed + [None], rows + [None]) if a != b)
            raise SystemExit(f"the table is another one: {other[1]} in place of {other[0]}")


if __name__ == "__main__":
    main()
