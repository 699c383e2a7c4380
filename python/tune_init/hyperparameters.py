"""Which options belong to a model or its training by their names. What no word here knows may as well choose the data, the task or how
it is measured, `--features M`, `--lowercase`, `--site 3`: a sweep over that compares what is not to be compared, and says nothing."""

from domains import MODEL_WIDTHS, SWITCHES, WIDTHS, is_like

RATES = ("lr", "learning_rate", "rate", "eta", "eta0", "stepsize", "step_size", "momentum", "mom", "nesterov", "beta", "beta1", "beta2", "betas", "rho", "eps",
         "epsilon", "decay", "wd", "warmup", "anneal", "annealing", "clip", "clipping", "max_grad_norm", "grad_clip", "gamma", "step_gamma", "milestones",
         "cooldown", "plateau", "amsgrad", "accumulation", "accum", "trust", "lookahead", "sam", "swa", "ema", "polyak", "tau", "averaging", "cycle")
REGULARIZERS = ("dropout", "drop", "dropconnect", "droppath", "l1", "l2", "l1_ratio", "reg", "regularization", "penalty", "alpha", "lambda", "lam", "smoothing",
                "mixup", "cutmix", "augment", "augmentation", "aug", "cutout", "erasing", "stochastic", "noise_std", "jitter", "tol", "C", "nu", "bagging",
                "subsample", "colsample", "feature_fraction", "bagging_fraction", "min_child", "min_child_weight", "min_samples", "max_features", "ccp")
SHAPES = (*WIDTHS, *MODEL_WIDTHS, "layers", "layer", "depth", "blocks", "stages", "heads", "head", "nhead", "kernel", "kernel_size", "stride", "padding", "dilation",
          "growth", "expansion", "expand", "groups", "experts", "patch", "rank", "lora", "latent", "bottleneck", "projection", "memory_size", "trees", "stumps",
          "leaf", "splits", "bins", "max_bin", "neighbors", "neighbours", "knn", "components", "centers", "clusters", "degree", "coef0", "bandwidth",
          "lengthscale", "length_scale", "order", "lags", "slots", "codes", "codebook", "n_steps", "unroll", "cells", "hops", "ratio", "factor", "scale_factor",
          "width_mult", "multiplier", "n_layer", "num_layer", "nlayers", "nlayer")
BATCHES = ("batch", "batchsize", "bs", "minibatch", "minibatches", "buffer", "replay", "target_update", "update_every", "negatives", "neg", "rollout",
           "horizon_len", "population", "popsize", "pop", "mutation", "crossover", "elite", "elites", "tournament", "temperature", "temp", "entropy", "ent", "vf",
           "gae", "discount", "exploration", "per_alpha", "ratio_clip", "ppo", "inner", "particles", "damping", "pseudocount", "prior", "ngram")
CHOICES = ("optimizer", "optim", "opt", "optimiser", "activation", "act", "nonlinearity", "scheduler", "sched", "schedule", "pool", "pooling", "initialization", "initializer",
           "init", "model", "arch", "architecture", "backbone", "encoder", "decoder", "net", "network", "cell", "rnn", "booster", "boosting", "solver", "weights",
           "aggregator", "agg", "aggr", "aggregation", "policy", "algo", "algorithm", "estimator", "classifier", "regressor", "method", "strategy", "criterion", "loss",
           "impl", "variant", "imputer", "impute", "encoding", "attn", "fusion", "readout", "conv", "block", "head_type", "lr_policy", "sampler", "cov",
           "covariance", "covariance_type", "selection", "splitter", "boosting_type", "grow_policy", "trend", "seasonal")
OF_ALL = (*RATES, *REGULARIZERS, *BATCHES, *SWITCHES)
# Beside which a known word says nothing: "--norm-reward", "--drop-outliers", "--grid-size", "--mask-ratio".
OF_THE_TASK = ("reward", "rewards", "outlier", "outliers", "target", "targets", "grid", "map", "board", "block_size", "crop", "image", "img", "input", "context", "chunk",
               "mask", "sequence", "seq", "stopwords", "punct", "punctuation", "duplicates", "missing", "rows", "columns", "synthetic", "dummy", "mock", "leak")
LETTERS = ("k", "n", "m", "p", "d", "h", "a", "b", "c", "w", "q", "r", "x", "y", "z", "u", "v")  # Of scripts that name nothing in words.


def is_hyperparameter(option):
    """Whether a sweep searches over the option unasked."""
    name = option.name
    is_of_words = option.kind == "bool" or any(isinstance(c, str) for c in option.choices or [])
    if is_like(name, *OF_THE_TASK) or option.kind == "float" and is_like(name, "depth"):  # Of trees and networks it is whole.
        return option.is_required or option.is_given
    known = (*OF_ALL, *(CHOICES if is_of_words else SHAPES))
    return option.is_required or option.is_given or is_like(name, *known) or name.lower().strip("0123456789_") in LETTERS or name == "C"
