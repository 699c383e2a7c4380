"""The lines that a Python script prints, read in its source: texts with holes where values stand.

A template is a list of texts and of None, where a value stands.
"""

import ast
import re

from changes import ESCAPES, LOGGED
from measures import part_of, words_of
from options import dotted

PERCENT_HOLE = r"%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]"
BRACE_HOLE = r"\{[^{}]*\}"
CASES = ("upper", "lower", "title", "capitalize")  # Methods of a text.
WORDS_MAX = 8  # Of a list that a loop goes over.


def holes_in(text, pattern, escape=None, plain=None):
    parts = []
    for piece in re.split(f"({re.escape(escape)}|{pattern})" if escape else f"({pattern})", text):
        if escape and piece == escape:
            parts.append(plain)
        elif re.fullmatch(pattern, piece or " "):
            parts += [None, "%"] if piece.endswith("%}") else [None]
        elif piece:
            parts.append(piece)
    return parts


def spec_of(hole):
    """">12" of "{name:>12}" and of "%12s"."""
    percent = re.fullmatch(r"%(-?)(\d+)s", hole)
    if percent:
        return ("<" if percent.group(1) else ">") + percent.group(2)
    return hole.rstrip("}").partition(":")[2]


def padded(template, spec, before):
    """The template of a text that is known, with the blanks of its cell where it begins a line."""
    is_known = len(template) == 1 and template[0] is not None and re.fullmatch(r"(?:.?[<>^])?\d+s?", spec)
    is_first = not "".join("1" if p is None else p for p in before).split("\n")[-1].strip()
    return [format(template[0], spec).rstrip()] if is_known and is_first else template


def is_colour(node):
    """Whether it is a name such as Fore.GREEN and bcolors.OKGREEN, whose text is taken out before the line is read."""
    return isinstance(node, ast.Attribute) and node.attr.isupper() and re.search(
        r"(?:^|\.)(?:Fore|Back|Style|\w*colou?rs?|ansi)$", dotted(node.value), re.I) is not None


def filled(text, pattern, nodes, inner, escape=None, plain=None):
    """The template of a text whose holes are filled by these nodes: those that are texts are known."""
    parts, at = [], 0
    written = [hole for hole in re.findall(f"{re.escape(escape)}|{pattern}" if escape else pattern, text) if hole != escape]
    for piece in holes_in(text, f"(?:{pattern})", escape, plain):
        if piece is not None:
            parts.append(piece)
            continue
        known = inner(nodes[at]) if nodes and at < len(nodes) else [None]
        parts += padded(known, spec_of(written[at]) if at < len(written) else "", parts) if len(known) == 1 else [None]
        at += 1
    return parts


def keys_template(keys, quote):
    parts = ["{"]
    for key in keys:
        parts += [f"{quote}{key}{quote}: ", None, ", "]
    return (parts[:-1] if keys else parts) + ["}"]


def merged(parts):
    out = []
    for part in parts:
        if part is not None and out and out[-1] is not None:
            out[-1] += part
        else:
            out.append(part)
    for i in range(len(out) - 2, 0, -1):  # "\\x1b[{colour}m"
        if out[i] is None and re.search(r"\x1b\[[0-9;]*$", out[i - 1] or "") and re.match(r"[0-9;]*m", out[i + 1] or ""):
            out[i - 1:i + 2] = [out[i - 1] + out[i + 1]]
    # A carriage return ends a line, too, for who reads it.
    return [part if part is None else ESCAPES.sub("", part).replace("\r", "\n") for part in out]


def is_of_training(parts):
    return part_of(words_of(" ".join(p for p in parts if p))) == "training"


def is_name(node):
    return isinstance(node, ast.Name)


