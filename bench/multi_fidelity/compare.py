#!/usr/bin/env python3
"""What the rows of `multi_fidelity` say: how long until the leader is within 1 % of the best.

    bench/multi_fidelity/compare.py CSV... [--yardstick random]     prints Markdown

Median minutes of virtual time over the seeds, and how many times sooner than the yardstick: of the medians, and the median
over pairs by seed. Where a sweep did not get there, its time is only known to be more than all that it had. So the printed
ratio of two medians is a lower bound (">=") where the yardstick's is such a time, an upper one ("<=") where the searcher's
is, and nothing where both are. Over pairs: a yardstick that did not get there counts with the time that it had, a
searcher that did not as no sooner at all (0), and a pair of such sweeps as alike (1).
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


def median(by_seed):
    """Minutes, and whether more than half arrived."""
    minutes, _, has_arrived = zip(*by_seed.values())
    return statistics.median(minutes), sum(has_arrived) > len(has_arrived) / 2


def ratio_of_medians(yardstick, other):
    (minutes, arrived), (other_minutes, other_arrived) = median(yardstick), median(other)
    if not arrived and not other_arrived:
        return ""
    bound = "" if arrived and other_arrived else "<= " if arrived else ">= "
    return f"{bound}{minutes / other_minutes:.1f}"


def pair_ratio(yardstick, other):
    if other[2]:
        return yardstick[0] / other[0]
    return 0 if yardstick[2] else 1


def pair_ratios(yardstick, other):
    return [pair_ratio(yardstick[seed], other[seed]) for seed in sorted(yardstick.keys() & other.keys())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--yardstick", default="random")
    options = parser.parse_args()
    arrivals = read(options.csv)
    searchers = list(dict.fromkeys(name for by_searcher in arrivals.values() for name in by_searcher))
    searchers.remove(options.yardstick)
    print(f"| landscape | {options.yardstick}, min |" + "".join(f" {name}, min | sooner | by pairs |" for name in searchers))
    print("|---|---|" + "---|---|---|" * len(searchers))
    pairs = {name: [] for name in searchers}
    for landscape, by_searcher in arrivals.items():
        yardstick = by_searcher[options.yardstick]

        def shown(by_seed):
            missing = sum(not arrived for _, _, arrived in by_seed.values())
            return f"{median(by_seed)[0]:.0f}" + (f" ({missing} of {len(by_seed)} not)" if missing else "")

        cells = [landscape, shown(yardstick)]
        for name in searchers:
            if name not in by_searcher:
                cells += ["", "", ""]
                continue
            ratios = pair_ratios(yardstick, by_searcher[name])
            pairs[name] += ratios
            sooner = ratio_of_medians(yardstick, by_searcher[name])
            cells += [shown(by_searcher[name]), sooner, f"{statistics.median(ratios):.1f}"]
        print("| " + " | ".join(cells) + " |")
    for name in searchers:
        print(f"\n{name}: {statistics.median(pairs[name]):.1f} times sooner than {options.yardstick} (median over "
              f"{len(pairs[name])} pairs of sweeps; sooner in {sum(ratio > 1 for ratio in pairs[name])}).")


if __name__ == "__main__":
    main()
