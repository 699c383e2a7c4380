"""`tune init`: of several values that a script prints, which the sweep is about, and what it says where it cannot know."""

import ast
import re
import unittest
from unittest import mock

from init_answers_test import Answer, expressions, space_of

import counts
import logs
import metrics
import origins

VALUES = "v, w, u = 0.25, 0.5, 0.75\n"
LOOP = "for epoch in range(3):\n    "


def answer_of(*lines, log=None):
    return Answer(VALUES + "\n".join(lines) + "\n", log)


def metrics_in(space):
    return re.findall(r"^    (\w+): \{regex", space, re.M)


class Changes(unittest.TestCase):
    """Of an old and a new value in one line the new one is what the line tells."""

    def test_the_value_behind_an_arrow_is_read(self):
        for line in ("epoch {e}: val_acc {old:.3f} -> {new:.3f}", "epoch {e}: val_acc: {old:.3f} --> {new:.3f} saved",
                     "epoch {e} val_acc {old:.3f} → {new:.3f}", "epoch {e} val_acc {old:.1f}% => {new:.1f}%"):
            script = f'old = 0.0\nfor e in range(3):\n    new = e / 4 + 0.25\n    print(f"{line}")\n    old = new\n'
            log = "".join(line.format(e=e, old=e / 4, new=e / 4 + 0.25) + "\n" for e in range(3))
            for answer in (Answer(script), Answer("x = 1\n", log)):
                with self.subTest(line):
                    self.assertEqual((answer.metric, [float(v) for v in answer.values]),
                                     ("val_acc", [0.2, 0.5, 0.8] if "%" in line else [0.25, 0.5, 0.75]))

    BEST = "best = %s\nfor e in (1, 2, 3):\n    v = %s\n    if v %s best:\n        print(f'%s')\n        best = v\n%s"

    def test_a_loss_that_decreases_is_read_by_its_name_and_its_new_value(self):
        script = self.BEST % ("float('inf')", "1 / e", "<", "Validation loss decreased ({best:.6f} --> {v:.6f}).  Saving model ...",
                              "    else:\n        print(f'EarlyStopping counter: {e} out of 3')\n")
        answer = Answer(script)
        self.assertEqual((answer.metric, answer.values), ("validation_loss", ["1.000000", "0.500000", "0.333333"]))
        self.assertTrue(any("is printed in some turns of the loop alone" in t for t in answer.to_do), answer.to_do)

    def test_a_value_that_improves_from_one_to_another_is_the_other(self):
        script = self.BEST % ("0", "e / 4", ">", "Epoch {e}: val_acc improved from {best:.4f} to {v:.4f}, saving",
                              "    else:\n        print(f'Epoch {e}: val_acc did not improve from {best:.4f}')\n")
        answer = Answer(script)
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.2500", "0.5000", "0.7500"]))
        self.assertEqual(metrics_in(answer.space), ["val_acc"])
        answer = Answer("x = 1\n", "Epoch 1: val_acc improved from 0.0 to 0.25, saving\nEpoch 2: val_acc did not improve from 0.25\n"
                                   "Epoch 3: val_acc improved from 0.25 to 0.5, saving\n")
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]))

    def test_the_line_of_each_epoch_goes_before_that_of_a_change(self):
        answer = Answer("best = 0\nfor e in (1, 2, 3):\n    if e == 2:\n        print(f'val_acc improved from {best} to {e / 4}')\n"
                        "    print(f'epoch {e} val_acc {e / 4}')\n")
        self.assertEqual(answer.values, ["0.25", "0.5", "0.75"])

    def test_old_and_new_by_their_words(self):
        for line in ("before: acc={v} after: acc={w}", "old acc {v} new acc {w}", "acc before tuning: {v} acc after tuning: {w}"):
            self.assertEqual(answer_of(f'print(f"{line}")').values, ["0.5"], line)


