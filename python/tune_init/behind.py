"""Values whose names stand behind them, as in "0.95 accuracy, 0.5 loss"."""

import re

from expressions import beginning_of, escaped, finds, group_in, is_free_of, rendered
from measures import UNIT_OF_TIME, part_of, words_of
from names import PART_NAMES, Naming, label_of, label_text

# "0.95 accuracy", "0.5 loss (train)", "0.95 accuracy in 3.1 s".
NAME_BEHIND = re.compile(r"(\s*%?\s+)([A-Za-z][\w /@^-]*?)(?:\s*[(\[]([A-Za-z]+)[)\]])?\s*"
                         r"(?=[,;|)\]\n.]|$|\s[-–—]\s|\s+[A-Za-z]+\s*[:=]\s*$|\s(?:in|after|at)\s*$)")
OF_TIME = re.compile(rf"\s*{UNIT_OF_TIME}\b")  # Behind a value that is no metric.

DOUBT_BEHIND = "{0} stands behind two values of one line, and nothing says what each of them is: let the script print val_{0}, and call tune init again"


def names_behind(parts, is_wanted, others=()):
    """{where: (name, expression)} of the values whose names stand behind them, as in "0.95 accuracy, 0.5 loss"; {} for lines with a name
    before a value, with one name for two values, or with a value that no expression finds. `others`: the lines it is to find nothing in."""
    holes = [i for i, part in enumerate(parts) if part is None and not (i + 1 < len(parts) and OF_TIME.match(parts[i + 1] or ""))]
    if not holes:
        return {}
    behind, rest = {}, list(parts)  # `rest`: without the names.
    for i in holes:
        text = parts[i + 1] if i + 1 < len(parts) and parts[i + 1] is not None else ""
        match = NAME_BEHIND.match(text + " " if i != holes[-1] else text.rstrip())
        if match is None:
            continue
        is_part = bool(match.group(3)) and part_of([match.group(3).lower()]) != ""
        end, words = match.end(2), match.group(2).split(" ")
        if i != holes[-1] and text[end:].strip() == "" and len(words) > 1 and part_of([words[-1].lower()]) and part_before(rest, i):
            end -= len(words[-1])  # "val 0.5 loss train 0.3 loss"
        head, _, data = re.sub(r" (?:on|of|for|over) ", "\n", text[match.start(2):end].strip(), count=1).partition("\n")
        if is_part and not data:
            data, end = match.group(3), match.end(3) + 1
        if is_wanted(label_of(head)) or part_of(words_of(data)) and is_wanted(f"{part_of(words_of(data))}_{label_of(head)}"):
            behind[i] = head, data, text[:end].rstrip()
            rest[i + 1] = text[end:]
    labels = Naming(rest, is_wanted).labels
    if not behind or max(behind) != holes[-1] or any(is_wanted(label) for label in labels.values()):
        return {}
    found, (text, numbers) = {}, rendered(parts)
    for i, (head, data, words) in behind.items():
        word, before = "", ""
        part = part_of(words_of(head))
        if not part:
            word, before = part_before(rest, i) or ("", "")
            group = "" if data or word else group_in(parts, i)
            part = part_of(words_of(data)) or part_of([(word or group).lower()])
            before = rf"\b{group}\b.*?" if group else before
        name = label_of(head) if part_of(words_of(head)) or not part else f"{PART_NAMES[part]}_{label_of(head)}"
        unit = r"\s*%?" if re.match(r"\s*%", words) else ""
        tail = unit + r"\s+" + re.sub(r"\s+", r"\\s+", escaped(re.sub(r"^\s*%?\s+", "", words))) + (r"\b" if words[-1].isalnum() else "")
        candidates = (before + "{number}" + tail, beginning_of(parts, i) + tail)
        right = [c for c in candidates if finds(c, text) == [numbers[i]]]
        if not right or name in (n for n, _ in found.values()):
            return {}
        found[i] = name, next((c for c in right if is_free_of(c, others)), right[0])
    return found


def part_before(parts, i):
    """(the word right before the value at parts[i] that names a part of the data, the expression of what stands there); None: none does."""
    text = label_text(parts[i - 1])[1] if i and parts[i - 1] else ""
    words = [w for w in re.finditer(r"[A-Za-z]\w*", text) if part_of([w.group(0).lower()])]
    if len({part_of([w.group(0).lower()]) for w in words}) != 1:
        return None
    label = text[words[0].start():]
    blank = "" if label == label.rstrip() and label[-1:] not in ":=" else r"\s*" if label.rstrip()[-1:] in ":=([" else r"\s+"
    return words[0].group(0), r"\b" + re.sub(r"\s+", r"\\s+", escaped(label.rstrip())) + blank


def stands_behind_both(parts, i):
    """Whether the word between the value at parts[i] and the one before it stands behind it, too: "0.5 loss 0.3 loss"."""
    word = (parts[i - 1] or "").strip()
    behind = (parts[i + 1] or "").strip() if i + 1 < len(parts) else ""
    return i > 1 and word.isalpha() and re.match(rf"{word}\b", behind) is not None
