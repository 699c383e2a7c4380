"""A Python function as what a sweep trains: kept in a file, and run by a trial's program.

The file lies in the sweep's working folder, under a name made of its content, so that a resume and
workers of other machines run the same function:

    <folder>/.tune/<16 digits>.objective

It holds a line of JSON ({"how": "pickle", "sys_path": [...], ...}) and the function: pickled by
cloudpickle where that is there, else where it can be imported from, else its source.

Thread rule: any thread.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib
import inspect
import json
import os
import pickle
import runpy
import sys
import textwrap
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ._kept_file import keep

_MAIN = "__tune_main__"  # What a script that holds the function is named in a trial.
_GUARD = 'write it under  if __name__ == "__main__":  or pip install cloudpickle'
_is_loading = False  # This process is a trial that imports what holds its function.


class ObjectiveError(TypeError):
    """This function cannot be run in other processes; the text says why and what helps."""


def store(objective: Callable[..., Any], folder: Path, *, elsewhere: bool = False) -> Path:
    """Writes the function below `folder`, if it is not there yet.

    What lies in the folder is named from there: it goes with it. `elsewhere`: only the folder does, to
    machines where the same paths may hold something else.
    """
    if not callable(objective):
        raise ObjectiveError(f"objective: read {objective!r}, expected a function")
    head, body = _encode(objective)
    paths = [_within(folder, path) for path in sys.path if path and os.path.isdir(path)]
    head["sys_path"] = [path for path in paths if not (elsewhere and os.path.isabs(path))]
    if "script" in head:
        head["script"] = _within(folder, head["script"])
        if elsewhere and os.path.isabs(head["script"]):
            raise ObjectiveError(
                f"objective: {head['script']} is not in the folder that is sent, {folder}: name its"
                " folder with folder=, or pip install cloudpickle"
            )
    content = json.dumps(head, sort_keys=True).encode() + b"\n" + body
    path = folder / ".tune" / (hashlib.sha256(content).hexdigest()[:16] + ".objective")
    return keep(path, lambda part: part.write_bytes(content))


def load(path: Path) -> Callable[..., Any]:
    """What `store` wrote. Any error of the modules that it imports; ObjectiveError: they begin a sweep."""
    global _is_loading
    _is_loading = True
    try:
        return _load(path)
    finally:
        _is_loading = False


def stand_for_main(objective: Callable[..., Any]) -> Dict[str, Any]:
    """What the function's script or notebook defines, which pickle finds by name from here on; empty: nothing."""
    around = getattr(objective, "__globals__", {})
    name = around.get("__name__")
    if name not in ("__main__", _MAIN):
        return {}
    names = {one: value for one, value in around.items() if not one.startswith("__")}
    module = types.ModuleType(name)
    vars(module).update(names)
    # By this a process that is not forked finds the program that it belongs to.
    module.__spec__ = sys.modules["__main__"].__spec__
    sys.modules[name] = module
    return names


def main_again(file: str) -> Dict[str, Any]:
    """The same, in a process of multiprocessing that the objective starts and that is not forked.

    Where the function cannot be had, the process does without: it may need nothing of it.
    """
    try:
        return stand_for_main(load(Path(file)))
    except Exception:
        return {}


def check_begins(call: str) -> None:
    """ObjectiveError: `call`, which begins a sweep, is made by a trial that imports its function's file."""
    if _is_loading:
        raise ObjectiveError(f"objective: {call} runs in each trial, too, which imports this file: {_GUARD}")


def _load(path: Path) -> Callable[..., Any]:
    line, body = path.read_bytes().split(b"\n", 1)
    head = json.loads(line)
    folder = path.resolve().parent.parent
    known = [str(folder / entry) for entry in head["sys_path"]]  # An absolute one stays what it is.
    sys.path += [entry for entry in known if entry not in sys.path]
    if head["how"] == "pickle":
        if head.get("python", _version()) != _version():
            raise ObjectiveError(
                f"objective: it came from Python {head['python']} and holds code of that version alone, and {sys.executable}"
                f" is Python {_version()}: name one of that version here (head.run(..., python=\"python{head['python']}\"))"
            )
        return pickle.loads(body)  # type: ignore[no-any-return]
    if head["how"] == "source":
        names: Dict[str, Any] = {"__name__": _MAIN}
        exec(compile(body, head["name"], "exec"), names)
        return names[head["name"]]  # type: ignore[no-any-return]
    if head["how"] == "script":
        return _inner(runpy.run_path(str(folder / head["script"]), run_name=_MAIN), head["name"])
    return _inner(vars(importlib.import_module(head["module"])), head["name"])


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _within(folder: Path, path: str) -> str:
    """Relative to the folder, if it is in it; as it is, otherwise."""
    try:
        return str(Path(path).resolve().relative_to(folder.resolve()))
    except ValueError:
        return path


