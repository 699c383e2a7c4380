"""Which of the lines that print a value of the same name is read: of the validation before the training, of an epoch before a batch."""

import ast

from changes import LOGGED, OLD
from counters import OF_FOLD, counts_batches, ends_epoch, is_mean, level_of, summarizes, units_in
from counts import COUNTED
from measures import part_of, words_of
from names import part_of_line
from origins import origin_of_values, part_of_function
from scores import value_at

STANDINGS = {"validation": 1, "test": 2}  # Of lines; those of the training come last.
UNSAID, OF_TRAINING = 3, 4


def text_of_parts(parts):
    return "".join("1" if part is None else part.replace(OLD, "1").replace(COUNTED, "1").replace(LOGGED, "") for part in parts)


def text_of(line):
    """The line with a number for each value."""
    return text_of_parts(line.parts)


def unit_of(line):
    """"fold", "shard" and the like where the line is printed for each; "" for others."""
    found = [unit for unit, _, at in units_in(text_of(line)) if unit == "fold" or is_of_several(line, at)]
    return found[0] if found else line.unit_of_loop or (line.subject.word if line.subject else "")


def is_of_several(line, at):
    """Whether the number at this place of the line is one that a loop or a function's caller changes, as no option's is."""
    ends = [len(text_of_parts(line.parts[:i])) for i in range(len(line.parts))]
    if at not in ends or line.parts[ends.index(at)] is not None:
        return False
    value = value_at(line, ends.index(at))
    return not isinstance(line.call, ast.Call) or value is not None and ast.unparse(value) in line.counters


def precedence(line):
    """Of lines with the same name, the first in this order is read."""
    words = " ".join(p for p in line.parts if p)
    is_end = line.is_in_loop and ends_epoch(words)
    kind = level_of(unit_of(line), summarizes(words) and not is_end, is_mean(text_of(line)))
    standing = standing_of_part(line)
    return (kind == OF_FOLD, standing >= UNSAID, kind, bool(line.old), is_on_one_bar(line), not line.is_in_loop, standing,
            counts_batches(text_of(line)), is_end, line.depth)


def is_on_one_bar(line):
    return line.bar is not None and not line.bar.is_remade


def standing_of_part(line):
    """Of two lines with the same names, "Train | Acc: ..." and "Valid | Acc: ...", the second is the one to look at; so it is
    beside a line that names no part of the data."""
    words = [w for part in line.parts if isinstance(part, str) for w in words_of(part)]
    said = part_of_line(line.parts) or part_of(words)
    if said and part_of_line(line.parts) != said:  # By the names of its values.
        return OF_TRAINING if said == "training" else UNSAID
    part = said or origin_of_values(line).part or part_of_function(line)
    return STANDINGS.get(part) or (OF_TRAINING if part == "training" else UNSAID)
