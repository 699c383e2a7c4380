"""What a script prints, read in its source or in a log of it: metrics and their expressions."""

import ast
import re

from bars import NOT_FULL
from counters import RANK, SEVERAL_PROCESSES, counts_batches, ends_epoch, is_mean, level_of, summarizes, units_in
from groups import group_of
from measures import ENDS, is_metric, measures_of, part_of, rank_of, words_of
from options import dotted
from repeats import repeated
from scores import add_modes, value_at
from templates import lines_of

NUMBER = r"[+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf"
class Metric:
    def __init__(self, name, regex, source="stdout", order=(0, 0)):
        self.name, self.regex, self.source, self.order = name, regex, source, order
        self.line = ""  # Of the script, or of the log.
        self.block = None  # The statements among which it is printed.
        self.depth = 0  # The loops within which it is printed.
        self.printed = None  # Its line, of a script.
        self.bar = None  # That shows it.
        self.iteration = ""  # The expression of the bar's count.
        self.unit = ""  # It is of one "fold", "shard" and the like.
        self.is_mean = False
        self.is_of_rank = False  # It is read of one rank alone.
        self.part = ""  # Of the data, as its line's first word says.
        self.mode = None  # As the script's expressions say of a "score"; None: they do not say.
        self.comment = ""  # On the expression.
        self.doubts = []


def rank(metric):
    """The metric that a sweep is about: that of the validation, a score before a loss, that of an epoch before those of
    the classes or batches in it, the first before later ones."""
    return *rank_of(metric.name, metric.part), -max(1, metric.depth), tuple(-n for n in metric.order)


def main_of(metrics):
    """The sweep's metric: of folds, shards and their mean the mean."""
    main = max(metrics, key=rank, default=None)
    if main and (main.unit or main.is_of_rank):
        same = [m for m in metrics if measures_of(m.name) == measures_of(main.name)]
        of_all = [m for m in metrics if not m.unit and m.is_mean] + [m for m in same if not m.unit]
        main = max(of_all if main.unit else [m for m in same if m.is_mean], key=rank, default=main)
    if main and main.unit:
        main.doubts.append(f"{main.name} is printed for each {main.unit}, so that the best {main.unit} alone would be the answer: "
                           f"let the script print the mean of all {plural(main.unit)} too, and call tune init again")
    if main and rank(main)[0] < 0:
        main.doubts.append(f"{main.name} is of the training data, on which the trial that learns by heart is the best: let the "
                           "script print a value of the validation too, and call tune init again")
    return main


def plural(unit):
    return unit + ("es" if unit.endswith("s") else "s")


def escaped(text):
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text).replace("\t", r"\t")


# ---- the source


def label_of(text):
    """"val acc" of "epoch done, val acc: "."""
    text = re.split(r"[\n|,;()\[\]{}]|\s[-–—/>]+\s|\t|  +|\b\d[\w.]*\s", text.rstrip(" :=→>\"'\t|([]"))[-1]
    match = re.search(r"[A-Za-z][\w /.@-]*$", text.strip("\"' *"))
    return re.sub(r"\W+", "_", match.group(0)).strip("_").lower() if match else ""


def sentence_of(text):
    """"test_accuracy" of "Accuracy of the network on the 10000 test images: "."""
    sentence = re.split(r"[\n|;()\[\]{}\t]", text.rstrip())[-1]
    match = re.search(r"([A-Za-z][A-Za-z -]*?)\s+(?:of|on|for|in|over|after|at|from)\s.*[:=]$", sentence)
    if not match:
        return ""
    part = part_of(words_of(sentence))
    name = re.sub(r"\W+", "_", match.group(1)).lower()
    return name if part_of(words_of(name)) == part else {"validation": "val", "training": "train"}.get(part, part) + "_" + name


def keys_around(text):
    """The keys of the dictionaries within the line's own that are open at the text's end: ["valid"]."""
    keys = []
    for match in re.finditer(r"([\"'])([\w./@-]+)\1\s*:\s*\{|([{}])", text):
        if match.group(3) != "}":
            keys.append(match.group(2) or "")
        elif keys:
            keys.pop()
    return [k for k in keys if k]


def within_keys(keys, regex):
    """The expression of a value in a dictionary within the line's own. It begins with the quote of a key."""
    return regex[0] + escaped(keys[-1]) + regex[0] + r":\s*\{[^{}]*" + regex


