"""What a script prints, read in its source or in a log of it: metrics and their expressions."""

import ast
import re

from bars import NOT_FULL
from behind import DOUBT_BEHIND, names_behind, stands_behind_both
from boosting import values_of_boosting
from changes import LOGGED
from choice import REFERENCE, standing_of
from counters import RANK, SEVERAL_PROCESSES, counts_batches, is_mean
from doubts import ALL_ARE_READ, doubt_two_lines, doubt_two_loops, doubts_on, doubts_on_functions
from expressions import BEFORE_MESSAGE, beginning_of, count_of, escaped, finds, is_free_of, keys_around, line_around, regex_for, rendered, within_keys
from groups import group_of, parts_named, words_of_parts
from lines import lines_of
from measures import ENDS, is_metric, is_part_alone, is_unknown_measure, is_unknown_of_part, part_of, rank_of, words_of
from names import Chain, Naming, label_of, part_of_line, sentence_of, text_before
from options import dotted
from origins import origin_of, part_of_function
from pairs import has_decimals
from repeats import says_the_same
from scores import add_modes, last_name, shown_values, value_at
from standings import is_on_one_bar, precedence, text_of, unit_of


class Metric:
    def __init__(self, name, regex, source="stdout", order=(0, 0)):
        self.name, self.regex, self.source, self.order = name, regex, source, order
        self.json = None  # Where it stands in a file, in place of an expression.
        self.line = ""  # Of the script, or of the log.
        self.block = None  # The statements among which it is printed.
        self.depth = 0  # The loops within which it is printed.
        self.printed = None  # Its line, of a script.
        self.times = 0  # How often a log has it; 0: it is of no log.
        self.unknown_beside = []  # Names of other values, which may be of what the sweep is about.
        self.others_of_validation = []  # Lines of a loop that name the validation or the test.
        self.beside = []  # Other lines of the script with a value of its name.
        self.bar = None  # That shows it.
        self.iteration = ""  # The expression of the bar's count.
        self.unit = ""  # It is of one "fold", "shard" and the like.
        self.unit_names = []  # Of the units, where the script lists them.
        self.is_of_first = False  # The expression reads the first of them alone.
        self.is_of_batches = False
        self.is_mean = False
        self.is_of_rank = False  # It is read of one rank alone.
        self.part = ""  # Of the data, as its line's first word says.
        self.mode = None  # As the script's expressions say of a "score"; None: they do not say.
        self.is_of_each_epoch = False  # A framework prints it from epoch to epoch.
        self.leads = None  # Of values that a framework prints: whether it looks at this one itself, to stop early.
        self.comment = ""  # On the expression.
        self.doubts = []

    def text(self):
        """Its line, with a number for each value."""
        return text_of(self.printed) if self.printed is not None else self.line


# ---- the source


def tail_of(line, i, regex):
    """What stands behind the value at parts[i] on its line, up to the next value or the line's end."""
    behind = line.parts[i + 1] if i + 1 < len(line.parts) else ""
    text = behind.split("\n")[0] if behind is not None else ""
    is_end = behind is not None and ("\n" in behind or (i + 2 >= len(line.parts) and ends_line(line.printing)))
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
    if line.parts[i - 1].startswith(LOGGED) and short.startswith(r"\b"):
        candidates.append(BEFORE_MESSAGE + short[2:])
    candidates += [beginning_of(line.parts, i), beginning_of(line.parts, i, r"\S+?"),
                   beginning_of(line.parts, i, r"[^\s\[\]]+"), re.sub(r"\s+", r"\\s+", escaped(last)) + "{number}"]
    right = [c for c in candidates if finds(c, text)[-1:] == [numbers[i]]]
    right.sort(key=lambda c: count_of(c, text) > 1)  # Of two values in a line the last is read, but not without a doubt.
    for regex in right + [c + tail_of(line, i, c) for c in right]:
        if is_free_of(regex, others):
            return regex, True
    return (right or candidates[-1:])[0], False


def metrics_of_source(tree, source, called=()):
    metrics = metrics_of_lines(lines_of(tree, called), source, framework_metrics(tree, source))
    add_modes(metrics, tree, source)
    return metrics


def says_not_finite(line):
    """Whether it is the line of a run that diverged, as "loss: nan": the metric's own, read as its others are."""
    return None not in line.parts and re.search(r"[:=]\s*[-+]?(?:nan|inf|infinity)\b", "".join(line.parts), re.I) is not None


