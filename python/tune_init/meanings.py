"""Options that change what the metric means: over those a sweep would compare values of different measures."""

import re

from hyperparameters import LETTERS
from measures import words_of

# A metric whose formula the script makes up; RMSE or an accuracy is the same under any loss.
FORMULAS = ("loss", "cost", "objective", "elbo", "nll", "score", "kl", "energy")
FORMULA_OPTIONS = ("loss", "criterion", "objective")  # "--loss mse".
WEIGHTS = ("weight", "coef", "coeff", "coefficient")  # "--kl-weight".
AT_K = ("recall", "precision", "hits", "hit", "ndcg", "map", "mrr", "ap", "top")
PARTS_OF_FORMULA = ("delta", "reduction", "margin", "temperature", "focal gamma", "label smoothing")  # "--huber-delta".
# Beside these measures: of the measure itself, or of the task that it judges.
BESIDE = ((("psnr", "ssim", "lpips"), ("scale", "scale factor", "upscale", "upscale factor", "sigma")), (("ece",), ("bins", "nbins")),
          (("dice", "iou", "miou", "jaccard"), ("smooth", "smoothing")), (("pinball",), ("rho", "tau", "alpha", "q")),
          (("robust", "adv", "adversarial", "attack"), ("eps", "epsilon")))
# What no name below needs: "--noise-std", "--n-points".
WORDS_ASIDE = ("type", "fn", "function", "std", "level", "size", "n", "num")

# Whatever the metric is. A name that ends so:
ENDINGS = ("scoring", "metric", "threshold", "thres", "thresh", "top k", "topk", "topn",  # how it is measured,
           "horizon", "window", "year", "task", "env", "environment", "env id", "env name", "game", "reward scale",  # what is to be done,
           "subset", "noise", "corruption", "difficulty",  # on what data,
           "subject", "patient", "station", "speaker", "label", "class id", "target id", "horizon hours", "horizon days", "forecast", "snr", "missing rate",
           "contamination", "map size", "agents", "opponent strength", "opponent", "goal", "train fraction", "train frac", "train ratio", "train size",
           "ticker", "language", "lang", "way", "ways", "shot", "shots", "lead time", "lead", "ignore background", "ignore index", "variance power",
           "imbalance", "imbalance ratio", "imbalance factor", "imb ratio", "imb factor",
           "fast dev run", "overfit batches")  # and on how little.
# The whole name:
NAMES = ("quantile", "quantiles", "top", "tokenizer",
         "points", "npoints", "data points", "input dim", "in dim", "in channels", "input channels", "in chans", "in features",
         "data fraction", "data frac", "dataset fraction", "fraction data", "subsample data", "data subsample", "data ratio", "data percent",
         "data percentage", "data portion")
# A switch of these words and those beside them: "--toy-data", "--use-oracle".
SWITCHES = {"tiny", "toy", "easy", "oracle", "debug", "smoke", "cheat"}
BESIDE_SWITCHES = {"use", "the", "data", "dataset", "set", "mode", "run", "only", "with", "problem", "task", "example", "version", "test", "val",
                   "labels"}
AVERAGES = {"macro", "micro", "weighted", "samples", "binary"}  # Of F1 and its like.
OF_DATA = re.compile(r"\b(?:data|dataset|synthetic|labels?|observations?|targets?)\b", re.I)  # In an option's help.

SPLIT = re.compile(r"\b(?:split|samples?|test|train)\b", re.I)


def ends_with(words, end):
    return words[-len(end.split()):] == end.split()


def given_as(name):
    """The expression of the option's value in a source: "args.k", "k"."""
    return rf"(?:\w+\.)?{re.escape(name)}\b"


def is_run_on_little(option):
    """Whether the option makes the task another, an easier one: "--debug", "--toy-data", "--overfit-batches 1"."""
    words = set(words_of(option.name))
    return words == {"overfit", "batches"} or option.kind == "bool" and bool(words & SWITCHES) and not words - SWITCHES - BESIDE_SWITCHES


