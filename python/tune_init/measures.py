"""What the name of a metric says: whether it is one, of which part of the data, and whether it is to be large."""

import functools
import re

# The same as in tuner/cli/words/metric_words.h; a test compares the two.
HIGHER = ("acc", "accuracy", "auc", "auroc", "ap", "map", "map50", "f1", "score", "r2", "iou", "miou", "dice",
          "precision", "recall", "bleu", "rouge", "reward", "rew", "return", "psnr", "ssim", "top1", "top5",
          "elbo", "likelihood", "loglik", "correct", "hits", "ndcg", "mrr", "kappa", "mcc", "acc1", "acc5", "success",
          "ari", "nmi", "ami", "meteor", "jaccard", "silhouette", "auprc", "aupr", "ap50", "ap75", "chrf", "bertscore",
          "spearman", "pearson", "corrcoef", "concordance", "sensitivity", "specificity")
LOWER = ("loss", "error", "err", "rmse", "mse", "mae", "mape", "ppl", "perplexity", "nll", "wer",
         "cer", "logloss", "mlogloss", "merror", "rmsle", "fid", "kl", "regret", "distance", "cost",
         "latency", "deviance", "bce", "ce", "brier", "residual", "residuals", "resid", "bpb", "bpc", "bpd", "eer",
         "smape", "mase", "mdape", "wape", "wmape", "nrmse", "medae", "msle", "ece", "pinball", "crps", "lpips",
         "hausdorff", "crossentropy", "xent", "hinge", "aic", "bic", "kid", "fvd", "chamfer", "epe", "mpjpe")
# Of several words; words_of() has each as one.
HIGHER_OF_SEVERAL = ("explained variance", "hit rate", "hit ratio", "exact match", "mutual info", "mutual information", "rand index",
                     "v measure", "c index", "calinski harabasz")
LOWER_OF_SEVERAL = ("cross entropy", "bits per byte", "bits per char", "bits per character", "bits per dim", "bits dim", "bits per word",
                    "davies bouldin")
HIGHER += tuple(phrase.replace(" ", "") for phrase in HIGHER_OF_SEVERAL)
LOWER += tuple(phrase.replace(" ", "") for phrase in LOWER_OF_SEVERAL)
TIMES = ("time", "elapsed", "eta", "sec", "secs", "seconds", "took", "takes", "duration", "dt")
UNIT_OF_TIME = r"(?:s|ms|secs?|seconds?|min|minutes?|h|hours?)"  # Behind a value.
NEVER = (*TIMES, "lr", "epoch", "epochs", "step", "steps", "seed", "batch", "iter", "iteration", "best", "total", "params", "patience", "grad",
         "std", "stddev", "stdev", "sd", "deviation", "variance", "var", "scale", "weight", "weights", "coef", "threshold")

AMOUNTS = ("size", "samples", "sample", "images", "examples", "rows", "len", "count", "tokens", "words", "batches", "users", "items", "ips", "per", "second")
OF_NO_MEASURE = (*AMOUNTS, "sizes", "image", "length", "n", "num", "number", "set", "data", "split", "fold", "shape", "path", "file", "dir", "every", "interval", "freq", "loader", "dataset", "id", "index", "is", "on",
                 "of", "the", "after", "at", "for", "in", "and", "with", "from", "to", "frac", "fraction", "ratio", "points",
                 "learning", "rate", "momentum", "epsilon", "eps", "alpha", "beta", "gamma", "tau", "temperature", "norm", "decay", "dropout", "gpu", "cpu", "util", "fps",
                 "memory", "mem", "speed", "throughput", "accepted", "only", "mode", "run", "running", "done", "start", "begin", "begins", "end", "ends")

# In the name of a summary.
ENDS = ("best", "done", "finished", "restored", "final", "finally", "result", "results", "early", "previous")

# Beside the word "score" these say nothing of a direction.
OF_ANY_SCORE = (*ENDS, "best", "mean", "average", "avg", "median", "overall", "total", "cross", "fold", "folds", "last", "model",
                "s", "the", "my", "out", "of", "sample")

# Of scores that are to be large; what an "energy_score" or "anomaly_score" is no name says.
OF_LARGE_SCORE = ("f", "fbeta", "beta", "f2", "f05", "tm", "inception", "clip", "skill", "similarity", "quality", "success", "normalized", "d4rl",
                  "episode", "episodes", "ep", "game", "em", "macro", "micro", "weighted", "balanced", "top", "match", "matching", "rand",
                  "completeness", "homogeneity", "fowlkes", "d2", "comet", "bleurt", "cosine")

