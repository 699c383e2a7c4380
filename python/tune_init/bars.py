"""tqdm's bars in a script: which of them goes over the epochs, and what its count is when a value is shown.

A bar that is made anew for each epoch ends in a line of its own, which is an iteration. One bar over all
epochs is drawn over by its next state: `iteration` has to read its count.
"""

import ast

from options import dotted

# In the bar's picture, the part behind "%|": there is something left to do.
NOT_FULL = r"%\|[█#]*[^█#|]"
WITHOUT_LENGTH = ("enumerate", "zip", "map", "filter", "iter", "count", "cycle")
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class BarOfLog:
    """A bar that drew itself over in a log."""

    def __init__(self, counts_before):
        self.call, self.is_remade, self.is_erased, self.doubts = None, False, False, []
        self.counts_before = self.is_drawn_late = counts_before


class BarOfUnknownMake:
    """Nobody sees where it is made; its last state is a line."""

    stream, is_silent = "stderr", False

    def __init__(self):
        self.call, self.is_remade, self.is_erased = None, True, False
        self.doubts = ["is made where it was not found; if it is one bar over all epochs, its last state alone is read"]


class Bar:
    """What is known of a bar when it shows a value."""

    def __init__(self, call, site, is_remade):
        words = {k.arg: k.value for k in call.keywords if k.arg}
        text = {name: ast.unparse(value) for name, value in words.items()}
        self.call = site  # Of a function that makes bars, or of tqdm itself.
        self.is_remade = is_remade  # Made in a loop: anew for each epoch, or each fold.
        self.stream = "stdout" if "stdout" in text.get("file", "") else "stderr"
        self.is_erased = text.get("leave") == "False"
        self.is_silent = text.get("disable") == "True"
        self.counts_before = True  # The count is the number of epochs that ended before the one of the value.
        self.is_drawn_late = False  # Its own loop counts, which tqdm brings up to date each tenth of a second.
        self.doubts = []
        iterated = call.args[0] if call.args else None
        has_no_length = isinstance(iterated, ast.GeneratorExp) or (
            isinstance(iterated, ast.Call) and dotted(iterated.func).split(".")[-1] in WITHOUT_LENGTH)
        if text.get("disable") == "None" or "isatty" in text.get("disable", ""):
            self.doubts.append("draws nothing in a trial, where its output is no terminal (disable=...)")
        if "total" not in text and (iterated is None or has_no_length):
            self.doubts.append("does not know its total: give it one, total=...")
        if any(name in text for name in ("bar_format", "ncols")) or text.get("ascii", "True") not in ("True", "False"):
            self.doubts.append("has a form of its own (bar_format, ncols or ascii), which the expressions may not find")
        self.is_fixed = "mininterval" in text or "miniters" in text


def is_bar(node):
    return isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in ("tqdm", "trange", "tqdm_notebook")


class Bars:
    def __init__(self, tree, places):
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.updates = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
                        and n.func.attr == "update"]
        self.made = {}  # The bar's name: the calls that make it.
        makers = {f.name: r.value for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)
                  for r in ast.walk(f) if isinstance(r, ast.Return) and is_bar(r.value)}
        self.makers = {}  # A call: that of tqdm itself.
        self.places = places
        for node in ast.walk(tree):
            targets, value = [], None
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, (ast.NamedExpr, ast.AnnAssign)):
                targets, value = [node.target], node.value
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                targets, value = [node.optional_vars], node.context_expr
            maker = value if is_bar(value) else None
            if isinstance(value, ast.Call):
                maker = maker or makers.get(dotted(value.func).split(".")[-1])
            if maker is not None:
                self.makers[value] = maker
                for target in targets:
                    self.made.setdefault(ast.unparse(target), []).append(value)

    def around(self, node, kinds):
        """The nodes of these kinds around a node, the nearest first."""
        found = []
        while node in self.parents:
            inner, node = node, self.parents[node]
            if isinstance(node, kinds) and (not isinstance(node, LOOPS) or inner in node.body):
                found.append(node)
        return found

    def function_of(self, node):
        return next(iter(self.around(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)

    def shown_by(self, call):
        """The bar whose set_postfix, set_description and the like is called; None: it is no known bar."""
        if not isinstance(call.func, ast.Attribute):
            return None
        name = ast.unparse(call.func.value)
        made = self.made.get(name, [])
        if not made:
            return BarOfUnknownMake()
        beside = [c for c in made if self.function_of(c) is self.function_of(call)]
        before = [c for c in beside or made if c.lineno <= call.lineno]
        maker = max(before or made, key=lambda c: c.lineno)
        bar = Bar(self.makers[maker], maker, self.places[maker][1])
        if not bar.is_remade:
            self.look_at_count(bar, name, call)
        elif bar.is_erased:
            bar.doubts.append("is erased when it ends (leave=False)")
        elif any(self.iterates([loop], name, maker) and "epoch" in ast.unparse(loop.target).lower() +
                 ast.unparse(maker).lower() for loop in self.around(call, (ast.For, ast.AsyncFor))):
            bar.doubts.append("goes over epochs and is made anew in a loop, so that its count begins again")
        return bar

    def iterates(self, loops, name, maker):
        """Whether one of the loops goes over the bar."""
        over = [loop.iter for loop in loops if isinstance(loop, (ast.For, ast.AsyncFor))]
        return any(node is maker or ast.unparse(node) == name for top in over for node in ast.walk(top))

    def look_at_count(self, bar, name, call):
        loops = self.around(call, LOOPS)
        every_loop = [n for n in self.parents if isinstance(n, LOOPS)]
        updates = [u for u in self.updates if ast.unparse(u.func.value) == name]
        if any(isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod)
               for condition in self.around(call, ast.If)
               if not loops or loops[0] in self.around(condition, LOOPS)
               for test in ast.walk(condition.test)):
            bar.doubts.append("shows the value in some of its steps alone; in the others the last one stands, "
                              "and counts again")
        if self.iterates(every_loop, name, bar.call):
            bar.is_drawn_late = True
            if bar.is_fixed:
                bar.doubts.append("has its own mininterval or miniters: its count may stand still meanwhile")
            return
        beside = [u for u in updates if loops and self.around(u, LOOPS)[:1] == loops[:1]]
        if len(updates) != 1 or not beside:
            bar.doubts.append("does not count with each value that it shows")
            return
        bar.counts_before = (beside[0].lineno, beside[0].col_offset) > (call.lineno, call.col_offset)
