"""Two values behind one name, as in "loss: 0.2 / 0.9", which no word tells apart."""

import ast
import re

from measures import LOWER, TIMES, UNIT_OF_TIME, is_part_alone, measures_of, words_of
from scores import value_at
from templates import BRACE_HOLE, PERCENT_HOLE

BETWEEN = re.compile(r"\s*%?\s*[/|]\s*$")
BARE = re.compile(r"\s*%?,?\s+$")  # "auc 0.5 0.6" and "auc 0.5, 0.6"
# Behind the second, which it says to be no value of the metric.
OTHER = re.compile(rf"\s*(?:{UNIT_OF_TIME}|it|steps?|epochs?|samples?|batch(?:es)?|MB|GB)\b|\s*[/:=]", re.I)
NAMED_BEHIND = re.compile(r"\s+[A-Za-z][\w ]*\s*(?:$|[,;|)])")  # "acc 0.5 | 0.3 loss"
OTHER_NAMES = {*TIMES, "lr", "rate", "total", "len", "n", "num", "epoch", "epochs", "step", "steps", "batch", "batches", "best", "max", "size",
               "count"}
COUNTED = {"error", "err"}  # Also a number of cases: "errors 3/100".
DECIMAL = re.compile(r"-?(?:\d*\.\d+|\d+e[-+]?\d+)", re.I)
PAIR = re.compile(rf"({DECIMAL.pattern})\s*(%?)\s*[/|]\s*({DECIMAL.pattern})(?![\w.])(%?)", re.I)
MIXED = re.compile(rf"({DECIMAL.pattern}|\d+%)\s*/\s*(-?[\d.]+)\s*%", re.I)  # "0.663/62.5%"
DOUBT = ("two values stand behind '{0}', as in '{1}'{2}: let the script print each with a name of its own, as in train_{3} and val_{3}, and call "
         "tune init again")
FIRST = ", and the first is read"


def format_at(line, i):
    """The format of the value at parts[i], ".3f"; None: it is not seen."""
    value = value_at(line, i) if line is not None else None
    for node in ast.walk(line.printing) if value is not None else ():
        if isinstance(node, ast.FormattedValue) and node.value is value:
            return ast.unparse(node.format_spec)[2:-1] if node.format_spec is not None else None
        is_percent = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        is_format = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format"
        text = node.left if is_percent else node.func.value if is_format else None
        if not isinstance(getattr(text, "value", None), str):
            continue
        given = (node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]) if is_percent else node.args
        holes = re.findall(PERCENT_HOLE if is_percent else BRACE_HOLE, text.value.replace("%%", ""))
        if len(holes) == len(given) and value in given:
            return holes[given.index(value)].strip("{}")
    return None


def has_decimals(line, i):
    """Whether the value at parts[i] is printed with decimals, so that it counts nothing."""
    return re.search(r"\.\d", format_at(line, i) or "") is not None


def is_of_one_form(line, i):
    """Whether both values of "auc 0.5 0.6" are printed with decimals, or made by calls that differ in their names alone."""
    if has_decimals(line, i) and has_decimals(line, i + 2):
        return True
    values = [value_at(line, at) for at in (i, i + 2)]
    if not all(isinstance(v, ast.Call) and format_at(line, at) is None for v, at in zip(values, (i, i + 2))):
        return False
    return len({re.sub(r"\bid='\w+'", "", ast.dump(v)) for v in values}) == 1


def second_of_pair(line, i, name):
    """Where the second value stands of which the first is at parts[i], and no count of how many there are; None: there is none."""
    if i + 2 >= len(line.parts) or line.parts[i + 2] is not None:
        return None
    is_bare = BARE.match(line.parts[i + 1] or "") is not None and is_of_one_form(line, i)
    if not is_bare and not BETWEEN.match(line.parts[i + 1] or ""):
        return None
    behind = line.parts[i + 3] if i + 3 < len(line.parts) else ""
    value = value_at(line, i + 2)
    variable = re.sub(r"\W+", "_", ast.unparse(value)) if value is not None else ""
    is_named = NAMED_BEHIND.match(behind or "") is not None and len(line.parts) <= i + 4
    if OTHER.match(behind or "") or is_named or set(words_of(variable)) & OTHER_NAMES:
        return None
    is_loss = bool(measures_of(name) & set(LOWER)) and not measures_of(name) & COUNTED
    is_plain = format_at(line, i) is None and format_at(line, i + 2) is None and is_loss and "| " not in line.parts[i + 1] and value is not None
    return i + 2 if is_bare or has_decimals(line, i) and has_decimals(line, i + 2) or is_plain else None


def doubts_on_pair(line, i, name):
    if not is_part_alone(name) and second_of_pair(line, i, name) is not None:
        yield DOUBT.format(name, "0.5" + line.parts[i + 1] + "0.6", FIRST, measure_of(name))


def pair_in_log(line, end):
    """The two values of which the first stands at `end` of a log's line, "0.2 / 0.9"; "" where there is one, or one that counts."""
    pair = PAIR.match(line, end) or MIXED.match(line, end)
    behind = line[pair.end():] if pair else ""
    return pair.group(0) if pair and not OTHER.match(behind) and not NAMED_BEHIND.match(behind) else ""


def measure_of(name):
    return "_".join(sorted(measures_of(name))) or "loss"
