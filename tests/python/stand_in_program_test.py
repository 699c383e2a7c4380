"""What the module does where the program `tune` is slow, or has much to say: a script stands in for it."""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import tune
from tune import _head, _sweep

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


if __name__ == "__main__":
    unittest.main()