class Qualified(unittest.TestCase):
    """Names that share their measure, and differ in another word."""

    def test_a_value_to_compare_with_stands_behind(self):
        for lines, metric in (
                (['print(f"Baseline accuracy: {v}")', 'print(f"Accuracy: {w}")'], "accuracy"),
                (['print(f"teacher acc {v}")', 'print(f"student acc {w}")'], "student_acc"),
                (['print(f"teacher acc {v} student acc {w}")'], "student_acc"),
                (['print(f"Target accuracy: {v}")', 'print(f"Accuracy: {w}")'], "accuracy"),
                (['print(f"Random guess accuracy: {v}")', 'print(f"Model accuracy: {w}")'], "model_accuracy"),
                (['print(f"expected loss: {v}")', 'print(f"optimal loss: {u}")', 'print(f"loss: {w}")'], "loss"),
                (['print(f"Accuracy before fine-tuning: {v}")', 'print(f"Accuracy after fine-tuning: {w}")'],
                 "accuracy_after_fine_tuning"),
                (['print(f"EMA acc {v} acc {w}")'], "acc"),
                (['print(f"min val_loss {v} max val_loss {u} mean val_loss {w}")'], "mean_val_loss"),
                (['print(f"class 0 f1 {v} class 1 f1 {u} macro f1 {w}")'], "macro_f1"),
                (['print(f"Top 5 acc {v}")', 'print(f"Top 1 acc {w}")'], "top_1_acc"),
                (['print(f"D acc {v} G loss {u} FID {w}")'], "fid"),
                (['print(f"Generator loss {v} Discriminator loss {u} FID {w}")'], "fid")):
            with self.subTest(lines):
                answer = answer_of(*lines)
                self.assertEqual((answer.metric, answer.values), (metric, ["0.5"]))
                self.assertEqual(len(answer.to_do), 1, answer.to_do)  # The script has no options.

    def test_what_the_loop_prints_goes_before_what_is_printed_once_before_it(self):
        answer = answer_of('print(f"untrained loss {v}")', LOOP + 'print(f"epoch {epoch} loss {w}")')
        self.assertEqual((answer.metric, answer.values), ("loss", ["0.5"] * 3))
        answer = answer_of('print(f"source acc {v}")', LOOP + 'print(f"adapted acc {w}")')
        self.assertEqual(answer.metric, "adapted_acc")

    def test_names_of_which_none_goes_before_the_other_are_asked(self):
        for first, second in (("ensemble acc", "single acc"), ("zero-shot acc", "few-shot acc"), ("cls_loss", "box_loss"),
                              ("recall@5", "recall@10"), ("source acc", "target acc"), ("in acc", "out acc")):
            answer = answer_of(f'print(f"{first} {{v}} {second} {{w}}")')
            names = [re.sub(r"\W+", "_", n) for n in (first, second)]
            self.assertTrue(any(f"{names[0]} and {names[1]} are printed" in t for t in answer.to_do), answer.to_do)
            self.assertEqual(metrics_in(answer.space), names)

    def test_measures_of_their_own_are_not_asked(self):
        for line in ("mean_squared_error {v} mean_absolute_error {w}", "roc_auc {v} pr_auc {w}", "Acc@1 {v} Acc@5 {w}",
                     "loss {v} mean_loss {w}", "accuracy {v} balanced_accuracy {w}"):
            answer = answer_of(f'print(f"{line}")')
            self.assertEqual((answer.values, len(answer.to_do)), (["0.25"], 1), answer.to_do)

    def test_a_baseline_alone_is_told(self):
        self.assertTrue(any("baseline_rmse is by its name a value to compare with" in t
                            for t in answer_of('print(f"baseline rmse {v}")').to_do))

    def test_one_name_twice_in_a_line_is_told(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch} acc {v} acc {w}")')
        self.assertTrue(any("acc stands 2 times in one line, and the first is read" in t for t in answer.to_do), answer.to_do)
        self.assertEqual(answer.values, ["0.25"] * 3)

    def test_in_a_log(self):
        answer = Answer("x = 1\n", "Baseline accuracy: 0.9\nepoch 1 accuracy: 0.5\nepoch 2 accuracy: 0.6\n")
        self.assertEqual((answer.metric, answer.values), ("accuracy", ["0.5", "0.6"]))


class PartsInWordsOfTheirOwn(unittest.TestCase):
    """Of two lines in the same words, of which one names the validation in a cell, a bracket or a word, that one is read."""

    def test_the_line_that_names_the_validation_is_read(self):
        for training, validation in (
                ("epoch {e:03d} | loss {v} | ppl {u}", "epoch {e:03d} | valid on 'valid' subset | loss {w} | ppl {u} | num_updates {e}"),
                ("epoch {e} | loss {v}", "epoch {e} | valid | loss {w}"),
                ("Epoch {e}: loss {v}", "Epoch {e}: evaluation: loss {w}"),
                ("step {e} loss {v}", "eval at step {e} loss {w}"),
                ("{e} loss={v}", "{e} [val] loss={w}"),
                ("epoch {e}, loss {v}", "epoch {e} (held-out), loss {w}"),
                ("Epoch {e} - loss: {v}, acc: {v}", "Epoch {e} - Validation - loss: {w}, acc: {w}"),
                ("INFO epoch {e} | acc {v}", "INFO epoch {e} | valid on 'dev' | acc {w}"),
                ("Epoch {e}\\tLoss {v}", "Test\\t\\tLoss {w}"),
                (">>> epoch {e} err {v}", "<<< epoch {e} err {w} (test)"),
                ("epoch {e} err {v}", "epoch {e} err {w} (test)"), ("accuracy: {v}", "accuracy (dev): {w}"),
                ("Epoch {e} loss {v}", "Evaluating...\\nloss {w}")):
            for lines in ((training, validation), (validation, training)):
                answer = answer_of("for e in (1, 2, 3):\n    " + "\n    ".join(f'print(f"{line}")' for line in lines))
                with self.subTest(lines):
                    self.assertEqual(answer.values, ["0.5"] * 3)
                    self.assertEqual(len(answer.to_do), 1, answer.to_do)  # The script has no options.

    def test_a_score_of_the_training_alone_stands_behind_a_loss_of_the_validation(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch} | loss {v} | acc {u}")\n    print(f"epoch {epoch} | valid | loss {w}")')
        self.assertEqual((answer.metric, answer.values), ("loss", ["0.5"] * 3))

    def test_lines_of_which_no_word_says_which_to_read_are_asked(self):
        answer = answer_of(LOOP + 'print(f"T {epoch} acc {v}")\n    print(f"V {epoch} acc {w}")')
        self.assertTrue(any("'T 1 acc 1' and 'V 1 acc 1', and the expression reads the first" in t for t in answer.to_do), answer.to_do)

    def test_a_last_line_of_the_validation_goes_before_those_of_epochs_that_name_no_part(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch} loss {v}")', 'print(f"Final evaluation: loss {w}")')
        self.assertEqual((answer.values, len(answer.to_do)), (["0.5"], 2), answer.to_do)
        answer = answer_of(LOOP + 'print(f"epoch {epoch} | val | loss {w}")', 'print(f"Final test: loss {v}")')
        self.assertEqual((answer.values, len(answer.to_do)), (["0.5"] * 3, 1), answer.to_do)

    def test_a_value_that_its_variable_or_a_bracket_behind_it_says_to_be_of_the_training_is_told(self):
        for line in ('print("epoch", epoch, "loss", train_loss, val_loss)', 'print(f"epoch {epoch} loss {train_loss}")'):
            answer = answer_of("train_loss, val_loss = v, w", LOOP + line)
            self.assertTrue(any("loss shows train_loss, which by its name is of the training data" in t for t in answer.to_do), answer.to_do)
        answer = answer_of(LOOP + 'print(f"epoch {epoch} accuracy: {v:.4f} (train) {w:.4f} (val)")')
        self.assertTrue(any("as '(train)' behind it says" in t for t in answer.to_do), answer.to_do)

    def test_two_words_with_a_stroke_behind_two_values_name_them(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch}: loss {v}/{v} acc {v}/{w} (train/val)")')
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.5"] * 3))

    def test_two_words_with_a_stroke_name_two_values_that_print_parts(self):
        answer = answer_of(LOOP + 'print("epoch", epoch, "train/val loss", v, w)')
        self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.5"] * 3))

    def test_of_one_print_of_several_lines_each_has_a_part_of_its_own(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch}\\n  train: loss {v} acc {v}\\n  valid: loss {w} acc {w}")')
        self.assertEqual((answer.metric, answer.values), ("valid_acc", ["0.5"] * 3))

    def test_one_value_in_two_lines_is_not_asked(self):
        answer = answer_of(LOOP + 'print(f"T {epoch} acc {v}")\n    print(f"again {epoch} acc {v}")')
        self.assertEqual(len(answer.to_do), 1, answer.to_do)


