"""With PyTorch and NumPy themselves: scalars, a data loader's workers, two processes that train.

Skips where they are not installed (Debian's python3-torch).
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from stand_in_runner import StandInRunner
from tune._reporter import Reporter

try:
    import numpy
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"no {error.name}: install Debian's python3-torch")


class Scalars(unittest.TestCase):
    def sent(self, **values):
        with StandInRunner() as runner:
            Reporter(runner.environ).report({}, values, None, None, None)
            return runner.reports[0]["metrics"]

    def test_those_of_pytorch_and_numpy_are_numbers(self):
        sent = self.sent(
            a=torch.tensor(0.5),
            b=torch.tensor([2]),
            c=torch.tensor(0.25, dtype=torch.bfloat16),
            d=torch.tensor(0.75, requires_grad=True),
            e=numpy.float32(0.5),
            f=numpy.int64(3),
            g=numpy.array([[0.125]]),
            h=torch.tensor(float("nan")),
        )
        expected = dict(a=0.5, b=2.0, c=0.25, d=0.75, e=0.5, f=3.0, g=0.125, h="NaN")
        self.assertEqual(sent, expected)

    def test_those_that_are_no_one_number_are_refused_in_one_line(self):
        for wrong in (
            torch.tensor([1.0, 2.0]),
            torch.tensor(True),
            torch.tensor([]),
            torch.tensor(1j),
            numpy.array([1.0, 2.0]),
            numpy.bool_(True),
        ):
            with self.assertRaisesRegex(TypeError, "^loss: read .*[^\n]$"):
                self.sent(loss=wrong)


class Programs(unittest.TestCase):
    def run_program(self, program, environ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "train.py")
            path.write_text(program)
            return subprocess.run(
                [sys.executable, str(path)],
                env={**os.environ, **environ},
                capture_output=True,
                text=True,
                timeout=200,
            )

    def test_a_data_loaders_workers_leave_the_connection_alone(self):
        program = (
            "import torch, tune\n"
            "if __name__ == '__main__':\n"
            "    values = torch.arange(8.0)\n"
            "    data = torch.utils.data.DataLoader(values, batch_size=4, num_workers=2)\n"
            "    for epoch in range(3):\n"
            "        tune.report(loss=sum(batch.sum() for batch in data))\n"
        )
        with StandInRunner() as runner:
            done = self.run_program(program, runner.environ)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([r["metrics"]["loss"] for r in runner.reports], [28.0] * 3)
            self.assertEqual(len(runner.connections), 1)

    def test_of_two_processes_that_train_the_first_reports_and_both_stop(self):
        program = (
            "import os, sys, types\n"
            "import torch.distributed as distributed\n"
            "import torch.multiprocessing\n"
            "sys.modules['transformers'] = types.SimpleNamespace(TrainerCallback=object)\n"
            "def train(rank, folder):\n"
            "    distributed.init_process_group(\n"
            "        'gloo', rank=rank, world_size=2, init_method=f'file://{folder}/meet')\n"
            "    import tune.transformers\n"
            "    callback = tune.transformers.ReportCallback('eval_loss')\n"
            "    state = types.SimpleNamespace(global_step=1, is_world_process_zero=rank == 0)\n"
            "    control = types.SimpleNamespace(should_save=False, should_training_stop=False)\n"
            "    callback.on_train_begin(None, state, control)\n"
            "    for epoch in range(5):\n"
            "        callback.on_evaluate(None, state, control, metrics={'eval_loss': 0.5})\n"
            "        if control.should_training_stop:\n"
            "            break\n"
            "    callback.on_train_end(None, state, control)\n"
            "    assert epoch == 1, epoch\n"
            "if __name__ == '__main__':\n"
            "    torch.multiprocessing.spawn(train, (os.path.dirname(__file__),), nprocs=2)\n"
        )

        def answer(message, count):
            return {"answer": "stop" if count == 2 else "continue", "iteration": count}

        with StandInRunner(answer) as runner:
            done = self.run_program(program, runner.environ)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(runner.reports), 2)
            self.assertEqual(len(runner.connections), 1)


if __name__ == "__main__":
    unittest.main()
