"""Options of scripts in R (optparse, argparse) and Julia (ArgParse), found by the words of their declarations."""

import re

from options import Option, name_of

KINDS = {"double": "float", "numeric": "float", "integer": "int", "character": "str", "logical": "bool",
         "Float64": "float", "Float32": "float", "Int": "int", "Int64": "int", "String": "str", "Bool": "bool"}


def default_of(text):
    text = (text or "").strip().rstrip(",")
    if re.fullmatch(r"[+-]?\d+L?", text):
        return int(text.rstrip("L"))
    try:
        return float(text)
    except ValueError:
        return text.strip("\"'") if text[:1] in ("'", '"') else None


def option_of(flags, kind, default, is_switch):
    flag = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
    option = Option(name_of(flag), flag, KINDS.get(kind or ""), default_of(default))
    if option.kind is None and isinstance(option.default, (int, float)):
        option.kind = "int" if isinstance(option.default, int) else "float"
    if is_switch:
        option.is_switch, option.kind = True, "bool"
    return option


def calls_of(source, name):
    """What stands between the parentheses of each call."""
    for match in re.finditer(name + r"\(", source):
        depth, end = 1, match.end()
        while end < len(source) and depth:
            depth += {"(": 1, ")": -1}.get(source[end], 0)
            end += 1
        yield source[match.end():end - 1]


def options_of_r(source):
    source = re.sub(r"(^|\s)#[^\n]*", r"\1", source)
    for text in [*calls_of(source, r"\bmake_option"), *calls_of(source, r"\$add_argument")]:
        head = re.split(r"\b(?:type|default|action|help|dest|metavar)\s*=", text)[0]
        kind = re.search(r"\btype\s*=\s*[\"'](\w+)", text)
        default = re.search(r"\bdefault\s*=\s*(\"[^\"]*\"|'[^']*'|[^,\s)]+)", text)
        option = option_of(re.findall(r"[\"'](-{1,2}[\w-]+)[\"']", head), kind and kind.group(1),
                           default and default.group(1), "store_true" in text)
        if option.flag and option.name != "help":
            yield option


def options_of_julia(source):
    for body in re.findall(r"@add_arg_table!?\s+\w+\s+begin(.*?)^\s*end\b", source, re.M | re.S):
        entries = re.split(r"^\s*((?:\"-{0,2}[\w-]+\"\s*,?\s*)+)$", re.sub(r"(^|\s)#[^\n]*", r"\1", body), flags=re.M)
        for flags, text in zip(entries[1::2], entries[2::2]):
            kind = re.search(r"\barg_type\s*=\s*(\w+)", text)
            default = re.search(r"\bdefault\s*=\s*(\"[^\"]*\"|\S+)", text)
            found = re.findall(r"\"(-{1,2}[\w-]+)\"", flags)
            if found:
                yield option_of(found, kind and kind.group(1), default and default.group(1), ":store_true" in text)


def options_of_foreign(suffix, source):
    return list({".r": options_of_r, ".jl": options_of_julia}.get(suffix.lower(), lambda _: [])(source))
