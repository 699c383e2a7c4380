"""Metrics that a Python script writes into a JSON file: json.dump({"test": {"rmse": rmse}}, open("metrics.json", "w"))."""

import ast
import os
import re

from measures import is_metric
from metrics import Metric
from options import dotted
from shared_files import Paths, access_of, is_shared


class JsonPlace:
    """Where a metric stands: a file, and the key in it."""

    def __init__(self, path, option, key):
        self.path, self.option, self.key = os.path.normpath(path), option, key

    def path_in_trial(self, given):
        """`given`: {option's name: its word} of the options that the command points into the trial's folder."""
        word = given.get(self.option.name) if self.option else None
        if word is None:
            return self.path
        rest = os.path.relpath(self.path, os.path.normpath(self.option.default))
        return word if rest == "." else os.path.join(word, rest)


def keys_of(node, values, depth=0):
    """The paths of keys ("test.rmse") of a dict's numbers, as the script writes it."""
    if depth > 4:
        return
    if isinstance(node, ast.Name) and len(values.get(node.id, [])) == 1:
        yield from keys_of(values[node.id][0], values, depth + 1)
        return
    pairs = []
    if isinstance(node, ast.Dict):
        pairs = [(k.value, v) for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    elif isinstance(node, ast.Call) and dotted(node.func) == "dict":
        pairs = [(k.arg, k.value) for k in node.keywords if k.arg]
    for key, value in pairs:
        inner = list(keys_of(value, values, depth + 1))
        if "." not in key:
            yield from ((f"{key}.{below}" for below in inner) if inner else [key] if is_number(value, values) else [])


def is_number(node, values):
    """Whether it may be one: no text, and no list."""
    if isinstance(node, ast.Name) and len(values.get(node.id, [])) == 1:
        node = values[node.id][0]
    is_other_constant = isinstance(node, ast.Constant) and not isinstance(node.value, (int, float))
    return not is_other_constant and not isinstance(node, (ast.Dict, ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr))


def appends(call):
    """Whether a call of open() adds to what is there: lines of JSON are no one document."""
    modes = [k.value for k in call.keywords if k.arg == "mode"] + call.args[1:2]
    return any(isinstance(mode, ast.Constant) and str(mode.value).startswith("a") for mode in modes)


class OpenedFiles:
    """What open() has opened, by the name that it was given."""

    def __init__(self, tree):
        nodes = list(ast.walk(tree))
        self.opened = [(n.context_expr, n.optional_vars) for n in nodes if isinstance(n, ast.withitem) and n.optional_vars is not None]
        self.opened += [(n.value, t) for n in nodes if isinstance(n, ast.Assign) for t in n.targets]

    def call_of(self, node):
        """The call of open() that a file written to was opened by, the last one above it; None: it is not known."""
        if isinstance(node, ast.Name):
            above = [value for value, target in self.opened if ast.unparse(target) == node.id and value.lineno <= node.lineno]
            node = max(above, key=lambda value: value.lineno, default=None)
        is_open = isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "open"
        return node if is_open else None


def json_metrics(tree, options):
    """Of each json.dump(dict, file) and file.write(json.dumps(dict)) whose file's name is known."""
    paths, files = Paths(tree, options), OpenedFiles(tree)
    values = {name: found for name, found in paths.values.items() if name.isidentifier()}

    def place_of(node):
        call = files.call_of(node)
        path, is_written, _ = access_of(call) if call else (None, False, False)
        return paths.of(path) if is_written and not appends(call) else (None, None)

    metrics, names = [], set()
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args):
        name = dotted(call.func)
        written, (path, option) = None, (None, None)
        inner = call.args[0]
        is_text = isinstance(inner, ast.Call) and dotted(inner.func) in ("json.dumps", "dumps") and inner.args
        if name in ("json.dump", "dump") and len(call.args) > 1:
            written, (path, option) = inner, place_of(call.args[1])
        elif is_text and isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "write_text"):
            owner = call.func.value
            written, (path, option) = inner.args[0], paths.of(owner) if call.func.attr == "write_text" else place_of(owner)
        if written is None or not is_shared(path) or not path.endswith(".json") or "{" in path:
            continue
        for key in keys_of(written, values):
            metric_name = re.sub(r"\W+", "_", key).lower().strip("_")
            # A file is written in the end: what was the best then is a result.
            is_result = is_metric(metric_name) or is_metric(metric_name.removeprefix("best_"))
            if is_result and metric_name not in names:
                names.add(metric_name)
                metric = Metric(metric_name, "", order=(call.lineno, len(metrics)))
                metric.json = JsonPlace(path, option, key)
                metrics.append(metric)
    return metrics
