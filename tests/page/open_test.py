"""`tune ui --open`: the desktop's opener is called with a file, since all users of a machine see what a program was called with."""

import os
import re
import signal
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

TUNE = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
SPACE = """\
name: small
trainable: {curve: {value: "x / t", iterations: 2}}
metric: loss
mode: min
samples: 2
space: {x: {uniform: [0, 1]}}
"""


class Open(unittest.TestCase):
    def test_the_key_is_in_a_file_of_the_user_alone_and_not_among_the_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "space.yaml").write_text(SPACE)
            subprocess.run([TUNE, "run", "space.yaml"], cwd=folder, check=True, timeout=120, capture_output=True)
            told = Path(folder, "told")
            os.mkfifo(told)
            opener = Path(folder, "xdg-open")
            opener.write_text(f'#!/bin/sh\necho "$@" > {told}\n')
            opener.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": folder}
            page = subprocess.Popen([TUNE, "ui", "--http", "127.0.0.1:0", "--open"], cwd=folder, env=environment,
                                    text=True, stdout=subprocess.PIPE)
            try:
                arguments = told.read_text().split()
                self.assertEqual(len(arguments), 1)
                self.assertNotIn("key=", arguments[0])
                opened = Path(arguments[0])
                self.assertEqual(stat.S_IMODE(opened.stat().st_mode), 0o600)
                address = re.search(r"http://[^ \"]*\?key=\w+", page.stdout.readline()).group()
                self.assertIn(f"url={address}", opened.read_text())
            finally:
                page.send_signal(signal.SIGINT)
                page.wait(timeout=60)
                page.stdout.close()
            self.assertFalse(opened.exists())

    def test_the_browser_does_not_hold_the_port(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "space.yaml").write_text(SPACE)
            subprocess.run([TUNE, "run", "space.yaml"], cwd=folder, check=True, timeout=120, capture_output=True)
            told = Path(folder, "told")
            os.mkfifo(told)
            opener = Path(folder, "xdg-open")
            opener.write_text(f'#!/bin/sh\nfor fd in /proc/$$/fd/*; do echo "${{fd##*/}} $(readlink $fd)"; done > {told}\n')
            opener.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": folder}
            page = subprocess.Popen([TUNE, "ui", "--http", "127.0.0.1:0", "--open"], cwd=folder, env=environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.assertNotIn("socket:", told.read_text())
            finally:
                page.send_signal(signal.SIGINT)
                page.wait(timeout=60)


if __name__ == "__main__":
    unittest.main()
