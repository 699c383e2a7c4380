"""`tune init`: which of the values that a script prints the sweep is about, and which of them is the best."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tune_init")
sys.path.insert(0, INIT)

import expressions  # noqa: E402
import logs  # noqa: E402
import measures  # noqa: E402


def space_of(script, log=None, given=None):
    """The space that init writes for a script, for its log, or for the command that runs it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("train.py", script), ("log.txt", log or "")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        command = [sys.executable, INIT, "train.py"] + (["--log", "log.txt"] if log else [])
        command += ["--command", given] if given else []
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


class Answer:
    """The space that init writes for a script, or for its log, and the values that the sweep would read."""

    def __init__(self, script, log=None):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("train.py", script), ("log.txt", log or "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            command = [sys.executable, INIT, "train.py"] + (["--log", "log.txt"] if log else [])
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60)
            self.space = done.stdout
            if done.returncode != 0:
                raise AssertionError(f"status {done.returncode}: {self.space}")
            if not log:
                log = subprocess.run([sys.executable, "train.py"], cwd=folder, stdout=subprocess.PIPE, text=True,
                                     timeout=60, check=True).stdout
        self.metric = re.search(r"^metric: (\w+)", self.space, re.M).group(1)
        self.mode = re.search(r"^mode: (\w+)", self.space, re.M).group(1)
        regex = re.search(rf"^    {self.metric}: \{{regex: '((?:[^']|'')*)'", self.space, re.M).group(1)
        if re.search(r"\(\?[!=<]", self.space):
            raise AssertionError(f"the engine knows no looking around: {self.space}")
        self.values = expressions.finds(regex.replace("''", "'"), log)
        self.to_do = re.findall(r"^ *# TO DO: (.*)$", self.space, re.M)


class Modes(unittest.TestCase):
    def test_a_negated_loss_and_one_that_falls_are_to_be_large(self):
        for name in ("neg_mean_squared_error", "neg_log_loss", "neg_rmse", "neg_mae", "val_neg_mse", "neg_loss",
                     "negative_loss", "minus_loss", "loss_improvement", "loss_decrease", "error_reduction"):
            self.assertEqual(measures.direction_of(name)[0], "max", name)
        for name in ("negative_log_likelihood", "neg_elbo", "nll", "brier_score", "mean_squared_error", "f1_loss",
                     "residual", "top1_error"):
            self.assertEqual(measures.direction_of(name), ("min", True), name)
        for name in ("log_likelihood", "ep_rew_mean", "mean_return", "precision_negative", "brier_skill_score"):
            self.assertEqual(measures.direction_of(name)[0], "min" if "brier" in name else "max", name)

    def test_a_direction_that_the_name_leaves_open_is_asked(self):
        answer = Answer('print(f"neg_mean_squared_error: {-0.5}")\n')
        self.assertEqual((answer.metric, answer.mode), ("neg_mean_squared_error", "max"))
        self.assertNotIn("right direction", answer.space)
        for name in ("neg_loss", "loss_improvement", "error_reduction", "loss_score", "accuracy_gap", "recall_disparity", "missed_recall"):
            answer = Answer(f'x = 0.5\nprint(f"{name}: {{x}}")\n')
            self.assertTrue(any(f"{name} for the best; is that the right direction?" in t for t in answer.to_do), name)


