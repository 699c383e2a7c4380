"""Which of the values that a program prints a sweep is about."""

import ast
import re

from counters import MEAN, counts_batches
from loops import is_of_epochs
from measures import ENDS, HIGHER, LOWER, REWARDS, is_half, measures_of, part_of, rank_of, words_of
from standings import text_of

# Words of a measure of its own: the mean squared and the mean absolute error are two.
DEFINING = ("squared", "absolute", "percentage", "log", "root", "roc", "pr", "balanced", "explained", "relative", "symmetric",
            "binary", "categorical", "sparse", "bits", "word", "character", "char", "token", "equal", "neg", "negative")
WHOLE = (*MEAN, "macro", "micro", "weighted", "total", "all", "global", "running", "model", "final", "the", "of", "on", "my", "set",
         "per", "epoch", "ep", "score", "rate", "value", "current", "last", "k", "at", "in", "for", "and", "network", "data", "images",
         "out", "sample", "held", "hold", "is", "percent", "pct", "eval", "loss", "acc", "accuracy", "error", "return", "len", "v")
# Of a value to compare with.
REFERENCES = ("baseline", "target", "random", "teacher", "initial", "expected", "optimal", "before", "old", "previous", "prev", "dummy",
              "init", "untrained", "chance", "naive", "guess", "oracle", "reference", "ref", "original", "start", "starting", "prior", "goal", "majority")
PAIRS = (("source", "target"), ("in", "out"))  # Of domains: which of them the sweep is about no word says.
ADVERSARIES = ("d", "g", "discriminator", "generator", "critic", "disc", "gen")  # The score of one is the other's loss.
EXTREMES = ("min", "max", "minimum", "maximum", "lowest", "highest", "so", "far", "best")
SAME = {"accuracy": "acc", "error": "err", "reward": "return", "rew": "return", "perplexity": "ppl", "cost": "loss"}
EPISODE = re.compile(r"\bep(?:isode|\.)?\b(?: (?:num|no|number|id)\b\.?)?[\s:=#\[(]*\d", re.I)
WHOLE_NAME, QUALIFIED, REFERENCE = 0, 1, 2  # How far a name is from a plain one.


def rank(metric):
    """The metric that a sweep is about: that of the validation, a score before a loss, that of an epoch before those of
    the classes or batches in it, the first before later ones."""
    return *rank_of(metric.name, metric.part), -max(1, metric.depth), tuple(-n for n in metric.order)


def pieces_of(name):
    """words_of(), with top1 and acc5 in two words."""
    return [p for w in words_of(name) for p in (re.fullmatch(r"(top|acc)(\d+)", w) or re.match("(.*)", w)).groups()]


def is_measure(word):
    return word in HIGHER or word in LOWER or word == "top"


def family_of(name):
    """The measure, as ("acc",): of names with the same one it is the other words that tell what each is."""
    words = pieces_of(name)
    last = next((w for w in reversed(words) if is_measure(w)), "")
    last = "loss" if last == "kl" else "acc" if last == "top" else SAME.get(last, last)
    return last, *sorted(w for w in words if w in DEFINING)


def standing_of(metric):
    words = pieces_of(metric.name)
    rest = [w for w in words if w not in WHOLE and w not in DEFINING and not part_of([w])]
    measures = [w for w in rest if is_measure(w)]
    family = family_of(metric.name)[0]
    rest = [w for w in rest if w not in measures or family == "loss" and len(words) > 1 and w != "mse"]
    if any(w in REFERENCES for w in rest):
        return REFERENCE
    if any(w in EXTREMES for w in rest) and not any(w in MEAN for w in words):
        return REFERENCE
    if family == "acc" and rest in (["1"], ["top", "1"]):  # The strictest of its kind, the accuracy itself.
        return WHOLE_NAME
    return QUALIFIED if rest or measures == ["kl"] else WHOLE_NAME


def is_before_loop(metric, others):
    """Whether the value is printed once before the loop that prints one of the others."""
    line = metric.printed
    return line is not None and not line.is_in_loop and any(
        o.printed is not None and o.printed.is_in_loop and o.printed.call.lineno > line.call.lineno for o in others)


