"""Whether a value that is called a "score" alone is to be large: what the script computes it from says it.

Evidence is a pair: "max" or "min", and whether the value is a loss with a minus before it, as scikit-learn's neg_... are.
"""

import ast
import re

from measures import direction_of, is_bare_score
from options import dotted
from templates import is_text

DEPTH_MAX = 12
# Functions whose value is as good as what they are given.
TRANSPARENT = ("mean", "nanmean", "median", "average", "sum", "fmean", "float", "round", "sqrt", "item", "array", "asarray",
               "fit", "list", "sorted", "format", "pop", "astype", "get", "numpy", "tolist", "around", "log", "log10")
SCORERS = ("cross_val_score", "cross_validate", "GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "BayesSearchCV",
           "HalvingRandomSearchCV", "permutation_test_score", "learning_curve", "validation_curve")
# Of boosting libraries, beside the words of measures.py.
LARGE = re.compile(r"(?:auc|aucpr|auc_mu|pre|map|ndcg|average_precision|interval-regression-accuracy)(?:@.*)?$", re.I)
SMALL = re.compile(r"(?:l[12]|huber|fair|poisson|quantile|gamma|tweedie|cross_?entropy\w*|xent\w*|kldiv|kullback_leibler|mphe|"
                   r"error@.*|[\w-]*nloglik|gamma-deviance|tweedie-nloglik@.*|multi_?error|crossentropy)$", re.I)
OBJECTIVES = (("rank", "max"), ("reg", "min"), ("binary", "min"), ("multi", "min"), ("count", "min"), ("survival", "min"))


def flipped(evidence):
    return evidence and ("min" if evidence[0] == "max" else "max", False)


def of_words(name):
    """Evidence that a measure's name is, such as "neg_mean_squared_error"."""
    if LARGE.match(name) or SMALL.match(name):
        return "max" if LARGE.match(name) else "min", False
    mode, is_clear = direction_of(name)
    return (mode, name.startswith("neg")) if is_clear else None


def agreed(found):
    """What all evidence says; None: there is none, or it is of two minds."""
    kinds = {e for e in found if e is not None}
    return kinds.pop() if len(kinds) == 1 else None


def is_negative(node):
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