class Once(unittest.TestCase):
    """A value that is printed once lets no scheduler stop a trial early."""

    def test_the_validation_of_the_loop_goes_before_a_value_that_is_printed_once(self):
        evaluate = "def evaluate():\n    return v"
        for lines, metric in (
                ([LOOP + 'print(f"epoch {epoch} val_loss {v}")', 'print(f"val_acc {w}")'], "val_loss"),
                ([LOOP + 'print(f"epoch {epoch} dev f1 {v}")', 'print(f"test f1 {w}")'], "dev_f1"),
                ([LOOP + 'print(f"epoch {epoch} test acc {v}")', 'print(f"Validation accuracy {w}")'], "test_acc"),
                ([LOOP + 'print(f"epoch {epoch} test | loss {v}")', 'print(f"Evaluation: loss {w}")'], "loss"),
                ([LOOP + 'val_acc = v\n    print(f"epoch {epoch} acc {val_acc}")', 'print(f"test acc {w}")'], "acc"),
                ([evaluate, LOOP + 'acc = evaluate()\n    print(f"epoch {epoch} acc {acc}")', 'print(f"Final test acc {w}")'], "acc"),
                (["x_val = [v]", LOOP + 'acc = sum(x_val)\n    print(f"epoch {epoch} acc {acc}")', 'print(f"test acc {w}")'], "acc"),
                ([LOOP + 'print(f"epoch {epoch} acc {v}")', 'print(f"Best accuracy {w}")'], "acc"),
                ([LOOP + 'print(f"epoch {epoch} val acc {v} best val acc {w}")', 'print(f"Best val acc {w}")'], "val_acc"),
                ([LOOP + 'print(f"best val acc so far {w}")\n    print(f"val acc {v}")'], "val_acc")):
            answer = answer_of(*lines)
            with self.subTest(lines):
                self.assertEqual((answer.metric, answer.values, len(answer.to_do)), (metric, ["0.25"] * 3, 1), answer.to_do)
                self.assertIn("# scheduler: {asha", answer.space)

    def test_a_value_of_another_measure_before_the_loop_is_not_read(self):
        answer = answer_of('print(f"Init: NDCG = {v}")', LOOP + 'print(f"epoch {epoch}: HR@10 = {w}, loss = {v}")')
        self.assertEqual((answer.metric, answer.values), ("hit_rate_10", ["0.5"] * 3))

    def test_where_the_loop_prints_none_of_the_validation_both_lines_are_named(self):
        for line, last in (("epoch {epoch} train loss {v}", "test acc {w}"), ("epoch {epoch} loss {v}", "Final evaluation: loss {w}"),
                           ("epoch {epoch} acc {v}", "test acc {w}"), ("Train: loss {v}", "Test: loss {w}")):
            answer = answer_of(LOOP + f'print(f"{line}")', f'print(f"{last}")')
            lines = [re.sub(r"\{\w+\}", "1", text) for text in (last, line)]
            self.assertEqual(answer.values, ["0.5"])
            self.assertTrue(any(f"is printed once, '{lines[0]}', so that no scheduler can stop a poor trial early, and of '{lines[1]}'" in t
                                for t in answer.to_do), answer.to_do)
            self.assertIn("# no scheduler: ", answer.space)
            self.assertNotIn("# scheduler: ", answer.space)

    def test_in_a_log(self):
        answer = Answer("x = 1\n", "epoch 1 val_loss 0.5\nepoch 2 val_loss 0.4\nval_acc 0.6\n")
        self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.5", "0.4"]))
        answer = Answer("x = 1\n", "epoch 1 train loss 0.5\nepoch 2 train loss 0.4\ntest acc 0.6\n")
        self.assertTrue(any("test_acc is printed once, 'test acc 0.6'" in t and "'epoch 1 train loss 0.5'" in t for t in answer.to_do), answer.to_do)

    def test_the_mean_of_what_a_loop_prints_is_no_such_value(self):
        answer = answer_of(LOOP + 'print(f"episode {epoch} reward {v}")', 'print(f"mean reward {w}")')
        self.assertEqual((answer.values, len(answer.to_do)), (["0.5"], 1), answer.to_do)


