"""What stood on the screen of a log: the states of each row, and the heading above each line."""

import re

from changes import ESCAPES
from measures import part_of, words_of


def part_of_heading(heading):
    return part_of(words_of(heading))


def headings_of(lines):
    """For each line the last one up to it that is words alone and names a part of the data."""
    headings, last = [], ""
    for line in lines:
        is_heading = re.search(r"[\d|│]", line) is None and part_of_heading(line) != ""
        last = line.strip() if is_heading else last
        headings.append(last)
    return headings


def states_of(text):
    """What each row said, one after the other; bars below a bar lead the cursor up to it again."""
    rows, row = [[]], 0
    for piece in re.split(r"(\n|\r|\x1b\[A)", text.replace("\r\n", "\n")):
        if piece == "\n":
            row += 1
            if row == len(rows):
                rows.append([])
        elif piece == "\x1b[A":
            row = max(0, row - 1)
        else:
            plain_text = ESCAPES.sub("", piece)
            if plain_text.strip() and plain_text != "\r":
                rows[row].append(plain_text)
    return rows
