"""What a program printed, read in a log of it: metrics, the lines of epochs, the number of an epoch."""

import re
import typing

from bars import BarOfLog
from behind import DOUBT_BEHIND, names_behind
from changes import ANY, name_of_change, old_value_at
from counts import Words, has_count, is_count, with_counts_marked
from counters import OF_FOLD, RANK, SUMMARY, are_of_batches, counts_batches, ends_epoch, is_mean, level_of, levels_in, summarizes, units_in
from doubts import ALL_ARE_READ
from expressions import NUMBER, escaped, finds, keys_around, within_keys
from groups import group_of
from measures import NEVER, PHRASES, in_full, is_metric, is_part_alone, measures_of, part_of, words_of
from metrics import Metric, column_regex, names_of_header, of_rank, read_on_bar
from names import Naming, label_of, part_of_line, sentence_of, spelled, with_minus_spelled
from pairs import DOUBT, FIRST, measure_of, pair_in_log
from screen import headings_of, part_of_heading, states_of

WORD = r"[A-Za-z](?:[\w./@^-]*[\w@])?"
VALUE = re.compile(rf"(?<!\w')(?<!\w)({WORD}(?: {WORD})?)([\"']?\s?[:=]\s*'?|\s+)(?=({NUMBER})(?!\w*\d|\.\d))")
# "(AP) @[ IoU=0.50:0.95 | area=all ] = ": what stands in the brackets is how it is measured, and no value.
MEASURED_AT = re.compile(rf"([A-Za-z]\w*)\)?\s*@\s*\[[^\[\]]*\]\s*[:=]\s*(?=(?:{NUMBER}))")
THRESHOLDS = ("iou",)  # Measures of which others name a value: "IoU=0.5 mAP=0.41".
PHRASE_AT_END = re.compile(rf"{PHRASES.pattern}$")
ROW = re.compile(rf"\s*[|│]\s*({WORD})\s*[|│]\s*(?:{NUMBER})\s*[|│]\s*$")
PLAIN_NUMBER = re.compile(rf"(?<![\w.^])(?:{NUMBER})(?!\w*\d|\.\d|\w)")
VALUE_NEXT = re.compile(rf"([^\d\n]*?(?:@\d+[^\d\n]*?)?)(?=(?<!\w)(?:{NUMBER})(?!\w*\d|\.\d))")  # What stands up to it.
# Bars and `logging` write to standard error, which `2>&1` mixes in.
OF_STDERR = re.compile(r"\d%\|.*\||\bit/s\b|\bs/it\b|\b(?:INFO|WARNING|DEBUG)\b")
COUNT = re.compile(r"%\|[^|]*\| (\d+)/\d+ ")
EPOCH = re.compile(r"\b(epoch|step|iteration|iter|round)\b([\s:=#\[(]*)(\d+)", re.I)
THING = re.compile(r"\b(class|label|category)\s*[:=#]?\s*(\d+)\b(?!\.\d)", re.I)
NUMBER_NEXT = re.compile(r"[\s:='\"(\[#.+-]*(?:\d|(?:nan|inf|none|null|true|false)\b)", re.I)
# "split": "val", phase=train
PAIR = re.compile(r"([\"']?)\b([A-Za-z]\w*)\1\s*[:=]\s*([\"']?)([A-Za-z][\w-]*)\3(?=[\s,;|)\]}]|$)")
BEGINNING = r"^(?:\^|\\b)"  # Of an expression.
PARTS = ("validation", "test")  # To go by, in this order.
TIMES = ("wall", "date", "duration", "memory", "mem", "rank", "fold", "version", "port", "pid",
         "remaining", "left")  # And no metrics, either.