def label_text(text):
    """What stands right before the value, back to where its label begins."""
    line = text.split("\n")[-1]
    body = line.rstrip(" :=→>\"'\t|([")
    starts = [m.end() for m in re.finditer(r"[|,;()\[\]{}]\s*|\s[-–—/>]+\s+|\t|  +", body)]
    begin = starts[-1] if starts else 0
    return line[:begin], line[begin:]


def regex_for(parts, i):
    """The expression of the value at parts[i]: its label, anchored where the label begins."""
    text = parts[i - 1]
    before, label = label_text(text)
    is_first = i == 1 or "\n" in text
    if before:
        separator = before[-2:] if len(before) > 1 and not before[-2:].isalnum() else before[-1:]
        anchor = escaped(separator)
    else:
        anchor = "^" if is_first else r"\b"
    if label[:1] in ("'", '"'):  # A dictionary's keys come in any order.
        anchor = ""
    if anchor == r"\b" and not re.match(r"\w", label):
        anchor = ""
    after = parts[i + 1] if i + 1 < len(parts) else None
    tail = "%" if after is not None and after.startswith("%") else ""
    tail = "/" if after is not None and after.startswith("/") else tail
    # A dictionary shows a number of numpy or torch as np.float64(0.5).
    kind = r"(?:[\w.]+\()?'?" if label.endswith("': ") else ""
    blank = r"\s*" if label[-1:] in ":=" else ""  # f"acc={acc:8.3f}" pads it.
    return anchor + re.sub(r"\s+", r"\\s+", escaped(label)) + blank + kind + "{number}" + tail


def rendered(parts):
    """A line with a number of its own for each value, and these numbers."""
    numbers = [f"0.{917 + 13 * i}" for i in range(len(parts))]
    return "".join(numbers[i] if p is None else p for i, p in enumerate(parts)), numbers


def finds(regex, line):
    """The numbers that an expression finds in a line; of each line of a text the last counts."""
    python = regex.replace("{number}", f"({NUMBER})")
    found = []
    for text in line.split("\n"):
        matches = list(re.finditer(python, text))
        if matches:
            found.append(matches[-1].group(1))
    return found


def beginning_of(parts, i, hole=".*?"):
    """The expression of the value at parts[i], from its line's beginning on; `hole` is that of earlier values."""
    before, first = parts[:i], 0
    for at, part in enumerate(before):
        if part is not None and "\n" in part:
            first = at
    texts = [p.split("\n")[-1] if at == first and p is not None else p
             for at, p in enumerate(before) if at >= first]
    expressions = [hole if p is None else re.sub(r"\s+", r"\\s+", escaped(p)) for p in texts]
    return "^" + "".join(expressions) + "{number}"


def is_free_of(regex, others):
    return not any(finds(regex, rendered(other.parts)[0]) for other in others)


def tail_of(line, i, regex):
    """What stands behind the value at parts[i] on its line, up to the next value or the line's end."""
    behind = line.parts[i + 1] if i + 1 < len(line.parts) else ""
    text = behind.split("\n")[0] if behind is not None else ""
    is_end = behind is not None and ("\n" in behind or (i + 2 >= len(line.parts) and ends_line(line.call)))
    text = text[1:] if regex[-1:] == text[:1] else text
    return re.sub(r"\s+", r"\\s+", escaped(text.rstrip() if is_end else text)) + (r"\s*$" if is_end else "")


def ends_line(call):
    """Whether nothing that is printed later stands on the same line."""
    return isinstance(call, ast.Call) and dotted(call.func) == "print" and all(k.arg != "end" for k in call.keywords)


def regex_in(line, i, others, group):
    """The shortest expression that finds the value at parts[i], and nothing in the other lines.

    (expression, whether others are free of it)
    """
    text, numbers = rendered(line.parts)
    last = line.parts[i - 1].split("\n")[-1]
    words = re.match(r"\W{0,4}\w+\b", line.parts[0] or "")
    short = regex_for(line.parts, i)
    candidates = [short]
    if group:  # "\\bVal\\b.*?Acc: {number}"
        candidates = [rf"\b{group}\b.*?" + re.sub(r"^(?:\^|\\b)", "", short)]
    if words and i > 1:  # "^Epoch\\b.*?val_acc: {number}"
        candidates.append("^" + escaped(words.group(0)) + r"\b.*?" + re.sub(r"^(\^|\\s\+|, )", "", short))
    candidates += [beginning_of(line.parts, i), beginning_of(line.parts, i, r"\S+?"), escaped(last) + "{number}"]
    right = [c for c in candidates if finds(c, text)[-1:] == [numbers[i]]]
    for regex in right + [c + tail_of(line, i, c) for c in right]:
        if is_free_of(regex, others):
            return regex, True
    return (right or candidates[-1:])[0], False


