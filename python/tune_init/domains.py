"""A domain for an option, by its name, type and default."""

import json
import re


# Of these halves and doubles are tried, which a number of heads divides as it does the default.
WIDTHS = ("hidden", "units", "width", "dim", "channels", "size", "filters", "embed", "neurons", "leaves", "estimators", "features", "nodes", "embd", "emb",
          "emsize", "nhid", "hid", "embedding", "ffn", "dff")
MODEL_WIDTHS = ("d_model", "dmodel", "model_d", "d_ff", "d_inner", "d_k", "d_v", "d_kv", "d_head", "d_state", "d_token", "ff", "mlp_d")

SWITCHES = ("bias", "bn", "batchnorm", "batch_norm", "layernorm", "layer_norm", "groupnorm", "norm", "normalization", "residual", "skip", "bidirectional", "attention",
            "shortcut", "double", "dueling", "prioritized", "tied", "tie", "weight_norm", "spectral", "spectral_norm", "shuffle", "whiten", "gated", "gate", "se",
            "positional", "cosine", "class_weight", "balanced", "intercept", "fit_intercept", "early_exploration", "warm", "freeze", "finetune", "dart", "goss", "relu", "tanh", "gelu", "silu", "swish")
# Of whole numbers, beside these.
FLAGS = ("ema", "swa", "sam", "mixup", "cutmix", "aug", "augment", "augmentation", "lookahead", "amsgrad", "nesterov", "drop_last")


