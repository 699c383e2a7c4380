"""What a script prints, read in its source or in a log of it: metrics and their expressions."""

import ast
import re

from options import dotted

NUMBER = r"[+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf"
HIGHER = ("acc", "accuracy", "auc", "auroc", "ap", "map", "map50", "f1", "score", "r2", "iou", "miou", "dice",
          "precision", "recall", "bleu", "rouge", "reward", "return", "psnr", "ssim", "top1", "top5",
          "elbo", "correct", "hits", "ndcg", "mrr", "kappa", "mcc", "acc1", "acc5", "success")
LOWER = ("loss", "error", "err", "rmse", "mse", "mae", "mape", "ppl", "perplexity", "nll", "wer",
         "cer", "logloss", "mlogloss", "merror", "rmsle", "fid", "kl", "regret", "distance", "cost",
         "latency", "deviance", "bce", "ce")
NEVER = ("lr", "epoch", "epochs", "step", "steps", "time", "seed", "batch", "iter", "iteration",
         "elapsed", "eta", "best", "total", "seconds", "params", "sec", "patience", "grad")


class Metric:
    def __init__(self, name, regex, source="stdout", order=0):
        self.name, self.regex, self.source, self.order = name, regex, source, order
        self.line = ""  # Of the script, or of the log.
        self.block = None  # The statements among which it is printed.