def metrics_of_source(tree, source):
    metrics = metrics_of_lines(lines_of(tree), source, framework_metrics(tree, source))
    add_modes(metrics, tree, source)
    return metrics


def metrics_of_lines(lines, source, more=()):
    metrics = {}
    for is_wanted in (is_metric, lambda name: is_metric("_".join(w for w in words_of(name) if w not in ENDS))):
        for line in sorted(lines, key=precedence):
            add_metrics_of(line, lines, is_wanted, source, metrics)
        if metrics:
            break
    for metric in column_metrics(lines):
        metrics.setdefault(metric.name, metric)
    for metric in more:
        metrics.setdefault(metric.name, metric)
    return sorted(metrics.values(), key=lambda metric: metric.order)


def text_of_parts(parts):
    return "".join("1" if part is None else part for part in parts)


def text_of(line):
    """The line with a number for each value."""
    return text_of_parts(line.parts)


def unit_of(line):
    """"fold", "shard" and the like where the line is printed for each; "" for others."""
    found = [unit for unit, _, at in units_in(text_of(line)) if unit == "fold" or is_of_several(line, at)]
    return found[0] if found else line.unit_of_loop


def is_of_several(line, at):
    """Whether the number at this place of the line is one that a loop or a function's caller changes, as no option's is."""
    ends = [len(text_of_parts(line.parts[:i])) for i in range(len(line.parts))]
    if at not in ends or line.parts[ends.index(at)] is not None:
        return False
    value = value_at(line, ends.index(at))
    return not isinstance(line.call, ast.Call) or value is not None and ast.unparse(value) in line.counters


def precedence(line):
    """Of lines with the same name, the first in this order is read."""
    words = " ".join(p for p in line.parts if p)
    is_end = line.is_in_loop and ends_epoch(words)
    kind = level_of(unit_of(line), summarizes(words) and not is_end, is_mean(text_of(line)))
    return (kind, is_on_one_bar(line), tells_of_training(line), not line.is_in_loop, counts_batches(text_of(line)), is_end,
            line.depth)


def is_on_one_bar(line):
    return line.bar is not None and not line.bar.is_remade


def read_on_bar(metric, bar, is_before_picture):
    """Lets the expression find the value in the states of a bar over all epochs, and `iteration` its count."""
    label = metric.regex.split("{number}")[0]
    picture = NOT_FULL if bar.counts_before else r"%\|"
    # When it is full, a bar that counts what has ended shows the last value once more.
    count = picture + r"[^|]*\| {number}/"
    metric.bar = bar
    if is_before_picture:
        metric.regex, metric.iteration = f"{metric.regex}.*{picture}", f"{label}.*{count}"
    else:
        metric.regex, metric.iteration = f"{picture}.*{metric.regex}", f"{count}.*{label}"


def tells_of_training(line):
    """Of two lines with the same names, "Train | Acc: ..." and "Valid | Acc: ...", the second is the one to look at."""
    words = [w for part in line.parts if isinstance(part, str) for w in words_of(part)]
    return part_of(words) == "training"


def column_regex(names, name, separator, row):
    """The expression of a column of a table whose columns have these names, in rows such as this one."""
    before, after = names.index(name), len(names) - names.index(name) - 1
    if separator.isspace() or not separator:
        unit = r"(?:\s*%)?" if "%" in row else ""
        return (r"^\s*" + (r"\S+" + unit + r"\s+") * before + "{number}" + unit + (r"\s+\S+" + unit) * after + r"\s*$")
    cell, blank = rf"[^{escaped(separator)}]*", r"\s*" if separator + " " in row else ""
    written = escaped(separator)
    unit = r"\s*%?" if "%" in row else ""
    return "^" + (cell + written) * before + f"{blank}{{number}}{unit}{blank}" + (written + cell) * after + "$"


def names_of_header(text):
    """(names, separator) of a line such as "epoch,loss,val_acc"; None for others."""
    separator = next((c for c in ",;\t|" if c in text), " ")
    names = [n.strip() for n in text.strip().split(None if separator == " " else separator)]
    is_header = len(names) > 1 and all(re.fullmatch(r"[A-Za-z][\w/.@-]*", n) for n in names)
    return (names, separator) if is_header and any(is_metric(n) for n in names) else None


