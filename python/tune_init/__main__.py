"""Writes a space file for a script, to standard output: its options become parameters, what it
prints becomes metrics. `tune init` calls it. The script is read as text (ast) and never run.

    python3 python/tune_init SCRIPT [--log FILE] [--command PROGRAM...] [--working-dir FOLDER]

Shell, R and Julia are read by their words; a script in another language gets a template, and a log of it its metrics.
"""

import argparse
import ast
import os
import re
import shlex
import sys

from boosting import boosts_silently
from choice import main_of, rank
from domains import domain_of
from expressions import finds
from json_files import json_metrics
from lengths import length_of
from lines import called_in_loops_of, lines_of
from logs import Log
from measures import part_of, words_of
from metrics import metrics_of_lines, metrics_of_source, reported_names
from modules import modules_beside
from foreign import lines_of_foreign, options_of_foreign
from given import place_of_script, taken_over
from interfaces import notes_on, notes_on_frameworks, options_of, unseen_options
from scores import mode_in_log, mode_of_reported
from seeds import use_of_seeds
from shared_files import uses_of, uses_of_shell
from shell import Script, option_of
from space import Space, lines_of_file, reported_metrics

INTERPRETERS = {".py": "python3", ".sh": "sh", ".bash": "bash", ".R": "Rscript", ".r": "Rscript",
                ".jl": "julia", ".pl": "perl", ".rb": "ruby", ".js": "node", ".lua": "lua"}

SHELLS = (".sh", ".bash", ".zsh", ".ksh")


def is_shell(script, source):
    return os.path.splitext(script)[1] in SHELLS or re.match(r"#!.*\b(?:ba|z|k|da)?sh\b", source) is not None


def placeholders_in(words):
    """Of a command that names its parameters by itself: python3 train.py --lr {lr}."""
    return [name for word in words for name in re.findall(r"\{([A-Za-z_]\w*)\}", word)]


def command_of(script, source, given):
    if given:
        return given if place_of_script(given, script) is not None or placeholders_in(given) else given + [script]
    suffix = os.path.splitext(script)[1]
    shebang = re.match(r"#!\s*(?:\S*/env\s+)?(?:\S*/)?([\w.-]+)", source)
    if suffix in SHELLS and shebang:
        return [shebang.group(1), script]
    if suffix in INTERPRETERS:
        return [INTERPRETERS[suffix], script]
    return [script if "/" in script else "./" + script]


def refuse(why):
    """`tune init` shows what stands on standard output."""
    print(why)
    sys.exit(2)


def parsed(script, source):
    try:
        return ast.parse(source)
    except SyntaxError as error:
        if re.search(r"^\s*[%!]\w", source, re.M):
            return refuse(f"{script}:{error.lineno}: a notebook's line that python3 cannot read: export it with "
                          "`jupyter nbconvert --to script`, and take out its %magic and !shell lines")
        return refuse(f"{script}:{error.lineno}: the script is no Python that can be read: {error.msg}")


def modes_of_reported(tree, source):
    return {name: mode_of_reported(name, tree, source) for name in reported_names(tree)}


def add_python(space, script, source):
    """(metrics, {name: mode} of what it reports by itself); where the script has none, those of the modules beside it."""
    tree = parsed(script, source)
    beside = modules_beside(tree, script)
    options = options_of(tree, source, script)
    for path, module, text in beside:
        options = options or options_of(module, text, path)
    space.add_options(options)
    space.trees = [tree, *(module for _, module, _ in beside)]
    space.use_of_seeds = use_of_seeds(space.trees, options)
    for module, text in [(tree, source), *((m, t) for _, m, t in beside)]:
        space.files.add(uses_of(module, text, options), options)
    space.unseen += unseen_options(tree)
    space.notes += notes_on(tree, source, script, options)
    reported = next((found for found in (modes_of_reported(t, text) for t, text in [(tree, source), *(b[1:] for b in beside)])
                     if found), {})
    called = called_in_loops_of(space.trees) if beside else ()
    metrics = metrics_of_source(tree, source, called)
    if not metrics:
        found = [metrics_of_source(module, text, called) for _, module, text in beside]
        metrics = max(found, key=lambda names: max(map(rank, names), default=(-9,)), default=[])
    if not metrics and not reported:
        metrics = json_metrics(tree, options)
        space.files.measured |= {m.json.path for m in metrics}
    if not metrics and not reported:
        space.notes += notes_on_frameworks(tree, source, beside)
        if "xgboost" in source and boosts_silently(tree):
            space.notes.append("XGBoost prints nothing with verbose=False: let the script print its best_score, as in "
                               'print("val_score:", model.best_score), and call tune init again')
    return metrics, reported


def not_given(options, rest):
    """The options that the shell leaves to "$@" when it starts a program with this rest of a line."""
    words = rest.split()
    switches = [o.flag for o in options if o.is_switch]
    before = words[:next((i for i, word in enumerate(words) if word in ('"$@"', "$*", "$@")), 0)]
    places = sum(not word.startswith("-") and not (i and before[i - 1].startswith("-") and "=" not in before[i - 1]
                                                   and before[i - 1] not in switches) for i, word in enumerate(before))
    taken = [o for o in options if o.is_positional()][:places]
    flags = [word.split("=")[0] for word in words]
    return [o for o in options if o not in taken and not (o.flag and o.flag.rstrip("=") in flags)]


