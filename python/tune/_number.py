"""What may be reported as a metric.

Thread rule: pure functions.
"""

from __future__ import annotations

import math
from typing import Union


def as_number(name: str, value: object) -> float:
    """The metric's value; NaN for None. Raises TypeError or ValueError naming `name`."""
    if value is None:
        return math.nan
    # NumPy's and PyTorch's scalars, and arrays of one element, give a plain value by item().
    plain = value
    if not isinstance(value, (int, float)) and callable(getattr(value, "item", None)):
        try:
            plain = value.item()  # type: ignore[attr-defined]
        except Exception as error:
            read = shown(value)
            raise TypeError(f"{name}: read {read}, expected one number ({error})") from error
    # Truth is an int to Python: a comparison reported by mistake would count as 0 or 1.
    if isinstance(plain, (bool, str, bytes)) or not hasattr(plain, "__float__"):
        raise TypeError(f"{name}: read {shown(value)}, expected a number")
    try:
        return float(plain)
    except OverflowError as error:
        raise ValueError(f"{name}: read {shown(value)}, expected a number ({error})") from error
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: read {shown(value)}, expected a number ({error})") from error


def on_the_wire(number: float) -> Union[float, str]:
    """JSON has no word for what is not finite."""
    if math.isfinite(number):
        return number
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def shown(value: object) -> str:
    """What was read, in a few words on one line."""
    if isinstance(value, (bool, str, bytes)):
        text = repr(value)
        return text if len(text) <= 40 else text[:40] + "..."
    return "a value of type " + type(value).__name__
