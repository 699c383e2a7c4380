#!/usr/bin/env python3
"""The pictures of docs/CHOOSING.md, from the rows that the benchmarks write. SVG by hand: no library is needed.

    bench/draw.py ranks    REGRETS.csv... --searchers tpe,gp --out docs/pictures/ranks.svg
    bench/draw.py regret   REGRETS.csv... --of hartmann6 --searchers tpe,gp --out ...
    bench/draw.py arrivals SWEEPS.csv...  --searchers random,bohb --out ...
    bench/draw.py epochs   EPOCHS.csv     --out ...

ranks, regret: of bench/search_quality. arrivals: of bench/multi_fidelity, the share of all sweeps that are within 1 % of
the best by then. epochs: of bench/real_sweep.
"""
import argparse
import csv
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "search_quality"))
import compare  # noqa: E402

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 34, 46
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777", "#000000"]


class Axis:
    """From values to pixels, linear or by decades."""

    def __init__(self, values, start, end, is_log):
        self.start, self.end, self.is_log = start, end, is_log
        self.lo, self.hi = self.scale(min(values)), self.scale(max(values))
        if self.hi <= self.lo:
            self.hi = self.lo + 1

    def scale(self, value):
        return math.log10(value) if self.is_log else value

    def at(self, value):
        return self.start + (self.end - self.start) * (self.scale(value) - self.lo) / (self.hi - self.lo)

    def ticks(self):
        if self.is_log:
            if self.hi - self.lo < 2:
                of_decades = (10.0**k * m for k in range(math.floor(self.lo), math.ceil(self.hi)) for m in (1, 2, 5))
                return [value for value in of_decades if self.lo <= math.log10(value) <= self.hi]
            step = math.ceil((self.hi - self.lo) / 6)
            return [10.0**k for k in range(math.ceil(self.lo), math.floor(self.hi) + 1, step)]
        raw = (self.hi - self.lo) / 5
        power = 10 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
        return [k * step for k in range(math.ceil(self.lo / step), math.floor(self.hi / step + 1e-9) + 1)]


def chart(title, x_label, y_label, series, log_x=False, log_y=False):
    """`series`: {name: [(x, y)]}, drawn as lines with their names at the right."""
    points = [point for line in series.values() for point in line]
    x = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT, log_x)
    y = Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP, log_y)
    text = 'font-family="sans-serif" font-size="12" fill="#333333"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
           f"<title>{title}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="20" {text} font-weight="bold">{title}</text>']
    for tick in y.ticks():
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(tick):.1f}" y2="{y.at(tick):.1f}" stroke="#dddddd"/>',
                f'<text x="{LEFT - 6}" y="{y.at(tick) + 4:.1f}" text-anchor="end" {text}>{tick:g}</text>']
    for tick in x.ticks():
        out.append(f'<text x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" {text}>{tick:g}</text>')
    out += [f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle" {text}>{x_label}</text>',
            f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" {text}>'
            f"{y_label}</text>"]
    names_at = spread({name: y.at(line[-1][1]) for name, line in series.items()})
    for colour, (name, line) in zip(COLOURS, series.items()):
        path = " ".join(f"{x.at(px):.1f},{y.at(py):.1f}" for px, py in line)
        out += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
                f'<text x="{WIDTH - RIGHT + 8}" y="{names_at[name] + 4:.1f}" font-family="sans-serif" font-size="12" '
                f'fill="{colour}">{name}</text>']
    return "\n".join(out + ["</svg>"]) + "\n"


def spread(places, gap=15):
    """The same places, moved down where two would overlap, and all up again if the last one fell off."""
    moved, last = {}, -math.inf
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        last = moved[name] = max(place, last + gap)
    excess = max(0, last - (HEIGHT - BOTTOM))
    return {name: place - excess for name, place in moved.items()}


def ranks(options):
    regrets = compare.read(options.csv)
    trials = min(len(v) for f in regrets.values() for s in f.values() for v in s.values())
    lines = {name: [] for name in options.searchers}
    for at in range(4, trials):
        for name, rank in compare.mean_ranks(regrets, options.searchers, at).items():
            lines[name].append((at + 1, rank))
    return chart(f"Mean rank over {len(regrets)} functions (lower is better)", "trials", "mean rank", lines)


def regret(options):
    by_searcher = compare.read(options.csv)[options.of]
    lines = {}
    for name in options.searchers:
        by_seed = by_searcher[name]
        trials = min(map(len, by_seed.values()))
        lines[name] = [(at + 1, max(compare.median_regret(by_seed, at), 1e-6)) for at in range(trials)]
    return chart(f"{options.of}: median regret", "trials", "regret", lines, log_y=True)


def arrivals(options):
    minutes, runs = {}, {}
    for path in options.csv:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                run = (row["landscape"], row["seed"])
                runs.setdefault(row["searcher"], set()).add(run)
                if float(row["gap"]) <= 0.01:
                    minutes.setdefault(row["searcher"], {}).setdefault(run, float(row["minutes"]))
    latest = max(m for by_run in minutes.values() for m in by_run.values()) / 60
    lines = {}
    for name in options.searchers:
        hours = sorted(m / 60 for m in minutes.get(name, {}).values())
        count = len(runs[name])
        steps = [(min(m / 60 for by_run in minutes.values() for m in by_run.values()), 0)]
        for i, hour in enumerate(hours):
            steps += [(hour, 100 * i / count), (hour, 100 * (i + 1) / count)]
        lines[name] = steps + [(latest, 100 * len(hours) / count)]
    return chart("Sweeps within 1 % of the best", "hours (8 workers)", "% of sweeps", lines, log_x=True)


def epochs(options):
    bests = {}
    with open(options.csv[0], newline="") as file:
        for row in csv.DictReader(file):
            bests.setdefault(row["searcher"], {}).setdefault(int(row["seed"]), []).append(float(row["best"]))
    lines = {}
    for name, by_seed in bests.items():
        count = min(map(len, by_seed.values()))
        lines[name] = [(at + 1, statistics.median(v[at] for v in by_seed.values())) for at in range(count)]
    return chart("Fashion-MNIST, best validation accuracy so far (median)", "epochs of all trials", "accuracy", lines)


def main():
    drawings = {"ranks": ranks, "regret": regret, "arrivals": arrivals, "epochs": epochs}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drawing", choices=drawings)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--of", help="a function's name")
    parser.add_argument("--searchers", type=lambda text: text.split(","))
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(drawings[options.drawing](options))


if __name__ == "__main__":
    main()
