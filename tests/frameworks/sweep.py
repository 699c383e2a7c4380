"""A small sweep with the programs of this build, and its exports."""

import os
import re
import subprocess

_SPACE = """\
name: small
trainable: {curve: {value: "(x - 0.3)^2 + width * 0.001 + exp(-0.2 * t)", iterations: 9}}
metric: loss
mode: min
seed: 11
samples: 8
space:
  x: {uniform: [0, 1]}
  rate: {loguniform: [0.001, 0.1]}
  width: {qrandint: [8, 32, 8]}
  kind: {choice: [adam, sgd]}
  depth: 3
scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}
"""


def tune(folder, *arguments, expect=0):
    """Runs the program; gives its answer's text, and then what it said besides."""
    program = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
    done = subprocess.run(
        [program, *arguments], cwd=folder, text=True, capture_output=True, timeout=300
    )
    if done.returncode != expect:
        raise AssertionError(f"tune {arguments}: status {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def run_small_sweep(folder):
    with open(os.path.join(folder, "space.yaml"), "w") as file:
        file.write(_SPACE)
    tune(folder, "run", "space.yaml")


def export(folder, form, to=None):
    """Makes the folder `to`; gives the line that tells how to open it."""
    _, said = tune(folder, "export", "small", "--to", form, to or form)
    return re.search(r"; (?:open|see) it with: (.*)", said).group(1)