class NamedByTheCode(unittest.TestCase):
    """Where a line names no part of the data, what its value is computed from may, or the function that prints it."""

    def functions(self, training, validation, first="train", second="evaluate"):
        return (f'def {first}():\n    x = v\n    print(f"{training}")', f'def {second}():\n    x = w\n    print(f"{validation}")',
                LOOP + f"{first}()\n    {second}()")

    def test_the_line_of_the_function_for_the_validation_is_read(self):
        for training, validation in (("T loss: {x}", "V loss: {x}"), ("loss: {x} lr 1", "loss: {x}"), ("loss: {x}", "loss: {x} n 10"),
                                     ("[{epoch}] loss: {x}", "loss: {x}")):
            for names in (("train", "evaluate"), ("fit_epoch", "run_validation"), ("step", "dev"), ("train_one_epoch", "test")):
                answer = answer_of(*self.functions(training, validation, *names))
                with self.subTest((training, validation, names)):
                    self.assertEqual((answer.values, len(answer.to_do)), (["0.5"] * 3, 1), answer.to_do)

    def test_lines_of_two_functions_that_no_expression_tells_apart_are_told(self):
        for names in (("train", "evaluate"), ("training_loop", "valid"), ("run", "test")):
            for order in (0, 1):
                lines = self.functions("loss: {x}", "loss: {x}", *names)
                answer = answer_of(*(lines if order else (lines[1], lines[0], lines[2])))
                part = "test" if "test" in names else "val"
                self.assertTrue(any(f"loss is printed by {names[1]}() and by {names[0]}() in the same words" in t and
                                    f"let {names[1]}() print {part}_loss" in t for t in answer.to_do), answer.to_do)

    def test_two_functions_that_print_through_a_function_of_the_script_are_told(self):
        log = "def log(message):\n    print(message)"
        report = "def report(loss, acc):\n    print(f'loss {loss} acc {acc}')"
        for wrapper, call in ((log, "log(f'loss {v} acc {w}')"), (report, "report(v, w)")):
            answer = answer_of(wrapper, f"def train():\n    {call}", f"def test():\n    {call}", LOOP + "train()\n    test()")
            self.assertTrue(any("acc is printed by test() and by train() in the same words" in t for t in answer.to_do), answer.to_do)

    def test_in_a_log_the_value_of_the_test_is_read_and_no_batch_of_the_training(self):
        batch = "Train Epoch: {e} [{b}/60000 ({b}%)]\tLoss: 0.{b}\n"
        batches = ["".join(batch.format(e=e, b=b) for b in (0, 128)) for e in (1, 2)]
        answer = answer_of(log="".join(text + f"Test set: Average loss: 0.{e}\n" for e, text in enumerate(batches, 4)))
        self.assertEqual((answer.metric, answer.values, len(answer.to_do)), ("average_loss", ["0.4", "0.5"], 1), answer.to_do)
        answer = answer_of(log="".join(batches))
        self.assertTrue(any("loss is of the training data" in t for t in answer.to_do), answer.to_do)
        answer = answer_of(log="".join(f"epoch {e} batch {b}/30 loss 0.{b} acc 0.{b}\n" for e in (1, 2) for b in (10, 20, 30)))
        self.assertTrue(any("acc is printed for batches alone" in t for t in answer.to_do), answer.to_do)
        test = "Test:  [{b}/100]  acc1: 7{b}.0 (70.0)\n"
        log = "".join(test.format(b=0) + test.format(b=10) + f"* Acc@1 70.{e} Acc@5 90.0\n" for e in (1, 2))
        self.assertEqual(answer_of(log=log).values, ["70.1", "70.2"])

    def test_the_line_that_is_computed_from_the_data_of_the_validation_is_read(self):
        grown = "s = 0\n    for x in {0}: s += x\n    print(f'{1} {{epoch}} loss {{s / len({0})}}')\n    "
        called = "loss = mean({0})\n    print(f'{1} {{epoch}} loss {{loss}}')\n    "
        for text in (grown, called):
            lines = [text.format("train_loader", "T"), text.format("val_loader", "V")]
            for order in (lines, lines[::-1]):
                answer = answer_of("train_loader, val_loader = [v], [w]", "def mean(x):\n    return sum(x) / len(x)", LOOP + "".join(order))
                self.assertEqual((answer.values, len(answer.to_do)), (["0.5"] * 3, 1), answer.to_do)

    def test_a_value_of_the_training_data_alone_is_told(self):
        for lines in (["train_loader = [v]", LOOP + "s = 0\n    for x in train_loader: s += x\n    print(f'loss {s}')"],
                      ["X_train = [v]", LOOP + "loss = sum(X_train)\n    print(f'loss {loss}')"],
                      ["def train_epoch():\n    return v", LOOP + "loss = train_epoch()\n    print(f'loss {loss}')"],
                      [LOOP + 'print(f"Train: epoch {epoch} loss {v}")']):
            to_do = answer_of(*lines).to_do
            self.assertEqual(sum("of the training data, on which the trial that learns by heart is the best" in t for t in to_do), 1, to_do)

    def test_methods_are_told_apart_by_what_stands_behind_the_value(self):
        script = ("class T:\n    def train_epoch(self, e):\n        acc = v\n        print(f'[{e}] acc {acc} lr {u}')\n"
                  "    def eval_epoch(self, e):\n        acc = w\n        print(f'[{e}] acc {acc}')\nt = T()")
        answer = answer_of(script, LOOP + "t.train_epoch(epoch)\n    t.eval_epoch(epoch)")
        self.assertEqual((answer.values, len(answer.to_do)), (["0.5"] * 3, 1), answer.to_do)

    def test_values_that_are_each_computed_from_all_are_looked_at_once(self):
        names = ", ".join(f"v{i}" for i in range(40))
        source = LOOP + f"{names} = step({names})\n    " * 6 + "loss = v0\n    print(f'loss: {loss}')\n"
        looked = 0

        def counted(*arguments):
            nonlocal looked
            looked += 1
            if looked > 10000:
                raise AssertionError("more than 10000 variables were looked at")
            return of_variable(*arguments)

        of_variable = origins.Origins.of_variable
        with mock.patch.object(origins.Origins, "of_variable", counted):
            self.assertEqual([m.name for m in metrics.metrics_of_source(ast.parse(source), source)], ["loss"])
        self.assertGreater(looked, 0)

    def test_a_device_a_flag_and_a_count_are_no_data(self):
        for script in ("dev = 0\ndef f(x, d): return x\n" + LOOP + "loss = f(v, dev)\n    print(f'A loss {loss}')\n    val = f(w, dev)\n    print(f'B loss {val}')",
                       "n_train = 5\n" + LOOP + "loss = w\n    print(f'({n_train} images) loss {loss}')",
                       "train_loader = [1, 2, 3]\ndef evaluate(b): return w\nfor b in train_loader:\n    loss = evaluate(b)\n    print(f'loss {loss}')"):
            answer = answer_of(script)
            self.assertEqual(answer.values, ["0.5"] * 3, script)
            self.assertFalse(any("training data" in t for t in answer.to_do), answer.to_do)

    def test_a_score_of_data_that_was_split_is_no_value_of_the_training(self):
        for line in ("acc = cross_val_score(model, X_train, y_train)", "acc = model.fit(X_train, y_train).score(X_rest, y_rest)",
                     "for a, b in kf.split(X_train):\n    acc = f(a, b)", "acc = train(args)"):
            self.assertNotIn("training data", space_of(line + "\nprint(f'acc {acc}')\n"), line)
        self.assertEqual(len(answer_of("def train():\n    " + LOOP.replace("\n", "\n    ") + "print(f'acc {v}')", "train()").to_do), 1)


