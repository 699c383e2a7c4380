#!/usr/bin/env python3
"""How long a sweep in virtual time takes: `tune simulate` over a closed-form curve, for several schedulers, in lockstep (each
iteration takes as long, so that many reports are decided together) and apart (each configuration has its own pace).

usage: run.py BIN_DIR [--trials 100000] [--epochs 27] [--workers 1000] [--schedulers fifo,...]    prints a Markdown table
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SPACE = """name: bench
metric: loss
mode: min
seed: 7
space: {{x: {{uniform: [0, 1]}}, lr: {{loguniform: [1.0e-5, 1.0]}}, width: {{choice: [16, 32, 64]}}}}
trainable: {{curve: {{value: "x + exp(-0.2 * t)", iterations: {epochs}, seconds: "{seconds}", noise: 0.05}}}}
"""
SCHEDULERS = {
    "fifo": "fifo",
    "asha": "{{asha: {{max_t: {epochs}, reduction_factor: 3}}}}",
    "asha promote": "{{asha: {{variant: promote, max_t: {epochs}, reduction_factor: 3}}}}",
    "hyperband": "{{hyperband: {{max_t: {epochs}, reduction_factor: 3}}}}",
    "median_stopping": "median_stopping",
}
PACES = {"lockstep": "1", "apart": "1 + lr"}


def simulate(arguments, folder, scheduler, seconds):
    """(wall seconds, peak MiB, the answer's row)"""
    path = os.path.join(folder, "space.yaml")
    with open(path, "w") as space:
        space.write(SPACE.format(epochs=arguments.epochs, seconds=seconds))
    command = [os.path.join(arguments.bin_dir, "tune"), "simulate", path, "--workers", str(arguments.workers), "--samples",
               str(arguments.trials), "--scheduler", SCHEDULERS[scheduler].format(epochs=arguments.epochs), "--format", "json"]
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = child.stdout.read()
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{' '.join(command)} failed:\n{err.decode()[-2000:]}")
    return wall, usage.ru_maxrss / 1024, json.loads(out)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS))
    arguments = parser.parse_args()
    print("| scheduler | pace | trials | epochs | virtual hours | wall s | epochs a wall second | peak MiB |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for scheduler in arguments.schedulers.split(","):
            for pace, seconds in PACES.items():
                wall, peak, row = simulate(arguments, folder, scheduler, seconds)
                print(f"| {scheduler} | {pace} | {row['trials']} | {row['epochs']} | {row['seconds'] / 3600:.2f} | {wall:.2f} | "
                      f"{row['epochs'] / wall:,.0f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