HALVES = {"precision", "recall", "sensitivity", "specificity"}
RATES = {"wer", "cer", "eer", "fid"}  # To be small, and yet what the loss is there for.
REWARDS = ("reward", "rew", "return")
SIGNS = ("neg", "negative", "minus")
CHANGES = ("improvement", "decrease", "reduction", "drop", "gain")
SHORTFALLS = ("gap", "disparity", "difference", "diff", "missed", "missing")  # Of a score they are to be small.
# `neg_...` of scikit-learn's scorers and the like; a plain `neg_loss` may be the loss of negative samples.
NEGATED = ("mean", "root", "median", "max", "log", "logloss", "brier", "mse", "rmse", "mae", "mape", "rmsle", "msle")
LIKELIHOOD = ("log_likelihood", "likelihood", "loglik", "elbo")

VALIDATION = re.compile(r"(?:va|vl|vld|val|vali|valid|validation|validate|validating|dev|devel|development|eval|evaluation|evaluate|evaluating|check|holdout|"
                        r"heldout|oos|oob|cv)(?:set)?\d*$")
TRAINING = re.compile(r"(?:tr|trn|train|training|fit)(?:set)?\d*$")
# "valloss", "vacc".
JOINED = re.compile(r"(train|trn|tr|valid|val|vld|vl|va|v|test|dev|eval)(loss|accuracy|acc|error|err|rmse|mse|mae|auc|"
                    r"f1|score|ppl)$")


PHRASES = re.compile(r"(?<![a-z0-9])(?:" + "|".join(p.replace(" ", "[^a-z0-9]") for p in (*HIGHER_OF_SEVERAL, *LOWER_OF_SEVERAL)) + r")(?![a-z0-9])")
# "accuracy after 3 epochs of training" is of any data.
LENGTH = re.compile(r"(?<![a-z])(?:(epochs?|steps?|iterations?|rounds?|hours?|minutes?)[\s_]+of|after)[\s_]+training(?![a-z])"
                    r"(?![\s_]+(?:the[\s_]+)?(?:data|set|split|images|samples|examples|points|batch|acc|loss|err|score))")
# In place of the letter that stands for it.
IN_FULL = ((re.compile(r"\bR(?:\^|\*\*)2\b|\bR²", re.I), "R2"), (re.compile(r"\bHR@", re.I), "hit_rate@"), (re.compile(r"\bHit@", re.I), "hits@"),
           (re.compile(r"\bPrec@(?=\W*[15\2])", re.I), "acc@"),  # Of ImageNet's scripts: the part within the first one or five.
           (re.compile(r"@\s*\[\s*(?:IoU=)?0?\.50?\s*:\s*0?\.95\s*\]"), ""),  # mAP itself.
           (re.compile(r"\bR@(?=\W*[\dk\2])", re.I), "recall@"), (re.compile(r"\bP@(?=\W*[\dk\2])", re.I), "precision@"))


@functools.lru_cache(maxsize=1024)
def in_full(text):
    """"recall@1: " of "R@1: "."""
    for pattern, instead in IN_FULL:
        text = pattern.sub(instead, text)
    return text


def words_of(name):
    return list(split_in_words(name))


