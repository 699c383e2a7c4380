"""Writes a space file for a script, to standard output: its options become parameters, what it
prints becomes metrics. `tune init` calls it. The script is read as text (ast) and never run.

    python3 python/tune_init SCRIPT [--log FILE] [--command PROGRAM...]

A script in another language gets a template; its metrics come from a log of it.
"""

import argparse
import ast
import os
import re
import shlex
import sys

from domains import domain_of, scalar
from logs import Log
from metrics import Metric, metrics_of_source, mode_of, rank, reported_names
from options import options_of

INTERPRETERS = {".py": "python3", ".sh": "sh", ".bash": "bash", ".R": "Rscript", ".r": "Rscript",
                ".jl": "julia", ".pl": "perl", ".rb": "ruby", ".js": "node", ".lua": "lua"}


def quoted(text):
    """A word of a YAML flow list."""
    if re.fullmatch(r"[A-Za-z_./-][\w./=+-]*", text) and text.lower() not in (
            "true", "false", "null", "yes", "no", "on", "off", "-", "--"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def single(text):
    return "'" + text.replace("'", "''") + "'"


def command_of(script, given):
    if given:
        return given if script in given else given + [script]
    suffix = os.path.splitext(script)[1]
    if suffix in INTERPRETERS:
        return [INTERPRETERS[suffix], script]
    return [script if "/" in script else "./" + script]


class Space:
    """The words of the command and the lines of `space`."""

    def __init__(self):
        self.words, self.lines, self.left_out, self.notes = [], [], [], []
        self.env = {}

    def add_option(self, option):
        name = option.name
        if name == "seed" and option.variable:
            self.env[option.variable] = "{tune.seed}"
            return
        if name == "seed" and option.flag:
            self.words.append(f'{quoted(option.flag)}, "{{tune.seed}}"')
            return
        found = domain_of(option)
        if option.kind == "text as bool":
            self.notes.append(f"{option.flag or name} has type=bool, for which every text is true, also False; "
                              "make it action=argparse.BooleanOptionalAction to search over it")
            found = None
        if found is None:
            if option.is_required and not option.is_config:
                self.add_needed(option)
            elif option.is_config and option.default is None:
                self.lines.append(f"  # {name}: ...   # the script reads it, and gives no default")
            else:
                self.left_out.append(option.flag or name)
            return
        domain, comment = found
        if option.default is not None and not option.is_switch:
            comment += f"; the script's default is {option.default}"
        if option.is_switch:
            self.add_switch(option)
        else:
            if option.variable:
                self.env[option.variable] = f"{{{name}}}"
            elif option.flag:
                self.words.append(f'{quoted(option.flag)}, "{{{name}}}"')
            elif not option.is_config:
                self.words.append(f'"{{{name}}}"')
            self.lines.append(f"  {name}: {domain}   # {comment}")

    def add_switch(self, option):
        name = option.name
        if option.no_flag:
            self.words.append(f'"{{{name}}}"')
            flags = f"{quoted(option.flag)}, {quoted(option.no_flag)}"
            self.lines.append(f"  {name}: {{choice: [{flags}]}}   # on or off")
            return
        # A flag without a value is there or not.
        self.words.append(f'["{{{name}_flag}}"]')
        self.lines.append(f"  {name}: {{choice: [true, false]}}   # {option.flag} is given or not")
        constant = f"{{const: {quoted(option.flag)}, when: {{{name}: true}}}}"
        self.lines.append(f"  {name}_flag: {constant}")

    def add_needed(self, option):
        """The script does not run without it, and nothing says what it should be."""
        value = option.choices[0] if option.choices else option.default
        text = str(value) if value is not None else option.name.upper()
        self.words.append((quoted(option.flag) + ", " if option.flag else "") + quoted(text))
        if value is None:
            self.notes.append(
                f"{option.flag or option.name} is needed: write its value for {text} in the command")


def metric_lines(metrics, main):
    lines = []
    for metric in metrics:
        source = "" if metric.source == "stdout" else f", from: {metric.source}"
        lines.append(f"    {metric.name}: {{regex: {single(metric.regex)}{source}}}"
                     + (f"   # {metric.line[:100]}" if metric.line else ""))
    beside = [m for m in metrics if m.block is not None and m.block == main.block]
    last = max(beside, key=lambda m: m.order[0], default=main)
    if last.order[0] > main.order[0]:
        lines.append(f"  report_on: {last.name}   # printed after {main.name}: an iteration ends there")
    return lines


def iteration_line(iteration, source):
    regex, first = iteration
    entries = [f"regex: {single(regex)}"] + ([f"from: {source}"] if source != "stdout" else [])
    return f"  iteration: {{{', '.join(entries + (['first: 0'] if first == 0 else []))}}}"


def write(out, script, command, space, metrics, reported, is_guess, epochs, log):
    name = re.sub(r"[^\w-]", "-", os.path.splitext(os.path.basename(script))[0])
    if reported:
        metrics = [Metric(n, "") for n in reported]
        for i, metric in enumerate(metrics):
            metric.order = (i, 0)
    main = max(metrics, key=rank) if metrics else None
    out(f"# Made by `tune init {script}`. Look it over, then: tune run --dry-run, --try-one, tune run.")
    doubts = [log.notes[main.name]] if log and main and main.name in log.notes else []
    for note in space.notes + doubts:
        out(f"# TO DO: {note}.")
    out(f"name: {name}")
    out("trainable:")
    out("  command: [" + ", ".join([quoted(w) for w in command] + space.words) + "]")
    if space.env:
        out("  env: {" + ", ".join(f'{name}: "{value}"' for name, value in space.env.items()) + "}")
    if main is None:
        out("  # TO DO: what it prints is not known. Run it once: `tune init --log FILE` reads its output.")
        out("  metrics:")
        out("    val_accuracy: {regex: 'val_accuracy: {number}'}")
    elif not reported:
        out("  metrics:")
        for line in metric_lines(metrics, main):
            out(line)
        iteration = log.iteration_of(main) if log else None
        if iteration:
            out(iteration_line(iteration, main.source))
    main_name = main.name if main else "val_accuracy"
    others = [m.name for m in metrics if m is not main][:6]
    out(f"metric: {main_name}" + (f"   # or: {', '.join(others)}" if others else ""))
    out(f"mode: {mode_of(main_name)}")
    out("samples: 16")
    out("space:" + ("" if space.lines else " {}"))
    if is_guess or not [line for line in space.lines if not line.lstrip().startswith("#")]:
        out("  # TO DO: no option was found to search over. Give the script one, and name it in the command:")
        out("  # lr: {loguniform: [1.0e-5, 1.0e-1]}   # and in the command: --lr, \"{lr}\"")
    for line in space.lines:
        out(line)
    if space.left_out:
        out("  # left as they are: " + ", ".join(space.left_out))
    out(f"# scheduler: {{asha: {{max_t: {epochs}, grace_period: 1}}}}   # stops poor trials early; max_t: epochs")
    out("# resources: {cpu: 1, gpu: 1}")


def refuse(why):
    """`tune init` shows what stands on standard output."""
    print(why)
    sys.exit(2)


def main():
    parser = argparse.ArgumentParser(prog="tune init")
    parser.add_argument("script")
    parser.add_argument("--log")
    parser.add_argument("--command")
    arguments = parser.parse_args()
    script = arguments.script
    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            source = file.read()
        log = None
        if arguments.log:
            with open(arguments.log, encoding="utf-8", errors="replace", newline="") as file:
                log = file.read()
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    space, metrics, reported, epochs = Space(), [], [], 20
    if script.endswith(".py"):
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            refuse(f"{script}:{error.lineno}: the script is no Python that can be read: "
                   f"{error.msg}")
        for option in options_of(tree, source):
            space.add_option(option)
            is_epochs = option.name in ("epochs", "num_epochs", "n_epochs", "max_epochs")
            if is_epochs and isinstance(option.default, int):
                epochs = option.default
        reported = reported_names(tree)
        metrics = metrics_of_source(tree, source)
    if log is not None and not reported:
        log = Log(log)
        found = log.metrics()
        if not found:
            refuse(f"{arguments.log}: no metric was found in it, such as 'val_loss: 0.5'")
        metrics = found
    command = command_of(script, shlex.split(arguments.command) if arguments.command else [])
    write(print, script, command, space, metrics, reported, not script.endswith(".py"), epochs,
          log if isinstance(log, Log) else None)


if __name__ == "__main__":
    main()
