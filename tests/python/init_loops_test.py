"""`tune init`: lines that loops print, of folds, epochs, batches and parts of the data, and what is printed behind a loop."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from init_answers_test import INIT, Answer, space_of


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


NO_OPTION = ["no option was found to search over. Give the script one, and name it in the command:"]


class Repetitions(unittest.TestCase):
    LOOP = "scores = []\nfor {} in (1, 2):\n    scores.append({} / 8)\n    print(f'{} {{{}}}: train MSE 0.01, test MSE {{scores[-1]}}')\n"
    MEAN = "print('mean test MSE', sum(scores) / 2)\n"

    def test_the_mean_of_trials_is_read_and_no_trial(self):
        for word in ("trial", "attempt", "replicate"):
            answer = Answer(self.LOOP.format("t", "t", word, "t") + self.MEAN)
            self.assertEqual((answer.metric, answer.values, answer.to_do), ("mean_test_mse", ["0.1875"], NO_OPTION), word)

    def test_rounds_of_which_the_mean_is_printed_are_asked_and_epochs_are_not(self):
        answer = Answer(self.LOOP.format("r", "r", "round", "r") + self.MEAN)
        self.assertTrue(any("where the turns are repetitions and no epochs, write metric: mean_test_mse" in t for t in answer.to_do), answer.to_do)
        answer = Answer(self.LOOP.format("epoch", "epoch", "epoch", "epoch") + self.MEAN)
        self.assertEqual((answer.metric, answer.to_do), ("test_mse", NO_OPTION))


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

    def test_a_final_value_of_the_validation_is_read_before_the_training_s_loss(self):
        loop = self.LOOP + "print('epoch', e, 'loss', 0.1 / e)\n"
        answer = Answer("print('init val_loss:', 0.9)\n" + loop + "print('final val_loss:', 0.5)\n")
        self.assertEqual((answer.metric, answer.values), ("final_val_loss", ["0.5"]))
        self.assertTrue(any("let the loop print val_loss" in t for t in answer.to_do), answer.to_do)

    def test_the_score_over_all_of_the_validation_is_read_and_no_batch(self):
        script = ("def validate():\n    for i in (0, 1):\n        print(f'Test: [{i}/2] Loss 0.5 Prec@1 {i / 2}')\n"
                  "    print(f' * Prec@1 {0.25} Prec@5 {0.75}')\n" + self.LOOP + "validate()\n")
        answer = Answer(script)
        self.assertEqual((answer.metric, answer.mode, answer.values), ("acc_1", "max", ["0.25"] * 3))

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


class TextsOfSeveralLines(unittest.TestCase):
    def test_what_is_told_of_a_text_of_several_lines_stands_in_one(self):
        space = space_of("for epoch in range(5): print(f'Pretrain epoch {epoch}\\n  loss {epoch:.3f}  acc {epoch:.3f}')\n"
                         "for epoch in range(5): print(f'Finetune epoch {epoch}\\n  loss {epoch:.3f}, acc {epoch:.3f}')\n")
        self.assertIn("or begin it as 'Finetune epoch 1   loss 1", space)
        for line in space.splitlines():
            self.assertRegex(line, r"^ *(?:#|[\w-]+:)")


class Lengths(unittest.TestCase):
    def test_of_a_loop_over_the_parts_of_the_data_one_is_counted(self):
        loop = "    for name, x in [('train', 0.3), ('valid', 0.2), ('test', 0.1)]:\n        print(f'{name} acc {x}')\n"
        self.assertIn("max_t: 3,", space_of("for epoch in range(3):\n" + loop))

    def test_rounds_that_xgboost_does_not_print_are_not_counted(self):
        for fit, count in (("verbose=50", 11), ("verbose=True", 500), ("verbose=499", 2)):
            space = space_of("from xgboost import XGBClassifier\nm = XGBClassifier(n_estimators=500, eval_metric='mlogloss')\n"
                             f"m.fit(x, y, eval_set=[(X_val, y_val)], {fit})\n")
            self.assertIn(f"max_t: {count},", space)


if __name__ == "__main__":
    unittest.main()
