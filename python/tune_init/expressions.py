"""Expressions that find a value in a line, made of what the script prints around it, and tried on that."""

import re

from changes import ANY, LOGGED, OLD
from counts import COUNTED
from groups import group_of
from names import label_text

NUMBER = r"[+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?:nan|inf)\b"

# A logger's words end with a sign, as in "INFO:root:" and "10:00 - ", or with a level. "test accuracy" is another message than "accuracy".
BEFORE_MESSAGE = r"(?:^|[^\w\s]\s*|\b[A-Z]+\s+)"


def escaped(text):
    text = re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text).replace("\t", r"\t").replace(OLD, ANY).replace(COUNTED, ANY)
    text = re.sub(LOGGED + r"(\b)?", lambda m: ".*?" if m.group(1) is None else r".*?\b", text)
    return "".join(c if c.isprintable() or c.isspace() else ".?" for c in text)  # No screen shows it.


def keys_around(text):
    """The keys of the dictionaries within the line's own that are open at the text's end: ["valid"]."""
    keys = []
    for match in re.finditer(r"([\"'])([\w./@-]+)\1\s*:\s*\{|([{}])", text):
        if match.group(3) != "}":
            keys.append(match.group(2) or "")
        elif keys:
            keys.pop()
    return [k for k in keys if k]


def within_keys(keys, regex):
    """The expression of a value in a dictionary within the line's own. It begins with the quote of a key."""
    return regex[0] + escaped(keys[-1]) + regex[0] + r":\s*\{[^{}]*" + regex


def regex_for(parts, i):
    """The expression of the value at parts[i]: its label, anchored where the label begins."""
    text = parts[i - 1]
    before, label = label_text(text)
    is_first = i == 1 or "\n" in text
    if before.endswith(LOGGED):
        anchor = r"\b"
    elif before:
        separator = before[-2:] if len(before) > 1 and not before[-2:].isalnum() else before[-1:]
        anchor = escaped(separator)
    else:
        anchor = "^" if is_first else r"\b"
    if label[:1] in ("'", '"'):  # A dictionary's keys come in any order.
        anchor = ""
    if anchor == r"\b" and not re.match(r"\w", label):
        anchor = ""
    after = parts[i + 1] if i + 1 < len(parts) else None
    tail = "%" if after is not None and after.startswith("%") else ""
    tail = "/" if after is not None and after.startswith("/") else tail
    # A dictionary shows a number of numpy or torch as np.float64(0.5).
    kind = r"(?:[\w.]+\()?'?" if label.endswith("': ") else ""
    blank = r"\s*" if label[-1:] in ":=" else ""  # f"acc={acc:8.3f}" pads it.
    return anchor + re.sub(r"\s+", r"\\s+", escaped(label)) + blank + kind + "{number}" + tail


def rendered(parts):
    """A line with a number of its own for each value, and these numbers."""
    numbers = [f"0.{917 + 13 * i}" for i in range(len(parts))]
    return "".join(numbers[i] if p is None else p for i, p in enumerate(parts)).replace(OLD, "0.25").replace(COUNTED, "10").replace(LOGGED, "INFO:root:"), numbers


def finds(regex, line):
    """The numbers that an expression finds in a line; of each line of a text the last counts."""
    python = regex.replace("{number}", f"({NUMBER})")
    found = []
    for text in line.split("\n"):
        matches = list(re.finditer(python, text))
        if matches:
            found.append(matches[-1].group(1))
    return found


def count_of(regex, line):
    return sum(1 for text in line.split("\n") for _ in re.finditer(regex.replace("{number}", f"({NUMBER})"), text))


def beginning_of(parts, i, hole=".*?"):
    """The expression of the value at parts[i], from its line's beginning on; `hole` is that of earlier values."""
    before, first = parts[:i], 0
    for at, part in enumerate(before):
        if part is not None and "\n" in part:
            first = at
    texts = [p.split("\n")[-1] if at == first and p is not None else p
             for at, p in enumerate(before) if at >= first]
    expressions = [hole if p is None else re.sub(r"\s+", r"\\s+", escaped(p)) for p in texts]
    begin = r"^\s*" if texts[:1] == [None] else "^"  # f"{epoch:3d} val acc {acc}"
    return begin + "".join(expressions) + "{number}"


def is_free_of(regex, others):
    return not any(finds(regex, rendered(other.parts)[0]) for other in others)


def line_around(parts, i):
    """What stands before and behind the value at parts[i] on its own line of a text of several."""
    before, behind = ("".join("1" if p is None else p for p in some) for some in (parts[:i], parts[i:]))
    return before.split("\n")[-1], behind.split("\n")[0]


def group_in(parts, i):
    before, behind = line_around(parts, i)
    return group_of(before + behind, len(before))
