"""The options of a shell script, and the lines that it prints.

Seen are ${NAME:-0.1} and its like, which the environment sets; $1 and ${1:-0.1}; `getopts`, and options that a
`case` takes apart. What a shell computes in another way is not seen.
"""

import re

from lines import Line, Place
from options import Option, kind_of, name_of, number_or_text, with_gaps_filled
from templates import PERCENT_HOLE, holes_in

# Of the machine, not of the experiment.
FOREIGN = re.compile(r"(HOME|PATH|USER|PWD|SHELL|TMPDIR|TMP|HOSTNAME|LANG|LC_\w+|\w*PATH|CUDA_VISIBLE_DEVICES|SLURM_\w+|"
                     r"OMP_NUM_THREADS|MASTER_\w+|WORLD_SIZE|\w*RANK|TUNE_(?!PARAM_)\w+|BASH\w*|OPTARG|OPTIND|IFS)$")
EXPANSION = re.compile(r"\$\{(\w+)(:?[-=?])((?:[^{}]|\{[^{}]*\})*)\}")
ASSIGNMENT = re.compile(r"""(?:^|[;&|(]|\b(?:export|local|readonly|then|do|declare(?:\s+-\w+)?))\s*"""
                        r"""([A-Za-z_]\w*)=("[^"\n]*"|'[^'\n]*'|[^\s;&|)]*)""", re.M)
ARM_BEGIN = r"(?:^|;;|\bin\b)[ \t]*\(?"  # All of a `case` may stand in one line.
ARM = re.compile(ARM_BEGIN + r"((?:[\"']?-{1,2}[\w-]+=?[\"']?\*?[ \t]*\|?[ \t]*)+)\)(.*?)(?=;;|\besac\b)", re.M | re.S)
GETOPTS = re.compile(r"\bgetopts\s+[\"']?:?([\w:]+)[\"']?\s+(\w+)")
SHORT_ARM = re.compile(ARM_BEGIN + r"[\"']?(\w)[\"']?\)(.*?)(?=;;|\besac\b)", re.M | re.S)
PYTHON = re.compile(r"^[^#\n]*\bpython[\d.]*\s+(?:-\w+\s+)*(\S+\.py)\b((?:\\\n|[^\n])*)", re.M)


def without_bodies(text):
    """Without comments, functions' bodies, here-documents and what single quotes hold: there $1 is another thing."""
    text = re.sub(r"<<-?\s*(['\"]?)(\w+)\1(.*?)^\s*\2$",
                  lambda m: "\n" if m.group(1) else re.sub(r"['\"#]", " ", m.group(3)), text, flags=re.M | re.S)
    text = re.sub(r"^[ \t]*(?:function\s+[\w-]+\s*(?:\(\))?|[\w-]+\s*\(\))\s*\{.*?(?:^\}|\}[ \t]*$)", "", text,
                  flags=re.M | re.S)
    text = re.sub(r"(^|\s)#[^\n]*", r"\1", text)
    kept, quote = [], ""
    for c in text:
        if quote != "'" and c == '"':
            quote = "" if quote else c
        if quote != '"' and c == "'":
            quote = "" if quote else c
        kept.append(c if quote != "'" or c == "\n" else " ")
    return "".join(kept)


def value_of(text):
    """A number where the text is one; None where the shell computes it."""
    value = number_or_text(text.strip("\"'"))
    is_computed = isinstance(value, str) and ("$" in value or "`" in value or not value)
    return None if is_computed else value


def option_of(name, default):
    option = Option(name_of(name).lower())
    option.default = value_of(default) if default is not None else None
    option.kind = kind_of(None, option.default)
    return option


def from_environment(text, assigned):
    for match in EXPANSION.finditer(text):
        name, form, default = match.groups()
        if name.isdigit() or FOREIGN.match(name) or value_of(default) is None and "=" not in form and "?" in form:
            continue
        own = rf"\$\{{?{name}\b"
        earlier = [v for at, v in assigned.get(name, []) if at < match.start() and not re.search(own, v)]
        if earlier:
            continue  # The script itself says what it is.
        is_given = name.startswith("TUNE_PARAM_")
        option = option_of(name[len("TUNE_PARAM_"):] if is_given else name, None if "?" in form else default)
        if is_given:
            option.is_config = True
        else:
            option.variable = name
        yield option