class AsPrinted(unittest.TestCase):
    """The expression reads the line as the program prints it, and is text that a space file may hold."""

    def test_colours_are_no_part_of_it(self):
        colours = "import types\ngreen, reset = '\\x1b[32m', '\\x1b[0m'\nFore = types.SimpleNamespace(GREEN='\\x1b[32m', RESET='\\x1b[0m')\nc = 32\n"
        for line in ("\\x1b[1mepoch {epoch}\\x1b[0m \\x1b[32mval_acc:\\x1b[0m {w}", "\\x1b[{c}mepoch {epoch} val_acc {w}\\x1b[0m",
                     "{green}val_acc {w}{reset}", "{Fore.GREEN}val_acc {w}{Fore.RESET}", "epoch {epoch} \\x07val_acc {w}"):
            space = space_of(VALUES + colours + LOOP + f'print(f"{line}")\n')
            with self.subTest(line):
                self.assertNotRegex(space, "[\\x00-\\x09\\x0b-\\x1f]")
                regex = re.search(r"^    val_acc: \{regex: '(.*?)'\}", space, re.M).group(1)
                self.assertEqual(expressions.finds(regex, "epoch 1 val_acc: 0.5" if ":" in line else "epoch 1 val_acc 0.5"
                                               if "epoch" in line else "val_acc 0.5"), ["0.5"])

    def test_a_bar_that_is_moved_on_behind_its_value_counts_from_none(self):
        space = space_of("from tqdm import tqdm\nbar = tqdm(total=3)\nfor e in (1, 2, 3):\n    v = e / 4\n"
                         "    bar.set_postfix_str(f'val_acc={v:.4f}'); bar.update(1)\n")
        self.assertRegex(space, r"(?m)^  iteration: .*, first: 0\}")

    def test_what_is_printed_to_a_file_is_no_output(self):
        space = space_of("log = open('log.txt', 'w')\nprint('val_acc', 0.5, file=log)\n")
        self.assertIn("what it prints is not known", space)

    def test_a_name_in_a_wide_cell_is_read(self):
        for line in ("f\"{'accuracy':>9}: {w:.4f}\"", "f\"{'accuracy':>12} {w:9.4f}\"", "'%12s %.4f' % ('accuracy', w)", "'{:>12} {:.4f}'.format('accuracy', w)"):
            answer = answer_of(f"print({line})")
            self.assertEqual((answer.metric, answer.values), ("accuracy", ["0.5000"]), line)
        answer = answer_of("print(f\"  {'mean':10s} IoU: {w}\")")
        self.assertEqual((answer.metric, answer.values), ("mean_iou", ["0.5"]))

    def test_a_dictionary_in_a_dictionary_is_read_by_its_own_keys(self):
        for lines in ("stats = dict(train=dict(loss=v), valid=dict(loss=u, acc=w))\nprint(stats)",
                      "stats = {'train': {'acc': v}}\nstats['valid'] = {'loss': u, 'acc': w}\nprint(stats)",
                      "print(dict(train=dict(acc=v), valid=dict(acc=w)))"):
            answer = answer_of(lines)
            self.assertEqual((answer.metric, answer.values), ("valid_acc", ["0.5"]), lines)
            self.assertEqual(len(answer.to_do), 1, answer.to_do)

    def test_an_average_over_a_number_that_is_written_out_is_read(self):
        answer = answer_of(LOOP + 'print(f"Episode {epoch}\\tLast return: {v:.2f}\\tAverage return (10): {w:.2f}")')
        self.assertEqual((answer.metric, answer.values), ("average_return", ["0.50"] * 3))


class Wholes(unittest.TestCase):
    def test_of_a_loss_and_its_parts_the_total_is_read(self):
        for line, metric in (("rec {v} kl {u} total {w}", "total_loss"), ("kl {v} rec {u} loss {w}", "loss"),
                             ("cls_loss {v} box_loss {u} total_loss {w}", "total_loss"), ("kl {v} mse {w}", "mse")):
            answer = answer_of(LOOP + f'print(f"Epoch {{epoch}}: {line}")')
            self.assertEqual((answer.metric, answer.mode, answer.values), (metric, "min", ["0.5"] * 3), line)

    def test_a_part_alone_is_told(self):
        answer = answer_of(LOOP + 'print(f"Epoch {epoch}: rec {v} kl {w}")')
        self.assertTrue(any("kl is one part of a loss" in t for t in answer.to_do), answer.to_do)

    def test_a_count_is_no_total(self):
        self.assertEqual(metrics_in(space_of(VALUES + 'print(f"correct {v} total {w}")\n')), ["correct"])

    def test_beside_an_average_no_episode_is_read(self):
        loop = "for e in range(3):\n    print(f'Episode {e}: reward {v}')\n"
        self.assertEqual(answer_of(loop + "print(f'average reward over the last 10: {w}')").values, ["0.5"])
        self.assertEqual(answer_of(loop.replace("{v}", "{v} avg_reward {w}")).values, ["0.5"] * 3)
        self.assertTrue(any("the luckiest episode would be the answer" in t for t in answer_of(loop).to_do))
        log = "Episode 1: reward 5\nEpisode 2: reward 6\naverage reward: 5.5\n"
        self.assertEqual(Answer("x = 1\n", log).values, ["5.5"])


