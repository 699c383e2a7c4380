"""Lines that tell of a change: "val_acc improved from 0.57 to 0.61", "loss 0.9 -> 0.5". The second value is what they tell."""

import re

from measures import HIGHER, LOWER, words_of

OLD = "\0"  # In a line's text: the value that was.
LOGGED = "\1"  # What a logger writes before its message: a time, a level, "INFO:root:", or nothing.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")  # Colours and the like, which are taken out before a line is read.
ARROW = r"%?\s*(?:-+>|=+>|→|~>)\s*"
ARROW_OR_TO = re.compile(rf"{ARROW}|%?,?\s+to\s+")
ANY = r"\S+?"  # The expression of the value that was.


def is_change(before, between):
    """Whether the value after `before` is the old one, and `between` leads to the new one."""
    if re.fullmatch(ARROW, between):
        return True
    return ARROW_OR_TO.fullmatch(between) is not None and re.search(r"\bfrom[\s:=]*$", before) is not None


def with_old_marked(parts):
    """(the parts without the values that were, which of the values these are): "acc ", None, " -> ", None."""
    out, old, values = [], [], 0
    for i, part in enumerate(parts):
        if part is None:
            values += 1
            before = out[-1] if out and isinstance(out[-1], str) else ""
            between = parts[i + 1] if i + 2 < len(parts) and parts[i + 2] is None else None
            if before and isinstance(between, str) and is_change(before, between):
                out[-1] += OLD
                old.append(values - 1)
                continue
            out.append(None)
        elif out and isinstance(out[-1], str):
            out[-1] += part
        else:
            out.append(part)
    return out, old


def name_of_change(label):
    """"val_acc" of "val_acc_improved_from": the name ends with its measure."""
    pieces = label.split("_")
    measures = [i for i, piece in enumerate(pieces) if any(w in HIGHER or w in LOWER for w in words_of(piece))]
    return "_".join(pieces[:measures[-1] + 1]) if measures else label


def is_old_alone(label):
    """Whether the label leads to a value that was, as in "did not improve from 0.61"."""
    return label.endswith("_from")


def old_value_at(line, at, number):
    """The text from a number of a line to the new value behind its arrow, and where that is; None: no change is told there."""
    match = re.compile(rf"(?:{number})({ARROW}|%?,?\s+to\s+)(?={number})").match(line, at)
    return (match.group(1), match.end()) if match and is_change(line[:at], match.group(1)) else None
