"""Lines that give the values of several parts of the data: "Train: loss 0.1, acc 0.9 | Val: loss 0.2, acc 0.8"."""

import functools
import re

from measures import part_of

SEPARATORS = r"[|;]| //? | - "
WORD = re.compile(r"(?<![\w/.-])[A-Za-z]+(?![\w/-]|\.\w)")


def words_of_parts(text):
    """[(word, where it ends)] of the words that name a part of the data."""
    return [(m.group(0), m.end()) for m in WORD.finditer(text) if part_of([m.group(0).lower()])]


@functools.lru_cache(maxsize=64)  # It is asked for each value of a line.
def parts_named(text):
    return {part_of([word.lower()]) for word, _ in words_of_parts(text)}


def group_of(line, end):
    """The word that says of which part of the data the value at `end` is: "Train", "Val"; "" where all are of one part.

    It governs what stands between two separators, or, as in "Val: " and "val [", what follows up to the next such word.
    """
    if len(parts_named(line)) < 2:
        return ""
    begin = max((m.end() for m in re.finditer(SEPARATORS, line[:end])), default=0)
    stop = re.search(SEPARATORS, line[end:])
    segment = line[begin:end + stop.start() if stop else len(line)]
    words = words_of_parts(line[begin:end])
    if words and len(parts_named(segment)) == 1:
        return words[-1][0]
    words = words_of_parts(line[:end])
    return words[-1][0] if words and re.match(r"\s*(?:(?:=\s*)?[\[({]|\]|:|=>|->)", line[words[-1][1]:end]) else ""