class Validation(unittest.TestCase):
    def test_a_plain_val_is_of_the_metric_before_it(self):
        for line in ("train loss: {v} | Val: {w}", "train loss {v} (best {u}) val {w} lr {u}", "Loss - train: {v}, val: {w}"):
            answer = answer_of(LOOP + f'print(f"{line}")')
            self.assertEqual((answer.metric, answer.mode, answer.values), ("val_loss", "min", ["0.5"] * 3), line)
            self.assertFalse(any("val" in t for t in answer.to_do), answer.to_do)
        answer = Answer("x = 1\n", "epoch 1 train loss 0.5 (best 0.4) val 0.7\nepoch 2 train loss 0.4 (best 0.4) val 0.6\n")
        self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.7", "0.6"]))

    def test_a_plain_val_behind_a_loss_with_a_value_of_its_own_is_asked(self):
        for line in ("Loss: {v} | Val: {w}", "loss {v} (best {u}) val {w} lr {u}", "loss={v}, acc={u}, val={w}",
                     "Epoch: 001, Loss: {v}, Train: {u}, Val: {w}, Test: {u}"):
            logged = "".join(line.format(v=v, u=0.25, w=0.5) + "\n" for v in (0.75, 0.7, 0.6))
            for answer in (answer_of(LOOP + f'print(f"{line}")'), Answer("x = 1\n", logged)):
                self.assertEqual((answer.metric, answer.values), ("val", ["0.5"] * 3), line)
                self.assertTrue(any("'val' stands behind " in t for t in answer.to_do), answer.to_do)
                self.assertTrue(any("largest val for the best; is that the right direction?" in t for t in answer.to_do), answer.to_do)

    def test_a_plain_val_is_named_by_its_variable(self):
        line = 'print(f"Epoch: {epoch:03d}, Loss: {loss:.4f}, Train: {train}, Val: {val}, Test: {test}")\n'
        numpy = "class np: mean = staticmethod(lambda given: sum(given) / len(given))\n"
        test = "def test():\n    return 0.75, 0.5, 0.25\n"
        for given, value, metric, mode in (
                ("train_acc, val_acc, test_acc = test()", "{val_acc:.4f}", "val_acc", "max"),
                ("train_loss, val_loss, test_loss = test()", "{val_loss:.4f}", "val_loss", "min"),
                ("m = dict(val_acc=0.5)", "{m['val_acc']:.4f}", "val_acc", "max"),
                ("val_auc = 0.005", "{100 * val_auc:.4f}", "val_auc", "max"),
                ("val_losses = [0.5]", "{val_losses[-1]:.4f}", "val_loss", "min"),
                ("val_accuracies = [0.5]", "{np.mean(val_accuracies):.4f}", "val_accuracy", "max"),
                ("def accuracy(x): return x", "{accuracy(0.5):.4f}", "val_accuracy", "max")):
            script = numpy + test + f"loss = 0.5\n{given}\nfor epoch in (1, 2):\n    " + line.replace("{val}", value).replace(
                "{train}", value.replace("val_", "train_") if "train_" in given else "{1}").replace("{test}", "{1}")
            answer = Answer(script)
            self.assertEqual((answer.metric, answer.mode, answer.values), (metric, mode, ["0.5000"] * 2), script)
            self.assertFalse(any("val" in t for t in answer.to_do), answer.to_do)

    def test_the_log_of_pytorch_geometric_is_read(self):
        script = ("from torch_geometric.logging import init_wandb, log\nfor epoch in (1, 2):\n"
                  "    log(Epoch=epoch, Loss=loss, Train=train_acc, Val=val_acc, Test=test_acc)\n")
        space = space_of(script)
        self.assertIn("\nmetric: val_acc ", space)
        self.assertIn(r"val_acc: {regex: ', Val:\s+{number}'}", space)

    def test_a_count_of_the_validation_is_no_value(self):
        self.assertEqual(metrics_in(space_of(VALUES + LOOP + 'print(f"loss {v} val {u}/{w}")\n')), ["loss"])

    def test_words_and_values_with_a_slash_between_them(self):
        for line in ("Train/Val loss: {v}/{w}", "Loss (train/val): {v} / {w}"):
            answer = answer_of(LOOP + f'print(f"{line}")')
            self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.5"] * 3), line)
            self.assertEqual(metrics_in(answer.space), ["train_loss", "val_loss"])

    def test_the_name_that_is_proposed_says_the_part_once(self):
        told = space_of(VALUES + LOOP + 'print(f"val_acc {v}")\n    print(f"val_acc {w}")\n')
        self.assertIn("val_acc is printed 2 times in the same words: let the script say which it is, with a word of its own", told)


