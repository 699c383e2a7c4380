"""The state of all random numbers of a process that trains with PyTorch, for its checkpoints.

It consists of what torch.load takes with weights_only: tensors, numbers, texts, tuples and lists.

Thread rule: one thread.
"""

from __future__ import annotations

import importlib
import random
import sys
from typing import Any, Dict


def get() -> Dict[str, Any]:
    torch = importlib.import_module("torch")
    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        algorithm, keys, *rest = sys.modules["numpy"].random.get_state()
        state["numpy"] = (algorithm, keys.tolist(), *rest)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set(state: Dict[str, Any]) -> None:
    torch = importlib.import_module("torch")
    version, keys, gauss = state["python"]
    random.setstate((version, tuple(keys), gauss))
    torch.set_rng_state(state["torch"].cpu())
    if "numpy" in state:
        importlib.import_module("numpy").random.set_state(state["numpy"])
    # A checkpoint may be read where there are other devices, or none.
    if torch.cuda.is_available() and len(state.get("cuda", ())) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([device.cpu() for device in state["cuda"]])
