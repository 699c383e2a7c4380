"""What the loop that prints a line goes over: epochs and the like, or things whose values are not to be compared."""

import ast
import re

from measures import is_metric, part_of, words_of
from options import dotted
from scores import shown_values

TIME = ("epoch", "epochs", "ep", "step", "steps", "iter", "iters", "iteration", "iterations", "it", "round", "rounds", "batch",
        "batches", "minibatch", "episode", "episodes", "gen", "generation", "generations", "cycle", "update", "updates", "t", "time",
        "tick", "pass", "e", "s", "trees", "boost", "loader", "dataloader", "frame")
NEUTRAL = ("i", "j", "n", "b", "x", "y", "idx", "index", "num", "count", "counter", "_", "r", "v")
# Before a number these name nothing that there are several of.
EMPTY = ("at", "after", "in", "of", "for", "on", "no", "nr", "number", "the", "info", "and", "by", "progress", "train", "status", "result")
EPOCHS, PHASES, THINGS, UNKNOWN = "epochs", "phases", "things", "unknown"


def targets_of(loop):
    return [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]


def iterated(loop):
    """What is gone over, without enumerate(), tqdm(), zip() and the like."""
    over = loop.iter
    while isinstance(over, ast.Call) and over.args and dotted(over.func).split(".")[-1] in (
            "enumerate", "tqdm", "sorted", "reversed", "zip", "list", "iter"):
        over = over.args[0]
    return over


def literals_of(loop, lists):
    """The values of a loop over a list that stands in the script; [] for others."""
    over = iterated(loop)
    if isinstance(over, ast.Name):
        over = lists.get(over.id, over)
    if not isinstance(over, (ast.List, ast.Tuple, ast.Set)):
        return []
    firsts = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in over.elts]
    return [e.value for e in firsts if isinstance(e, ast.Constant)] if all(isinstance(e, ast.Constant) for e in firsts) else []


def counts(values):
    """Whether the values are 1, 2, 3 and so on."""
    return bool(values) and all(type(v) is int for v in values) and values == list(range(values[0], values[0] + len(values)))


def is_of_time(text):
    return any(w in TIME for w in words_of(text))


def is_of_epochs(loop):
    words = words_of(" ".join(targets_of(loop)) + " " + ast.unparse(loop.iter))
    return any(w in ("epoch", "epochs", "ep") for w in words) or targets_of(loop) == ["e"]


def shown_by(line, targets):
    """(label, variable) of the loop's variables that the line shows, each with the words before it."""
    values = iter(shown_values(line))
    for i, part in enumerate(line.shown):
        value = next(values, None) if part is None else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) and isinstance(value.right, ast.Constant):
            value = value.left
        if isinstance(value, ast.Name) and value.id in targets:
            before = line.shown[i - 1] if i and line.shown[i - 1] else ""
            label = re.search(r"([A-Za-z][\w -]*)[\s:=#\[(\"'@_-]*$", before)
            label = re.sub(r"\W+", "_", label.group(1)).strip("_").lower() if label else ""
            yield label, value.id


class Subject:
    """What the lines of one metric are about, where that is not time."""

    def __init__(self, word, texts=()):
        self.word = word
        self.texts = [str(t) for t in texts]


def subject_by_line(line, targets):
    """By what the line says of the loop's variable; None: nothing, or it is of time."""
    for label, variable in shown_by(line, targets):
        words = words_of(label)
        if is_metric(label) or any(w in TIME for w in words[-2:]):
            continue
        if words and words[-1] not in EMPTY and not words[-1].endswith(("ing", "ed")) and not part_of(words[-1:]):
            return Subject(words[-1])
        if not words and variable not in NEUTRAL:
            return Subject(variable)
    return None


def kind_of(loop, lists):
    """EPOCHS, PHASES, THINGS or UNKNOWN."""
    if not isinstance(loop, ast.For):
        return UNKNOWN
    values, targets = literals_of(loop, lists), targets_of(loop)
    texts = [v for v in values if isinstance(v, str)]
    if texts and len(texts) == len(values) and (all(part_of([t.lower()]) for t in texts) or any(map(is_metric, texts))):
        return PHASES
    is_time = any(is_of_time(t) and (len(t) > 2 or not values) for t in targets)
    if is_time or is_of_epochs(loop) or counts(values):
        return EPOCHS
    if values:
        return THINGS
    over = iterated(loop)
    is_of_keys = isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ("items", "keys", "values")
    return THINGS if is_of_keys and not is_of_time(ast.unparse(over)) else UNKNOWN


def subject_of(line, loops, lists, keys_of):
    """The subject of a line within these loops of its function; None: the loops are of time, or nobody knows.

    `keys_of` has the keys of dictionaries that are known.
    """
    has_epochs_within = False
    for loop in reversed([n for n in loops if isinstance(n, ast.For)]):
        kind, targets = kind_of(loop, lists), targets_of(loop)
        known = keys_of(loop)
        if any(is_metric(k) or part_of([k.lower()]) for k in known):
            kind = PHASES
        if kind == PHASES:
            continue
        if kind == THINGS:
            return Subject(targets[0] if targets else "turn", literals_of(loop, lists) or known)
        found = None if any(is_of_time(t) for t in targets) else subject_by_line(line, targets)
        if found:
            return found
        if has_epochs_within:
            return Subject(targets[0] if targets and targets[0] not in NEUTRAL else "run")
        has_epochs_within = has_epochs_within or is_of_epochs(loop)
    return None


def is_of_batches(line, lists):
    """Whether the line is printed within two loops, of which the inner one is not over epochs or parts of the data."""
    loops = [n for n in line.loops if isinstance(n, ast.For)]
    if len(loops) < 2 or is_of_epochs(loops[-1]):
        return False
    return kind_of(loops[-1], lists) not in (PHASES, THINGS)
