"""`tune init`: files that trials would share, side by side or one after the other."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tune_init")
ARGUMENTS = "import argparse, json, os, pickle\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
PRINTED = "\nfor epoch in range(3):\n    print(f'epoch {epoch} val_acc {epoch / 4}')\n"
ONE = "limits: {max_concurrent: 1}"


def space_of(name, text, *files, given=None):
    """The space that init writes for a script that has these files beside it."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in [(name, text), *files]:
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        command = [sys.executable, INIT, name] + (["--command", given] if given else [])
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


def to_do(space):
    return "\n".join(re.findall(r"^ *# TO DO: (.*)$", space, re.M))


def limits(space):
    return re.findall(r"^limits: .*?\}", space, re.M)


class MetricsInAFile(unittest.TestCase):
    """Of a script that prints none."""

    WRITES = ("json.dump(m, open(PATH, 'w'))", "with open(PATH, 'w') as f:\n    json.dump(m, f, indent=2)",
              "with open(PATH, 'w') as f:\n    f.write(json.dumps(m))", "Path(PATH).write_text(json.dumps(m))", "f = open(PATH, 'w')\njson.dump(m, f)")

    def space(self, body, options=""):
        return space_of("train.py", ARGUMENTS + options + "a = p.parse_args()\n" + body + "\n")

    def metrics(self, space):
        return re.findall(r"^    (\w+): \{json: (.*), key: (.*)\}$", space, re.M)

    def test_the_numbers_of_a_json_file_are_its_metrics(self):
        for write in self.WRITES:
            space = self.space("m = {'val_acc': acc, 'epochs': 3, 'name': 'x'}\n" + write.replace("PATH", "'metrics.json'"))
            self.assertEqual(self.metrics(space), [("val_acc", "metrics.json", "val_acc")], write)
            self.assertEqual(limits(space), [ONE], write)
            self.assertIn("the metrics are read from metrics.json, which all trials share", to_do(space))
            self.assertIn("\n# no scheduler: val_acc is read when a trial has ended", space)

    def test_the_test_of_two_parts_is_taken_with_its_key(self):
        space = self.space("m = dict(rmse=1.0)\njson.dump({'train': {'rmse': r}, 'test': m}, open('m.json', 'w'))")
        self.assertEqual(self.metrics(space), [("train_rmse", "m.json", "train.rmse"), ("test_rmse", "m.json", "test.rmse")])
        self.assertIn("\nmetric: test_rmse ", space)
        self.assertIn("\nmode: min\n", space)

    def test_a_file_that_an_option_names_lies_in_the_trials_folder(self):
        folder = self.space("json.dump({'loss': v}, open(os.path.join(a.output_dir, 'm.json'), 'w'))", "p.add_argument('--output-dir', default='out')\n")
        file = self.space("json.dump({'loss': v}, open(a.metrics_file, 'w'))", "p.add_argument('--metrics-file', default='out/m.json')\n")
        for space in (folder, file):
            self.assertEqual(self.metrics(space), [("loss", '"{tune.dir}/m.json"', "loss")])
            self.assertEqual(limits(space), [])

    def test_of_two_files_of_one_name_in_the_script_each_is_itself(self):
        space = self.space("with open('config.json', 'w') as f:\n    json.dump({'lr': a.lr}, f)\n"
                           "with open('metrics.json', 'w') as f:\n    json.dump({'val_acc': v}, f)\n"
                           "with open('other.json', 'w') as f:\n    json.dump({'seed': 1}, f)")
        self.assertEqual(self.metrics(space), [("val_acc", "metrics.json", "val_acc")])

    def test_the_best_of_the_validation_goes_before_the_test(self):
        space = self.space("json.dump({'best_val_acc': max(accs), 'best_epoch': e, 'test_acc': t}, open('m.json', 'w'))")
        self.assertIn("metric: best_val_acc   # or: test_acc\nmode: max\n", space)
        self.assertNotIn("best_epoch", space)

    def test_a_list_and_lines_of_json_are_no_metric(self):
        for body in ("losses = []\njson.dump({'loss': losses}, open('m.json', 'w'))", "json.dump({'loss': [x for x in y]}, open('m.json', 'w'))",
                     "with open('m.json', 'a') as f:\n    json.dump({'loss': v}, f)", "json.dump({'loss': v}, open('m.json', mode='a'))"):
            self.assertEqual(self.metrics(self.space(body)), [], body)
        written = self.space("json.dump({'loss': v}, open('all.json', 'w'))")
        self.assertEqual(self.metrics(written), [("loss", "all.json", "loss")])

    def test_what_is_printed_comes_first_and_other_files_are_none(self):
        printed = self.space("json.dump({'loss': v}, open('m.json', 'w'))\nfor e in (1, 2):\n    print(f'val_acc {v}')")
        self.assertEqual(self.metrics(printed), [])
        self.assertIn("\nmetric: val_acc\n", printed)
        for body in ("json.dump({'lr': a.lr}, open('m.json', 'w'))", "json.dump({'loss': v}, open(name, 'w'))", "m = json.load(open('m.json'))"):
            self.assertEqual(self.metrics(self.space(body)), [], body)