@functools.lru_cache(maxsize=1024)  # It is asked of one line again and again.
def split_in_words(name):
    name = re.sub(r"\b(top)[-_ ](\d+)(?!\d)", r"\1\2", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    name = re.sub(r"(?<![a-z])(rouge|bleu)(\d)", r"\1_\2", LENGTH.sub(r"\1", name))
    name = PHRASES.sub(lambda m: re.sub("[^a-z]", "", m.group(0)), name)
    words = re.split(r"[^A-Za-z0-9]+", name)
    return tuple(part for word in words if word for part in (JOINED.match(word) or re.match("(.*)", word)).groups())


@functools.lru_cache(maxsize=1024)
def is_metric(name):
    words = words_of(name)
    words = words[:-1] if words[-1:] == ["of"] else words
    is_whole = words[:1] == ["total"] and any(w in LOWER or w in REWARDS or w == "score" for w in words[1:])
    if not words or words[0] in NEVER and not is_whole or words[-1] in NEVER or any(w in ENDS for w in words):
        return False
    return any(w in HIGHER or w in LOWER for w in words)


def is_unknown_of_part(name):
    """Whether it is a value of the validation or the test that no word here knows: "val QWK"."""
    words = words_of(name)
    return part_of(words) in ("validation", "test") and may_be_measure([w for w in words if not part_of([w])])


def is_unknown_measure(name):
    """Whether it may be a measure that no word here knows: "qwk"."""
    words = words_of(name)
    return may_be_measure(words) and len(words[-1]) > 1 and not part_of(words)


def may_be_measure(words):
    return 0 < len(words) < 4 and not words[-1].isdigit() and not any(w in NEVER or w in ENDS or w in OF_NO_MEASURE for w in words)


def is_half(name):
    """Whether it is precision or recall alone, which a trial can have at the other's cost."""
    words = set(words_of(name))
    higher = words & set(HIGHER)
    return bool(higher) and higher <= HALVES and not {"average", "avg", "mean"} & words


def is_bare_score(name):
    """Whether the name says "score" and no known measure: "val_score", "energy_score". It has no direction of its own."""
    words = [w for w in words_of(name) if w not in OF_ANY_SCORE and not w.isdigit() and not part_of([w])]
    others = [w for w in words if w not in ("score", "scores")]
    is_known = any(w in HIGHER or w in LOWER or w in OF_LARGE_SCORE or w in SIGNS + CHANGES + SHORTFALLS for w in others)
    return len(others) < len(words) and not is_known


def measures_of(name):
    return {w for w in words_of(name) if w in HIGHER or w in LOWER}


def part_of(words):
    """The part of the data that words name: "validation", "test", "training" or ""."""
    text = "_".join(words)
    if any(VALIDATION.match(w) for w in words) or re.search(r"(?:^|_)(?:out_of_sample|held_out|hold_out)(?:_|$)", text):
        return "validation"
    if any(re.match(r"test(?:ing|set)?\d*$", w) for w in words):
        return "test"
    is_training = any(TRAINING.match(w) for w in words) or re.search(r"(?:^|_)in_sample(?:_|$)", text)
    return "training" if is_training else ""


def is_part_alone(name):
    """Whether the name says a part of the data, and nothing else: "val", "held-out"."""
    words = words_of(name)
    return part_of(words) != "" and (len(words) == 1 or "_".join(words) in ("held_out", "hold_out", "out_of_sample", "in_sample"))


def direction_of(name):
    """(mode, whether the name leaves no doubt about it)"""
    words = words_of(name)
    text = "_".join(words)
    lower = [i for i, w in enumerate(words) if w in LOWER]
    higher = [i for i, w in enumerate(words) if w in HIGHER]
    mode = "min" if lower else "max"
    if is_bare_score(name):
        return "max", False
    sign = next((i for i, w in enumerate(words) if w in SIGNS), None)
    if sign and words[sign - 1] == "one":  # 1 - accuracy
        mode, is_clear = direction_of("_".join(words[sign + 1:]))
        return "min" if mode == "max" else "max", is_clear
    if sign is not None:
        negated = "_".join(w for w in words[sign + 1:] if not part_of([w]))
        if negated.startswith(LIKELIHOOD):
            return "min", True
        if lower:
            return "max", words[sign] == "neg" and negated.startswith(NEGATED)
        return "min" if any(words[i] in REWARDS for i in higher) else "max", False
    if any(w in CHANGES for w in words):
        is_fall = "drop" in words or "decrease" in words or "reduction" in words
        return "min" if higher and not lower and is_fall else "max", False
    if any(w in SHORTFALLS for w in words):
        return "min", False
    is_mixed = lower and higher and higher[-1] > lower[-1] and not re.search(r"top\d$|acc\d$|brier_score$", text)
    return mode, bool(lower or higher) and not is_mixed


def rank_of(name, part_of_line=""):
    """Validation before test before training, a score before a loss; precision or recall alone, which a trial can have at
    the other's cost, behind other scores."""
    words = words_of(name)
    ranks = {"validation": 3, "test": 2, "training": -2}
    part = ranks.get(part_of(words)) or max(0, ranks.get(part_of_line, 0))
    if part == 0 and ("v" in words[:1] or any(w in REWARDS for w in words)):
        part = 1  # v_loss: of the validation, or of the value in reinforcement learning, beside its reward.
    higher = {w for w in words if w in HIGHER}
    if not higher and {w for w in words if w in LOWER} <= RATES and any(w in RATES for w in words):
        return part, 2
    return part, 0 if not higher else 1 if is_half(name) else 2
