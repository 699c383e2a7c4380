"""A space file's parts as Python calls. Each gives what would stand in the file; the engine alone
checks them, so that a mistake is told in one place and in the same words.

Thread rule: pure functions.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

Number = Union[int, float]
When = Optional[Mapping[str, Any]]


class Domain(Dict[str, Any]):
    """What a parameter may be, as a space file has it: {"uniform": [0, 1]}."""


def uniform(low: Number, high: Number, *, when: When = None) -> Domain:
    """A float from [low, high), every value as likely."""
    return _domain("uniform", [low, high], when)


def quniform(low: Number, high: Number, q: Number, *, when: When = None) -> Domain:
    """A multiple of `q` from low to high, both ends too, each as likely."""
    return _domain("quniform", [low, high, q], when)


def loguniform(low: Number, high: Number, *, when: When = None) -> Domain:
    """A float from [low, high), every order of magnitude as likely; low above 0."""
    return _domain("loguniform", [low, high], when)


def qloguniform(low: Number, high: Number, q: Number, *, when: When = None) -> Domain:
    """A multiple of `q` from low to high, as likely as its cell on the scale of logarithms."""
    return _domain("qloguniform", [low, high, q], when)


def randint(low: int, high: int, *, when: When = None) -> Domain:
    """An integer from low to high - 1, each as likely."""
    return _domain("randint", [low, high], when)


def qrandint(low: int, high: int, q: int, *, when: When = None) -> Domain:
    """A multiple of `q` from low to high, both ends too, each as likely."""
    return _domain("qrandint", [low, high, q], when)


def lograndint(low: int, high: int, *, when: When = None) -> Domain:
    """An integer from low to high - 1, every order of magnitude as likely; low from 1."""
    return _domain("lograndint", [low, high], when)


def qlograndint(low: int, high: int, q: int, *, when: When = None) -> Domain:
    """A multiple of `q` from low to high, as likely as its cell on the scale of logarithms."""
    return _domain("qlograndint", [low, high, q], when)


def randn(mean: Number = 0.0, sd: Number = 1.0, *, when: When = None) -> Domain:
    """A float of the normal distribution."""
    return _domain("randn", [mean, sd], when)


def qrandn(mean: Number, sd: Number, q: Number, *, when: When = None) -> Domain:
    """A multiple of `q`, as likely as its cell under the normal distribution."""
    return _domain("qrandn", [mean, sd, q], when)


def choice(
    *options: Any, weights: Optional[Sequence[Number]] = None, when: When = None
) -> Domain:
    """One of the options, `choice(16, 64)` or `choice([16, 64])`; with weights as likely as those say."""
    domain = _domain("choice", _options(options), when)
    if weights is not None:
        domain["weights"] = plain(list(_without_arrays(weights)), "weights")
    return domain


def ordinal(*options: Any, when: When = None) -> Domain:
    """One of the options, which have an order: neighbours are alike."""
    return _domain("ordinal", _options(options), when)


def grid_search(*options: Any, when: When = None) -> Domain:
    """Every one of the options; the cross product with other grids is run `samples` times."""
    return _domain("grid_search", _options(options), when)


def const(value: Any, *, when: When = None) -> Domain:
    """This value; a plain number, text or truth value in a space is one, too."""
    return _domain("const", value, when)


def _domain(name: str, value: Any, when: When) -> Domain:
    domain = Domain({name: plain(value, name)})
    if when is not None:
        domain["when"] = plain(when, "when")
    return domain


def _options(given: Tuple[Any, ...]) -> Sequence[Any]:
    """What stands in the one list, array, set or other sequence that is given, or the values themselves."""
    if len(given) != 1:
        return list(given)
    only = _without_arrays(given[0])
    is_list = isinstance(only, Iterable) and not isinstance(only, (str, bytes, Mapping))
    return list(only) if is_list else [only]


def _without_arrays(value: Any) -> Any:
    """An array of NumPy, PyTorch or pandas as a list, and one of their scalars as a number."""
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def plain(value: Any, place: str = "") -> Any:
    """The value as JSON has it: arrays as lists, their scalars as numbers, tuples as lists, names as texts.

    TypeError: it is none of these; the text says which, and that it stands at `place`, "space.lr".
    """
    value = _without_arrays(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner, f"{place}.{name}" if place else str(name)) for name, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(inner, place) for inner in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    read = f"the function {value.__name__}" if isinstance(value, FunctionType) else repr(value)
    raise TypeError(
        (f"{place}: " if place else "")
        + f"read {read} ({type(value).__name__}), expected numbers, texts, truth values, or lists"
        " and maps of them; give its name, and let the objective look it up"
    )


def _scheduler(name: str) -> Any:
    def scheduler(**options: Any) -> Dict[str, Any]:
        return {name: plain(options, name)}

    scheduler.__name__ = scheduler.__qualname__ = name
    scheduler.__doc__ = (
        f"The scheduler `{name}`; its options are those of a space file (docs/SCHEDULERS.md)."
    )
    return scheduler


fifo = _scheduler("fifo")
asha = _scheduler("asha")
pasha = _scheduler("pasha")
hyperband = _scheduler("hyperband")
median_stopping = _scheduler("median_stopping")
percentile = _scheduler("percentile")
threshold = _scheduler("threshold")
patience = _scheduler("patience")
pbt = _scheduler("pbt")
