"""Files that a script writes under a name of its own: trials that run side by side, or one after the other, share them."""

import ast
import os
import re

from domains import is_like
from options import dotted

# The place of the path among a call's arguments; -1: the call's owner is the path.
WRITERS = {"save": 0, "savez": 0, "savez_compressed": 0, "savetxt": 0, "to_csv": 0, "to_parquet": 0, "to_pickle": 0, "to_json": 0,
           "save_weights": 0, "save_model": 0, "save_pretrained": 0, "FileHandler": 0, "write_text": -1, "write_bytes": -1,
           "dump": 1, "save_file": 1}
READERS = {"load": 0, "loadtxt": 0, "read_csv": 0, "read_parquet": 0, "read_pickle": 0, "read_json": 0, "load_model": 0,
           "load_weights": 0, "from_pretrained": 0, "load_file": 0, "read_text": -1, "read_bytes": -1}
OWNERS = ("torch", "np", "numpy", "joblib", "jnp", "tf")  # Of a plain save(), load() and dump().
NAMES_OF_PLACES = ("dir", "path", "file", "folder", "root", "save", "out", "output", "outdir", "logdir", "savedir", "to", "dest", "destination", "log", "logs",
                   "ckpt", "checkpoint", "csv", "json", "history", "results", "workdir", "tensorboard", "prefix", "suffix", "name", "exp", "experiment", "run",
                   "tag", "id", "title")
OUTPUT_WORDS = ("ckpt", "checkpoint", "output", "out", "log", "logs", "save", "results")
FILE_NAME = re.compile(r"\.(?:pth?|pt2|ckpt|bin|pkl|pickle|joblib|safetensors|onnx|keras|h5|hdf5|np[yz]|msgpack|model|csv|tsv|jsonl?|ya?ml|txt|log|out|db|sqlite|"
                       r"parquet|feather|png|jpe?g|pdf|svg|html|md|zip|gz|tar|mp4|gif)$", re.I)
PATH = re.compile(r"[^\s{}<>*?\"']*(?:/[^\s{}<>*?\"']*|\.[A-Za-z]\w{0,5})$")


def is_shared(path):
    return bool(path) and not path.startswith(("/dev/", "~/.cache")) and "://" not in path


class Uses:
    """Which files a script writes and reads: path: the first place, a line."""

    def __init__(self):
        self.written, self.read, self.by_option = {}, {}, {}  # by_option: (path, option's name): the option.
        self.gone_on_from = ""  # An expression of a path that is not known, which is read where it is there, and written.

    def add(self, paths, path, place):
        path = os.path.normpath(path)
        paths[path] = min(paths.get(path, place), place)


