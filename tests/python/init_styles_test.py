"""`tune init` for the ways in which scripts take their options, each as its users write it."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tune_init")
LOOP = 'for epoch in range(3):\n    print(f"epoch {epoch}: val_acc {1 - lr / (epoch + 1):.4f}")\n'
BODY = "    " + LOOP.replace("\n", "\n    ").rstrip() + "\n"


def init(name, text, files=(), status=0, log=None):
    files = [*files, ("log.txt", log)] if log else files
    with tempfile.TemporaryDirectory() as folder:
        for path, content in [(name, text), *files]:
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        done = subprocess.run([sys.executable, INIT, name, *(["--log", "log.txt"] if log else [])], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}: {done.stdout}")
    return done.stdout


def words_of(space):
    """The command behind the script's name."""
    return re.search(r"^  command: \[\w+, [\w.]+(?:, )?(.*)\]$", space, re.M).group(1)


class Options(unittest.TestCase):
    def expect(self, text, words, *domains, files=(), name="train.py"):
        space = init(name, text, files)
        self.assertEqual(words_of(space), words)
        for domain in domains:
            self.assertIn("\n  " + domain, space)
        return space

    def test_a_script_and_its_modules_and_its_log_may_begin_with_a_byte_order_mark(self):
        options = "\ufeffimport argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
        self.expect(options + LOOP, '--lr, "{lr}"')
        self.expect("\ufeffimport options\n" + LOOP, '--lr, "{lr}"', files=[("options.py", options)])
        self.assertIn("val_loss: {regex: '^val_loss:", init("train.py", "x = 1\n", log="\ufeffval_loss: 0.5\nval_loss: 0.4\n"))

    def test_a_name_that_reads_as_a_number_or_a_truth_is_quoted(self):
        for name in ("2024", "01", "true"):
            self.assertIn(f'\nname: "{name}"\n', init(name + ".py", LOOP))
        self.assertIn("\nname: train-2\n", init("train-2.py", LOOP))

    def test_a_function_of_a_module_that_the_script_s_loop_calls_prints_in_each_epoch(self):
        engine = ("def train_one_epoch(loader, epoch):\n    for i, x in enumerate(loader):\n        print(f'Epoch {epoch} [{i}/9] loss {x}')\n"
                  "def evaluate(loader):\n    loss, acc = measured(loader)\n    print(f'val loss {loss} val acc {acc}')\n")
        script = ("import argparse\nfrom engine import evaluate, train_one_epoch\np = argparse.ArgumentParser()\n"
                  "p.add_argument('--lr', type=float, default=0.1)\nfor epoch in range(3):\n    train_one_epoch(x, epoch)\n    evaluate(y)\n")
        space = init("main.py", script, [("engine.py", engine)])
        self.assertIn("metric: val_acc", space)
        self.assertNotIn("printed once", space)
        self.assertIn("is printed once", init("main.py", script.split("for epoch")[0] + "evaluate(y)\n", [("engine.py", engine)]))

    def test_a_command_of_several_lines_in_a_shell_script_is_read_to_its_end(self):
        script = ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--epochs', type=int, default=3)\n"
                  "p.add_argument('--lr', type=float, default=0.1)\np.add_argument('--dropout', type=float, default=0.1)\n" + LOOP)
        files = [("fit.py", script)]
        self.expect('python fit.py \\\n    --epochs 10 \\\n    "$@"\n', '--lr, "{lr}", --dropout, "{dropout}"', files=files, name="train.sh")
        self.expect('python fit.py "$@" \\\n    --lr 0.01 --epochs 10\n', '--dropout, "{dropout}"', files=files, name="train.sh")

    def test_what_typer_and_click_need_no_word_for(self):
        text = "import typer\ndef main(ctx: typer.Context, data: str, lr: float = 0.1):\n" + BODY + "typer.run(main)\n"
        self.expect(text, 'DATA, --lr, "{lr}"')
        text = ("import click\n@click.command()\n@click.option('--lr', default=0.1)\n@click.option('--bn', type=bool, default=True)\n"
                "@click.argument('out', required=False)\n@click.argument('files', nargs=-1)\ndef main(lr, bn, out, files):\n" + BODY + "main()\n")
        self.assertNotIn("TO DO", self.expect(text, '--lr, "{lr}", --bn, "{bn}"', "bn: {choice: [true, false]}"))
        self.expect(text.replace("nargs=-1", "nargs=-1, required=True"), 'OUT, FILES, --lr, "{lr}", --bn, "{bn}"')

    def test_the_flags_that_absl_requires_stand_in_the_command(self):
        text = ("from absl import app, flags\nflags.DEFINE_string('workdir', None, 'where')\nflags.DEFINE_string('data', None, 'what', required=True)\n"
                "flags.DEFINE_string('ckpt', None, 'from')\nflags.DEFINE_float('lr', 0.1, 'rate')\n{}\ndef main(_):\n" +
                BODY.replace("{", "{{").replace("}", "}}") + "app.run(main)\n")
        for mark in ("flags.mark_flag_as_required('workdir')", "flags.mark_flags_as_required(['workdir'])"):
            space = self.expect(text.format(mark), '--workdir, WORKDIR, --data, DATA, --lr, "{lr}"')
            self.assertIn("TO DO: --workdir is needed: write its value for WORKDIR in the command", space)

    def test_names_of_the_subcommands_of_click_and_typer(self):
        typer = "import typer\napp = typer.Typer()\n@app.command(name='fit')\ndef fit_model(lr: float = 0.1):\n" + BODY + \
            "@app.command(name='test')\ndef test_model(ckpt: str):\n    pass\napp()\n"
        self.assertNotIn("TO DO", self.expect(typer, 'fit, --lr, "{lr}"'))
        click = "import click\n@click.group()\ndef cli(): pass\n@cli.command({0})\n@click.option('--lr', default=0.1)\ndef train_command(lr):\n" + \
            BODY.replace("{", "{{").replace("}", "}}") + "@cli.command()\ndef eval_cmd(): pass\ncli()\n"
        self.assertNotIn("TO DO", self.expect(click.format("name='train'"), 'train, --lr, "{lr}"'))
        self.assertIn("TO DO: click calls the subcommand train, and before its version 8.2 train-command", self.expect(click.format(""), 'train, --lr, "{lr}"'))

    def test_of_commands_of_click_without_a_group_the_one_that_is_called(self):
        text = ("import click\n@click.command()\n@click.option('--lr', default=0.1)\ndef train(lr):\n" + BODY +
                "@click.command()\n@click.option('--ckpt', required=True)\ndef test(ckpt): pass\nif __name__ == '__main__':\n    train()\n")
        self.expect(text, '--lr, "{lr}"')
        text = text.replace("    train()", "    cli()").replace("if __name__", "@click.group()\ndef cli(): pass\ncli.add_command(train)\ncli.add_command(test)\nif __name__")
        self.expect(text, 'train, --lr, "{lr}"')

    def test_parsers_of_several_subcommands_in_one_variable(self):
        head = "import argparse\nmain = argparse.ArgumentParser()\nsub = main.add_subparsers()\n"
        prepare = "p = sub.add_parser('prepare')\np.add_argument('--source', required=True)\n"
        train = "p = sub.add_parser('train')\ng = p.add_argument_group('rates')\ng.add_argument('--lr', type=float, default=0.1)\n"
        predict = "p = sub.add_parser('predict')\ng = p.add_argument_group('rates')\ng.add_argument('--alpha', type=float, default=0.1)\n"
        self.assertNotIn("TO DO", self.expect(head + prepare + train + predict + LOOP, 'train, --lr, "{lr}"'))
        in_one_line = [text.strip().replace("\n", "; ") + "\n" for text in (prepare, train, predict)]
        self.expect(head + "".join(in_one_line) + LOOP, 'train, --lr, "{lr}"')

        def within(name, text):
            return f"def {name}(sub):\n    " + text.replace("\n", "\n    ").rstrip() + "\n"
        functions = within("add_prepare", prepare) + within("add_train", train) + within("add_predict", predict)
        calls = "add_prepare(sub)\nadd_train(sub)\nadd_predict(sub)\n"
        self.expect(functions + head + calls + LOOP, 'train, --lr, "{lr}"')

    def test_of_several_argparse_subcommands_the_one_that_trains(self):
        text = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--momentum", type=float, default=0.9)
