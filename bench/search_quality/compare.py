#!/usr/bin/env python3
"""What the rows of `search_quality run` and of its peers say: medians, ranks, and pairs by seed.

    bench/search_quality/compare.py CSV... [--pair tpe:optuna_tpe]... [--at TRIAL]...     prints Markdown

Rank: within a function and a seed, 1 is the lowest regret; those that are equal share the mean of their places. Pair: how
often the first is better, worse or equal by seed; p is that of a two-sided sign test, ties left out. Clearly worse: more
losses than wins, with p below 0.05.
"""
import argparse
import csv
import math
import statistics

EQUAL = 1e-12  # Regrets this near to each other are the same configuration, or rounding.


def read(paths):
    """{function: {searcher: {seed: [regret by trial]}}}, names in the order of the rows."""
    regrets = {}
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                by_seed = regrets.setdefault(row["function"], {}).setdefault(row["searcher"], {})
                by_seed.setdefault(int(row["seed"]), []).append(float(row["regret"]))
    return regrets


def sign_test(wins, losses):
    """Two-sided p of so uneven a split of fair coins."""
    count = wins + losses
    if count == 0:
        return 1.0
    tail = sum(math.comb(count, k) for k in range(min(wins, losses) + 1)) / 2**count
    return min(1.0, 2 * tail)


def duel(ours, theirs, at):
    """(wins, losses, ties) over the seeds that both have."""
    wins = losses = ties = 0
    for seed in sorted(ours.keys() & theirs.keys()):
        difference = ours[seed][at] - theirs[seed][at]
        ties += abs(difference) <= EQUAL
        wins += difference < -EQUAL
        losses += difference > EQUAL
    return wins, losses, ties


def shared_ranks(values):
    return [1 + sum(other < value - EQUAL for other in values)
            + (sum(abs(other - value) <= EQUAL for other in values) - 1) / 2 for value in values]


def mean_ranks(regrets, searchers, at):
    """{searcher: mean over functions and seeds}"""
    ranks = {name: [] for name in searchers}
    for by_searcher in regrets.values():
        if not all(name in by_searcher for name in searchers):
            continue
        for seed in sorted(set.intersection(*(set(by_searcher[name]) for name in searchers))):
            values = [by_searcher[name][seed][at] for name in searchers]
            for name, rank in zip(searchers, shared_ranks(values)):
                ranks[name].append(rank)
    return {name: statistics.mean(of) for name, of in ranks.items() if of}


def median_regret(by_seed, at):
    return statistics.median(values[at] for values in by_seed.values())


def median_log(by_seed, at):
    return statistics.median(math.log10(max(values[at], 1e-16)) for values in by_seed.values())


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_medians(regrets, searchers, at):
    print(f"Median regret after {at + 1} trials; the lowest in bold.\n")
    print_row(["function", *searchers])
    print("|---" * (len(searchers) + 1) + "|")
    for function, by_searcher in regrets.items():
        medians = {name: median_regret(by_searcher[name], at) for name in searchers if name in by_searcher}
        lowest = min(medians.values())
        cells = [f"{medians[name]:.3g}" if name in medians else "" for name in searchers]
        print_row([function, *(f"**{cell}**" if name in medians and medians[name] <= lowest + EQUAL else cell
                               for name, cell in zip(searchers, cells))])
    ranks = mean_ranks(regrets, searchers, at)
    print_row(["mean rank", *(f"{ranks[name]:.2f}" if name in ranks else "" for name in searchers)])


def print_pair(regrets, ours, theirs, at):
    if not any({ours, theirs} <= by_searcher.keys() for by_searcher in regrets.values()):
        return
    print(f"\n{ours} against {theirs}, by seed, after {at + 1} trials:\n")
    print_row(["function", "better", "worse", "equal", "p", ""])
    print("|---|---|---|---|---|---|")
    total = [0, 0, 0]
    functions_won = functions_lost = 0
    for function, by_searcher in regrets.items():
        if not {ours, theirs} <= by_searcher.keys():
            continue
        counts = duel(by_searcher[ours], by_searcher[theirs], at)
        wins, losses, _ = counts
        total = [a + b for a, b in zip(total, counts)]
        functions_won += wins > losses
        functions_lost += losses > wins
        p = sign_test(wins, losses)
        verdict = "" if p >= 0.05 else "clearly better" if wins > losses else "**clearly worse**"
        print_row([function, *map(str, counts), f"{p:.3f}", verdict])
    print_row(["all", *map(str, total), f"{sign_test(*total[:2]):.2g}", ""])
    ranks = mean_ranks(regrets, [ours, theirs], at)
    if ranks:
        print(f"\nMean rank of the two: {ours} {ranks[ours]:.3f}, {theirs} {ranks[theirs]:.3f}; functions {functions_won} "
              f"to {functions_lost}.")


def print_log_regrets(regrets, at):
    """The scale on which the figures of Gaussian processes are usually given."""
    functions = [name for name in ("hartmann6", "branin", "levy4") if name in regrets]
    searchers = list(dict.fromkeys(name for function in functions for name in regrets[function]))
    print(f"\nMedian log10 regret after {at + 1} trials:\n")
    print_row(["searcher", *functions])
    print("|---" * (len(functions) + 1) + "|")
    for name in searchers:
        print_row([name, *(f"{median_log(regrets[function][name], at):.2f}" if name in regrets[function] else ""
                           for function in functions)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--pair", action="append", default=[], help="OURS:THEIRS")
    parser.add_argument("--at", type=int, action="append", help="after how many trials; default: the last")
    parser.add_argument("--log-at", type=int, help="also median log10 regret after so many trials")
    options = parser.parse_args()
    regrets = read(options.csv)
    rows = [values for by_searcher in regrets.values() for by_seed in by_searcher.values() for values in by_seed.values()]
    searchers = list(dict.fromkeys(name for by_searcher in regrets.values() for name in by_searcher))
    for at in options.at or [min(map(len, rows))]:
        print_medians(regrets, searchers, at - 1)
        for pair in options.pair:
            print_pair(regrets, *pair.split(":"), at - 1)
    if options.log_at:
        print_log_regrets(regrets, options.log_at - 1)


if __name__ == "__main__":
    main()
