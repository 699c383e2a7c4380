// Words in the names of metrics that say whether a metric is wanted large or small, in lower case.
// python/tune_init/measures.py has the same, for what `tune init` writes; a test compares the two.
#pragma once

#include <string_view>

namespace tune {

inline constexpr std::string_view kWantedLarge[] = {
    "acc",     "accuracy", "auc",         "auroc",       "ap",         "map",       "map50",
    "f1",      "score",    "r2",          "iou",         "miou",       "dice",      "precision",
    "recall",  "bleu",     "rouge",       "reward",      "rew",        "return",    "psnr",
    "ssim",    "top1",     "top5",        "elbo",        "likelihood", "loglik",    "correct",
    "hits",    "ndcg",     "mrr",         "kappa",       "mcc",        "acc1",      "acc5",
    "success", "ari",      "nmi",         "ami",         "meteor",     "jaccard",   "silhouette",
    "auprc",   "aupr",     "ap50",        "ap75",        "chrf",       "bertscore", "spearman",
    "pearson", "corrcoef", "concordance", "sensitivity", "specificity"};
inline constexpr std::string_view kWantedSmall[] = {
    "loss",    "error",      "err",   "rmse",      "mse",          "mae",      "mape",
    "ppl",     "perplexity", "nll",   "wer",       "cer",          "logloss",  "mlogloss",
    "merror",  "rmsle",      "fid",   "kl",        "regret",       "distance", "cost",
    "latency", "deviance",   "bce",   "ce",        "brier",        "residual", "residuals",
    "resid",   "bpb",        "bpc",   "bpd",       "eer",          "smape",    "mase",
    "mdape",   "wape",       "wmape", "nrmse",     "medae",        "msle",     "ece",
    "pinball", "crps",       "lpips", "hausdorff", "crossentropy", "xent",     "hinge",
    "aic",     "bic",        "kid",   "fvd",       "chamfer",      "epe",      "mpjpe"};

}  // namespace tune