def metrics_of_lines(lines, source, more=()):
    lines = [line for line in lines if not says_not_finite(line)]
    metrics = {}
    for is_wanted in (is_metric, lambda name: is_metric("_".join(w for w in words_of(name) if w not in ENDS)), is_unknown_of_part):
        for line in sorted(lines, key=precedence):
            add_metrics_of(line, lines, is_wanted, source, metrics)
        if any(is_of_other_data(metric) for metric in metrics.values()):
            break  # Else "final val_loss: 0.5" says more than the training's loss.
    for metric in [*column_metrics(lines), *unnamed_columns(lines, source)]:
        metrics.setdefault(metric.name, metric)
    for metric in more:
        metrics.setdefault(metric.name, metric)
    if not metrics:
        add_plain_parts(lines, source, metrics)
    if not metrics:
        add_unknown(lines, source, metrics)
    unknown = dict.fromkeys(name for line in lines for name in unknown_in(line))
    for metric in metrics.values():
        metric.unknown_beside = [name for name in unknown if name not in metrics]
        metric.others_of_validation = [n for n in lines if n is not metric.printed and n.is_in_loop and None in n.parts and is_of_validation(n)]
    return sorted(metrics.values(), key=lambda metric: metric.order)


def unknown_in(line):
    """The names of values with decimals that the line of a loop prints, and that no word here knows."""
    if not line.is_in_loop or line.bar is not None:
        return []
    return [name for i, name in Naming(line.parts, is_unknown_measure, line).labels.items() if is_unknown_measure(name) and has_decimals(line, i)]


def add_unknown(lines, source, metrics):
    """Where no word is a known measure: values with decimals that a loop prints behind a name, "QWK: 0.71". What it is, is asked."""
    for line in sorted(lines, key=precedence):
        add_metrics_of(line, lines, unknown_in(line).__contains__, source, metrics)
    for metric in metrics.values() if len(metrics) == 1 else ():
        metric.doubts.append(f"no word says that {metric.name} is what the sweep is about: see that metric names the right value")


def is_of_validation(line):
    return part_of(words_of("".join(part or " " for part in line.shown))) in ("validation", "test")


def is_of_other_data(metric):
    """Whether it is of the validation or the test, and no value to compare with."""
    return rank_of(metric.name, metric.part)[0] > 0 and standing_of(metric) != REFERENCE or metric.unit != ""


def add_plain_parts(lines, source, metrics):
    """Of a line that a loop prints and that names the parts of the data alone, "train 0.3 valid 0.4": what they measure is asked."""
    for line in sorted((line for line in lines if line.is_in_loop), key=precedence):
        add_metrics_of(line, lines, is_part_alone, source, metrics)
    for metric in metrics.values():
        metric.doubts.append(f"nothing says what '{metric.name}' measures: let the script print its name, as in {metric.name}_loss, "
                             "and call tune init again")


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


def with_count_first(regex):
    """The expression of a column where the row begins with a number, as that of a summary does not."""
    return re.sub(r"^\^(?:\\s\*\\S\+|\[\^(.*?)\]\*)", lambda m: r"^\s*\d" + (rf"[^{m.group(1)}]*" if m.group(1) else r"\S*"), regex)


def names_of_header(text):
    """(names, separator) of a line such as "epoch,loss,val_acc"; None for others."""
    separator = next((c for c in ",;\t|" if c in text), " ")
    names = [n.strip() for n in text.strip().split(None if separator == " " else separator)]
    inner = names[1:-1] if names and names[0] == names[-1] == "" else names  # "| epoch | loss |"
    is_header = len(inner) > 1 and all(re.fullmatch(r"[A-Za-z][\w/.@-]*%?", n) for n in inner)
    return (names, separator) if is_header and any(is_metric(n) for n in names) else None


def column_metrics(lines):
    """The columns of a table that is printed below its header."""
    header = None
    for line in lines:
        if all(p is not None for p in line.parts):
            header = names_of_header("".join(line.parts)) or header
            continue
        texts = [p for p in line.parts if p is not None]
        if header is None or line.parts.count(None) != len(list(filter(None, header[0]))) or any(t.strip(" ,;\t|%:0123456789") for t in texts):
            continue
        names, separator = header
        for i, name in enumerate(names):
            if is_metric(name):
                regex = column_regex(names, name, separator, rendered(line.parts)[0])
                if i > 0 and not is_free_of(regex, [n for n in lines if n.parts != line.parts and None in n.parts]):
                    regex = with_count_first(regex)
                metric = Metric(re.sub(r"\W+", "_", name).lower().strip("_"), regex, line.stream, (line.call.lineno, i))
                rows = [n for n in lines if n is not line and n.parts == line.parts]
                if rows and any(names_of_header("".join(n.parts)) not in (None, header) for n in lines if None not in n.parts):
                    metric.doubts.append(f"{metric.name} is a column of a table, and another table has rows of the same form: let the script print "
                                         f"{metric.name} in a line with its name, and call tune init again. {ALL_ARE_READ}")
                yield metric