sub = p.add_subparsers(required=True)
common = argparse.ArgumentParser(add_help=False)
common.add_argument("--width", type=int, default=64)
evaluate = sub.add_parser("eval")
evaluate.add_argument("--checkpoint", required=True)
evaluate.add_argument("--alpha", type=float, default=0.5)
t = sub.add_parser("train", parents=[common])
group = t.add_argument_group("rates")
group.add_argument("--lr", type=float, default=0.1)
def add_more(parser):
    parser.add_argument("--dropout", type=float, default=0.1)
add_more(t)
""" + LOOP
        space = self.expect(text, '--momentum, "{momentum}", train, --width, "{width}", --lr, "{lr}", --dropout, "{dropout}"')
        self.assertNotIn("TO DO", space)
        other = text.replace('"train"', '"learn"')
        self.assertIn("# TO DO: of the script's subcommands eval, learn the command runs eval.", init("train.py", other))

    def test_of_several_click_commands_the_one_that_trains(self):
        text = """
import click
@click.group()
@click.option("--threads", default=1)
def cli(threads):
    pass
@cli.command()
@click.option("--ckpt", required=True)
def evaluate(ckpt):
    pass
@cli.command("fit")
@click.option("--lr", default=0.1)
@click.option("--amsgrad", is_flag=True)
def train(lr, amsgrad):
""" + BODY
        self.expect(text, 'fit, --lr, "{lr}", ["{amsgrad_flag}"]', "lr: {loguniform: [0.01, 1.0]}")

    def test_typer_with_annotations_and_several_commands(self):
        text = """
