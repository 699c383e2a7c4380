"""Options as a Python script declares them: argparse, click, typer, absl, dataclasses, tune.config(), os.environ."""

import ast
import re


def number_or_text(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


class Option:
    """An option of the script's command line, or an entry of tune.config()."""

    def __init__(self, name, flag="", kind=None, default=None, choices=None):
        self.name = name  # The parameter's: letters, digits, underscores.
        self.flag = flag  # "--lr"; empty: positional, or of tune.config().
        self.kind = kind  # "float", "int", "str", "bool", "path", or None.
        self.is_typed = False  # The script says the kind; else it is that of the default.
        self.default = default
        self.choices = choices
        self.help = ""  # What the script says of it.
        self.reader = ""  # The function that makes its value of a word.
        self.reader_node = None  # It, where the script writes it in place.
        self.has_unknown_choices = False  # It takes some values alone, and which is not seen.
        self.low = self.high = None  # The bounds of its values, both among them; those of a float may be open.
        self.is_low_open = self.is_high_open = False
        self.no_flag = ""  # "--no-shuffle".
        self.dest, self.action = name, ""  # Of argparse: the attribute that it sets, and how, as in "store_false".
        self.aliases = []  # Its other flags.
        self.is_given = False  # Its default is the value in the person's command.
        self.is_switch = False  # A flag without a value.
        self.is_list = False
        self.count = 1  # The words that it takes at least.
        self.stand_in = None  # The word with which the script takes its own default.
        self.is_greedy = False  # It takes all words that follow.
        self.is_shifted = False  # The shell takes it away before it passes on the others.
        self.is_required = False
        self.is_config = False
        self.is_joined = False  # The flag ends with "=", and the value follows right away.
        self.word = ""  # A word of the command that is no option, such as a subcommand.
        self.variable = ""  # Of the environment.

    def is_positional(self):
        return not (self.flag or self.is_config or self.word or self.variable)


def add_enum(node, values):
    """Of class Optimizer(str, Enum): all its values, and each by its name, "Optimizer.adam"."""
    values[node.name] = []
    for member in node.body:
        if isinstance(member, ast.Assign) and isinstance(member.value, ast.Constant) and isinstance(member.targets[0], ast.Name):
            values[node.name].append(member.value.value)
            values[node.name + "." + member.targets[0].id] = member.value.value


def constants_of(tree):
    """The names that stand for one literal at the top of the module."""
    values = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(dotted(base).split(".")[-1] in ("Enum", "StrEnum") for base in node.bases):
            add_enum(node, values)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                try:
                    values[target.id] = ast.literal_eval(node.value)
                except (ValueError, SyntaxError, TypeError):
                    pass
    return values


def literal(node, constants):
    """(known, value)"""
    if node is None:
        return False, None
    if isinstance(node, ast.Name) and node.id in constants:
        return True, constants[node.id]
    if isinstance(node, ast.Attribute) and dotted(node) in constants:
        return True, constants[dotted(node)]
    try:
        return True, ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        pass
    if isinstance(node, ast.Call) and dotted(node.func) in ("os.environ.get", "os.getenv") and len(node.args) == 2:
        return literal(node.args[1], constants)
    if isinstance(node, ast.Call) and dotted(node.func) in ("float", "int") and len(node.args) == 1:
        known, value = literal(node.args[0], constants)
        try:
            number = {"float": float, "int": int}[dotted(node.func)](value)
            return (True, number) if known and abs(number) < 1e300 else (False, None)
        except (TypeError, ValueError):
            return False, None
    if isinstance(node, ast.BinOp):  # 1024 * 1024
        left, a = literal(node.left, constants)
        right, b = literal(node.right, constants)
        if left and right and isinstance(a, (int, float)) and isinstance(b, (int, float)):
            if isinstance(node.op, ast.Mult):
                return True, a * b
            if isinstance(node.op, ast.Pow) and abs(b) < 64:
                return True, a**b
            if isinstance(node.op, ast.Div) and b != 0:
                return True, a / b
    return False, None


def dotted(node):
    """"parser.add_argument" of a call's function."""
    if isinstance(node, ast.Attribute):
        return dotted(node.value) + "." + node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return dotted(node.func)
    return ""


LOW, HIGH = ("min", "ge", "gt", "lower_bound"), ("max", "le", "lt", "upper_bound")


def add_bounds(option, call, constants):
    """Of click.IntRange(2, 6, min_open=True), typer.Option(min=2), Field(gt=0), DEFINE_float(lower_bound=0)."""
    words = {k.arg: k.value for k in call.keywords if k.arg}
    if dotted(call.func).split(".")[-1] in ("IntRange", "FloatRange"):
        words = {**dict(zip(("min", "max", "min_open", "max_open"), call.args)), **words}

    def bound(names):
        found = [(name, literal(words[name], constants)[1]) for name in names if name in words]
        return next(((name, value) for name, value in found if isinstance(value, (int, float))), ("", None))

    (low_name, low), (high_name, high) = bound(LOW), bound(HIGH)
    is_low_open = low_name == "gt" or literal(words.get("min_open"), constants)[1] is True
    is_high_open = high_name == "lt" or literal(words.get("max_open"), constants)[1] is True
    if option.kind == "int":
        low, high = low if low is None else low + is_low_open, high if high is None else high - is_high_open
    option.low, option.high = (low if low is not None else option.low), (high if high is not None else option.high)
    option.is_low_open, option.is_high_open = option.is_low_open or is_low_open, option.is_high_open or is_high_open


def add_choices(option, node, constants):
    """Of choices=[1, 2], choices=range(1, 4), choices=MODELS.keys()."""
    if node is None:
        return
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    given = [literal(a, constants)[1] for a in node.args] if name == "range" else []
    values = None
    if given and all(type(v) is int for v in given):
        values = range(*given)
        if values.step == 1 and len(values) > 3:
            option.low, option.high = values.start, values.stop - 1
            return
    elif name in ("list", "tuple", "sorted", "set") and node.args:
        add_choices(option, node.args[0], constants)
        return
    elif name.endswith(".keys") and isinstance(node.func, ast.Attribute):
        values = literal(node.func.value, constants)[1]
    else:
        values = literal(node, constants)[1]
    values = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
    option.choices = list(values) if isinstance(values, (list, tuple, dict, range, str)) else None
    option.has_unknown_choices = not option.choices


def settle_choices(option, type_node):
    """Of argparse, which compares what the type makes of a word with the choices: without a type that is the word itself."""
    reader = dotted(type_node).split(".")[-1] if type_node is not None else ""
    if None in option.choices and option.default is not None:  # No word stands for it.
        option.choices = [c for c in option.choices if c is not None]
    if reader in ("eval", "literal_eval"):
        option.choices = [str(c) if isinstance(c, bool) else c for c in option.choices]
    option.has_unknown_choices = option.has_unknown_choices or None in option.choices or (
        type_node is None and any(not isinstance(c, str) for c in option.choices))


def kind_of(node, default):
    if isinstance(node, ast.Call) and re.search("(IntRange|FloatRange|Choice)$", dotted(node.func)):
        node = ast.Name(dotted(node.func).split(".")[-1].replace("Choice", "str"))
    if node is not None:
        text = ast.unparse(node).split(".")[-1].lower()
        if "path" in text or "file" in text:
            return "path"
        if "float" in text:
            return "float"
        if "bool" in text:
            return "bool"
        if "int" in text:
            return "int"
        if "str" in text:
            return "str"
        return "other"
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    return "str" if isinstance(default, str) else None


def name_of(flag):
    return re.sub(r"\W", "_", flag.lstrip("-"))


def with_gaps_filled(found):
    """Of {place: option} the options in order: a place that nothing names needs a word where one behind it has one."""
    options = []
    for place in range(1, max(found, default=0) + 1):
        option = found.get(place) or Option(f"arg{place}")
        option.is_required = option.is_required or place not in found
        options.append(option)
    return options


def from_add_argument(call, constants):
    """argparse and click: names first, the rest by keyword."""
    words = {k.arg: k.value for k in call.keywords if k.arg}
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if not names:
        return None
    flags = [n for n in names if n.startswith("-")]
    flag = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
    no_flag = ""
    if "/" in flag:  # click's --shuffle/--no-shuffle
        flag, no_flag = (part.strip() for part in flag.split("/", 1))
    option = Option(name_of(flag or names[0]), flag)
    has_default, option.default = literal(words.get("default"), constants)
    option.kind = kind_of(words.get("type"), option.default)
    if isinstance(option.default, str) and option.kind in ("int", "float"):  # argparse reads the text of a default as a word.
        option.default = number_or_text(option.default)
    option.is_typed = "type" in words or dotted(call.func).endswith("option")  # click goes by the default.
    is_click_argument = dotted(call.func).endswith("click.argument")
    if isinstance(words.get("type"), ast.Name) and words["type"].id == "bool" and dotted(call.func).endswith("add_argument"):
        option.kind = "text as bool"
    option.reader = words["type"].id if isinstance(words.get("type"), ast.Name) else ""
    option.reader_node = words["type"] if isinstance(words.get("type"), ast.Lambda) else None
    option.aliases = [f for f in flags if f != flag and "/" not in f]
    option.help = str(literal(words.get("help"), constants)[1] or "")
    choices = words.get("choices")
    type_node = words.get("type")
    if isinstance(type_node, ast.Call) and dotted(type_node.func).endswith("Choice"):
        choices = type_node.args[0] if type_node.args else None
    elif isinstance(type_node, ast.Call):
        add_bounds(option, type_node, constants)
    add_choices(option, choices, constants)
    if dotted(call.func).endswith("add_argument") and option.choices:
        settle_choices(option, type_node)
    action = literal(words.get("action"), constants)[1]
    if words.get("action") is not None and action is None:
        action = ast.unparse(words["action"]).split(".")[-1]
    if action in ("help", "version", "append", "count", "append_const"):
        return None
    option.dest, option.action = literal(words.get("dest"), constants)[1] or option.name, action or ""
    if action in ("store_true", "store_false", "store_const") or literal(words.get("is_flag"), constants)[1]:
        option.is_switch = True
        option.kind = "bool"
    if action == "BooleanOptionalAction":
        no_flag = "--no-" + flag.lstrip("-")
    if no_flag:
        option.no_flag, option.is_switch, option.kind = no_flag, True, "bool"
    nargs = literal(words.get("nargs"), constants)[1]
    nargs = "*" if "nargs" in words and ast.unparse(words["nargs"]).endswith("REMAINDER") else nargs
    option.is_list = nargs not in ("?", None) or bool(literal(words.get("multiple"), constants)[1]) or isinstance(type_node, ast.Tuple)
    option.is_greedy = nargs in ("*", "+") or is_click_argument and nargs == -1
    option.count = nargs if isinstance(nargs, int) and nargs > 0 else 1
    is_required = literal(words.get("required"), constants)[1]
    is_optional = nargs in ("?", "*") or is_click_argument and (has_default or nargs == -1 or is_required is False)
    option.is_required = bool(is_required) or not flag and not is_optional
    return option


def unwrapped(annotation):
    """(type, what is said beside it) of Annotated[float, typer.Option(...)]."""
    if isinstance(annotation, ast.Subscript) and dotted(annotation.value).split(".")[-1] == "Annotated":
        parts = annotation.slice.elts
        return parts[0], parts[1] if len(parts) > 1 else None
    return annotation, None


def parts_beside(annotation):
    """What stands in Annotated[...] beside the type."""
    is_more = isinstance(annotation, ast.Subscript) and dotted(annotation.value).split(".")[-1] == "Annotated"
    return annotation.slice.elts[1:] if is_more else []


def from_signature(function, constants, is_typer=False):
    """typer and tyro: the parameters of a command's function. In typer one without a default is a positional word."""
    arguments = function.args
    plain = arguments.args + arguments.kwonlyargs
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    options = []
    for argument, default in zip(plain, defaults + arguments.kw_defaults):
        flag = "--" + argument.arg.replace("_", "-")
        annotation, said = unwrapped(argument.annotation)
        if is_typer and annotation is not None and dotted(annotation).split(".")[-1] == "Context":
            continue  # typer gives it.
        if isinstance(default, ast.Call):
            said = default
            default = next((k.value for k in said.keywords if k.arg == "default"), said.args[0] if said.args else None)
        no_flag = "--no-" + flag[2:]
        if is_typer and default is None and said is None:
            flag = ""
        if isinstance(said, ast.Call):
            flags = [a.value for a in said.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value.startswith("-")]
            if flags and "Option" in dotted(said.func):  # typer's "--bias/--plain"; a name without its contrary has none.
                flag, _, no_flag = next((f for f in flags if f.startswith("--")), flags[0]).partition("/")
            flag = "" if "Argument" in dotted(said.func) else flag
        option = from_field(argument.arg, annotation, default, flag, constants)
        if isinstance(said, ast.Call):
            add_bounds(option, said, constants)
            add_choices(option, said_choices(said), constants)
        if is_typer and isinstance(constants.get(dotted(annotation)), list):  # An enum is said by its values.
            add_choices(option, annotation, constants)
        if option.kind == "bool" and flag:
            option.is_switch, option.no_flag = True, no_flag
        options.append(option)
    return options


def said_choices(call):
    """Of choice("a", "b"), field(choices=["a", "b"]), field(metadata={"choices": ["a", "b"]}), click_type=click.Choice(["a", "b"])."""
    words = {k.arg: k.value for k in call.keywords if k.arg}
    if dotted(call.func).split(".")[-1] == "choice":
        return ast.List(call.args) if len(call.args) != 1 else call.args[0]
    for inner in (n for n in ast.walk(call) if isinstance(n, ast.Call) and dotted(n.func).endswith("Choice") and n.args):
        return inner.args[0]
    for metadata in (n for n in ast.walk(call) if isinstance(n, ast.Dict)):
        for key, value in zip(metadata.keys, metadata.values):
            if isinstance(key, ast.Constant) and key.value == "choices":
                return value
    return words.get("choices")


def from_field(name, annotation, default, flag, constants):
    is_required = default is None or (isinstance(default, ast.Constant) and default.value is ...)
    said = [n for n in (default, *parts_beside(annotation)) if isinstance(n, ast.Call)]
    annotation = unwrapped(annotation)[0]
    if isinstance(default, ast.Call):  # field(default=0.1)
        is_plain = dotted(default.func).split(".")[-1] == "Field" and default.args
        default = next((k.value for k in default.keywords if k.arg == "default"), default.args[0] if is_plain else None)
        is_required = default is None and not any(k.arg == "default_factory" for n in said for k in n.keywords)
        is_required = is_required or isinstance(default, ast.Constant) and default.value is ...
    value = None if is_required else literal(default, constants)[1]
    text = ast.unparse(annotation) if annotation is not None else ""
    inner = re.fullmatch(r"(?:typing\.)?Optional\[(.*)\]", text)
    option = Option(name, flag, kind_of(ast.parse(inner.group(1)).body[0].value if inner else annotation, value), value)
    option.is_typed = annotation is not None
    option.is_required = is_required
    option.is_list = text.lower().startswith(("list", "tuple", "typing.list", "sequence"))
    for call in said:
        option.help = str(literal(next((k.value for k in call.keywords if k.arg == "help"), None), constants)[1] or "")
        add_bounds(option, call, constants)
        add_choices(option, said_choices(call), constants)
    literals = re.search(r"Literal\[([^\[\]]*)\]", text)
    if literals:
        add_choices(option, ast.parse("[" + literals.group(1) + "]").body[0].value, constants)
        option.kind = kind_of(None, option.choices[0]) if option.choices else None
    return option


def from_dataclasses(tree, source, constants):
    """HfArgumentParser and simple_parsing: the fields of dataclasses are options."""
    if not re.search(r"HfArgumentParser|simple_parsing|add_argument\(\s*f[\"']--\{", source):
        return []
    options, classes = [], {n.name: n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    parsing = [n for n in ast.walk(tree) if isinstance(n, ast.Call)
               and dotted(n.func).split(".")[-1] in ("add_arguments", "parse", "HfArgumentParser")]
    used = {n.id for call in parsing for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name) and n.id in classes}
    for _ in classes:  # What they are made of, too.
        fields = [n.annotation for name in used for n in classes[name].body if isinstance(n, ast.AnnAssign)]
        parts = fields + [base for name in used for base in classes[name].bases]
        used |= {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name) and n.id in classes}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or used and node.name not in used:
            continue
        if not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                name = field.target.id
                options.append(from_field(name, field.annotation, field.value,
                                          "--" + name, constants))
    return options


