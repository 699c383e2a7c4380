"""All options of a Python script, in the order of its command line."""

import ast
import re

from by_hand import fixed_values, from_argv, from_docopt
from callables import from_fire, from_jsonargparse, from_tyro
from config_files import from_config_file
from domains import domain_of
from options import (Option, add_bounds, add_choices, constants_of, dotted, from_add_argument, from_config, from_dataclasses,
                     from_environment, from_signature, kind_of, literal, name_of)
from subcommands import AFTER, BEFORE, Subcommands

ABSL_KINDS = {"DEFINE_float": "float", "DEFINE_integer": "int", "DEFINE_string": "str", "DEFINE_bool": "bool",
              "DEFINE_boolean": "bool", "DEFINE_enum": "str"}


def from_absl(call, constants):
    last = dotted(call.func).split(".")[-1]
    known, flag = literal(call.args[0], constants)
    if not known or last not in ABSL_KINDS:
        return None
    default = literal(call.args[1], constants)[1] if len(call.args) > 1 else None
    option = Option(name_of(flag), "--" + flag, ABSL_KINDS[last], default)
    option.is_typed = True
    option.is_required = default is None and any(k.arg == "required" and literal(k.value, constants)[1] is True for k in call.keywords)
    if option.kind == "bool":  # "--nesterov false" is true.
        option.flag, option.is_joined = option.flag + "=", True
    if last == "DEFINE_enum" and len(call.args) > 2:
        add_choices(option, call.args[2], constants)
    add_bounds(option, call, constants)
    if option.kind in ("float", "int"):  # DEFINE_integer(name, default, help, lower_bound, upper_bound)
        low, high = ([literal(node, constants)[1] for node in call.args[3:5]] + [None, None])[:2]
        option.low, option.high = option.low if low is None else low, option.high if high is None else high
    return option