import typer
from typing import Annotated, Optional
app = typer.Typer()
@app.command()
def train(lr: Annotated[float, typer.Option(help="rate")] = 0.1, layers: int = typer.Option(2, "--depth"),
          bias: bool = True, name: Optional[str] = None):
""" + BODY + """
@app.command()
def export(path: str):
    pass
"""
        self.expect(text, 'train, --lr, "{lr}", --depth, "{layers}", "{bias}"', "layers: {randint: [1, 5]}",
                    "bias: {choice: [--bias, --no-bias]}", "# left as they are: --name")
        one = text[:text.index("@app.command()\ndef export")]
        self.expect(one, '--lr, "{lr}", --depth, "{layers}", "{bias}"')

    def test_fire_for_a_function_and_a_class(self):
        text = "import fire\ndef train(lr=0.1, hidden=64, bias=False):\n" + BODY + "fire.Fire(train)\n"
        # fire takes any text but True and False for a text.
        self.expect(text, '--lr, "{lr}", --hidden, "{hidden}", --bias, "{bias}"', 'bias: {choice: ["True", "False"]}')
        text = """
import fire
class Trainer:
    def __init__(self, lr=0.1):
        self.lr = lr
    def train(self, hidden_size: int = 64):
        for epoch in range(3):
            print(f"epoch {epoch}: val_acc {1 - self.lr}")
fire.Fire(Trainer)
"""
        self.expect(text, '--lr, "{lr}", train, --hidden_size, "{hidden_size}"')

    def test_truths_of_absl(self):
        text = """
from absl import app, flags
flags.DEFINE_float("lr", 0.1, "rate")
flags.DEFINE_bool("nesterov", False, "a text behind it would be a word of its own")
flags.DEFINE_integer("seed", 0, "seed")
""" + LOOP
        self.expect(text, '--lr, "{lr}", "--nesterov={nesterov}", --seed, "{tune.seed}"', "nesterov: {choice: [true, false]}")

    def test_tyro_with_dataclasses_within_dataclasses(self):
        text = """
import dataclasses, tyro
@dataclasses.dataclass
class Optim:
    lr: float = 0.1
    kind: str = "adam"
@dataclasses.dataclass
class Unused:
    alpha: float = 0.1
@dataclasses.dataclass
class Args:
    optim: Optim = dataclasses.field(default_factory=Optim)
    hidden_dim: int = 64
    use_bias: bool = True