POSITION = re.compile(r"(?:\b([A-Za-z_]\w*)=)?\"?(?:\$\{([1-9])(?:(:?[-?=])((?:[^{}]|\{[^{}]*\})*))?\}|\$([1-9]))|"
                      r"(?:^|[;&|)]|\bdo|\bthen|\belse)[ \t]*(shift)\b[ \t]*(\d*)", re.M)
LOOP = re.compile(r"^[ \t]*(?:while|until|for)\b.*?\bdone\b", re.M | re.S)


def is_conditional(text, match):
    """Whether the command at this place is one of an `if`, a `case`, or behind && or ||."""
    before = text[:match.start()]
    is_within = len(re.findall(r"(?:^|[;\s])(?:if|case)\s", before)) > len(re.findall(r"(?:^|[;\s])(?:fi|esac)\b", before))
    return is_within or match.group(0)[0] in "&|"


def from_positions(text):
    """$1, ${2:-0.1} and so on."""
    shifting = next((m.start() for m in LOOP.finditer(text) if re.search(r"\bshift\b", m.group(0))), len(text))
    found, shifted = {}, 0
    for match in POSITION.finditer(text[:shifting]):
        name, braced, form, default, plain, shift, places = match.groups()
        if shift and is_conditional(text, match):
            break  # Nobody knows what $1 is from here on.
        if shift:
            shifted += int(places or 1)
            continue
        line = text[text.rfind("\n", 0, match.start()) + 1:match.end()]
        if re.search(r"\bcase\b|\[\[?\s|\btest\b|^\s*\(?-", line) and not name:
            continue
        position, is_given = int(braced or plain) + shifted, bool(form) and "?" not in form
        if position not in found or (found[position].default is None and is_given):
            found[position] = option_of(name or f"arg{position}", default if is_given else None)
            found[position].is_required = not is_given
            found[position].stand_in = "" if form in (":-", ":=") else None
    options = with_gaps_filled(found)
    for option in options[:shifted]:
        option.is_shifted = True
    return options


def from_arms(text, assigned):
    """The options that a `case` in a loop takes apart."""
    options = {}
    for labels, body in ARM.findall(text):
        flags = [re.sub(r"[\"'\s]", "", f) for f in labels.split("|") if f.strip()]
        option = from_arm(flags, body, assigned)
        if option and (option.name not in options or options[option.name].is_joined):
            options[option.name] = option
    for letters, _ in GETOPTS.findall(text):
        for letter, body in SHORT_ARM.findall(text):
            if letter in letters:
                option = from_arm(["-" + letter], body, assigned, letter + ":" in letters)
                if option:
                    options.setdefault(option.name, option)
    return list(options.values())


def from_arm(flags, body, assigned, takes_value=None):
    match = ASSIGNMENT.search("\n" + body)
    if not match or re.search(r"\b(usage|help)\b", body):
        return None
    name, given = match.groups()
    has_value = any(f.endswith("=*") for f in flags) or bool(re.search(r"\$\{?(?:[12]|OPTARG)", given))
    has_value = has_value if takes_value is None else takes_value
    before = [v for _, v in assigned.get(name, []) if value_of(v) is not None and "$" not in v and v != given]
    option = option_of(name, before[0] if before else None)
    apart = [f for f in flags if not f.endswith("=*")]
    option.flag = max(apart or [f[:-1] for f in flags], key=lambda f: f.startswith("--"))
    option.is_joined = not apart
    if not has_value:
        option.is_switch, option.kind = True, "bool"
    return option


def fixed_names(text, assigned, options):
    """NAME=0.1, which nothing from outside changes."""
    known = {o.name for o in options}
    for name, values in assigned.items():
        numbers = [value_of(v) for _, v in values]
        if len(values) == 1 and isinstance(numbers[0], (int, float)) and name.lower() not in known:
            yield name, values[0][1]


