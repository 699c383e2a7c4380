"""What scripts do by hand: sys.argv, docopt's text, and values that stand in the script itself."""

import ast
import re

from domains import is_usual
from options import Option, dotted, kind_of, literal, name_of, number_or_text, with_gaps_filled
from subcommands import PREFERRED


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


def given_above(name, statement, assigned):
    """The value of LR = 0.1 above `if len(sys.argv) > 1: LR = float(sys.argv[1])`."""
    values = [(line, value) for line, value in assigned.get(name, []) if line < statement.lineno and isinstance(value, ast.Constant)]
    return max(values, key=lambda found: found[0])[1] if values else None


def from_argv(tree, constants):
    """lr = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1"""
    found, without, assigned = {}, fallbacks(tree), {}
    for statement in ast.walk(tree):
        for name, value in named_values(statement):
            assigned.setdefault(name, []).append((statement.lineno, value))
    for statement in ast.walk(tree):
        for target, value in named_values(statement):
            instead = without.get(target) or given_above(target, statement, assigned)
            default = literal(value.orelse if isinstance(value, ast.IfExp) else instead, constants)[1]
            kinds = [dotted(n.func) for n in ast.walk(value) if isinstance(n, ast.Call) and dotted(n.func) in ("float", "int")]
            for node in ast.walk(value):
                index = index_of(node)
                if index and index not in found:
                    name = name_of(target) if len(target) == 1 else name_of(target).lower()  # C is one of its own.
                    option = Option(name, "", kinds[0] if kinds else kind_of(None, default), default)
                    option.is_required = True
                    found[index] = option
    return with_gaps_filled(found)


def usage_of(text):
    """The words of docopt's usage, without the program's: of the line that trains, else of the first. What stands in brackets is left out."""
    lines = re.search(r"usage:[ \t]*\n?((?:[ \t]*\S[^\n]*\n?)*)", text, re.I).group(1).splitlines()
    lines = [re.sub(r"\[[^\[\]]*\]|\([^()]*\)", " ", re.sub(r"\[[^\[\]]*\]", " ", line)).split()[1:] for line in lines]
    return next((words for words in lines if set(words) & set(PREFERRED)), lines[0] if lines else [])


def add_usage(options, words):
    """Adds the commands and the positional words, and marks the options without which docopt shows its usage."""
    by_flag, places = {o.flag: o for o in options}, []
    for i, word in enumerate(words):
        flag, name = re.split(r"[= ]", word)[0], word.strip("<>.")
        if word.startswith("-"):
            if flag in by_flag and not by_flag[flag].is_switch:
                by_flag[flag].is_required = by_flag[flag].default is None
        elif i and words[i - 1] in by_flag and not by_flag[words[i - 1]].is_switch or not re.fullmatch(r"[\w-]+", name):
            continue  # The value of "--lr <lr>".
        else:
            option = Option(name_of(name).lower())
            if word.startswith("<") or name.isupper():
                option.is_required = True
            else:
                option.word = name
            places.append(option)
    return places + options


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
    return add_usage(options, usage_of(text))


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
