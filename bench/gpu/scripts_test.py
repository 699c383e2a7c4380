"""What the scripts here do where no GPU is.

    scripts_test.py BIN

BIN: the programs of a build.
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

BIN = None


def script(name):
    """`run` and `sweep`, whose files have no suffix, as modules."""
    loader = importlib.machinery.SourceFileLoader(f"{name}_script", str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


SWEEP = script("sweep")


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
