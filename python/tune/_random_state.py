"""The state of all random numbers of a process that trains, for its checkpoints: Python's, NumPy's, PyTorch's.

It consists of what torch.load takes with weights_only: tensors, numbers, texts, tuples and lists.

Thread rule: one thread.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from typing import Any, Dict


def get() -> Dict[str, Any]:
    """Of the libraries that the program has loaded."""
    state: Dict[str, Any] = {"python": random.getstate()}
    if "numpy" in sys.modules:
        algorithm, keys, *rest = sys.modules["numpy"].random.get_state()
        state["numpy"] = (algorithm, keys.tolist(), *rest)
    if "torch" not in sys.modules:
        return state
    torch = sys.modules["torch"]
    state["torch"] = torch.get_rng_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set(state: Dict[str, Any]) -> None:
    version, keys, gauss = state["python"]
    random.setstate((version, tuple(keys), gauss))
    if "numpy" in state:
        importlib.import_module("numpy").random.set_state(state["numpy"])
    if "torch" not in state:
        return
    torch = importlib.import_module("torch")
    torch.set_rng_state(state["torch"].cpu())
    # A checkpoint may be read where there are other devices, or none.
    if torch.cuda.is_available() and len(state.get("cuda", ())) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([device.cpu() for device in state["cuda"]])


def pack() -> bytes:
    """The state as text, for checkpoints that are not PyTorch's."""
    state = get()
    for name in ("torch", "cuda"):
        if name in state:
            state[name] = [t.tolist() for t in state[name]] if name == "cuda" else state[name].tolist()
    return json.dumps(state).encode("ascii")


def unpack(packed: bytes) -> None:
    """Sets what `pack` gave."""
    state = json.loads(packed)
    if "torch" in state:
        torch = importlib.import_module("torch")
        state["torch"] = torch.tensor(state["torch"], dtype=torch.uint8)
        state["cuda"] = [torch.tensor(t, dtype=torch.uint8) for t in state.get("cuda", ())]
    set(state)
