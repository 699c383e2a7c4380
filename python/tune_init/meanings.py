"""Options that change what the metric means: over those a sweep would compare values of different measures."""

import re

from measures import words_of

# A metric whose formula the script makes up; RMSE or an accuracy is the same under any loss.
FORMULAS = ("loss", "cost", "objective", "elbo", "nll", "score", "kl", "energy")
FORMULA_OPTIONS = ("loss", "criterion", "objective")  # "--loss mse".
WEIGHTS = ("weight", "coef", "coeff", "coefficient")  # "--kl-weight".
AT_K = ("recall", "precision", "hits", "hit", "ndcg", "map", "mrr", "ap", "top")
# What is measured, on what, and how far ahead, whatever the metric is.
ALWAYS = (("scoring",), ("metric",), ("horizon",), ("threshold",), ("window",), ("subset",), ("noise",), ("reward", "scale"),
          ("env",), ("environment",), ("env", "id"), ("env", "name"), ("game",), ("task",), ("top", "k"), ("topk",), ("year",))


def ends_with(words, end):
    return tuple(words[-len(end):]) == end


def changes_meaning(option, metric, source):
    """Whether values of the metric under two values of the option are not to be compared."""
    words = [w for w in words_of(option.name) if w not in ("type", "fn", "function", "std", "level", "size", "n", "num")]
    measures = set(words_of(metric))
    is_formula = bool(measures & set(FORMULAS))
    if any(ends_with(words, end) for end in ALWAYS):
        return True
    if words == ["k"]:  # Of the nearest neighbours, or of recall@k.
        return bool(measures & set(AT_K)) or re.search(r"@\s*\{?\w*k\b", source) is not None
    if not is_formula:
        return False
    is_part = words and words[-1] in WEIGHTS and "decay" not in words and words != ["class", "weight"]
    is_beta = words == ["beta"] and re.search(r"\bkl", source, re.I) is not None  # Of a variational autoencoder.
    return bool(words) and (words[-1] in FORMULA_OPTIONS or is_part or is_beta or words == ["label", "smoothing"])
