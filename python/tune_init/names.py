"""What the words before a printed value call it."""

import ast
import re

from changes import LOGGED, OLD, is_old_alone, name_of_change
from counts import COUNTED, NOUN, spoken
from loops import TIME
from measures import AMOUNTS, LOWER, in_full, is_metric, is_part_alone, is_unknown_of_part, measures_of, part_of, words_of
from pairs import BETWEEN, DOUBT, has_decimals
from scores import value_at

AMOUNT = re.compile(r"\b(?:\w+[_/ ])?(?:%s)[\s:=]+\d[\d.,]*" % "|".join(AMOUNTS))  # "val_samples 500"
BEFORE_VALUE = " :=→>\"'\t|(["  # What parts a name from its value.
PART_NAMES = {"validation": "val", "training": "train", "test": "test"}
WHOLES = ("total", "sum", "overall", "sum_total", "in_total")


# "1-acc", "val 1 - accuracy", and not "Stage 1 - accuracy", "Epoch 1-acc".
COMPLEMENT = re.compile(r"(?<![\w.])1(?:\.0)?(\s*)[-–−]\s*(?=[A-Za-z])")
COUNTS = (*TIME, "stage", "phase", "fold", "run", "seed", "class", "task", "top", "rank", "part", "level", "model", "no")


def spelled(text):
    """"one minus acc: " of "1-acc: "."""
    def instead(match):
        word = re.search(r"([A-Za-z]+)[\s:=#._-]*$", text[:match.start()])
        is_number = word is not None and (word.group(1).lower() in COUNTS or bool(match.group(1)) and not part_of([word.group(1).lower()]))
        return match.group(0) if is_number else "one minus "
    return COMPLEMENT.sub(instead, text)


# "-ELBO: ". Where two words of a line begin so, the strokes may part them: "1 -loss: 0.5 -acc: 0.9".
MINUS = re.compile(r"(?:^|(?<=[\s|,;:(\[{]))[-−](?=[A-Za-z])")
MINUS_OF_LIKELIHOOD = re.compile(MINUS.pattern + r"(?=(?:(?:val|valid|test|train|dev|eval)\w*[ _])?(?:elbo|log[ _-]?lik|likelihood))", re.I)


def with_minus_spelled(text, line):
    """"neg ELBO: " of "-ELBO: ". `line`: in which it stands."""
    return (MINUS_OF_LIKELIHOOD if len(MINUS.findall(line)) > 1 else MINUS).sub("neg ", text)


def text_before(parts, i):
    """What stands before the value at parts[i], with a minus before a name as a word."""
    return with_minus_spelled(parts[i - 1], "".join("1" if p is None else p for p in parts))


def label_of(text):
    """"val acc" of "epoch done, val acc: "."""
    text = spelled(in_full(text))
    text = re.split(r"[\n|,;()\[\]{}]|\s[-–—/>]+\s|\t|  +|\b\d[\w.]*\s", text.rstrip(BEFORE_VALUE + "]"))[-1]
    match = re.search(r"[A-Za-z][\w /.@-]*$", text.strip("\"' *"))
    return re.sub(r"\W+", "_", match.group(0)).strip("_").lower() if match else ""


def sentence_of(text):
    """"test_accuracy" of "Accuracy of the network on the 10000 test images: "."""
    text = spoken(text)
    sentence = re.split(r"[\n|;()\[\]{}\t]", text.rstrip())[-1]
    end = rf"(?:[:=]|\sis|{COUNTED} {NOUN})$"
    match = re.search(rf"\b([A-Za-z][A-Za-z0-9-]*(?: [A-Za-z][A-Za-z0-9-]*)*?)\s+(?:of|on|for|in|over|after|at|from)\s.*{end}", sentence)
    match = re.search(rf"{COUNTED} {NOUN},?\s+(?:the )?([A-Za-z][A-Za-z0-9 -]*?)(?: is|\s?[:=])$", sentence) or match
    if not match:
        return ""
    part = part_of(words_of(sentence))
    name = re.sub(r"\W+", "_", match.group(1)).lower()
    return name if part_of(words_of(name)) == part else {"validation": "val", "training": "train"}.get(part, part) + "_" + name


def label_text(text):
    """What stands right before the value, back to where its label begins."""
    line = text.split("\n")[-1]
    body = line.split(OLD)[0].rstrip(BEFORE_VALUE)
    is_remark = COUNTED in body or spoken(body) != body
    body = body[:-1] if body[-1:] in (")", "]") and is_remark else body  # "reward (last 10 episodes): ", "acc (dev): "
    starts = [m.end() for m in re.finditer(LOGGED + r"|[|,;()\[\]{}]\s*|\s[-–—/>]+\s+|\t|  +", body)]
    begin = starts[-1] if starts else 0
    return line[:begin], line[begin:]


