"""What the benchmarks here ask of a machine with a GPU."""
import contextlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile


def _program(name):
    return shutil.which(name) or f"/usr/local/nvidia/bin/{name}"


def device():
    """Name, compute capability ("9.0") and driver of the first GPU, or None."""
    query = [_program("nvidia-smi"), "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0 or not answer.stdout.strip():
        return None
    return [field.strip() for field in answer.stdout.splitlines()[0].split(",")]


def environment():
    """Where CUDA's libraries come with Python packages alone, their folders are told to the loader."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations if spec else []):
        for library in ("libcublas.so.*", "libnccl.so.*"):
            folders += sorted(str(path.parent) for path in pathlib.Path(root).rglob(library))
    known = os.environ.get("LD_LIBRARY_PATH", "")
    return os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, [known] + folders))}


@contextlib.contextmanager
def mps_daemon():
    """The variables of a program that shall be MPS's client; None where its daemon does not start."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for path in variables.values():
            os.mkdir(path)
        control = _program("nvidia-cuda-mps-control")
        try:
            started = subprocess.run([control, "-d"], env=os.environ | variables, capture_output=True, timeout=60)
            runs = started.returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            runs = False
        try:
            yield variables if runs else None
        finally:
            if runs:
                subprocess.run([control], input="quit\n", text=True, env=os.environ | variables, capture_output=True,
                               check=False)