def column_metrics(lines):
    """The columns of a table that is printed below its header."""
    header = None
    for line in lines:
        if all(p is not None for p in line.parts):
            header = names_of_header("".join(line.parts)) or header
            continue
        texts = [p for p in line.parts if p is not None]
        if header is None or line.parts.count(None) != len(header[0]) or any(t.strip(" ,;\t|%") for t in texts):
            continue
        names, separator = header
        for i, name in enumerate(names):
            if is_metric(name):
                regex = column_regex(names, name, separator, rendered(line.parts)[0])
                yield Metric(re.sub(r"\W+", "_", name).lower(), regex, line.stream, (line.call.lineno, i))


def add_metrics_of(line, lines, is_wanted, source, metrics):
    for i in range(1, len(line.parts)):
        if line.parts[i] is not None or not isinstance(line.parts[i - 1], str):
            continue
        keys = keys_around("".join("0" if p is None else p for p in line.parts[:i]))
        label = label_of(line.parts[i - 1])
        label = label if is_wanted(label) else sentence_of(line.parts[i - 1])
        group = "" if keys or part_of(words_of(label)) else group_at(line, i)
        name = "_".join(re.sub(r"\W+", "_", k).lower() for k in [*keys, *([group] if group else []), label])
        if not label or not is_wanted(name):
            continue
        if name in metrics:
            doubt_two_loops(metrics[name], line)
            continue
        # Lines that say the same in two branches of the script are one.
        others = [n for n in lines if n.parts[:i + 1] != line.parts[:i + 1] or follows_loop_of(line, n)]
        regex, is_free = regex_in(line, i, others, group)
        if keys:
            regex, is_free = within_keys(keys, regex_for(line.parts, i)), True
        # An expression that lines of other values satisfy, too, would take those.
        strays = [] if is_free else [n for n in others if finds(regex, rendered(n.parts)[0])]
        if any(label_of_match(regex, n.parts) != label for n in strays):
            continue
        metric = Metric(name, regex, line.stream, (line.call.lineno, i))
        metric.block, metric.depth, metric.printed = line.block, line.depth, line
        metric.bar = line.bar
        if is_on_one_bar(line):
            read_on_bar(metric, line.bar, "postfix" not in dotted(line.call.func))
        metric.unit, metric.is_mean = unit_of(line), is_mean(text_of(line))
        metric.part = part_of(words_of(text_of(line))[:1])
        metric.doubts += doubts_on(line, i, lines, name)
        if not metric.doubts and any(follows_loop_of(line, n) for n in strays):
            metric.doubts.append(f"{name} is printed once more behind the loop, in the same words, and that is no iteration: let "
                                 "the script say test there, and call tune init again")
        if SEVERAL_PROCESSES.search(source):
            read_first_rank(metric, line, i)
        metric.line = source.split("\n")[line.call.lineno - 1].strip()
        metrics[name] = metric


def follows_loop_of(line, other):
    """Whether the other is printed when the loop that prints the line is over, such as a test at the end."""
    return line.is_in_loop and not other.is_in_loop and other.call.lineno > line.call.lineno


def group_at(line, i):
    """group_of() for the value at parts[i], on its own line of a text of several."""
    before = "".join("1" if p is None else p for p in line.parts[:i]).split("\n")[-1]
    behind = "".join("1" if p is None else p for p in line.parts[i:]).split("\n")[0]
    return group_of(before + behind, len(before))


def doubt_two_loops(metric, line):
    """Two stages of a training print a value of the same name, each in a loop of its own."""
    first = metric.printed
    if None in (first, line.loop) or first.loop is None or precedence(first) != precedence(line):
        return
    if line.loop in ast.walk(first.loop) or first.loop in ast.walk(line.loop) or metric.doubts:
        return
    if not finds(metric.regex, rendered(line.parts)[0]):
        metric.doubts.append(f"{metric.name} is printed by two loops, and the expression reads the first: see that it is the one "
                             f"to go by, or begin it as '{text_of(line).strip()[:40]}' does")


def doubts_on(line, i, lines, name):
    """What makes the metric's line one of several of which one would be right."""
    remedy = f"let the script say which it is, as in val_{name}, and call tune init again"
    again = repeated(line, i, lines) or line.repeated_call
    if again:
        yield f"{name} {again}: {remedy}"
    if line.unknown_part:
        yield (f"the line of {name} is printed for each {line.unknown_part}, and which there are is not seen: let the "
               "expression begin as the line of the validation does, such as ^val")


