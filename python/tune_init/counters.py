"""What a printed line counts besides its values: folds of a cross validation, batches, ranks of processes."""

import re

from measures import words_of

# What a program has several of at once or in turn, each with values of its own, beside folds.
UNITS = ("shard", "worker", "job", "replica", "chain", "client", "bag", "split", "seed", "process", "proc", "member", "learner",
         "agent", "site", "silo", "island", "restart", "repeat", "repetition", "run", "trial", "attempt", "replicate")
FOLD = re.compile(r"\b(?:k-?)?fold[\s:=#\[(\"'_-]*\d+\b(?!\.\d)|\bcv[\s#\[(]*\d+[/\]):]", re.I)
UNIT = re.compile(rf"\b({'|'.join(UNITS)})(?:[ _-]?(?:id|idx|no|index))?[\s:=#\[(\"'_-]*(\d+)\b(?!\.\d)", re.I)
LOOP_OVER_FOLDS = re.compile(r"fold(?!er)|\b\w*(?:kf|cv|splitter)\w*\.split\(", re.I)
# `for split in (...)` goes over "train" and "val".
LOOP_OVER_UNITS = re.compile(rf"\(?(?:\w+, )?({'|'.join(u for u in UNITS if u != 'split')})(?:_?(?:id|idx|no|index|i))?\b(?:, \w+)?\)?$")
MEAN = ("mean", "average", "avg", "overall", "cv", "cross", "aggregate", "aggregated")
SUMMARY = ("best", "final", "finally", "done", "finished", "restored", "summary", "overall", "result", "results",
           "average", "mean", "early", "stopping", "stopped", "improved", "previous")
RECORD = ("best", "restored", "early", "stopping", "stopped", "improved", "previous")
OF_FOLD = 2  # A level of lines.
BATCH = re.compile(r"\b(?:global_step|step|(?:mini)?batch|iter|iteration)\b[\s:=#\[(]*\d+\b(?!\.\d)|"
                   r"\[\s*\d+\s*/\s*\d+", re.I)
EPOCH_OF_ALL = re.compile(r"\bepoch\b[\s:=#]*[\[(]?\s*\d+\s*/\s*\d+[\])]?", re.I)
EPOCH_NUMBER = re.compile(r"\bepoch\b[\s:=#\[(]*(\d+)", re.I)
RANK = re.compile(r"[\[(<]?\b(?:(?:local|global|world|mpi)[ _-])?rank[\s:=#_-]*(\d+)\b[\])>]?", re.I)
SEVERAL_PROCESSES = re.compile(r"multiprocess|distributed|process_group|mpi4py|\bMPI|horovod|world_size|get_rank|"
                               r"\bRANK\b|accelerate|\bspawn")


def units_in(text):
    """[(unit, its number as it is written, where the number begins)] of a line: "shard 3". A fold's number is not needed."""
    if FOLD.search(text):
        return [("fold", "", 0)]
    return [(m.group(1).lower(), m.group(2), m.start(2)) for m in UNIT.finditer(text)]


def summarizes(text):
    """Whether a line sums up, so that its value is no iteration's."""
    return any(w in SUMMARY for w in words_of(text))


def ends_epoch(text):
    """Whether the line of a loop sums up one round of it, as after the lines of its batches."""
    return summarizes(text) and not any(w in RECORD for w in words_of(text))


def level_of(unit, is_summary, is_of_all):
    """Of lines with one metric those of the lowest level are read: epochs, a mean, folds and the like, other summaries."""
    if unit:
        return OF_FOLD
    return 0 if not is_summary else 1 if is_of_all else 3


def is_mean(text):
    return any(w in MEAN for w in words_of(text)) or re.search(r"\+\s?/\s?-|±", text) is not None


def levels_in(text):
    """How many brackets of numbers a line has: 2 for "[1/4][20/300] acc 0.5"."""
    return len(re.findall(r"\[\s*\d[\d\s/,]*\]", text))


def counts_batches(text):
    """Whether the line is one of many in an epoch: Epoch 1 step 100, Test: [100/938]."""
    return BATCH.search(EPOCH_OF_ALL.sub("epoch 1", text)) is not None


def are_of_batches(lines):
    """Whether lines of one metric are of batches and no epochs: the count begins anew, or an epoch has several."""
    counts = [BATCH.search(EPOCH_OF_ALL.sub("epoch 1", line)) for line in lines]
    if not all(counts) or any(map(ends_epoch, lines)):
        return False
    numbers = [int(re.search(r"\d+", count.group(0)).group(0)) for count in counts]
    epochs = [match.group(1) for match in map(EPOCH_NUMBER.search, lines) if match]
    return any(b <= a for a, b in zip(numbers, numbers[1:])) or len(set(epochs)) < len(epochs)
