"""Files that trials read, made by several processes at once."""

import tempfile
import threading
import unittest
from pathlib import Path

from tune._kept_file import keep


class AKeptFile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name) / ".tune" / "0123.data"

    def names(self):
        return sorted(path.name for path in self.path.parent.iterdir())

    def test_is_made_by_two_at_once(self):
        def write(part):
            part.write_text("half")
            other = threading.Thread(target=keep, args=(self.path, lambda its: its.write_text("half and half")))
            other.start()
            other.join()
            self.assertEqual(self.path.read_text(), "half and half")
            part.write_text("half and half")

        self.assertEqual(keep(self.path, write), self.path)
        self.assertEqual(self.path.read_text(), "half and half")
        self.assertEqual(self.names(), [".gitignore", "0123.data"])

    def test_is_made_once(self):
        for text in ("first", "second"):
            keep(self.path, lambda part: part.write_text(text))
        self.assertEqual(self.path.read_text(), "first")

    def test_that_cannot_be_written_leaves_nothing(self):
        def write(part):
            part.write_text("half")
            raise OSError("no space left")

        with self.assertRaises(OSError):
            keep(self.path, write)
        self.assertEqual(self.names(), [".gitignore"])


if __name__ == "__main__":
    unittest.main()
