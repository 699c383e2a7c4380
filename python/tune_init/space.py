"""The space file: the command's words, what carries the parameters, what is read, and what is left to a person."""

import os
import re

from choice import is_printed_once
from domains import domain_of, is_seed
from hyperparameters import is_hyperparameter
from meanings import changes_meaning, is_run_on_little
from measures import direction_of
from metrics import Metric
from shared_files import SharedFiles, listed
from subcommands import PREFERRED


def quoted(text):
    """A word of a YAML flow list."""
    if re.fullmatch(r"[A-Za-z_./-][\w./=+-]*", text) and text.lower() not in (
            "true", "false", "null", "yes", "no", "on", "off", "-", "--"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def printable(text):
    return "".join(c if c.isprintable() else " " for c in text)


def single(text):
    return "'" + text.replace("'", "''") + "'"


BAR_VARIABLE = "TQDM_MININTERVAL"


class Space:
    """The words of the command and the lines of `space`."""

    def __init__(self):
        self.words, self.lines, self.left_out, self.notes = [], [], [], []
        self.changing = []  # Options that are left as they are, because they change what the metric means.
        self.metric = ""
        self.working_dir = ""  # Where the space file lies in another folder than the one that the script's path begins in.
        self.use_of_seeds = {}  # name: "it makes the split": then trials with seeds of their own are not to be compared.
        self.unseen = []  # What is said of options that are not seen.
        self.seeds = []  # Options that get the trial's seed.
        self.left_seeds = {}  # use: [names]
        self.unsure = []  # (option, domain) of which no word says that they are of the training.
        self.asked_for = set()  # By the placeholders of the person's command.
        self.moved = []  # Options that name files, and name them in the trial's folder.
        self.env = {}
        self.length = None  # How many values of the metric a whole trial prints, and what they are: (20, "epochs").
        self.trees = []  # Of the script and of those that it imports or starts.
        self.is_shell = False
        self.options, self.source = [], ""
        self.files = SharedFiles()

    def add_options(self, options):
        self.options += options

    def settle(self):
        """Makes words and domains of the options, when the sweep's metric is known."""
        given = self.files.given()
        held = self.held_places()
        for option in self.options:
            if option in held:
                self.add_place(option)
            elif option.name in given:
                self.add_file(option, given[option.name])
            else:
                self.add_option(option)
        self.notes += self.files.notes(self.is_shell)

    def is_searched(self, option):
        if option.kind == "text as bool" or domain_of(option) is None:
            return False
        return self.is_known(option) and (option.is_required or not changes_meaning(option, self.metric, self.source))

    def is_known(self, option):
        return option.name in self.asked_for or is_hyperparameter(option)

    def held_places(self):
        """The positional words that are not searched over and yet have to stand there: the command has another behind them."""
        places = [o for o in self.options if o.is_positional()]
        carried = [i for i, o in enumerate(places, 1) if o.is_required or o.is_shifted or self.is_searched(o)]
        return [o for o in places[:max(carried, default=0)] if not self.is_searched(o)]

    def add_place(self, option):
        """A positional word that is left as it is."""
        if is_seed(option.name):
            self.add_seed(option)
            return
        default = option.stand_in if option.default is None else option.default
        if default is None or option.is_required:
            self.add_needed(option)
        else:
            values = default if isinstance(default, (list, tuple)) else [default]
            self.words += [quoted(str(v)) for v in values]
            self.left_out.append(option.name)

    def add_file(self, option, word):
        self.words.append(f'"{option.flag}{word}"' if option.is_joined else f'{quoted(option.flag)}, "{word}"')
        self.moved.append(f"{option.flag.rstrip('=')} (its default {option.default} would be one for all trials)")

    def add_option(self, option):
        name = option.name
        if option.word:
            self.words.append(f'"{option.word}"' if "{" in option.word else quoted(option.word))
            return
        if is_seed(name) and (option.variable or option.flag):
            self.add_seed(option)
            return
        found = domain_of(option)
        if option.kind == "text as bool":
            self.notes.append(f"{option.flag or name} has type=bool, for which every text is true, also False; "
                              "make it action=argparse.BooleanOptionalAction to search over it")
            found = None
        if (found is not None or is_run_on_little(option)) and not option.is_required and changes_meaning(option, self.metric, self.source):
            self.changing.append(option.flag.rstrip("=") or name)
            return
        if found is None:
            if option.is_required and not option.is_config:
                self.add_needed(option)
            elif option.is_config and option.default is None:
                self.lines.append(f"  # {name}: ...   # the script reads it, and gives no default")
            else:
                self.left_out.append(option.flag.rstrip("=") or name)
            return
        domain, comment = found
        if not self.is_known(option):
            self.unsure.append((option, domain))
            return
        if option.default is not None and not option.is_switch:
            comment += "; " + ("the command gave" if option.is_given else "the script's default is") + f" {option.default}"
        if option.is_switch:
            self.add_switch(option)
        else:
            if option.variable:
                self.env[option.variable] = f"{{{name}}}"
            elif option.is_joined:
                self.words.append(f'"{option.flag}{{{name}}}"')
            elif option.flag:
                self.words.append(f'{quoted(option.flag)}, "{{{name}}}"')
            elif not option.is_config:
                self.words.append(f'"{{{name}}}"')
            self.lines.append(f"  {name}: {domain}   # {comment}")

    def add_seed(self, option):
        """Gives the trial's seed, or one for all trials where it makes the split or the data."""
        name = option.flag.rstrip("=") or option.variable or option.name
        value = "{tune.seed}"
        use = self.use_of_seeds.get(option.name)
        if use:
            is_plain = isinstance(option.default, int) and not option.is_required
            self.left_seeds.setdefault(use, []).append(name if is_plain else f"{name} 0")
            if is_plain and not option.is_positional():
                return
            value = str(option.default) if is_plain else "0"
        else:
            self.seeds.append(name)
        if option.variable:
            self.env[option.variable] = value
        elif option.is_joined:
            self.words.append(f'"{option.flag}{value}"')
        else:
            self.words.append(f'{quoted(option.flag)}, "{value}"' if option.flag else f'"{value}"')

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

    def carry_by_command(self, names):
        """The command says by itself which parameters it takes: those are searched over, and no others."""
        def name_of(line):
            return re.match(r"\s*(\w*)", line).group(1)
        known = [name_of(line) for line in self.lines]
        self.left_out += [name for name in known if name and name not in names and f"{name}_flag" not in known
                          and not name.endswith("_flag")]
        self.lines = [line for line in self.lines if name_of(line) in names]
        for name in dict.fromkeys(names):
            if name not in known:
                self.notes.append(f"no option of the script is called {name}: write its domain")
                self.lines.append(f"  {name}: {{uniform: [0.0, 1.0]}}   # TO DO: its domain")
        self.words, self.env, self.seeds, self.left_seeds = [], {}, [], {}

    def add_needed(self, option):
        """The script does not run without it, and nothing says what it should be."""
        choices = option.choices or [option.default]
        value = next((w for w in PREFERRED if w in choices), choices[0])
        if len(choices) > 1 and value not in PREFERRED:
            self.notes.append(f"{option.flag or option.name} is needed, and the command gives the first of its choices, {value}")
        text = str(value) if value is not None else option.name.upper()
        self.words.append(", ".join(([quoted(option.flag)] if option.flag else []) + [quoted(text)] * option.count))
        if option.default is not None and value == option.default and len(choices) == 1:
            self.left_out.append(option.flag or option.name)
        if value is None:
            self.notes.append(
                f"{option.flag or option.name} is needed: write its value for {text} in the command")


def metric_lines(metrics, main):
    lines = []
    for metric in metrics:
        source = "" if metric.source == "stdout" else f", from: {metric.source}"
        lines.append(f"    {metric.name}: {{regex: {single(metric.regex)}{source}}}"
                     + (f"   # {metric.comment}{printable(metric.line[:100])}" if metric.line else ""))
    beside = [m for m in metrics if m.block is not None and m.block == main.block]
    last = max(beside, key=lambda m: m.order[0], default=main)
    if last.order[0] > main.order[0]:
        lines.append(f"  report_on: {last.name}   # printed after {main.name}: an iteration ends there")
    return lines


def of_one_iteration(metrics, main):
    """Without what stands on bars that are never read: those that end erased, and those whose count is not the main
    metric's."""
    def is_read(metric):
        if metric is main or metric.bar is None:
            return True
        is_erased = metric.bar.is_remade and metric.bar.is_erased
        return not is_erased and (not metric.iteration or bool(main.iteration) and metric.bar.call is main.bar.call)
    return [m for m in metrics if is_read(m)]


def bar_notes(main):
    remedy = f"If the sweep reads wrong values, print {main.name} in a line of its own at each epoch's end"
    return [f"the bar that shows {main.name} {doubt}. {remedy}" for doubt in main.bar.doubts] if main.bar else []


def iteration_line(iteration, source):
    regex, first = iteration
    entries = [f"regex: {single(regex)}"] + ([f"from: {source}"] if source != "stdout" else [])
    return f"  iteration: {{{', '.join(entries + (['first: 0'] if first == 0 else []))}}}"


def name_of_sweep(script):
    return re.sub(r"[^\w-]", "-", os.path.splitext(os.path.basename(script))[0])


def reported_metrics(modes):
    """Those that the script reports by itself: name: "max", "min", or None where its expression does not say."""
    metrics = [Metric(name, "") for name in modes]
    for i, metric in enumerate(metrics):
        metric.order, metric.mode = (i, 0), modes[metric.name]
    return metrics


def unknown_metric_lines(script, space):
    if not script.endswith(".py") or re.search(r"\bprint\b|\blogg|\.(info|warning|debug)\(|sys\.std\w+\.write|tqdm|echo|\bfit\(|Trainer", space.source):
        yield f"  # TO DO: what it prints is not known. Run it once: `tune init {script} --log FILE` reads its output."
    else:
        yield ("  # TO DO: it seems to print nothing. Let it print its value, or, where it writes one into a JSON file, say "
               "val_accuracy: {json: FILE, key: KEY}.")
    yield "  metrics:"
    yield "    val_accuracy: {regex: 'val_accuracy: {number}'}"


def trainable_lines(script, command, space, metrics, main, log):
    yield "trainable:"
    yield "  command: [" + ", ".join([quoted(w) for w in command] + space.words) + "]"
    if space.working_dir:
        yield f"  working_dir: {quoted(space.working_dir)}"
    if space.env:
        why = "   # TQDM_MININTERVAL: the bar counts each epoch (tqdm from 4.66)" if BAR_VARIABLE in space.env else ""
        yield "  env: {" + ", ".join(f'{name}: "{value}"' for name, value in space.env.items()) + "}" + why
    if main is None:
        yield from unknown_metric_lines(script, space)
    elif main.json:
        given = space.files.given()
        yield "  metrics:"
        for metric in metrics:
            yield f"    {metric.name}: {{json: {quoted(metric.json.path_in_trial(given))}, key: {quoted(metric.json.key)}}}"
    elif main.regex:
        yield "  metrics:"
        yield from metric_lines(metrics, main)
        iteration = log.iteration_of(main) if log else None
        if main.iteration:
            iteration = main.iteration, 0 if main.bar.counts_before else 1
        if iteration:
            yield iteration_line(iteration, main.source)


def space_lines(space):
    has_none = not [line for line in space.lines if not line.lstrip().startswith("#")]
    yield "space:" + ("" if space.lines else " {}")
    if has_none:
        remedy, where = "Give the script one, and name it in the command:", 'in the command: --lr, "{lr}"'
        if space.is_shell:
            remedy, where = "Let the script say LR=${LR:-0.1}, and set it:", 'under trainable: env: {LR: "{lr}"}'
        yield f"  # TO DO: no option was found to search over. {remedy}"
        yield f"  # lr: {{loguniform: [1.0e-5, 1.0e-1]}}   # and {where}"
    yield from space.lines
    left = [", ".join(space.left_out)] if space.left_out else []
    if space.changing:
        verb = "changes" if len(space.changing) == 1 else "change"
        left.append(f"{', '.join(space.changing)} ({verb} what {space.metric or 'the metric'} means)")
    left += [f"{', '.join(names)} ({use})" for use, names in space.left_seeds.items()]
    if left:
        yield "  # left as they are: " + "; ".join(left)
    if space.unsure:
        yield from unsure_lines(space.unsure)
    if space.seeds:
        yield f"  # {', '.join(space.seeds)}: each trial has its own, {{tune.seed}}"
    yield from (f"  # {printable(text)}" for text in space.unseen)
    if space.moved:
        yield "  # in the trial's own folder: " + ", ".join(space.moved)


def unsure_lines(unsure):
    yield ("  # not searched over, as no word says that they are of the training, and not of the data or the task; to search over one, write its line, "
           "and name it in the command:")
    for option, domain in unsure:
        word = f'{option.flag}, "{{{option.name}}}"' if option.flag and not option.is_joined else f'"{option.flag}{{{option.name}}}"'
        where = f"and in the command: {word}" if not option.variable and not option.is_config and not option.is_switch else ""
        if option.is_switch and option.flag and not option.no_flag:
            name = option.name
            where = f'and {name}_flag: {{const: {option.flag}, when: {{{name}: true}}}}; in the command: ["{{{name}_flag}}"]'
        where = where or (f'and under trainable: env: {{{option.variable}: "{{{option.name}}}"}}' if option.variable else "")
        yield f"  # {option.name}: {domain}" + (f"   # {where}" if where else "")


def scheduler_line(length, metric):
    count, unit = length or ("...", "")
    said = f"max_t: {unit}" if length else f"for max_t give how many values of {metric} a whole trial prints"
    return f"# scheduler: {{asha: {{max_t: {count}, grace_period: 1}}}}   # stops poor trials early; {said}"


def lines_of_file(script, command, space, metrics, main, log):
    metrics = of_one_iteration(metrics, main) if main else metrics
    if main and main.iteration and main.bar.is_drawn_late:
        space.env[BAR_VARIABLE] = "0"
    yield f"# Made by `tune init {script}`. Look it over, then: tune run --dry-run, --try-one, tune run."
    doubts = [log.notes[main.name]] if log and main and main.name in log.notes else []
    for note in space.notes + doubts + (main.doubts + bar_notes(main) if main else []):
        yield f"# TO DO: {printable(note)}."
    yield f"name: {quoted(name_of_sweep(script))}"
    yield from trainable_lines(script, command, space, metrics, main, log)
    main_name = main.name if main else "val_accuracy"
    others = [m.name for m in metrics if m is not main][:6]
    yield f"metric: {main_name}" + (f"   # or: {', '.join(others)}" if others else "")
    mode, is_clear = direction_of(main_name)
    if main and main.mode:
        mode, is_clear = main.mode, True
    if not is_clear:
        yield (f"# TO DO: mode: {mode} takes the {'largest' if mode == 'max' else 'smallest'} {main_name} for the best; "
               "is that the right direction?")
    yield f"mode: {mode}"
    yield "samples: 16"
    if space.files.both():
        yield f"limits: {{max_concurrent: 1}}   # trials side by side would share {listed(space.files.both())}"
    yield from space_lines(space)
    if main and main.json:
        yield f"# no scheduler: {main.name} is read when a trial has ended, and so no trial can be stopped early"
    elif main and is_printed_once(main):
        yield f"# no scheduler: {main.name} is printed once a trial, and so no trial can be stopped early"
    else:
        yield scheduler_line(space.length, main_name)
    yield "# resources: {cpu: 1, gpu: 1}"
