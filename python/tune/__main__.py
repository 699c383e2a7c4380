"""The program `tune` that came with this module: `python -m tune`, and the commands that pip installs."""

from __future__ import annotations

import os
import sys

from . import _program


def main() -> int:
    try:
        program = _program.find()
    except FileNotFoundError as error:
        print(f"tune: {error}", file=sys.stderr)
        return 127
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"tune: {program}: {error.strerror}", file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main())
