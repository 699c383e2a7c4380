"""What the scripts here do where no GPU is: programs that hang or fail, wrong options, what lies in folders from before.

    scripts_test.py BIN

BIN: the programs of a build.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import signal
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


RUN, SWEEP = script("run"), script("sweep")


def python(code):
    return [sys.executable, "-c", code]


def write_program(path, code):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)


class ProgramsTest(unittest.TestCase):
    def run_them(self, *commands, seconds=60, line="ready"):
        with machine.Programs(commands, os.environ, seconds) as programs:
            if line:
                programs.hear(line)
                programs.tell("go")
            return programs.answers()

    def failure_of(self, *commands, **options):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(machine.Failed) as failed:
            self.run_them(*commands, **options)
        return str(failed.exception)

    def test_begins_all_at_once_and_has_their_answers(self):
        peer = python("print('ready', flush=True); print('heard', input())")
        self.assertEqual(self.run_them(peer, peer), ["heard go\n"] * 2)

    def test_says_which_hung_and_lets_none_live(self):
        programs = machine.Programs([python("import signal; signal.pause()")] * 2, os.environ, 0.1)
        with self.assertRaises(machine.Failed) as failed, programs:
            programs.hear("ready")
        self.assertIn("1 of 2 did not say 'ready' within 0.1 s", str(failed.exception))
        self.assertEqual([process.returncode for process in programs._processes], [-signal.SIGKILL] * 2)

    def test_says_what_one_ended_with_and_its_last_words(self):
        self.assertIn("ended with 3: no memory", self.failure_of(python("import sys; print('no memory', file=sys.stderr); "
                                                                         "sys.exit(3)"), line=None))
        self.assertIn("ended before it said 'ready'", self.failure_of(python("")))
        self.assertIn("was not done within 1 s", self.failure_of(python("import signal; signal.pause()"),
                                                                 seconds=1, line=None))
        self.assertIn("/nowhere/program does not start", self.failure_of(["/nowhere/program"]))


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


STEP = """
import sys
if sys.argv[5] == "fp32":
    sys.exit("no such kernel")