class Measures(unittest.TestCase):
    LARGE = ("ARI", "NMI", "AMI", "HR@10", "hit rate", "hit_rate@5", "Recall@20", "R@1", "P@5", "MRR", "MAP", "mAP", "nDCG", "NDCG@10", "BLEU", "bleu4",
             "ROUGE", "ROUGE-L", "rouge1", "METEOR", "IoU", "mIoU", "Dice", "PSNR", "SSIM", "Kappa", "MCC", "explained variance", "R2", "R^2",
             "AUPRC", "Jaccard", "silhouette", "V-measure", "c-index", "exact match", "normalized mutual info", "adjusted rand index")
    SMALL = ("1-acc", "1 - accuracy", "sMAPE", "MAPE", "RMSLE", "MASE", "CER", "WER", "perplexity", "FID", "Brier", "ECE", "log loss", "NLL",
             "deviance", "pinball", "EER", "latency", "cross-entropy", "LPIPS", "CRPS", "calibration error", "bits per byte")

    def test_a_measure_is_known_by_its_name_with_its_direction(self):
        for names, mode in ((self.LARGE, "max"), (self.SMALL, "min")):
            for name in names:
                script = f'for epoch in (1, 2):\n    print(f"epoch {{epoch}} val {name}: {{epoch / 4}}")\n'
                log = f"epoch 1 val {name}: 0.25\nepoch 2 val {name}: 0.5\n"
                for answer in (Answer(script), Answer("x = 1\n", log)):
                    with self.subTest(name):
                        self.assertEqual((answer.mode, answer.values), (mode, ["0.25", "0.5"]))
                        self.assertFalse(any("right direction" in t for t in answer.to_do), answer.to_do)

    def test_a_word_within_another_is_no_measure(self):
        for name in ("safari", "hr", "dicey", "mapped", "meteorology", "cerium", "r"):
            self.assertIn("what it prints is not known", space_of(f'x = 1\nprint(f"{name}: {{x}}")\n'), name)

    def test_a_number_before_a_dash_is_no_complement(self):
        for line in ("Stage 1 - accuracy: {x}", "Epoch 1-acc: {x}", "fold 1 - acc: {x}"):
            self.assertEqual(Answer(f'x = 0.5\nprint(f"{line}")\n').mode, "max", line)
        self.assertEqual(Answer("x = 1\n", "1 - acc: 0.5\n2 - acc: 0.25\n").mode, "max")

    def test_a_value_that_is_the_contrary_of_its_name_is_asked(self):
        for shown, name, mode in (("1 - acc", "accuracy", "min"), ("-loss", "val_loss", "max"), ("100 - 100 * f1", "f1", "min")):
            answer = Answer(f'acc = loss = f1 = 0.5\nprint("{name}:", {shown})\n')
            self.assertEqual(answer.mode, mode)
            self.assertTrue(any(f"{name} shows {shown}, which is to be" in t for t in answer.to_do), answer.to_do)
        for shown, name in (("1 - acc", "error"), ("1 - dice", "dice loss"), ("-elbo", "loss"), ("1 - err", "acc")):
            answer = Answer(f'acc = dice = elbo = err = 0.5\nprint("{name}:", {shown})\n')
            self.assertFalse(any("shows" in t for t in answer.to_do), answer.to_do)

    def test_a_value_whose_variable_is_another_measure_or_a_time_is_asked(self):
        for line, name, shown, what in (("val loss {acc}", "val_loss", "acc", "another measure"),
                                        ("accuracy {m['error']}", "accuracy", "error", "another measure"), ("accuracy {secs}", "accuracy", "secs", "a time")):
            answer = Answer(f'acc = secs = 0.5\nm = {{"error": 0.5}}\nprint(f"{line}")\n')
            self.assertTrue(any(f"{name} shows '{shown}', which by its name is {what}" in t for t in answer.to_do), answer.to_do)
        self.assertIn("what it prints is not known", space_of('secs = 3.5\nprint(f"accuracy took {secs}")\n'))
        for line in ("error {1 - acc}", "score {loss}", "accuracy {score}", "acc {accuracy}", "loss {rmse}", "acc {best[1]}", "time error {time_error}"):
            answer = Answer(f'acc = loss = score = accuracy = rmse = time_error = 0.5\nbest = [0, 0.5]\nprint(f"{line}")\n')
            self.assertFalse(any("by its name is" in t for t in answer.to_do), answer.to_do)


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
        self.assertIn("what it prints is not known", space_of("import csv\nout = csv.writer(open('x.csv', 'w'))\n" + self.LOOP +
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


class Scores(unittest.TestCase):
    """A "score" has the direction of what the script computes it from."""

    def mode_of(self, script, log=None):
        """The mode; None: the file asks for it."""
        space = space_of(script, log)
        self.assertRegex(space, r"(?m)^metric: \w*score\b")
        mode = re.search(r"^mode: (\w+)", space, re.M).group(1)
        return None if "is that the right direction?" in space else mode

    def test_a_score_that_nothing_explains_is_asked(self):
        for script in ("x = f()\nprint(f'score: {x}')\n", "print('best score', run(x).best)\n", "print('score', s if s else 0)\n",
                       "import tune\ntune.report(score=f())\n"):
            self.assertIsNone(self.mode_of(script), script)
        self.assertIsNone(self.mode_of("x = 1\n", "score: 0.5\nscore: 0.25\n"))

    def test_best_score_of_xgboost_is_of_its_metric(self):
        for given, mode in (("eval_metric='rmse'", "min"), ("eval_metric='auc'", "max"), ("eval_metric=['auc', 'logloss']", "min"),
                            ("eval_metric=['logloss', 'ndcg@5']", "max"), ("eval_metric='poisson-nloglik'", "min"),
                            ("objective='reg:squarederror'", "min"), ("objective='rank:ndcg'", "max"), ("eta=0.1", "min"),
                            ("eval_metric=f", None), ("eval_metric=M", "max"), ("objective=o", None)):
            params = "M = 'auc'\nb = xgb.train(dict(%s, nthread=1), d, 5, es)\n" % given
            classes = "M = 'auc'\nb = xgb.XGBClassifier(%s)\nb.fit(x, y)\n" % given
            for made in (params, classes):
                with self.subTest(made):
                    self.assertEqual(self.mode_of("import xgboost as xgb\n" + made + "print('score', b.best_score)\n"), mode)
        self.assertEqual(self.mode_of("import xgboost as xgb\nb = xgb.train({}, d, maximize=True, custom_metric=f)\n"
                                      "print(f'best_score: {b.best_score:.4f}')\n"), "max")

    def test_a_scorer_of_scikit_learn_is_large_and_its_negation_small(self):
        neg = "s = cross_val_score(m, x, y, scoring='neg_mean_squared_error')\n"
        for made, mode in ((neg + "print('score: %.3f' % -s.mean())\n", "min"), (neg + "print('score: %.3f' % s.mean())\n", "max"),
                           (neg + "print(f'score: {np.sqrt(-np.mean(s)):.3f}')\n", "min"),
                           (neg + "print('score', abs(s.mean()))\n", "min"), (neg + "print('score', -1 * s.mean())\n", "min"),
                           (neg + "best = max(s)\nprint('score: {:.2f}'.format(best))\n", "max"),
                           (neg.replace("neg_mean_squared_error", "r2") + "print('score', s.mean())\n", "max"),
                           ("s = cross_val_score(m, x, y)\nprint('score', 1 - s.mean())\n", "min"),
                           ("s = cross_val_score(m, x, y, scoring=how())\nprint('score', s.mean())\n", None),
                           ("k = cross_validate(m, x, y)\nprint('score', k['test_score'].mean())\n", "max"),
                           ("k = cross_validate(m, x, y, scoring=('r2',))\nprint('score', -k['test_neg_log_loss'].mean())\n", "min"),
                           ("g = GridSearchCV(m, p, scoring='neg_log_loss')\ng.fit(x)\nprint('best score:', -g.best_score_)\n", "min"),
                           ("print('score:', m.score(x, y))\n", "max"),
                           ("score = mean_squared_error(y, m.predict(x))\nprint('score:', score)\n", "min"),
                           ("score = accuracy_score(y, p)\nprint('score:', score)\n", "max"),
                           ("def f(m):\n    return log_loss(y, m.predict(x))\nprint('score:', f(m))\n", "min"),
                           ("import tune\ntune.report(score=f1_score(y, p))\n", "max"),
                           ("import tune\ntune.report({'score': log_loss(y, p)})\n", "min")):
            with self.subTest(made):
                self.assertEqual(self.mode_of("import numpy as np\nimport sklearn\n" + made), mode)
        script = "import sklearn\n" + neg + "print('score: %.3f' % -s.mean())\n"
        self.assertEqual(self.mode_of(script, "score: 3.5\n"), "min")
        self.assertEqual(self.mode_of("x = 1\n", "[CV 1/1] END C=1;, score=0.912 total time=   0.1s\n"), "max")

    def test_the_best_of_a_list_says_what_is_good(self):
        self.assertEqual(self.mode_of("print('best score', min(scores))\n"), "min")
        self.assertEqual(self.mode_of("best = max(best, x)\nprint('best score', best)\n"), "max")
        self.assertEqual(self.mode_of("best = max(0, x)\nprint('best score', best)\n"), None)


class Folds(unittest.TestCase):
    FOLDS = 'scores = [0.7, 0.7, 0.85]\nfor i, s in enumerate(scores):\n    print(f"fold {i + 1}: accuracy {s:.3f}")\n'

    def test_the_mean_is_read_and_no_fold(self):
        for mean in ('print(f"accuracy: {sum(scores) / 3:.3f} (+/- 0.012)")\n',
                     'print(f"Mean accuracy: {sum(scores) / 3:.3f}")\n',
                     'print(f"CV accuracy: {sum(scores) / 3:.3f}")\nprint(f"best accuracy: {max(scores)}")\n'):
            with self.subTest(mean):
                answer = Answer(self.FOLDS + mean)
                self.assertEqual(answer.values, ["0.750"])
                self.assertNotIn("each fold", answer.space)

    def test_folds_without_their_mean_are_told(self):
        in_loop = self.FOLDS.replace("fold {i + 1}: ", "").replace("for i,", "for fold,")
        for script in (self.FOLDS, in_loop, self.FOLDS + 'print(f"Best accuracy: {max(scores)}")\n'):
            with self.subTest(script):
                answer = Answer(script)
                self.assertEqual(answer.values[:3], ["0.700", "0.700", "0.850"])
                self.assertTrue(any("accuracy is printed for each fold" in t for t in answer.to_do), answer.to_do)

    def test_in_a_log(self):
        sklearn = "".join(f"[CV {i}/3] END ......C=1;, score=0.9{i}2 total time=   0.1s\n" for i in (1, 2, 3))
        plain = "fold 1: accuracy: 0.5\nfold 2: accuracy: 0.7\n"
        for log, mean in ((sklearn, "mean score: 0.922\n"), (plain, "accuracy: 0.600 (+/- 0.1)\n"),
                          (plain, "Mean: accuracy: 0.600\n")):
            with self.subTest(mean):
                self.assertEqual(Answer("x = 1\n", log + mean).values, [re.search(r"\d\.\d+", mean).group(0)])
                self.assertNotIn("each fold", Answer("x = 1\n", log + mean).space)
                self.assertRegex(Answer("x = 1\n", log).space, "# TO DO: .* is printed for each fold, so that")

    def test_the_best_of_a_log_is_no_mean(self):
        log = "fold 1 epoch 1 val_acc 0.5\nfold 1 epoch 2 val_acc 0.7\nfold 2 epoch 1 val_acc 0.6\nBest val_acc 0.7\n"
        answer = Answer("x = 1\n", log)
        self.assertEqual(answer.values, ["0.5", "0.7", "0.6"])
        self.assertIn("val_acc is printed for each fold", answer.space)


class Shards(unittest.TestCase):
    """Shards, workers, seeds and the like each print a value: their mean is the sweep's."""

    UNITS = ("shard", "worker", "job", "replica", "chain", "client", "bag", "split", "seed")

    def script_of(self, unit, end=""):
        return ("def run(n):\n    for epoch in (1, 2):\n"
                f"        print(f'{unit} {{n}} epoch {{epoch}} acc {{epoch / 4 + n / 8}}')\nfor n in (1, 2):\n    run(n)\n" + end)

    def test_the_mean_is_read(self):
        mean = "print(f'mean acc {0.6875}')\n"
        for unit in (*self.UNITS, "rank"):
            log = "".join(f"[{unit} {n}] epoch {e}: acc: {e / 4 + n / 8}\n" for e in (1, 2) for n in (1, 2))
            for answer in (Answer("import multiprocessing\n" + self.script_of(unit, mean)), Answer("x = 1\n", log + "mean acc: 0.6875\n")):
                with self.subTest(unit):
                    self.assertEqual(answer.values, ["0.6875"])
                    self.assertNotIn("is printed for each", answer.space)

    def test_a_shell_script_that_starts_shards(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "train.sh")
            with open(path, "w", encoding="utf-8") as file:
                file.write("LR=${LR:-0.1}\nfor s in 1 2; do\n  echo \"shard $s epoch 1 acc $LR\" &\ndone\nwait\necho mean acc $LR\n")
            space = subprocess.run([sys.executable, INIT, path], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
        self.assertIn("\nmetric: mean_acc ", space)

    def test_shards_without_their_mean_are_told(self):
        for unit in self.UNITS:
            log = "".join(f'{{"{unit}": {n}, "epoch": {e}, "acc": 0.{e}{n}}}\n' for e in (1, 2) for n in (1, 2))
            for space in (space_of(self.script_of(unit)), space_of("x = 1\n", log)):
                self.assertIn(f"acc is printed for each {unit}, so that the best {unit} alone would be the answer: let the script "
                              f"print the mean of all {unit}s too", space)
        self.assertIn("acc is printed for each seed", space_of("for seed in range(3):\n    print(f'acc {f(seed)}')\n"))

    def test_the_one_seed_of_a_trial_is_no_such_thing(self):
        for script, log in (("print(f'seed {args.seed} acc {f(args.seed)}')\n", None),
                            ("SEED = 3\nfor e in (1, 2):\n    print('seed', SEED, 'epoch', e, 'acc', f(e))\n", None),
                            ("for split in ('train', 'val'):\n    print(f'{split} acc {f(split)}')\n", None),
                            ("x = 1\n", "worker 7: epoch 1 acc 0.5\nworker 7: epoch 2 acc 0.6\n")):
            self.assertNotIn("is printed for each", space_of(script, log), script)


class Groups(unittest.TestCase):
    """One line tells of the training and of the validation."""

    LINES = ("Epoch {e}: train [loss {x:.3f}, acc {a:.3f}] val [loss {y:.3f}, acc {b:.3f}]",
             "[ Info: Epoch {e}: train = (loss = {x:.3f}, acc = {a:.3f}), test = (loss = {y:.3f}, acc = {b:.3f})",
             "Epoch {e}: Train: Loss {x:.3f}, Acc {a:.3f} | Val: Loss {y:.3f}, Acc {b:.3f}",
             "Epoch {e} Training: acc {a:.3f} loss {x:.3f} Validation: acc {b:.3f} loss {y:.3f}",
             "Epoch {e} | train loss {x:.3f} acc {a:.3f} | valid loss {y:.3f} acc {b:.3f} | 0.12s",
             "Epoch {e} | train loss {x:.3f}, acc {a:.3f} | test loss {y:.3f}, acc {b:.3f}",
             "[{e}epoch] [train] loss={x:.3f}, acc={a:.3f}, [valid] loss={y:.3f}, acc={b:.3f}, time=3 s",
             "{e} val: loss {y:.3f} acc {b:.3f}; train: loss {x:.3f} acc {a:.3f}")

    def test_the_value_of_the_validation_is_read(self):
        for line in self.LINES:
            numbers = [dict(e=e, x=0.1 / e, a=0.9 + e / 100, y=0.5 / e, b=0.7 + e / 100) for e in (1, 2, 3)]
            log = "".join(line.format(**n) + "\n" for n in numbers)
            script = ("for e in (1, 2, 3):\n    x, a, y, b = 0.1 / e, 0.9 + e / 100, 0.5 / e, 0.7 + e / 100\n"
                      f'    print(f"{line}")\n')
            for answer in (Answer(script), Answer("x = 1\n", log)):
                with self.subTest(answer.space):
                    self.assertRegex(answer.metric, "^(val|valid|validation|test)_acc$")
                    self.assertEqual(answer.values, ["0.710", "0.720", "0.730"])
                    self.assertFalse(any("acc" in t for t in answer.to_do), answer.to_do)

    def test_a_line_of_one_part_keeps_its_names(self):
        answer = Answer('print(f"Validation: Loss: {0.5}, Accuracy: {0.7}")\n')
        self.assertEqual((answer.metric, answer.values), ("accuracy", ["0.7"]))
        answer = Answer('print(f"train loss {0.1}, val loss {0.2}, acc {0.7}")\n')
        self.assertIn("    acc: {", answer.space)


class BehindTheLoop(unittest.TestCase):
    LOOP = "for e in (1, 2, 3):\n    "

    def test_what_is_said_behind_the_value_tells_a_final_test_from_an_epoch(self):
        answer = Answer(self.LOOP + 'print("acc %.2f" % (e / 10))\nprint("acc %.2f (on all data)" % 0.99)\n')
        self.assertEqual(answer.values, ["0.10", "0.20", "0.30"])

    def test_the_same_words_behind_the_loop_are_told(self):
        answer = Answer(self.LOOP + 'print("acc %.2f" % (e / 10))\nprint("acc %.2f" % 0.99)\n')
        self.assertTrue(any("acc is printed once more behind the loop" in t for t in answer.to_do), answer.to_do)
        show = "def show(acc):\n    print(f'acc {acc}')\n"
        answer = Answer(show + self.LOOP + "show(e / 10)\nshow(0.99)\n")
        self.assertTrue(any("acc is printed by show(), which is called in a loop and once more behind it" in t
                            for t in answer.to_do), answer.to_do)

    READ = "As this file stands each of these values is an iteration, and the best of all is the trial's."

    def test_the_same_words_before_the_loop_are_told_as_such(self):
        show = "def show(acc):\n    print(f'acc {acc}')\n"
        words = {show + "show(0.01)\n" + self.LOOP + "show(e / 10)\n":
                 "acc is printed by show(), which is called once before a loop and then in it: ",
                 'print(f"acc {0.9}")\n' + self.LOOP + 'print(f"acc {e / 10}")\n':
                 "acc is printed once more before the loop, in the same words, and that is no iteration: let the script say untrained there",
                 "def test():\n    print(f'acc {0.9}')\n" + self.LOOP + 'print(f"acc {e / 10}")\ntest()\n': None}
        for script, told in words.items():
            to_do = Answer(script).to_do
            self.assertFalse(any("behind" in t for t in to_do), to_do)
            self.assertEqual(any(t.startswith(told or "acc") and t.endswith(self.READ) for t in to_do), told is not None, to_do)

    def test_two_stages_of_a_training_are_told(self):
        answer = Answer('for e in (1, 2):\n    print(f"pretrain {e} loss {e}")\n'
                        'for e in (1, 2):\n    print(f"finetune {e} loss {e}")\n')
        self.assertTrue(any("loss is printed by two loops" in t for t in answer.to_do), answer.to_do)
        loop = "for e in (1, 2):\n    print(f'epoch {e} loss {e}')\n"
        answer = Answer(loop + loop)
        self.assertTrue(any("loss is printed by two loops, one after the other, in the same words" in t for t in answer.to_do), answer.to_do)
        branches = "if 1:\n" + loop.replace("for", " for") + "else:\n" + loop.replace("for", " for")
        self.assertFalse(any("two loops" in t for t in Answer(branches.replace("    print", "     print")).to_do))

    def test_a_sentence_that_counts_its_images_names_its_measure(self):
        line = "Accuracy of the network on the 10000 test images: {x:d} %"
        script = ("for e in (1, 2):\n    for i in (1, 2):\n        print(f'[{e}, {i:5d}] loss: {0.1:.3f}')\n"
                  f"x = 57\nprint(f'{line}')\n")
        log = "[1,     1] loss: 0.100\n[1,     2] loss: 0.100\n" + line.format(x=57) + "\n"
        for answer in (Answer(script), Answer("x = 1\n", log)):
            self.assertEqual((answer.metric, answer.values), ("test_accuracy", ["57"]))

    def test_the_mean_of_the_classes_is_read_and_no_class(self):
        answer = Answer(self.LOOP + 'for c in ["road", "car"]:\n        print(f"{c}: IoU {0.9}")\n'
                        '    print(f"epoch {e} mIoU {e / 10}")\n')
        self.assertEqual((answer.metric, answer.values), ("miou", ["0.1", "0.2", "0.3"]))

    def test_a_percentage_is_written_with_its_sign(self):
        answer = Answer(self.LOOP + 'print(f"acc {e / 10:.1%}/top")\n')
        self.assertEqual(answer.values, ["10.0", "20.0", "30.0"])


class Counts(unittest.TestCase):
    """A number within the words before a value counts something, and is not the value."""

    LINES = ("iter {e} | mean return over {n} episodes: {v}", "Episode {e}: average reward over last {n} episodes: {v}",
             "Mean test accuracy over {n} runs: {v}", "Accuracy on {n} validation images: {v} %", "epoch {e} | ndcg@5: {v} | hit rate at {n}: 9",
             "Validation accuracy after epoch {e}: {v}", "Eval loss at step {n} = {v}", "avg reward (last {n} episodes): {v}",
             "Average accuracy over {n} seeds and {n} folds: {v}", "recall@{n} on {n} users: {v}", "precision at {n} recall: {v}", "epoch {e} Hits@ 10 : {v} MRR: 0.1", "f1 at {n} = {v}",
             "Accuracy of the best {n} models: {v}")

    def test_numbers_of_samples_and_epochs_are_no_values(self):
        for line, name in (("accuracy after {e} epochs of training on {n} samples: {v}", "accuracy"),
                           ("accuracy after 3 epochs of training on 1000 samples: {v}", "accuracy"),
                           ("accuracy after {e} epochs of training on {n} samples {v}", "accuracy"),
                           ("After {e} epochs on {n} samples the accuracy is {v}", "accuracy"),
                           ("Test accuracy ({n} samples, {e} epochs): {v}", "test_accuracy")):
            log = line.format(e=3, n=1000, v=0.5) + "\n"
            for answer in (Answer(f'e, n, v = 3, 1000, 0.5\nprint(f"{line}")\n'), Answer("x = 1\n", log)):
                with self.subTest(line):
                    self.assertEqual((answer.metric, answer.values), (name, ["0.5"]))
                    self.assertFalse(any("training data" in t for t in answer.to_do), answer.to_do)

    def test_the_value_behind_the_count_is_read(self):
        for line in self.LINES:
            log = "".join(line.format(e=e, n=10 * e, v=v) + "\n" for e, v in ((1, 0.25), (2, 0.5)))
            script = f"for e, v in ((1, 0.25), (2, 0.5)):\n    n = 10 * e\n    print(f'{line}')\n"
            with self.subTest(line):
                self.assertEqual(Answer(script).values, ["0.25", "0.5"])
                self.assertEqual(Answer("x = 1\n", log).values, ["0.25", "0.5"])

    def test_a_value_with_another_behind_it_is_one(self):
        for line in ("epoch {e} acc {v} lr: {n}", "val_acc {v} time: {n}", "accuracy of {v} loss: {n}", "acc last {v} best: {n}",
                     "loss {n} acc {v} epoch: {e}", "epoch {e} of {n}: acc {v}"):
            log = "".join(line.format(e=e, n=10 * e, v=v) + "\n" for e, v in ((1, 0.25), (2, 0.5)))
            script = f"for e, v in ((1, 0.25), (2, 0.5)):\n    n = 10 * e\n    print(f'{line}')\n"
            with self.subTest(line):
                self.assertEqual(Answer(script).values, ["0.25", "0.5"])
                self.assertEqual(Answer("x = 1\n", log).values, ["0.25", "0.5"])

    def test_the_cutoffs_of_a_loop_are_told(self):
        script = "for e in (1, 2):\n    for k in (1, 5):\n        print(f'recall@{k}: {k / 10}')\n"
        answer = Answer(script)
        self.assertEqual(answer.values, ["0.1", "0.5"] * 2)
        self.assertTrue(any("recall is printed for 1 and 5" in t for t in answer.to_do), answer.to_do)

    def test_the_mean_of_runs_is_read_and_no_run(self):
        log = "Run 1: final test accuracy 0.5\nRun 2: final test accuracy 0.75\nMean test accuracy over 2 runs: 0.625\n"
        self.assertEqual(Answer("x = 1\n", log).values, ["0.625"])


class Fields(unittest.TestCase):
    """What programs of several fields print, with the value that each is about."""

    LINES = (("Epoch: {e}, Steps: 9 | Train Loss: 0.9 Vali Loss: {v} Test Loss: 0.8", "vali_loss", "min"),  # Time series.
             ("epoch {e} loss 0.9 kNN(k=200) top-1: {v}%  top-5: 0.8%", "top_1", "max"),  # Representations.
             ("epoch {e}, train loss: 0.9 - valid loss: 0.8, valid WER: {v}", "valid_wer", "min"),  # Speech.
             ("Episode {e}\tLast reward: 9.5\tAverage reward: {v}", "average_reward", "max"))  # Reinforcement learning.

    def test_the_value_of_the_field_is_read(self):
        for line, metric, mode in self.LINES:
            log = "".join(line.format(e=e, v=v) + "\n" for e, v in ((1, 0.25), (2, 0.5)))
            script = f"for e, v in ((1, 0.25), (2, 0.5)):\n    print(f{line!r})\n"
            for answer in (Answer(script), Answer("x = 1\n", log)):
                self.assertEqual((answer.metric, answer.mode, answer.values), (metric, mode, ["0.25", "0.5"]), line)

    def test_the_reward_of_a_numbered_episode_alone_is_told(self):
        script = "for e in (1, 2):\n    print(f'Total T: {e} Episode Num: {e} Reward: {e / 4}')\n"
        self.assertTrue(any("the luckiest episode would be the answer" in t for t in Answer(script).to_do))

    def test_an_expression_that_finds_one_value_in_its_line_goes_first(self):
        script = "for e in (1, 2):\n    print(f'{e} train (loss: {0.5}, n: 1), test (loss: {e / 4}, n: 2)')\n"
        regex = re.search(r"test_loss: \{regex: '(.*)'\}", Answer(script).space).group(1)
        self.assertEqual(expressions.count_of(regex, "1 train (loss: 0.5, n: 1), test (loss: 0.25, n: 2)"), 1)


class Dashes(unittest.TestCase):
    def test_a_part_before_a_dash_names_the_value(self):
        script = "for e in (1, 2):\n    print(f'Epoch {e}\\n  Train - loss {0.5}\\n  Valid - loss {e / 4}')\n"
        self.assertEqual((Answer(script).metric, Answer(script).values), ("valid_loss", ["0.25", "0.5"]))

    def test_a_chain_behind_another_value_is_read(self):
        script = "for e in (1, 2):\n    print(f'Epoch {e}: train/val accuracy = {0.9}/{e / 4}')\n"
        self.assertEqual((Answer(script).metric, Answer(script).values), ("val_accuracy", ["0.25", "0.5"]))


class Redrawn(unittest.TestCase):
    def test_a_carriage_return_begins_a_line(self):
        answer = Answer("for e in (1, 2, 3):\n"
                        "    print('\\rEpisode {}\\tAverage Score: {:.2f}'.format(e, e / 4), end='')\n")
        self.assertEqual(answer.values, ["0.25", "0.50", "0.75"])


class Loggers(unittest.TestCase):
    """Whatever a logger writes before its message, the message is read."""

    FORMATS = ("", "format='%(message)s'", "format='[%(levelname)s]%(message)s'",
               "format='%(asctime)s - %(levelname)s - %(message)s'", "format='%(levelname)-8s %(message)s'",
               "format='%(asctime)s | %(levelname)s | %(name)s:%(lineno)d - %(message)s'")

    def values(self, given, *messages):
        logged = "".join(f"    log.info(f'{m}')\n" for m in messages)
        return Answer(f"import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=logging.INFO, {given})\n"
                      f"log = logging.getLogger()\nfor e in (1, 2, 3):\n{logged}").values

    def test_a_message_that_begins_with_the_metric(self):
        for given in self.FORMATS:
            for message in ("val_acc={e / 4}", "val_acc: {e / 4} epoch={e}", "{e} val_acc {e / 4}", "***** val_acc = {e / 4}",
                            "Epoch {e}: val_acc {e / 4}"):
                with self.subTest((given, message)):
                    self.assertEqual(self.values(given, message, "best_val_acc={0.9}", "best_val_acc: {0.9}"), ["0.25", "0.5", "0.75"])

    def test_a_message_that_ends_as_another_one(self):
        for given in self.FORMATS:
            self.assertEqual(self.values(given, "val_acc = {e / 4}", "last val_acc = {0.9}"), ["0.25", "0.5", "0.75"], given)


class Batches(unittest.TestCase):
    def test_the_line_of_the_epoch_is_read(self):
        for batch, epoch in (("Epoch {e} step {b} loss: {x:.2f}", "Epoch {e} loss: {y:.2f}"),
                             ("Epoch {e} [{b}/300] loss: {x:.2f}", "Epoch {e}/3 loss: {y:.2f}"),
                             ("batch {b} val_loss={x:.2f}", "epoch {e} val_loss={y:.2f}"),
                             ("epoch {e} step {b} loss {x:.2f}", "epoch {e} done: loss {y:.2f}"),
                             ("Epoch [{e}/3], Step [{b}/300], Loss: {x:.2f}", "Epoch [{e}/3] summary, Loss: {y:.2f}"),
                             ("[{e}][{b}/300] loss {x:.2f}", "[{e}] result: loss {y:.2f}"),
                             ("batch {b} loss {x:.2f}", "epoch's mean: loss {y:.2f}")):
            script = ("for e in range(1, 4):\n    for b in range(0, 300, 100):\n        x = 0.3 / e + b / 1000\n"
                      f'        print(f"{batch}")\n    y = 0.5 + 1 / e\n    print(f"{epoch}")\n')
            with self.subTest(batch):
                self.assertEqual(Answer(script).values, ["1.50", "1.00", "0.83"])
                steps = [batch.format(e=e, b=b, x=0.3) for e in (1, 2, 3) for b in (0, 100, 200)]
                log = "".join("\n".join(steps[3 * e:3 * e + 3]) + "\n" + epoch.format(e=e + 1, y=1.5 - e / 4) + "\n"
                              for e in range(3))
                self.assertEqual(Answer("x = 1\n", log).values, ["1.50", "1.25", "1.00"])

    def test_a_summary_of_an_epoch_in_other_words_is_read(self):
        batches = "".join(f"Test: [ {b}/196]\tLoss 1.1 (1.1)\tAcc@1 7{b}.88 (71.88)\n" for b in range(4))
        answer = Answer("x = 1\n", batches + " * Acc@1 52.758\n" + batches + " * Acc@1 60.100\n")
        self.assertEqual((answer.metric, answer.values), ("acc_1", ["52.758", "60.100"]))

    def test_a_lone_line_before_the_steps_is_no_epoch(self):
        log = "start: loss 2.5\nstep 100 loss 0.5\nstep 200 loss 0.4\nstep 300 loss 0.3\n"
        self.assertEqual(Answer("x = 1\n", log).values, ["0.5", "0.4", "0.3"])


class Ranks(unittest.TestCase):
    SCRIPT = ("import multiprocessing\ndef work(rank):\n    for epoch in (1, 2):\n        v = rank + 1 / epoch\n"
              '        print(f"[rank {rank}] epoch {epoch} val_loss={v:.4f}")\nfor r in (0, 1):\n    work(r)\n')

    def test_of_several_processes_rank_0_is_read(self):
        answer = Answer(self.SCRIPT)
        self.assertEqual(answer.values, ["1.0000", "0.5000"])
        self.assertIn("# of rank 0 alone: print(", answer.space)
        lora = self.SCRIPT.replace("import multiprocessing", "pass").replace("for r in (0, 1)", "for r in (8,)")
        self.assertEqual(Answer(lora).values, ["9.0000", "8.5000"], "the rank of a matrix")

    def test_in_a_log(self):
        log = "".join(f"12:00:0{s} [rank{r}] step={s}00 loss={s}.{r} acc=0.{s}{r}\n" for s in (1, 2) for r in (1, 0))
        answer = Answer("x = 1\n", log)
        self.assertEqual((answer.metric, answer.values), ("acc", ["0.10", "0.20"]))
        self.assertIn("# of one rank alone: ", answer.space)


class Parts(unittest.TestCase):
    def test_the_validation_is_known_by_its_names(self):
        for header, main in (("tr_loss va_loss", "va_loss"), ("trn_loss vld_loss", "vld_loss"), ("loss v_loss", "v_loss"),
                             ("in_sample_mse out_of_sample_mse", "out_of_sample_mse"), ("fit_loss check_loss", "check_loss"),
                             ("train_mse oos_mse", "oos_mse"), ("loss holdout_loss", "holdout_loss"),
                             ("policy_loss value_loss ep_rew_mean", "ep_rew_mean"), ("trainloss valloss", "valloss"),
                             ("tr_acc dev_acc", "dev_acc"), ("train_return eval_return", "eval_return")):
            names = header.split()
            log = "".join(" ".join(f"{n}={0.5 + i / 4 + j}" for i, n in enumerate(names)) + "\n" for j in range(2))
            with self.subTest(header):
                answer = Answer("x = 1\n", log)
                self.assertEqual((answer.metric, answer.values),
                                 (main, [str(0.5 + names.index(main) / 4 + j) for j in range(2)]))

    def test_a_value_of_the_training_alone_is_told(self):
        for script, is_told in (('print(f"train_loss: {0.5}")\n', True), ('print(f"loss: {0.5}")\n', False)):
            self.assertEqual("train_loss is of the training data" in Answer(script).space, is_told)

    def test_a_column_with_its_unit(self):
        script = ('print("ep | tr_loss | va_loss | va_acc | lr")\nfor e in (1, 2):\n'
                  '    print(f"{e:2d} | {0.5 / e:7.4f} | {0.6 / e:7.4f} | {70.5 + e:4.1f} % | {0.1:.1e}")\n')
        self.assertEqual((Answer(script).metric, Answer(script).values), ("va_acc", ["71.5", "72.5"]))
        for log in ("ep | tr_loss | va_acc | lr\n 1 | 0.9 | 71.5 % | 0.1\n 2 | 0.8 | 72.5 % | 0.1\n",
                    "ep  tr_loss  va_acc  lr\n 1  0.9  71.5 %  0.1\n 2  0.8  72.5 %  0.1\n"):
            self.assertEqual(Answer("x = 1\n", log).values, ["71.5", "72.5"], log)


class Brackets(unittest.TestCase):
    def test_the_line_of_an_epoch_goes_before_those_of_its_batches(self):
        script = ("for e in (0, 1):\n    for i in range(3):\n        print(f'[{e}/2][{i}/3] acc: {0.9 + i / 100}')\n"
                  "    print(f'[{e}/2] acc: {0.25 + e / 4}')\n")
        log = "".join(f"[{e}/2][{i}/3] acc: 0.9{i}\n" * (i < 3) or f"[{e}/2] acc: {0.25 + e / 4}\n" for e in (0, 1) for i in range(4))
        for answer in (Answer(script), Answer("x = 1\n", log)):
            self.assertEqual(answer.values, ["0.25", "0.5"])
            self.assertFalse(any("acc" in t for t in answer.to_do), answer.to_do)

    def test_two_bars_below_each_epoch_of_a_log_are_told(self):
        bars = "\r [==  ] 1/2 Loss: 0.5 | Acc: {a}% (4/10)\r [====] {n}/{n} Loss: 0.5 | Acc: {a}% (8/10)\n"
        log = "".join(f"\nEpoch: {e}\n" + bars.format(a=90 + e, n=5) + bars.format(a=50 + e, n=3) + "Saving..\n" for e in (0, 1, 2))
        answer = Answer("x = 1\n", log)
        self.assertTrue(any("acc is printed 2 times below each heading such as 'Epoch: 0', in the same words" in t for t in answer.to_do),
                        answer.to_do)
        once = "".join(f"\nEpoch: {e}\n" + bars.format(a=90 + e, n=5) + "Saving..\n" for e in (0, 1, 2))
        self.assertFalse(any("Acc" in t or "acc" in t for t in Answer("x = 1\n", once).to_do))


class Tables(unittest.TestCase):
    def test_what_a_log_has_below_each_value_ends_its_iteration(self):
        log = "".join(f"=== Evaluation ===\n Accuracy:  {v}\n Precision:   0.5\n F1 Score:   0.6\n" for v in (0.25, 0.5, 0.75))
        self.assertIn("\n  report_on: f1_score ", space_of("x = 1\n", log))
        self.assertIn("\nmetric: accuracy ", space_of("x = 1\n", log))
        self.assertNotIn("report_on: f1_score", space_of("x = 1\n", log + " F1 Score: 0.9\n"))

    def test_a_sentence_with_is_names_its_value(self):
        log = "Score at iteration 10 is 0.5\nScore at iteration 20 is 0.25\n"
        self.assertEqual((Answer("x = 1\n", log).metric, Answer("x = 1\n", log).values), ("score", ["0.5", "0.25"]))

    def test_columns_that_are_padded_alone_are_read(self):
        for row in ("{e:<8}{0.5:<13.4f}{e / 4:<12.4f}00:0{e}", "{e:3d}{0.5:13.4f}{e / 4:>12.4f}{3:>9}"):
            script = f"print('epoch   train_loss   valid_acc   time')\nfor e in (1, 2):\n    print(f'{row}')\n"
            self.assertEqual((Answer(script).metric, Answer(script).values), ("valid_acc", ["0.2500", "0.5000"]), row)

    def test_a_line_that_names_the_parts_of_the_data_alone_is_asked(self):
        script = "def f(e): return e / 4\nfor e in (1, 2):\n    print(f'[{e}/2] train {0.5} valid {f(e)}')\n"
        for answer in (Answer(script), Answer("x = 1\n", "[1/2] train 0.5 valid 0.25\n[2/2] train 0.4 valid 0.5\n")):
            self.assertEqual((answer.metric, answer.values), ("valid", ["0.25", "0.5"]))
            self.assertTrue(any("'valid' measures" in t or "see whether valid is the one" in t for t in answer.to_do), answer.to_do)
            self.assertTrue(any("largest valid for the best; is that the right direction?" in t for t in answer.to_do), answer.to_do)

    def test_the_rows_of_a_table_of_stable_baselines_are_read(self):
        log = "".join(f"{'-' * 30}\n| rollout/      |       |\n|    ep_len_mean   | 9  |\n|    ep_rew_mean    | {v}   |\n"
                      f"| train/    |     |\n|    loss    | 0.1     |\n{'-' * 30}\n" for v in (46.5, 51.25))
        answer = Answer("x = 1\n", log)
        self.assertEqual((answer.metric, answer.mode, answer.values), ("ep_rew_mean", "max", ["46.5", "51.25"]))
        self.assertFalse(any("rew" in t for t in answer.to_do), answer.to_do)
        self.assertEqual(Answer("x = 1\n", "│   test_acc    │   0.93     │\n│   test_loss    │   0.2     │\n").values, ["0.93"])


class Stages(unittest.TestCase):
    def test_a_function_that_prints_two_stages_is_told(self):
        script = ("def fit(n, stage):\n    for e in range(n):\n        print(f'{stage} Epoch {e}/{n} val_acc: {e / 4}')\n"
                  "fit(2, 'pretrain')\nfit(3, 'finetune')\n")
        self.assertTrue(any("val_acc is printed for 'pretrain Epoch 1/1 val_acc: 1' and for 'finetune Epoch 1/1 val_acc: 1', and the "
                            "expression reads the first alone" in t for t in Answer(script).to_do))
        self.assertFalse(any("val_acc" in t for t in Answer(script.replace("fit(3, 'finetune')\n", "")).to_do))
        parts = script.replace("val_acc", "acc").replace("pretrain", "train").replace("finetune", "valid")
        self.assertFalse(any("acc" in t for t in Answer(parts).to_do), Answer(parts).to_do)


class Phases(unittest.TestCase):
    BODY = ("        loss = (0.1 if phase == 'train' else 0.5) / epoch\n        acc = 1 - loss\n")
    TUTORIAL = "print('{} Loss: {:.4f} Acc: {:.4f}'.format(phase, loss, acc))\n"
    FUNCTION = ("def run(phase, epoch):\n    if True:\n" + BODY + "        print(f'{phase} loss {loss:.4f} acc {acc:.4f}')\n"
                "for epoch in (1, 2):\n    ")

    def test_a_loop_over_phases_is_read_for_the_validation(self):
        for loop in ("for phase in ['train', 'val']:\n", "for phase, _ in [('train', 1), ('val', 2)]:\n",
                     "for phase, _ in zip(['train', 'val'], [1, 2]):\n", "for phase in PHASES:\n", "for phase in SETS.keys():\n"):
            for printed in (self.TUTORIAL, "print('%s loss: %.4f acc: %.4f' % (phase, loss, acc))\n",
                            "print(f'{phase.capitalize()} | loss {loss:.4f} | acc {acc:.4f}')\n",
                            "print(phase, 'acc', f'{acc:.4f}')\n"):
                script = ("PHASES = ('train', 'val')\nSETS = {'train': 1, 'val': 2}\nfor epoch in (1, 2):\n    " + loop +
                          self.BODY + "        " + printed)
                with self.subTest(script):
                    answer = Answer(script)
                    self.assertEqual((answer.metric, answer.values), ("acc" if "loss" in printed or "Loss" in printed
                                                                      else "val_acc", ["0.5000", "0.7500"]))
                    self.assertNotIn("printed", " ".join(answer.to_do))
        self.assertIn(r"acc: {regex: '^val\b.*?Acc:\s+{number}'}", Answer(
            "for epoch in (1, 2):\n    for phase in ['train', 'val']:\n" + self.BODY + "        " + self.TUTORIAL).space)

    def test_a_function_that_is_called_for_each_phase_is_read_for_the_validation(self):
        for calls in ("run('train', epoch); run('val', epoch)\n", "for phase in ('train', 'val'): run(phase, epoch)\n"):
            answer = Answer(self.FUNCTION + calls)
            self.assertEqual((answer.values, answer.to_do[1:]), (["0.5000", "0.7500"], []))
        by_default = self.FUNCTION.replace("phase, epoch)", "epoch, phase='val')", 1) + "run(epoch, 'train'); run(epoch)\n"
        self.assertEqual(Answer(by_default).values, ["0.5000", "0.7500"])
        one_of_two = self.FUNCTION.replace("    if True:", "    phase = 'train' if phase else 'val'\n    if True:")
        self.assertEqual(Answer(one_of_two + "run(1, epoch); run(0, epoch)\n").values, ["0.5000", "0.7500"])

    def test_phases_that_are_not_seen_are_told(self):
        script = ("import sys\nfor epoch in (1, 2):\n    for phase in sys.argv[1:] or ['train', 'val']:\n" + self.BODY +
                  "        " + self.TUTORIAL)
        told = "the line of acc is printed for each phase, and which there are is not seen"
        self.assertTrue(any(told in t for t in Answer(script).to_do))


class Repeated(unittest.TestCase):
    TWICE = 'for e in (1, 2):\n    print("Training:")\n    print(f"  accuracy: {0.9:.2f}")\n    print("Validation:")\n' \
            '    print(f"  accuracy: {0.8:.2f}")\n'

    def test_a_value_below_two_headings_is_told(self):
        told = "below 'Training:' and 'Validation:'"
        self.assertIn(f"accuracy is printed 2 times in the same words, {told}", Answer(self.TWICE).space)
        log = "Training:\n  accuracy: 0.90\nValidation:\n  accuracy: 0.80\n" * 2
        self.assertIn(f"accuracy is printed {told} in the same words", Answer("x = 1\n", log).space)
        more = self.TWICE.replace("{0.8:.2f}", "{0.8:.2f}, lr: 1").replace("accuracy", "loss")
        self.assertIn("loss is printed 2 times in the same words", Answer(more).space)
        for script in (self.TWICE.replace("  accuracy: {0.8", "  val accuracy: {0.8"),
                       'x = 1\nfor e in (1, 2):\n    if x:\n        print(f"acc {x}")\n    else:\n        print(f"acc {x}")\n'):
            self.assertNotIn("in the same words", Answer(script).space)

    def test_the_deviation_of_a_value_is_not_the_value(self):
        script = 'print("%0.2f accuracy with a standard deviation of %0.2f" % (0.9, 0.1))\nprint(f"acc {0.5} acc_std {0.25}")\n'
        self.assertEqual((Answer(script).metric, Answer(script).values), ("acc", ["0.5"]))

    def test_an_accuracy_of_is_one(self):
        self.assertEqual(Answer('print(f"with an accuracy of {0.5}")\n').values, ["0.5"])

    def test_a_function_that_prints_and_is_called_twice_is_told(self):
        script = ('def evaluate(data):\n    print(f"acc: {data / 2}")\nfor e in (1, 2):\n    evaluate(e)\n    evaluate(1.5)\n')
        self.assertIn("acc is printed by evaluate(), which is called 2 times", Answer(script).space)
        self.assertNotIn("is called", Answer(script.replace("    evaluate(1.5)\n", "")).space)


class Nested(unittest.TestCase):
    def test_of_dictionaries_in_a_dictionary_that_of_the_validation_is_read(self):
        for script in ('import json\nfor x in (1, 2):\n    print(json.dumps({"valid": {"loss": x + 0.5}, "train": {"loss": x / 8}}))\n',
                       'for x in (1, 2):\n    print({"e": x, "train": {"loss": x / 8}, "valid": {"loss": x + 0.5}})\n'):
            with self.subTest(script):
                answer = Answer(script)
                self.assertEqual((answer.metric, answer.mode, answer.values), ("valid_loss", "min", ["1.5", "2.5"]))
        log = "".join(f'{{"valid": {{"loss": {x}.5, "n": 3}}, "train": {{"loss": 0.{x}}}}}\n' for x in (1, 2))
        answer = Answer("x = 1\n", log)
        self.assertEqual((answer.metric, answer.values), ("valid_loss", ["1.5", "2.5"]))


class Splits(unittest.TestCase):
    """A key in a log's line says of which part of the data the line is."""

    def test_the_lines_of_the_validation_are_read(self):
        for line in ('{{"event": "eval", "split": "{s}", "epoch": {e}, "accuracy": {v}}}', '{{"epoch":{e},"accuracy":{v},"split":"{s}"}}',
                     "epoch={e} phase={s}, accuracy={v}", "[{e}] accuracy: {v} set: {s}", "{{'epoch': {e}, 'on': '{s}', 'accuracy': {v}}}"):
            for validation in ("val", "test"):
                log = "".join(line.format(s=s, e=e, v=v) + "\n" for e in (1, 2) for s, v in (("train", 0.9), (validation, e / 4)))
                with self.subTest(line):
                    answer = Answer("x = 1\n", log)
                    self.assertEqual((answer.metric, answer.values), ("accuracy", ["0.25", "0.5"]))
                    self.assertRegex(answer.space, rf"# of (split|phase|set|on) {validation} alone: ")
                    self.assertFalse(any("accuracy" in t for t in answer.to_do), answer.to_do)

    def test_lines_that_no_key_tells_apart_get_an_expression_to_choose(self):
        log = "".join(f'{{"at": "{s}", "epoch": {e}, "accuracy": 0.{e}}}\n' for e in (1, 2) for s in ("home", "away"))
        self.assertTrue(any(r"""the expression '\bhome\b.*?"accuracy":\s*{number}' finds the first alone""" in t
                            for t in Answer("x = 1\n", log).to_do))


class Chosen(unittest.TestCase):
    SCRIPT = ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
              "p.add_argument('--depth', type=int, default=3)\na = p.parse_args()\n"
              "print('precision: %.3f' % .7)\nprint('recall: %.3f' % .8)\nprint('f1: %.3f' % .74)\n")

    def test_precision_and_recall_alone_stand_behind_what_weighs_both(self):
        self.assertIn("metric: f1   # or: precision, recall", space_of(self.SCRIPT))

    def test_a_command_that_names_its_parameters_is_taken_as_it_is(self):
        space = space_of(self.SCRIPT, given="bash -c 'python3 train.py --lr {lr} -m {mom} --seed {tune.seed}'")
        self.assertIn('command: [bash, -c, "python3 train.py --lr {lr} -m {mom} --seed {tune.seed}"]\n', space)
        self.assertIn("# TO DO: no option of the script is called mom: write its domain.", space)
        self.assertRegex(space, r"(?m)^  lr: \{loguniform")
        self.assertRegex(space, r"(?m)^  mom: \{uniform.*TO DO")
        self.assertIn("# left as they are: depth\n", space)


class Unknown(unittest.TestCase):
    def test_the_residual_of_a_solver_is_to_be_small(self):
        log = "".join(f"iter {i:4}  residual =  {4 / i:.5E}  time {i / 10:8.3f}s\n" for i in (1, 2, 4))
        answer = Answer("x = 1\n", log + "converged: residual =  1.00000E+00 after 4 iterations\n")
        self.assertEqual((answer.metric, answer.mode), ("residual", "min"))
        self.assertEqual(answer.values, ["4.00000E+00", "2.00000E+00", "1.00000E+00"])

    def test_a_log_whose_names_are_not_known_gets_its_values_and_a_question(self):
        answer = Answer("x = 1\n", "it 1 drag = 1.5 wall = 2.5 n = 3\nit 2 drag = 1.4 wall = 3.5 n = 3\n")
        self.assertEqual((answer.metric, answer.values), ("drag", ["1.5", "1.4"]))
        self.assertTrue(any("see whether drag is the one" in t for t in answer.to_do))
        self.assertTrue(any("is that the right direction?" in t for t in answer.to_do))


if __name__ == "__main__":
    unittest.main()