class Scores:
    def __init__(self, tree, source):
        self.has_sklearn = re.search(r"\b(?:sklearn|xgboost|lightgbm|catboost)\b", source) is not None
        self.has_xgboost = re.search(r"\bxgboost\b", source) is not None
        self.nodes = list(ast.walk(tree))
        self.functions = {n.name: n for n in self.nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.values = {}  # Of a variable, by its text: the expressions that it is given.
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.values.setdefault(ast.unparse(target), []).append(node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                self.values.setdefault(ast.unparse(node.target), []).append(node.value)
            elif isinstance(node, (ast.For, ast.comprehension)):
                self.values.setdefault(ast.unparse(node.target), []).append(node.iter)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append" and node.args:
                self.values.setdefault(ast.unparse(node.func.value), []).append(node.args[0])

    def mode_of(self, node):
        """"max" or "min" for the expression of a score; None: the script does not say."""
        evidence = self.of(node) if node is not None else None
        return evidence and evidence[0]

    def of(self, node, depth=0, seen=()):
        def inner(child):
            return self.of(child, depth + 1, seen)

        if depth > DEPTH_MAX:
            return None
        if isinstance(node, ast.UnaryOp):
            return flipped(inner(node.operand)) if isinstance(node.op, ast.USub) else inner(node.operand)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant):  # 1 - accuracy
                return flipped(inner(node.right))
            sides = [n for n in (node.left, node.right) if not isinstance(n, ast.Constant) and not is_negative(n)]
            evidence = inner(sides[0]) if sides else None
            return flipped(evidence) if is_negative(node.left) or is_negative(node.right) else evidence
        if isinstance(node, ast.IfExp):
            return agreed([inner(node.body), inner(node.orelse)])
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return inner(node.elt)
        if isinstance(node, (ast.List, ast.Tuple)):
            return agreed(map(inner, node.elts))
        if isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            name = re.sub(r"^(?:mean_)?(?:test|train)_", "", key) if isinstance(key, str) else "score"
            return inner(node.value) if is_bare_score(name) else of_words(name)
        if isinstance(node, ast.Call):
            return self.of_call(node, inner)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.of_variable(node, depth, seen)
        return None

    def of_call(self, call, inner):
        name = dotted(call.func).split(".")[-1]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in SCORERS:
            return self.of_scoring(next((k.value for k in call.keywords if k.arg == "scoring"), None))
        if name in self.functions:
            returned = [n.value for n in ast.walk(self.functions[name]) if isinstance(n, ast.Return) and n.value is not None]
            return agreed(map(inner, returned))
        if name == "score" and owner is not None:  # An estimator's accuracy or R².
            return ("max", False) if self.has_sklearn and call.args else None
        if name in ("abs", "fabs", "absolute") and call.args:
            evidence = inner(call.args[0])
            return flipped(evidence) if evidence and evidence[1] else evidence
        if name in ("max", "min") and (call.args or owner is not None):
            given = [a for a in call.args if not isinstance(a, ast.Constant)] or [owner]
            evidence = agreed(inner(a) for a in given if a is not None)
            return evidence or ((name, False) if len(given) == max(1, len(call.args)) else None)
        if name in TRANSPARENT:
            is_module = isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "math", "statistics", "torch", "jnp")
            given = call.args[:1] if owner is None or is_module else [owner]
            return inner(given[0]) if given else None
        if is_bare_score(name):
            return None
        return of_words(name) if direction_of(name)[1] else None

    def of_variable(self, node, depth, seen):
        text = ast.unparse(node)
        if text in seen:
            return None
        values = [v for v in self.values.get(text, []) if not isinstance(v, ast.Constant)]
        if values:
            evidence = agreed(self.of(v, depth + 1, (*seen, text)) for v in values)
            if evidence:
                return evidence
        last = text.split(".")[-1]
        if isinstance(node, ast.Attribute) and not values and last in ("best_score", "best_score_"):
            by_search = self.of(node.value, depth + 1, (*seen, text))
            return by_search or (self.of_xgboost() if self.has_xgboost and last == "best_score" else None)
        return None if is_bare_score(last) or not direction_of(last)[1] else of_words(last)

    def constant(self, node):
        """The text that an expression is; None: it is not known."""
        if isinstance(node, ast.Name):
            values = self.values.get(node.id, [])
            node = values[0] if len(values) == 1 else None
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def of_scoring(self, node):
        """scikit-learn's scorers are all to be large; neg_... are losses below zero."""
        if node is None or isinstance(node, ast.Constant) and node.value is None:
            return "max", False
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "make_scorer":
            return "max", any(k.arg == "greater_is_better" and ast.unparse(k.value) == "False" for k in node.keywords)
        name = self.constant(node)
        return ("max", name.startswith("neg_")) if name else None

    def given_as(self, *names):
        """The expressions that the script gives to these parameters, as keywords or as entries of a dictionary."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield from (k.value for k in node.keywords if k.arg in names)
            elif isinstance(node, ast.Dict):
                yield from (v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and k.value in names)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                if isinstance(node.targets[0].slice, ast.Constant) and node.targets[0].slice.value in names:
                    yield node.value

    def of_xgboost(self):
        """best_score is a value of the last eval_metric; without one the objective has its own."""
        maximize = {ast.unparse(v) for v in self.given_as("maximize")} & {"True", "False"}
        if maximize:
            return ("max" if maximize == {"True"} else "min", False) if len(maximize) == 1 else None
        if any(ast.unparse(v) != "None" for v in self.given_as("feval", "custom_metric")):
            return None
        metrics = [v.elts[-1] if isinstance(v, (ast.List, ast.Tuple)) and v.elts else v for v in self.given_as("eval_metric")]
        if metrics:
            names = list(map(self.constant, metrics))
            return agreed(map(of_words, names)) if None not in names else None
        objectives = list(self.given_as("objective"))
        if objectives:
            names = [(self.constant(o) or "").split(":")[0] for o in objectives]
            modes = {dict(OBJECTIVES).get(name) for name in names}
            return (modes.pop(), False) if len(modes) == 1 and None not in modes else None
        made = {dotted(n.func).split(".")[-1] for n in self.nodes if isinstance(n, ast.Call)}
        return ("max" if "XGBRanker" in made else "min", False)  # RMSE of a regression, log loss of classes.


def values_of(call):
    """The expressions of the values that a call prints, in order."""
    def inner(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return []
        if isinstance(node, ast.JoinedStr):
            return [v for part in node.values if isinstance(part, ast.FormattedValue) for v in inner(part.value)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            return node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and is_text(node):
            return inner(node.left) + inner(node.right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return node.args + [k.value for k in node.keywords]
        if isinstance(node, ast.Call) and dotted(node.func) == "str" and node.args:
            return inner(node.args[0])
        if isinstance(node, ast.Call) and dotted(node.func).endswith("dumps") and node.args:
            return inner(node.args[0])
        if isinstance(node, ast.Dict):
            return [v for value in node.values for v in inner(value)]
        if isinstance(node, (ast.List, ast.Tuple)) and dotted(call.func).endswith("writerow"):
            return [v for value in node.elts for v in inner(value)]
        return [node]
    given = call.args or [k.value for k in call.keywords if k.arg]
    return [v for argument in given for v in inner(argument)]


def value_at(line, i):
    """The expression of the value at parts[i] of a printed line; None: it is not seen."""
    values = [v for nth, v in enumerate(shown_values(line)) if nth not in line.counts]
    return values[line.parts[:i].count(None)] if values else None


def shown_values(line):
    """The expressions of what a printed line shows (line.shown); [] where they are not seen."""
    if not isinstance(line.printing, ast.Call):
        return []
    values = [v for i, v in enumerate(values_of(line.printing)) if i not in line.old]
    return values if len(values) == line.shown.count(None) else []


# The lines that scikit-learn prints of a scorer, which is always to be large.
LINE_OF_SCORER = re.compile(r"^\[CV[ \]]|^Validation score: ")


def mode_in_log(metric, mode_of_script):
    return mode_of_script or ("max" if is_bare_score(metric.name) and LINE_OF_SCORER.match(metric.line) else None)


def is_turned(node):
    """Whether it is 1 - x or -x."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)