def listed(names):
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def chosen_of(main, metrics):
    """(metric, doubt) among the values of the same measure, of which a name says how far it is from the whole."""
    peers = [m for m in metrics if rank(m)[:2] == rank(main)[:2] and not m.unit]
    same = [m for m in peers if family_of(m.name) == family_of(main.name)]
    if main not in same:
        return main, ""
    standings = {m.name: REFERENCE if is_before_loop(m, same) else standing_of(m) for m in same}
    for pair in PAIRS:
        if all(any(word in pieces_of(m.name) for m in same) for word in pair):
            standings.update({m.name: QUALIFIED for m in same if set(pair) & set(pieces_of(m.name))})
    least = min(standings.values())
    first = [m for m in same if standings[m.name] == least]
    chosen = max(first, key=rank)
    if least == WHOLE_NAME:
        return chosen, ""
    others = [m for m in peers if m not in same and standing_of(m) == WHOLE_NAME]
    is_part = pieces_of(chosen.name) == ["kl"] or bool(set(pieces_of(chosen.name)) & set(ADVERSARIES))
    if others and (len(first) > 1 or is_part or least == REFERENCE):
        return max(others, key=rank), ""
    if len(first) > 1:
        names = [m.name for m in sorted(first, key=lambda m: m.order)]
        return chosen, (f"{listed(names)} are printed, and no word says which of them the sweep is about: see that metric "
                        "names the right one")
    if pieces_of(chosen.name) == ["kl"]:
        return chosen, "kl is one part of a loss: let the script print the whole loss too, and call tune init again"
    if any(w in REFERENCES for w in pieces_of(chosen.name)):
        return chosen, (f"{chosen.name} is by its name a value to compare with: let the script print the value of the training "
                        "too, and call tune init again")
    return chosen, ""


def of_episodes(main, metrics):
    """(metric, doubt): beside an average the reward of each episode is chance."""
    text = main.text()
    words = words_of(main.name)
    is_average = any(w in MEAN for w in words) or part_of(words)
    if is_average or not EPISODE.search(text) or not any(w in REWARDS for w in words):
        return main, ""
    averages = [m for m in metrics if any(w in MEAN for w in words_of(m.name)) and any(w in REWARDS for w in words_of(m.name))]
    if averages:
        return max(averages, key=rank), ""
    return main, (f"{main.name} is printed for each episode alone, so that the luckiest episode would be the answer: let the script "
                  "print an average of the last ones too, and call tune init again")


def of_units(main, metrics):
    """Of folds, shards, ranks and their mean the mean."""
    if not main.unit and not main.is_of_rank:
        return main
    same = [m for m in metrics if measures_of(m.name) == measures_of(main.name)]
    of_all = [m for m in metrics if not m.unit and m.is_mean] + [m for m in same if not m.unit]
    return max(of_all if main.unit else [m for m in same if m.is_mean], key=rank, default=main)


def is_in_loop(metric):
    if metric.printed is not None:
        return metric.printed.is_in_loop
    return metric.times > 1 or metric.leads is not None or metric.is_of_each_epoch


def is_printed_once(metric):
    return not is_in_loop(metric) and not metric.unit and (metric.printed is not None or metric.times == 1)


def printed_by_loop(main, metrics):
    """The values that a loop prints from epoch to epoch beside one that is printed once; none where that is the mean of them."""
    in_loop = [m for m in metrics if is_in_loop(m) and not m.is_of_batches and not counts_batches(m.line) and standing_of(m) != REFERENCE]
    is_mean_of_them = main.is_mean and any(m.unit or family_of(m.name) == family_of(main.name) for m in in_loop)
    return [] if is_mean_of_them else [m for m in sorted(in_loop, key=rank, reverse=True) if not m.unit]


def of_loop(main, metrics):
    """A value of the validation that a loop prints goes before one that is printed once, by which no scheduler can stop a trial."""
    in_loop = printed_by_loop(main, metrics) if is_printed_once(main) else []
    least = 0 if is_before_loop(main, in_loop) else rank_of("test_loss")[0]
    return next((m for m in in_loop if rank(m)[0] >= least), main)


def doubts_on_once(main, metrics):
    """Where the loop prints a value that may be of the training, and the one to go by is printed once."""
    if not is_printed_once(main) or is_before_loop(main, metrics):
        return
    texts = [text_of(line) for line in main.beside if line.is_in_loop and not main.is_mean] + [m.text() or m.name for m in printed_by_loop(main, metrics)]
    if texts:
        yield (f"{main.name} is printed once, '{shown(main.text())}', so that no scheduler can stop a poor trial early, and of '{shown(texts[0])}', which "
               f"the loop prints, no word says that it is of the validation: let the loop print {named_of_validation(main.name)}, and call tune init again")