def part_of_line(parts):
    """The part of the data that a line names in words of its own, as "epoch 1 | valid | loss 0.5" does and "val_loss 0.5" does not; ""
    where it names none, or the training beside another."""
    texts = []
    for i, text in enumerate(parts):
        if text is None:
            continue
        text = AMOUNT.sub("", text)
        label = re.search(r"[A-Za-z][\w /.@-]*$", label_text(text)[1].split(OLD)[0].rstrip(BEFORE_VALUE + "*"))
        words = words_of(label.group(0)) if label and i + 1 < len(parts) else []
        name = "_".join(words)
        is_of_value = measures_of(name) or is_part_alone(name) or is_unknown_of_part(name) or part_of(words) and set(words) & set(AMOUNTS)
        texts.append(text[:text.rfind(label.group(0))] if is_of_value else text)
    words = words_of(" ".join(texts))
    named = {part_of([w]) for w in words} | {part_of(words)}
    return "" if "training" in named else part_of(words)


def glued(parts, i):
    """How much of parts[i - 1] is the unit of the value before it: "s" of "3.1s Train Acc: "."""
    match = re.match(r"[A-Za-z]{1,3}(?=\s)", parts[i - 1]) if i > 1 and parts[i - 2] is None else None
    return match.end() if match else 0


class Chain:
    """Several words for several values: "Train/Val loss: 0.1/0.5"."""

    def __init__(self, parts, i):
        self.begin = i
        while self.begin > 2 and parts[self.begin - 2] is None and (parts[self.begin - 1] or "").strip() in ("/", ""):
            self.begin -= 2
        end = i
        while end + 2 < len(parts) and parts[end + 2] is None and (parts[end + 1] or "").strip() in ("/", ""):
            end += 2
        self.at, self.text, self.between = (i - self.begin) // 2, parts[self.begin - 1] or "", parts[i - 1]
        words = re.findall(r"[A-Za-z]+(?:/[A-Za-z]+)+", self.text.split("\n")[-1])
        behind = re.match(r"\s*[(\[]([A-Za-z]+(?:/[A-Za-z]+)+)[)\]]", (parts[end + 1] or "") if end + 1 < len(parts) else "")
        words = words or ([behind.group(1)] if behind else [])  # "acc 0.9/0.8 (train/val)"
        self.words = words[-1].split("/") if words and len(words[-1].split("/")) == (end - self.begin) // 2 + 1 > 1 else []

    def name(self):
        """"val_loss"; "" where the words do not match the values."""
        if not self.words:
            return ""
        rest = label_of(re.sub(r"\(\s*\)", "", self.text.replace("/".join(self.words), "")))
        return "_".join(filter(None, [self.words[self.at].lower(), rest]))

    def parts(self):
        """The line's parts up to the value, with the chain's earlier values as text; whatever stands before is one value."""
        before = ["", None] if self.begin > 1 else []
        return [*before, self.text + (OLD + self.between) * self.at, None]


def said_by(node):
    """"acc" of val_acc, m["val_acc"], accuracy(net, mask) and 100 * val_acc: the measure that an expression names; "" for others."""
    if isinstance(node, ast.Call):  # Its arguments may be of anything.
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return said_by(node.func) or said_by(owner) or (said_by(node.args[0]) if node.args and not is_made_by(node) else "")
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return measure_in(key) if isinstance(key, str) else said_by(node.value)
    if isinstance(node, ast.BinOp):
        return said_by(node.left) or said_by(node.right)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return measure_in(node.id if isinstance(node, ast.Name) else node.attr)
    return ""


def is_made_by(call):
    """Whether a call makes another value of what it is given, as evaluate(loss) does and float(loss) does not."""
    return not (isinstance(call.func, ast.Name) and call.func.id in ("float", "round", "str")) and not (
        isinstance(call.func, ast.Attribute) and call.func.attr in ("mean", "sum", "average"))


def measure_in(name):
    """"loss" of "val_loss" and "v_loss"."""
    words = [singular(w) for w in words_of(name) if not part_of([w])]
    return "_".join(words) if is_metric("_".join(words)) else next(iter(measures_of("_".join(words))), "")


