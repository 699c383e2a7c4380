#!/usr/bin/env python3
"""How long a worker takes to join a tuner whose port a crowd of strangers holds: connections that say nothing, and
connections from another address that begin a handshake and do not go on with it. A crowd connects again as soon as it is
closed.

usage: run.py BIN_DIR [--toy] [--connections N] [--rounds N]      prints a Markdown table; exits 1 when a worker cannot join.
"""
import argparse
import os
import re
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SPACE = """
trainable: {curve: {value: "x + 0 * t", iterations: 1}}
metric: loss
mode: min
seed: 1
space: {x: {uniform: [0, 1]}}
limits: {unplaceable: 1h}
"""
JOIN_SECONDS = 60
HALF_A_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


class Crowd:
    """Holds so many connections to a port, and opens another one for each that is closed."""

    def __init__(self, port, count, first_word):
        self.port, self.count, self.first_word = port, count, first_word
        self.source = ("127.0.0.2", 0) if first_word else None
        self.selector = selectors.DefaultSelector()
        self.open = 0
        self.closed = 0
        self.ends = False
        self.is_full = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10, source_address=self.source)
        if self.first_word:
            connection.sendall(self.first_word)
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ)
        self.open += 1

    def run(self):
        while not self.ends:
            try:
                while self.open < self.count and not self.ends:
                    self.connect()
                self.is_full.set()
            except OSError:
                time.sleep(0.01)
            for key, _ in self.selector.select(timeout=0.05):
                self.selector.unregister(key.fileobj)
                key.fileobj.close()
                self.open -= 1
                self.closed += 1

    def end(self):
        self.ends = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def open_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def join_seconds(bin_dir, folder, count, first_word):
    """Seconds from the start of `tune worker` until it has joined, and the tuner's descriptors at that moment."""
    for name in os.listdir(folder):
        if name.startswith("tune.db"):
            os.unlink(os.path.join(folder, name))
    space = os.path.join(folder, "space.yaml")
    with open(space, "w") as file:
        file.write(SPACE)
    tune = os.path.join(bin_dir, "tune")
    tuner = subprocess.Popen([tune, "run", space, "--db", os.path.join(folder, "tune.db"), "--cpus", "0", "--listen",
                              "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    crowd = worker = None
    try:
        join = None
        for line in tuner.stderr:
            join = re.search(r"--connect 127\.0\.0\.1:(\d+) --join (\S+)", line)
            if join:
                break
        if not join:
            sys.exit("the tuner printed no join line")
        threading.Thread(target=tuner.stderr.read, daemon=True).start()
        crowd = Crowd(int(join[1]), count, first_word)
        # Of a crowd that speaks the tuner closes what is too much for one address, so it is never full for long.
        if not crowd.is_full.wait(15 if first_word else 300) and not first_word:
            sys.exit(f"only {crowd.open} of {count} connections could be opened")
        begin = time.monotonic()
        worker = subprocess.Popen([tune, "worker", "--connect", "127.0.0.1:" + join[1], "--join", join[2], "--cpus", "1"],
                                  stderr=subprocess.PIPE, text=True)
        patience = threading.Timer(JOIN_SECONDS, worker.kill)
        patience.start()
        for line in worker.stderr:
            if " joined " in line:
                patience.cancel()
                return time.monotonic() - begin, open_descriptors(tuner.pid), crowd.closed
        sys.exit(f"no worker could join within {JOIN_SECONDS} s")
    finally:
        if crowd:
            crowd.end()
        for process in (worker, tuner):
            if process:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see that it still runs")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    count = 50 if arguments.toy else arguments.connections
    rounds = 1 if arguments.toy else arguments.rounds
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    print(f"hard limit of descriptors: {hard}\n")
    print("| strangers | connections | a worker joins, s | the tuner's descriptors | closed by the tuner meanwhile | goal, s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TUNE_BENCH_DIR", ".")) as folder:
        for name, held, word in (("none", 0, b""), ("say nothing", count, b""), ("begin a handshake", count, HALF_A_HELLO)):
            results = [join_seconds(arguments.bin_dir, folder, held, word) for _ in range(rounds)]
            times, descriptors, closed = zip(*results)
            print(f"| {name} | {held:,} | {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f}) | "
                  f"{max(descriptors):,} | {max(closed):,} | 5 |", flush=True)
    print(f"\nmedian (least to most) of {rounds} rounds")


if __name__ == "__main__":
    main()
