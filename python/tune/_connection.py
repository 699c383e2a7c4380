"""The socket to the process that runs this trial: a line there, a line back.

Thread rule: one thread at a time. Errors: ConnectionError, in one line, when nobody is there.
"""

from __future__ import annotations

import socket

ANSWER_BYTES_MAX = 1 << 20


class Connection:
    def __init__(self, name: str) -> None:
        """`name`: a path, or '@' and a name in Linux's abstract namespace."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect("\0" + name[1:] if name.startswith("@") else name)
        except OSError as error:
            self._socket.close()
            raise _gone(f"TUNE_SOCKET {name}: {error.strerror or error}") from error

    def exchange(self, line: bytes, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        """Sends a line, waits for one, of `bytes_max`. After any error the connection is of no more use."""
        try:
            self._socket.sendall(line)
            answer = bytearray()
            while not answer.endswith(b"\n"):
                part = self._socket.recv(65536)
                if not part:
                    raise _gone("the connection was closed")
                answer += part
                if len(answer) > bytes_max:
                    raise _gone(f"an answer of more than {bytes_max} bytes")
        except (BrokenPipeError, ConnectionResetError) as error:
            raise _gone("the connection was closed") from error
        return bytes(answer)

    def close(self) -> None:
        """Only this process's hold on it: a parent or child that shares it keeps its own."""
        self._socket.close()

    def __del__(self) -> None:
        # At the program's end, too, in silence: Python warns of sockets that nobody closed.
        self._socket.close()


def _gone(cause: str) -> ConnectionError:
    return ConnectionError(f"the process that runs this trial is gone ({cause})")
