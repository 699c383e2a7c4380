"""Subcommands of argparse, click and typer: the one that trains, and which options are its own."""

import ast

from options import dotted

PREFERRED = ("train", "fit", "run", "main", "start", "sweep")
BEFORE, AFTER = "before", "after"  # The subcommand's word.


def strings_of(call):
    return [a.value for a in getattr(call, "args", []) if isinstance(a, ast.Constant) and isinstance(a.value, str)]


class Subcommands:
    def __init__(self, tree):
        self.word = ""
        self.names = []
        self.places = {}  # A call of add_argument or click.option, or a function of typer: where its options stand.
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
            given = [ast.unparse(a) for call in ast.walk(tree) if isinstance(call, ast.Call)
                     and dotted(call.func) == function.name for a in call.args]
            names = {a.arg for a in function.args.args}
            if any(g in chosen for g in given):
                self.place_calls([function], names, set())
            elif any(g in others for g in given):
                self.place_calls([function], set(), names)

    def place_calls(self, nodes, chosen, others):
        for call in (c for node in nodes for c in ast.walk(node) if isinstance(c, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                owner = ast.unparse(call.func.value)
                if owner in chosen or owner in others:
                    self.places[call] = AFTER if owner in chosen else None

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
