"""A program on a real pseudo-terminal, and what its screen shows: the control sequences that tune uses, as an xterm takes them."""

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
import unicodedata

DEADLINE_S = 60


class Screen:
    """Rows and columns of letters. A control sequence that it does not know is an error."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.row = self.column = 0
        self.styles = set()  # Those that were used.
        self.rest = ""

    def resize(self, width, height):
        """As an xterm does: rows are cut or filled, nothing is folded anew."""
        gone = max(0, self.row - height + 1)
        rows = [row[:width] + [" "] * (width - len(row)) for row in self.rows[gone:gone + height]]
        self.rows = rows + [[" "] * width for _ in range(height - len(rows))]
        self.row, self.column = self.row - gone, min(self.column, width - 1)
        self.width, self.height = width, height

    def down(self):
        if self.row + 1 < self.height:
            self.row += 1
            return
        self.rows.pop(0)
        self.rows.append([" "] * self.width)

    def put(self, letter):
        if self.column >= self.width:
            self.column = 0
            self.down()
        self.rows[self.row][self.column] = letter
        self.column += 1

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            letter = text[at]
            if letter == "\x1b":
                found = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])").match(text, at)
                if not found:
                    if len(text) - at > 16:
                        raise ValueError(f"unknown sequence {text[at:at + 16]!r}")
                    self.rest = text[at:]
                    return
                self.control(found[1], found[2])
                at = found.end()
                continue
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.down()
            elif ord(letter) < 32:
                raise ValueError(f"unknown letter {letter!r}")
            elif not unicodedata.combining(letter):
                self.put(letter)
            at += 1

    def control(self, numbers, what):
        if what == "A":
            self.row = max(0, self.row - int(numbers or 1))
        elif what == "K" and not numbers:
            self.rows[self.row][self.column:] = [" "] * (self.width - self.column)
        elif what == "J" and not numbers:
            self.rows[self.row][self.column:] = [" "] * (self.width - self.column)
            for row in range(self.row + 1, self.height):
                self.rows[row] = [" "] * self.width
        elif what == "J" and numbers == "2":
            self.rows = [[" "] * self.width for _ in range(self.height)]
        elif what == "H" and not numbers:
            self.row = self.column = 0
        elif what == "m":
            self.styles.add(numbers)
        else:
            raise ValueError(f"unknown sequence {numbers}{what}")

    def lines(self):
        return ["".join(row).rstrip() for row in self.rows]

    def text(self):
        return "\n".join(self.lines())


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, command, folder, width, height, environment):
        self.screen = Screen(width, height)
        self.raw = ""
        self.fd, inner = os.openpty()
        self.set_size(width, height)  # Before anybody asks.
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
            for standard in range(3):
                os.dup2(inner, standard)
            os.close(self.fd)
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        os.close(inner)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.is_open = True

    def set_size(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width, height):
        """The kernel sends SIGWINCH."""
        self.screen.resize(width, height)
        self.set_size(width, height)

    def read(self):
        ready, _, _ = select.select([self.fd], [], [], DEADLINE_S)
        if not ready:
            raise TimeoutError(self.screen.text())
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # The other end has closed.
            data = b""
        if not data:
            self.is_open = False
            return
        text = self.decoder.decode(data)
        self.raw += text
        self.screen.feed(text)

    def read_until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while self.is_open and not condition(self.screen):
            if time.monotonic() > deadline:
                raise TimeoutError(self.screen.text())
            self.read()
        if not condition(self.screen):
            raise AssertionError("it ended before:\n" + self.screen.text())

    def read_to_end(self):
        while self.is_open:
            self.read()
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.read_to_end()
        os.close(self.fd)