args = tyro.cli(Args)
lr = args.optim.lr
""" + LOOP
        self.expect(text, '--optim.lr, "{optim_lr}", --hidden-dim, "{hidden_dim}", "{use_bias}"',
                    "use_bias: {choice: [--use-bias, --no-use-bias]}")

    def test_jsonargparse_for_a_function(self):
        text = "from jsonargparse import CLI\ndef main(lr: float = 0.1, use_bias: bool = True):\n" + BODY + "CLI(main)\n"
        self.expect(text, '--lr, "{lr}", --use_bias, "{use_bias}"')

    def test_the_file_of_hydra_and_omegaconf(self):
        config = "defaults:\n  - _self_\nlr: 1e-1  # rate\nmodel:\n  hidden: 64\n  name: mlp\nepochs: 3\nlayers: [1, 2]\n"
        text = """
import hydra
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    lr = cfg.lr
""" + BODY
        space = self.expect(text, '"lr={lr}", "model.hidden={model_hidden}", "hydra.run.dir={tune.dir}"',
                            "lr: {loguniform: [0.01, 1.0]}", "# left as they are: model.name, epochs",
                            files=[("conf/config.yaml", config)])
        self.assertNotIn("TO DO", space)
        self.assertIn("# TO DO: hydra's configuration was not found", init("train.py", text))
        text = "from omegaconf import OmegaConf\ncfg = OmegaConf.merge(OmegaConf.load('c.yaml'), OmegaConf.from_cli())\n" + LOOP
        self.expect(text, '"lr={lr}", "model.hidden={model_hidden}"', files=[("c.yaml", config)])

    def test_an_enum_of_typers_is_said_by_its_values(self):
        text = """
import typer
from enum import Enum
class Optimizer(str, Enum):
    adam = "adam"
    plain = "sgd"
app = typer.Typer()
@app.command()
def train(lr: float = 0.1, optimizer: Optimizer = Optimizer.adam):
""" + BODY + "app()\n"
        self.expect(text, '--lr, "{lr}", --optimizer, "{optimizer}"',
                    'optimizer: {choice: ["adam", "sgd"]}   # its choices; the script\'s default is adam')

    def test_the_groups_that_hydra_chooses_and_maps_in_one_line(self):
        config = ("defaults:\n  - optimizer: adam   # conf/optimizer/adam.yaml\n  - override /experiment: big\n  - data: gone\n  - _self_\n"
                  "seed: 42\nmodel: {hidden: 128, dropout: 0.1, act: relu}\nlists: {sizes: [1, 2], b: 3}\noptimizer:\n  weight_decay: 1e-4\n")
        text = """
import hydra
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    lr = cfg.optimizer.lr
""" + BODY
        space = self.expect(text, '"optimizer.lr={optimizer_lr}", "optimizer.weight_decay={optimizer_weight_decay}", "width={width}", '
                            '"seed={tune.seed}", "model.hidden={model_hidden}", "model.dropout={model_dropout}", "hydra.run.dir={tune.dir}"',
                            "optimizer_weight_decay: {loguniform: [1.0e-05, 0.001]}", "# left as they are: model.act",
                            files=[("conf/config.yaml", config), ("conf/optimizer/adam.yaml", "lr: 0.001\nweight_decay: 0.0\nbetas: [0.9, 0.99]\n"),
                                   ("conf/experiment/big.yaml", "# @package _global_\nwidth: 256\n")])
        self.assertNotIn("sizes", space)

    def test_docopt(self):
        text = '"""Train.\n\nUsage:\n  train.py [options]\n\nOptions:\n  -h --help     Show this.\n' \
               '  -l X, --lr=X  The rate [default: 0.1].\n  --hidden=<n>  Units [default: 64].\n  --relu        Or tanh.\n"""\n' \
               "from docopt import docopt\nargs = docopt(__doc__)\nlr = float(args['--lr'])\n" + LOOP
        self.expect(text, '--lr, "{lr}", --hidden, "{hidden}", ["{relu_flag}"]')

    def test_what_the_usage_of_docopt_requires_stands_in_the_command(self):
        def text(usage):
            return (f'"""Train.\n\nUsage:\n{usage}\nOptions:\n  --out=<dir>   Where.\n  --lr=<x>      The rate [default: 0.1].\n"""\n'
                    "from docopt import docopt\nargs = docopt(__doc__)\n" + LOOP)
        space = self.expect(text("  t.py [options] <data>\n  t.py (-h | --help)\n"), 'DATA, --lr, "{lr}"')
        self.assertIn("# TO DO: data is needed: write its value for DATA in the command.", space)
        self.expect(text("  t.py eval <ckpt>\n  t.py train FILES... --out=<dir> --lr <x> [<more>]\n"), 'train, FILES, --out, OUT, --lr, "{lr}"')

    def test_arguments_that_are_read_by_hand(self):
        text = "import sys\ndata = sys.argv[1]\nlr = float(sys.argv[2])\n" \
               "hidden = int(sys.argv[3]) if len(sys.argv) > 3 else 64\n" + LOOP
        space = self.expect(text, 'DATA, "{lr}", "{hidden}"', "lr: {loguniform: [0.0001, 0.01]}", "hidden: {choice: [32, 64, 128]}")
        self.assertIn("# TO DO: data is needed: write its value for DATA in the command.", space)
        self.expect("import sys\nlr, hidden = float(sys.argv[1]), int(sys.argv[2])\n" + LOOP, '"{lr}", HIDDEN')
        space = self.expect("import sys\nlr = float(sys.argv[2])\n" + LOOP, 'ARG1, "{lr}"')
        self.assertIn("# TO DO: arg1 is needed: write its value for ARG1 in the command.", space)

    def test_options_of_r_and_julia(self):
        text = """