def doubts_on_turns(main, metrics):
    """A loop that by its name is of no epochs prints the value, and behind it the mean of all turns is printed."""
    line = main.printed
    if line is None or main.unit or main.is_mean or not isinstance(line.loop, ast.For) or is_of_epochs(line.loop):
        return
    mean = next((m for m in metrics if m.is_mean and is_printed_once(m) and m.printed is not None and m.printed.call.lineno > line.call.lineno
                 and family_of(m.name) == family_of(main.name) and not part_of(words_of(m.name)) == "training"), None)
    if mean is not None:
        yield (f"{main.name} is printed in each turn of `for {ast.unparse(line.loop.target)} in {ast.unparse(line.loop.iter)}`, and behind it "
               f"'{shown(mean.text())}': where the turns are repetitions and no epochs, write metric: {mean.name}, and take {main.name} out of metrics")


def shown(text):
    return text.strip().split("\n")[-1][:60]


def named_of_validation(name):
    """"val_acc" of "final_test_acc" and of "acc"."""
    return "_".join(["val", *(w for w in words_of(name) if not part_of([w]) and w not in ENDS)])


def main_of(metrics):
    """The sweep's metric, with its doubts."""
    if not metrics:
        return None
    first = max(metrics, key=rank)
    main = of_units(first, metrics)
    if main is first and not main.unit:
        main, doubt = chosen_of(main, metrics)
        episodes, doubt_on_episodes = of_episodes(main, metrics)
        doubts = [doubt if episodes is main else "", doubt_on_episodes]
        main = of_loop(episodes, metrics)
        main.doubts += filter(None, doubts if main is episodes and main.leads is None else [])
        main.doubts += doubts_on_once(main, metrics)
        main.doubts += doubts_on_turns(main, metrics)
    main = next((m for m in metrics if m.leads), main) if main.leads is False else main
    main.doubts += doubts_on_main(main, metrics)
    return main


def doubts_on_name(main):
    if set(pieces_of(main.name)) & set(ADVERSARIES):
        yield f"{main.name} is of one of two adversaries, of which one gains what the other loses: see that metric names a value of the result"
    elif is_half(main.name):
        yield (f"{main.name} alone can be had at the cost of the other: let the script print f1 or the like, and call tune init again, or see that "
               "it is what is wanted")


def doubts_on_others(main, metrics):
    """No word says of which part of the data it is, and other values or lines are printed that may be what the sweep is about."""
    if rank(main)[0] not in (0, 1) or part_of(words_of(main.name)) or main.unit:
        return
    others = [*main.unknown_beside, *(m.name for m in metrics if rank(m)[0] == 0 and family_of(m.name)[0] != "loss" and standing_of(m) != REFERENCE)]
    if family_of(main.name)[0] == "loss" and others and not main.is_of_batches:
        yield (f"{main.name} may be what the training lowers, and {listed(others[:4])} {'is' if len(others) == 1 else 'are'} printed, too: see that "
               "metric names the value that the sweep is about")
    elif main.others_of_validation:
        yield (f"{main.name} is read in '{shown(main.text())}', of which no word says that it is of the validation, and "
               f"'{shown(text_of(main.others_of_validation[0]))}' is: let the script print {named_of_validation(main.name)}, once for all of the "
               "validation, and call tune init again")


def doubts_on_main(main, metrics):
    again = "let the script print {} too, and call tune init again"
    if not main.doubts:
        yield from next(filter(None, (list(doubts_on_name(main)), list(doubts_on_others(main, metrics)))), [])
    if main.unit and len(main.unit_names) > 1:
        yield (f"{main.name} is printed for {listed(main.unit_names)}, which are no epochs: "
               + (f"{main.unit_names[0]} alone is read; " if main.is_of_first else f"the best {main.unit} alone would be the answer; ")
               + again.format("the mean of all"))
    elif main.unit:
        yield (f"{main.name} is printed for each {main.unit}, so that the best {main.unit} alone would be the answer: "
               + again.format(f"the mean of all {plural(main.unit)}"))
    is_told = any("of the training data" in doubt for doubt in main.doubts)
    if rank(main)[0] < 0 or main.part == "training" and rank(main)[0] == 0 and not is_told:
        yield (f"{main.name} is of the training data, on which the trial that learns by heart is the best: "
               + again.format("a value of the validation"))
    elif rank(main)[0] == 0 and main.is_of_batches and not main.unit:
        yield (f"{main.name} is printed for batches alone, so that the best single batch would be the answer: "
               + again.format("the mean of each epoch"))


def plural(unit):
    return unit + ("es" if unit.endswith("s") else "s")
