"""Lines that an epoch prints several times in the same words, so that no expression tells one from the other."""

import ast

from names import part_of_line
from options import dotted
from origins import part_of_function

# Names of variables that hold a part of the data.
PARTS = ("phase", "split", "mode", "stage", "subset", "partition", "set_name", "dataset_name")


def unknown_part(printing, bound, texts):
    """The variable in the line that says of which part of the data it is, where its values are not known."""
    shown = [n for a in printing.args for n in ast.walk(a)]
    names = [n.id for n in shown if isinstance(n, ast.Name)]
    names += [n.attr for n in shown if isinstance(n, ast.Attribute) and dotted(n.value) == "self"]
    return next((n for n in names if n in PARTS and n not in bound and not texts.get(n)), None)


def heading_of(line, lines):
    """The words alone that were printed right before the line."""
    before = [n for n in lines[:lines.index(line)] if n.block == line.block]
    return "".join(before[-1].parts).strip() if before and None not in before[-1].parts else ""


def functions_called_again(tree, places, owners):
    """(function, how it is called) of those that one list of statements calls more than once, or a loop and what stands around it."""
    methods = {f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        calls = [call for call in places if dotted(call.func).split(".")[-1] == function.name
                 and isinstance(call.func, ast.Attribute) == (function in methods)]
        blocks = [places[call][0] for call in calls]
        times = max(map(blocks.count, blocks), default=0)
        in_loops = [call.lineno for call in calls if places[call][1]]
        looping = [owners.get(call) for call in calls if places[call][2]]
        if times > 1:
            yield function, f"{times} times one after the other"
        elif in_loops and any(call.lineno > min(in_loops) for call in calls if not places[call][1]):
            yield function, "in a loop and once more behind it"
        elif looping and any(owners.get(call) in looping and call.lineno < min(in_loops) for call in calls if not places[call][1]):
            yield function, "once before a loop and then in it"


def says_the_same(line, other, i):
    """Whether no word tells the value at parts[i] of one line from that of the other: "acc 0.5" and "acc 0.5 (val)"."""
    is_of_one_part = part_of_line(line.parts) == part_of_line(other.parts) and part_of_function(line) == part_of_function(other)
    return is_of_one_part and line.parts[:i + 1] == other.parts[:i + 1]


def repeated(line, i, lines):
    """How the words before the value at parts[i] come again among the same statements; "" where they do not."""
    same = [n for n in lines if says_the_same(n, line, i) and n.block == line.block]
    if len(same) < 2:
        return ""
    headings = [heading_of(n, lines) for n in same]
    below = f", below {' and '.join(repr(h) for h in headings)}" if all(headings) else ""
    return f"is printed {len(same)} times in the same words{below}"


def add_repeated_calls(lines, tree, places, owners):
    for function, how in functions_called_again(tree, places, owners):
        inner = set(ast.walk(function))
        for line in lines:
            if line.call in inner:
                line.repeated_call = f"is printed by {function.name}(), which is called {how}"