def _cloudpickle() -> Any:
    """The package, or joblib's copy of it, which scikit-learn brings; None: there is neither."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


def _inner(names: Dict[str, Any], qualified: str) -> Any:
    first, *rest = qualified.split(".")
    found = names[first]
    for name in rest:
        found = getattr(found, name)
    return found


def _encode(objective: Callable[..., Any]) -> Tuple[Dict[str, Any], bytes]:
    cloudpickle = _cloudpickle()
    if cloudpickle is not None:
        try:
            body = cloudpickle.dumps(objective)
            # Code of Python is of one version of it; an importable function goes by its name.
            head = {"how": "pickle", "python": _version()} if b"CodeType" in body else {"how": "pickle"}
            return head, body
        except Exception as error:
            raise ObjectiveError(
                f"objective: it cannot be pickled ({type(error).__name__}: {error}); open files,"
                " locks and connections belong inside of it"
            ) from error
    name = getattr(objective, "__qualname__", "")
    module = getattr(objective, "__module__", None)
    if not name or "<" in name or module is None:
        raise ObjectiveError(
            f"objective: {objective!r} has no name that another process could find it by; define it"
            " with def at the top of a file, or pip install cloudpickle"
        )
    if module != "__main__":
        return {"how": "import", "module": module, "name": name}, b""
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is not None:
        _check_guard(Path(script))
        return {"how": "script", "script": os.path.abspath(script), "name": name}, b""
    return {"how": "source", "name": name}, _source(objective).encode()


_CODE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.For, ast.While, ast.With, ast.Try)


def _check_guard(script: Path) -> None:
    """A script that begins a sweep wherever it is imported would begin one in each trial.

    What is not seen here, such as a call within `main()`, the first trial says (`check_begins`).
    """
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for statement in tree.body:
        is_code = isinstance(statement, _CODE)
        for node in ast.walk(statement) if is_code else ():
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in ("tune.run", "tune.resume"):
                raise ObjectiveError(
                    f"{script.name}:{node.lineno}: {called} would run in each trial, too, which"
                    f" imports this file: {_GUARD}"
                )


# ---- by source, for notebooks without cloudpickle

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")  # The last one from Python 3.12.


def _source(objective: Callable[..., Any]) -> str:
    """Its definition and those of what it uses."""
    lines: List[str] = []
    _add(objective.__name__, objective, lines, set())
    return "\n".join(lines) + "\n"


def _add(name: str, value: Any, lines: List[str], done: Set[str]) -> None:
    if name in done:
        return
    done.add(name)
    if isinstance(value, types.ModuleType):
        lines.append(f"import {value.__name__} as {name}")
    elif isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
        _add_definition(name, value, lines, done)
    elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)) and value.__module__:
        lines.append(f"from {value.__module__} import {value.__name__} as {name}")
    elif _is_literal(value):
        lines.append(f"{name} = {value!r}")
    else:
        raise ObjectiveError(
            f"objective: it uses {name}, a {type(value).__name__}, which another process does not"
            " have; make it inside of the function, or pip install cloudpickle"
        )


def _add_definition(name: str, value: Any, lines: List[str], done: Set[str]) -> None:
    own = value.__name__
    if own != name and vars(sys.modules["__main__"]).get(own) is value:
        _add(own, value, lines, done)
        lines.append(f"{name} = {own}")
        return
    text = _text_of(name, value)
    try:
        code = compile(text, name, "exec")
    except SyntaxError:
        code = None
    if code is None or not {name, own} & set(code.co_names):
        raise ObjectiveError(
            f"objective: the source of {name} does not define it; define it with def, or pip install cloudpickle"
        )
    for used, what in _globals_of(code):
        _add(used, what, lines, done)
    lines.append(text)
    if name not in code.co_names:
        lines.append(f"{name} = {own}")


def _text_of(name: str, value: Any) -> str:
    if getattr(value, "__closure__", None):
        raise ObjectiveError(
            f"objective: {name} uses variables of the function around it; hand them over as"
            " parameters, or pip install cloudpickle"
        )
    try:
        return textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError) as error:
        raise ObjectiveError(
            f"objective: the source of {name} is not there; define it in a file, or pip install"
            " cloudpickle"
        ) from error


def _globals_of(code: types.CodeType) -> List[Tuple[str, Any]]:
    """What a definition uses when it is made (decorators, defaults, bases) and when it is called."""
    names: Set[str] = set()
    _collect(code, names)
    around = vars(sys.modules["__main__"])
    return [(name, around[name]) for name in sorted(names) if name in around and not name.startswith("__")]


def _collect(code: types.CodeType, names: Set[str]) -> None:
    """Without those of attributes."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOADS:
            names.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _collect(constant, names)


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return False


def name_of(objective: Any) -> Optional[str]:
    """For a sweep's name: "objective" of a function of that name."""
    name = getattr(objective, "__name__", "")
    return name if name.isidentifier() else None
