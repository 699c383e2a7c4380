"""Subcommands of argparse, click and typer: the one that trains, and which options are its own."""

import ast

from options import dotted

PREFERRED = ("train", "fit", "run", "main", "start", "sweep")
BEFORE, AFTER = "before", "after"  # The subcommand's word.


def strings_of(call):
    return [a.value for a in getattr(call, "args", []) if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def place_in_text(node):
    return node.lineno, node.col_offset


class Subcommands:
    def __init__(self, tree):
        self.word = ""
        self.names = []
        self.places = {}  # A call of add_argument or click.option, or a function of typer: where its options stand.
        self.functions, self.given = {}, {}  # node: its function; (function, variable): the calls of which it is given the value.
        self.read_parsers(tree)
        if not self.names:
            self.read_decorators(tree)

    def place_of(self, node):
        """BEFORE, AFTER, or None: the options are another subcommand's."""
        return self.places.get(node, BEFORE)

    def is_guess(self):
        return len(self.names) > 1 and self.word not in PREFERRED

    def choose(self, names):
        self.names = list(dict.fromkeys(names))
        self.word = next((n for w in PREFERRED for n in self.names if n == w), self.names[0])

    # ---- argparse

    def read_parsers(self, tree):
        made = [(ast.unparse(n.targets[0]), n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign)
                and isinstance(n.value, ast.Call) and dotted(n.value.func).endswith(".add_parser") and strings_of(n.value)]
        if not made:
            return
        self.choose(strings_of(call)[0] for _, call in made)
        self.read_assignments(tree)
        chosen, others = set(), set()
        for variable, call in made:
            own = chosen if strings_of(call)[0] == self.word else others
            own.add(variable)
            for parents in (k.value for k in call.keywords if k.arg == "parents"):
                own |= {ast.unparse(p) for p in getattr(parents, "elts", [])}
        for node in ast.walk(tree):  # Groups of options.
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and "_group" in dotted(node.value.func):
                owner = ast.unparse(node.value.func.value)
                for own in (chosen, others):
                    if owner in own:
                        own |= {ast.unparse(t) for t in node.targets}
        self.place_calls(tree.body, chosen, others)
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            # def add_common(parser): parser.add_argument(...)
            given = [self.is_chosen(a, call, chosen, others) for call in ast.walk(tree) if isinstance(call, ast.Call)
                     and dotted(call.func) == function.name for a in call.args]
            names = {a.arg for a in function.args.args}
            if True in given:
                self.place_calls([function], names, set())
            elif False in given:
                self.place_calls([function], set(), names)

    def read_assignments(self, tree):
        """Keeps for each function what its variables are given, and in which function each call stands."""
        for function in [None, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]:  # Outer ones come first.
            self.functions.update((n, function) for n in ast.walk(function or tree) if isinstance(n, (ast.Call, ast.Assign)))
        for node in (n for n in self.functions if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)):
            for target in node.targets:
                self.given.setdefault((self.functions[node], ast.unparse(target)), []).append(node.value)

    def word_at(self, variable, function, place):
        """The subcommand whose parser, or a group of it, the variable holds at this place; "": it is not known. Scripts call them all `p`."""
        values = [v for v in self.given.get((function, variable), []) if place_in_text(v) < place]
        last = max(values, key=place_in_text, default=None)
        name = dotted(last.func) if last is not None else ""
        if name.endswith(".add_parser") and strings_of(last):
            return strings_of(last)[0]
        return self.word_at(ast.unparse(last.func.value), function, place_in_text(last)) if "_group" in name.split(".")[-1] and "." in name else ""

    def is_chosen(self, owner, call, chosen, others):
        """Whether the parser at this call is that of the chosen subcommand; None: it is of none."""
        text = ast.unparse(owner)
        word = self.word_at(text, self.functions.get(call), place_in_text(call))
        if word:
            return word == self.word
        return True if text in chosen else False if text in others else None

    def place_calls(self, nodes, chosen, others):
        for call in (c for node in nodes for c in ast.walk(node) if isinstance(c, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                is_chosen = self.is_chosen(call.func.value, call, chosen, others)
                if is_chosen is not None:
                    self.places[call] = AFTER if is_chosen else None

    # ---- click and typer

    def read_decorators(self, tree):
        commands, has_group = [], False
        for function in (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))):
            for decorator in function.decorator_list:
                last = dotted(decorator).split(".")[-1]
                has_group = has_group or last in ("group", "callback")
                if last == "command":
                    names = strings_of(decorator)
                    commands.append((names[0] if names else function.name.lower().replace("_", "-"), function))
        if len(commands) < 2 and not (has_group and commands):
            return
        self.choose(name for name, _ in commands)
        for name, function in commands:
            place = AFTER if name == self.word else None
            self.places[function] = place
            for call in (c for d in function.decorator_list for c in ast.walk(d)):
                self.places[call] = place