def singular(word):
    """"loss" of val_losses[-1], "acc" of accs, "accuracy" of accuracies."""
    for end, instead in (("sses", "ss"), ("ies", "y"), ("s", "")):
        if word.endswith(end) and measures_of(word.removesuffix(end) + instead):
            return word.removesuffix(end) + instead
    return word


class Naming:
    """The names of the values of one line. `line`: of a script, which has the expressions of its values."""

    def __init__(self, parts, is_wanted, line=None):
        self.parts, self.is_wanted, self.line = parts, is_wanted, line
        holes = [i for i in range(1, len(parts)) if parts[i] is None and isinstance(parts[i - 1], str)]
        self.labels = {i: self.plain(i) for i in holes}

    def plain(self, i):
        text = spoken(text_before(self.parts, i)[glued(self.parts, i):])
        if COUNTED in text.split("\n")[-1]:
            return ""
        label = name_of_change(label_of(text.split(OLD)[0])) if OLD in text else label_of(text)
        return "" if is_old_alone(label) else label

    def of(self, i):
        """(name, doubt) of the value at parts[i]."""
        chain = Chain(self.parts, i).name()
        if chain and self.is_wanted(chain):
            return chain, ""
        label = self.labels[i]
        if self.is_wanted(label):
            return self.qualified(i, label)
        of_part, doubt = self.of_part(i, label)
        if of_part:
            return of_part, doubt
        if label in WHOLES and any(self.is_wanted(n) and measures_of(n) & set(LOWER) for n in self.labels.values()):
            return "total_loss", ""
        return sentence_of(self.parts[i - 1]), ""

    def qualified(self, i, label):
        """With the word before it, where that tells it from another value: "class 0 f1", "before: acc"."""
        text = self.parts[i - 1].split("\n")[-1]
        match = re.search(r"[A-Za-z][\w /.@-]*$", text.rstrip(BEFORE_VALUE))
        before = text[:match.start()] if match else ""
        whole = match.group(0) if match else ""
        if re.search(r"\s[-–—]+\s", whole):  # "Valid - loss": the label begins behind the dash.
            before += re.match(r".*\s[-–—]+\s", whole).group(0)
        numbered = re.search(r"([A-Za-z]{2,})[ _-](\d+)\s+[A-Za-z]", whole) or re.search(r"()()$", "")
        if numbered.group(1) and numbered.group(1).lower() not in (*TIME, "fold"):
            return f"{numbered.group(1)}_{numbered.group(2)}_{label}".lower(), ""
        same = [j for j, other in self.labels.items() if other == label]
        if len(same) < 2:
            return label, ""
        word = re.search(r"([A-Za-z]\w*)\W*$", before)
        if word and word.group(1).lower() not in TIME:
            return f"{word.group(1)}_{label}".lower(), ""
        return label, f"{label} stands {len(same)} times in one line, and the first is read: let the script say what each of them is, and call tune init again"

    def of_part(self, i, label):
        """A plain "val" after "loss" is the validation's loss, but for one after a loss that has a value of its own: of what that
        is the variable says, or nobody."""
        part = part_of(words_of(label)) if is_part_alone(label) else ""
        behind = self.parts[i + 1] if i + 1 < len(self.parts) else None
        is_pair = behind is not None and BETWEEN.match(behind) is not None and i + 2 < len(self.parts) and self.parts[i + 2] is None
        is_pair = is_pair and (self.line is None or has_decimals(self.line, i))
        if not part or behind and behind.startswith("/") and not is_pair:
            return "", ""
        said = said_by(value_at(self.line, i)) if self.line is not None else ""
        if said:
            return f"{PART_NAMES[part]}_{said}", ""
        if is_pair:
            return label, DOUBT.format(label, f"0.5{behind}0.6", "", "loss")
        before = [n for j, n in self.labels.items() if j < i and self.is_wanted(n)]
        if before and not part_of(words_of(before[-1])):
            return label, (f"'{label}' stands behind {before[-1]}, and nothing says what it measures: let the script print its name, "
                           f"as in {label}_acc, and call tune init again")
        if not before:
            text = "".join("1" if p is None else p for p in self.parts[:i]).split("\n")[-1]
            before = [w for w in words_of(text) if self.is_wanted(w)]
        if not before:
            return "", ""
        measures = list(dict.fromkeys("_".join(w for w in n.split("_") if not part_of([w])) for n in before))
        name = f"{PART_NAMES[part]}_{measures[-1]}"
        doubt = f"'{label}' is taken for {name}, because {measures[-1]} stands before it; {measures[0]} stands there, too: see which it is of"
        return name, doubt if len(measures) > 1 else ""
