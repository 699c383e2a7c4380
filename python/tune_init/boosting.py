"""The lines that XGBoost prints by itself: "[3]	train-auc:0.9	eval-auc:0.8"."""

import ast
import re

from expressions import escaped
from measures import part_of, words_of
from scores import of_words


def boosts_silently(tree):
    """Whether every call that trains with XGBoost is told to print nothing. XGBoost ignores `verbose` of a constructor."""
    words = [{k.arg: ast.unparse(k.value) for k in n.keywords} for n in ast.walk(tree) if isinstance(n, ast.Call)]
    trained = [w for w in words if "evals" in w or "eval_set" in w]
    return bool(trained) and all({w.get("verbose"), w.get("verbose_eval")} & {"False", "0", "None"} for w in trained)


def elements_of(node, tree):
    """The elements of a list that stands there, or that a variable is given once; [] where it is not seen."""
    if isinstance(node, ast.Name):
        given = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == node.id]
        node = given[0] if len(given) == 1 else None
    return node.elts if isinstance(node, (ast.List, ast.Tuple)) else []


def sets_of(tree):
    """[(name, whether it is of the training)] of the first call that is given sets to print the metrics of."""
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        words = {k.arg: k.value for k in call.keywords}
        if "evals" in words:
            pairs = [e.elts for e in elements_of(words["evals"], tree) if isinstance(e, ast.Tuple) and len(e.elts) == 2]
            names = [str(name.value) for _, name in pairs if isinstance(name, ast.Constant)]
            if names:
                return [(name, part_of(words_of(name)) == "training") for name in names]
        if "eval_set" in words:
            first = ast.unparse(call.args[0]) if call.args else ""
            data = [ast.unparse(e.elts[0]) for e in elements_of(words["eval_set"], tree) if isinstance(e, ast.Tuple) and e.elts]
            named = [(f"validation_{i}", text == first or part_of(words_of(text)) == "training") for i, text in enumerate(data)]
            return named or [("validation_0", False)]
    return [("validation_0", False)]


def kinds_of(tree):
    """The measures that eval_metric names, in their order."""
    given = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given += [k.value for k in node.keywords if k.arg == "eval_metric"]
        elif isinstance(node, ast.Dict):
            given += [v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and k.value == "eval_metric"]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            given += [node.value] if ast.unparse(node.targets[0].slice) == "'eval_metric'" else []
    found = [kind for node in given for kind in elements_of(node, tree) or [node]]
    return list(dict.fromkeys(k.value for k in found if isinstance(k, ast.Constant) and isinstance(k.value, str)))


def values_of_boosting(tree, source):
    """[(name, expression, mode, whether it is the one that early stopping looks at)]"""
    has_sets = re.search(r"\bevals\s*=|eval_set\s*=", source) is not None
    if not re.search(r"\b(xgb|xgboost)\b", source) or not has_sets or boosts_silently(tree):
        return []
    sets, kinds = sets_of(tree), kinds_of(tree)
    last = next((name for name, is_training in reversed(sets) if not is_training), sets[-1][0])
    return [(re.sub(r"\W", "_", f"{name}_{kind}"), f"{escaped(name)}-{escaped(kind)}:{{number}}", (of_words(kind) or (None,))[0],
             name == last and kind == kinds[-1]) for name, _ in sets for kind in kinds]