def in_order_of_calls(tree):
    """The nodes as the script comes to them: those of a function where it is called first."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]  # Outer ones come first.
    owners = {inner: f for f in functions for statement in f.body for inner in ast.walk(statement)}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    first = {f: min((c for c in calls if dotted(c.func).split(".")[-1] == f.name and owners.get(c) is not f),
                    key=lambda c: c.lineno, default=None) for f in functions}

    def path(node):
        lines, passed = [(node.lineno, node.col_offset)], set()
        while node in owners and owners[node] not in passed:
            passed.add(owners[node])
            node = first[owners[node]] or owners[node]
            lines.insert(0, (node.lineno, node.col_offset))
        return lines

    return sorted((n for n in ast.walk(tree) if isinstance(n, (ast.Call, ast.FunctionDef))), key=path)


def add_truths(option, reader):
    """The words for which a function of the script's own says true: one that compares with "True" takes "true" for false."""
    texts = [n.value for n in ast.walk(reader) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if re.search(r"\b(lower|casefold|strtobool)\b", ast.unparse(reader)) or "true" in texts:
        return
    pair = next((pair for pair in (["True", "False"], ["TRUE", "FALSE"], ["1", "0"], ["yes", "no"]) if pair[0] in texts), None)
    pair = pair or (["1", "0"] if re.search(r"\bint\(", ast.unparse(reader)) else None)
    option.kind, option.choices, option.has_unknown_choices = "str", pair, pair is None


def with_contraries(options):
    """The options where --bn and --no-bn, which set one attribute, are one switch."""
    switches = {o.dest: o for o in options if o.action == "store_true" and not o.no_flag}
    contraries = {o.dest: o for o in options if o.action == "store_false" and o.dest in switches}
    for dest, contrary in contraries.items():
        switches[dest].no_flag = contrary.flag
    return [o for o in options if o not in contraries.values()]


def settle_by_calls(tree, options, constants):
    """Of p.set_defaults(lr=0.5) the defaults, and of options that exclude each other none is searched over."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    given = {k.arg: k.value for call in calls if dotted(call.func).endswith(".set_defaults") for k in call.keywords if k.arg}
    for option in options:
        known, value = literal(given.get(option.dest), constants)
        option.default = value if known else option.default
    marked = [a for call in calls if dotted(call.func).split(".")[-1] in ("mark_flag_as_required", "mark_flags_as_required") for a in call.args]
    required = {n.value for a in marked for n in ast.walk(a) if isinstance(n, ast.Constant)}  # absl's
    for option in options:
        option.is_required = option.is_required or option.default is None and option.flag.strip("-=") in required
    groups = {ast.unparse(t) for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
              and dotted(n.value.func).endswith("add_mutually_exclusive_group") for t in n.targets}
    excluded = {name_of(a.value) for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
                and ast.unparse(call.func.value) in groups for a in call.args if isinstance(a, ast.Constant)}
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for option in options:
        reader = option.reader_node or functions.get(option.reader)
        if option.kind == "bool" and reader is not None:
            add_truths(option, reader)
        option.has_unknown_choices = option.has_unknown_choices or option.name in excluded


def declared(tree, source, constants, subcommands):
    """(place, option) of what calls and decorators declare."""
    for node in in_order_of_calls(tree):
        option = None
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            last = name.split(".")[-1]
            if last == "add_argument" or name in ("click.option", "click.argument"):
                option = from_add_argument(node, constants)
            elif last.startswith("DEFINE_") and node.args:
                option = from_absl(node, constants)
            if option is not None:
                yield subcommands.place_of(node), option
        elif isinstance(node, ast.FunctionDef) and "typer" in source:
            texts = [ast.unparse(d) for d in node.decorator_list]
            is_run = re.search(r"typer\.run\(\s*" + node.name + r"\s*\)", source)
            if is_run or any(re.search(r"\.(?:command|callback)\b", t) for t in texts):
                for option in from_signature(node, constants, is_typer=True):
                    yield subcommands.place_of(node), option


def in_order(options):
    """Positional words first, where no option takes them for its own, and options of many words not last."""
    places, flags = [o for o in options if not o.flag], [o for o in options if o.flag]
    greedy = next((i for i, o in enumerate(places) if o.is_greedy), len(places))
    reached = places[:greedy + 1] + [o for o in places[greedy + 1:] if o.is_required]
    return reached + sorted(flags, key=lambda o: not o.is_list)


def options_of(tree, source, script):
    constants, subcommands = constants_of(tree), Subcommands(tree)
    found = list(declared(tree, source, constants, subcommands))
    options = in_order([option for place, option in found if place == BEFORE])
    if subcommands.word:
        word = Option(subcommands.word)
        word.word = subcommands.word
        options.append(word)
    options += in_order([option for place, option in found if place == AFTER])
    for more in (from_dataclasses(tree, source, constants), from_fire(tree, constants),
                 from_jsonargparse(tree, constants), from_tyro(tree, constants), from_config_file(tree, source, script),
                 from_docopt(tree, source), from_argv(tree, constants), from_config(tree, constants),
                 from_environment(tree, constants)):
        options += more
    options = with_contraries(options)
    settle_by_calls(tree, options, constants)
    unique = {}
    for option in options:
        unique.setdefault((option.name, option.word), option)
    return list(unique.values())


# ---- what is left to a person


def of_fixed(tree):
    """The line for a script that takes nothing from outside, or in a way of its own."""
    fixed = []
    for name, value, dictionary in fixed_values(tree):
        option = Option(name_of(name).lower(), "", kind_of(None, value), value)
        if domain_of(option) and option.name not in {known.lower() for known, _, _ in fixed}:
            fixed.append((name, value, dictionary))
    if not fixed:
        return []
    shown = ", ".join(f"{name}={value}" for name, value, _ in fixed[:8])
    name, value, dictionary = fixed[0]
    kind = type(value).__name__
    remedy = f'{name} = {kind}(os.environ.get("{name.upper()}", {value}))'
    if dictionary:
        remedy = f"import tune; {dictionary} = tune.config({dictionary}) right below the dictionary"
    reads_words = any(dotted(n) == "sys.argv" for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    how = "the script reads sys.argv in a way that is not understood" if reads_words else "the script takes nothing from outside"
    return [f"{how}, and {shown} {'stands' if len(fixed) == 1 else 'stand'} in it; to search over one write {remedy}, "
            "and call tune init again"]


def unseen_options(tree):
    """What is said of options whose names the script puts together, and of classes that stand elsewhere."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    made = [c.args[0] for c in calls if dotted(c.func).endswith(".add_argument") and c.args and isinstance(c.args[0], (ast.BinOp, ast.JoinedStr))]
    if made and not re.search(r"\bfields\(", ast.unparse(tree)):  # Of a dataclass they are seen.
        yield f"options made in a loop are not seen: {ast.unparse(made[0])}"
    classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    given = [a for c in calls if dotted(c.func).split(".")[-1] in ("HfArgumentParser", "TrlParser") for a in c.args]
    names = list(dict.fromkeys(n.id for a in given for n in ast.walk(a) if isinstance(n, ast.Name) and n.id not in classes))
    variables = {ast.unparse(t) for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets}
    names = [name for name in names if name not in variables]
    if names:
        example = ", such as --learning_rate" if any(name.endswith("TrainingArguments") for name in names) else ""
        yield f"options that are fields of {', '.join(names)} are not seen{example}: name them in the command, and write their domains"


def notes_on(tree, source, script, options):
    notes = list(Subcommands(tree).doubts())
    if "get_ipython()" in source:
        notes.append("the script calls get_ipython(), which python3 does not know: take these lines out")
    files = [o.flag for o in options if o.name in ("config", "cfg", "config_file", "config_path", "conf") and o.flag]
    if files and re.search(r"\byaml\b|json\.load|toml", source):
        notes.append(f"the script reads values from the file that {files[0]} names, which is not looked into. To search over them "
                     f"write them under space, constants too, and let the command be a text with shell: true that ends "
                     f'with {files[0]} "$TUNE_CONFIG", a JSON file of the trial')
    if "configparser" in source:
        notes.append("the script reads values from an INI file, which is not looked into. To search over them write them under space, let the "
                     "script take the file's name from its command, and let the command be a text with shell: true that writes the file "
                     'first: printf "[train]\\nlr = %s\\n" {lr} > "$TUNE_DIR/settings.ini"; python3 ' + script + ' "$TUNE_DIR/settings.ini"')
    if "hydra.main" in source and not any(o.is_joined for o in options):
        notes.append("hydra's configuration was not found beside the script: name its values in the command, such as "
                     '"lr={lr}"')
    if not [o for o in options if not o.word]:
        notes += of_fixed(tree)
    return notes


def notes_on_frameworks(tree, source, beside):
    """For a script that prints nothing by itself."""
    trees = [tree, *(module for _, module, _ in beside)]
    text = "\n".join([source, *(text for _, _, text in beside)])
    if not re.search(r"^\s*(?:import|from) (?:pytorch_)?lightning\b", text, re.M):
        return []
    names = [n.args[0].value for t in trees for n in ast.walk(t) if isinstance(n, ast.Call) and n.args
             and dotted(n.func) == "self.log" and isinstance(n.args[0], ast.Constant)]
    name = next((n for n in names if str(n).startswith("val")), names[0] if names else "val_loss")
    return [f"Lightning's values are reported by a callback: from tune.lightning import ReportCallback, and in the "
            f'Trainer callbacks=[ReportCallback("{name}")]; write these, and call tune init again']
