"""Options of scripts in R (optparse, argparse) and Julia (ArgParse), and what they print, found by words alone."""

import re

from lines import Line, Place
from options import Option, name_of
from templates import PERCENT_HOLE, holes_in

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
    option = Option(name_of(flag), flag if flag.startswith("-") else "", KINDS.get(kind or ""), default_of(default))
    option.is_typed = option.kind is not None
    if option.kind is None and isinstance(option.default, (int, float)):
        option.kind = "int" if isinstance(option.default, int) else "float"
    if is_switch:
        option.is_switch, option.kind = True, "bool"
    return option


def arguments_at(source, at):
    """What stands between the parentheses whose first one is right before `at`, parted at commas."""
    parts, depth, quote, end = [""], 1, "", at
    while end < len(source):
        c = source[end]
        if quote:
            quote = "" if c == quote and source[end - 1] != "\\" else quote
        elif c in "\"'":
            quote = c
        depth += 0 if quote else {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        if depth == 0:
            break
        if c == "," and depth == 1 and not quote:
            parts.append("")
        else:
            parts[-1] += c
        end += 1
    return [part.strip() for part in parts]


def calls_of(source, name):
    """What stands between the parentheses of each call."""
    return [",".join(arguments_at(source, match.end())) for match in re.finditer(name + r"\(", source)]


def options_of_r(source):
    source = re.sub(r"(^|\s)#[^\n]*", r"\1", source)
    for text in [*calls_of(source, r"\bmake_option"), *calls_of(source, r"\$add_argument")]:
        head = re.split(r"\b(?:type|default|action|help|dest|metavar)\s*=", text)[0]
        kind = re.search(r"\btype\s*=\s*[\"'](\w+)", text)
        default = re.search(r"\bdefault\s*=\s*(\"[^\"]*\"|'[^']*'|[^,\s)]+)", text)
        names = re.findall(r"[\"'](-{0,2}[\w-]+)[\"']", head)
        option = option_of(names, kind and kind.group(1), default and default.group(1), "store_true" in text)
        choices = re.search(r"\bchoices\s*=\s*c\(([^()]*)\)", text)
        if choices:
            option.choices = [default_of(choice) for choice in choices.group(1).split(",")]
        option.is_required = not option.flag and re.search(r"\bnargs\s*=\s*[\"'][?*]", text) is None
        option.is_list = re.search(r"\bnargs\s*=\s*(?:[\"'][*+]|\d)", text) is not None
        if option.name and option.name != "help":
            yield option


def options_of_julia(source):
    for body in re.findall(r"@add_arg_table!?\s+\w+\s+begin(.*?)^\s*end\b", source, re.M | re.S):
        entries = re.split(r"^\s*((?:\"-{0,2}[\w-]+\"\s*,?\s*)+)$", re.sub(r"(^|\s)#[^\n]*", r"\1", body), flags=re.M)
        for flags, text in zip(entries[1::2], entries[2::2]):
            kind = re.search(r"\barg_type\s*=\s*(\w+)", text)
            default = re.search(r"\bdefault\s*=\s*(\"[^\"]*\"|\S+)", text)
            found = re.findall(r"\"(-{0,2}[\w-]+)\"", flags)
            if found:
                option = option_of(found, kind and kind.group(1), default and default.group(1), ":store_true" in text)
                option.is_required = not option.flag and re.search(r"\brequired\s*=\s*true", text) is not None
                option.is_list = re.search(r"\bnargs\s*=\s*(?:['\"][*+R]|\d)", text) is not None
                yield option


def options_of_foreign(suffix, source):
    return list({".r": options_of_r, ".jl": options_of_julia}.get(suffix.lower(), lambda _: [])(source))


# ---- what they print

PRINTING = {".r": r"\b(cat|message|print|writeLines)\(", ".jl": r"(\bprintln|\bprint|@printf)\("}
ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"'}


def text_of(literal):
    return re.sub(r"\\[nt\"]", lambda m: ESCAPED[m.group(0)], literal[1:-1])


def template_of(argument, is_julia):
    if re.fullmatch(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", argument):
        text = text_of(argument)
        return holes_in(text, r"\$\w+") if is_julia else [text]
    made = re.match(r"(sprintf|gettextf|paste0?)\(", argument)
    if not made or is_julia:
        return [None]
    inner = [a for a in arguments_at(argument, made.end()) if not re.match(r"(sep|collapse)\s*=", a)]
    if made.group(1).startswith("paste"):
        return joined([template_of(a, False) for a in inner], "" if made.group(1) == "paste0" else " ")
    return holes_in(text_of(inner[0]), PERCENT_HOLE, "%%", "%") if inner[0][:1] in "\"'" else [None]


def joined(templates, separator):
    return [p for i, template in enumerate(templates) for p in ([separator] if i and separator else []) + template]


def lines_of_foreign(suffix, source):
    source = re.sub(r"(^|\s)#[^\n]*", r"\1", source)
    is_julia = suffix.lower() == ".jl"
    if is_julia:  # What is computed within a text may have texts of its own.
        source = re.sub(r"\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "$x", source)
    for match in re.finditer(PRINTING.get(suffix.lower(), r"(?!)"), source):
        name, arguments = match.group(1), arguments_at(source, match.end())
        named = [re.search(r"^(?:sep|file|fill)\s*=\s*(.*)", a) for a in arguments]
        plain = [a for a, n in zip(arguments, named) if not n]
        is_error = name == "message" or (plain and plain[0] == "stderr") or any(n and "stderr" in n.group(1) for n in named)
        separator = "" if is_julia or any(a.startswith("sep") for a in arguments) or name != "cat" else " "
        if name == "@printf":
            parts = holes_in(text_of(plain[0]), PERCENT_HOLE, "%%", "%") if plain[0][:1] == '"' else []
        else:
            parts = joined([template_of(a, is_julia) for a in plain if a != "stderr"], separator)
        if name == "print" and not is_julia:
            parts = ['[1] "', *parts]
        if None in parts and any(p for p in parts):
            yield Line(parts, "stderr" if is_error else "stdout", Place(source[:match.start()].count("\n") + 1), None, 1)
