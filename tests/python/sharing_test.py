"""What the trials of a sweep do to each other's files and values, by real programs that run side by side."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from sweep_test import BIN, SweepCase

import tune


def that_writes_one_file(trial):
    Path("best.pt").write_text(str(trial["x"]))
    return trial["x"]


def wait_for_its_pair(trial):
    """Two trials at a time: none lasts so long that it may have written all."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(f"pair-{trial.number // 2}")
    open(f"pair-{trial.number // 2}", "rw"[trial.number % 2]).close()  # Opens once the other one does.


def that_writes_one_file_beside_another(trial):
    wait_for_its_pair(trial)
    return that_writes_one_file(trial)


def that_writes_its_own_file(trial):
    for step in range(3):
        Path(f"best-{trial.number}.pt").write_text(f"{trial['x']} {step}")
        (trial.folder / "best.pt").write_text(f"{step}")
        trial.report(value=trial["x"])


def that_adds_to_a_log(trial):
    with open("all.txt", "a") as log:
        log.write(f"trial {trial.number}\n")
    Path("train.log").write_text(f"trial {trial.number}\n")
    Path("history.db").write_text(f"trial {trial.number}\n")
    return trial["x"]


def in_a_folder_of_the_minute(trial):
    """The names that strftime makes of one moment are one name."""
    wait_for_its_pair(trial)
    folder = Path("runs/20260101-1200")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.ckpt").write_text(str(trial["x"]))
    return trial["x"]


class FilesOfTrials(SweepCase):
    told_of = "several trials wrote {} in the working folder"

    def test_that_all_write_are_told_once_with_the_remedy(self):
        sweep = self.run_sweep(that_writes_one_file_beside_another, samples=8, max_concurrent=2)
        self.assertEqual(len(sweep.doubts), 1, self.told)
        self.assertIn(self.told_of.format("best.pt"), sweep.doubts[0])
        self.assertIn("{tune.dir}/best.pt", sweep.doubts[0])
        self.assertEqual(self.told.count("shared files: "), 2, "as it is seen, and with the result: " + self.told)

    def test_of_trials_one_after_the_other_are_not_told(self):
        self.assertEqual(self.run_sweep(that_writes_one_file, samples=8, max_concurrent=1).doubts, [])

    def test_that_hold_one_trials_results_are_not_told(self):
        for more in ({"max_concurrent": 1}, {"max_concurrent": 3}):
            sweep = self.run_sweep(that_writes_its_own_file, samples=9, **more)
            self.assertEqual(sweep.doubts, [])

    def test_that_are_logs_or_databases_are_not_told(self):
        sweep = self.run_sweep(that_adds_to_a_log, samples=8, max_concurrent=2)
        self.assertEqual(sweep.doubts, [])

    def test_in_folders_with_the_time_for_a_name_are_told(self):
        sweep = self.run_sweep(in_a_folder_of_the_minute, samples=6, max_concurrent=2)
        self.assertIn(self.told_of.format("runs/20260101-1200/model.ckpt"), sweep.doubts[0])

    def test_of_a_folder_that_is_too_large_are_not_looked_at(self):
        Path("many").mkdir()
        for number in range(4_001):
            Path(f"many/{number}").touch()
        self.assertEqual(self.run_sweep(that_writes_one_file, samples=3, max_concurrent=1).doubts, [])

    def tune_run(self, name, space, *arguments, **more):
        Path(name + ".yaml").write_text(json.dumps(space))
        return subprocess.Popen(
            [BIN + "/tune", "run", name + ".yaml", "--seed", "1", "--db", name + ".db", *arguments],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more,
        )

    def test_of_configurations_that_each_trial_writes_are_told(self):
        beside = 'touch "began-$TUNE_TRIAL"; until [ -e "began-$((TUNE_TRIAL ^ 1))" ]; do :; done; '
        Path("config.yaml").write_text("lr: 0\n")
        command = ["sh", "-c", beside + "sed -i 's/lr:.*/lr: {x}/' config.yaml; cut -d: -f2 config.yaml"]
        process = self.tune_run("written", {
            "metric": "value", "mode": "min", "samples": 6, "limits": {"max_concurrent": 2}, "space": {"x": {"uniform": [0, 1]}},
            "trainable": {"command": command, "metrics": {"value": {"regex": "{number}"}}},
        })
        self.assertIn("several trials wrote config.yaml", process.communicate()[0])

    def test_that_a_shell_writes_are_told(self):
        # Two trials at a time, as in wait_for_its_pair.
        beside = 'touch "began-$TUNE_TRIAL"; until [ -e "began-$((TUNE_TRIAL ^ 1))" ]; do :; done; '
        command = ["sh", "-c", beside + "echo {x} | tee result.txt"]
        process = self.tune_run("shell", {
            "metric": "value", "mode": "min", "samples": 6, "limits": {"max_concurrent": 2}, "space": {"x": {"uniform": [0, 1]}},
            "trainable": {"command": command, "metrics": {"value": {"regex": "{number}"}}},
        })
        told = process.communicate()[1]
        self.assertEqual(told.count(self.told_of.format("result.txt")), 1, told)

    def test_that_the_tuner_itself_writes_to_are_not_told(self):
        # `tune resume > out.txt` truncates what was written before; here a trial does, in the shell's place.
        beside = 'touch "began-$TUNE_TRIAL"; until [ -e "began-$((TUNE_TRIAL ^ 1))" ]; do :; done; '
        Path("space.yaml").write_text(json.dumps({
            "metric": "value", "mode": "min", "samples": 6, "limits": {"max_concurrent": 2}, "space": {"x": {"uniform": [0, 1]}},
            "trainable": {"command": ["sh", "-c", beside + ": > out.txt; echo {x} | tee result.txt"], "metrics": {"value": {"regex": "{number}"}}},
        }))
        with open("out.txt", "w") as out:
            subprocess.run([BIN + "/tune", "run", "space.yaml", "--seed", "1"], stdout=out, stderr=subprocess.STDOUT, check=True, timeout=120)
        doubts = "".join(tune.load().doubts)
        self.assertIn(self.told_of.format("result.txt"), doubts)
        self.assertNotIn("out.txt", doubts)

    # Two that write into one file at once may leave a mixture that is no JSON.
    that_writes_whole_files = (
        "Path(f'{os.getpid()}.json').write_text(json.dumps({'value': float(sys.argv[1])}))\n"
        "os.replace(f'{os.getpid()}.json', 'r.json')\n"
    )

    def file_sweep(self, program):
        Path("train.py").write_text("import json, os, sys, time\nfrom pathlib import Path\n" + program)
        return {
            "metric": "value", "mode": "min", "samples": 3, "limits": {"max_concurrent": 1},
            "space": {"x": {"uniform": [0, 1]}},
            "trainable": {"command": [sys.executable, "train.py", "{x}"], "metrics": {"value": {"json": "r.json", "key": "value"}}},
        }

    def test_of_metrics_that_were_only_touched_are_told(self):
        keeps = self.file_sweep(
            "if not Path('r.json').exists():\n"
            "    Path('r.json').write_text(json.dumps({'value': float(sys.argv[1])}))\n"
            "os.utime('r.json')\n"
        )
        told = self.tune_run("keeps", keeps).communicate()[1]
        self.assertIn("trial 1: another trial's value: r.json holds the same bytes as for trial 0", told)
        Path("r.json").unlink()
        writes = self.file_sweep("Path('r.json').write_text(json.dumps({'value': float(sys.argv[1])}))\n")
        told = self.tune_run("writes", writes).communicate()[1]
        self.assertNotIn("another trial's value", told)
        self.assertNotIn("several trials wrote", told)

    def test_of_metrics_that_two_sweeps_write_are_told_in_both(self):
        space = self.file_sweep(
            "open('both', 'r' if os.environ['TUNE_EXPERIMENT'] == 'one' else 'w').close()\n" + self.that_writes_whole_files
        )
        os.mkfifo("both")  # Opens once both open it.
        both = [self.tune_run(name, {**space, "samples": 1}) for name in ("one", "two")]
        told = [process.communicate()[1] for process in both]
        self.assertIn("metrics of two sweeps: trials of " + os.path.realpath("two.artifacts/two"), told[0])
        self.assertIn("metrics of two sweeps: trials of " + os.path.realpath("one.artifacts/one"), told[1])

    def test_of_metrics_that_trials_side_by_side_write_are_told_with_the_answer(self):
        space = self.file_sweep(
            "open('both', 'r' if os.environ['TUNE_TRIAL'] == '0' else 'w').close()\n" + self.that_writes_whole_files
        )
        os.mkfifo("both")  # Opens once both open it.
        answer = self.tune_run("beside", {**space, "samples": 2, "limits": {"max_concurrent": 2}}).communicate()[0]
        self.assertRegex(answer, "in doubt +trial [01]: metrics of several trials: .*r.json, too: this value may be its; .*; 1 more trial alike")


if __name__ == "__main__":
    import unittest

    unittest.main()
