"""`tune init`: what it reads in scripts of many styles (tests/golden/scripts) and in logs."""

import contextlib
import os
import re
import subprocess
import sys
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "..", "..", "python", "tune_init")
SCRIPTS = os.path.join(HERE, "..", "golden", "scripts")
sys.path.insert(0, INIT)

import expressions  # noqa: E402
import logs  # noqa: E402


def space_of(script, *options, status=0):
    result = subprocess.run([sys.executable, INIT, script, *options], cwd=SCRIPTS,
                            stdout=subprocess.PIPE, text=True, timeout=60)
    if result.returncode != status:
        raise AssertionError(f"{script}: status {result.returncode}: {result.stdout}")
    return result.stdout


def metric_lines(space):
    """name: (regex, from) under metrics."""
    found = re.findall(r"^    (\w+): \{regex: '((?:[^']|'')*)'(?:, from: (\w+))?\}", space, re.M)
    return {name: (regex.replace("''", "'"), source or "stdout") for name, regex, source in found}


class Scripts(unittest.TestCase):
    # The metrics, the sweep's one with its mode, the domains, words of the command.
    EXPECTED = {
        "mnist_argparse.py": ({"loss", "average_loss", "accuracy"}, "accuracy", "max",
                              {"batch_size": "{choice: [32, 64, 128]}", "lr": "{loguniform: [0.1, 10.0]}",
                               "optimizer": '{choice: ["sgd", "adam"]}', "nesterov": "{choice: [true, false]}"},
                              ['--seed, "{tune.seed}"', '["{nesterov_flag}"]']),
        "click_fstrings.py": ({"train_loss", "val_loss", "val_acc"}, "val_acc", "max",
                              {"learning_rate": "{loguniform: [0.0001, 0.01]}", "dropout": "{uniform: [0.0, 0.6]}",
                               "shuffle": "{choice: [--shuffle, --no-shuffle]}"}, ['"{shuffle}"']),
        "logging_percent.py": ({"train_loss", "val_acc"}, "val_acc", "max",
                               {"weight_decay": "{loguniform: [1.0e-06, 0.01]}", "num_layers": "{randint: [2, 9]}"},
                               ['--lr, "{lr}"']),
        "no_options.py": ({"accuracy", "f1_score"}, "accuracy", "max", {}, ["no_options.py]"]),
        "json_lines.py": ({"val_rmse", "train_rmse"}, "val_rmse", "min",
                          {"eta": "{loguniform: [0.03, 1.0]}", "subsample": "{uniform: [0.5, 1.0]}"}, ["DATA"]),
        "keras_fit.py": ({"val_accuracy", "val_loss"}, "val_accuracy", "max",
                         {"units": "{choice: [32, 64, 128]}"}, []),
        "train_and_valid_lines.py": ({"loss", "acc"}, "acc", "max", {"momentum": "{uniform: [0.5, 0.99]}"}, []),
        "with_tune.py": (set(), "val_accuracy", "max", {"lr": "{loguniform: [0.0001, 0.01]}"}, ["with_tune.py]"]),
        "typer_print.py": ({"val_loss", "val_acc"}, "val_acc", "max",
                           {"bias": "{choice: [--bias, --no-bias]}"}, ['"{bias}"']),
        "huggingface_trainer.py": ({"eval_accuracy", "eval_f1", "eval_loss"}, "eval_accuracy", "max",
                                   {"learning_rate": "{loguniform: [5.0e-06, 0.0005]}"},
                                   ['--per_device_train_batch_size, "{per_device_train_batch_size}"']),
        "tqdm_two_lines.py": ({"loss", "val_acc", "val_loss"}, "val_acc", "max",
                              {"width": "{choice: [1024, 2048, 4096]}", "amsgrad": "{choice: [--amsgrad, --no-amsgrad]}"}, []),
        "absl_flags.py": ({"loss", "eval_accuracy"}, "eval_accuracy", "max",
                          {"opt": '{choice: ["sgd", "lamb"]}'}, ['--lr, "{lr}"']),
        "boosting.py": ({"train_logloss", "validation_logloss"}, "validation_logloss", "min",
                        {"max_depth": "{randint: [3, 13]}"}, ['--min-child-weight, "{min_child_weight}"']),
        "summary_lines.py": ({"loss", "val_acc"}, "val_acc", "max", {}, []),
        "dictionary.py": ({"val_loss", "val_acc"}, "val_acc", "max", {}, []),
        "message_in_parts.py": ({"valid_loss"}, "valid_loss", "min", {}, []),
        "items_and_equals.py": ({"train_loss", "valid_accuracy"}, "valid_accuracy", "max", {}, []),
        "csv_table.py": ({"train_loss", "val_acc"}, "val_acc", "max", {}, []),
        "environment.py": ({"loss", "dev_f1"}, "dev_f1", "max",
                           {"lr": "{loguniform: [0.01, 1.0]}", "hidden": "{choice: [32, 64, 128]}"}, ["environment.py]"]),
        "bar_over_epochs.py": ({"loss", "val_acc"}, "val_acc", "max", {}, []),
        "bar_with_description.py": ({"val_acc"}, "val_acc", "max", {}, []),
        "bar_counted_by_hand.py": ({"val_acc"}, "val_acc", "max", {}, []),
        "bars_nested.py": ({"val_acc", "val_error"}, "val_acc", "max", {}, []),
        "shell_environment.sh": ({"val_acc"}, "val_acc", "max",
                                 {"lr": "{loguniform: [0.01, 1.0]}", "momentum": "{uniform: [0.5, 0.99]}",
                                  "hidden": "{choice: [32, 64, 128]}"}, ["[bash, shell_environment.sh]"]),
        "shell_getopts.sh": ({"val_acc"}, "val_acc", "max", {"nesterov": "{choice: [true, false]}"},
                             ['[sh, shell_getopts.sh, -l, "{lr}", ["{nesterov_flag}"]]']),
        "shell_long_options.sh": ({"accuracy"}, "accuracy", "max", {"batch_size": "{choice: [16, 32, 64]}"},
                                  ['--lr, "{lr}", "--batch-size={batch_size}", ["{shuffle_flag}"]]']),
        "shell_positions.sh": ({"loss", "val_acc"}, "val_acc", "max", {"hidden": "{choice: [32, 64, 128]}"},
                               ['DATA, "{lr}", "{hidden}"]']),
        "shell_that_starts_python.sh": ({"loss", "val_acc"}, "val_acc", "max", {}, ['.sh, --lr, "{lr}"]']),
        "two_phases.py": ({"valid_error", "test_error"}, "valid_error", "min",
                          {"use_bias": "{choice: [true, false]}", "learning_rate": "{loguniform: [3.0e-05, 0.003]}"}, []),
    }

    def test_each_has_its_metrics_and_domains(self):
        self.assertEqual(sorted(self.EXPECTED), sorted(os.listdir(SCRIPTS)))
        for script, (names, main, mode, domains, words) in self.EXPECTED.items():
            with self.subTest(script):
                space = space_of(script)
                self.assertEqual(set(metric_lines(space)), names)
                self.assertRegex(space, rf"(?m)^metric: {main}\b")
                self.assertRegex(space, rf"(?m)^mode: {mode}$")
                for name, domain in domains.items():
                    self.assertIn(f"  {name}: {domain}   #", space)
                command = re.search(r"command: (.*)", space).group(1)
                for word in words:
                    self.assertIn(word, command)

    def test_what_a_script_prints_is_found_by_its_expressions(self):
        # The values that the scripts print with their defaults.
        printed = {
            "mnist_argparse.py": ([], {"accuracy": ["9001", "9002", "9003"],
                                       "average_loss": ["0.7000", "0.3500", "0.2333"]}),
            "logging_percent.py": (["--lr", "0.1"], {"val_acc": ["0.4000", "0.5000", "0.6000"]}),
            "json_lines.py": (["x"], {"val_rmse": ["0.5", "0.25", "0.16666666666666666"]}),
            "two_phases.py": ([], {"valid_error": ["1.000000e+00", "5.000005e-01", "3.333338e-01"],
                                   "test_error": ["0.36667"]}),
            "no_options.py": ([], {"accuracy": ["0.9"], "f1_score": ["0.900"]}),
            # Without their summaries.
            "summary_lines.py": ([], {"val_acc": ["0.9000", "0.9500", "0.9667"]}),
            "dictionary.py": ([], {"val_acc": ["0.9", "0.95", "0.9666666666666667"]}),
            "message_in_parts.py": ([], {"valid_loss": ["0.10000", "0.05000", "0.03333"]}),
            "items_and_equals.py": ([], {"valid_accuracy": ["0.9000", "0.9500", "0.9667"]}),
            "csv_table.py": ([], {"train_loss": ["0.1000", "0.0500", "0.0333"],
                                  "val_acc": ["0.9000", "0.9500", "0.9667"]}),
            "environment.py": ([], {"dev_f1": ["0.9000", "0.9500", "0.9667"]}),
            "shell_environment.sh": ([], {"val_acc": ["0.9", "0.95", "0.966667", "0.975", "0.98"]}),
            "shell_getopts.sh": (["-e", "2"], {"val_acc": ["0.9", "0.95"]}),
            "shell_long_options.sh": (["--lr", "0.2"], {"accuracy": ["0.7968", "0.8968", "0.930133"]}),
            "shell_positions.sh": (["x", "0.2"], {"val_acc": ["0.8000", "0.9000", "0.9333"]}),
        }
        for script, (options, values) in printed.items():
            with self.subTest(script):
                program = sys.executable if script.endswith(".py") else "bash"
                run = subprocess.run([program, script, *options], cwd=SCRIPTS, text=True, timeout=60,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                lines = metric_lines(space_of(script))
                for name, wanted in values.items():
                    self.assertEqual(expressions.finds(lines[name][0], run.stdout), wanted)

    def test_of_lines_with_the_same_names_those_of_the_validation_are_read(self):
        space = space_of("train_and_valid_lines.py")
        run = subprocess.run([sys.executable, "train_and_valid_lines.py"], cwd=SCRIPTS, text=True, timeout=60,
                             stdout=subprocess.PIPE)
        self.assertEqual(expressions.finds(metric_lines(space)["acc"][0], run.stdout), ["0.2500", "0.5000", "0.2500"])
        self.assertIn("# TO DO: --nesterov has type=bool", space)
        self.assertIn('  env: {MOMENTUM: "{momentum}"}', space)

    def test_options_of_the_environment_are_set_there(self):
        self.assertIn('  env: {LR: "{lr}", HIDDEN: "{hidden}"}', space_of("environment.py"))

    def test_variables_of_a_shell_script_are_set_in_its_environment(self):
        space = space_of("shell_environment.sh")
        self.assertIn('  env: {LR: "{lr}", MOMENTUM: "{momentum}", HIDDEN: "{hidden}"}', space)
        self.assertIn("# TO DO: the script itself fixes WEIGHT_DECAY=0.01; to search over one write "
                      "WEIGHT_DECAY=${WEIGHT_DECAY:-0.01}, and call tune init again.", space)
        self.assertIn("# left as they are: data_dir, epochs", space)
        self.assertIn("max_t: 5,", space)

    def test_a_shell_script_is_read_as_a_shell_reads_it(self):
        for script, found, absent in (
                ("f() { local lr=$1; echo $lr; }\nf 3\n", ["space: {}\n"], ["  env:"]),  # A function's own.
                ("awk '{ print $1, $2 }' file\n", [], ["{arg1}"]),
                ("# LR=${LR:-0.1}\n", ["space: {}\n", "Let the script say LR=${LR:-0.1}"], ["  env:"]),
                ("LR=$(cat lr.txt)\necho ${LR:-0.1}\n", ["space: {}\n"], ["  env:"]),  # The script itself says what it is.
                ("LR=${TUNE_PARAM_LR:-0.1}\n", ["  lr: {loguniform: [0.01, 1.0]}"], ["env:"]),
                ("echo ${LR:?needed}\n", ['  env: {LR: "{lr}"}'], []),
                ("lr=${1-0.5}\n", ['.sh, "{lr}"]'], []),
                ("out=$1\nlr=$2\n", ['.sh, OUT, "{lr}"]', "TO DO: out is needed"], []),
                ("source config.sh\n", ["TO DO: what config.sh sets is not seen"], []),
                ("echo \"val_acc: 0.$x\" > file\n", ["what it prints is not known"], []),
                ("for i in 1 2; do\n  echo val_loss=$(cat x | head -1) >&2\ndone\necho best val_loss=$x\n",
                 ["    val_loss: {regex: '^val_loss=\\s*{number}', from: stderr}"], []),
                ("for i in 1 2; do\n  echo val_acc=$x\n  echo loss=$y\ndone\n", ["  report_on: loss "], []),
                ("for i in 1 2; do\n  if a; then\n    echo val_acc=$x\n  else\n    echo loss=$y\n  fi\ndone\n"
                 "for i in 1 2; do\n  echo error=$y\ndone\n", ["metric: val_acc"], ["report_on"]),
                ("LR=0.1\nWIDTH=8\nfor arg in \"$@\"; do\n  case $arg in\n    --lr=*) LR=\"${arg#*=}\" ;;\n    \"--width=\"*) WIDTH=${arg#*=};;\n"
                 "    \"--norm\") NORM=1;;\n  esac\ndone\n", ['.sh, "--lr={lr}", "--width={width}", ["{norm_flag}"]]'], []),
                ("LR=0.1\nwhile [ $# -gt 0 ]; do\n  case $1 in\n    --lr) shift; LR=$1;;\n  esac\n  shift\ndone\n",
                 ['.sh, --lr, "{lr}"]'], ["TO DO: the script itself fixes"]),
                ("cat <<EOF\n${LR:-0.1} it's\nEOF\nWD=${WD:-0.1}\n", ['LR: "{lr}", WD: "{wd}"'], [])):
            with self.subTest(script), temporary() as folder:
                path = os.path.join(folder, "train.sh")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(script)
                space = space_of(path)
                for text in found:
                    self.assertIn(text, space)
                for text in absent:
                    self.assertNotIn(text, space)

    def test_a_script_that_a_shell_script_starts_is_read(self):
        space = space_of("shell_that_starts_python.sh")
        self.assertEqual(metric_lines(space)["val_acc"][1], "both")
        self.assertIn("first: 0}", space)
        self.assertNotIn("epochs", space.split("space:")[1].split("# scheduler")[0])

    def test_values_on_later_lines_of_a_loop_end_the_iteration(self):
        self.assertIn("  report_on: val_loss ", space_of("tqdm_two_lines.py"))
        self.assertNotIn("report_on", space_of("two_phases.py"), "the test comes after the loop")
        self.assertNotIn("report_on", space_of("click_fstrings.py"), "they stand in one line")

    def test_a_bar_over_all_epochs_is_read_by_its_count(self):
        # tests/frameworks/init_test.py runs them with the real tqdm.
        for script, stream, first in (("bar_over_epochs.py", "stderr", 0), ("bar_with_description.py", "stdout", 0),
                                      ("bar_counted_by_hand.py", "stderr", 1), ("bars_nested.py", "stderr", 0)):
            with self.subTest(script):
                space = space_of(script)
                self.assertEqual(metric_lines(space)["val_acc"][1], stream)
                line = re.search(r"^  iteration: \{regex: '(.*?)'(.*)\}$", space, re.M)
                self.assertEqual(line.group(2), (", from: stderr" if stream == "stderr" else "") +
                                 (", first: 0" if first == 0 else ""))
                self.assertEqual("TQDM_MININTERVAL" in space, first == 0, "tqdm's own count is late")
                self.assertNotIn("TO DO", space)
                for done, bar, shown in ((1, "##9  ", True), (2, "#####", first == 1)):
                    state = f"x | val_acc 0.5: {done * 50}%|{bar}| {done}/2 [00:01<00:01, 1it/s, a=1, val_acc=0.5]"
                    self.assertEqual(expressions.finds(line.group(1), state), [str(done)] if shown else [])
                    self.assertEqual(expressions.finds(metric_lines(space)["val_acc"][0], state), ["0.5"] if shown else [])

    def test_a_bar_whose_count_is_not_known_is_told(self):
        loop = "for epoch in range(3):\n    bar.set_postfix(val_acc=1 / (epoch + 1))\n"
        for script, told in (
                ("for i in (bar := tqdm(range(9))):\n    if i % 3 == 0:\n        bar.set_postfix(val_acc=1 / (i + 1))\n",
                 "shows the value in some of its steps alone"),
                ("bar = tqdm(total=90)\n" + loop + "    for b in range(30):\n        bar.update(1)\n",
                 "does not count with each value"),
                ("bar = tqdm(enumerate(loader))\nfor i, x in bar:\n    bar.set_postfix(val_acc=1 / (i + 1))\n",
                 "does not know its total"),
                ("def fit(bar):\n    for e in range(3):\n        bar.set_postfix(val_acc=1 / (e + 1))\n",
                 "is made where it was not found"),
                ("def made(x):\n    return tqdm(enumerate(x))\nfor i, x in (bar := made(y)):\n"
                 "    bar.set_description(desc=f'val_acc {1 / (i + 1)}')\n", "does not know its total"),
                ("bar = tqdm(total=3, disable=None)\n" + loop + "    bar.update(1)\n", "draws nothing in a trial"),
                ("bar = tqdm(total=3, bar_format='{n}')\n" + loop + "    bar.update(1)\n", "has a form of its own"),
                ("for epoch in range(5):\n    for batch in (bar := tqdm(range(3))):\n"
                 "        bar.set_description(f'val_acc {1 / (epoch + 1)}')\n", None),
                ("for fold in range(5):\n    for epoch in (bar := tqdm(range(3))):\n"
                 "        bar.set_postfix(val_acc=1 / (epoch + 1))\n", "its count begins again"),
                ("for fold in range(5):\n    for e in (bar := tqdm(range(epochs))):\n"
                 "        bar.set_postfix(val_acc=1 / (e + 1))\n", "its count begins again")):
            with self.subTest(script), temporary() as folder:
                path = os.path.join(folder, "train.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write("from tqdm import tqdm\n" + script)
                space = space_of(path)
                if told:
                    self.assertRegex(space, f"# TO DO: the bar that shows val_acc .*{told}.*print val_acc in a line")
                else:
                    self.assertNotIn("the bar that", space)

    def test_streams(self):
        lines = metric_lines(space_of("tqdm_two_lines.py"))
        self.assertEqual(lines["loss"][1], "stderr")
        self.assertEqual(lines["val_acc"][1], "stdout")
        self.assertEqual(metric_lines(space_of("logging_percent.py"))["val_acc"][1], "both")

    def test_a_needed_value_is_named(self):
        self.assertIn("# TO DO: data is needed: write its value for DATA in the command.", space_of("json_lines.py"))

    def test_a_script_in_another_language_gets_a_template(self):
        with contextlib.ExitStack() as stack:
            path = os.path.join(stack.enter_context(temporary()), "fit.R")
            with open(path, "w", encoding="utf-8") as file:
                file.write("print(1)\n")
            space = space_of(path)
            self.assertIn(f"command: [Rscript, {path}]", space)
            self.assertIn("TO DO: what it prints is not known", space)

    def test_what_cannot_be_read_is_told(self):
        with contextlib.ExitStack() as stack:
            path = os.path.join(stack.enter_context(temporary()), "bad.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("x = (\n")
            self.assertIn("bad.py:1: the script is no Python", space_of(path, status=2))
        self.assertIn("nothing.py: No such file", space_of("nothing.py", status=2))


class Logs(unittest.TestCase):
    def found(self, log):
        return {m.name: m.regex for m in logs.metrics_of_log(log)}

    def test_each_metric_of_a_log_has_an_expression_that_finds_it(self):
        log = ("epoch 1 | train loss: 0.9 | val loss: 1.98e-05, val_acc=0.5\n"
               "epoch 2 | train loss: 0.8 | val loss: -0.5, val_acc=0.75\n")
        found = self.found(log)
        self.assertEqual(expressions.finds(found["train_loss"], log), ["0.9", "0.8"])
        self.assertEqual(expressions.finds(found["val_loss"], log), ["1.98e-05", "-0.5"])
        self.assertEqual(expressions.finds(found["val_acc"], log), ["0.5", "0.75"])

    def test_formats_of_frameworks(self):
        for line, name, value in (
                ("938/938 - 3s - 3ms/step - loss: 0.5 - val_loss: 0.3012", "val_loss", "0.3012"),
                ("{'eval_loss': 0.34, 'eval_accuracy': 0.9, 'epoch': 1.0}", "eval_accuracy", "0.9"),
                ("[12]\tvalidation-rmse:0.1", "validation_rmse", "0.1"),
                ("[10]\tvalid_0's auc: 0.912\tvalid_0's binary_logloss: 0.42", "auc", "0.912"),
                ("Iteration 3, loss = 0.693", "loss", "0.693"),
                ("ELBO -1.2e+03", "elbo", "-1.2e+03")):
            with self.subTest(line):
                found = self.found(line)
                self.assertIn(name, found)
                self.assertEqual(expressions.finds(found[name], line), [value])

    def test_only_the_lines_of_epochs_are_found(self):
        for epochs, summaries in (
                (("Epoch 1: val_acc: 0.5", "Epoch 2: val_acc: 0.6"), ("Done. val_acc: 0.6", "Best val_acc: 0.6 (epoch 2)")),
                (("val_acc: 0.5", "val_acc: 0.6"), ("Restored best: val_acc: 0.6",)),
                (("2026-03-01 10:00:01 INFO epoch=1 val_acc=0.5", "2026-03-01 10:00:02 INFO epoch=2 val_acc=0.6"),
                 ("2026-03-01 10:00:03 INFO best val_acc=0.6",)),
                (('{"epoch": 1, "val_acc": 0.5}', '{"epoch": 2, "val_acc": 0.6}'), ('{"event": "end", "val_acc": 0.6}',)),
                (("  val_acc: 0.5", "  val_acc: 0.6"), ("val_acc: 0.6",)),
                (("Epoch  9 | loss nan | val_acc 0.5", "Epoch 10 | loss 0.1 | val_acc 0.6"), ("best val_acc 0.6",))):
            for lines in (epochs + summaries, summaries[:1] + epochs):
                with self.subTest(lines):
                    log = "\n".join(lines)
                    self.assertEqual(expressions.finds(self.found(log)["val_acc"], log), ["0.5", "0.6"])

    def test_lines_of_two_kinds_that_may_both_be_epochs_are_told(self):
        log = "warmup 1 val_acc 0.1\nwarmup 2 val_acc 0.2\nmain 1 val_acc 0.3\nmain 2 val_acc 0.4\n"
        found = logs.Log(log)
        self.assertEqual(expressions.finds(found.metrics()[0].regex, log), ["0.1", "0.2", "0.3", "0.4"])
        self.assertEqual(found.notes["val_acc"], "each line that the expression of val_acc finds is an iteration, "
                                                 "'warmup 1 val_acc 0.1' and 'main 1 val_acc 0.3'; the expression "
                                                 r"'\bwarmup\b.*?val_acc\s+{number}' finds the first alone")

    def test_a_log_of_both_streams_is_read_on_both(self):
        bar = "Epoch 1:  50%|█████     | 1/2 [00:00<00:00, 3.1it/s]\r"
        for log, stream in ((bar + "\nval_acc: 0.5\n", "both"), ("val_acc: 0.5\n", "stdout"),
                            ("2026-03-01 10:00:01,123 INFO val_acc: 0.5\n", "both")):
            self.assertEqual(logs.metrics_of_log(log)[0].source, stream, log)

    def test_a_bar_over_epochs_has_its_number(self):
        log = "".join(f"\repoch {i} val_acc {i / 10}: {i}0%|#| {i}/3 [00:00<00:00, 3.1it/s]" for i in range(3)) + "\n"
        found = logs.Log(log)
        self.assertEqual(found.iteration_of(found.metrics()[0]), (r"\bepoch\s+{number}", 0))
        self.assertIsNone(logs.Log("epoch 1 val_acc 0.5\nepoch 2 val_acc 0.6\n").iteration_of(found.metrics()[0]))

    def test_a_bar_over_epochs_without_their_number_is_read_by_its_count(self):
        def state(done, shown):
            return f"{done * 25:3d}%|{'#' * done * 2:8}| {done}/4 [00:00<00:00,  3.1it/s{shown}]"
        before = "\r" + "\r".join(state(i, "") + "\r" + state(i, f", val_acc=0.{i}") for i in range(4)) + "\r" + state(4, ", val_acc=0.3")
        after = "\r" + state(0, "") + "\r" + "\r".join(state(i + 1, f", val_acc=0.{i}") for i in range(4))
        inner = "\n\r 50%|#  | 1/2 [00:00<00:00, loss=1]\x1b[A\n\r         \x1b[A"
        nested = "\r" + "\r".join(state(i, f", val_acc=0.{i}") + inner for i in range(4)) + "\r" + state(4, ", val_acc=0.3")
        for log, first, count in ((before, 0, 4), (after, 1, 4), (nested, 0, 4)):
            with self.subTest(log):
                found = {m.name: m for m in logs.Log("start\n" + log + "\ndone\n").metrics()}["val_acc"]
                self.assertEqual((0 if found.bar.counts_before else 1), first)
                states = [s for s in log.split("\r") if expressions.finds(found.iteration, s)]
                self.assertEqual([expressions.finds(found.iteration, s)[0] for s in states], [str(first + i) for i in range(count)])
                self.assertEqual([expressions.finds(found.regex, s)[0] for s in states], [f"0.{i}" for i in range(count)])

    def test_padded_numbers_and_changing_ones_before_them_are_found(self):
        log = ("[0]\ttrain-rmse:-0.9\tvalid-rmse:  91.5\n[1]\ttrain-rmse:1e-05\tvalid-rmse: 101.5\n"
               "[2]\ttrain-rmse:nan\tvalid-rmse: 7.5\nBest valid-rmse: 7.5\n")
        self.assertEqual(expressions.finds(self.found(log)["valid_rmse"], log), ["91.5", "101.5", "7.5"])
        log = "| end | valid ppl   232.1\n| end | valid ppl  1032.1\n| end | valid ppl 10032.1\n"
        self.assertEqual(expressions.finds(self.found(log)["valid_ppl"], log), ["232.1", "1032.1", "10032.1"])

    def test_a_log_of_many_lines_is_searched_a_few_times_and_not_once_for_each_of_its_lines(self):
        for line in ("epoch {e} val_loss 0.{e}", "Epoch: [{e}][20/40]\tLoss 0.{e} (0.5)\tAcc@1 7{e} (71.0)"):
            log = logs.Log("".join(line.format(e=e) + "\n" for e in range(200)))
            with mock.patch("logs.match_of", side_effect=logs.match_of) as searched:
                log.metrics()
            self.assertLess(searched.call_count, 40 * 200, line)

    def test_a_table_below_its_header(self):
        for log in ("epoch,loss,val_acc\n1,200,300\n2,100,400\n", "epoch   loss   val_acc\n 1  200  300\n 2  100  400\n",
                    "epoch, loss, val_acc\n1, 200, 300\n2, 100, 400\n"):
            self.assertEqual(expressions.finds(self.found(log)["val_acc"], log), ["300", "400"], log)

    def test_units_are_left_to_the_reader(self):
        self.assertEqual(expressions.finds(self.found("took 0.5s latency: 12.5ms")["latency"], "latency: 12.5ms"), ["12.5"])

    def test_times_and_rates_are_no_metrics(self):
        self.assertEqual(self.found("step 3 time: 0.5 lr: 0.001 eta: 3 epoch: 2\n"), {})


@contextlib.contextmanager
def temporary():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        yield folder


if __name__ == "__main__":
    unittest.main()