def is_text(node):
    """Whether the node makes a text, and no number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Mod)) and (is_text(node.left) or is_text(node.right))
    if isinstance(node, ast.IfExp):
        return is_text(node.body) or is_text(node.orelse)
    is_made = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return isinstance(node, ast.JoinedStr) or (is_made and node.func.attr in ("format", "join", "dumps"))


def is_constant_spec(spec):
    return isinstance(spec, ast.JoinedStr) and len(spec.values) == 1 and isinstance(spec.values[0], ast.Constant)


def shows_percent(node):
    """Whether it is a value such as {accuracy:.2%}."""
    spec = node.format_spec if isinstance(node, ast.FormattedValue) else None
    return isinstance(spec, ast.JoinedStr) and spec.values and getattr(spec.values[-1], "value", "").endswith("%")


def is_padded_between(before, value):
    """Whether two values without a text between them are columns, as in {epoch:<8}{loss:<13.4f}."""
    specs = [ast.unparse(v.format_spec).strip("f\"'") if isinstance(v, ast.FormattedValue) and v.format_spec else "" for v in (before, value)]
    are_values = isinstance(before, ast.FormattedValue) and isinstance(value, ast.FormattedValue)
    return are_values and (re.match(r"<\d", specs[0]) is not None or re.match(r">?\d", specs[1]) is not None)


def values_by_key(node):
    """Of a dictionary that is written out."""
    if isinstance(node, ast.Dict):
        return {str(k.value): v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)}
    is_dict = isinstance(node, ast.Call) and dotted(node.func) == "dict"
    return {k.arg: k.value for k in node.keywords if k.arg} if is_dict else {}


class Names:
    """What the script's names stand for: dictionaries by their keys, and texts that are printed later."""

    def __init__(self, tree):
        self.keys = {}  # Of a dictionary, in order.
        self.texts = {}  # name: [(line, node, is_added)]
        self.lists = {n.targets[0].id: n.value for n in ast.walk(tree) if isinstance(n, ast.Assign)
                      and is_name(n.targets[0]) and isinstance(n.value, (ast.List, ast.Tuple))}
        returned = {}
        functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for _ in range(2):  # A name may be known by a function below it.
            self.keys = {}
            for node in sorted((n for n in ast.walk(tree) if hasattr(n, "lineno")), key=lambda n: n.lineno):
                self.add(node, returned)
            for function in functions:
                for node in ast.walk(function):
                    if isinstance(node, ast.Return) and node.value is not None:
                        found = self.keys_of(node.value, returned)
                        if found:
                            returned[function.name] = found

    def add(self, node, returned):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AugAssign) and is_name(node.target):
            self.remember(node.target.id, node.lineno, node.value, True)
            return
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            name = ast.unparse(node.func.value)
            found = [k.arg for k in node.keywords if k.arg]
            for argument in node.args:
                found += self.keys_of(argument, returned) or []
            if name in self.keys:
                self.extend(name, found)
            return
        else:
            return
        for target in targets:
            name = ast.unparse(target)
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for one, its in zip(target.elts, value.elts):  # GREEN, RESET = "\\x1b[32m", "\\x1b[0m"
                    if is_name(one) and is_text(its):
                        self.remember(one.id, node.lineno, its, False)
                continue
            found = self.keys_of(value, returned)
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                if isinstance(target.slice.value, str):
                    self.extend(ast.unparse(target.value), [target.slice.value])
                    self.extend(name, found or [])
                continue
            if found is not None:
                self.extend(name, found)
                for key, inner in values_by_key(value).items():  # stats['valid'] of stats = dict(valid=dict(acc=0.5))
                    self.extend(f"{name}[{key!r}]", self.keys_of(inner, returned) or [])
            elif is_name(target):
                self.remember(name, node.lineno, value, False)

    def extend(self, name, keys):
        known = self.keys.setdefault(name, [])
        known += [k for k in keys if k not in known]

    def remember(self, name, line, value, is_added):
        texts = self.texts.setdefault(name, [])
        if (line, value, is_added) not in texts:
            texts.append((line, value, is_added))

    def keys_of(self, node, returned=None):
        """Of a node that is a dictionary; None: it is none, or not known."""
        if isinstance(node, ast.Dict):
            keys = []
            for key, value in zip(node.keys, node.values):
                if key is None:  # {**metrics, "epoch": 1}
                    keys += self.keys_of(value, returned) or []
                elif isinstance(key, ast.Constant):
                    keys.append(str(key.value))
                else:
                    return None
            return keys
        if isinstance(node, ast.Call) and dotted(node.func) == "dict":
            keys = [k.arg for k in node.keywords if k.arg]
            for argument in [*node.args, *(k.value for k in node.keywords if not k.arg)]:
                keys += self.keys_of(argument, returned) or []
            return keys
        if isinstance(node, ast.Call) and returned:
            return returned.get(dotted(node.func).split(".")[-1])
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.keys.get(ast.unparse(node))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left, right = self.keys_of(node.left, returned), self.keys_of(node.right, returned)
            return None if left is None or right is None else left + [k for k in right if k not in left]
        if isinstance(node, ast.DictComp) and isinstance(node.key, ast.Name):
            return self.items_of(node.generators[0].iter)
        return None

    def items_of(self, node):
        """The keys of X in X.items(), sorted(X.items()) or X."""
        if isinstance(node, ast.Call) and is_name(node.func) and node.func.id == "sorted" and node.args:
            return self.items_of(node.args[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
            return self.keys_of(node.func.value)
        return None

    def words_of_loop(self, loop):
        """(name, [text]) of a loop over texts that stand in the script: for phase in ["train", "val"]."""
        target, over = loop.target, loop.iter
        if isinstance(over, ast.Call) and is_name(over.func) and over.func.id == "zip" and over.args:
            over = over.args[0]
        if isinstance(target, ast.Tuple):
            target = target.elts[0]
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ("keys", "items"):
            over = over.func.value
        if is_name(over) and over.id in self.lists:
            over = self.lists[over.id]
        if isinstance(over, (ast.List, ast.Tuple)):
            firsts = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in over.elts]
            texts = [e.value for e in firsts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            texts = texts if len(texts) == len(over.elts) else []
        else:
            texts = self.items_of(loop.iter) or self.keys_of(over) or []
        is_known = is_name(target) and 0 < len(texts) <= WORDS_MAX
        return (target.id, texts) if is_known else (None, [])

    def text_at(self, name, line):
        """The nodes of the text that a name stands for at a line: the last assignment, and what was added."""
        nodes = []
        for at, node, is_added in sorted(self.texts.get(name, []), key=lambda t: t[0]):
            if at <= line:
                nodes = nodes + [node] if is_added else [node]
        is_plain = len(nodes) == 1 and isinstance(nodes[0], ast.Constant)
        is_changed = is_plain and len(self.texts[name]) > 1  # A word that is now this, now that.
        return nodes if not is_changed and all(is_text(node) for node in nodes) else []


def rows_in(tree):
    """name: the list that it is given once and that nothing changes."""
    given = [(n.targets[0].id, n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign) and is_name(n.targets[0])]
    names = [name for name, _ in given]
    changed = {ast.unparse(n.func.value) for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
               and n.func.attr in ("append", "extend", "insert", "pop")}
    changed |= {ast.unparse(n.target) for n in ast.walk(tree) if isinstance(n, ast.AugAssign)}
    return {name: value for name, value in given if isinstance(value, (ast.List, ast.Tuple)) and names.count(name) == 1 and name not in changed}


def csv_writers_in(tree):
    """name: separator of the writers of csv that write to standard output."""
    def separator_of(call):
        given = [k.value.value for k in call.keywords if k.arg == "delimiter" and isinstance(k.value, ast.Constant)]
        return given[0] if given else ","
    return {ast.unparse(t): separator_of(n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
            and dotted(n.value.func) in ("csv.writer", "writer") and n.value.args and ast.unparse(n.value.args[0]).endswith("stdout")
            for t in n.targets}


def loggers_in(tree):
    """The names of loggers: log = logging.getLogger(...)."""
    return {ast.unparse(t) for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
            and dotted(n.value.func).split(".")[-1] in ("getLogger", "get_logger") for t in n.targets}


def files_opened_in(tree):
    """The names of files that the script opens."""
    def is_opened(node):
        return isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "open"
    given = [(t, n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets]
    given += [(n.optional_vars, n.context_expr) for n in ast.walk(tree) if isinstance(n, ast.withitem) and n.optional_vars is not None]
    return {ast.unparse(target) for target, value in given if is_opened(value)}


class Templates:
    """Templates of expressions. `bound` holds those of names that are known where they stand."""

    def __init__(self, tree):
        self.names = Names(tree)
        self.files = files_opened_in(tree)
        self.csv_writers, self.rows = csv_writers_in(tree), rows_in(tree)
        self.loggers = loggers_in(tree)
        self.other_names = {n.targets[0].id: dotted(n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign) and is_name(n.targets[0])
                            and re.fullmatch(r"print|(?:\w+\.)*log\w*\.(?:info|warning|debug)", dotted(n.value)) and not isinstance(n.value, ast.Call)}
        self.has_structlog = any(isinstance(n, (ast.Import, ast.ImportFrom)) and "structlog" in ast.unparse(n) for n in ast.walk(tree))
        # log(Epoch=1, Val=0.5) of PyTorch Geometric prints "Epoch: 1, Val: 0.5".
        self.has_log_of_words = any(isinstance(n, ast.ImportFrom) and (n.module or "").startswith("torch_geometric") and
                                    any(a.name == "log" for a in n.names) for n in ast.walk(tree))

    def of(self, node, bound=None, depth=0):
        bound = bound or {}
        if depth > 20:
            return [None]

        def inner(child, more=None):
            return self.of(child, {**bound, **(more or {})}, depth + 1)

        if isinstance(node, ast.Constant):
            return [node.value if isinstance(node.value, str) else None]
        if isinstance(node, ast.Name) and node.id in bound:
            return bound[node.id]
        if is_colour(node):
            return [""]
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in ("colored", "style") and node.args and is_text(node.args[0]):
            return inner(node.args[0])
        if isinstance(node, ast.JoinedStr):
            parts = []
            for before, value in zip([None, *node.values], node.values):
                parts += [" "] if is_padded_between(before, value) else []
                spec = value.format_spec if isinstance(value, ast.FormattedValue) else None
                shown = inner(value.value) if isinstance(value, ast.FormattedValue) else inner(value)
                parts += padded(shown, spec.values[0].value, parts) if is_constant_spec(spec) else shown
                parts += ["%"] if shows_percent(value) else []
            return parts
        if isinstance(node, ast.IfExp) and is_text(node):  # What it says at most; "train" if training else "val": of both.
            return max(inner(node.body), inner(node.orelse), key=lambda parts: (parts.count(None), not is_of_training(parts)))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            text = inner(node.left)
            if len(text) == 1 and text[0] is not None:
                nodes = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
                return filled(text[0], PERCENT_HOLE, nodes, inner, "%%", "%")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = inner(node.left), inner(node.right)
            return left + right if any(p is not None for p in left + right) else [None]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "format":
                text = inner(node.func.value)
                if len(text) == 1 and text[0] is not None:
                    return self.formatted(node, text[0], inner)
            if node.func.attr in CASES and not node.args:
                return [p if p is None else getattr(p, node.func.attr)() for p in inner(node.func.value)]
            if node.func.attr == "join" and len(node.args) == 1:
                return self.joined_list(node, inner)
        if isinstance(node, ast.Call) and dotted(node.func).endswith("dumps") and node.args:
            return self.dictionary(node.args[0], '"')
        if self.names.keys_of(node):
            return self.dictionary(node, "'")
        if isinstance(node, ast.Name) and depth < 6:
            parts = []
            for text in self.names.text_at(node.id, node.lineno):
                parts += inner(text)
            return parts if any(p is not None for p in parts) else [None]
        return [None]

    def dictionary(self, node, quote):
        keys = self.names.keys_of(node)
        if not keys:
            return [None]
        values = values_by_key(node)
        parts = ["{"]
        for key in keys:  # A value may be a dictionary of its own, or a text that says of which part of the data the line is.
            text = getattr(values.get(key), "value", None)
            if isinstance(text, str) and part_of([text.lower()]):
                nested = [f"{quote}{text}{quote}"]
            else:
                nested = self.dictionary(values[key], quote) if key in values else self.nested(node, key, quote)
            parts += [f"{quote}{key}{quote}: ", *nested, ", "]
        return parts[:-1] + ["}"]

    def nested(self, node, key, quote):
        is_named = isinstance(node, (ast.Name, ast.Attribute))
        keys = self.names.keys.get(f"{ast.unparse(node)}[{key!r}]") if is_named else None
        return keys_template(keys, quote) if keys else [None]

    @staticmethod
    def formatted(call, text, inner):
        """Of "{} loss {:.3f}".format(phase, loss)."""
        words = {k.arg: k.value for k in call.keywords if k.arg}
        nodes = []
        for field in re.findall(BRACE_HOLE, text):
            name, is_aligned = re.match(r"\w*", field[1:]).group(0), re.search(r":.?[>^]", field) is not None
            index = int(name) if name.isdigit() else len(nodes)
            given = words.get(name) if name and not name.isdigit() else call.args[index] if index < len(call.args) else None
            is_plain = given is not None and (not is_aligned or is_text(given)) and re.match(r"\w*[:!}]", field[1:])
            nodes.append(given if is_plain else ast.Constant(0))
        return filled(text, BRACE_HOLE, nodes, inner)

    def joined_list(self, node, inner):
        separator = inner(node.func.value)
        listed = node.args[0]
        if len(separator) != 1 or separator[0] is None:
            return [None]
        if isinstance(listed, (ast.List, ast.Tuple)):
            return self.joined([inner(element) for element in listed.elts], separator[0])
        if isinstance(listed, (ast.GeneratorExp, ast.ListComp)) and len(listed.generators) == 1:
            target, keys = listed.generators[0].target, self.names.items_of(listed.generators[0].iter)
            if keys and isinstance(target, ast.Tuple) and is_name(target.elts[0]):
                return self.joined([inner(listed.elt, {target.elts[0].id: [key]}) for key in keys], separator[0])
        return [None]

    @staticmethod
    def joined(templates, separator):
        parts = []
        for i, template in enumerate(templates):
            parts += ([separator] if i else []) + template
        return parts

    def unpacked(self, node):
        """The elements of *row, where the row is written out."""
        given = self.rows.get(node.value.id) if isinstance(node, ast.Starred) and is_name(node.value) else None
        return given.elts if given is not None else [node]

    def printed(self, call, bound=None):
        """(template, stream) of a call that prints; None for others."""
        name = dotted(call.func)
        name = self.other_names.get(name, name)
        owner, _, last = name.rpartition(".")
        words = {k.arg: k.value for k in call.keywords if k.arg}
        is_rich = last == "rprint" or "console" in owner.lower() or owner == "rich"
        if last in ("print", "echo", "secho", "rprint", "pprint") or (last == "log" and is_rich):
            if ast.unparse(words.get("file", ast.Constant(None))) in self.files:
                return None
            is_error = "stderr" in ast.unparse(words["file"]) if "file" in words else "err" in words
            separator = words.get("sep")
            text = separator.value if isinstance(separator, ast.Constant) else " "
            parts = self.joined([self.of(a, bound) for argument in call.args for a in self.unpacked(argument)], text)
            if is_rich:  # Its markup: [bold]...[/].
                parts = [p if p is None else re.sub(r"\[/?[a-z][a-z ]*\]|\[/\]", "", p) for p in parts]
            return ([LOGGED] if last == "log" else []) + parts, "stderr" if is_error else "stdout"
        if name == "log" and self.has_log_of_words and words and not call.args:
            return [p for i, word in enumerate(words) for p in (f"{', ' if i else ''}{word}: ", None)], "stdout"
        if last == "writerow" and owner in self.csv_writers and call.args and isinstance(call.args[0], (ast.List, ast.Tuple)):
            return self.joined([self.of(a, bound) for a in call.args[0].elts], self.csv_writers[owner]), "stdout"
        is_bar = re.search(r"tqdm|bar|prog|loop|epochs|iter|^t$", owner) is not None
        if last == "write" and call.args:
            if owner in ("sys.stdout", "stdout") or (is_bar and "file" not in words):
                return self.of(call.args[0], bound), "stdout"
            return (self.of(call.args[0], bound), "stderr") if owner in ("sys.stderr", "stderr") else None
        if last in ("info", "warning", "debug", "error", "success", "log") and (owner in self.loggers or re.search(r"log", name, re.I)):
            arguments = call.args[1:] if last == "log" else call.args
            if not arguments:
                return None
            parts = self.of(arguments[0], bound)
            if len(arguments) > 1 and len(parts) == 1 and parts[0]:
                def inner(node):
                    return self.of(node, bound)
                in_percents = filled(parts[0], PERCENT_HOLE, arguments[1:], inner, "%%", "%")
                parts = in_percents if None in in_percents else filled(parts[0], BRACE_HOLE, arguments[1:], inner)
            pairs = [p for word in words for p in (f" {word}=", None)] if self.has_structlog else []
            return [LOGGED] + parts + pairs, "both"
        if last in ("set_description", "set_description_str", "set_postfix_str"):
            text = call.args[0] if call.args else words.get("s" if "postfix" in last else "desc")
            before = [None, ", "] if "postfix" in last else []
            return (before + self.of(text, bound) + [" ", None], "stderr") if text is not None else None
        if last == "set_postfix":
            keys = self.names.keys_of(call.args[0]) or [] if call.args else []
            keys = keys + [k for k in words if k not in ("refresh", "ordered_dict")]
            for keyword in call.keywords:
                if keyword.arg is None:
                    keys += self.names.keys_of(keyword.value) or []
            parts = []
            for key in keys:
                parts += [", " + key + "=", None]
            return ([None] + parts, "stderr") if parts else None
        return None
