#!/usr/bin/env python3
"""What the rows of `multi_fidelity` say: how long until the leader is within 1 % of the best.

    bench/multi_fidelity/compare.py CSV... [--yardstick random]     prints Markdown

Median minutes of virtual time over the seeds, and how many times sooner than the yardstick: of the medians, and the median
over pairs by seed. A sweep that did not get there counts with all the time that it had, and is marked.
"""
import argparse
import csv
import statistics

NEAR = 0.01


def read(paths):
    """{landscape: {searcher: {seed: (minutes, epochs, arrived)}}}"""
    arrivals = {}
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                by_seed = arrivals.setdefault(row["landscape"], {}).setdefault(row["searcher"], {})
                minutes, epochs, arrived = by_seed.get(row["seed"], (0.0, 0, False))
                if not arrived:
                    by_seed[row["seed"]] = (float(row["minutes"]), int(row["epochs"]), float(row["gap"]) <= NEAR)
    return arrivals


def median(by_seed, column):
    return statistics.median(entry[column] for entry in by_seed.values())


def pair_ratios(yardstick, other):
    return [yardstick[seed][0] / other[seed][0] for seed in sorted(yardstick.keys() & other.keys())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--yardstick", default="random")
    options = parser.parse_args()
    arrivals = read(options.csv)
    searchers = list(dict.fromkeys(name for by_searcher in arrivals.values() for name in by_searcher))
    searchers.remove(options.yardstick)
    print(f"| landscape | {options.yardstick}, min |" + "".join(f" {name}, min | sooner |" for name in searchers))
    print("|---|---|" + "---|---|" * len(searchers))
    pairs = {name: [] for name in searchers}
    for landscape, by_searcher in arrivals.items():
        yardstick = by_searcher[options.yardstick]

        def shown(by_seed):
            missing = sum(not arrived for _, _, arrived in by_seed.values())
            return f"{median(by_seed, 0):.0f}" + (f" ({missing} of {len(by_seed)} not)" if missing else "")

        cells = [landscape, shown(yardstick)]
        for name in searchers:
            if name not in by_searcher:
                cells += ["", ""]
                continue
            pairs[name] += pair_ratios(yardstick, by_searcher[name])
            cells += [shown(by_searcher[name]), f"{median(yardstick, 0) / median(by_searcher[name], 0):.1f}"]
        print("| " + " | ".join(cells) + " |")
    for name in searchers:
        print(f"\n{name}: {statistics.median(pairs[name]):.1f} times sooner than {options.yardstick} (median over "
              f"{len(pairs[name])} pairs of sweeps; sooner in {sum(ratio > 1 for ratio in pairs[name])}).")


if __name__ == "__main__":
    main()
