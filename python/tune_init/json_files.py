"""Metrics that a Python script writes into a JSON file: json.dump({"test": {"rmse": rmse}}, open("metrics.json", "w"))."""

import ast
import os
import re

from measures import is_metric
from metrics import Metric
from options import dotted
from shared_files import Paths, access_of, is_shared, own_path


class JsonPlace:
    """Where a metric stands: a file, and the key in it."""

    def __init__(self, path, option, key):
        self.path, self.option, self.key = os.path.normpath(path), option, key

    def path_in_trial(self, moved):
        """`moved`: the words of options that the command points into the trial's folder, by the options' names."""
        if self.option is None or self.option.name not in moved:
            return self.path
        default = os.path.normpath(self.option.default)
        rest = os.path.relpath(self.path, default) if self.path != default else "."
        return own_path(self.option) if rest == "." else os.path.join(own_path(self.option), rest)


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
        is_number = not isinstance(value, (ast.Dict, ast.List, ast.Tuple, ast.JoinedStr)) and not (
            isinstance(value, ast.Constant) and not isinstance(value.value, (int, float)))
        if "." not in key:
            yield from ((f"{key}.{below}" for below in inner) if inner else [key] if is_number else [])


def json_metrics(tree, options):
    """Of each json.dump(dict, file) and file.write(json.dumps(dict)) whose file's name is known."""
    paths = Paths(tree, options)
    values = {name: found for name, found in paths.values.items() if name.isidentifier()}
    opened = {ast.unparse(n.optional_vars): n.context_expr for n in ast.walk(tree) if isinstance(n, ast.withitem) and n.optional_vars is not None}

    def place_of(node):
        node = opened.get(ast.unparse(node), values.get(ast.unparse(node), [node])[0])
        access = access_of(node) if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "open" else None
        return paths.of(access[0]) if access and access[1] else (None, None)

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
            if is_metric(metric_name) and metric_name not in names:
                names.add(metric_name)
                metric = Metric(metric_name, "", order=(call.lineno, len(metrics)))
                metric.json = JsonPlace(path, option, key)
                metrics.append(metric)
    return metrics
