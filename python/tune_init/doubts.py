"""What makes a value one of several of which one would be right, or another than its name says: it is asked."""

import ast
import re

from expressions import finds, rendered
from loops import literals_of, targets_of
from measures import TIMES, direction_of, is_bare_score, is_metric, measures_of, part_of, words_of
from names import PART_NAMES, Chain, Naming, measure_in, part_of_line
from origins import origin_of, part_of_function, teller_of
from pairs import doubts_on_pair
from repeats import repeated
from scores import last_name, value_at
from standings import STANDINGS, UNSAID, precedence, text_of

ALL_ARE_READ = "As this file stands each of these values is an iteration, and the best of all is the trial's"


def doubts_on(line, i, lines, name):
    """What makes the metric's line one of several of which one would be right."""
    example = f"as in val_{name}" if not part_of(words_of(name)) else "with a word of its own before it"
    remedy = f"let the script say which it is, {example}, and call tune init again"
    again = repeated(line, i, lines) or line.repeated_call
    if again:
        yield f"{name} {again}: {remedy}. {ALL_ARE_READ}"
    if line.old and line.is_in_if():
        yield (f"{name} is printed in some turns of the loop alone, such as those in which it improves, and the others are not "
               "counted: print it in each, and call tune init again")
    origin = origin_of(line, value_at(line, i))
    if origin.part == "training" and origin.is_of_data and not part_of(words_of(name)) and part_of_line(line.parts) not in STANDINGS:
        verb = "shows" if is_metric(origin.word) else "comes from"
        how = "is what the training lowers" if origin.word.endswith("backward()") else "by its name is of the training data"
        yield (f"{name} {verb} {origin.word}, which {how}, on which the trial that learns by heart is the best: let "
               "the script print a value of the validation with its name, and call tune init again")
    remark = re.match(r"\s*[(\[]([A-Za-z -]+)[)\]]", line.parts[i + 1] or "") if i + 1 < len(line.parts) else None
    if remark and part_of(words_of(remark.group(1))) == "training" and not part_of(words_of(name)):
        yield (f"{name} is of the training data, as '{remark.group(0).strip()}' behind it says: let the script print the validation's value with a "
               f"name before it, as in val_{name}, and call tune init again")
    yield from doubts_on_variable(value_at(line, i), name)
    splits = parts_of_loop(line)
    if splits and not part_of(words_of(name)):
        yield (f"{name} is printed for each of {', '.join(splits)} in the same words, below a line of its own: let the script say in the same "
               f"line which it is, as in val_{name}, and call tune init again. {ALL_ARE_READ}")
    if not Chain(line.parts, i).words:
        yield from doubts_on_pair(line, i, name)
    if line.unknown_part:
        yield (f"the line of {name} is printed for each {line.unknown_part}, and which there are is not seen: let the "
               "expression begin as the line of the validation does, such as ^val")


def parts_of_loop(line):
    """The texts of a loop over parts of the data that the line does not show, nor is printed for one of: ["train", "val"]; [] for others."""
    for loop in (n for n in line.loops if isinstance(n, ast.For)):
        texts = [v for v in literals_of(loop, {}) if isinstance(v, str)]
        tests = [n.test for n in ast.walk(loop) if isinstance(n, ast.If) and any(m is line.call for m in ast.walk(n))]
        looked_at = [line.call, line.printing, *tests]
        is_told = any(isinstance(n, ast.Name) and n.id in targets_of(loop) for v in looked_at for n in ast.walk(v))
        if len({part_of([t.lower()]) for t in texts} - {""}) > 1 and not is_told:
            return texts
    return []


def doubts_on_variable(value, name):
    """The variable that is shown contradicts the word beside it: "accuracy {seconds}", "loss {accuracy}"."""
    variable = last_name(value) if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) else ""
    measure = measure_in(variable) if variable and not is_bare_score(variable) else ""
    is_time = bool(set(words_of(variable)) & set(TIMES)) and not set(words_of(name)) & set(TIMES)
    is_other = bool(measure and measures_of(name)) and not is_bare_score(name) and direction_of(measure)[0] != direction_of(name)[0]
    if is_time or is_other:
        yield (f"{name} shows '{variable}', which by its name is {'a time' if is_time else 'another measure'}: let the script print the value "
               f"behind its name, as in '{name}: 0.5', and call tune init again")


