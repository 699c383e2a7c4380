"""Subcommands of argparse, click and typer: the one that trains, and which options are its own."""

import ast
import re

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
        self.longer = {}  # name: the one that click gave it before 8.2.
        self.places = {}  # A call of add_argument or click.option, or a function of typer: where its options stand.
        self.functions, self.given = {}, {}  # node: its function; (function, variable): the calls of which it is given the value.
        self.read_parsers(tree)
        if not self.names:
            self.read_decorators(tree)

    def place_of(self, node):
        """BEFORE, AFTER, or None: the options are another subcommand's."""
        return self.places.get(node, BEFORE)

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
        commands, alone, has_group = [], [], False
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        added = {a.id for c in calls if dotted(c.func).split(".")[-1] == "add_command" for a in c.args if isinstance(a, ast.Name)}
        is_typer = any("typer" in ast.unparse(n) for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
        for function in (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))):
            for decorator in function.decorator_list:
                last = dotted(decorator).split(".")[-1]
                has_group = has_group or last in ("group", "callback")
                if last == "command" and dotted(decorator) in ("command", "click.command") and function.name not in added:
                    alone.append(function)
                elif last == "command":
                    commands.append((self.name_of(function, decorator, is_typer), function))
        if len(commands) < 2 and not (has_group and commands):
            self.read_alone(alone, calls)
            return
        self.choose(name for name, _ in commands)
        for name, function in commands:
            self.place_function(function, AFTER if name == self.word else None)

    def name_of(self, function, decorator, is_typer):
        """The subcommand that runs the function."""
        words = strings_of(decorator) + [k.value.value for k in getattr(decorator, "keywords", []) if k.arg == "name" and isinstance(k.value, ast.Constant)]
        if words:
            return words[0]
        name = function.name.lower().replace("_", "-")
        short = re.sub(r"(?<=.)-(?:command|cmd|group|grp)$", "", name)
        if is_typer or short == name:
            return name
        self.longer[short] = name
        return short

    def read_alone(self, functions, calls):
        """Of several commands without a group the one that the script calls: train() runs it, and no word of the command."""
        called = [f for f in functions if any(isinstance(c.func, ast.Name) and c.func.id == f.name for c in calls)]
        for function in functions if len(called) == 1 else ():
            self.place_function(function, BEFORE if function is called[0] else None)

    def place_function(self, function, place):
        self.places[function] = place
        for call in (c for d in function.decorator_list for c in ast.walk(d)):
            self.places[call] = place

    def doubts(self):
        if len(self.names) > 1 and self.word not in PREFERRED:
            yield f"of the script's subcommands {', '.join(self.names)} the command runs {self.word}"
        if self.word in self.longer:
            yield f"click calls the subcommand {self.word}, and before its version 8.2 {self.longer[self.word]}: see that the command has the one that --help shows"
