"""Where a trial's checkpoint is found: `TrialResult.checkpoint`."""

import json
import tempfile
import unittest
from pathlib import Path

import tune
from tune._head import Head
from tune._sweep import Sweep, TrialResult


def trial_with(checkpoint, db):
    return trial_of(Sweep("mnist", db), checkpoint)


def trial_of(sweep, checkpoint):
    row = {
        "number": 3, "status": "TERMINATED", "stop_reason": None, "config": "{}", "iterations": 1, "best_value": 1.0,
        "best_iteration": 1, "last_value": 1.0, "attempts": 1, "run_seconds": 1.0, "error": None, "checkpoint": checkpoint,
    }
    return TrialResult(sweep, row)


class ACheckpoint(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def test_is_found_where_the_database_was_moved_to(self):
        folder = self.folder / "tune.artifacts/mnist/3/checkpoint_000001"
        (folder / "data").mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps({"name": "model.pt"}))
        for stored in (folder, Path("/where/it/was/tune.artifacts/mnist/3/checkpoint_000001")):
            found = trial_with(str(stored), self.folder / "tune.db").checkpoint
            self.assertEqual(found, folder / "data/model.pt")

    def test_is_found_where_it_stayed_when_the_database_alone_was_copied(self):
        folder = self.folder / "tune.artifacts/mnist/3/checkpoint_000001"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        self.assertEqual(trial_with(str(folder), self.folder / "look/look.db").checkpoint, folder)

    def test_of_a_heads_sweep_is_found_on_the_heads_own_machine(self):
        folder = self.folder / "lab.artifacts/mnist/3/checkpoint_000001"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        head = Head(str(self.folder / "lab.db"))
        self.assertEqual(trial_of(head.sweep("mnist"), str(folder)).checkpoint, folder)
        with self.assertRaisesRegex(tune.TuneError, "the checkpoint is on the head's machine"):
            trial_of(Head("https://192.0.2.7:8080/?key=k").sweep("mnist"), str(folder)).checkpoint

    def test_in_an_object_store_is_told(self):
        trial = trial_with("s3://models/sweeps/mnist/3/checkpoint_000001.1", self.folder / "tune.db")
        with self.assertRaisesRegex(tune.TuneError, r"in an object store, s3://models/.*; sweep.export\(folder\) fetches the best"):
            trial.checkpoint

    def test_that_is_not_there_is_none(self):
        self.assertIsNone(trial_with(None, self.folder / "tune.db").checkpoint)


if __name__ == "__main__":
    unittest.main()
