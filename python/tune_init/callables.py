"""Command lines that are made of a function, a class or a dataclass: fire, tyro, jsonargparse."""

import ast
import re

from options import Option, dotted, from_field, from_signature


def target_of(tree, names):
    """The function or class that is given to a call such as fire.Fire(train)."""
    defined = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        if dotted(call.func) in names and call.args and isinstance(call.args[0], (ast.Name, ast.Subscript)):
            found = defined.get(ast.unparse(call.args[0]))
            if found is not None:
                return found
    return None


def method(node, name):
    return next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def of_function(function, constants, to_flag):
    options = from_signature(function, constants)
    options = [o for o in options if o.name not in ("self", "cls")]
    for option in options:
        option.flag, option.is_switch, option.no_flag = to_flag(option.name), False, ""
    return options


def from_fire(tree, constants):
    """--lr=0.1; a truth is Python's True or False, any other text is true."""
    target = target_of(tree, ("fire.Fire", "Fire"))
    if target is None:
        return []
    if isinstance(target, ast.ClassDef):
        made, options = method(target, "__init__"), []
        if made is not None:
            options = of_function(made, constants, lambda name: "--" + name)
        public = [n for n in target.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
        chosen = next((n for w in ("train", "fit", "run", "main") for n in public if n.name == w), (public or [None])[0])
        if chosen is not None:
            word = Option(chosen.name)
            word.word = chosen.name
            options += [word] + of_function(chosen, constants, lambda name: "--" + name)
    else:
        options = of_function(target, constants, lambda name: "--" + name)
    for option in options:
        if option.kind == "bool":
            option.kind, option.choices = "str", ["True", "False"]
    return options


def from_jsonargparse(tree, constants):
    target = target_of(tree, ("CLI", "auto_cli", "jsonargparse.CLI", "jsonargparse.auto_cli"))
    if not isinstance(target, ast.FunctionDef):
        return []
    options = of_function(target, constants, lambda name: "--" + name)
    for option in options:
        if option.is_required:  # The first words are those without a default.
            option.flag = ""
    return options


def from_tyro(tree, constants):
    """--optim.lr 0.1, --use-bias or --no-use-bias."""
    target = target_of(tree, ("tyro.cli", "cli"))
    classes = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}

    def fields(node, prefix, depth):
        for field in node.body:
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            name, kind = field.target.id, ast.unparse(field.annotation)
            if kind in classes and depth < 5:
                yield from fields(classes[kind], prefix + name + ".", depth + 1)
            else:
                yield made(prefix + name, field.annotation, field.value)

    def made(name, annotation, default):
        flag = "--" + name.replace("_", "-")
        option = from_field(re.sub(r"\W", "_", name), annotation, default, flag, constants)
        if option.kind == "bool" and option.default is not None:
            option.is_switch, option.no_flag = True, "--" + ".".join([*flag[2:].split(".")[:-1], "no-" + flag.split(".")[-1].lstrip("-")])
        return option

    if isinstance(target, ast.ClassDef):
        return list(fields(target, "", 0))
    if target is None:
        return []
    return from_signature(target, constants)
