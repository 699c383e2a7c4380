"""Numbers that stand within the words before a value and count something: "mean return over 100 episodes: 31.2", "ndcg@10: 0.4"."""

import re

from measures import in_full, is_metric, part_of, words_of

COUNTED = "\2"  # In a line's text: such a number.
TIMES = r"(?:\s+(?:the|all|best|last|past|first|previous|a|its|k|n|epochs?|steps?|iter(?:ation)?s?|episodes?|rounds?|updates?))*"
SURE = re.compile(rf"(?:@\s*|\btop[-_ ]|\b(?:over|on|after|at|in|across|per){TIMES}[\s=#]+)$", re.I)
# "an accuracy of 0.5", "last 0.5 best: 0.6": what stands behind the number decides.
OPEN = re.compile(rf"\b(?:of|and|for|from|last|past|first|previous|the){TIMES}[\s=#]+$", re.I)
# Words, with other such numbers among them, up to what parts a name from its value.
BEHIND = re.compile(rf"[\s-]*((?:[A-Za-z{COUNTED}][\w'{COUNTED}-]*\s*|[\[(]){{0,6}})[)\]]?\s*(?::|=|->|\bis\b)\s*")
# What is counted: "after 3 epochs of training", "(1000 samples, 3 epochs)".
NOUN = r"(?:(?:test|training|validation|random|held-out|unseen) )?(?:epochs?|steps?|iterations?|rounds?|episodes?|games|runs?|seeds?|folds?|batches|" \
       r"samples?|images?|examples?|points?|rows?|sentences|tokens|classes|items|users|questions|documents|records|instances)\b"
IN_BRACKET = re.compile(r"[(\[](?:[^()\[\]]*,)?\s*$")
# One that the script writes out: "Average return (10): ".
WRITTEN = re.compile(r"(\((?:last |over |of )*)\d+((?: \w+)?\)\s*[:=]\s*)$")


def is_count(before, behind):
    """Whether a number between these texts is one; `behind` ends where another number begins."""
    if re.match(rf"[\s-]*{NOUN}", behind, re.I) and "\n" not in behind:
        is_listed = re.match(rf"[\s-]*{NOUN}\s*[,)\]]", behind, re.I) and IN_BRACKET.search(before)
        if is_listed or SURE.search(before):
            return True
    words = BEHIND.fullmatch(behind)
    if not words or "\n" in behind:
        return False
    words = words.group(1)
    if re.search(r"(?:@\s*|\btop[-_ ]|\bat[\s=]+)$", before, re.I):  # Also "precision at 0.9 recall: 0.5".
        return True
    if is_metric(words):
        return False
    return SURE.search(before) is not None or OPEN.search(before) is not None and (not words or re.search(r"s\b", words) is not None)


def with_counts_marked(parts):
    """(the parts with these numbers as text, which of the values they are): "return over ", None, " episodes: ", None."""
    out, counts, nth = [], [], parts.count(None)
    parts = [p if p is None or i + 1 == len(parts) else WRITTEN.sub(rf"\1{COUNTED}\2", p) for i, p in enumerate(parts)]
    for i in range(len(parts) - 1, -1, -1):  # Behind a number may be others.
        part = parts[i]
        nth -= part is None
        before = "".join("1" if p is None else p for p in parts[:i]).split("\n")[-1]
        if part is None and i and parts[i - 1] and len(out) > 1 and out[0] and is_count(before, out[0]):
            out[0] = COUNTED + out[0]
            counts.append(nth)
        elif part is not None and out and out[0] is not None:
            out[0] = part + out[0]
        else:
            out.insert(0, part)
    return out, counts


# "Accuracy (%): ", "F1 (macro): ", "acc%: ".
REMARK = re.compile(r"([A-Za-z][\w /.@^-]*?)(?:\s*[(\[]\s*([^()\[\]\2:]{1,24}?)\s*[)\]]|,?\s*%)(?=\s*[:=]?\s*$)")


def with_remark(match):
    """"F1 macro" of "F1 (macro)", and "Accuracy" of "Accuracy (%)"."""
    name, remark = match.groups()
    if not is_metric(name) or part_of(words_of(remark or "")):
        return match.group(0)
    return f"{name} {remark}" if re.fullmatch("[A-Za-z]+", remark or "") else name


def spoken(text):
    """The words of a text without what it counts: "ndcg: " of "ndcg@5: ", "mean return: " of "mean return (over 100 episodes): ",
    "acc dev: " of "acc (dev): "."""
    text = REMARK.sub(with_remark, in_full(text))
    text = re.sub(r"(?<=\w)\s*\(((?:on |of )?[A-Za-z-]+)\)(?=\s*[:=]?\s*$)", lambda m: f" {m.group(1)}" if part_of(words_of(m.group(1))) else m.group(0), text)
    text = re.sub(rf"\s*[(\[][^()\[\]]*{COUNTED}[^()\[\]]*[)\]]", "", text)
    return re.sub(rf"\b(top)[-_ ]{COUNTED}", r"\1k", re.sub(rf"@\s*{COUNTED}", "", text), flags=re.I)


def has_count(text):
    """Whether a count stands among the words of a text, and not in the name of a measure, as in "ndcg@5: " and "top-5: "."""
    return COUNTED in re.sub(rf"(?:@|\btop[-_ ]){COUNTED}", "", text, flags=re.I)