def is_k_of_measure(option, measures, source):
    """Whether `k` is of recall@k or counts folds, and is not that of the nearest neighbours."""
    k = given_as(option.name)
    if re.search(rf"(?:KNeighbors\w*|\w*[kK][nN][nN]\w*)\([^()]*\b{k}|n_neighbors\s*=\s*{k}", source):
        return False
    is_folds = re.search(rf"Fold\(\s*(?:n_splits\s*=\s*)?{k}|\b(?:n_splits|n_folds|cv)\s*=\s*{k}", source) is not None
    is_folds = is_folds or re.search(r"\bfolds?\b", source, re.I) is not None and re.search(r"neighbo|knn|k_?means|top_?k", source, re.I) is None
    return is_folds or bool(measures & set(AT_K)) or re.search(r"@\s*\{?(?:\w+\.)?(?:top_?)?k\b", source, re.I) is not None


def is_of_made_data(option, source):
    """Whether `sigma` is the noise of data that the script makes, and not of a kernel or an augmentation."""
    return OF_DATA.search(option.help) is not None or re.search(rf"\b[yX]\w*\s*=[^\n;=]*\b{given_as(option.name)}\s*\*[^\n;]*(?:rand|normal)",
                                                                source) is not None


def is_of_split(option, source):
    """Whether an option whose name says little, `n` or `ratio`, says how much data there is, or how it is split."""
    if option.name.lower() not in (*LETTERS, "ratio"):
        return False
    value = rf"{given_as(option.name)}\s*[,)]"
    return (OF_DATA.search(option.help) or SPLIT.search(option.help)
            or re.search(rf"\b(?:n_samples|n_features|train_size|test_size)\s*=\s*{value}", source)) is not None


def is_always(option, words, source):
    """Whether the option says what is measured or on what, whatever the metric is."""
    default = option.default if isinstance(option.default, (int, float)) else 0
    if any(ends_with(words, end) for end in ENDINGS) or " ".join(words) in NAMES or is_run_on_little(option) or is_of_split(option, source):
        return True
    if words[-1:] in (["average"], ["averaging"]):
        return bool(AVERAGES & {str(v) for v in [*(option.choices or []), option.default]})
    if words in (["tolerance"], ["tol"]):  # That of a solver is far smaller.
        return default >= 0.01 and re.search(rf"\btol\w*\s*=\s*{given_as(option.name)}", source) is None
    if words == ["sample", "rate"]:  # Of sound; a share of the rows is below 1.
        return default > 1
    if words in (["unit"], ["units"]):  # "m" and "cm", and no width of a layer.
        return option.kind == "str" or any(isinstance(c, str) for c in option.choices or [])
    return words == ["sigma"] and is_of_made_data(option, source)


def is_factor_of_loss(option, source):
    """Whether the script computes a loss with it: `loss = mse + args.lam * penalty`, `HuberLoss(delta=args.delta)`."""
    value = given_as(option.name)
    return re.search(rf"\b\w*(?:loss|penalty|objective)\w*\s*\+?=[^\n]*(?:\*\*?\s*{value}|\b{value}\s*\*)"
                     rf"|\w*Loss\([^()\n]*\b{value}", source) is not None


def changes_meaning(option, metric, source):
    """Whether values of the metric under two values of the option are not to be compared."""
    words = [w for w in words_of(option.name) if w not in WORDS_ASIDE]
    measures = set(words_of(metric))
    if is_always(option, words, source) or words == ["k"] and is_k_of_measure(option, measures, source):
        return True
    if any(measures & set(of) and " ".join(words) in names for of, names in BESIDE):
        return True
    if not measures & set(FORMULAS):
        return False
    if any(ends_with(words, end) for end in PARTS_OF_FORMULA) or is_factor_of_loss(option, source):
        return True
    if words == ["p"] and re.search(r"\bnorm\b", option.help, re.I):
        return True
    is_part = words and (words[-1] in WEIGHTS or words[0] == "lambda" and len(words) > 1) and "decay" not in words and words != ["class", "weight"]
    is_beta = words == ["beta"] and re.search(r"\bkl", source, re.I) is not None  # Of a variational autoencoder.
    return bool(words) and (words[-1] in FORMULA_OPTIONS or is_part or is_beta)