print("step_images_per_second 100\\naugment_images_per_second 1000\\nwhole_images_per_second 90")
print("streamed_images_per_second 80\\nmegabytes 7\\nfloor_share 0.5")"""
HOG = "import sys; sys.stdin.read(); print('refused 3')"


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *arguments):
        """The status, what was written and what was said, on a machine with a card and without PyTorch."""
        out = self.folder / "out.md"
        out.unlink(missing_ok=True)
        program = (f"import sys; sys.path.insert(0, '{HERE}'); sys.dont_write_bytecode = True; import scripts_test, machine; "
                   "machine.device = lambda: ['A card', '9.0', '1']; machine.package_version = lambda name: None; "
                   "sys.exit(scripts_test.RUN.main())")
        ran = subprocess.run(python(program) + ["--build", str(self.folder), "--toy", "--out", str(out), *arguments],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        return ran.returncode, out.read_text() if out.exists() else "", ran.stderr

    def test_refuses_a_part_that_it_does_not_know(self):
        status, _, said = self.run_it("--only", "steps,stesp")
        self.assertEqual(status, 2)
        self.assertIn("argument --only: read 'stesp', expected some of build,tests,steps,fused,neighbour", said)

    def test_refuses_numbers_and_folders_that_are_none(self):
        for option, value, words in (("--rounds", "0", "read '0', expected a whole number from 1 to 1000"),
                                     ("--steps", "many", "read 'many', expected a whole number"),
                                     ("--gtest", "/nowhere", "read '/nowhere', expected the folder of googletest's sources"),
                                     ("--out", "/nowhere/out", "argument --out: /nowhere/out: No such file or directory")):
            status, _, said = self.run_it(option, value)
            self.assertEqual(status, 2)
            self.assertIn(words, said)

    def test_says_which_programs_there_are_none_of(self):
        write_program(self.folder / "bin/bench_gpu_step", STEP)
        status, wrote, _ = self.run_it("--only", "fused")
        self.assertEqual(status, 1)
        self.assertIn("bin: no bench_gpu_hog. Build them (--only build,...)", wrote)

    def test_a_row_that_fails_leaves_the_others(self):
        write_program(self.folder / "bin/bench_gpu_step", STEP)
        write_program(self.folder / "bin/bench_gpu_hog", HOG)
        status, wrote, _ = self.run_it("--only", "steps,neighbour")
        self.assertEqual(status, 1)
        self.assertIn("| 0.35, 64², batch 4 | bf16 | 100 | - | - | 50 % | 1000 | 10 | 90 | 80 | 7 |", wrote)
        self.assertIn("| 0.35, 64², batch 4 | fp32 | - |", wrote)
        self.assertEqual(wrote.count("FAILED"), 1)  # It was not asked again.
        self.assertIn("ended with 1: no such kernel", wrote)
        self.assertIn("| 0.35, 64², batch 4 | 40.000 | 40.000 | 1.000 | 3 |", wrote)
        self.assertNotIn("many trials", wrote)

    def test_a_program_that_hangs_is_ended(self):
        write_program(self.folder / "bin/bench_gpu_step", "import signal; signal.pause()")
        write_program(self.folder / "bin/bench_gpu_hog", HOG)
        status, wrote, _ = self.run_it("--only", "fused", "--patience", "1")
        self.assertEqual(status, 1)
        self.assertIn("| 2 × (0.35, 64², batch 4) | - | - | - | - |", wrote)
        self.assertIn("was not done within 1 s", wrote)

    def test_tests_that_cannot_run_are_a_failure(self):
        status, wrote, _ = self.run_it("--only", "tests")
        self.assertEqual(status, 1)
        self.assertIn("| of a card | NOT RUN (no googletest; --gtest DIR) |", wrote)
        self.assertIn("| of the processor | not run: the programs were not built there |", wrote)

    def test_tests_that_skip_or_fail_are_a_failure(self):
        for lines, said in (("[  SKIPPED ] Gpu.A (0 ms)", "0 passed, 0 failed, 1 skipped"),
                            ("[       OK ] Gpu.A (0 ms)\n[  FAILED  ] Gpu.B (0 ms)", "1 passed, 1 failed, 0 skipped; Gpu.B")):
            write_program(self.folder / "tests/models_gpu_test", f"print('''{lines}'''); exit({'FAILED' in lines})")
            status, wrote, _ = self.run_it("--only", "tests")
            self.assertEqual(status, 1)
            self.assertIn(f"| of a card | {said} |", wrote)
            self.assertIn(f"FAILED: the tests of a card: {said}\n\n```\n{lines}\n```", wrote)

    def test_tests_that_pass(self):
        write_program(self.folder / "tests/models_gpu_test", "print('[       OK ] Gpu.A (0 ms)')")
        status, wrote, _ = self.run_it("--only", "tests")
        self.assertEqual(status, 0)
        self.assertIn("| of a card | 1 passed, 0 failed, 0 skipped |", wrote)


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

    def test_a_result_is_kept_for_sweeps_of_its_size(self):
        path, size = self.folder / "peer.json", {"device": "A card", "samples": 16, "epochs": 20}
        result = {"seconds": 9.5, "epochs": 105, "best": 0.5}
        self.assertEqual(SWEEP.kept(path, size),
                         (None, "peer: not measured yet; `--only peer` with the same --folder measures it."))
        SWEEP.keep(path, size, result)
        found, said = SWEEP.kept(path, size)
        self.assertEqual(found, result)
        self.assertIn("peer: measured ", said)
        found, said = SWEEP.kept(path, size | {"epochs": 8})
        self.assertIsNone(found)
        self.assertIn("is of another sweep (epochs is 20, expected 8); `--only peer`", said)
        for text in ("", "{}", "[1]", '{"result": {"seconds": null}}'):
            path.write_text(text)
            found, said = SWEEP.kept(path, size)
            self.assertIsNone(found)
            self.assertIn("peer.json is no result of this script; `--only peer`", said)

    def test_refuses_what_is_out_of_range(self):
        for option, value, words in (("--lanes", "0", "argument --lanes: read '0', expected a whole number from 1 to 64"),
                                     ("--bin", "/nowhere", "argument --bin: no /nowhere/tune; name the folder")):
            ran = subprocess.run([sys.executable, HERE / "sweep", option, value], capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(words, ran.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main()
