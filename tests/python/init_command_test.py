"""`tune init`: each word of the command reaches the option that it is for. The scripts run in a sweep, and write down what they got."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tune_init")
BIN = os.environ.get("TUNE_BIN_DIR", "")
ARGPARSE = "import argparse, json, os\np = argparse.ArgumentParser()\n"
GOT = ("\njson.dump(vars(p.parse_args()), open(os.environ['TUNE_DIR'] + '/got.json', 'w'))\n"
       "for epoch in range(2):\n    print(f'epoch {epoch} val_acc {epoch / 4}')\n")


def space_of(name, text, folder=None, given=None):
    with tempfile.TemporaryDirectory() as own:
        folder = folder or own
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        command = [sys.executable, INIT, name] + (["--command", given] if given else [])
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


def command_of(space):
    return re.search(r"^  command: (.*)$", space, re.M).group(1)


def trials_of(name, text, *files):
    """[(the trial's configuration, what the script got)] of a sweep with the file that init writes."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files:
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        with open(os.path.join(folder, "space.yaml"), "w", encoding="utf-8") as file:
            file.write(space_of(name, text, folder))
        done = subprocess.run([os.path.join(BIN, "tune"), "run", "space.yaml", "--name", "x", "--samples", "3", "--seed", "1"], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"status {done.returncode}: {done.stdout}")
        trials = []
        for trial in range(3):
            at = os.path.join(folder, "tune.artifacts", "x", str(trial))
            with open(os.path.join(at, "config.json"), encoding="utf-8") as config, open(os.path.join(at, "got.json"), encoding="utf-8") as got:
                trials.append((json.load(config), json.load(got)))
        return trials


@unittest.skipUnless(BIN, "the programs' folder is not known")
class Words(unittest.TestCase):
    def expect(self, script, text, *files, **constants):
        """The script got each parameter of its trial as the option of the same name, and these constants."""
        for config, got in trials_of(script, text, *files):
            for parameter, value in config.items():
                if parameter in got:
                    self.assertEqual(float(got[parameter]), float(value), (parameter, got))
            self.assertEqual({k: got[k] for k in constants}, constants)
            self.assertTrue(set(config) & set(got), got)

    def test_positional_words_before_one_that_is_searched_over_are_given(self):
        self.expect("t.py", ARGPARSE + "p.add_argument('dataset', nargs='?', default='iris')\np.add_argument('epochs', type=int, nargs='?', default=3)\n"
                    "p.add_argument('lr', type=float, nargs='?', default=0.1)\np.add_argument('out', nargs='?', default='o')" + GOT,
                    dataset="iris", epochs=3, out="o")

    def test_an_option_of_many_words_takes_no_positional_word(self):
        self.expect("t.py", ARGPARSE + "p.add_argument('--files', nargs='+', required=True)\np.add_argument('--size', nargs=2, required=True)\n"
                    "p.add_argument('pair', nargs=2)\np.add_argument('lr', type=float)" + GOT,
                    files=["FILES"], size=["SIZE", "SIZE"], pair=["PAIR", "PAIR"])

    def test_places_of_sys_argv(self):
        self.expect("t.py", "import json, os, sys\nlr = float(sys.argv[2])\nname = sys.argv[3] if len(sys.argv) > 3 else 'n'\n"
                    "class p:\n    parse_args = staticmethod(lambda: P)\nclass Got: pass\nP = Got()\nP.lr, P.name = lr, name" + GOT, name="n")

    SHELL = "printf '{%s}' \"$GOT\" > \"$TUNE_DIR/got.json\"\nfor e in 1 2; do echo \"epoch $e val_acc 0.$e\"; done\n"

    def test_places_of_a_shell_script(self):
        for text, constants in (
                ('LR="${LR:-0.01}"\nWIDTH="${2:-16}"\nGOT="\\"lr\\": $LR, \\"width\\": $WIDTH"\n', {}),
                ('if [ "$1" = debug ]; then set -x; fi\nLR=$2\nGOT="\\"lr\\": $LR"\n', {}),
                ('DATA=${1:-$HOME}\nLR=${2:-0.1}\nGOT="\\"lr\\": $LR, \\"is_home\\": \\"${DATA#$HOME}\\""\n', {"is_home": ""}),
                ('LR=0.1\n[ $# -ge 1 ] && LR=$1\nGOT="\\"lr\\": $LR"\n', {}),
                ('MODE=$1; shift\nDEPTH=${1:-4}\nshift 1\nLR=${1:-0.1}\nGOT="\\"lr\\": $LR, \\"depth\\": $DEPTH, \\"mode\\": \\"$MODE\\""\n',
                 {"mode": "MODE"})):
            with self.subTest(text):
                self.expect("t.sh", "#!/bin/bash\n" + text + self.SHELL, **constants)

    def test_words_that_a_shell_script_passes_on(self):
        python = ARGPARSE + "p.add_argument('data')\np.add_argument('--lr', type=float, default=0.1)\np.add_argument('--seed')" + GOT
        for text in ('DATA=${1:-iris}\nshift\npython3 inner.py "$DATA" --seed 3 "$@"\n', 'python3 inner.py --seed=3 iris "$@"\n'):
            self.expect("t.sh", "#!/bin/bash\n" + text, ("inner.py", python), data="iris", seed="3")

    def test_positional_words_of_a_function_stand_where_it_is_called(self):
        self.expect("t.py", ARGPARSE + "def add(q):\n    q.add_argument('data', nargs='?', default='d')\n"
                    "p.add_argument('lr', type=float, nargs='?', default=0.1)\nadd(p)\n"
                    "p.add_argument('depth', type=int, nargs='?', default=3)" + GOT, data="d")

    def test_a_truth_of_the_scripts_own(self):
        for truth, word in (("v == 'True'", "True"), ("v == '1'", "1"), ("v.lower() == 'true'", None)):
            text = ARGPARSE + f"def to_bool(v):\n    return {truth}\np.add_argument('--bias', type=to_bool, default=True)" + GOT
            for config, got in trials_of("t.py", text):
                self.assertEqual(str(config["bias"]) == word if word else config["bias"], got["bias"], (config, got))

    def test_options_that_exclude_each_other_are_left(self):
        self.expect("t.py", ARGPARSE + "g = p.add_mutually_exclusive_group()\ng.add_argument('--adam', action='store_true')\n"
                    "g.add_argument('--sgd', action='store_true')\np.add_argument('--lr', type=float, default=0.1)" + GOT, adam=False, sgd=False)


class Places(unittest.TestCase):
    def test_words_of_click_and_typer(self):
        click = ("import click\n@click.command()\n@click.argument('dataset', default='iris')\n@click.argument('lr', type=float, default=0.1)\n"
                 "@click.argument('out', default='o')\ndef main(dataset, lr, out):\n    print(f'val_acc {lr}')\nmain()\n")
        typer = ("import typer\nfrom typing import Annotated\ndef main(dataset: Annotated[str, typer.Argument()] = 'iris',\n"
                 "         lr: float = typer.Argument(0.1)):\n    print(f'val_acc {lr}')\ntyper.run(main)\n")
        for text in (click, typer):
            self.assertEqual(command_of(space_of("t.py", text)), '[python3, t.py, iris, "{lr}"]')

    def test_what_typer_takes_for_a_word_and_for_a_contrary(self):
        text = ("import typer\ndef main(data: str, lr: float = 0.1, bias: bool = typer.Option(True, '--bias/--plain'),\n"
                "         nesterov: bool = typer.Option(False, '--nesterov'), depth: int = typer.Option(3, '-d')):\n    print(f'val_acc {lr}')\ntyper.run(main)\n")
        space = space_of("t.py", text)
        self.assertEqual(command_of(space), '[python3, t.py, DATA, --lr, "{lr}", "{bias}", ["{nesterov_flag}"], -d, "{depth}"]')
        self.assertIn("  bias: {choice: [--bias, --plain]}", space)

    def test_words_of_r_and_julia(self):
        r = ('library(argparse)\np <- ArgumentParser()\np$add_argument("data")\np$add_argument("depth", type="integer", nargs="?", default=3)\n'
             'p$add_argument("--lr", type="double", default=0.1, choices=c(0.1, 0.2))\ncat("val_acc", 1 / 3, "\\n")\n')
        space = space_of("t.R", r)
        self.assertEqual(command_of(space), '[Rscript, t.R, DATA, "{depth}", --lr, "{lr}"]')
        self.assertIn("  lr: {choice: [0.1, 0.2]}", space)
        julia = ('using ArgParse\n@add_arg_table! s begin\n    "data"\n        default = "iris"\n    "depth"\n        arg_type = Int\n'
                 '        default = 3\n    "--lr", "-l"\n        arg_type = Float64\n        default = 0.1\nend\nprintln("val_acc $(1/3)")\n')
        self.assertEqual(command_of(space_of("t.jl", julia)), '[julia, t.jl, iris, "{depth}", --lr, "{lr}"]')

    def test_a_word_of_several_of_which_one_trains(self):
        space = space_of("t.py", ARGPARSE + "p.add_argument('mode', choices=['eval', 'train'])\np.add_argument('task', choices=['a', 'b'])\n"
                         "p.add_argument('--lr', type=float, default=0.1)" + GOT)
        self.assertEqual(command_of(space), '[python3, t.py, train, a, --lr, "{lr}"]')
        self.assertIn("# TO DO: task is needed, and the command gives the first of its choices, a.", space)

    def test_the_dataclasses_that_are_parsed(self):
        text = ("import simple_parsing\n@dataclass\nclass Base:\n    width: int = 64\n@dataclass\nclass A(Base):\n    lr: float = 0.1\n"
                "@dataclass\nclass State:\n    depth: int = 3\na = simple_parsing.parse(A)\nprint(f'val_acc {a.lr}')\n")
        self.assertEqual(command_of(space_of("t.py", text)), '[python3, t.py, --width, "{width}", --lr, "{lr}"]')

    def test_the_default_of_a_word_may_stand_above_the_line_that_reads_it(self):
        space = space_of("t.py", "import sys\nLR = 0.1\nDEPTH = 5\nif len(sys.argv) > 1:\n    LR = float(sys.argv[1])\nif len(sys.argv) > 2:\n"
                         "    DEPTH = int(sys.argv[2])\nfor epoch in range(2):\n    print(f'epoch {epoch} val_acc {LR * DEPTH}')\n")
        self.assertEqual(command_of(space), '[python3, t.py, "{lr}", "{depth}"]')
        self.assertIn("  lr: {loguniform: [0.01, 1.0]} ", space)
        self.assertIn("  depth: {randint: [2, 11]} ", space)
        self.assertNotIn("TO DO", space)

    def test_a_given_command_names_its_script_in_any_way(self):
        text = ARGPARSE + "p.add_argument('--lr', type=float, default=0.1)" + GOT
        for given in ("python3 ./t.py", "python3 /home/me/t.py", "python3 -m t", "torchrun -m pkg.t"):
            space = space_of("t.py", text, given=given + " --lr 0.3")
            self.assertEqual(command_of(space), "[" + ", ".join([*given.split(), "--lr", '"{lr}"]']))
            self.assertIn("  lr: {loguniform: [0.03, 3.0]} ", space)
        self.assertEqual(command_of(space_of("t.py", text, given="torchrun")), '[torchrun, t.py, --lr, "{lr}"]')

    def test_a_place_without_a_default_is_asked(self):
        space = space_of("t.sh", "WIDTH=${2:-16}\necho val_acc $WIDTH\n")
        self.assertIn("# TO DO: arg1 is needed: write its value for ARG1 in the command.", space)
        space = space_of("t.py", ARGPARSE + "p.add_argument('data', nargs='?', default=find())\np.add_argument('lr', type=float, nargs='?', default=0.1)" + GOT)
        self.assertIn("# TO DO: data is needed: write its value for DATA in the command.", space)
        self.assertEqual(command_of(space), '[python3, t.py, DATA, "{lr}"]')

    def test_a_place_that_no_word_reaches_is_no_parameter(self):
        space = space_of("t.py", ARGPARSE + "p.add_argument('files', nargs='*')\np.add_argument('lr', type=float, nargs='?', default=0.1)" + GOT)
        self.assertEqual(command_of(space), "[python3, t.py]")
        for shift in ('case "$1" in\n  fast) shift;;\n  full)\n    shift;;\nesac\n', 'if [ "$1" = a ]; then shift; fi\n', '[ "$1" = a ] && shift\n'):
            self.assertEqual(command_of(space_of("t.sh", shift + "LR=${1:-0.1}\necho val_acc $LR\n")), "[sh, t.sh]", shift)
        space = space_of("t.sh", 'while [ $# -gt 0 ]; do DEPTH=${1:-4}; shift; done\necho val_acc $DEPTH\n')
        self.assertEqual(command_of(space), "[sh, t.sh]")


if __name__ == "__main__":
    unittest.main()
