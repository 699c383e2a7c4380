"""A port for a server of a test whose number must be known beforehand; tests/e2e/free_ports.h says why from this range."""

import os
import socket

FIRST_PORT = 20000
PORTS = 12768
# This process's until it ends.
_claims = []


def free_port():
    for i in range(PORTS):
        port = FIRST_PORT + (os.getpid() % PORTS * 31 + i) % PORTS
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0tune-test-port-{port}")
            with socket.socket() as server:
                server.bind(("", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
    raise OSError("no port is free")
