"""The lines that a Python script prints, and where in its loops and functions it prints them."""

import ast

from bars import Bars
from changes import with_old_marked
from counters import LOOP_OVER_FOLDS, LOOP_OVER_UNITS
from counts import with_counts_marked
from loops import is_of_batches, subject_of
from options import dotted
from origins import Origins
from repeats import add_repeated_calls, unknown_part
from templates import Templates, is_name, merged

BINDINGS_MAX = 64  # Of loops within loops.
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Place:
    """In another language, what metrics ask of a call."""

    def __init__(self, lineno):
        self.lineno = lineno


class Line:
    """A printed line: its template, its stream, the call, within how many loops it is, and the bar that shows it."""

    def __init__(self, parts, stream, call, block, depth, bar=None):
        # `old`: which of its values are those that were, as in "loss 0.9 -> 0.5".
        self.shown, self.old = with_old_marked(merged(parts))
        # `counts`: which of those that are shown are no values of their own, as in "return over 10 episodes: 0.5".
        self.parts, self.counts = with_counts_marked(self.shown)
        self.stream, self.call = stream, call
        self.bar = bar
        self.block, self.depth, self.is_in_loop = block, depth, depth > 0
        self.printing = call  # In the function that `call` calls.
        self.loop, self.loops = None, []  # The innermost of its function, and all.
        self.statements_of_loop = None  # The list of statements in which the outermost stands.
        self.subject = None  # What its loop goes over, where that is not time.
        self.is_of_batches = False
        self.may_follow = False  # It may be printed behind a line that was left open.
        self.unit_of_loop = ""  # "fold" in a loop over the folds of a cross validation, and so on.
        self.counters = set()  # The variables that loops and callers set.
        self.unknown_part = None  # The variable that names a part of the data, where its values are not known.
        self.repeated_call = ""  # How often the function that prints it is called.
        self.owner = None  # The function in which `call` stands.
        self.printer = None  # The function in which `printing` stands.
        self.origins = None  # Of the script's values.
        self.looped_at, self.looped_in = call.lineno, None  # Where its outermost loop begins, and in which function.

    def outside_of_loop(self, other):
        """"before" or "behind" where the other line is printed once, and this one by a loop; "" for others."""
        if not self.is_in_loop or other.is_in_loop:
            return ""
        if other.call.lineno > self.looped_at:
            return "behind"
        return "before" if other.owner is self.looped_in else ""

    def is_in_if(self):
        return self.is_in_loop and isinstance(self.block, tuple) and isinstance(self.block[0], ast.If)

    def is_left_open(self):
        """Whether what is printed next stands on the same line."""
        last = dotted(self.printing.func).split(".")[-1]
        if last == "write":
            return not (self.parts[-1] or "").endswith("\n")
        ends = [k.value for k in self.call.keywords if k.arg == "end"]
        return last == "print" and bool(ends) and "\n" not in str(getattr(ends[0], "value", "\n"))


def places_of(tree, called=()):
    """call: (the list of statements in which it stands, within how many loops, those of its function). `called`: the functions that loops of
    other modules call."""
    places = {}
    in_loops = called_in_loops(tree, called)

    def walk(node, block, outer, loops):
        if isinstance(node, ast.Call):
            places[node] = (block, outer + len(loops), loops)
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                is_body = field in ("body", "orelse", "finalbody")
                inner = (node, field) if is_body else block
                if isinstance(node, FUNCTIONS) and is_body:
                    walk(child, inner, int(node.name in in_loops), [])
                else:
                    walk(child, inner, outer, loops + [node] if isinstance(node, LOOPS) and field == "body" else loops)

    walk(tree, None, 0, [])
    return places


def statements_of_loops(tree):
    """loop: the list of statements in which it stands"""
    return {child: (node, field) for node in ast.walk(tree) for field, value in ast.iter_fields(node) if isinstance(value, list)
            for child in value if isinstance(child, LOOPS)}


def owners_of(tree):
    """call: the innermost function in which it stands"""
    owners = {}
    for function in ast.walk(tree):  # Outer functions come first.
        if isinstance(function, FUNCTIONS):
            owners.update((node, function) for node in ast.walk(function) if isinstance(node, ast.Call))
    return owners


def add_loops(lines, places, owners):
    """Where the loops begin that print the lines, also by a call of the function in which they stand."""
    for line in lines:
        calls = [line.call]
        if line.is_in_loop and not line.loops and line.owner is not None:
            calls = [c for c, (_, _, loops) in places.items() if loops and dotted(c.func).split(".")[-1] == line.owner.name]
        first = min(calls, key=lambda c: c.lineno, default=line.call)
        loops = places[first][2]
        line.looped_at = loops[0].lineno if loops else first.lineno
        line.looped_in = owners.get(first)


def called_in_loops(tree, called=()):
    """The names of what loops call, and what that calls; `called` are called so by other modules."""
    def called_by(nodes):
        return {dotted(call.func).split(".")[-1] for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call)}

    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    names, more = set(), called_by(node for node in ast.walk(tree) if isinstance(node, LOOPS)) | set(called)
    while more - names:
        names |= more
        more = called_by(f for f in functions if f.name in names)
    return names


