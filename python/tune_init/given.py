"""Options that the person's command gives already, as in `--command "torchrun train.py --lr 0.3"`."""

import os

from options import number_or_text


def places_of(option, words):
    """[(where its flag stands among the words, the value, how many words it takes)]"""
    flags = [option.flag, option.no_flag, *option.aliases]
    for at, word in enumerate(words):
        if option.is_joined and word.startswith(option.flag):
            yield at, word[len(option.flag):], 1
        elif not option.is_joined and word.split("=", 1)[0] in filter(None, flags):
            is_alone = option.is_switch or "=" in word
            value = word != option.no_flag if option.is_switch else word.split("=", 1)[1] if "=" in word else " ".join(words[at + 1:at + 2])
            yield at, value, 1 if is_alone else 1 + option.count


def is_module(word, script):
    """Whether `python3 -m WORD` runs the script: pkg.train is pkg/train.py, and pkg is pkg/__main__.py."""
    path = os.path.normpath(os.path.splitext(script)[0]).removesuffix(os.sep + "__main__").replace(os.sep, ".").strip(".")
    return path == word or path.endswith("." + word) or word.endswith("." + path)


def place_of_script(command, script):
    """Where the script stands in the command, by whatever path or as a module; None: it does not."""
    for i, word in enumerate(command):
        if os.path.basename(word) == os.path.basename(script) or i and command[i - 1] == "-m" and is_module(word, script):
            return i
    return None


def words_behind(command, script):
    """Where the words for the script begin in the command."""
    place = place_of_script(command, script)
    return len(command) if place is None else place + 1


def taken_over(command, script, options, is_searched):
    """(the command, the options) without the words of options that are searched over, which a range around their values stands for, and
    without the options of which the command's word stays."""
    begin = words_behind(command, script)
    before, words, kept = command[:begin], command[begin:], []
    for option in options:
        found = list(places_of(option, words)) if option.flag else []
        if not found:
            kept.append(option)
            continue
        value = found[-1][1]
        if not option.is_switch and not option.is_list:
            option.default, option.is_given = number_or_text(value) if option.kind != "str" else value, True
        if is_searched(option):
            for at, _, count in reversed(found):
                del words[at:at + count]
            kept.append(option)
    places = [w for i, w in enumerate(words) if not w.startswith("-") and not (i and words[i - 1].startswith("-") and "=" not in words[i - 1])]
    taken = [o for o in kept if o.is_positional()][:len(places)]
    return before + words, [o for o in kept if o not in taken]
