"""Numbers that stand within the words before a value and count something: "mean return over 100 episodes: 31.2", "ndcg@10: 0.4"."""

import bisect
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
BEFORE_MAX = 200  # Characters that are read of what stands before a number.
WRITTEN = re.compile(r"(\((?:last |over |of )*)\d+((?: \w+)?\)\s*[:=]\s*)$")


def is_count(before, behind):
    """Whether a number between these texts is one; `behind` ends where another number begins."""
    before = before[-BEFORE_MAX:]
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


def with_written_marked(text):
    return WRITTEN.sub(rf"\1{COUNTED}\2", text)


def texts_before(parts):
    """Of each part what stands before it on its line, the end of it, with 1 for a number."""
    before, texts = "", []
    for part in parts:
        texts.append(before)
        before = (before + ("1" if part is None else part[-BEFORE_MAX:])).split("\n")[-1][-BEFORE_MAX:]
    return texts


def with_counts_marked(parts):
    """(the parts with these numbers as text, which of the values they are): "return over ", None, " episodes: ", None."""
    out, counts, nth = [], [], parts.count(None)  # `out` from its end on.
    parts = [p if p is None or i + 1 == len(parts) else with_written_marked(p) for i, p in enumerate(parts)]
    texts = texts_before(parts)
    for i in range(len(parts) - 1, -1, -1):  # Behind a number may be others.
        part = parts[i]
        nth -= part is None
        if part is None and i and parts[i - 1] and len(out) > 1 and out[-1] and is_count(texts[i], out[-1]):
            out[-1] = COUNTED + out[-1]
            counts.append(nth)
        elif part is not None and out and out[-1] is not None:
            out[-1] = part + out[-1]
        else:
            out.append(part)
    return out[::-1], counts


class Words:
    """What stands before each number of a line, as the text before the last value of with_counts_marked()."""

    def __init__(self, line, numbers):
        """`numbers`: their matches in the line."""
        self.line, self.ends = line, [n.end() for n in numbers]
        self.parts = []
        for number, before in zip(numbers, [0, *self.ends]):
            self.parts += [with_written_marked(line[before:number.start()]), None]
        self.texts = texts_before(self.parts)

    def before(self, place):
        nth = bisect.bisect_right(self.ends, place)
        text = with_written_marked(self.line[self.ends[nth - 1] if nth else 0:place])
        for at in range(2 * nth - 1, 0, -2):
            is_done = re.match(r"[^()\[\]]*[)\]]\s*[,;|]", text) is not None  # "(320 samples), val: ": of the value before.
            if is_done or not self.parts[at - 1] or not text or not is_count(self.texts[at], text):
                break
            text = self.parts[at - 1] + COUNTED + text
        return text


# "Accuracy (%): ", "F1 (macro): ", "acc%: ", without the name.
REMARK = re.compile(r"(?:\s*[(\[]\s*([^()\[\]\2:]{1,24}?)\s*[)\]]|,?\s*%)(?=\s*[:=]?\s*$)")
NO_NAME = re.compile(r"[^\w /.@^-]")


def with_remark(text):
    """"F1 macro: " of "F1 (macro): ", and "Accuracy: " of "Accuracy (%): "."""
    match = REMARK.search(text) if text.rstrip(" \t\n:=")[-1:] in (")", "]", "%") else None
    name = re.search("[A-Za-z].*", NO_NAME.split(text[:match.start()])[-1]) if match else None
    if name is None or not is_metric(name.group(0)) or part_of(words_of(match.group(1) or "")):
        return text
    remark = match.group(1) if re.fullmatch("[A-Za-z]+", match.group(1) or "") else ""
    return text[:match.start()] + (f" {remark}" if remark else "") + text[match.end():]


def spoken(text):
    """The words of a text without what it counts: "ndcg: " of "ndcg@5: ", "mean return: " of "mean return (over 100 episodes): ",
    "acc dev: " of "acc (dev): "."""
    text = with_remark(in_full(text))
    text = re.sub(r"(?<=\w)\s*\(((?:on |of )?[A-Za-z-]+)\)(?=\s*[:=]?\s*$)", lambda m: f" {m.group(1)}" if part_of(words_of(m.group(1))) else m.group(0), text)
    text = re.sub(rf"\s*[(\[][^()\[\]]*{COUNTED}[^()\[\]]*[)\]]", "", text)
    return re.sub(rf"\b(top)[-_ ]{COUNTED}", r"\1k", re.sub(rf"@\s*{COUNTED}", "", text), flags=re.I)


def has_count(text):
    """Whether a count stands among the words of a text, and not in the name of a measure, as in "ndcg@5: " and "top-5: "."""
    return COUNTED in re.sub(rf"(?:@|\btop[-_ ]){COUNTED}", "", text, flags=re.I)