library(optparse)
options <- list(
  make_option(c("-l", "--lr"), type = "double", default = 1e-1, help = "the rate (log)"),
  make_option("--depth", type = "integer", default = 6L),  # --alpha
  make_option("--shuffle", action = "store_true", default = FALSE))
"""
        self.expect(text, '--lr, "{lr}", --depth, "{depth}", ["{shuffle_flag}"]', "depth: {randint: [3, 13]}", name="fit.R")
        self.expect('parser$add_argument("--lr", type="double", default=0.1)\n', '--lr, "{lr}"', name="fit.R")
        text = """
using ArgParse
s = ArgParseSettings()
@add_arg_table! s begin
    "--lr", "-l"
        arg_type = Float64
        default = 0.1
    "--bias"
        action = :store_true
end
"""
        self.expect(text, '--lr, "{lr}", ["{bias_flag}"]', "lr: {loguniform: [0.01, 1.0]}", name="fit.jl")


    def test_what_r_and_julia_print(self):
        for name, line, regex in (
                ("a.R", r'cat(sprintf("epoch %d val_acc: %.4f\n", epoch, f(x, "a, b")))', r"\s+val_acc:\s+{number}"),
                ("a.R", r'cat("epoch", i, "val_acc:", acc, "\n")', r"\s+val_acc:\s+{number}"),
                ("a.R", r'message(paste0("val_acc=", round(acc, 3)))', r"^val_acc=\s*{number}', from: stderr"),
                ("a.jl", 'println("epoch $epoch val_acc: $(1 - a["lr"] / f(epoch))")', r"\s+val_acc:\s+{number}"),
                ("a.jl", r'@printf("epoch %d, val_acc %.4f\n", epoch, 0.1)', r", val_acc\s+{number}"),
                ("a.jl", r'println("val_acc = ", acc)  # "val_acc"', r"^val_acc\s+=\s+{number}")):
            with self.subTest(line):
                self.assertIn(f"    val_acc: {{regex: '{regex}", init(name, "x = 1\n" + line + "\n"))
        self.assertIn("what it prints is not known", init("a.R", "print(1)\n"))


    def test_options_and_prints_of_modules_beside_the_script(self):
        files = [("pkg/__init__.py", ""), ("pkg/opts.py", "import argparse\ndef get():\n    p = argparse.ArgumentParser()\n"
                                           "    p.add_argument('--lr', type=float, default=0.1)\n    return p.parse_args()\n"),
                 ("engine.py", "from unrelated import x\ndef run(lr):\n" + BODY), ("other.py", "print(f'val_acc {x}')\n"),
                 ("broken.py", "x = (\n")]
        text = "import os\nimport broken\nfrom pkg.opts import get\nfrom engine import run\nrun(get().lr)\n"
        space = self.expect(text, '--lr, "{lr}"', "lr: {loguniform: [0.01, 1.0]}", files=files)
        self.assertIn("    val_acc: {regex: ':\\s+val_acc\\s+{number}'}   # print(f\"epoch", space)
        own = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--depth', type=int, default=3)\n"
        self.expect(own + text, '--depth, "{depth}"', files=files)

    def test_lightning_without_prints_is_told_of_the_callback(self):
        text = "import lightning as L\nclass M(L.LightningModule):\n    def validation_step(self, b):\n" \
               "        self.log('val_loss', 1)\nL.Trainer().fit(M())\n"
        self.assertRegex(init("train.py", text), "# TO DO: Lightning's values .*ReportCallback\\(\"val_loss\"\\)")
        text = text.replace("Trainer()", "Trainer(callbacks=[ReportCallback(['val_loss', 'rate'], checkpoint=True)])")
        space = init("train.py", "from tune.lightning import ReportCallback\n" + text)
        self.assertIn("\nmetric: val_loss   # or: rate\nmode: min\n", space)
        self.assertNotIn("  metrics:", space)


class Xgboost(unittest.TestCase):
    FIT = ("import xgboost as xgb\nm = xgb.XGBRegressor(eval_metric='mae'%s)\nm.fit(x, y, eval_set=[(x, y)]%s)\n"
           "print(f'best score: {m.best_score:.4f}')\n")

    def test_where_it_prints_nothing_the_printed_best_score_is_read(self):
        for silent in (", verbose=False", ", verbose=0"):
            space = init("train.py", self.FIT % ("", silent))
            self.assertIn("\nmetric: best_score\nmode: min\n", space)
            self.assertNotIn("validation_0", space)
        train = "import xgboost\nb = xgboost.train({'eval_metric': 'auc'}, d, 9, evals=[(v, 'val')], verbose_eval=%s)\nprint('AUC', b.best_score)\n"
        self.assertIn("\nmetric: auc\nmode: max\n", init("train.py", train % "False"))
        self.assertIn("\nmetric: val_auc ", init("train.py", train % "5"))

    def test_where_it_prints_its_own_value_is_read(self):
        # XGBoost takes no notice of verbose=False in a constructor.
        for verbose in ("", ", verbosity=0", ", verbose=False"):
            self.assertIn("\nmetric: validation_0_mae ", init("train.py", self.FIT % (verbose, "")))

    def test_of_several_values_the_one_that_early_stopping_looks_at_leads(self):
        train = "import xgboost as xgb\np = {'eval_metric': ['error', 'auc', 'logloss']}\nb = xgb.train(p, d, 9, %s)\n"
        for sets, last in (("evals=[(d, 'train'), (v, 'eval')]", "eval"), ("evals=[(v, 'eval'), (d, 'train')]", "eval"), ("evals=w", "val")):
            space = init("train.py", "w = [(d, 'train'), (v, 'val')]\n" + train % sets)
            self.assertIn(f"\nmetric: {last}_logloss ", space)
            self.assertEqual(space.count("{regex"), 6, space)
            log = "".join(f"[{i}]\t" + "\t".join(f"{s}-{k}:0.5" for s in ("train", last) for k in ("error", "auc", "logloss")) + "\n" for i in (0, 1))
            self.assertIn(f"\nmetric: {last}_logloss ", init("train.py", "w = [(d, 'train'), (v, 'val')]\n" + train % sets, log=log))
        fit = "import xgboost\nm = xgboost.XGBClassifier(eval_metric='auc')\nm.fit(X[:7], y[:7], eval_set=[(X[:7], y[:7]), (X[7:], y[7:])])\n"
        self.assertIn("\nmetric: validation_1_auc ", init("train.py", fit))

    def test_where_nothing_is_printed_the_file_says_what_to_print(self):
        silent = (self.FIT % ("", ", verbose=False")).split("print(")[0]
        self.assertIn('# TO DO: XGBoost prints nothing with verbose=False: let the script print its best_score', init("train.py", silent))


class LogsOfScripts(unittest.TestCase):
    """Beside a log the script is read, too."""

    def test_what_the_script_logs_is_read_of_both_streams(self):
        text = "import logging\nlog = logging.getLogger()\nfor e in (1, 2):\n    log.info('%s = %s', key, value)\n"
        self.assertIn(", from: both}", init("train.py", text, log="12:00 - acc = 0.5\n12:01 - acc = 0.25\n"))
        self.assertNotIn("from:", init("train.py", "print(f'acc = {v}')\n", log="acc = 0.5\nacc = 0.25\n"))
        text = "import sys\nfor e in (1, 2):\n    print(f'acc = {v}', file=sys.stderr)\n"
        self.assertIn(", from: stderr}", init("train.py", text, log="acc = 0.5\nacc = 0.25\n"))

    def test_lines_of_classes_are_told(self):
        log = "".join(f"class {c}: f1 = 0.{c}5\n" for c in (1, 2, 3))
        self.assertIn("f1 is printed for each class", init("train.py", "x = 1\n", log=log))
        text = "for c in ('cat', 'dog'):\n    print(f'{c}: f1 = {v}')\n"
        self.assertIn("f1 is printed for cat and dog", init("train.py", text, log="cat: f1 = 0.5\ndog: f1 = 0.25\n"))


class Domains(unittest.TestCase):
    def lines_of(self, *arguments):
        declared = "".join(f"p.add_argument({a})\n" for a in arguments)
        space = init("train.py", "import argparse\np = argparse.ArgumentParser()\n" + declared + LOOP)
        return {m.group(1): m.group(2) for m in re.finditer(r"^  (\w+): (\{.*?\})   #", space, re.M)}

    def test_what_keeps_a_script_from_training_is_left_alone(self):
        self.assertEqual(self.lines_of("'--sample-only', action='store_true'", "'--compile', action='store_true'",
                                       "'--start', choices=['scratch', 'resume']", "'--rmsnorm', action='store_true', default=True"), {})

    def test_sizes_that_belong_together_are_halves_and_doubles(self):
        self.assertEqual(self.lines_of("'--n-head', type=int, default=4", "'--n-embd', type=int, default=64",
                                       "'--batch-size', type=int, default=1"),
                         {"n_head": "{choice: [2, 4, 8]}", "n_embd": "{choice: [32, 64, 128]}",
                          "batch_size": "{choice: [1, 2, 4]}"})

    def test_widths_of_a_transformer_are_divided_by_its_heads(self):
        self.assertEqual(self.lines_of("'--d-model', type=int, default=64", "'--d_ff', type=int, default=256", "'--embedding-dim', type=int, default=32",
                                       "'--n-heads', type=int, default=2"),
                         {"d_model": "{choice: [32, 64, 128]}", "d_ff": "{choice: [128, 256, 512]}", "embedding_dim": "{choice: [16, 32, 64]}",
                          "n_heads": "{choice: [1, 2, 4]}"})

    def test_the_default_is_within_the_domain(self):
        self.assertEqual(self.lines_of("'--beta1', type=float, default=0.5", "'--gamma', type=float, default=0.99",
                                       "'--dropout', type=float, default=0.75"),
                         {"beta1": "{uniform: [0.25, 0.999]}", "gamma": "{uniform: [0.9, 0.9999]}",
                          "dropout": "{uniform: [0.0, 0.9]}"})

    def test_a_seed_by_any_name_is_the_trials_own(self):
        for flag in ("--manualSeed", "--random-state", "--seed"):
            space = init("train.py", f"import argparse\np = argparse.ArgumentParser()\np.add_argument('{flag}', type=int)\n")
            self.assertEqual(words_of(space), flag + ', "{tune.seed}"')


class NotSeen(unittest.TestCase):
    """Where init cannot know it says so, and what to write."""

    def test_values_that_stand_in_the_script(self):
        space = init("train.py", "import os\nLR = 0.1\nEPOCHS = 3\nlr = LR\n" + LOOP)
        self.assertIn("# TO DO: the script takes nothing from outside, and LR=0.1 stands in it; to search over one write "
                      'LR = float(os.environ.get("LR", 0.1)), and call tune init again.', space)
        space = init("train.py", "import sys\nLR = 0.1\nlr = LR\nfor word in sys.argv[1:]:\n    lr = float(word.split('=')[1])\n" + LOOP)
        self.assertIn("# TO DO: the script reads sys.argv in a way that is not understood, and LR=0.1 stands in it", space)
        space = init("train.py", "CONFIG = {'lr': 0.1, 'data': 'x'}\nlr = CONFIG['lr']\n" + LOOP)
        self.assertIn("write import tune; CONFIG = tune.config(CONFIG) right below the dictionary", space)
        mended = "import tune\nCONFIG = {'lr': 0.1, 'data': 'x'}\nCONFIG = tune.config(CONFIG)\nlr = CONFIG['lr']\n" + LOOP
        space = init("train.py", mended)
        self.assertIn("\n  lr: {loguniform: [0.01, 1.0]}", space)
        self.assertNotIn("TO DO", space)

    def test_a_method_of_the_same_name_as_a_function_that_prints_is_no_call_of_it(self):
        text = "def train(epoch):\n    model.train()\n    print(f'epoch {epoch} val_acc {acc}')\ntrain(1)\n"
        self.assertNotIn("# model.train()", init("train.py", text))

    def test_a_file_of_values_that_an_option_names(self):
        text = "import argparse, yaml\np = argparse.ArgumentParser()\np.add_argument('--config', default='c.yaml')\n" \
               "cfg = yaml.safe_load(open(p.parse_args().config))\nlr = cfg['lr']\n" + LOOP
        self.assertRegex(init("train.py", text), "# TO DO: .*the file that --config names.*shell: true.*TUNE_CONFIG")

    def test_a_program_that_is_no_text(self):
        self.assertRegex(init("a.py", "\x7fELF\0\0", status=2), "^a.py: this is no text, ")

    def test_notebooks(self):
        self.assertRegex(init("a.ipynb", "{}", status=2), r"^a.ipynb: a notebook is no program: `jupyter nbconvert --to script")
        self.assertRegex(init("a.py", "x = 1\n%matplotlib inline\n", status=2), "^a.py:2: a notebook's line .*%magic")
        self.assertIn("# TO DO: the script calls get_ipython()", init("a.py", "get_ipython().system('ls')\n" + LOOP))


class Keras(unittest.TestCase):
    """What Keras prints by itself."""

    def space(self, fit, metrics="'accuracy'", behind=""):
        return init("train.py", "import argparse\nimport keras\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
                    "a = p.parse_args()\nmodel = keras.Sequential([])\n"
                    f"model.compile(optimizer=keras.optimizers.Adam(a.lr), metrics=[{metrics}])\nmodel.fit({fit})\n{behind}")

    def test_without_data_of_the_validation_its_values_are_told_to_be_of_the_training(self):
        space = self.space("x, y, epochs=3, verbose=2")
        self.assertIn("# TO DO: accuracy is of the training data", space)
        self.assertNotIn("of the training data", self.space("x, y, epochs=3, verbose=2, validation_split=0.1"))

    def test_a_metric_is_printed_by_the_name_that_the_script_gives_it(self):
        space = self.space("x, y, verbose=2, validation_split=0.1", "'acc'")
        self.assertIn("    val_acc: {regex: '\\bval_acc: {number}'}", space)
        self.assertIn("metric: val_acc", space)

    def test_its_epochs_go_before_a_value_that_the_script_prints_behind_them(self):
        for behind in ("score = model.evaluate(x, y, verbose=0)\nprint('Test accuracy:', score[1])\n",
                       "loss, acc = model.evaluate(x, y)\nprint('Validation accuracy:', acc)\n", "model.predict(x, verbose=0)\n"):
            space = self.space("x, y, validation_split=0.1, epochs=3", behind=behind)
            self.assertIn("metric: val_accuracy", space)
            self.assertNotIn("printed once", space)
        for quiet in ("verbose=0", "verbose=False"):
            space = self.space(f"x, y, validation_split=0.1, {quiet}", behind="scaler.fit(x)\nprint('Test accuracy:', acc)\n")
            self.assertIn("metric: test_accuracy", space)

    def test_the_evaluations_of_a_trainer_go_before_a_value_that_the_script_prints_behind_them(self):
        text = ("from transformers import Trainer, TrainingArguments\ndef compute_metrics(p):\n    return {'accuracy': accuracy(p)}\n"
                "t = Trainer(args=TrainingArguments(STRATEGY), compute_metrics=compute_metrics)\nt.train()\n"
                "print(f\"Final eval accuracy: {t.evaluate()['eval_accuracy']}\")\n")
        self.assertIn("metric: eval_accuracy", init("train.py", text.replace("STRATEGY", "evaluation_strategy='epoch'")))
        self.assertIn("metric: final_eval_accuracy", init("train.py", text.replace("STRATEGY", "")))


if __name__ == "__main__":
    unittest.main()