class Script:
    def __init__(self, source):
        self.text = without_bodies(source)
        # With words in single quotes: the names of files.
        self.text_with_files = without_bodies(re.sub(r"(?<=[\s>])'([\w./-]+)'(?=[\s;]|$)", r"\1", source))
        self.assigned = {}  # name: [(place, value)]
        for match in ASSIGNMENT.finditer(self.text):
            self.assigned.setdefault(match.group(1), []).append((match.start(), match.group(2)))
        arms = from_arms(self.text, self.assigned)
        positions = [] if arms else from_positions(self.text)
        for option in (o for o in positions if o.default is None):  # LR=0.1; [ $# -ge 1 ] && LR=$1
            values = [value_of(v) for name, assigned in self.assigned.items() if name.lower() == option.name for _, v in assigned]
            option.default = next((v for v in values if isinstance(v, (int, float))), None)
            option.kind = kind_of(None, option.default)
        unique = {}
        for option in arms + positions + list(from_environment(self.text, self.assigned)):
            if option.name not in unique or (unique[option.name].default is None and option.default is not None):
                unique.setdefault(option.name, option)
                if unique[option.name].default is None:
                    unique[option.name].default, unique[option.name].kind = option.default, option.kind
        self.options = list(unique.values())
        self.fixed = list(fixed_names(self.text, self.assigned, self.options))
        # The Python scripts that it starts: path, whether "$@" is passed on, and the rest of the line.
        started = [(path, rest.replace("\\\n", " ")) for path, rest in PYTHON.findall(source)]
        self.started = [(path, '"$@"' in rest or "$*" in rest, rest) for path, rest in started]
        self.lines = list(lines_of(source))
        sourced = re.search(r"^[ \t]*(?:source|\.)[ \t]+(\S+)", self.text, re.M)
        self.sourced = sourced.group(1).strip("\"'") if sourced else None


# ---- what it prints


def template_of(text):
    """(parts, stream) of what follows `echo`; None: it goes elsewhere."""
    parts, quote, i = [""], "", 0
    while i < len(text):
        c = text[i]
        expansion = re.match(r"\$\w+|\$[@*?#]|\$\{[^}]*\}|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`", text[i:])
        if quote != "'" and expansion:
            parts += [None, ""]
            i += expansion.end()
            continue
        if c in "\"'" and quote in ("", c):
            quote = "" if quote else c
        elif c == "\\" and i + 1 < len(text) and quote != "'":
            parts[-1] += {"n": "\n", "t": "\t"}.get(text[i + 1], text[i + 1])
            i += 1
        elif not quote and c in ";|&>)":
            break
        elif not quote and c == " ":
            parts[-1] += "" if parts[-1].endswith(" ") else " "
        else:
            parts[-1] += c
        i += 1
    rest = text[i:]
    is_error = re.match(r">&\s*2|>\s*/dev/stderr", rest) is not None
    if rest[:1] == ">" and not is_error or re.match(r"\|(?!\||\s*tee\b)", rest):
        return None
    return [p for p in parts if p != ""], "stderr" if is_error else "stdout"


def lines_of(source):
    blocks = []  # (line, whether it is a loop) of those that are open.
    for number, line in enumerate(source.split("\n"), 1):
        for word in re.findall(r"(?:^|;|\bthen|\bdo|\belse)\s*(for|while|until|if|elif|else|case|done|fi|esac)\b", line):
            if word in ("done", "fi", "esac", "elif", "else") and blocks:
                blocks.pop()
            if word not in ("done", "fi", "esac"):
                blocks.append((number, word in ("for", "while", "until")))
        for match in re.finditer(r"(?:^|[;&|{]|(?<!\$)\(|\bthen|\bdo|\belse)\s*(echo|printf)\s+(?:-[neE]+\s+)?", line):
            found = template_of(line[match.end():])
            if found is None or not found[0]:
                continue
            parts, stream = found
            if match.group(1) == "printf":
                parts = holes_in((parts[0] or "").split("\n")[0], PERCENT_HOLE, "%%", "%")
            if None in parts:
                depth = sum(is_loop for _, is_loop in blocks) or int(re.search(r"\bdo\s+(?:echo|printf)\b", line) is not None)
                yield Line(parts, stream, Place(number), blocks[-1][0] if blocks else 0, depth)
