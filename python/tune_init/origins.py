"""Of which part of the data a printed value is, where the line's own words do not say: by the names of what the script computes
it from, and by the name of the function that prints it."""

import ast
import typing

from measures import is_metric, part_of, words_of
from names import label_of
from options import dotted
from scores import shown_values

DEPTH_MAX = 8
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Origin(typing.NamedTuple):
    part: str  # "validation", "test", "training"; "": nothing says.
    word: str  # The name that says it.
    is_of_data: bool  # It names the data, as train_loader does and train_epoch() does not.


UNSAID = Origin("", "", False)
# Names of devices, flags and the like, of which a word names a part of the data.
NO_DATA = ("dev", "check", "cv", "fit", "train", "training", "is_train", "is_training")


def part_in(name):
    """That of "X_val" and "evaluate"; "" for a name of two parts, such as "train_and_test"."""
    parts = {part_of([w]) for w in words_of(name)} - {""}
    return parts.pop() if len(parts) == 1 else ""


def part_of_variable(name):
    return "" if name in NO_DATA else part_in(name)


def agreed(origins):
    """What all say that say anything; UNSAID where they are of two minds."""
    told = [o for o in origins if o.part]
    return told[0] if len({o.part for o in told}) == 1 else UNSAID


def names_in(node):
    """The last word of each variable, attribute and key in an expression, without the functions that it calls."""
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [n for child in [*owner, *node.args, *(k.value for k in node.keywords)] for n in names_in(child)]
    if isinstance(node, ast.Attribute):
        return [node.attr] if part_of_variable(node.attr) else names_in(node.value)
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return [node.slice.value, *names_in(node.value)]
    return [n for child in ast.iter_child_nodes(node) for n in names_in(child)]


class Origins:
    """Where the values of a script come from."""

    def __init__(self, tree):
        self.given = {}  # (function, variable): [(line, expression, the loops around it)], in order.
        self.lowered = set()  # (function, variable) of loss.backward().
        self.known = {}  # What of() said: values that are all computed from all others are asked for again and again.
        self.walk(tree, None, ())

    def walk(self, node, function, loops):
        if isinstance(node, FUNCTIONS):
            function, loops = node, ()
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.add_target(target, node.value, function, loops)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            self.lowered.add((function, ast.unparse(node.func.value)))
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self.add_target(node.target, node.value, function, loops)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "update") and node.args:
            self.add_target(node.func.value, node.args[0], function, loops)  # losses.append(loss), meter.update(loss, n)
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    is_within = isinstance(node, (ast.For, ast.AsyncFor)) and field == "body"
                    self.walk(child, function, (*loops, node) if is_within else loops)

    def add_target(self, target, value, function, loops):
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            for i, one in enumerate(target.elts):
                self.add_target(one, values[i] if values else value, function, loops)
        elif not isinstance(value, ast.Constant):
            self.given.setdefault((function, ast.unparse(target)), []).append((value.lineno, value, loops))

    def of(self, node, function, at, depth=0):
        """The origin of an expression that stands at line `at` of this function."""
        if depth > DEPTH_MAX or node is None or isinstance(node, (ast.Constant, ast.JoinedStr)):
            return UNSAID
        asked = node, function, at, depth
        if asked not in self.known:
            self.known[asked] = self.of_expression(*asked)
        return self.known[asked]

    def of_expression(self, node, function, at, depth):
        def inner(child):
            return self.of(child, function, at, depth + 1)

        if isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if part_of_variable(name):
                return Origin(part_of_variable(name), name, True)
            if (function, ast.unparse(node)) in self.lowered:
                return Origin("training", f"{name}.backward()", True)
            found = self.of_variable(node, function, at, depth)
            return found if found.part or isinstance(node, ast.Name) else inner(node.value)
        if isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return Origin(part_in(key), key, True) if isinstance(key, str) and part_in(key) else inner(node.value)
        if isinstance(node, ast.Call):
            return self.of_call(node, inner)
        return agreed(inner(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    def of_call(self, call, inner):
        name = dotted(call.func).split(".")[-1]
        given = [*call.args, *(k.value for k in call.keywords)]
        if name.startswith("cross_val"):
            return Origin("validation", name + "()", False)
        named = {part_of_variable(n): n for argument in given for n in names_in(argument) if part_of_variable(n)}
        if len(named) > 1:
            return UNSAID
        if named:
            return Origin(*next(iter(named.items())), True)
        if part_in(name) and name not in ("eval", "fit", "train"):  # loss.eval(), fit(X, y).score(A, b), a whole training.
            return Origin(part_in(name), name + "()", False)
        if given or not isinstance(call.func, ast.Attribute):
            return agreed(map(inner, given))
        return inner(call.func.value)  # losses.mean()

    def of_variable(self, node, function, at, depth):
        """By what was last given to it, and by the loop over the data in which it grew."""
        found = [v for v in self.given.get((function, ast.unparse(node)), []) if v[1] is not node]
        found = [v for v in found if v[0] <= at] or found
        if not found:
            return UNSAID
        line, value, loops = found[-1]
        own = self.of(value, function, min(at, line - 1), depth + 1)
        if own.part:
            return own
        over = {part_of_variable(n): n for loop in loops for n in names_in(loop.iter) if part_of_variable(n) and "split" not in ast.unparse(loop.iter)}
        if len(over) == 1:
            return Origin(*next(iter(over.items())), True)
        return UNSAID


def origin_of(line, value):
    """That of an expression that the line shows."""
    return line.origins.of(value, line.printer, line.printing.lineno) if line.origins is not None and value is not None else UNSAID


def origin_of_values(line):
    """That of the line's measures together; where no word calls a value one, of all values."""
    values = shown_values(line)
    holes = [i for i, part in enumerate(line.shown) if part is None]
    named = [v for v, i in zip(values, holes) if i and line.shown[i - 1] and is_metric(label_of(line.shown[i - 1]))]
    return agreed(origin_of(line, value) for value in named or values)


def teller_of(line):
    """The function that prints the line; where that prints what it is given, as log() does, the one that calls it."""
    return line.printer if line.printer is not None and part_in(line.printer.name) in ("validation", "test") else line.owner


def part_of_function(line):
    """"validation" or "test" of the function that prints the line, such as evaluate(); "" for others. train() may print of any data."""
    teller = teller_of(line)
    part = part_in(teller.name) if teller is not None else ""
    return part if part != "training" else ""
