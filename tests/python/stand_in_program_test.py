"""What the module does where the program `tune` is slow, or has much to say: a script stands in for it."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import tune
from tune import _display, _head, _sweep

PYTHON_FOLDER = str(Path(__file__).resolve().parents[2] / "python")

# More than a pipe holds.
MUCH = "head -c 300000 /dev/zero | tr '\\0' x"


class WithAStandIn(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def stand_in(self, text):
        program = self.folder / "tune"
        program.write_text(text)
        program.chmod(0o755)
        environ = mock.patch.dict(os.environ, {"TUNE_PROGRAM": str(program)})
        environ.start()
        self.addCleanup(environ.stop)


class ALongSummary(WithAStandIn):
    def test_of_a_sweep_is_read_to_its_end(self):
        self.stand_in(f"#!/bin/sh\n{MUCH}\nexit 1\n")
        with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(tune.TuneError):
            _sweep.resume("kept", db=self.folder / "tune.db")
        self.assertIn("x" * 300000, told.getvalue())

    def test_of_a_heads_sweep_is_read_to_its_end(self):
        self.stand_in(
            "#!/bin/sh\n"
            f"cd {self.folder}\n"
            'case "$*" in\n'
            "*attach*) touch over; " + MUCH + ";;\n"
            "*status*) [ -e over ] && state=FINISHED || state=RUNNING; echo '[{\"status\": \"'$state'\"}]';;\n"
            "*) echo '[]';;\n"
            "esac\n"
        )
        sweep = _head.HeadSweep(mock.Mock(_place=["--head", "nowhere"]), "kept")
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertIs(sweep.wait(), sweep)


class ALogThatIsNoUtf8(WithAStandIn):
    def test_is_read_with_signs_in_place_of_what_is_none(self):
        self.stand_in("#!/bin/sh\nprintf 'caf\\351 1\\n'\n")
        row = dict.fromkeys(("stop_reason", "iterations", "best_value", "best_iteration", "last_value", "attempts", "run_seconds", "checkpoint"))
        trial = tune.TrialResult(tune.Sweep("mine", "tune.db"), {**row, "number": 0, "status": "ERROR", "config": "{}", "error": "boom"})
        self.assertEqual(trial.log, "caf\ufffd 1\n")
        job = _head.Job(mock.Mock(_place=["--head", "nowhere"], _ask_json=lambda _: [{"name": "j", "state": "SUCCEEDED"}]), "j")
        with contextlib.redirect_stdout(io.StringIO()) as told:
            job.follow()
        self.assertEqual(told.getvalue(), "caf\ufffd 1\n")


class ASweep(WithAStandIn):
    def run_until(self, end):
        self.stand_in(
            "#!/bin/sh\n"
            'case "$*" in\n'
            "*--dry-run*) exit 0;;\n"
            f"run*) echo mine; {end};;\n"
            f"*given_up*) ls -A {self.folder} > {self.folder}/listed; echo '[{{\"given_up\": \"no worker could take gpu: 4\"}}]';;\n"
            "*) echo '[]';;\n"
            "esac\n"
        )
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(tune.TuneError) as caught:
            tune.run({"command": ["true"]}, {"x": 1}, metric="v", mode="min", db=self.folder / "tune.db", folder=self.folder)
        return str(caught.exception)

    def test_whose_tuner_was_killed_is_told_as_interrupted(self):
        told = "mine was interrupted (tune ended {}); tune.resume('mine') goes on"
        self.assertEqual(self.run_until("kill -KILL $$"), told.format("by signal 9"))
        self.assertEqual(self.run_until("exit 143"), told.format("with status 143"))

    def test_has_no_file_of_its_own_in_the_folder_while_it_runs(self):
        self.run_until("exit 3")
        self.assertEqual((self.folder / "listed").read_text(), "listed\ntune\n")

    def test_that_no_worker_could_take_is_told_as_given_up(self):
        told = "mine is given up: no worker could take gpu: 4; tune.resume('mine') tries it again"
        self.assertEqual(self.run_until("exit 3"), told)


    def test_that_is_not_there_is_told_when_it_is_loaded(self):
        self.stand_in("#!/bin/sh\necho \"tune: tune.db: no sweep is named 'other'\" >&2\nexit 2\n")
        with self.assertRaisesRegex(tune.TuneError, "no sweep is named 'other'"):
            tune.load("other")


class ASweepOfAHead(WithAStandIn):
    def test_in_a_notebook_is_waited_for_while_the_head_does_not_answer(self):
        """The table's first drawing fails, and lets `tune attach` end."""
        os.mkfifo(self.folder / "go")
        self.stand_in(
            f"#!/bin/sh\ncd {self.folder}\n"
            'state() { echo \'[{"name": "kept", "status": "\'$1\'", "terminated": 1, "error": 0, "running": 0, "trials_max": 1}]\'; }\n'
            'case "$*" in\n'
            "*attach*) cat go;;\n"
            "*status*) if [ -e failed ]; then state FINISHED; elif [ -e asked ]; then touch failed; echo > go; exit 1;"
            " else touch asked; state RUNNING; fi;;\n"
            "*) echo '[]';;\n"
            "esac\n"
        )
        shown = []
        handle = types.SimpleNamespace(update=shown.append)
        modules = {
            "IPython": types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1)),
            "IPython.display": types.SimpleNamespace(HTML=str, display=lambda text, display_id: shown.append(text) or handle),
        }
        sweep = _head.HeadSweep(mock.Mock(_place=["--head", "nowhere"]), "kept")
        with mock.patch.dict(sys.modules, modules), mock.patch.object(_display, "_PAUSE_S", 0.001):
            self.assertIs(sweep.wait(), sweep)
        self.assertIn("kept</b> FINISHED", shown[-1])

    def test_that_is_given_up_is_waited_for_no_more(self):
        self.stand_in(
            "#!/bin/sh\n"
            'case "$*" in\n'
            "*given_up*) echo '[{\"given_up\": \"no worker could take gpu: 4 for 10 min (limits.unplaceable)\"}]';;\n"
            "*status*) echo '[{\"status\": \"INTERRUPTED\"}]';;\n"
            "esac\n"
        )
        sweep = _head.HeadSweep(mock.Mock(_place=["--head", "nowhere"]), "kept")
        with self.assertRaisesRegex(tune.TuneError, "^kept is given up: no worker could take gpu: 4 for 10 min .*; sweep.resume.. tries"):
            sweep.wait()