class Subjects(unittest.TestCase):
    """Lines of a loop that is not over epochs are about several things."""

    def told(self, script):
        return " ".join(re.findall(r"# TO DO: (.* is printed for .*)", space_of(VALUES + script + "\n")))

    def test_a_loop_over_things_is_told(self):
        for script, told in (
                ("for c in ['cat', 'dog']:\n    print(f'{c}: accuracy {v}')", "accuracy is printed for cat and dog, which are no epochs: cat alone is read"),
                ("for k in (1, 5, 10):\n    print(f'k={k} recall={v}')", "for 1, 5 and 10, which are no epochs: the best k alone"),
                ("r = {}\nfor k, x in r.items():\n    print(f'k={k} recall={x}')", "for each k"),
                ("for t in [0.3, 0.5]:\n    print(f'threshold {t} f1 {v}')", "for 0.3 and 0.5, which"),
                ("for i in range(5):\n    print(f'class {i} acc {v}')", "for each class"),
                ("for i in range(5):\n    print('model', i + 1, 'acc', v)", "for each model"),
                ("for name in names():\n    print(f'{name}: acc {v}')", "for each name"),
                ("for lr in [0.1, 0.01]:\n    for epoch in range(3):\n        print(f'epoch {epoch} loss {v}')", "for 0.1 and 0.01"),
                ("for i in range(3):\n    for epoch in range(3):\n        print(f'epoch {epoch} loss {v}')", "for each run")):
            with self.subTest(script):
                self.assertIn(told, self.told(script))
                self.assertIn("let the script print the mean of all", self.told(script))

    def test_the_mean_of_the_things_is_read(self):
        answer = answer_of("for c in ['cat', 'dog']:\n    print(f'{c}: accuracy {v}')\nprint(f'mean accuracy {w}')")
        self.assertEqual((answer.metric, answer.values, len(answer.to_do)), ("mean_accuracy", ["0.5"], 1))

    def test_a_loop_of_time_is_not_told(self):
        for script in ("for e in (1, 2, 3):\n    print(f'{e} acc {v}')", "for i in range(5):\n    print(f'{i}: acc {v}')",
                       "for i in range(5):\n    print(f'Round {i} acc {v}')", "for step in [100, 200]:\n    print(f'step {step} acc {v}')",
                       "for i in range(5):\n    print(f'Training {i}/5: acc {v}')", "for x in loader():\n    print(f'acc {v}')",
                       "for k, x in {'accuracy': v, 'f1': w}.items():\n    print(f'{k}: {x}')",
                       "for epoch, x in history.items():\n    print(f'{epoch} acc {x}')",
                       "for epoch in range(3):\n    for phase in ['train', 'val']:\n        print(f'{phase} acc {v}')"):
            self.assertEqual(self.told(script), "", script)

    def test_batches_alone_are_told(self):
        told = "loss is printed for batches alone, so that the best single batch would be the answer"
        for script in ("for e in range(3):\n    for i in range(3):\n        print(f'[{e + 1}, {i + 1:5d}] loss: {v:.3f}')",
                       "for e in range(3):\n    for b in range(4):\n        print(f'Epoch {e} batch {b}: loss={v:.3f}')",
                       "def train(e):\n    for b in range(4):\n        print(f'Epoch {e} [{b}/4] loss: {v}')\nfor e in range(3):\n    train(e)"):
            self.assertIn(told, self.told(script))
            self.assertNotIn(told, self.told(script + "\n    print(f'epoch {e} loss {w}')" if "def" not in script else
                                             script + "\n    print(f'epoch {e} val_loss {w}')"))
        self.assertNotIn(told, self.told("for step in range(9):\n    print(f'step {step} loss {v}')"))


class LongLines(unittest.TestCase):
    def test_of_many_numbers_each_is_looked_at_once(self):
        looked = 0

        def counted(before, behind):
            nonlocal looked
            looked += 1
            if looked > 10000 or len(before) > 1000:
                raise AssertionError("a number is looked at again for each that stands behind it")
            return is_count(before, behind)

        is_count = counts.is_count
        log = "losses " + " ".join(f"{i}.5" for i in range(500)) + " val_acc: 0.5\n"
        with mock.patch.object(counts, "is_count", counted):
            self.assertEqual([m.name for m in logs.metrics_of_log(log * 3)], ["val_acc"])
        self.assertGreater(looked, 0)


class Expressions(unittest.TestCase):
    def test_a_line_that_a_function_left_open_is_read_to_its_end(self):
        log = 'def log(text, end="\\n"):\n    print(text, end=end)'
        answer = answer_of(log, LOOP + 'log(f"epoch {epoch}: ", end="")\n    log(f"train acc {v}, ", end="")\n    log(f"test acc {w}")')
        self.assertEqual((answer.metric, answer.values), ("test_acc", ["0.5"] * 3))

    def test_rows_of_two_tables_in_one_form_are_told(self):
        table = 'print("{0}")\n' + LOOP + "print(epoch, {1})\n"
        answer = answer_of(table.format("step loss", "v") + table.format("epoch val_acc", "w"))
        self.assertTrue(any("val_acc is a column of a table, and another table has rows of the same form" in t for t in answer.to_do), answer.to_do)
        answer = answer_of(table.format("epoch val_acc", "w"))
        self.assertEqual((answer.values, len(answer.to_do)), (["0.5"] * 3, 1), answer.to_do)

    def test_a_padded_number_may_begin_the_line(self):
        answer = answer_of(LOOP + 'print(f"{epoch:3d} val acc {w}")', 'print(f"Best epoch {epoch} with val acc {v}")')
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.5"] * 3))

    def test_the_average_precision_over_all_thresholds_is_the_plain_one(self):
        answer = answer_of(LOOP + 'print(f"epoch {epoch} mAP@[.5:.95]={w} mAP@.5={u}")')
        self.assertEqual((answer.metric, answer.values), ("map", ["0.5"] * 3))

    def test_a_value_with_a_number_right_behind_it_is_told(self):
        for line in ("acc: {v}00", "epoch {epoch} acc: {v}1e-3", "acc: {v}{w}"):
            answer = answer_of(LOOP + f'print(f"{line}")')
            self.assertTrue(any(t.startswith("no expression was found that reads acc in ") and "let the script print it in a line of its own" in t
                                for t in answer.to_do), answer.to_do)
        for line in ("acc: {v}{RESET}", "acc: {v}{mark}"):
            answer = answer_of("RESET = mark = chr(42)", LOOP + f'print(f"{line}")')
            self.assertEqual((answer.values, len(answer.to_do)), (["0.25"] * 3, 1), answer.to_do)

    def test_a_value_on_a_line_that_was_left_open_is_found(self):
        answer = answer_of("import sys", "for e in range(3):", "    for b in range(2):",
                           "        sys.stdout.write(f'\\rEpoch {e} [{b}/2] loss: {v}')", "    sys.stdout.write(f' val_loss: {w}\\n')")
        self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.5"] * 3))
        answer = answer_of("for e in range(3):", "    print(f'Epoch {e}', end=' ')", "    print(f'val_loss: {w}')")
        self.assertEqual(answer.values, ["0.5"] * 3)

    def test_the_unit_of_the_value_before_is_no_part_of_the_name(self):
        answer = answer_of(LOOP + "print(f'Time: {v:.1f}s Val Acc: {w}')")
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.5"] * 3))

    def test_the_summary_below_a_table_is_no_row_of_it(self):
        answer = answer_of("print(f\"{'epoch':>6} {'val_loss':>12} {'val_f1':>8}\")",
                           LOOP + "print(f'{epoch:>6d} {v:>12.3e} {w:>8.1%}')", "print(f\"{'best':>6} {v:>12.3e} {u:>8.1%}\")")
        self.assertEqual((answer.metric, answer.values), ("val_f1", ["50.0"] * 3))


