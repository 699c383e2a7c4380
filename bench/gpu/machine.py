"""What the benchmarks here ask of a machine with a GPU."""
import contextlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


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