def words_of(name):
    return [w for w in re.split(r"[^A-Za-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()) if w]


def is_metric(name):
    words = words_of(name)
    if not words or words[0] in NEVER or words[-1] in NEVER:
        return False
    return any(w in HIGHER or w in LOWER for w in words)


def mode_of(name):
    words = words_of(name)
    return "min" if any(w in LOWER for w in reversed(words)) else "max"


def rank(metric):
    """The metric that a sweep is about: validation before test before training, a score before a loss."""
    words = words_of(metric.name)
    part = 0
    if any(w.startswith(("val", "dev", "eval")) or w == "cv" for w in words):
        part = 3
    elif "test" in words:
        part = 2
    elif "train" in words or "training" in words:
        part = -2
    return (part, any(w in HIGHER for w in words), -metric.order)


def escaped(text):
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text).replace("\t", r"\t")


# ---- the source

# A printed line is a list of texts and of None, where a value stands.


def template_of(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = []
        for value in node.values:
            parts += template_of(value.value if isinstance(value, ast.FormattedValue)
                                 and isinstance(value.value, ast.Constant) else value)
        return parts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = template_of(node.left)
        if len(text) == 1 and text[0] is not None:
            return holes_in(text[0], r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]", "%%", "%")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        is_text = any(isinstance(n, ast.Constant) and isinstance(n.value, str) or isinstance(n, ast.JoinedStr)
                      for n in ast.walk(node))
        return template_of(node.left) + template_of(node.right) if is_text else [None]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = template_of(node.func.value)
        if len(text) == 1 and text[0] is not None:
            return holes_in(text[0], r"\{[^{}]*\}", None, None)
    if isinstance(node, ast.Call) and dotted(node.func).endswith("dumps") and node.args:
        return dict_template(node.args[0], '"')
    if isinstance(node, ast.Dict):
        return dict_template(node, "'")
    return [None]


def holes_in(text, pattern, escape, plain):
    parts, rest = [], text
    for piece in re.split(f"({re.escape(escape)}|{pattern})" if escape else f"({pattern})", rest):
        if escape and piece == escape:
            parts.append(plain)
        elif re.fullmatch(pattern, piece or " "):
            parts.append(None)
        elif piece:
            parts.append(piece)
    return parts


def dict_template(node, quote):
    if not isinstance(node, ast.Dict):
        return [None]
    parts = ["{"]
    for key in node.keys:
        if not isinstance(key, ast.Constant):
            return [None]
        parts += [f"{quote}{key.value}{quote}: ", None, ", "]
    return parts[:-1] + ["}"]


def joined(arguments, separator):
    parts = []
    for i, argument in enumerate(arguments):
        parts += ([separator] if i else []) + template_of(argument)
    return parts


def merged(parts):
    out = []
    for part in parts:
        if part is not None and out and out[-1] is not None:
            out[-1] += part
        else:
            out.append(part)
    return out


def printed(call):
    """(template, stream) of a call that prints; None for others."""
    name = dotted(call.func)
    last = name.split(".")[-1]
    words = {k.arg: k.value for k in call.keywords if k.arg}
    if last in ("print", "echo", "secho", "rprint") or name in ("tqdm.write", "console.print"):
        stream = "stdout"
        if "file" in words and "stderr" in ast.unparse(words["file"]) or "err" in words:
            stream = "stderr"
        separator = words.get("sep")
        text = separator.value if isinstance(separator, ast.Constant) else " "
        return joined(call.args, text), stream
    if name == "sys.stdout.write":
        return joined(call.args, ""), "stdout"
    if last in ("info", "warning", "debug", "error", "log") and re.search(r"log", name, re.I):
        arguments = call.args[1:] if last == "log" else call.args
        if not arguments:
            return None
        parts = template_of(arguments[0])
        if len(arguments) > 1 and len(parts) == 1 and parts[0]:
            parts = holes_in(parts[0], r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]", "%%", "%")
        return [None, " "] + parts, "both"  # A time or a level may stand before it.
    if last == "set_postfix":
        parts = []
        names = [k for k in words if k not in ("refresh", "ordered_dict")]
        if call.args and isinstance(call.args[0], ast.Dict):
            names = [k.value for k in call.args[0].keys if isinstance(k, ast.Constant)] + names
        for key in names:
            parts += [", " + str(key) + "=", None]
        return ([None] + parts if parts else None) and ([None] + parts, "stderr")
    return None


def label_of(text):
    """"val acc" of "epoch done, val acc: "."""
    text = re.split(r"[\n|,;()\[\]{}]|\s[-–—/>]+\s|\t|  +", text.rstrip(" :=→>\"'\t|(["))[-1]
    match = re.search(r"[A-Za-z][\w /.@-]*$", text.strip("\"' *"))
    return re.sub(r"\W+", "_", match.group(0)).strip("_").lower() if match else ""


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
    if anchor == r"\b" and not re.match(r"\w", label):
        anchor = ""
    after = parts[i + 1] if i + 1 < len(parts) else None
    tail = "%" if after is not None and after.startswith("%") else ""
    tail = "/" if after is not None and after.startswith("/") else tail
    return anchor + re.sub(r"\s+", r"\\s+", escaped(label)) + "{number}" + tail


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


def blocks_of(tree):
    """The list of statements in which each call stands."""
    blocks = {}
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            for statement in statements if isinstance(statements, list) else []:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                    blocks[statement.value] = (node, field)
    return blocks


def metrics_of_source(tree, source):
    blocks = blocks_of(tree)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    calls.sort(key=lambda n: (n.lineno, n.col_offset))
    templates = []
    for call in calls:
        found = printed(call)
        if found and found[0]:
            templates.append((merged(found[0]), found[1], call))
    metrics = {}
    for parts, stream, call in templates:
        for i in range(1, len(parts)):
            if parts[i] is not None or not isinstance(parts[i - 1], str):
                continue
            name = label_of(parts[i - 1])
            if not name or not is_metric(name) or name in metrics:
                continue
            regex = regex_for(parts, i)
            line, numbers = rendered(parts)
            if finds(regex, line)[-1:] != [numbers[i]]:
                regex = escaped(parts[i - 1].split("\n")[-1]) + "{number}"
            metric = Metric(name, regex, stream, call.lineno)
            metric.block = blocks.get(call)
            metric.line = source.split("\n")[call.lineno - 1].strip()
            # One that other lines satisfy, too, would take their values.
            strays = [p for p, s, c in templates if c is not call and finds(regex, rendered(p)[0])]
            if not strays or all(label_of_match(regex, p) == name for p in strays):
                metrics[name] = metric
    for metric in framework_metrics(tree, source):
        metrics.setdefault(metric.name, metric)
    return list(metrics.values())


def label_of_match(regex, parts):
    line, numbers = rendered(parts)
    found = finds(regex, line)[-1]
    i = numbers.index(found) if found in numbers else 0
    return label_of(parts[i - 1]) if i > 0 and isinstance(parts[i - 1], str) else ""


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
            yield Metric(prefix + name, f"{before}{prefix}{name}: {{number}}", "stdout", 10**6 + i)
    if re.search(r"\bTrainer\(", source) and "transformers" in source:
        returned = re.findall(r"return\s*\{([^}]*)\}", source)
        names = [n for text in returned for n in re.findall(r"[\"'](\w+)[\"']\s*:", text) if is_metric(n)]
        for i, name in enumerate(list(dict.fromkeys(names)) + ["loss"]):
            yield Metric("eval_" + name, f"'eval_{name}': '?{{number}}", "stdout", 10**6 + i)
    if re.search(r"\b(xgb|xgboost)\b", source) and re.search(r"\bevals\s*=|eval_set\s*=", source):
        named = re.findall(r"evals\s*=\s*\[(.*?)\]\s*[,)]", source, re.S)
        sets = re.findall(r"[\"'](\w+)[\"']", named[0]) if named else []
        kinds = re.findall(r"eval_metric[\"']?\s*[:=]\s*\[?\s*[\"']([\w@.]+)[\"']", source)
        data = sets[-1] if sets else "validation_0"
        kind = kinds[0] if kinds else None
        if kind is not None:
            name = f"{data}_{kind}".replace("@", "_")
            yield Metric(name, f"{data}-{escaped(kind)}:{{number}}", "stdout", 10**6)


def reported_names(tree):
    """Those of tune.report(val_acc=...) and tune.report({"val_acc": ...})."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in ("tune.report", "report"):
            names += [k.arg for k in node.keywords
                      if k.arg and k.arg not in ("checkpoint", "step", "training_iteration")]
            for argument in node.args:
                if isinstance(argument, ast.Dict):
                    names += [k.value for k in argument.keys if isinstance(k, ast.Constant)]
    return list(dict.fromkeys(names))


# ---- a log

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


WORD = r"[A-Za-z][\w./@-]*"
VALUE = re.compile(rf"(?<!\w')({WORD}(?: {WORD})?)([\"']?\s?[:=]\s*'?|\s+)(?=({NUMBER})(?![\w.]))")


def plain(name):
    return re.sub(r"\W+", "_", name).strip("_").lower()


def anchor_of(before):
    """What tells a label's beginning from the middle of another label."""
    if not before.strip():
        return "^" if not before else r"\b"
    last = before.rstrip()[-1]
    if last.isalnum():  # "val" of "val loss".
        return r"\b"
    return escaped(last) + (r"\s*" if before[-1].isspace() else "")


def metrics_of_log(text):
    metrics = {}
    for order, line in enumerate(ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")):
        line = line.split("\r")[-1]
        for match in VALUE.finditer(line):
            begin, name = match.start(), plain(match.group(1))
            if not is_metric(name):  # "epoch loss" is not one, "loss" is.
                short = match.group(1).split(" ")[-1]
                begin, name = match.end(1) - len(short), plain(short)
            if not is_metric(name) or name in metrics:
                continue
            label = escaped(line[begin:match.end()]) + "{number}"
            metrics[name] = Metric(name, anchor_of(line[:begin]) + label, "stdout", order)
            metrics[name].line = line.strip()
    return list(metrics.values())