def words_in(name):
    return re.split(r"[_\W]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def is_like(name, *words):
    parts = words_in(name)
    return any(w in parts or (len(w) > 4 and w in name.lower()) for w in words)


def is_batch_size(name):
    """Whether the name is of a batch's size, as "train_batch", and not of a number of batches, as "batches_per_epoch"."""
    words = set(words_in(name))
    is_told = "batchsize" in name.lower() or {"batch", "size"} <= words
    beside = {"size", "train", "training", "per", "device", "gpu", "micro", "mini"} | ({"num", "n"} if "minibatches" in words else set())
    batches = words & {"batch", "bs", "minibatch", "minibatches"}
    return is_told or bool(batches) and words <= batches | beside


def is_flag(option):
    """Whether a whole number, 0 or 1, stands for a switch: "--use_bn 1", "--bias 0"."""
    words = words_in(option.name)
    is_named = len(words) > 1 and words[0] in ("use", "with", "is", "enable")
    rest = "_".join(words[1:] if is_named or words[0] == "no" else words)
    return option.kind == "int" and option.is_typed and option.default in (0, 1) and (is_named or rest in SWITCHES + FLAGS)


def is_seed(name):
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_")
    return words[-1] == "seed" and len(words) < 3 or words == ["random", "state"]


def number(value):
    """As YAML's core schema reads it as a number: 1.0e-05."""
    if isinstance(value, int):
        return str(value)
    text = repr(float(f"{value:.6g}"))
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def log_range(default, factor=10.0):
    return f"{{loguniform: [{number(default / factor)}, {number(default * factor)}]}}"


def below_one(default):
    """A factor or a share around its default, which stays below 1: [0.9, 0.995] for 0.95."""
    low, high = (1 - 2 * (1 - default), 1 - (1 - default) / 10) if default >= 0.5 else (default / 2, min(0.95, default * 2))
    return f"{{uniform: [{number(low)}, {number(high)}]}}", "below 1"


def is_usual(value):
    """Whether a range can be made around it: 1e400 is none."""
    return not isinstance(value, float) or value == 0 or 1e-100 < abs(value) < 1e100


def domain_of(option):
    """(domain, comment), or None where the option is better left as it is."""
    if not all(map(is_usual, [option.default, option.low, option.high, *(option.choices or [])])):
        return None
    found = proposed(option)
    if found is None or option.has_unknown_choices:
        return None
    domain = within_bounds(found[0], option)
    return (domain, found[1]) if domain else None


def open_bounds(option):
    """(low, high) of the option's values; an open bound of a float is moved by a thousandth."""
    low, high = option.low, option.high
    if option.kind == "int":
        return low, high
    step = (high - low) / 1000 if low is not None and high is not None else 1e-6
    return low + step if option.is_low_open else low, high - step if option.is_high_open else high


def clipped(value, low, high):
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def within_bounds(domain, option):
    """The domain where it holds what the option takes, and its default; None where nothing of it is left."""
    kind, text = re.match(r"\{(\w+): (.*)\}$", domain).groups()
    values, (low, high) = json.loads(text), open_bounds(option)
    is_default = isinstance(option.default, (int, float)) and not isinstance(option.default, bool)
    if kind == "choice":
        if option.choices or low is None and high is None:
            return domain
        kept = sorted({clipped(v, low, high) for v in values})
        return f"{{choice: {kept}}}" if len(kept) > 1 else None
    first, last = values[0], values[1] - (kind == "randint")
    if is_default and kind == "uniform":  # One that its name does not foresee.
        first, last = min(first, option.default), max(last, option.default)
    first, last = clipped(first, low, high), clipped(last, low, high)
    if first >= last or kind == "loguniform" and first <= 0:
        return None
    first, last = (first, last + 1) if kind == "randint" else (float(first), float(last))
    return f"{{{kind}: [{number(first)}, {number(last)}]}}"


def proposed(option):
    """The domain by name, type and default."""
    name, default = option.name, option.default
    is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
    kept = ("data", "dataset", "dir", "path", "file", "output", "out", "save", "log", "logs", "device",
            "name", "seed", "seeds", "runs", "restarts", "generations", "gens", "envs", "episodes", "boost_round", "trials", "repetitions", "epochs", "epoch", "steps", "iterations", "iters", "rounds", "workers",
            "threads", "jobs", "gpu", "gpus", "cuda", "verbose", "debug", "port", "host", "resume",
            "project", "wandb", "checkpoint", "interval", "every", "freq", "frequency", "fold",
            "folds", "kfold", "kfolds", "nfolds", "cv", "splits", "repeats", "split", "dry", "test", "eval", "evaluate", "local", "rank", "world", "quick", "limit",
            "train", "mode", "task", "target", "fp16", "bf16", "amp", "profile", "print", "cache",
            "root", "folder", "download", "progress", "silent", "quiet", "version", "config",
            "examples", "patience", "budget", "samples", "mps", "accel", "plot", "figure", "labels", "classes",
            "vocab", "num_classes", "warmup_steps", "only", "compile", "init", "fastmode", "tensorboard", "mlflow",
            "pretrained", "niter", "iter", "render", "overwrite", "force", "push", "hub")
    # "--bagging-freq 5", "--dropout-layers 2": no share.
    is_amount = option.kind == "int" and is_number and (default > 1 or option.is_typed)
    lr_words = ("lr", "learning_rate", "eta", "stepsize", "step_size", "learningrate")
    if option.is_list or option.kind == "path" or is_like(name, "test", "eval", "valid", "val"):
        return None
    if option.choices:
        is_not_begun = any(str(c).lower() in ("resume", "restore") for c in option.choices)
        if is_like(name, *kept) or len(option.choices) < 2 or is_not_begun:
            return None
        return "{choice: [" + ", ".join(scalar(c) for c in option.choices) + "]}", "its choices"
    if name == "eta" and is_number and 0 < default <= 1:
        return f"{{loguniform: [{number(default / 10)}, 1.0]}}", "a rate: on a log scale"
    is_weight_decay = is_like(name, "weight", "wd") and not is_like(name, "lr")
    low = 0.05 if is_like(name, *lr_words) else 0.5
    low = 0.05 if is_like(name, "rate", "factor") else low
    is_of_rate = is_like(name, "lr") and is_like(name, "factor", "gamma", "ratio", "pct", "mult")  # "--lr-factor 0.5"
    is_factor = (is_like(name, "decay") and not is_weight_decay or is_of_rate) and is_number and (0 if is_of_rate else low) < default < 1
    if is_factor:  # Of a schedule, or of a moving average.
        return below_one(default)
    if is_flag(option) and option.low is None and option.high is None:
        return None if is_like(name, *kept) else ("{choice: [0, 1]}", "a switch")
    if is_amount and default <= 1 and is_like(name, "dropout", "drop", "momentum", "mom", "smoothing"):
        return None  # A share that the script takes whole, or a switch.
    if name == "C" and not is_amount and option.kind in ("float", "int", None) and (default is None or is_number and default > 0):
        return log_range(default or 1.0, 100.0), "on a log scale"
    if is_like(name, *lr_words) and option.kind == "int":
        return None  # Steps of its schedule.
    if is_number and default < 0:
        return None  # No scale that its name tells of.
    if is_like(name, *lr_words) and option.kind in ("float", None):
        return log_range(default if is_number and default > 0 else 0.001), "a rate: on a log scale"
    if is_like(name, "l1") and is_like(name, "ratio"):
        return "{uniform: [0.0, 1.0]}", "a ratio"
    is_share = is_like(name, "prob", "probability", "epsilon", "eps") and is_number and 0.05 <= default <= 1
    if is_share and option.kind in ("float", None):
        return f"{{uniform: [{number(default / 2)}, {number(min(1.0, default * 2))}]}}", "a share"
    if is_like(name, "lambda", "lam", "alpha") and is_number and 0.8 <= default < 1:  # "--gae-lambda", the alpha of RMSprop.
        return "{uniform: [0.8, 0.999]}", "below 1"
    if is_like(name, "decay", "wd", "l1", "l2", "reg", "alpha", "lambda", "lam", "regularization",
               "penalty", "epsilon", "eps", "tol") and option.kind in ("float", None):
        if is_number and default > 0:
            return log_range(default), "on a log scale"
        return "{loguniform: [1.0e-06, 0.01]}", "on a log scale"
    if option.kind == "bool":
        has_no_effect = option.is_switch and option.default is True and not option.no_flag
        if is_like(name, *kept) or has_no_effect:
            return None
        return "{choice: [true, false]}", "a switch"
    if not is_amount and is_like(name, "dropout", "drop") and option.kind in ("float", "int", None):
        high = max(0.6, min(0.95, default * 1.2)) if is_number else 0.6
        return f"{{uniform: [0.0, {number(high)}]}}", "a probability"
    if is_like(name, "momentum", "mom") and not is_amount:
        return "{uniform: [0.5, 0.99]}", "below 1"
    if is_like(name, "smoothing") and not is_amount:
        is_large = is_number and 0.2 < default < 1  # That of a moving average.
        return below_one(default) if is_large else ("{uniform: [0.0, 0.2]}", "a share")
    if is_like(name, "subsample", "colsample", "bagging", "fraction") and not is_amount:
        return "{uniform: [0.5, 1.0]}", "a share"
    if is_like(name, "beta", "beta1", "beta2", "rho") and option.kind != "int" and (not is_number or default < 1):
        low = 0.8 if not is_number or default >= 0.8 else max(0.0, default / 2)
        return f"{{uniform: [{number(low)}, 0.999]}}", "below 1"
    if is_like(name, "gamma", "discount", "lam", "tau", "ema") and is_number and 0.9 <= default < 1:
        low = 0.9 if default >= 0.95 else 0.8
        return f"{{uniform: [{low}, 0.9999]}}", "right below 1"
    if is_like(name, "ema", "polyak", "averaging") and option.kind == "float" and is_number and 0 < default < 1:
        return below_one(default)
    if is_like(name, "batch", "bs") and option.kind in ("int", None) and not is_like(name, "norm", "batchnorm"):
        if not is_batch_size(name):
            return None  # How many there are, or how often something happens.
        base = int(default) if is_number and default >= 1 else 64
        sizes = [base // 2, base, base * 2] if base > 1 else [1, 2, 4]
        return f"{{choice: {sizes}}}", "around the default"
    if is_like(name, *kept):
        return None
    if default is None and option.low is not None and option.high is not None and option.kind in ("int", "float"):
        is_whole = option.kind == "int"
        high = option.high + 1 if is_whole else option.high
        return (f"{{{'randint' if is_whole else 'uniform'}: [{number(option.low)}, {number(high)}]}}",
                "whole numbers; the end is not a value" if is_whole else "its bounds")
    if option.kind == "int" and is_number and default > 0:
        if is_like(name, "head", "heads", "nhead", "nheads"):
            return f"{{choice: {sorted({max(1, default // 2), default, default * 2})}}}", "around the default"
        if (is_like(name, *WIDTHS) or name.lower() in MODEL_WIDTHS) and default >= 4:
            return f"{{choice: [{default // 2}, {default}, {default * 2}]}}", "around the default"
        low = max(1, default // 2)
        high = max(low + 2, default * 2 + 1)
        return f"{{randint: [{low}, {high}]}}", "whole numbers; the end is not a value"
    if option.kind == "float" and is_number and default > 0:
        if default < 0.01:
            return log_range(default), "on a log scale"
        if default <= 1:
            high = min(1.0, default * 2) if default < 1 else 1.5
            return f"{{uniform: [{number(default / 2)}, {number(high)}]}}", "around the default"
        return f"{{uniform: [{number(default / 2)}, {number(default * 2)}]}}", "around the default"
    return None
