"""What the benchmarks here ask of a machine with a GPU, and how they run programs there that may fail or hang."""
import argparse
import contextlib
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM_FOLDERS = ["/usr/local/cuda/bin", "/usr/local/nvidia/bin"]
# Where containers have the driver's libraries. The loader does not always search there.
DRIVER_FOLDERS = ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"]


def program(name):
    """Where it is: on the PATH or in CUDA's folders; None where it is not."""
    return shutil.which(name) or shutil.which(name, path=":".join(PROGRAM_FOLDERS))


def device():
    """Name, compute capability ("9.0") and driver of the first GPU, or None."""
    query = [program("nvidia-smi") or "nvidia-smi", "--query-gpu=name,compute_cap,driver_version",
             "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0 or not answer.stdout.strip():
        return None
    return [field.strip() for field in answer.stdout.splitlines()[0].split(",")]


def _environment_with(folders):
    known = os.environ.get("LD_LIBRARY_PATH", "")
    there = [folder for folder in folders + DRIVER_FOLDERS if os.path.isdir(folder)]
    return os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, [known] + there))}


def environment():
    """Of our programs. Where CUDA's libraries come with Python packages alone, their folders are told to the loader."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations if spec else []):
        for library in ("libcublas.so.*", "libnccl.so.*"):
            folders += sorted(str(path.parent) for path in pathlib.Path(root).rglob(library))
    return _environment_with(folders)


def peer_environment():
    """Of the peer, which knows where its libraries are."""
    return _environment_with([])


def _version(path):
    """The first number with a dot that it says of itself."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    found = re.search(r"\d+(\.\d+)+", said.stdout)
    return found.group() if found else "?"


def _library(name):
    """Where our programs find a library: as the loader does, cuBLAS in CUDA's folder, too."""
    cached = []
    with contextlib.suppress(OSError):
        cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        cached = [line.split("=>")[-1].strip() for line in cache.splitlines() if line.strip().startswith(name + ".so")]
    folders = list(filter(None, environment()["LD_LIBRARY_PATH"].split(":")))
    there = lambda folders: [str(path) for folder in folders for path in sorted(pathlib.Path(folder).glob(name + ".so*"))]
    return next(iter(there(folders) + cached + there(["/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64"])), None)


def facts():
    """What there is to build and measure with: for a table's reader, and for who looks why a command failed."""
    told = [f"{os.cpu_count()} processors", f"Python {platform.python_version()}"]
    for name in ("g++", "nvcc", "cmake", "ninja", "ncu"):
        path = program(name)
        told.append(f"{name} {_version(path)} ({path})" if path else f"no {name}")
    places = {"nvidia-cuda-mps-control": program("nvidia-cuda-mps-control")}  # It would read commands, not tell its version.
    places |= {name: _library(name) for name in ("libcuda", "libcudart", "libcublas")}
    return told + [f"{name} ({path})" if path else f"no {name}" for name, path in places.items()]


def package_version(name):
    """Of a Python package, without the seconds that importing it takes; None where it is not."""
    if not importlib.util.find_spec(name):
        return None
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


class Failed(Exception):
    """Why something was not measured, in a line."""


class Programs:
    """Runs programs at once. Who waits for one longer than `seconds` after their begin gets Failed; those that still run when
    the block ends are killed."""

    def __init__(self, commands, variables, seconds):
        self._commands, self._variables, self._seconds = commands, variables, seconds

    def __enter__(self):
        self._end = time.monotonic() + self._seconds
        self._errors, self._processes = [], []
        try:
            for command in self._commands:
                # A file: nobody reads it until the program ends.
                self._errors.append(tempfile.TemporaryFile("w+", errors="replace"))
                self._processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                        stderr=self._errors[-1], text=True, env=self._variables))
        except OSError as error:
            self.__exit__()
            raise Failed(f"{command[0]} does not start: {error.strerror}") from error
        return self

    def __exit__(self, *_):
        for process in self._processes:
            if process.poll() is None:
                process.kill()
        for process, errors in zip(self._processes, self._errors):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)  # In the driver it may not even be killed.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            errors.close()

    def _fail(self, number, what):
        errors = self._errors[number]
        errors.seek(0)
        said = errors.read().strip()
        if said:
            print(said[-2000:], file=sys.stderr)
        which = f"{number + 1} of {len(self._commands)} " if len(self._commands) > 1 else ""
        name = " ".join(map(str, self._commands[number]))
        raise Failed(f"`{name}` {which}{what}" + (f": {said.splitlines()[-1]}" if said else ""))

    def _left(self):
        return max(0, self._end - time.monotonic())

    def hear(self, line):
        """Waits until each has said so, as its first line."""
        for number, process in enumerate(self._processes):
            if not select.select([process.stdout], [], [], self._left())[0]:
                self._fail(number, f"did not say {line!r} within {self._seconds:g} s")
            said = process.stdout.readline()
            if said != line + "\n":
                self._fail(number, f"said {said!r}, expected {line!r}" if said else f"ended before it said {line!r}")

    def tell(self, line):
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError):  # What it ended with is asked later.
                process.stdin.write(line + "\n")
                process.stdin.flush()

    def answers(self):
        """What each prints until its end; their inputs end."""
        answers = []
        for number, process in enumerate(self._processes):
            try:
                answers.append(process.communicate(timeout=self._left())[0])
            except subprocess.TimeoutExpired:
                self._fail(number, f"was not done within {self._seconds:g} s")
            if process.returncode != 0:
                self._fail(number, f"ended with {process.returncode}")
        return answers


@contextlib.contextmanager
def mps_daemon():
    """The variables of a program that shall be MPS's client; None where its daemon does not start."""
    # The daemon may still write there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        variables = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for path in variables.values():
            os.mkdir(path)

        def control(*arguments, **options):
            # Not to a pipe of ours: the daemon inherits it and never closes it.
            with open(f"{folder}/said", "w+") as said:
                try:
                    ended = subprocess.run([program("nvidia-cuda-mps-control") or "nvidia-cuda-mps-control", *arguments],
                                           env=peer_environment() | variables, stdout=said, stderr=said, timeout=60,
                                           **options).returncode
                except (OSError, subprocess.TimeoutExpired) as error:
                    ended = error
                said.seek(0)
                if ended != 0:
                    print(f"bench/gpu: MPS: {ended}: {said.read().strip()}", file=sys.stderr)
            return ended == 0

        runs = control("-d", stdin=subprocess.DEVNULL)
        try:
            yield variables if runs else None
        finally:
            if runs:
                control(input="quit\n", text=True)


def whole(low, high):
    """A number of an option, as argparse has it."""

    def read(text):
        if not re.fullmatch(r"\d+", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"read {text!r}, expected a whole number from {low} to {high}")
        return int(text)

    return read


def end_in_order():
    """Who is told to end, as by `timeout`, ends what it started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