# Answers in order. The first line interrupts the study, and its answer waits for the test.
SLOW_STUDY = """\
#!/usr/bin/python3
import json, os, signal, sys

for number, line in enumerate(sys.stdin):
    if number == 0:
        os.kill(os.getppid(), signal.SIGUSR1)
        open("go").read()
    answer = {"trial": number, "config": {}} if "ask" in json.loads(line) else {"told": number}
    print(json.dumps(answer), flush=True)
"""


PROMPT_STUDY = """\
#!/usr/bin/python3
import json, sys

for number, line in enumerate(sys.stdin):
    print(json.dumps({"trial": number, "config": {}}), flush=True)
"""

CTRL_C = """\
import os, signal, tune

signal.signal(signal.SIGINT, signal.default_int_handler)
with tune.Study({"x": tune.uniform(0, 1)}) as study:
    print(study.ask())
    try:
        os.killpg(0, signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        print(study.ask())
"""


# The forked process lives until this one has closed its study, or is killed.
FORK = """\
import os, tune

study = tune.Study({"x": tune.uniform(0, 1)})
print(study.ask(), flush=True)
alive, hold = os.pipe()
forked = os.fork()
if forked == 0:
    os.close(hold)
    try:
        study.ask()
    except tune.TuneError as error:
        print("forked:", error, flush=True)
    os.read(alive, 1)
    os._exit(0)
study.close()
os.close(hold)
os.waitpid(forked, 0)
print("closed")
"""


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


class AStudy(WithAStandIn):
    def test_that_is_interrupted_gives_each_later_call_its_own_answer(self):
        self.stand_in(SLOW_STUDY)
        go = self.folder / "go"
        os.mkfifo(go)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        handler = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, handler)
        with tune.Study({"x": tune.uniform(0, 1)}) as study:
            with self.assertRaises(Interrupted):
                study.ask()
            go.write_text("go")
            self.assertEqual(study.ask(), (1, {}))
            self.assertEqual(study.ask_many(1), [(2, {})])

    def run_script(self, text):
        self.stand_in(PROMPT_STUDY)
        done = subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": PYTHON_FOLDER}, start_new_session=True,
            capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_outlives_a_ctrl_c_which_goes_to_the_whole_group_of_processes(self):
        self.assertEqual(self.run_script(CTRL_C), "(0, {})\n(1, {})\n")

    def test_is_closed_while_a_process_lives_that_was_forked_meanwhile(self):
        told = sorted(self.run_script(FORK).splitlines())
        self.assertEqual(told, ["(0, {})", "closed", "forked: tune has ended"])


if __name__ == "__main__":
    unittest.main()