UNKNOWN_MAX = 50  # Labels of which none is known: who prints more shows no metrics.
BEFORE_MAX = 500  # Characters before a value, of which its words are.
EXPRESSIONS_MAX = 8  # Tried for a metric.
VARYING = ("nan", "inf", "infinity", "none", "null", "true", "false", "s", "sec", "ms", "us", "it", "min", "h",
           "mb", "gb", "am", "pm", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr",
           "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def plain(name):
    return re.sub(r"\W+", "_", in_full(name)).strip("_").lower()


def is_complement(before):
    """Whether "1-" or "1 - " stands there, of "1-acc: 0.1"; at a line's beginning that may be a number of an epoch."""
    return spelled(before + "x").endswith("one minus x") and before.strip(" 1-") != ""


def is_negated(before, line):
    """Whether the label behind `before` begins with a minus: "-ELBO: 43.2"."""
    rest = line[len(before) - 1:]
    return before[-1:] in ("-", "−") and with_minus_spelled(before[-2:-1] + rest, line) != before[-2:-1] + rest


def anchor_of(before):
    """What tells a label's beginning from the middle of another label."""
    if not before.strip():
        return "^" if not before else r"\b"
    last = before.rstrip()[-1]
    if last.isalnum():  # "val" of "val loss".
        return r"\b"
    return escaped(last) + (r"\s*" if before[-1].isspace() else "")


def label_regex(label):
    """The label as an expression: numbers may be padded, "ppl  912.1" and "ppl 1012.1"."""
    body = label.rstrip(" \t")
    blank = "" if body == label else r"\s*" if body[-1:] in ":=" else r"\s+"
    return re.sub(r"\s{2,}", r"\\s+", escaped(body)) + blank


def form_of(before):
    """The kind of a line, as trial_runner/line_form.h has it: the first word, and words that name no number."""
    words, first = [], ""
    for match in re.finditer(r"[\w?]+(?:/[a-z]+)?", before):
        word = match.group(0).lower()
        if re.search(r"[\d?]", word) or word.split("/")[0] in VARYING:
            continue
        first = first or word
        if not NUMBER_NEXT.match(before[match.end():]):
            words.append(word)
    is_indented = re.match(r"[ \t]+[A-Za-z]", before) is not None
    return (is_indented, first, *words)


def match_of(regex, line):
    matches = list(re.finditer(regex.replace("{number}", f"({NUMBER})"), line))
    return matches[-1] if matches else None


def beginning_of(line, end):
    """The line's beginning as an expression, each number standing for any."""
    text = re.sub(r"\s+", " ", line[:end])
    pieces = re.split(r"((?<![\w.])[-+]?\d[\d.]*(?:e[-+]?\d+)?|\bnan\b|\binf\b| )", text)
    return "^" + "".join(r"\S+?" if i % 2 and p != " " else r"\s+" if p == " " else escaped(p)
                         for i, p in enumerate(pieces))


def anchored(regex, main, others):
    """The expression so that it finds what it finds in `main`, and nothing in `others`."""
    found = [finds(regex, line) for line in main]
    begin = match_of(regex, main[0]).start()
    word = re.match(r"[A-Za-z]+", main[0])
    candidates = [regex]
    if word and word.end() < begin:
        candidates.append("^" + word.group(0) + r"\b.*?" + regex.lstrip("^"))
    candidates.append("^" + regex.lstrip("^"))
    if not re.search(r"\d[a-z%]", main[0][:begin]):  # Units may change: "900ms/step", "1s/step".
        whole = beginning_of(main[0], begin) + regex.removeprefix(r"\b").lstrip("^")
        candidates += [whole, whole.replace(r"\S+?", r"[^\s\[\]]+")]
    for candidate in candidates:
        if [finds(candidate, line) for line in main] == found and not any(finds(candidate, o) for o in others):
            return candidate
    return None


class Kind(typing.NamedTuple):
    """Of the lines in which an expression finds a value."""
    form: tuple
    unit: str
    is_mean: bool
    counts_batches: bool
    levels: int

    def is_summary(self):
        return any(w in SUMMARY for word in self.form[1:] for w in words_of(word))

    def is_other_than(self, epochs):
        """Whether its lines are surely no epochs beside those."""
        return (self.is_summary() or self.unit and not epochs.unit or self.levels > epochs.levels > 0
                or self.counts_batches and not epochs.counts_batches)


def kind_of(line, end, unit):
    return Kind(form_of(line[:end]), unit, is_mean(line), counts_batches(line), levels_in(line[:end]))


def precedence(kind, lines):
    """The kind that comes last by this holds the values."""
    is_series = len(lines) > 1 or EPOCH.search(lines[0]) is not None
    is_end = len(lines) > 1 and kind.is_summary() and ends_epoch(" ".join(kind.form[1:]))
    level = level_of(kind.unit, kind.is_summary() and not is_end, kind.is_mean)
    return -level, is_series and not kind.counts_batches, -max(1, kind.levels), not is_end, len(lines)


def of_first_rank(regex, lines):
    """(expression, line) of the first rank where several print; None for others."""
    ranks = {}
    for line in lines:
        match = RANK.search(line)
        if match:
            ranks.setdefault(int(match.group(1)), (match.group(0), line))
    if len(ranks) < 2:
        return None
    text, line = ranks[min(ranks)]
    return of_rank(regex, text), line.strip()


def of_best_part(regex, lines):
    """(expression, "split val") for the validation's lines alone, where a key in the lines says of which part of the data each
    is; None for others."""
    parts = {}  # key: {part: (its first line, the pair in it)}
    for line in lines:
        for pair in PAIR.finditer(line):
            if part_of([pair.group(4).lower()]):
                parts.setdefault(pair.group(2), {}).setdefault(part_of([pair.group(4).lower()]), (line, pair))
    for key, found in parts.items():
        part = next((p for p in PARTS if p in found), None)
        if len(found) < 2 or part is None:
            continue
        line, pair = found[part]
        edge = "" if pair.group(3) else r"\b"
        text = re.sub(r"\s+", r"\\s*", escaped(pair.group(0))) + edge
        is_before = pair.end() <= match_of(regex, line).start(1)
        exact = f"{text}.*?{re.sub(BEGINNING, '', regex)}" if is_before else f"{regex}.*?{text}"
        if match_of(exact, line):
            return exact, f"{key} {pair.group(4)}"
    return None


def of_kind_alone(regex, main, others):
    """An expression in the words of `main` that finds nothing in `others`; "" where no word tells them apart."""
    end = match_of(regex, main[0]).start(1)
    for word in re.findall(r"[A-Za-z]\w*", main[0][:end]):
        exact = rf"\b{word}\b.*?" + re.sub(BEGINNING, "", regex)
        if all(match_of(exact, line) for line in main) and not any(match_of(exact, line) for line in others):
            return exact
    return ""


def standing_of_kind(name, regex, line):
    """(whether the line names the metric's own measure, of how good a part of the data it is, that part)"""
    words = words_of(line[:match_of(regex, line).start(1)])
    parts = {part_of([w]) for w in words} - {""}
    part = parts.pop() if len(parts) == 1 else ""
    return bool(measures_of(name) & set(words)), ("training", "", "test", "validation").index(part), part


def of_own_kind(name, regex, kinds, epochs):
    """(expression, its lines, of what they are) of the lines that say best that the value is the metric's: those of its measure, and of the
    validation; None where no kind of lines does, or no word tells it from the others."""
    main = kinds[epochs]
    peers = [kind for kind in kinds if not kind.is_other_than(epochs) and 2 * len(kinds[kind]) > len(main)]
    standings = {kind: standing_of_kind(name, regex, kinds[kind][0]) for kind in peers}
    best = max(peers, key=lambda kind: standings[kind][:2])
    if len(peers) < 2 or any(standings[kind][:2] >= standings[best][:2] for kind in peers if kind != best) or standings[best][2] in ("", "training"):
        return None
    alone = of_kind_alone(regex, kinds[best], [line for kind in kinds if kind != best for line in kinds[kind]])
    return (alone, kinds[best], f"the {standings[best][2]}'s lines") if alone else None


def parts_of(text):
    """A line's text up to a value, as the template of a script's line: its numbers are values, but for those that count."""
    parts, at = [], 0
    for number in PLAIN_NUMBER.finditer(text):
        parts += [text[at:number.start()], None]
        at = number.end()
    return with_counts_marked([*parts, text[at:], None])[0]


def counts_something(line, match):
    """Whether the number behind a match of VALUE stands for no value, as the 100 of "mean return over 100 episodes: 31.2"."""
    number = match.group(3)
    behind = line[match.end() + len(number):]
    return VALUE_NEXT.match(behind) is not None and is_count(line[:match.end()], VALUE_NEXT.match(behind).group(1))


def values_behind_counts(line, words, is_wanted):
    """[(where the value begins, its name)] of the values of which a count stands in their words: "return over 100 episodes: 31.2"."""
    for number in PLAIN_NUMBER.finditer(line):
        if has_count(words.before(number.start())):
            parts = parts_of(line[:number.start()][-BEFORE_MAX:])
            name = Naming(parts, is_wanted).of(len(parts) - 1)[0]
            if name and is_wanted(name):
                yield number.start(), name


def stands_behind_both(line, match):
    """Whether the label of a match of VALUE stands behind the value before it and behind its own, too: "0.5 loss 0.3 loss"."""
    word, end = match.group(1), match.end(3)
    is_behind = re.search(r"\d%?\s+$", line[max(0, match.start() - 8):match.start()]) is not None and match.group(2).isspace()
    return is_behind and line[end:end + len(word) + 4].lstrip("% ").startswith(word)


def units_of(line):
    """units_in(), with classes and the like, which a script's loop tells of by itself."""
    return units_in(line) or [(m.group(1).lower(), m.group(2), m.start(2)) for m in THING.finditer(line)]


class Log:
    def __init__(self, text):
        self.states = states_of(text)  # Of a bar that is drawn over.
        self.lines = [states[-1] if states else "" for states in self.states]
        self.notes = {}  # metric: what is doubtful in its expression.
        self.headings = headings_of(self.lines)
        found = {(unit, number) for line in self.lines for unit, number, _ in units_of(line)}
        self.units = {unit for unit, number in found if unit == "fold" or (unit, number) != min(n for n in found if n[0] == unit)}
        self.has_units = any(map(self.unit_of, self.lines))
        self.is_mixed = any(OF_STDERR.search(line) for line in self.lines)

    def unit_of(self, line):
        """"fold", "shard" and the like of a line, where the log has several; "" for others."""
        return next((unit for unit, _, _ in units_of(line) if unit in self.units), "")

    def metrics(self):
        metrics = self.values_of(is_metric)
        for metric in [*self.columns(), *self.rows()]:
            metrics.setdefault(metric.name, metric)
        return [m for m in metrics.values() if not self.is_threshold(m)] or self.unknown_values()

    def is_threshold(self, metric):
        """Whether it is the same in all lines, and may say at what another measure was taken."""
        return metric.name in THRESHOLDS and metric.times > 1 and len({v for line in self.lines for v in finds(metric.regex, line)}) == 1

    def values_of(self, is_wanted):
        """name: the metric of each label before a value."""
        found, doubts = {}, {}
        for order, line in enumerate(self.lines):
            behind = names_behind(parts_of(line)[:-1], is_wanted)
            for name, regex in behind.values():
                found.setdefault(name, {}).setdefault(regex, (line, order, 0))
            words = Words(line, list(PLAIN_NUMBER.finditer(line)))
            for match in VALUE.finditer(line) if not behind else ():
                begin, name, doubt = match.start(), plain(match.group(1)), ""
                if counts_something(line, match) or has_count(words.before(match.end())) or re.search(r"@\s*\[[^\[\]]*$", line[:match.end()]):
                    continue
                if not is_wanted(name):  # "epoch loss" is not one, "loss" is.
                    short = match.group(1).split(" ")[-1]
                    begin, name = match.end(1) - len(short), plain(short)
                phrase = PHRASE_AT_END.search(line[:match.end(1)].lower())
                if phrase and not is_wanted(name):  # "bits per byte"
                    begin, name = phrase.start(), plain(phrase.group(0))
                pair = pair_in_log(line, match.end())
                if not is_wanted(name) and part_of(words_of(name)) and (pair or not re.match(rf"(?:{NUMBER})\s*/", line[match.end():])):
                    parts = parts_of(line[:match.end()][-BEFORE_MAX:])
                    of_part, doubt = Naming(parts, is_wanted).of_part(len(parts) - 1, name)
                    name = name if pair else of_part or name
                if pair and not doubt and (is_wanted(name) or is_part_alone(name)):
                    doubt = DOUBT.format(match.group(1), pair, "" if is_part_alone(name) else FIRST, measure_of(name))
                change = old_value_at(line, match.end(), NUMBER)
                if change:
                    text = line[:match.end()]
                    name = name_of_change(label_of(text))
                    begin = max(begin if name == plain(match.group(1)) else 0, text.lower().rfind(name.split("_")[0]))
                keys = keys_around(line[:begin]) if line.count(match.group(0)) > 1 else []
                group = "" if keys or part_of(words_of(name)) else group_of(line, begin)
                regex = anchor_of(line[:begin]) + label_regex(line[begin:match.end()]) + "{number}"
                if change:
                    regex = regex.removesuffix("{number}") + ANY + re.sub(r"\s+", r"\\s+", escaped(change[0])) + "{number}"
                sentence = sentence_of(line[:match.end()][-BEFORE_MAX:]) if not is_wanted(name) else ""
                if not is_wanted(name) and not doubt and is_wanted(sentence):
                    name, regex = sentence, beginning_of(line, match.end()) + "{number}"
                elif is_wanted(name) and (keys or group):
                    name = plain("_".join([*keys, *([group] if group else []), name]))
                    regex = within_keys(keys, regex) if keys else rf"\b{group}\b.*?" + re.sub(r"^(?:\^|\\b)", "", regex)
                if not is_wanted(name) and not doubt:
                    continue
                name = f"one_minus_{name}" if is_complement(line[:begin]) else f"neg_{name}" if is_negated(line[:begin], line) else name
                expressions = found.setdefault(name, {})
                if not doubt and stands_behind_both(line, match):
                    doubt = DOUBT_BEHIND.format(name)
                if doubt:
                    doubts.setdefault(name, doubt)
                if len(expressions) < EXPRESSIONS_MAX:
                    expressions.setdefault(regex, (line, order, match.end()))
            for match in MEASURED_AT.finditer(line):
                if is_wanted(plain(match.group(1))):
                    regex = re.sub(r"\s+", r"\\s+", escaped(line[match.start():match.end()])) + "{number}"
                    found.setdefault(plain(match.group(1)), {}).setdefault(regex, (line, order, match.end()))
            for end, name in values_behind_counts(line, words, is_wanted):
                expressions = found.setdefault(name, {})
                if len(expressions) < EXPRESSIONS_MAX:
                    expressions.setdefault(beginning_of(line, end) + "{number}", (line, order, end))
        metrics = {}
        for name, expressions in found.items():
            regex = max(expressions, key=self.weight_of)
            metrics[name] = self.metric(name, regex, *expressions[regex])
            metrics[name].doubts += [doubts[name]] if name in doubts else []
        return metrics

    def weight_of(self, regex):
        """Of a metric's expressions that of the most lines; before it those of a mean of folds, and of epochs, not batches."""
        lines = [line for line in self.lines if match_of(regex, line)]
        has_more = any(level_of(self.unit_of(line), summarizes(line), is_mean(line)) < OF_FOLD for line in lines)
        epochs = [line for line in lines if not counts_batches(line) and (ends_epoch(line) or not summarizes(line))]
        return not self.has_units or has_more, len(epochs) > 1, len(lines)

    def unknown_values(self):
        """Where no name is known for a metric's: those that are written as `name = 1.5` and change."""
        labels = [m.group(1) for line in self.lines for m in VALUE.finditer(line)
                  if re.search("[:=]", m.group(2)) or part_of(words_of(m.group(1))[-1:])]
        labels = list(dict.fromkeys(labels))[:UNKNOWN_MAX]
        names = {plain(label) for label in labels} | {plain(label.split(" ")[-1]) for label in labels}
        names = {name for name in names if not set(words_of(name)) & set(NEVER + TIMES)}
        metrics = [m for m in self.values_of(lambda name: name in names).values()
                   if len({v for line in self.lines for v in finds(m.regex, line)}) > 1]
        for metric in metrics:
            metric.doubts.append(f"no name in the log is known for a metric's: see whether {metric.name} is the one")
        return metrics

    def columns(self):
        """The columns of a table below its header."""
        header = None
        for order, line in enumerate(self.lines):
            names = names_of_header(line)
            if names:
                header = names
            elif header and re.fullmatch(r"[\s|:+-]+", line) is None:
                for name in header[0]:
                    regex = column_regex(header[0], name, header[1], line) if is_metric(name) else ""
                    if regex and match_of(regex, line):
                        metric = Metric(plain(name), regex, "both" if self.is_mixed else "stdout", (order, 0))
                        metric.line = line.strip()
                        yield metric
                header = None

    def rows(self):
        """The rows of a table that has a name and its value in each: "|    ep_rew_mean    | 46.66    |"."""
        names = {}
        for order, line in enumerate(self.lines):
            row = ROW.match(line)
            if row and is_metric(plain(row.group(1))):
                names.setdefault(plain(row.group(1)), (row.group(1), line, order))
        for name, (word, line, order) in names.items():
            side = r"\|" if "|" in line else "│"
            yield self.metric(name, rf"{side}\s*{escaped(word)}\s*{side}\s*{{number}}", line, order)

    def metric(self, name, regex, line, order, place=0):
        kinds = {}
        of_part = of_best_part(regex, [other for other in self.lines if match_of(regex, other)])
        if of_part:
            regex = of_part[0]
            line = next(other for other in self.lines if match_of(regex, other))
        for other in self.lines:
            match = match_of(regex, other)
            if match:
                kinds.setdefault(kind_of(other, match.start(1), self.unit_of(other)), []).append(other)
        main = [line]
        if len(kinds) > 1:
            epochs = max(kinds, key=lambda kind: precedence(kind, kinds[kind]))
            main = kinds[epochs]
            others = [o for kind in kinds if kind != epochs for o in kinds[kind]]
            are_others = all(kind.is_other_than(epochs) or 2 * len(kinds[kind]) <= len(main)
                             for kind in kinds if kind != epochs)
            exact = anchored(regex, main, others) if are_others else None
            own = None if exact else of_own_kind(name, regex, kinds, epochs)
            if own:
                exact, main, of_part = own[0], own[1], of_part or (own[0], own[2])
            if exact is None:
                self.notes[name] = (f"each line that the expression of {name} finds is an iteration, "
                                    f"'{main[0].strip()[:60]}' and '{others[0].strip()[:60]}'")
                alone = of_kind_alone(regex, main, others)
                if alone:
                    self.notes[name] += f"; the expression '{alone}' finds the first alone"
            regex, line = exact or regex, main[0]
        elif kinds:
            main = next(iter(kinds.values()))
        first_rank = of_first_rank(regex, main)
        metric = Metric(name, regex, "both" if self.is_mixed else "stdout", (order, place))
        metric.line = line.strip()
        first_word = re.match(r"[^A-Za-z]*([A-Za-z]+)(?!\w)", line)
        parts = [part_of_line(parts_of(line)), part_of([first_word.group(1).lower()]) if first_word else ""]
        known = ("validation", "training") if counts_batches(line) else (*PARTS, "training")  # "Test: [10/100]" is of a batch.
        metric.part = next((part for part in known if part in parts), "")
        if are_of_batches(main):
            metric.is_of_batches, metric.depth = True, 2
            metric.part = metric.part if metric.part == "training" else ""
        metric.times = len(main)
        metric.unit, metric.is_mean = self.unit_of(line), is_mean(line)
        in_main = set(main)
        headings = list(dict.fromkeys(heading for heading, other in zip(self.headings, self.lines) if other in in_main))
        if len(set(map(part_of_heading, headings))) > 1:
            metric.doubts.append(f"{name} is printed below {' and '.join(repr(h) for h in headings[:3])} in the same words: let "
                                 f"the script say which it is, as in val_{name}, and call tune init again")
        times, heading = self.times_per_epoch(main)
        if times > 1 and not metric.doubts and not first_rank:
            metric.doubts.append(f"{name} is printed {times} times below each heading such as '{heading}', in the same words: let the "
                                 f"script say which it is, as in val_{name}, and call tune init again. {ALL_ARE_READ}")
        if of_part:
            metric.comment = f"of {of_part[1]} alone: "
        if first_rank:
            metric.regex, metric.line, metric.comment = *first_rank, "of one rank alone: "
            metric.is_of_rank = True
        if self.iteration_of(metric) is None:
            self.look_at_bars(metric)
        return metric

    def times_per_epoch(self, lines):
        """(how many of the lines stand below each of several headings that count epochs, one of these); (0, "") where that differs."""
        if any(EPOCH.search(line) for line in lines):
            return 0, ""
        counts, number, heading, wanted = [], None, "", set(lines)
        for line in self.lines:
            epoch = EPOCH.search(line)
            if line in wanted and counts:
                counts[-1] += 1
            elif epoch and epoch.group(3) != number and len(line) < 80:
                number, heading = epoch.group(3), heading or line.strip()
                counts.append(0)
        is_each = len(counts) > 1 and len(set(counts[:-1])) == 1 and counts[-1] <= counts[0]
        return (counts[0], heading) if is_each else (0, "")

    def mark_iterations(self, main, metrics):
        """Lets those metrics be of one block with the main one that stand once behind each of its values, on lines of their own."""
        def places_of(metric):
            return [i for i, line in enumerate(self.lines) if match_of(metric.regex, line)]

        begins = places_of(main)
        for metric in metrics:
            places = places_of(metric)
            is_each = len(places) == len(begins) > 1 and all(a < b for a, b in zip(begins, places))
            if metric is main or is_each and all(b < a for b, a in zip(places, begins[1:])):
                metric.block = "iteration"

    def look_at_bars(self, metric):
        """Where the values stand on a bar over all epochs, its count is the iteration."""
        for states in self.states:
            shown = [(int(count.group(1)), value.start() < count.start()) for state in states
                     for count, value in [(COUNT.search(state), match_of(metric.regex, state))] if count and value]
            if len({count for count, _ in shown}) > 1 and sum(match_of(metric.regex, line) is not None for line in self.lines) == 1:
                return read_on_bar(metric, BarOfLog(shown[0][0] == 0), shown[0][1])

    def iteration_of(self, metric):
        """`iteration:` for a bar that is drawn over from one epoch to the next; None: lines are counted."""
        for states in self.states:
            numbers, expression = [], None
            for state in states:
                match = EPOCH.search(state)
                if match and match_of(metric.regex, state):
                    expression = r"\b" + match.group(1) + re.sub(r"\s+", r"\\s+", escaped(match.group(2))) + "{number}"
                    numbers.append(int(match.group(3)))
            if len(set(numbers)) > 1 and numbers == sorted(numbers):
                return expression, numbers[0]
        return None


def metrics_of_log(text):
    return Log(text).metrics()
