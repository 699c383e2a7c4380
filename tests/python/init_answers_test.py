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


class UnknownMeasures(unittest.TestCase):
    LINE = "for e in (1, 2, 3):\n    print(f'epoch {{e}} loss {{0.1 / e}} acc {{0.9 + e / 99}} {} {{e / 8}}')\n"

    def test_one_of_the_validation_is_read_beside_the_training_s_and_its_direction_is_asked(self):
        for name in ("val QWK", "val HOTA", "val_pck", "test_stoi", "val metric"):
            answer = Answer(self.LINE.format(name))
            self.assertEqual((answer.metric, answer.values), (name.lower().replace(" ", "_"), ["0.125", "0.25", "0.375"]))
            self.assertTrue(any("is that the right direction?" in t for t in answer.to_do), answer.to_do)

    def test_one_that_stands_alone_is_read_and_asked(self):
        answer = Answer("for e in (1, 2, 3):\n    print(f'epoch {e} lr {0.1:.3f} QWK: {e / 8:.3f}')\n")
        self.assertEqual((answer.metric, answer.values), ("qwk", ["0.125", "0.250", "0.375"]))
        self.assertTrue(any("no word says that qwk is what the sweep is about" in t for t in answer.to_do), answer.to_do)
        self.assertTrue(any("is that the right direction?" in t for t in answer.to_do), answer.to_do)

    def test_times_and_amounts_of_the_validation_are_none(self):
        for name in ("val_time", "val size", "test images", "val batches"):
            self.assertEqual(Answer(self.LINE.format(name)).metric, "acc", name)


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

    def test_a_value_written_out_for_a_run_that_diverged_is_the_same_measures(self):
        for told in ("nan", "inf", "-Infinity", "NaN\\n"):
            answer = Answer('for x in (0.5, 0.25):\n    if x > 1:\n'
                            f'        print("val_loss: {told}")\n        break\n    print(f"val_loss: {{x:.4f}}")\n')
            self.assertEqual((answer.metric, answer.mode, answer.values), ("val_loss", "min", ["0.5000", "0.2500"]), told)

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