def doubts_on_functions(line, strays, name):
    """train() and evaluate() print in words that no expression tells apart."""
    others = [n for n in strays if part_of_function(n) != part_of_function(line)]
    other = min(others, key=lambda n: n.call is line.printing, default=None)  # print() in the log() that both call is neither's.
    if other is None or not line.is_in_loop or not other.is_in_loop:
        return
    both = sorted((line, other), key=lambda n: STANDINGS.get(part_of_function(n), UNSAID))
    functions = [f"{teller_of(n).name}()" if teller_of(n) is not None else "the script itself" for n in both]
    word = part_of_function(both[0])
    if word not in STANDINGS:
        return
    yield (f"{name} is printed by {functions[0]} and by {functions[1]} in the same words, and no expression tells one from the other: let "
           f"{functions[0]} print {PART_NAMES[word]}_{name}, and call tune init again. {ALL_ARE_READ}")


def doubt_two_lines(metric, line):
    """Two lines of a loop print different values of the same name, and no word says of which part of the data they are."""
    first = metric.printed
    if first is None or metric.doubts or first.call is line.call or not line.is_in_loop or precedence(first) != precedence(line):
        return
    if (first.loop, first.block) != (line.loop, line.block) or finds(metric.regex, rendered(line.parts)[0]):
        return
    at = next((i for i in Naming(line.parts, is_metric, line).labels
               if Naming(line.parts, is_metric, line).of(i)[0] == metric.name), None)
    values = [value and ast.unparse(value) for value in (value_at(first, metric.order[1]), at and value_at(line, at))]
    if None not in values and values[0] == values[1]:
        return
    metric.doubts.append(f"{metric.name} is printed by two lines of the loop, '{text_of(first).strip()[:40]}' and '{text_of(line).strip()[:40]}', and "
                         "the expression reads the first: see that it is the one of the validation, or begin it as the other does")


def doubt_two_loops(metric, line):
    """Two stages of a training print a value of the same name, each in a loop of its own."""
    first = metric.printed
    if is_other_stage(first, line) and not metric.doubts and not finds(metric.regex, rendered(line.parts)[0]):
        metric.doubts.append(f"{metric.name} is printed for '{text_of(first).strip()[:40]}' and for '{text_of(line).strip()[:40]}', and the "
                             "expression reads the first alone: see that it is the one to go by, or begin it as the other does")
    if None in (first, line.loop) or first.loop is None or precedence(first) != precedence(line):
        return
    if line.loop in ast.walk(first.loop) or first.loop in ast.walk(line.loop) or metric.doubts:
        return
    if not finds(metric.regex, rendered(line.parts)[0]):
        metric.doubts.append(f"{metric.name} is printed by two loops, and the expression reads the first: see that it is the one "
                             f"to go by, or begin it as '{text_of(line).strip()[:40]}' does")
    elif follows(first, line):
        metric.doubts.append(f"{metric.name} is printed by two loops, one after the other, in the same words: let the script say which it is, "
                             f"and call tune init again. {ALL_ARE_READ}")


def is_other_stage(first, line):
    """Whether a function prints both lines, which is called for one stage and then for another, fit("pretrain") and fit("finetune")."""
    if first is None or first.printing is not line.printing or first.call is line.call or first.block != line.block:
        return False
    words = [words_of(text_of(n)) for n in (first, line)]
    return part_of(words[0]) == part_of(words[1]) and precedence(first) == precedence(line)


def follows(first, line):
    """Whether the line's loop runs behind that of the first, in the same list of statements."""
    outer, later = first.loops[0], line.loops[0]
    return later.lineno > outer.lineno and first.statements_of_loop == line.statements_of_loop
