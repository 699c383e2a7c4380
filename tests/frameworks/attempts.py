"""A trial's attempts, as a sweep makes them: one dies, the next goes on from the last checkpoint.

    trial = Trial(folder)
    trial.attempt(train, dies_after=3)   # As if it were killed once its third report is stored.
    trial.attempt(train)
    trial.curve                          # The metrics of iterations 1, 2, 3, ...

All of them run in this process, so that a framework is imported once.
"""

import contextlib
import os
import shutil
import sys
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))

import tune
from stand_in_runner import StandInRunner
from tune._reporter import Reporter


class Trial:
    def __init__(self, folder, stop_at=1000):
        self._folder = str(folder)
        self._stop_at = stop_at
        self._checkpoint = None  # The last one that was reported: path and iteration.
        self.curve = []
        self.saved = []  # The iterations whose reports had a checkpoint.

    def attempt(self, train, dies_after=None):
        """Runs `train`. True: it ended by itself."""
        start = self._checkpoint[1] if self._checkpoint else 0

        def answer(message, count):
            iteration = start + count
            self._store(message["report"], iteration)
            if iteration == dies_after:
                return None  # The connection ends: the attempt dies of it.
            return {"answer": "stop" if iteration >= self._stop_at else "continue",
                    "iteration": iteration}

        with contextlib.ExitStack() as stack:
            runner = stack.enter_context(StandInRunner(answer))
            environ = {**runner.environ, "TUNE_DIR": os.path.join(self._folder, "files")}
            if self._checkpoint:
                environ["TUNE_RESTORED"], environ["TUNE_FROM_ITERATION"] = (
                    self._checkpoint[0],
                    str(start),
                )
            stack.enter_context(mock.patch.dict(os.environ, environ))
            stack.enter_context(mock.patch.object(tune, "_reporter", Reporter(os.environ)))
            try:
                train()
            except ConnectionError:
                return False
        return True

    def _store(self, report, iteration):
        if iteration > len(self.curve):  # An iteration that comes again reaches nobody.
            self.curve.append(report["metrics"])
        path = report.get("checkpoint")
        if path is None:
            return
        self.saved.append(iteration)
        kept = os.path.join(self._folder, "checkpoints", str(iteration), os.path.basename(path))
        shutil.rmtree(os.path.dirname(kept), ignore_errors=True)
        if os.path.isdir(path):
            shutil.copytree(path, kept)
        else:
            os.makedirs(os.path.dirname(kept))
            shutil.copy(path, kept)
        self._checkpoint = kept, iteration