class PythonFiles(unittest.TestCase):
    def space(self, body, options=""):
        return space_of("train.py", ARGUMENTS + options + "a = p.parse_args()\n" + body + PRINTED)

    def test_a_file_that_the_script_writes_and_reads_keeps_trials_from_running_side_by_side(self):
        for body, path in (("pickle.dump(1, open('best.pkl', 'wb'))\nm = pickle.load(open('best.pkl', 'rb'))\n", "best.pkl"),
                           ("torch.save(m, 'out/best.pt')\nm = torch.load('out/best.pt')\n", "out/best.pt"),
                           ("BEST = os.path.join('out', 'm.npy')\nnp.save(BEST, x)\nx = np.load(BEST)\n", "out/m.npy"),
                           ("with open('c.json', mode='w') as f:\n    json.dump({}, f)\nwith open('./c.json') as f:\n    json.load(f)\n",
                            "c.json"),
                           ("joblib.dump(m, f'model.joblib')\nm = joblib.load('model.joblib')\n", "model.joblib"),
                           ("from pathlib import Path\nP = Path('a') / 'b.txt'\nP.write_text('1')\nx = P.read_text()\n", "a/b.txt"),
                           ("df.to_csv('t.csv')\npd.read_csv('t.csv')\n", "t.csv")):
            with self.subTest(body):
                space = self.space(body)
                self.assertIn(f"the script writes {path} and reads what stands there", to_do(space))
                self.assertIn('os.environ["TUNE_DIR"]', to_do(space))
                self.assertEqual(limits(space), [ONE])

    def test_a_file_that_the_script_reads_first_is_told_to_be_an_earlier_trials(self):
        body = "if os.path.exists('last.pkl'):\n    w = pickle.load(open('last.pkl', 'rb'))\npickle.dump(1, open('last.pkl', 'wb'))\n"
        self.assertIn("but each finds what the one before it left", to_do(self.space(body)))

    def test_a_file_that_the_script_only_writes_is_told(self):
        for body, path in (("with open('log.txt', 'a') as f:\n    f.write('x')\n", "log.txt"), ("torch.save(m, 'last.pt')\n", "last.pt"),
                           ("for epoch in range(3):\n    torch.save(m, f'epoch_{epoch}.pt')\n", "epoch_{epoch}.pt")):
            space = self.space(body)
            self.assertIn(f"trials that run side by side share {path}", to_do(space))
            self.assertEqual(limits(space), [])

    def test_a_file_of_the_trials_own_is_not_told(self):
        for body in ("open(os.environ['TUNE_DIR'] + '/x', 'w')\n", "open(f'model_{a.lr}.pt', 'wb')\n", "open('/dev/null', 'w')\n",
                     "x = open('data.csv').read()\n", "os.chdir(os.environ['TUNE_DIR'])\nopen('log.txt', 'w')\n"):
            space = self.space(body)
            self.assertEqual((to_do(space), limits(space)), ("", []), body)

    def test_an_option_that_names_the_file_names_it_in_the_trials_folder(self):
        body = "if os.path.exists(a.ckpt):\n    pickle.load(open(a.ckpt, 'rb'))\npickle.dump(1, open(a.ckpt, 'wb'))\n"
        space = self.space(body, "p.add_argument('--ckpt', default='ckpt/last.pkl')\n")
        self.assertIn('--lr, "{lr}", --ckpt, "{tune.dir}/last.pkl"]', space)
        self.assertEqual((to_do(space), limits(space)), ("", []))
        space = self.space("torch.save(m, os.path.join(a.run_dir, 'best.pt'))\n", "p.add_argument('--run-dir', default='runs')\n")
        self.assertIn('--run-dir, "{tune.dir}"]', space)

    def test_an_option_that_is_called_an_output_is_told(self):
        space = self.space("run(a.output)\n", "p.add_argument('--output', default='out/model.pt')\n")
        self.assertIn('write --output, "{tune.dir}/model.pt" into the command', to_do(space))
        for option in ("'--output', default='/tmp/out'", "'--model', default='facebook/opt'", "'--data', default='data/x.csv'"):
            self.assertEqual(to_do(self.space("run(a.output)\n", f"p.add_argument({option})\n")), "", option)

    def test_a_command_that_is_given_is_not_changed(self):
        script = ARGUMENTS + "p.add_argument('--ckpt', default='last.pt')\na = p.parse_args()\ntorch.save(m, a.ckpt)\n" + PRINTED
        space = space_of("train.py", script, given="python3 train.py --lr {lr}")
        self.assertIn("command: [python3, train.py, --lr, \"{lr}\"]", space)
        self.assertIn("share last.pt", to_do(space))

    def test_going_on_from_a_path_that_is_not_known_is_asked(self):
        script = (ARGUMENTS + "class Keeper:\n    def __init__(self, root, tag):\n        self.path = Path(root) / f'{tag}-last.json'\n"
                  "    def load(self):\n        return json.loads(self.path.read_text()) if self.path.exists() else {}\n"
                  "    def save(self, state):\n        self.path.write_text(json.dumps(state))\n" + PRINTED)
        self.assertIn("the script goes on from what lies at self.path, where something is there", to_do(space_of("train.py", script)))
        for other in (script.replace("Path(root)", "Path(os.environ['TUNE_DIR'])"), script.replace(" if self.path.exists() else {}", "")):
            self.assertNotIn("goes on from", space_of("train.py", other))

    def test_an_option_that_also_chooses_the_model_keeps_its_value(self):
        for name in ("model", "arch", "dataset", "task"):
            script = (f"import argparse, json\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
                      f"p.add_argument('--{name}', default='resnet')\na = p.parse_args()\n"
                      f"json.dump({{}}, open(a.{name} + '.json', 'w'))\nprint(f'val_acc {{a.lr}}')\n")
            space = space_of("train.py", script)
            self.assertNotIn("tune.dir", space)
            self.assertIn("share resnet.json, which the script writes", to_do(space))


