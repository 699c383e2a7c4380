"""What runs a trial, as its program sees it: a real socket, a thread for each connection.

    with StandInRunner() as runner:
        ... Reporter(runner.environ) ...

Thread rule: the test's thread makes and closes it; `answer` is called in a connection's thread.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any, Callable, Dict, List, Optional, Union

# What the program said, and how many reports there were with this one -> the answer: a map, raw
# bytes, or None to hang up.
Answer = Callable[[Dict[str, Any], int], Union[Dict[str, Any], bytes, None]]


def go_on(message: Dict[str, Any], count: int) -> Dict[str, Any]:
    return {"answer": "continue", "iteration": message["report"].get("iteration", count)}


class StandInRunner:
    def __init__(self, answer: Answer = go_on, path: Optional[str] = None) -> None:
        """`path`: of the socket; None: a name that the system gives in the abstract namespace."""
        self._answer = answer
        self._lock = threading.Lock()
        self._count = 0
        self.connections: List[List[Dict[str, Any]]] = []  # What each has said.
        self._sockets: List[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path or "")
        self._listener.listen()
        name = path or "@" + self._listener.getsockname()[1:].decode()
        self.environ = {"TUNE_SOCKET": name, "TUNE_TRIAL": "7"}
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "StandInRunner":
        return self

    def __exit__(self, *_: object) -> None:
        # Wakes the threads that wait there; a connection may be closed already.
        for waited_for in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                waited_for.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def reports(self) -> List[Dict[str, Any]]:
        """All reports, in the order of their connections."""
        return [message["report"] for said in self.connections for message in said]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._sockets.append(connection)
                said: List[Dict[str, Any]] = []
                self.connections.append(said)
            threading.Thread(target=self._serve, args=(connection, said), daemon=True).start()

    def _serve(self, connection: socket.socket, said: List[Dict[str, Any]]) -> None:
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                with self._lock:
                    self._count += 1
                    count = self._count
                    said.append(message)
                answer = self._answer(message, count)
                if answer is None:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                if not isinstance(answer, bytes):
                    answer = json.dumps(answer).encode() + b"\n"
                try:
                    connection.sendall(answer)
                except OSError:
                    return  # The program did not wait for it.
