#!/usr/bin/env python3
"""Median regret over trials as an SVG.

    bench/search_quality/draw_regret.py CSV... --function NAME --searcher NAME... > picture.svg
"""
import argparse
import math
import statistics

from compare import read

COLOURS = ["#888888", "#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 300, 60, 40, 24


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--function", required=True)
    parser.add_argument("--searcher", action="append", required=True)
    options = parser.parse_args()
    rows = read(options.csv)[options.function]
    curves = {}
    for name in options.searcher:
        seeds = rows[name].values()
        length = min(len(values) for values in seeds)
        curves[name] = [max(statistics.median(values[i] for values in seeds), 1e-8) for i in range(length)]
    low = math.floor(math.log10(min(min(c) for c in curves.values())))
    high = math.ceil(math.log10(max(max(c) for c in curves.values())))
    count = max(len(c) for c in curves.values())

    def x(i):
        return LEFT + (WIDTH - LEFT - 130) * i / max(1, count - 1)

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log10(value)) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    out.append(f'<text x="{LEFT}" y="15">{options.function}: median regret over trials</text>')
    for power in range(low, high + 1):
        at = y(10.0**power)
        out.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{x(count - 1):.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">1e{power}</text>')
    for i in range(0, count + 1, 20):
        out.append(f'<text x="{x(max(0, i - 1)):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{max(1, i)}</text>')
    for place, (name, curve) in enumerate(curves.items()):
        points = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(curve))
        colour = COLOURS[place % len(COLOURS)]
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{x(count - 1) + 8:.1f}" y="{TOP + 20 + 18 * place}" fill="{colour}">{name}</text>')
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