class ShellFiles(unittest.TestCase):
    TRAIN = ("train.py", "import argparse, json\np = argparse.ArgumentParser()\np.add_argument('--config')\np.add_argument('--lr')\n"
             "a = p.parse_args()\n" + PRINTED)

    def test_a_file_that_is_written_and_used_keeps_trials_from_running_side_by_side(self):
        for body in ("cat > c.json <<J\n{\"lr\": $LR}\nJ\npython3 train.py --config c.json\n",
                     "echo \"lr: $LR\" > 'c.json'\npython3 train.py --config c.json\n",
                     "python3 train.py --lr $LR > c.json 2>&1\ngrep val_acc c.json | tail -1\n",
                     "OUT=c.json\npython3 train.py --lr $LR | tee $OUT\ntail -1 \"${OUT}\"\n"):
            with self.subTest(body):
                space = space_of("run.sh", "#!/bin/bash\nLR=${LR:-0.01}\n" + body, self.TRAIN)
                self.assertIn("the script writes c.json and reads what stands there", to_do(space))
                self.assertIn("$TUNE_DIR", to_do(space))
                self.assertEqual(limits(space), [ONE])

    def test_a_log_that_is_only_written_is_told(self):
        space = space_of("run.sh", "LR=${LR:-0.01}\npython3 train.py --lr $LR 2>> err.log\n", self.TRAIN)
        self.assertIn("share err.log", to_do(space))
        self.assertEqual(limits(space), [])

    def test_what_the_started_script_writes_is_told(self):
        train = ("train.py", "import pickle\npickle.dump(1, open('b.pkl', 'wb'))\npickle.load(open('b.pkl', 'rb'))\n" + PRINTED)
        self.assertEqual(limits(space_of("run.sh", "LR=${LR:-0.01}\npython3 train.py --lr $LR\n", train)), [ONE])

    def test_a_file_of_the_trials_own_is_not_told(self):
        for body in ("python3 train.py --lr $LR > $TUNE_DIR/log 2>&1\n", "cd \"$TUNE_DIR\"\necho $LR > x\n", "echo $LR >&2 >/dev/null\n",
                     "if [[ $LR -gt 3 ]]; then echo a => b; fi\n"):
            space = space_of("run.sh", "LR=${LR:-0.01}\n" + body, self.TRAIN)
            self.assertEqual(re.findall("shar|reads what", to_do(space)), [], body)

    def test_what_only_looks_as_a_path_or_is_read_alone_is_no_output(self):
        for name, default in (("model", "yolov8n.pt"), ("model_name", "timm/resnet50.a1_in1k"), ("out_act", "torch.nn.ReLU"), ("log-level", "logging.INFO"),
                              ("output-format", "image/png"), ("init_ckpt", "weights/base.pt")):
            script = ARGUMENTS + f"p.add_argument('--{name}', default='{default}')\na = p.parse_args()\nstate = torch.load(a.init_ckpt)\n" + PRINTED
            self.assertNotIn("for all trials", space_of("train.py", script), name)
        script = ARGUMENTS + "p.add_argument('--ckpt', default='runs/best.pt')\na = p.parse_args()\ntrain(a.ckpt)\n" + PRINTED
        self.assertIn('--ckpt is runs/best.pt for all trials, which share it where the script writes there: write --ckpt, "{tune.dir}/best.pt" into the command',
                      space_of("train.py", script))

    def test_of_a_hydra_value_that_names_an_output_the_word_is_shown_as_hydra_takes_it(self):
        script = "import hydra\n@hydra.main(config_path='.', config_name='c')\ndef main(cfg):\n    train(cfg)\n" + PRINTED.replace("\n", "\n    ").rstrip() + "\nmain()\n"
        config = "lr: 0.1\nckpt_path: runs/best.pt\nmodel:\n  _target_: models.MLP\nout_model:\n  _target_: models/a.B\n"
        space = space_of("train.py", script, ("c.yaml", config))
        self.assertIn('write "ckpt_path={tune.dir}/best.pt" into the command', space)
        self.assertNotIn("_target_ is", space)


if __name__ == "__main__":
    unittest.main()
