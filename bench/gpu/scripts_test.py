"""What the scripts here do where no GPU is.

    scripts_test.py BIN

BIN: the programs of a build.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import machine  # noqa: E402

BIN = None


def script(name):
    """`run` and `sweep`, whose files have no suffix, as modules."""
    loader = importlib.machinery.SourceFileLoader(f"{name}_script", str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


SWEEP = script("sweep")


def write_program(path, code):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)


class MachineTest(unittest.TestCase):
    def test_tells_the_loader_of_the_drivers_folder_where_there_is_one(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "DRIVER_FOLDERS", [folder, "/nowhere"]), \
                mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": "/known"}):
            self.assertEqual(machine.peer_environment()["LD_LIBRARY_PATH"], f"/known:{folder}")
            self.assertTrue(machine.environment()["LD_LIBRARY_PATH"].endswith(folder))

    def test_does_not_wait_for_a_daemon_that_keeps_its_output(self):
        with tempfile.TemporaryDirectory() as folder:
            control = pathlib.Path(folder, "nvidia-cuda-mps-control")
            # As the real one, it leaves a process behind that has its output, and ends that one when it reads "quit".
            write_program(control, f"""
import os, signal, sys, time
pid = "{folder}/pid"
if "-d" in sys.argv:
    child = os.fork()
    if child == 0:
        signal.pause()
    open(pid, "w").write(str(child))
else:
    assert input() == "quit"
    os.kill(int(open(pid).read()), signal.SIGKILL)
    open("{folder}/ended", "w")""")
            with mock.patch.object(machine, "PROGRAM_FOLDERS", [folder]), machine.mps_daemon() as variables:
                self.assertTrue(os.path.isdir(variables["CUDA_MPS_PIPE_DIRECTORY"]))
            self.assertTrue(os.path.exists(f"{folder}/ended"))

    def test_measures_without_a_daemon_that_does_not_start(self):
        with tempfile.TemporaryDirectory() as folder:
            write_program(pathlib.Path(folder, "nvidia-cuda-mps-control"), "print('no permission'); exit(1)")
            with contextlib.redirect_stderr(io.StringIO()) as said, mock.patch.object(machine, "PROGRAM_FOLDERS", [folder]), \
                    machine.mps_daemon() as variables:
                self.assertIsNone(variables)
            self.assertIn("MPS: 1: no permission", said.getvalue())


class SweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_tune_accepts_the_spaces_of_a_card(self):
        for lanes in (1, 3, 16, 64):
            options = types.SimpleNamespace(device="cuda", toy=False, samples=16, epochs=20, lanes=lanes)
            for name in ("ours", "peer"):
                space = self.folder / "space.yaml"
                space.write_text(SWEEP.space_of(options, name, self.folder / "data"))
                plan = subprocess.run([BIN / "tune", "plan", space], capture_output=True, text=True, timeout=120)
                self.assertEqual(plan.returncode, 0, plan.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main()
