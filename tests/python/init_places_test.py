"""`tune init`: values whose names do not stand right before them, and which part of the data a line is of."""

import re
import unittest

from init_answers_test import Answer, space_of

import expressions
import logs


class Places(unittest.TestCase):
    """Values whose names do not stand right before them."""

    LOOP = "for e in (1, 2):\n    acc, loss = e / 4, e / 8\n    "

    def test_a_name_behind_its_value(self):
        for line, name in (("{acc} accuracy", "accuracy"), ("{e}: {acc} val accuracy, {loss} val loss", "val_accuracy"),
                           ("{acc} accuracy {loss} loss", "accuracy"), ("Epoch {e}: {loss} train loss | {acc} val loss", "val_loss"),
                           ("{e}: {acc} accuracy on the validation set", "val_accuracy"), ("{acc} R^2", "r2"),
                           ("{acc} accuracy in {loss} s", "accuracy"), ("{loss} loss (train) {acc} loss (val)", "val_loss"),
                           ("{e}: {loss} loss (train), {acc} loss (valid)", "val_loss"), ("{loss} loss, {acc} acc after {e} sec", "acc")):
            log = "".join(line.format(e=e, acc=e / 4, loss=e / 8) + "\n" for e in (1, 2))
            for answer in (Answer(self.LOOP + f'print(f"{line}")\n'), Answer("x = 1\n", log)):
                with self.subTest(line):
                    self.assertEqual((answer.metric, answer.values), (name, ["0.25", "0.5"]))
        self.assertEqual(Answer(self.LOOP + 'print(f"{e}: {100 * acc:.1f}% accuracy")\n').values, ["25.0", "50.0"])

    PARTS = ("Epoch {e}: val {acc} loss, train {loss} loss", "Epoch {e}: train {loss} loss, val {acc} loss", "val {acc} loss train {loss} loss",
             "val: {acc} loss train: {loss} loss", "Epoch {e} train={loss} loss, val={acc} loss", "Train: {loss} loss | Val: {acc} loss",
             "[{e}] validation {acc}% loss, training {loss}% loss", "epoch {e}: val set {acc} loss")

    def test_of_two_values_with_one_name_behind_them_the_words_before_say_which_is_which(self):
        for line in self.PARTS:
            log = "".join(line.format(e=e, acc=e / 4, loss=e / 8) + "\n" for e in (1, 2))
            for answer in (Answer(self.LOOP + f'print(f"{line}")\n'), Answer("x = 1\n", log)):
                with self.subTest(line):
                    self.assertEqual((answer.metric, answer.values), ("val_loss", ["0.25", "0.5"]))
        line = "Train: 0.9 loss, 0.8 acc | Val: {loss} loss, {acc} acc"
        answer = Answer(self.LOOP + f'print(f"{line}")\n')
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]))

    def test_two_values_with_one_name_behind_them_and_no_word_before_are_asked(self):
        self.assertIn("what it prints is not known", space_of(self.LOOP + 'print(f"{e}: {acc} loss, {loss} loss")\n'))
        self.assertEqual(logs.metrics_of_log("1: 0.25 loss, 0.5 loss\n2: 0.125 loss, 0.25 loss\n"), [])
        for answer in (Answer(self.LOOP + 'print(f"{acc} loss {loss} loss")\n'), Answer("x = 1\n", "0.25 loss 0.5 loss\n0.125 loss 0.25 loss\n")):
            self.assertTrue(any("loss stands behind two values of one line" in t for t in answer.to_do), answer.to_do)

    def test_one_name_behind_a_value_takes_nothing_from_the_names_before_others(self):
        for line, name in (("val_acc: {acc} | loss {loss} | 12 cost", "val_acc"), ("val_loss: {acc} and {loss} train accuracy", "val_loss"),
                           ("val_loss: 0.3 | val_acc: {acc} | 12 errors, {loss} train loss", "val_acc")):
            log = "".join(line.format(e=e, acc=e / 4, loss=e / 8) + "\n" for e in (1, 2))
            for answer in (Answer(self.LOOP + f'print(f"{line}")\n'), Answer("x = 1\n", log)):
                with self.subTest(line):
                    self.assertEqual((answer.metric, answer.values), (name, ["0.25", "0.5"]))

    def test_a_log_in_which_the_lines_first_words_name_the_data_is_read_as_the_script_is(self):
        for one, other in (("Train Epoch: {e} Loss: 1 Acc: {loss}", "Valid Epoch: {e} Loss: 2 AUROC: {acc}"),
                           ("Epoch {e} [train] Loss: 1 Acc: {loss}", "Epoch {e} [valid] Loss: 2 F1: {acc}")):
            log = "".join((one + "\n" + other + "\n").format(e=e, acc=e / 4, loss=e / 8) for e in (1, 2))
            for answer in (Answer(self.LOOP + f'print(f"{one}")\n    print(f"{other}")\n'), Answer("x = 1\n", log)):
                with self.subTest(other):
                    self.assertEqual((answer.metric in ("auroc", "f1"), answer.values), (True, ["0.25", "0.5"]))

    def test_of_lines_of_a_log_in_the_same_words_that_of_the_validation_and_of_the_measure_is_read(self):
        for training, validation in (("Training:   loss=0.{e} acc=0.9", "Validation: loss=0.5 acc=0.{e}"), ("[train] loss=0.{e} acc=0.9", "[test] loss=0.5 acc=0.{e}"),
                                     ("loss on validation: 0.9", "accuracy on validation: 0.{e}")):
            answer = Answer("x = 1\n", "".join((training + "\n" + validation + "\n").format(e=e) for e in (1, 2, 3)))
            with self.subTest(validation):
                self.assertEqual((answer.mode, answer.values, len(answer.to_do)), ("max", ["0.1", "0.2", "0.3"], 2), answer.to_do)
                self.assertIn("max_t: 3,", answer.space)

    def test_in_a_log_the_threshold_at_which_a_measure_is_taken_is_no_value(self):
        line = " Average Precision  (AP) @[ IoU={} | area=   all | maxDets=100 ] = 0.{}1\n"
        log = "".join(line.format("0.50:0.95", e) + line.format("0.50     ", e + 5) + line.format("0.75     ", e + 2) for e in (1, 2, 3))
        answer = Answer("x = 1\n", log)
        self.assertEqual((answer.metric, answer.mode, answer.values), ("ap", "max", ["0.11", "0.21", "0.31"]))
        log = "".join(f"epoch {e}: IoU=0.5 mAP=0.{e}\n" for e in (1, 2, 3))
        answer = Answer("x = 1\n", log)
        self.assertEqual((answer.metric, answer.values), ("map", ["0.1", "0.2", "0.3"]))

    def test_values_of_a_loop_over_the_parts_of_the_data_below_lines_of_their_own_are_asked(self):
        loop = "for split in ('train', 'dev', 'test'):\n    f1 = 0.5\n"
        for body in ("    print(f'== {split} ==')\n    print(f'F1: {f1:.3f}')\n", "    print(split)\n    print('F1:', f1)\n"):
            answer = Answer(loop + body)
            self.assertTrue(any("f1 is printed for each of train, dev, test in the same words" in t for t in answer.to_do), answer.to_do)
        for body in ("    print(f'{split} F1: {f1:.3f}')\n", "    if split == 'dev':\n        print(f'F1: {f1:.3f}')\n",
                     "    if split == 'train': continue\n    print('%s F1: %.2f' % (split, f1))\n"):
            answer = Answer(loop + body)
            self.assertFalse(any("in the same words" in t for t in answer.to_do), answer.to_do)

    def test_a_value_that_is_padded_behind_its_name_is_found(self):
        line = "| epoch {e:3d} | time: {loss:5.2f}s | valid loss {loss:5.2f} | valid ppl {acc:8.2f}"
        answer = Answer(self.LOOP + f'print(f"{line} *")\n    print(f"{line.replace("valid", "test")}")\n')
        self.assertEqual((answer.metric, len(answer.values)), ("valid_loss", 2))
        regex = re.search(r"valid_ppl: \{regex: '(.*?)'\}", answer.space).group(1)
        self.assertEqual(expressions.finds(regex, line.format(e=1, acc=0.25, loss=0.5) + " *"), ["0.25"])

    def test_a_name_before_its_value_goes_first(self):
        for line in ("acc {acc} ({loss} best acc)", "acc {acc} on {e} test images", "{e} epochs, acc {acc}"):
            self.assertEqual(Answer(self.LOOP + f'print(f"{line}")\n').values, ["0.25", "0.5"], line)

    def test_a_row_without_a_header_is_read_by_its_variables(self):
        for row in ('f"{e},{loss},{acc}"', 'f"{e}\\t{loss}\\t{acc}"', 'e, loss, acc, sep="\\t"', "e, loss, acc", '"%d %.3f %.2f" % (e, loss, acc)',
                    'f"{e};{loss:.4f};{m[\'acc\']}"', "acc", "float(acc)"):
            answer = Answer(self.LOOP + f'm = dict(acc=acc)\n    print({row})\n')
            with self.subTest(row):
                self.assertEqual((answer.metric, [float(v) for v in answer.values]), ("acc", [0.25, 0.5]))

    def test_a_row_with_a_header(self):
        for separator in (",", "\\t", ";"):
            row = separator.join(("{e}", "{loss}", "{acc}"))
            header = separator.join(("epoch", "loss", "val_acc"))
            answer = Answer(f'print("{header}")\n' + self.LOOP + f'print(f"{row}")\n')
            self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]), separator)

    def test_a_header_with_a_unit(self):
        answer = Answer('print("epoch,loss,val_acc%")\n' + self.LOOP + 'print(f"{e},{loss},{acc}%")\n')
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]))

    def test_a_logger_of_any_name(self):
        answer = Answer('import logging\nL = logging.getLogger("trainer")\n' + self.LOOP + 'L.info("step %d | val_ppl %.6g", e, acc)\n')
        self.assertEqual(answer.metric, "val_ppl")
        self.assertIn("what it prints is not known", space_of(self.LOOP + 'L.info("val_ppl %.6g", acc)\n'))

    def test_a_remark_between_the_name_and_its_value(self):
        for label, name in (("Accuracy (%)", "accuracy"), ("val acc%", "val_acc"), ("val F1 (macro)", "val_f1_macro"), ("val AUC (95% CI)", "val_auc"),
                            ("Recall (k=10)", "recall"), ("Accuracy [%]", "accuracy")):
            answer = Answer(self.LOOP + f'print(f"epoch {{e}} {label}: {{acc}}")\n')
            self.assertEqual((answer.metric, answer.values), (name, ["0.25", "0.5"]), label)
        self.assertIn("what it prints is not known", space_of(self.LOOP + 'print(f"acc (std): {loss}")\n'))

    def test_rows_of_markdown_and_of_a_list_are_read(self):
        for script in ('print("| epoch | loss | val_acc |")\nprint("|---|---|---|")\n' + self.LOOP + 'print(f"| {e} | {loss} | {acc} |")\n',
                       'print("epoch", "loss", "val_acc")\n' + self.LOOP + "row = [e, loss, acc]\n    print(*row)\n"):
            answer = Answer(script)
            self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]), script)
        self.assertEqual(Answer("x = 1\n", "| epoch | val_acc |\n|---|---|\n| 1 | 0.25 |\n| 2 | 0.5 |\n").values, ["0.25", "0.5"])
        changed = 'print("epoch", "loss", "val_acc")\n' + self.LOOP + "row = [e, acc, loss]\n    row = [e, loss, acc]\n    print(*row)\n"
        self.assertIn("what it prints is not known", space_of(changed))

    def test_print_under_another_name_is_read(self):
        answer = Answer("say = print\n" + self.LOOP + 'say(f"val_acc {acc}")\n')
        self.assertEqual((answer.metric, answer.values), ("val_acc", ["0.25", "0.5"]))

    def test_a_row_of_a_csv_writer_is_read(self):
        for delimiter, header in ((",", True), (";", True), (",", False)):
            script = ("import csv, sys\nout = csv.writer(sys.stdout" + (", delimiter=';'" if delimiter == ";" else "") + ")\n"
                      + ("out.writerow(['epoch', 'loss', 'acc'])\n" if header else "") + self.LOOP + "out.writerow([e, loss, acc])\n")
            answer = Answer(script)
            self.assertEqual((answer.metric, answer.values), ("acc", ["0.25", "0.5"]), script)
        self.assertIn("it seems to print nothing", space_of("import csv\nout = csv.writer(open('x.csv', 'w'))\n" + self.LOOP +
                                                              "out.writerow([e, acc])\n"))

    def test_a_dictionary_that_names_the_part_of_the_data_is_read_for_the_validation(self):
        line = 'json.dumps({{"epoch": e, "split": "{0}", "acc": acc + {1}}})'
        answer = Answer("import json\n" + self.LOOP + f"print({line.format('train', 3)})\n    print({line.format('valid', 0)})\n")
        self.assertEqual((answer.values, len(answer.to_do)), (["0.25", "0.5"], 1), answer.to_do)

    def test_the_pairs_of_structlog_are_read(self):
        space = space_of("import structlog\nlog = structlog.get_logger()\n" + self.LOOP + "log.info('epoch', epoch=e, val_loss=loss)\n")
        self.assertIn("metric: val_loss", space)

    def test_rows_of_two_kinds_are_not_guessed(self):
        for rows in ("print(e)\n    print(acc)", "print(acc)\n    print(loss)", "print(e, loss, loss)", "print(e, loss)\n    print(e, acc)"):
            self.assertIn("what it prints is not known", space_of(self.LOOP + rows + "\n"), rows)


if __name__ == "__main__":
    unittest.main()