def of_rank(regex, rank_text):
    """The expression in the lines that hold this text of a rank."""
    edge = r"\b" if rank_text[-1:].isdigit() else ""
    return re.sub(r"\s+", r"\\s+", escaped(rank_text)) + edge + ".*?" + regex.lstrip("^")


def read_first_rank(metric, line, i):
    """Of several processes that print the same line, reads that of rank 0."""
    text = "".join("0" if part is None else part for part in line.parts[:i])
    match = RANK.search(text)
    if match:
        metric.regex = of_rank(metric.regex, match.group(0))
        metric.comment, metric.is_of_rank = "of rank 0 alone: ", True


def label_of_match(regex, parts):
    line, numbers = rendered(parts)
    found = finds(regex, line)[-1]
    i = numbers.index(found) if found in numbers else 0
    return label_of(parts[i - 1]) if i > 0 and isinstance(parts[i - 1], str) else ""


def boosts_silently(tree):
    """Whether every call that trains with XGBoost is told to print nothing. XGBoost ignores `verbose` of a constructor."""
    words = [{k.arg: ast.unparse(k.value) for k in n.keywords} for n in ast.walk(tree) if isinstance(n, ast.Call)]
    trained = [w for w in words if "evals" in w or "eval_set" in w]
    return bool(trained) and all({w.get("verbose"), w.get("verbose_eval")} & {"False", "0", "None"} for w in trained)


def framework_metrics(tree, source):
    """Those that a framework prints by itself."""
    has_fit = re.search(r"\.fit\(", source) is not None
    if re.search(r"\bkeras\b", source) and has_fit and "verbose=0" not in source.replace(" ", ""):
        names = re.findall(r"metrics\s*=\s*\[([^\]]*)\]", source)
        names = re.findall(r"[\"'](\w+)[\"']", names[0]) if names else []
        names = ["accuracy" if n == "acc" else n for n in names]
        prefix = "val_" if re.search(r"validation_(data|split)", source) else ""
        for i, name in enumerate(names + ["loss"]):
            before = r"\b" if prefix else " "
            yield Metric(prefix + name, f"{before}{prefix}{name}: {{number}}", "stdout", (10**6, i))
    if re.search(r"\bTrainer\(", source) and "transformers" in source:
        returned = re.findall(r"return\s*\{([^}]*)\}", source)
        names = [n for text in returned for n in re.findall(r"[\"'](\w+)[\"']\s*:", text) if is_metric(n)]
        for i, name in enumerate(list(dict.fromkeys(names)) + ["loss"]):
            yield Metric("eval_" + name, f"'eval_{name}': '?{{number}}", "stdout", (10**6, i))
    has_sets = re.search(r"\bevals\s*=|eval_set\s*=", source) is not None
    if re.search(r"\b(xgb|xgboost)\b", source) and has_sets and not boosts_silently(tree):
        named = re.findall(r"evals\s*=\s*\[(.*?)\]\s*[,)]", source, re.S)
        sets = re.findall(r"[\"'](\w+)[\"']", named[0]) if named else []
        kinds = re.findall(r"eval_metric[\"']?\s*[:=]\s*\[?\s*[\"']([\w@.]+)[\"']", source)
        data = sets[-1] if sets else "validation_0"
        kind = kinds[0] if kinds else None
        if kind is not None:
            name = f"{data}_{kind}".replace("@", "_")
            yield Metric(name, f"{data}-{escaped(kind)}:{{number}}", "stdout", (10**6, 0))


def reported_names(tree):
    """Those of tune.report(val_acc=...), tune.report({"val_acc": ...}) and ReportCallback("val_acc")."""
    names = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if name in ("tune.report", "report"):
            names += [k.arg for k in node.keywords
                      if k.arg and k.arg not in ("checkpoint", "step", "training_iteration")]
            for argument in node.args:
                if isinstance(argument, ast.Dict):
                    names += [k.value for k in argument.keys if isinstance(k, ast.Constant)]
        elif name.split(".")[-1] == "ReportCallback" and node.args:
            given = node.args[0]
            listed = given.keys if isinstance(given, ast.Dict) else getattr(given, "elts", [given])
            names += [k.value for k in listed if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    return list(dict.fromkeys(names))
