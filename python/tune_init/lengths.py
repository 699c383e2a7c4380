"""How many values of its metric a whole trial prints, as far as the script says it."""

import ast
import re

from expressions import finds, rendered
from lines import owners_of, places_of
from loops import iterated, targets_of
from options import dotted

EPOCHS = ("epochs", "num_epochs", "n_epochs", "max_epochs", "num_train_epochs", "nb_epochs", "total_epochs", "n_epoch", "nepochs", "epoch")
# Of boosting, whose lines a framework prints.
ROUNDS = ("num_boost_round", "n_estimators", "num_round", "num_rounds", "iterations")
DEPTH_MAX = 8
RANGES = ("range", "trange", "tnrange", "arange")


class Values:
    """The whole numbers that the script's expressions stand for: constants, and the defaults of options."""

    def __init__(self, tree, options):
        self.nodes = list(ast.walk(tree))
        self.options = {o.name: o.default for o in options if o.name and type(o.default) is int}
        self.switches = {o.name for o in options if o.is_switch and not o.default}  # They are not given.
        self.given, self.fields = {}, {}  # Of variables by their text; of keywords, keys and fields by their names.
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                for target in getattr(node, "targets", None) or [node.target]:
                    self.given.setdefault(ast.unparse(target), []).append(node.value)
                    if isinstance(target, ast.Name):
                        self.fields.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.AugAssign):
                self.given.setdefault(ast.unparse(node.target), []).append(None)
            elif isinstance(node, ast.Call):
                for keyword in node.keywords:
                    self.fields.setdefault(keyword.arg, []).append(keyword.value)
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values):
                    if isinstance(key, ast.Constant):
                        self.fields.setdefault(key.value, []).append(value)
            elif isinstance(node, ast.arguments):
                for argument, default in zip(reversed(node.args), reversed(node.defaults)):
                    self.fields.setdefault(argument.arg, []).append(default)

    def only_one(self, nodes, depth):
        """What all of these expressions are; None: they differ, or one is not known."""
        found = {self.of(node, depth + 1) for node in nodes}
        return found.pop() if len(found) == 1 else None

    def named(self, name, depth):
        """The option's default of this name, else what keywords, keys and fields of the name are."""
        if name in self.options:
            return self.options[name]
        ends = {value for option, value in self.options.items() if option.endswith("_" + name)}  # cfg.trainer.epochs
        if len(ends) == 1:
            return ends.pop()
        found = {self.of(node, depth + 1) for node in self.fields.get(name, [])} - {None}
        return found.pop() if len(found) == 1 else None

    def of(self, node, depth=0):
        """None: it is not known."""
        if node is None or depth > DEPTH_MAX:
            return None
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Call) and dotted(node.func) == "int" and len(node.args) == 1:
            return self.of(node.args[0], depth + 1)
        if isinstance(node, ast.BinOp):
            return self.of_sum(node, depth)
        if isinstance(node, ast.IfExp) and ast.unparse(node.test).split(".")[-1] in self.switches:
            return self.of(node.orelse, depth + 1)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self.named(node.slice.value, depth)
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        values = self.given.get(ast.unparse(node), [])
        name = node.id if isinstance(node, ast.Name) else node.attr
        known = self.only_one(values, depth) if values else None
        return known if known is not None or values and name not in self.options else self.named(name, depth)

    def of_sum(self, node, depth):
        left, right = self.of(node.left, depth + 1), self.of(node.right, depth + 1)
        if left is None or right is None:
            return None
        how = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.FloorDiv: lambda a, b: a // b if b else 0}.get(type(node.op))
        return how(left, right) if how else None