def from_config(tree, constants):
    """cfg = tune.config(): cfg["lr"], cfg.get("lr", 0.1)."""
    names = set()
    options = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if dotted(node.value.func) in ("tune.config", "config"):
                names |= {t.id for t in node.targets if isinstance(t, ast.Name)}

    def is_config(value):
        is_call = isinstance(value, ast.Call) and dotted(value.func) == "tune.config"
        return is_call or (isinstance(value, ast.Name) and value.id in names)

    def add(key, default):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            option = options.setdefault(key.value, Option(name_of(key.value)))
            option.is_config = True
            known, value = literal(default, constants)
            if known and option.default is None:
                option.default, option.kind = value, kind_of(None, value)
                option.is_list = isinstance(value, (list, tuple, dict))

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "tune.config":
            given = literal(node.args[0], constants)[1] if node.args else None
            for key, value in given.items() if isinstance(given, dict) else ():
                add(ast.Constant(key), ast.parse(repr(value)).body[0].value)
            for keyword in node.keywords:  # Its defaults.
                if keyword.arg:
                    add(ast.Constant(keyword.arg), keyword.value)
        if isinstance(node, ast.Subscript) and is_config(node.value):
            add(node.slice, None)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "get" and is_config(node.func.value) and node.args:
                add(node.args[0], node.args[1] if len(node.args) > 1 else None)
    return list(options.values())


