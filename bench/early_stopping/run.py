#!/usr/bin/env python3
"""What early stopping saves and what it costs on the quickstart's sweep: epochs trained over those of sixteen full trials,
and the best trial against that of the same sixteen configurations under fifo.

usage: run.py BIN_DIR SPACE [--seeds 5] [--fifo-seeds 3] [--set key=value ...]      prints a Markdown table
"""
import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SAMPLES = 16


def sweep(arguments, folder, seed, scheduler):
    """(epochs, best accuracy, seconds, stop reasons)"""
    db = os.path.join(folder, f"{scheduler}-{seed}.db")
    command = [os.path.join(arguments.bin_dir, "tune"), "run", arguments.space, "--db", db, "--samples", str(SAMPLES),
               "--seed", str(seed)]
    if scheduler == "fifo":
        command += ["--set", "scheduler=fifo"]
    for assignment in arguments.set or []:
        command += ["--set", assignment]
    begin = time.time()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.time() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.decode()[-2000:]}")
    rows = sqlite3.connect(db)
    epochs, best = rows.execute("select sum(iterations), max(best_value) from trials").fetchone()
    return epochs, best, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("space")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fifo-seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=40, help="of a full trial")
    parser.add_argument("--validation-images", type=int, default=64)
    parser.add_argument("--set", action="append")
    arguments = parser.parse_args()
    shares, gaps = [], []
    print("| seed | epochs, ASHA | of full | best, ASHA | best, fifo | images behind | s, ASHA | s, fifo |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, arguments.seeds + 1):
            epochs, best, seconds = sweep(arguments, folder, seed, "asha")
            share = epochs / (SAMPLES * arguments.epochs)
            shares.append(share)
            row = f"| {seed} | {epochs} | {share:.0%} | {best:.3f} |"
            if seed <= arguments.fifo_seeds:
                _, full_best, full_seconds = sweep(arguments, folder, seed, "fifo")
                gap = round((full_best - best) * arguments.validation_images)
                gaps.append(gap)
                row += f" {full_best:.3f} | {gap} | {seconds:.0f} | {full_seconds:.0f} |"
            else:
                row += f" | | {seconds:.0f} | |"
            print(row, flush=True)
    print(f"\nepochs over those of {SAMPLES} full trials: median {statistics.median(shares):.0%}, most {max(shares):.0%} "
          f"(goal: at most 40 %, none above 60 %)")
    if gaps:
        print(f"validation images behind fifo's best: median {statistics.median(gaps)} (goal: at most 2)")


if __name__ == "__main__":
    main()
