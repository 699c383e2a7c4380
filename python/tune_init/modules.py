"""The modules beside a script that it imports, and they in turn: options and prints often stand there."""

import ast
import os

MODULES_MAX = 12
BYTES_MAX = 200_000


def paths_of(name, folder):
    path = os.path.join(folder, *name.split("."))
    return [path + ".py", os.path.join(path, "__init__.py")]


def imported_by(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module
            prefix = node.module + "." if node.module else ""
            yield from (prefix + alias.name for alias in node.names)


def modules_beside(tree, script):
    """(path, tree, text), the nearest first."""
    folder, found, waiting = os.path.dirname(script), {}, [tree]
    while waiting and len(found) < MODULES_MAX:
        for name in imported_by(waiting.pop(0)):
            path = next((p for p in paths_of(name, folder) if os.path.isfile(p)), None)
            if path is None or path in found or os.path.realpath(path) == os.path.realpath(script):
                continue
            if os.path.getsize(path) > BYTES_MAX:
                continue
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                text = file.read()
            try:
                inner = ast.parse(text)
            except SyntaxError:
                continue
            found[path] = (inner, text)
            waiting.append(inner)
    return [(path, inner, text) for path, (inner, text) in found.items()][:MODULES_MAX]