class Lengths:
    def __init__(self, tree, options):
        self.values, self.places, self.owners = Values(tree, options), places_of(tree), owners_of(tree)

    def calls_of(self, main):
        """Those that print the metric, or report it."""
        if main is not None and main.printed is not None:
            return [main.printed.call] if main.printed.call in self.places else []
        reports = [n for n in self.places if dotted(n.func) in ("tune.report", "report")]
        is_column = main is not None and main.regex and not main.times  # Its row is printed at this line.
        return reports or [n for n in self.places if is_column and n.lineno == main.order[0]]

    def of_call(self, call, depth=0):
        """How often a trial comes to this call; None: it is not known."""
        if call not in self.places or depth > DEPTH_MAX:
            return None
        _, within, loops = self.places[call]
        total = self.of_loops(call, loops)
        if total is None or within == len(loops):
            return total
        owner = self.owners.get(call)  # Loops call the function in which it stands.
        sites = [c for c in self.places if owner is not None and dotted(c.func).split(".")[-1] == owner.name]
        times = [self.of_call(site, depth + 1) for site in sites if self.places[site][1]]
        return total * times[0] if times and times[0] is not None else None

    def counts_epochs(self, call):
        """Whether a loop that comes to the call counts epochs by its name."""
        owner, loops = self.owners.get(call), self.places[call][2]
        if not loops and owner is not None:
            loops = [n for site in self.places if dotted(site.func).split(".")[-1] == owner.name for n in self.places[site][2]]
        names = [name for n in loops for name in (targets_of(n) if isinstance(n, ast.For) else [ast.unparse(n.test)])]
        return any(re.search(r"^e$|epoch|^ep$", name, re.I) for name in names)

    def of_loops(self, call, loops):
        total = 1
        for loop, inner in zip(loops, [*loops[1:], call]):
            turns = self.turns_of(loop)
            step = self.step_of(loop, inner) if turns else None
            if step is None:
                return None
            total *= min(turns, -(-turns // step) + self.turns_beside(loop, inner))
        return total

    @staticmethod
    def turns_beside(loop, inner):
        """1 of `if step % 10 == 0 or step == last:`, which prints once more where the last is no tenth."""
        tests = [n.test for n in ast.walk(loop) if isinstance(n, ast.If) and any(m is inner for s in n.body for m in ast.walk(s))]
        found = [t for t in tests if isinstance(t, ast.BoolOp) and isinstance(t.op, ast.Or) and any(isinstance(m, ast.Mod) for m in ast.walk(t))]
        return sum(len(t.values) - 1 for t in found)

    def turns_of(self, loop):
        """How many turns a loop has."""
        if isinstance(loop, ast.While):
            return self.turns_of_while(loop)
        over = iterated(loop)
        if isinstance(over, (ast.List, ast.Tuple)):
            # Of ("train", "val") and of [("train", a), ("val", b)] one is read.
            firsts = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in over.elts]
            return 1 if all(isinstance(getattr(e, "value", None), str) for e in firsts) else len(over.elts)
        if not isinstance(over, ast.Call) or dotted(over.func).split(".")[-1] not in RANGES or not 1 <= len(over.args) <= 3:
            return None
        known = [self.values.of(a) for a in over.args]
        if len(known) > 1 and known[0] is None and re.search(r"start|begin|first|resume|iteration", ast.unparse(over.args[0])):
            known[0] = 0  # Of a trial that goes on from there.
        return len(range(*known)) if None not in known and known[2:] != [0] else None

    def turns_of_while(self, loop):
        """Of `while step < max_steps: ... step += 1`."""
        test = loop.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            return None
        counter, last = ast.unparse(test.left), self.values.of(test.comparators[0])
        steps = [n for n in loop.body if isinstance(n, ast.AugAssign) and ast.unparse(n.target) == counter and ast.unparse(n.value) == "1"]
        first = self.values.only_one([v for v in self.values.given.get(counter, []) if v is not None], 0)
        return last - first + isinstance(test.ops[0], ast.LtE) if len(steps) == 1 and last is not None and first is not None else None

    def step_of(self, loop, inner):
        """In how many turns the loop comes to what stands in it once: 10 of `if step % 10 == 0:`; None: it is not known."""
        step, changed = 1, {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in ast.walk(loop):
            if not isinstance(node, ast.If) or not any(isinstance(n, ast.Name) and n.id in changed for n in ast.walk(node.test)):
                continue
            holds = any(n is inner for statement in node.body for n in ast.walk(statement))
            skips = any(isinstance(n, ast.Continue) for n in node.body) and node.lineno < inner.lineno
            if holds or any(n is inner for statement in node.orelse for n in ast.walk(statement)) or skips:
                found = self.divisor_in(node.test) if holds or skips else None
                if not found:
                    return None
                step *= found
        return step

    def divisor_in(self, test):
        """10 of `step % 10 == 0`, also beside `or step == last`."""
        found = [n.right for n in ast.walk(test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
        is_and = any(isinstance(n, ast.And) for n in ast.walk(test))
        return self.values.of(found[0]) if len(found) == 1 and not is_and else None


def length_of(main, trees, options):
    """(how many values of the metric a whole trial prints, what they are), as (20, "epochs"); None: the script does not say."""
    if main is not None and any(line.is_in_loop and finds(main.regex, rendered(line.parts)[0]) for line in main.beside):
        return None  # Several loops print it.
    for lengths in (Lengths(tree, options) for tree in trees):
        calls = lengths.calls_of(main)
        if calls:
            count = lengths.of_call(calls[0])
            return (count, "epochs" if lengths.counts_epochs(calls[0]) else "iterations") if count and count > 1 else None
        if main is None or main.printed is None:
            return of_names(lengths.values)
    return length_by_options(options)


def of_names(values):
    """By the name of an option or of a framework's keyword."""
    for names, unit in ((EPOCHS, "epochs"), (ROUNDS, "rounds")):
        found = {values.named(name, 0) for name in names} - {None}
        if found:
            count = found.pop()
            count = printed_of_rounds(count, values) if unit == "rounds" else count
            return (count, unit) if not found and count > 1 else None
    return None


def printed_of_rounds(count, values):
    """Of how many rounds XGBoost prints a line: with verbose=50 of each fiftieth and of the last."""
    calls = [{k.arg: k.value for k in n.keywords} for n in values.nodes if isinstance(n, ast.Call)]
    given = [w.get("verbose", w.get("verbose_eval")) for w in calls if set(w) & {"evals", "eval_set"}]
    steps = {node.value for node in given if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1}
    step = steps.pop() if len(steps) == 1 else 1
    return -(-count // step) + ((count - 1) % step != 0)


def length_by_options(options):
    """Of a script that is no Python."""
    found = [o.default for o in options if o.name.lower() in EPOCHS and type(o.default) is int]
    return (found[0], "epochs") if found else None