class Paths:
    """The paths that expressions of a script stand for."""

    def __init__(self, tree, options):
        self.options = {o.name: o for o in options if isinstance(o.default, str) and o.flag}
        self.counters = {n.id for loop in ast.walk(tree) if isinstance(loop, ast.For)
                         for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        self.values = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self.values.setdefault(ast.unparse(node.targets[0]), []).append(node.value)

    def of(self, node, depth=0):
        """(path, the option that names it or its folder); (None, None): it is not known, or another for each trial."""
        if depth > 8 or node is None:
            return None, None
        if isinstance(node, ast.Constant):
            return (node.value, None) if isinstance(node.value, str) else (None, None)
        if isinstance(node, ast.JoinedStr):
            return self.joined(node.values, "", depth)
        if isinstance(node, ast.FormattedValue):
            is_counter = isinstance(node.value, ast.Name) and node.value.id in self.counters
            return (f"{{{node.value.id}}}", None) if is_counter else self.of(node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
            return self.joined([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "", depth)
        if isinstance(node, ast.Call):
            last = dotted(node.func).split(".")[-1]
            if last in ("join", "Path", "PurePath") and node.args:
                return self.joined(node.args, "/", depth)
            return self.of(node.args[0], depth + 1) if last in ("str", "strftime", "fspath") and node.args else (None, None)
        if isinstance(node, (ast.Name, ast.Attribute)):
            values = self.values.get(ast.unparse(node), [])
            if len(values) == 1:
                return self.of(values[0], depth + 1)
            name = ast.unparse(node).split(".")[-1]
            option = self.options.get(name) if isinstance(node, ast.Attribute) or not values else None
            return (option.default, option) if option else (None, None)
        return None, None

    def joined(self, nodes, separator, depth):
        found = [self.of(node, depth + 1) for node in nodes]
        if not found or any(path is None for path, _ in found):
            return None, None
        return separator.join(path for path, _ in found), next((option for _, option in found if option), None)


def names_place(option):
    """Whether the option says nothing else than where something lies, or what a run is called: "--out runs", and not "--model resnet", by
    which the script also builds its network."""
    looks_so = os.sep in option.default or re.search(r"\.[a-z]\w{0,5}$", option.default) is not None
    return not option.choices and (looks_so or is_like(option.name, *NAMES_OF_PLACES))


def argument_at(call, index):
    if index < 0:
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    named = [k.value for k in call.keywords if k.arg in ("path", "file", "fname", "f", "filename", "path_or_buf")]
    return call.args[index] if index < len(call.args) else named[0] if named else None


def access_of(call):
    """(path's expression, whether it is written, whether it is read) of a call; None: it opens no file."""
    owner, _, last = dotted(call.func).rpartition(".")
    if last == "open":
        is_method = bool(owner) and owner not in ("io", "gzip", "codecs", "bz2", "lzma")
        place = 0 if is_method else 1
        given = [k.value for k in call.keywords if k.arg == "mode"] + call.args[place:place + 1]
        mode = given[0].value if given and isinstance(given[0], ast.Constant) else "r" if not given else ""
        is_written = isinstance(mode, str) and re.search("[wax+]", mode) is not None
        return argument_at(call, -1 if is_method else 0), is_written, mode[:1] == "r"
    if last == "basicConfig":
        return next((k.value for k in call.keywords if k.arg == "filename"), None), True, False
    if last in WRITERS:
        index = 1 if last == "save" and owner == "torch" else WRITERS[last]
        return argument_at(call, index), True, False
    if last in READERS and (last != "load" or owner.split(".")[0] in OWNERS):
        return argument_at(call, READERS[last]), False, True
    return None


def uses_of(tree, source, options):
    """The files of a Python script."""
    uses = Uses()
    if "chdir(" in source:  # Nobody knows where it writes.
        return uses
    paths, unknown = Paths(tree, options), (set(), set())
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        access = access_of(call)
        path, option = paths.of(access[0]) if access else (None, None)
        if access and path is None:
            text = ast.unparse(access[0]) if access[0] is not None else ""
            unknown[0].update({text} if access[1] else ())
            unknown[1].update({text} if access[2] else ())
        if not is_shared(path):
            continue
        for is_used, found in ((access[1], uses.written), (access[2], uses.read)):
            if is_used:
                uses.add(found, path, call.lineno)
        if option and names_place(option):
            uses.by_option[os.path.normpath(path), option.name] = option
    both = sorted(text for text in unknown[0] & unknown[1] if text and is_asked_for(text, source))
    if both and not re.search(r"TUNE_DIR|tune\.folder|tempfile|mkdtemp", source):
        uses.gone_on_from = both[0]
    return uses


def is_asked_for(text, source):
    """Whether the script looks whether the path is there: `if path.exists():`, `os.path.exists(path)`."""
    return re.search(rf"(?:exists|isfile|is_file)\(\s*{re.escape(text)}\s*\)|{re.escape(text)}\.(?:exists|is_file)\(", source) is not None


REDIRECTION = re.compile(r"(?<![<\w=-])(?:\d|&)?>{1,2}\|?[ \t]*(?![&>(])(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|()<>]+)|"
                         r"\btee[ \t]+(?:-\w+[ \t]+)*(\"[^\"\n]*\"|[^\s;&|()<>]+)")


def uses_of_shell(text, assigned):
    """The files of a shell script, whose text has no comments."""
    uses = Uses()
    if re.search(r"\b(?:cd|pushd)\b[^\n]*(?:TUNE_DIR|mktemp)", text):
        return uses
    for name, values in assigned.items():
        value = values[0][1].strip("\"'")
        if len(values) == 1 and value and not re.search(r"[$`]", value):
            text = re.sub(rf"\$\{{{name}\}}|\${name}\b", lambda _, v=value: v, text)
    for match in REDIRECTION.finditer(text):
        path = (match.group(1) or match.group(2)).strip("\"'")
        if is_shared(path) and not re.search(r"[$`*]", path):
            uses.add(uses.written, path, text.count("\n", 0, match.start()) + 1)
    rest = REDIRECTION.sub(" ", text)
    rest = re.sub(r"(?:^|[;&|])[ \t]*(?:rm|touch|mkdir|echo|printf)\b[^\n;|&]*", " ", rest, flags=re.M)
    for path in uses.written:
        place = re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", rest)
        if place:
            uses.add(uses.read, path, rest.count("\n", 0, place.start()) + 1)
    return uses


# ---- what the space file says of them


def own_path(option):
    """What the command gives to an option that names a file or a folder, so that each trial has its own."""
    name = os.path.basename(os.path.normpath(option.default))
    return "{tune.dir}/" + name if re.search(r"\.\w+$", name) else "{tune.dir}"


def names_output(option):
    """Whether an option is by its name and default a path that the script may write to."""
    if not isinstance(option.default, str) or is_like(option.name, "format", "level", "type") or option.flag.rstrip("=").endswith("_target_"):
        return False
    is_file = FILE_NAME.search(option.default) is not None
    words = OUTPUT_WORDS if is_file else OUTPUT_WORDS[:-1]
    # "torch.nn.ReLU" is no path.
    is_path = (is_file or "/" in option.default) and PATH.match(option.default) and not option.default.startswith("/")
    return bool(is_path and option.flag and is_shared(option.default) and is_like(option.name, *words))


def listed(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


class SharedFiles:
    """What all scripts of a command do with files."""

    def __init__(self):
        self.written, self.read, self.by_option, self.options = {}, {}, {}, {}
        self.measured = set()  # Files that the metrics are read from.
        self.gone_on_from = ""

    def add(self, uses, options=()):
        """`options` are those that the command can give."""
        own = {o.name for o in options}
        self.written.update(uses.written)
        self.read.update(uses.read)
        self.gone_on_from = self.gone_on_from or uses.gone_on_from
        self.by_option.update({key: o for key, o in uses.by_option.items() if o.name in own})
        self.options.update({o.name: o for o in options})

    def given(self):
        """{option's name: its word} of the options that the command points into the trial's folder."""
        return {o.name: own_path(o) for (path, _), o in self.by_option.items() if path in self.written}

    def alone(self):
        """The written files that no option moves into the trial's folder."""
        moved = {path for path, _ in self.by_option}
        return [path for path in self.written if path not in moved]

    def both(self):
        """Those of them that are read, too: there a trial may find what another one wrote."""
        return [path for path in self.alone() if path in self.read or path in self.measured]

    def notes(self, is_shell):
        where = "$TUNE_DIR" if is_shell else 'os.environ["TUNE_DIR"]'
        remedy = f"let it write into the trial's folder, {where}"
        both = [path for path in self.alone() if path in self.read]
        once = [path for path in self.alone() if path not in self.read and path not in self.measured]
        measured = [path for path in self.alone() if path in self.measured and path not in self.read]
        if self.gone_on_from:
            yield (f"the script goes on from what lies at {self.gone_on_from}, where something is there, and writes it: where that is no folder of the "
                   f"trial's own, a trial goes on from another one's weights; {remedy}")
        if both:
            yield (f"the script writes {listed(both)} and reads what stands there, and all trials share the working folder: a "
                   f"trial may read what another one wrote; {remedy}. Until then limits: {{max_concurrent: 1}} lets one trial "
                   "run at a time" + (", but each finds what the one before it left" if self.goes_on(both) else ""))
        if measured:
            yield (f"the metrics are read from {listed(measured)}, which all trials share: {remedy}, and write {{tune.dir}}/ before its name. Until "
                   "then limits: {max_concurrent: 1} lets one trial run at a time")
        if once:
            yield (f"trials that run side by side share {listed(once)}, which the script writes: {remedy}, or set limits: "
                   "{max_concurrent: 1}")
        for option in self.options.values():
            is_read = names_output(option) and os.path.normpath(option.default) in self.read and os.path.normpath(option.default) not in self.written
            if names_output(option) and not is_read and option.name not in self.given():
                word = f'"{option.flag}{own_path(option)}"' if option.is_joined else f'{option.flag}, "{own_path(option)}"'
                yield (f"{option.flag.rstrip('=')} is {option.default} for all trials, which share it where the script writes there: write "
                       f'{word} into the command, or set limits: {{max_concurrent: 1}}')

    def goes_on(self, paths):
        """Whether a script reads a file before the line that writes it."""
        return any(self.read[path] < self.written[path] for path in paths)