def add_modes(metrics, tree, source):
    """Says of the metrics that are a score by name alone whether they are to be large, and asks of those that show the contrary of
    what their name says."""
    scores, has_neg = None, re.search(r"\bneg_\w", source) is not None
    for metric in metrics:
        value = value_at(metric.printed, metric.order[1]) if metric.printed is not None else None
        if value is None or not (is_bare_score(metric.name) or is_turned(value) or has_neg):
            continue
        scores = scores or Scores(tree, source)
        evidence = scores.of(value)
        if not (is_bare_score(metric.name) or is_turned(value) or evidence == ("max", True)):
            continue
        mode, (by_name, is_clear) = evidence and evidence[0], direction_of(metric.name)
        if is_bare_score(metric.name):
            metric.mode = mode
        elif mode and is_clear and mode != by_name:
            metric.mode = mode
            metric.doubts.append(f"{metric.name} shows {ast.unparse(value)}, which is to be {'large' if mode == 'max' else 'small'}, and its name "
                                 f"says the contrary: see that mode: {mode} is right")


def mode_of_reported(name, tree, source):
    """That of tune.report(score=...) and tune.report({"score": ...})."""
    if not is_bare_score(name):
        return None
    scores = Scores(tree, source)
    calls = [n for n in scores.nodes if isinstance(n, ast.Call) and dotted(n.func) in ("tune.report", "report")]
    values = [k.value for call in calls for k in call.keywords if k.arg == name]
    values += [v for call in calls for a in call.args if isinstance(a, ast.Dict)
               for k, v in zip(a.keys, a.values) if isinstance(k, ast.Constant) and k.value == name]
    modes = {scores.mode_of(value) for value in values}
    return modes.pop() if len(modes) == 1 else None


def last_name(node):
    """"val_acc" of m["val_acc"], m.val_acc and float(val_acc.item()); "" for others."""
    while isinstance(node, ast.Call):
        is_plain = dotted(node.func).split(".")[-1] in ("float", "round", "item", "str", "mean", "format")
        owner = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
        node = owner or (node.args[0] if is_plain and node.args else None)
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else last_name(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
