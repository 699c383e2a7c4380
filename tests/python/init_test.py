"""`tune init`: what it reads in scripts of many styles (tests/golden/scripts) and in logs."""

import contextlib
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "..", "..", "python", "tune_init")
SCRIPTS = os.path.join(HERE, "..", "golden", "scripts")
sys.path.insert(0, INIT)

import metrics  # noqa: E402


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
        "boosting.py": ({"validation_logloss"}, "validation_logloss", "min",
                        {"max_depth": "{randint: [3, 13]}"}, ['--min-child-weight, "{min_child_weight}"']),
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
        }
        for script, (options, values) in printed.items():
            with self.subTest(script):
                run = subprocess.run([sys.executable, script, *options], cwd=SCRIPTS, text=True, timeout=60,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                lines = metric_lines(space_of(script))
                for name, wanted in values.items():
                    self.assertEqual(metrics.finds(lines[name][0], run.stdout), wanted)

    def test_values_on_later_lines_of_a_loop_end_the_iteration(self):
        self.assertIn("  report_on: val_loss ", space_of("tqdm_two_lines.py"))
        self.assertNotIn("report_on", space_of("two_phases.py"), "the test comes after the loop")
        self.assertNotIn("report_on", space_of("click_fstrings.py"), "they stand in one line")

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
        return {m.name: m.regex for m in metrics.metrics_of_log(log)}

    def test_each_metric_of_a_log_has_an_expression_that_finds_it(self):
        log = ("epoch 1 | train loss: 0.9 | val loss: 1.98e-05, val_acc=0.5\n"
               "epoch 2 | train loss: 0.8 | val loss: -0.5, val_acc=0.75\n")
        found = self.found(log)
        self.assertEqual(metrics.finds(found["train_loss"], log), ["0.9", "0.8"])
        self.assertEqual(metrics.finds(found["val_loss"], log), ["1.98e-05", "-0.5"])
        self.assertEqual(metrics.finds(found["val_acc"], log), ["0.5", "0.75"])

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
                self.assertEqual(metrics.finds(found[name], line), [value])

    def test_times_and_rates_are_no_metrics(self):
        self.assertEqual(self.found("step 3 time: 0.5 lr: 0.001 eta: 3 epoch: 2\n"), {})


@contextlib.contextmanager
def temporary():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        yield folder


if __name__ == "__main__":
    unittest.main()