def called_in_loops_of(trees):
    """called_in_loops() of several modules, of which one's loop may call the function of another."""
    names = set()
    while True:
        more = names.union(*(called_in_loops(tree, names) for tree in trees))
        if more == names:
            return names
        names = more


def wrappers_of(tree, templates):
    """(name, whether it is a method): (parameters, their defaults, [calls that print]) of the script's own functions that print what
    they are given."""
    wrappers = {}
    methods = {f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        defaults = dict(zip(reversed(parameters), reversed(function.args.defaults)))
        calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and templates.printed(n) and
                 any(is_name(m) and m.id in parameters for a in n.args for m in ast.walk(a))]
        if calls:
            wrappers[function.name, function in methods] = (parameters, defaults, calls[:1])
    return wrappers


def unit_of_loop(loop):
    """"fold", "shard" and the like where the loop goes over them; "" for others."""
    if not isinstance(loop, ast.For):
        return ""
    target = ast.unparse(loop.target)
    unit = LOOP_OVER_UNITS.match(target)
    return "fold" if LOOP_OVER_FOLDS.search(target + " in " + ast.unparse(loop.iter)) else unit.group(1) if unit else ""


def counters_in(tree, in_loops):
    """The variables that loops set, and the parameters of functions that are called in loops or given to something that calls them."""
    found = {n.id for loop in ast.walk(tree) if isinstance(loop, (ast.For, ast.comprehension))
             for n in ast.walk(loop.target) if is_name(n)}
    given = {n.id for call in ast.walk(tree) if isinstance(call, ast.Call)
             for a in [*call.args, *(k.value for k in call.keywords)] for n in [a] if is_name(n)}
    called = called_in_loops(tree, in_loops) | given
    for function in ast.walk(tree):
        if isinstance(function, FUNCTIONS) and function.name in called:
            found |= {a.arg for a in function.args.args}
    return found


def lines_of(tree, called=()):
    """All lines that the script prints by itself, in the source's order. `called`: the functions that loops of other modules call."""
    templates = Templates(tree)
    places = places_of(tree, called)
    wrappers = wrappers_of(tree, templates)
    bars = Bars(tree, places)
    counters = counters_in(tree, called)
    lines = []
    explained = set()  # Calls in functions of which the caller says more.
    for call in sorted(places, key=lambda n: (n.lineno, n.col_offset)):
        block, depth, loops = places[call]
        bindings = [{}]
        for loop in (n for n in loops if isinstance(n, ast.For)):  # for name, value in metrics.items(): print(name, value)
            name, texts = templates.names.words_of_loop(loop)
            if texts and len(bindings) * len(texts) <= BINDINGS_MAX:
                bindings = [{**b, name: [text]} for b in bindings for text in texts]
        inner = [call]
        wrapper = dotted(call.func).split(".")[-1], isinstance(call.func, ast.Attribute)
        if wrapper in wrappers and not templates.printed(call):
            parameters, defaults, inner = wrappers[wrapper]
            given = {**defaults, **dict(zip(parameters, call.args))}
            given.update({k.arg: k.value for k in call.keywords if k.arg})
            bindings = [{**b, **{p: templates.of(a, b) for p, a in given.items()}} for b in bindings]
        seen = []
        for bound in bindings:
            for printing in inner:
                found = templates.printed(printing, bound)
                if not found or not found[0]:
                    continue
                bar = bars.shown_by(printing) if dotted(printing.func).split(".")[-1].startswith("set_") else None
                if bar is not None and bar.is_silent:
                    continue
                within = depth if printing is call else depth + len(places[printing][2])
                line = Line(found[0], bar.stream if bar else found[1], call, block, within, bar)
                line.loop, line.loops = loops[-1] if loops else None, loops
                line.unit_of_loop = next(filter(None, map(unit_of_loop, loops)), "")
                line.counters, line.printing = counters, printing
                line.subject = subject_of(line, loops, templates.names.lists, lambda n: templates.names.words_of_loop(n)[1])
                line.is_of_batches = is_of_batches(line, templates.names.lists)
                line.unknown_part = unknown_part(printing, bound, templates.names.texts)
                if line.parts not in seen:
                    seen.append(line.parts)
                    lines.append(line)
                if printing is not call and line.parts.count(None) < len([p for p in templates.printed(printing)[0] if p is None]):
                    explained.add(printing)
    lines = [line for line in lines if line.call not in explained]
    for before, line in zip(lines, lines[1:]):
        line.may_follow = before.stream == line.stream and before.is_left_open()
    owners = owners_of(tree)
    statements, origins = statements_of_loops(tree), Origins(tree)
    for line in lines:
        line.owner, line.printer, line.origins = owners.get(line.call), owners.get(line.printing), origins
        line.statements_of_loop = statements[line.loops[0]] if line.loops else None
    add_loops(lines, places, owners)
    add_repeated_calls(lines, tree, places, owners)
    return lines