# Of the machine, of tools or of people, and not of a model.
FOREIGN_VARIABLE = re.compile(
    r"^(TUNE|CUDA|WANDB|MLFLOW|COMET|OMP|MKL|NCCL|HF|TORCH|PYTORCH|TF|PYTHON|TOKENIZERS|SLURM|AWS|GOOGLE|AZURE|XDG|LC|SSH|GIT|CI|MASTER|"
    r"LOCAL|WORLD|RANK|NODE|HOME|PATH|USER|SHELL|LANG|TERM|TMP\w*|TEMP|HOST\w*|PORT|URL|LOG\w*|DEBUG|VERBOSE|DATA\w*|DB|OUT\w*|DEVICE|NAME|"
    r"PROJECT|RUN|VERSION|JOB)(_|$)|TOKEN|KEY|SECRET|PASS|DIR$|FILE$|FOLDER$|ROOT$|ADDR|URL$|_ID$")


def from_environment(tree, constants):
    """float(os.environ.get("LR", "0.1")), int(os.getenv("HIDDEN") or 64), float(os.environ["WD"]), os.environ.get("BN", "0") == "1"."""
    options, kinds, defaults, switches = {}, {}, {}, set()
    for node in ast.walk(tree):  # Outer calls come first.
        key = None
        is_compared = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        if is_compared and literal(node.comparators[0], constants)[1] in ("0", "1"):
            switches |= set(ast.walk(node.left))
        if isinstance(node, ast.Call) and dotted(node.func) == "bool" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
            switches |= set(ast.walk(node.args[0])) if dotted(node.args[0].func) == "int" else set()
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in ("float", "int") and len(node.args) == 1:
                for inner in ast.walk(node.args[0]):
                    kinds.setdefault(inner, name)
            if name in ("os.environ.get", "environ.get", "os.getenv", "getenv") and node.args:
                key = node.args[0]
                if len(node.args) == 2:
                    defaults[node] = node.args[1]
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            defaults[node.values[0]] = node.values[-1]
        elif isinstance(node, ast.Subscript) and dotted(node.value) in ("os.environ", "environ"):
            key = node.slice
        known, variable = literal(key, constants) if key is not None else (False, None)
        if not known or not isinstance(variable, str):
            continue
        given = defaults.get(node)
        if isinstance(given, ast.Call) and dotted(given.func) == "str" and given.args:
            given = given.args[0]
        default = literal(given, constants)[1]
        read_as = "int" if node in switches else kinds.get(node, "str")
        if read_as == "str" and (not isinstance(default, str) or not re.fullmatch(r"[A-Za-z]\w*", default) or FOREIGN_VARIABLE.search(variable)):
            continue
        kind = {"float": float, "int": int, "str": str}[read_as]
        try:
            option = Option(name_of(variable).lower(), "", read_as, None if default is None else kind(default))
        except (TypeError, ValueError):
            continue
        if node in switches:
            option.choices = [0, 1]
        option.variable = variable
        options.setdefault(variable, option)
    return list(options.values())