def unnamed_columns(lines, source):
    """The values of rows without a header and of a number alone, print(f"{epoch},{loss},{acc}"), by the names of their variables."""
    for line in lines:
        texts = [p for p in line.parts if p is not None]
        row, numbers = rendered(line.parts)
        separator = next((c for c in ",;\t|" if any(c in t for t in texts)), " ")
        if not isinstance(line.call, ast.Call) or line.old or line.counts or line.bar or any(t.strip(" ,;\t|%\n") for t in texts):
            continue
        values = shown_values(line)
        if not values or "\n" in row.strip("\n"):
            continue
        names = [last_name(value) for value in values]
        others = [n for n in lines if None in n.parts and (n.parts != line.parts or [last_name(v) for v in shown_values(n)] != names)]
        for i, name in enumerate(names):
            regex = column_regex([f"{n}{at}" for at, n in enumerate(names)], f"{name}{i}", separator, row)
            place = [at for at, part in enumerate(line.parts) if part is None][i]
            if is_metric(name) and names.count(name) == 1 and finds(regex, row) == [numbers[place]] and is_free_of(regex, others):
                yield metric_of(re.sub(r"\W+", "_", name).lower(), regex, line, place, source)


def add_metrics_behind(line, lines, is_wanted, source, metrics):
    """Of a line whose names stand behind their values; False for others."""
    others = [n for n in lines if n.parts != line.parts]
    found = names_behind(line.parts, is_wanted, others)
    for i, (name, regex) in found.items():
        if name not in metrics and is_free_of(regex, others):
            metrics[name] = metric_of(name, regex, line, i, source)
            metrics[name].doubts += doubts_on(line, i, lines, name)
    return bool(found)


def add_metrics_of(line, lines, is_wanted, source, metrics):
    if add_metrics_behind(line, lines, is_wanted, source, metrics):
        return
    naming = Naming(line.parts, is_wanted, line)
    for i in naming.labels:
        keys = keys_around("".join("0" if p is None else p for p in line.parts[:i]))
        label, doubt = naming.of(i)
        group = "" if keys or part_of(words_of(label)) else group_at(line, i)
        if keys or group:
            plain, doubt = naming.labels[i], ""
            label = plain if is_wanted(plain) else sentence_of(line.parts[i - 1])
        name = "_".join(re.sub(r"\W+", "_", k).lower() for k in [*keys, *([group] if group else []), label])
        if not label or not (is_wanted(name) or doubt):
            continue
        if name in metrics and (metrics[name].printed is line or line in metrics[name].beside):
            continue  # It is looked at again, for other names.
        if name in metrics:
            doubt_two_loops(metrics[name], line)
            doubt_two_lines(metrics[name], line)
            metrics[name].beside.append(line)
            continue
        regex, strays = expression_of(line, i, lines, keys, group)
        if any(label_of_match(regex, n.parts) != naming.labels[i] for n in strays):
            continue
        metrics[name] = metric_of(name, regex, line, i, source)
        metrics[name].doubts += [doubt] if doubt else [DOUBT_BEHIND.format(name)] if stands_behind_both(line.parts, i) else []
        metrics[name].doubts += doubts_on(line, i, lines, name)
        if not is_found(metrics[name], line, i):
            metrics[name].doubts.append(f"no expression was found that reads {name} in '{text_of(line).strip()[:60]}': let the script print it in "
                                        f"a line of its own, as in '{name}: 0.5', and call tune init again")
        if not metrics[name].doubts:
            metrics[name].doubts += doubts_on_functions(line, strays, name)
        outside = next(filter(None, map(line.outside_of_loop, strays)), "")
        if not metrics[name].doubts and outside:
            word = "test" if outside == "behind" else "untrained"
            metrics[name].doubts.append(f"{name} is printed once more {outside} the loop, in the same words, and that is no iteration: "
                                        f"let the script say {word} there, and call tune init again. {ALL_ARE_READ}")


def is_found(metric, line, i):
    """Whether the expression reads the value at parts[i] in the line as it is printed."""
    if i + 1 < len(line.parts) and line.parts[i + 1] is None and is_number_behind(line, i + 1):
        return False  # "0.250.5" of f"{v}{w}"
    text, numbers = rendered(line.parts)
    alone = rendered([p if p is not None or at == i else "" for at, p in enumerate(line.parts)])[0]  # Others may be texts, such as colours.
    return is_on_one_bar(line) or any(numbers[i] in finds(metric.regex, t) for t in (text, alone))


def is_number_behind(line, i):
    """Whether the value at parts[i] may be a number, and no colour, mark or unit."""
    name = last_name(value_at(line, i)) if value_at(line, i) is not None else ""
    return bool(name) and not name.isupper() and not re.search(r"reset|end|colou?r|mark|star|flag|suffix|unit|note|tag|extra|msg|text|str", name, re.I)


