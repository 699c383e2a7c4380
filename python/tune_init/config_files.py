"""Scripts whose parameters stand in a YAML file: hydra and OmegaConf take lr=0.1 from the command line."""

import ast
import os
import re

from options import Option, dotted, kind_of, number_or_text

SCALAR = re.compile(r"^(\s*)([\w-]+)\s*:\s*(.*?)\s*(?:\s#.*)?$")
PAIR = re.compile(r"\s*([\w-]+)\s*:\s+([^\s{}\[\],][^{}\[\],]*?)\s*$")
CHOSEN = re.compile(r"^\s+-\s+(?:override\s+)?/?([\w/-]+)\s*:\s*([\w.-]+)\s*(?:#.*)?$")


def scalar_of(text):
    if text in ("true", "false", "True", "False"):
        return text.lower() == "true"
    value = number_or_text(text)
    return value.strip("\"'") if isinstance(value, str) else value


def pairs_of(text):
    """("hidden", 64) of {hidden: 64, dropout: 0.1}; nothing where it holds lists or maps."""
    pairs = [PAIR.match(part) for part in text[1:-1].split(",")] if text.endswith("}") else [None]
    return [(p.group(1), scalar_of(p.group(2))) for p in pairs] if all(pairs) else []


def entries_of(text):
    """("model.hidden", 64) of maps; lists and hydra's defaults are left out."""
    above = []  # (indentation, name)
    for line in text.split("\n"):
        match = SCALAR.match(line)
        if not match or line.lstrip().startswith("#"):
            continue
        indentation, name, value = len(match.group(1)), match.group(2), match.group(3)
        above = [(i, n) for i, n in above if i < indentation]
        names = [n for _, n in above] + [name]
        if not value:
            above.append((indentation, name))
        elif names[0] in ("defaults", "hydra"):
            continue
        elif value[0] == "{":
            for inner, scalar in pairs_of(value):
                yield ".".join(names + [inner]), scalar
        elif value[0] not in "[&*!|>$":
            yield ".".join(names), scalar_of(value)


def text_of(path):
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.read()


def groups_of(text, folder):
    """(what stands before its names, the text) of each file that hydra's defaults choose: `- optimizer: adam`."""
    for line in text.split("\n") if re.search(r"^defaults\s*:", text, re.M) else []:
        chosen = CHOSEN.match(line)
        path = os.path.join(folder, chosen.group(1), chosen.group(2) + ".yaml") if chosen else ""
        if not os.path.isfile(path):
            continue
        group = text_of(path)
        package = re.search(r"^#\s*@package\s+(\S+)", group, re.M)
        prefix = package.group(1) if package else chosen.group(1).replace("/", ".")
        yield "" if prefix == "_global_" else prefix + ".", group


def all_entries(path, is_hydra):
    """The file's entries over those of the groups that it chooses."""
    text = text_of(path)
    entries = {}
    for prefix, group in groups_of(text, os.path.dirname(path)) if is_hydra else []:
        entries.update((prefix + name, value) for name, value in entries_of(group))
    entries.update(entries_of(text))
    return entries.items()


def path_of(tree, source, script):
    """(path, whether it is hydra's) of the file; (None, ...) where it is made otherwise."""
    folder = os.path.dirname(script)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
        if dotted(node.func) == "hydra.main" and isinstance(words.get("config_name"), str):
            name = words["config_name"]
            name += "" if name.endswith((".yaml", ".yml")) else ".yaml"
            return os.path.join(folder, words.get("config_path") or "", name), True
        if dotted(node.func) == "OmegaConf.load" and "from_cli" in source and node.args:
            if isinstance(node.args[0], ast.Constant):
                return os.path.join(folder, str(node.args[0].value)), False
    return None, False


def from_config_file(tree, source, script):
    path, is_hydra = path_of(tree, source, script)
    if path is None or not os.path.exists(path):
        return []
    options = []
    for name, value in all_entries(path, is_hydra):
        option = Option(re.sub(r"\W", "_", name), name + "=", kind_of(None, value), value)
        option.is_joined = True
        options.append(option)
    if is_hydra and options:
        folder = Option("folder")
        folder.word = "hydra.run.dir={tune.dir}"  # Else trials of the same second share one.
        options.append(folder)
    return options
