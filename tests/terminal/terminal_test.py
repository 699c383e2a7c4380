"""tune run, attach and status --watch on a real pseudo-terminal of several sizes, and as plain lines where there is none."""

import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from pseudo_terminal import Terminal

TUNE = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
ENVIRONMENT = {name: text for name, text in os.environ.items() if name not in ("TERM", "NO_COLOR")}
ENVIRONMENT["PATH"] = os.path.dirname(TUNE) + ":" + ENVIRONMENT["PATH"]

# Of six trials two wait at a gate after three reports; one fails.
SPACE = """\
name: watched
trainable: {command: [sh, p.sh, "{x}"]}
metric: acc
mode: max
space: {x: {grid_search: [0, 1, 2, 3, 4, 5]}}
"""
PROGRAM = """\
tune report acc=0.$1
[ "$1" = 1 ] && exit 1
tune report acc=0.3
tune report acc=0.7
[ "$1" -ge 4 ] && dd if=gate bs=1 count=1 2>/dev/null
exit 0
"""


def is_at_the_gate(screen):
    """Four have ended, and the two others have reported what they report."""
    return "4/6 trials ended" in screen.text() and len(re.findall(r"(?m)^ +[45] +3 ", screen.text())) == 2


class OnATerminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        Path(self.folder, "space.yaml").write_text(SPACE)
        Path(self.folder, "p.sh").write_text(PROGRAM)
        os.mkfifo(os.path.join(self.folder, "gate"))

    def start(self, width, height, *command, **environment):
        command = [TUNE, *(command or ("run", "space.yaml", "--cpus", "3"))]
        terminal = Terminal(command, self.folder, width, height, {**ENVIRONMENT, "TERM": "xterm", **environment})
        self.addCleanup(terminal.close)
        return terminal

    def open_gate(self):
        """A letter for each of the two trials; read and write, so that nobody waits here for a reader."""
        gate = os.open(os.path.join(self.folder, "gate"), os.O_RDWR)
        self.addCleanup(os.close, gate)
        os.write(gate, b"go")

    def finish(self, terminal):
        os.kill(terminal.pid, signal.SIGINT)
        terminal.read_to_end()

    def check_table(self, terminal):
        lines = terminal.screen.lines()
        heads = [line for line in lines if line.startswith("watched  ")]
        self.assertEqual(len(heads), 1, terminal.screen.text())  # Nothing is left of an earlier drawing.
        self.assertEqual(sum(line.startswith("best    ") for line in lines), 1)
        return lines[lines.index(heads[0]):]

    def test_a_table_fits_terminals_of_every_size(self):
        for width, height in ((40, 10), (80, 24), (200, 50)):
            with self.subTest(f"{width}x{height}"):
                terminal = self.start(width, height, "run", "space.yaml", "--cpus", "3", "--name", "watched", "--db", f"{width}.db")
                terminal.read_until(is_at_the_gate)
                lines = self.check_table(terminal)
                self.assertTrue(any(line.startswith("ended   █") and line.endswith("66 %") for line in lines))
                self.assertTrue(any(re.match(r" +4 +3 +0\.7", line) and re.search("[▁-█]$", line) for line in lines))
                has_events = any(line.startswith("lately  ") for line in lines)
                self.assertEqual(has_events, height > 10)
                if has_events:
                    self.assertTrue(any(re.match(r"lately +\d+ s  trial \d ", line) for line in lines))
                self.finish(terminal)

    def test_after_a_change_of_size_the_table_stands_once_and_whole(self):
        terminal = self.start(80, 24)
        terminal.read_until(is_at_the_gate)
        for width, height in ((40, 10), (120, 40), (30, 8), (80, 24)):
            terminal.resize(width, height)
            seen = len(terminal.raw)
            terminal.read_until(lambda screen: "\x1b[2J" in terminal.raw[seen:] and is_at_the_gate(screen))
            self.check_table(terminal)
        self.finish(terminal)

    def test_no_color_leaves_the_words_and_no_colour(self):
        colourful = self.start(80, 24)
        colourful.read_until(is_at_the_gate)
        self.assertTrue({"31", "32"} <= colourful.screen.styles)
        self.finish(colourful)
        plain = self.start(80, 24, "run", "space.yaml", "--cpus", "3", "--name", "watched", "--db", "plain.db", NO_COLOR="1")
        plain.read_until(is_at_the_gate)
        self.assertEqual(plain.screen.styles, set())
        self.assertIn(", 1 failed", plain.screen.text())
        self.finish(plain)

    def test_a_terminal_that_cannot_move_its_cursor_has_plain_lines(self):
        terminal = self.start(80, 24, TERM="dumb")
        terminal.read_until(lambda screen: len(re.findall(r"(?m)^trial [023] ended \(completed\)", screen.text())) == 3)
        self.assertNotIn("\x1b", terminal.raw)
        self.finish(terminal)

    def test_attach_and_status_watch_are_drawn_as_well(self):
        run = self.start(80, 24)
        run.read_until(is_at_the_gate)
        attached = self.start(60, 20, "attach")
        attached.read_until(lambda screen: "4/6 trials ended, 2 running" in screen.text() and "using   " in screen.text())
        self.check_table(attached)
        # What was before it looked is there as well.
        self.assertTrue(any(line.startswith("so far  ") and line.endswith(" to 0.7") for line in attached.screen.lines()))
        attached.resize(100, 30)
        attached.read_until(lambda screen: "2 running" in screen.text() and attached.raw.count("\x1b[2J") == 1 and
                            "using   " in screen.text())
        self.check_table(attached)
        watched = self.start(60, 8, "status", "--watch")
        watched.read_until(lambda screen: screen.text().startswith("watched: RUNNING"))
        seen = len(watched.raw)
        watched.resize(50, 6)
        # What was on its way for the old size is gone with the screen.
        watched.read_until(lambda screen: "\x1b[2J" in watched.raw[seen:] and "best " in screen.text())
        self.assertTrue(watched.screen.text().startswith("watched: RUNNING"), watched.screen.text())
        self.assertEqual(watched.screen.text().count("watched: "), 1)
        self.assertIn("32", watched.screen.styles)  # RUNNING.
        self.open_gate()
        self.assertEqual(run.read_to_end(), 3)
        self.assertEqual(attached.read_to_end(), 3)
        self.assertEqual(watched.read_to_end(), 0)
        self.assertIn("watched: FINISHED", watched.screen.text())

    def test_a_pipe_has_plain_lines_whatever_the_terminal_is(self):
        Path(self.folder, "gate").unlink()
        Path(self.folder, "gate").write_text("go")
        done = subprocess.run([TUNE, "run", "space.yaml", "--cpus", "3"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={**ENVIRONMENT, "TERM": "xterm-256color"})
        self.assertEqual(done.returncode, 3)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"(?m)^trial 0 ended \(completed\) after 3 iterations, best acc 0\.7$")
        self.assertRegex(done.stderr, r"(?m)^trial 1 failed after 1 iteration: .*$")
        status = subprocess.run([TUNE, "status"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                env={**ENVIRONMENT, "TERM": "xterm-256color"})
        self.assertTrue(status.stdout.startswith("watched: FINISHED\n"))
        self.assertNotIn("\x1b", status.stdout)


if __name__ == "__main__":
    unittest.main()
