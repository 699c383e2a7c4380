"""What scripts do by hand: sys.argv, docopt's text, and values that stand in the script itself."""

import ast
import re

from domains import is_usual
from options import Option, dotted, kind_of, literal, name_of, number_or_text, with_gaps_filled


def index_of(node):
    """3 of sys.argv[3]."""
    is_argument = isinstance(node, ast.Subscript) and dotted(node.value) in ("sys.argv", "argv")
    if is_argument and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
        return node.slice.value
    return None


def named_values(statement):
    """(name, value) of x = 1, and of x, y = 1, 2."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    is_pairwise = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    for one, its_value in zip(target.elts, value.elts) if is_pairwise else [(target, value)]:
        if isinstance(one, ast.Name):
            yield one.id, its_value


def fallbacks(tree):
    """{name: value} of try: lr = float(sys.argv[1]) except IndexError: lr = 0.1"""
    handlers = [h for n in ast.walk(tree) if isinstance(n, ast.Try) for h in n.handlers
                if h.type is None or re.search(r"\b(IndexError|LookupError|Exception)\b", ast.unparse(h.type))]
    return {name: value for h in handlers for statement in h.body for name, value in named_values(statement)}


def from_argv(tree, constants):
    """lr = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1"""
    found, without = {}, fallbacks(tree)
    for statement in ast.walk(tree):
        for target, value in named_values(statement):
            default = literal(value.orelse if isinstance(value, ast.IfExp) else without.get(target), constants)[1]
            kinds = [dotted(n.func) for n in ast.walk(value) if isinstance(n, ast.Call) and dotted(n.func) in ("float", "int")]
            for node in ast.walk(value):
                index = index_of(node)
                if index and index not in found:
                    name = name_of(target) if len(target) == 1 else name_of(target).lower()  # C is one of its own.
                    option = Option(name, "", kinds[0] if kinds else kind_of(None, default), default)
                    option.is_required = True
                    found[index] = option
    return with_gaps_filled(found)


def from_docopt(tree, source):
    """--lr=<x>  The rate [default: 0.1]."""
    text = ast.get_docstring(tree) or ""
    if "docopt" not in source or "Usage:" not in text and "usage:" not in text:
        return []
    options = []
    for match in re.finditer(r"^\s+(?:-\w(?:[ =]\S+)?,?\s+)?(--[\w-]+)([= ]<?[\w-]+>?)?\s{2,}(.*(?:\n\s{8,}[^-\s].*)*)", text, re.M):
        flag, value, help_text = match.groups()
        default = re.search(r"\[default: ([^\]]*)\]", help_text)
        known = number_or_text(default.group(1)) if default else None
        option = Option(name_of(flag), flag, kind_of(None, known), known)
        if flag in ("--help", "--version"):
            continue
        option.is_switch = value is None
        option.kind = "bool" if value is None else option.kind
        options.append(option)
    return options


def fixed_values(tree):
    """(name, value, whether it is an entry of a dictionary) of numbers at the top of the module."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) and is_usual(value.value):
            yield name, value.value, ""
        if isinstance(value, ast.Dict):
            for key, entry in zip(value.keys, value.values):
                if isinstance(key, ast.Constant) and isinstance(entry, ast.Constant):
                    if isinstance(key.value, str) and isinstance(entry.value, (int, float)):
                        yield key.value, entry.value, name