def add_shell(space, script, shell, source):
    """What a shell script takes and prints, and the Python scripts that it starts."""
    space.add_options(shell.options)
    space.files.add(uses_of_shell(shell.text_with_files, shell.assigned), shell.options)
    metrics = metrics_of_lines(shell.lines, source)
    for path, passes_on, rest in shell.started:
        path = os.path.join(os.path.dirname(script), path)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            text = file.read()
        tree = parsed(path, text)
        options = options_of(tree, text, path)
        space.trees.append(tree)
        given = not_given(options, rest) if passes_on else []
        space.use_of_seeds.update({name.lower(): use for name, use in use_of_seeds([tree], options).items()})
        space.add_options(given)
        space.files.add(uses_of(tree, text, options), given)
        if not metrics:
            metrics = metrics_of_source(tree, text)
            for metric in metrics:
                metric.source = "both"  # Nobody knows what `2>&1 | tee` and its like make of them.
    fixed = [f"{name}={value}" for name, value in shell.fixed if domain_of(option_of(name, value))]
    if fixed:
        name, value = fixed[0].split("=", 1)
        space.notes.append(f"the script itself fixes {', '.join(fixed)}; to search over one write "
                           f'{name}=${{{name}:-{value}}}, and call tune init again')
    if shell.sourced:
        space.notes.append(f"what {shell.sourced} sets is not seen: name such variables under env by hand")
    return metrics


def add_what_the_script_says(found, metrics, streams):
    """Of the metrics of a log: their modes, where they are written to, and whether they are of one class and the like."""
    by_name = {metric.name: metric for metric in metrics}
    for metric in found:
        in_script = by_name.get(metric.name)
        metric.mode = mode_in_log(metric, in_script and in_script.mode)
        if metric.source == "stdout" and (in_script.source if in_script else streams - {"stdout"}) not in ("stdout", set()):
            metric.source = in_script.source if in_script else "both"
        metric.leads = in_script.leads if in_script is not None else None
        if in_script is not None and in_script.unit and not metric.unit and finds(in_script.regex, metric.line):
            metric.unit, metric.unit_names = in_script.unit, in_script.unit_names


def is_clear_in(log, main, printed):
    """Whether the script itself says what its metric is, and its expression finds values in the log: it knows more than the log does."""
    if main is None or main.doubts or main.printed is None or not {main.part, part_of(words_of(main.name))} & {"validation", "test"}:
        return False
    for metric in printed:
        metric.times = sum(bool(finds(metric.regex, line)) for line in log.lines)
    return main.times > 0


def length_in(main_metric, printed, trees, options):
    """How many values a whole trial prints, by what the script prints; else by the log, which is of a whole trial."""
    metric = next((m for m in printed if main_metric and m.name == main_metric.name), main_metric)
    times = main_metric.times if main_metric else 0
    return length_of(metric, trees, options) or ((times, "values in the log") if times > 1 else None)


def main():
    parser = argparse.ArgumentParser(prog="tune init")
    parser.add_argument("script")
    parser.add_argument("--log")
    parser.add_argument("--command")
    parser.add_argument("--working-dir", help="where the script runs, from the space file's folder on")
    arguments = parser.parse_args()
    script = arguments.script
    try:
        with open(script, encoding="utf-8-sig", errors="replace") as file:
            source = file.read()
        log = None
        if arguments.log:
            with open(arguments.log, encoding="utf-8-sig", errors="replace", newline="") as file:
                log = file.read()
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    if any(ord(c) < 32 for c in script):
        refuse(f"{script!r}: the name has characters that no line of a space file can hold: call the script otherwise")
    if script.endswith(".py") and "\0" in source:
        refuse(f"{script}: this is no text, and so no Python script")
    if script.endswith(".ipynb"):
        refuse(f"{script}: a notebook is no program: `jupyter nbconvert --to script {script}` makes one; take out its "
               "%magic and !shell lines, and call tune init for it")
    space, metrics, reported = Space(), [], {}
    space.working_dir = arguments.working_dir or ""
    if script.endswith(".py"):
        metrics, reported = add_python(space, script, source)
    elif is_shell(script, source):
        space.is_shell = True
        metrics = add_shell(space, script, Script(source), source)
    else:
        suffix = os.path.splitext(script)[1]
        space.add_options(options_of_foreign(suffix, source))
        metrics = metrics_of_lines(list(lines_of_foreign(suffix, source)), source)
    printed, asked = metrics, []
    if log is not None and not reported:
        log = Log(log)
        found = log.metrics()
        if not found:
            refuse(f"{arguments.log}: no metric was found in it, such as 'val_loss: 0.5'")
        add_what_the_script_says(found, metrics, {line.stream for tree in space.trees for line in lines_of(tree)})
        by_script = main_of(metrics)
        if not is_clear_in(log, by_script, metrics):
            metrics, asked = found, by_script.doubts if by_script else []
    given = shlex.split(arguments.command) if arguments.command else []
    command = command_of(script, source, given)
    metrics = reported_metrics(reported) or metrics
    main_metric = main_of(metrics)
    if main_metric:
        main_metric.doubts += [doubt for doubt in asked if doubt not in main_metric.doubts]
    if main_metric and isinstance(log, Log):
        log.mark_iterations(main_metric, metrics)
    space.source = source
    if placeholders_in(given):  # The command is taken as it is.
        space.files.by_option = {}
    space.metric, options = main_metric.name if main_metric else "", list(space.options)
    if given and not placeholders_in(given):
        command, space.options = taken_over(command, script, space.options, space.is_searched)
    space.length = length_in(main_metric, printed, space.trees, options)
    space.asked_for = set(placeholders_in(given))
    space.settle()
    if placeholders_in(given):
        space.carry_by_command(placeholders_in(given))
    for line in lines_of_file(script, command, space, metrics, main_metric, log if isinstance(log, Log) else None):
        print(line)


if __name__ == "__main__":
    main()