def expression_of(line, i, lines, keys, group):
    """(expression, the lines of other values that satisfy it, too)"""
    # Lines that say the same in two branches of the script are one.
    others = [n for n in lines if not says_the_same(n, line, i) or line.outside_of_loop(n)]
    chain = Chain(line.parts, i)
    if keys:
        return within_keys(keys, regex_for(line.parts, i)), []
    if chain.words:
        return regex_for(chain.parts(), len(chain.parts()) - 1), []
    regex, is_free = regex_in(line, i, others, group)
    return regex, [] if is_free else [n for n in others if finds(regex, rendered(n.parts)[0])]


def metric_of(name, regex, line, i, source):
    metric = Metric(name, regex, line.stream, (line.call.lineno, i))
    metric.block, metric.depth, metric.printed = line.block, line.depth, line
    metric.bar = line.bar
    if is_on_one_bar(line):
        read_on_bar(metric, line.bar, "postfix" not in dotted(line.call.func))
    metric.unit, metric.is_mean = unit_of(line), is_mean(text_of(line))
    add_subject(metric, line)
    metric.part = (part_of_line(line.parts) or part_of(words_of(text_of(line))[:1]) or origin_of(line, value_at(line, i)).part
                   or part_of_function(line))
    if SEVERAL_PROCESSES.search(source):
        read_first_rank(metric, line, i)
    metric.line = source.split("\n")[line.call.lineno - 1].strip()
    return metric


def add_subject(metric, line):
    """What the line's loops go over."""
    if line.subject is not None and not line.unit_of_loop and metric.unit == line.subject.word:
        metric.unit_names = line.subject.texts
        metric.is_of_first = any(escaped(t) in metric.regex and not t[-1:].isdigit() for t in metric.unit_names[:1])
    metric.is_of_batches = line.bar is None and (line.is_of_batches or line.depth > 1 and counts_batches(text_of(line)))
    if line.may_follow:
        metric.regex = re.sub(r"^\^(?:\\s[+*])?(?=\w)", r"\\b", metric.regex)


def group_at(line, i):
    """group_of() for the value at parts[i]."""
    before, behind = line_around(line.parts, i)
    words = words_of_parts(before)
    is_line_of_part = bool(words) and len(parts_named(before + behind)) == 1 and len(parts_named(text_of(line))) > 1
    return group_of(before + behind, len(before)) or (words[-1][0] if is_line_of_part else "")


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
    return label_of(text_before(parts, i)) if i > 0 and isinstance(parts[i - 1], str) else ""


def fits_aloud(tree, source):
    """Whether Keras prints its epochs: a call of fit() has no verbose=0. Those of scikit-learn have none of these words."""
    words = [{k.arg: k.value for k in n.keywords} for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "fit"]
    keras = [w for w in words if set(w) & {"epochs", "batch_size", "validation_data", "validation_split", "callbacks", "verbose"}]
    keras = keras or (words if ".compile(" in source else [])
    return any(not isinstance(w.get("verbose"), ast.Constant) or w["verbose"].value not in (0, "0") for w in keras)


def framework_metrics(tree, source):
    """Those that a framework prints by itself."""
    if re.search(r"\bkeras\b", source) and fits_aloud(tree, source):
        names = re.findall(r"metrics\s*=\s*\[([^\]]*)\]", source)
        names = re.findall(r"[\"'](\w+)[\"']", names[0]) if names else []
        prefix = "val_" if re.search(r"validation_(data|split)", source) else ""
        for i, name in enumerate(names + ["loss"]):
            before = r"\b" if prefix else " "
            metric = Metric(prefix + name, f"{before}{prefix}{name}: {{number}}", "stdout", (10**6, i))
            metric.part, metric.is_of_each_epoch = "" if prefix else "training", True
            yield metric
    if re.search(r"\bTrainer\(", source) and "transformers" in source:
        returned = re.findall(r"return\s*\{([^}]*)\}", source)
        names = [n for text in returned for n in re.findall(r"[\"'](\w+)[\"']\s*:", text) if is_metric(n)]
        for i, name in enumerate(list(dict.fromkeys(names)) + ["loss"]):
            metric = Metric("eval_" + name, f"'eval_{name}': '?{{number}}", "stdout", (10**6, i))
            metric.is_of_each_epoch = re.search(r"\beval(?:uation)?_strategy\s*=\s*(?!['\"]no['\"])", source) is not None
            yield metric
    for i, (name, regex, mode, is_last) in enumerate(values_of_boosting(tree, source)):
        metric = Metric(name, regex, "stdout", (10**6, i))
        metric.mode, metric.leads = mode, is_last
        yield metric


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