class BesideTheValidation(unittest.TestCase):
    """A line of the loop names the validation, and the metric is read in one that does not."""

    def asked(self, body):
        answer = Answer("for e in (1, 2, 3):\n" + "".join(f"    {line}\n" for line in body))
        return any("of which no word says that it is of the validation" in t for t in answer.to_do)

    def test_it_is_asked(self):
        train = "print(f'epoch {e} loss {1 / e} acc {e / 4}')"
        for body in ([train, "print('validation:', e / 5)"], [train, "print(f'  val: {e / 5}')"],
                     [train, "print(f'Evaluation over 10 episodes: {e / 5}')"],
                     ["print(f'Epoch: [{e}] Acc {e / 4}')", "for i in range(2):", "    print(f'Val: [{i}/2] Acc {e / 5}')"]):
            self.assertTrue(self.asked(body), body)
        for body in ([train, "print(f'val_acc {e / 5}')"], [train], [train, "print('validating')"]):
            self.assertFalse(self.asked(body), body)

    def test_a_loss_of_no_part_beside_an_unknown_measure_or_another_error_is_asked(self):
        for other in ("MOTA", "elo", "perplexity"):
            answer = Answer(f"for e in (1, 2, 3):\n    print(f'epoch {{e}} loss {{1 / e}}')\n    print(f'epoch {{e}} {other} {{e / 8:.3f}}')\n")
            self.assertTrue(any(f"loss may be what the training lowers, and {other.lower()} is printed" in t for t in answer.to_do), answer.to_do)
        space = space_of("for e in (1, 2):\n    loss = f(x)\n    loss.backward()\n    print(f'loss {loss.item()}')\n")
        self.assertIn("loss shows loss.backward(), which is what the training lowers", space)

    def test_one_of_two_adversaries_and_precision_alone_are_asked(self):
        loop = "for e in (1, 2):\n    print(f'epoch {{e}} {0} {{e / 8}}')\n"
        self.assertIn("d_acc is of one of two adversaries", Answer(loop.format("d_acc")).space)
        self.assertIn("val_precision alone can be had at the cost of the other", Answer(loop.format("val_precision")).space)

    def test_a_script_that_says_what_its_metric_is_goes_before_its_log(self):
        script = ("def test(e):\n    print('====> Test set loss: {:.4f} (recon {:.3f})'.format(80 / e, 8))\nfor e in range(1, 3):\n"
                  "    print('====> Epoch: {} Average loss: {:.4f}'.format(e, 40 / e))\n    test(e)\n")
        log = "".join(f"====> Epoch: {e} Average loss: {40 / e:.4f}\n====> Test set loss: {80 / e:.4f} (recon 8.000)\n" for e in (1, 2))
        self.assertEqual(Answer(script, log).values, ["80.0000", "40.0000"])

    def test_an_amount_of_the_validation_says_nothing_of_the_loss_beside_it(self):
        for amount in ("val_samples", "val_tokens", "test_samples", "eval_samples_per_second"):
            answer = Answer(f"for e in (1, 2, 3):\n    print(f'loss {{1 / e}} val_loss {{e / 8}} {amount} {{500.5}}')\n")
            self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.125", "0.25", "0.375"]), amount)
        answer = Answer("for e in (1, 2, 3):\n    print(f'loss {1 / e} val_loss {e / 8} val_samples 500')\n")
        self.assertEqual(answer.metric, "val_loss")

    def test_two_bare_values_behind_one_name_are_asked(self):
        for line in ("print(f'epoch {e} AUC {e / 4:.4f} {e / 5:.4f}')", "print('auc', round(e / 4, 4), round(e / 5, 4))"):
            answer = Answer("for e in (1, 2, 3):\n    a, b = e, e\n    " + line.replace("e / 4", "a / 4").replace("e / 5", "b / 4") + "\n")
            self.assertTrue(any("two values stand behind 'auc'" in t for t in answer.to_do), answer.to_do)
        answer = Answer("for e in (1, 2, 3):\n    print('loss', round(1 / e, 4), e)\n")
        self.assertFalse(any("two values" in t for t in answer.to_do), answer.to_do)



if __name__ == "__main__":
    unittest.main()
