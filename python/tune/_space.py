"""A space file's parts as Python calls. Each gives what would stand in the file; the engine alone
checks them, so that a mistake is told in one place and in the same words.

Thread rule: pure functions.
"""

from __future__ import annotations

from math import isfinite
from types import FunctionType
from typing import AbstractSet, Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union, ValuesView

Number = Union[int, float]
When = Optional[Mapping[str, Any]]

# Of other things to iterate over, such as a table of pandas, nobody knows what they would give.
_LISTS = (Sequence, AbstractSet, ValuesView, Iterator)
_TEXTS = (str, bytes, bytearray, memoryview)
_READ_MAX = 60  # Characters of what was read, in an error.


class Domain(Dict[str, Any]):
    """What a parameter may be, as a space file has it: {"uniform": [0, 1]}, {"loguniform": [1e-5, 0.1], "guess": 3e-4}."""


def uniform(low: Number, high: Number, *, when: When = None, guess: Any = None) -> Domain:
    """A float from [low, high), every value as likely."""
    return _domain("uniform", [low, high], when, guess)


def quniform(low: Number, high: Number, q: Number, *, when: When = None, guess: Any = None) -> Domain:
    """A multiple of `q` from low to high, both ends too, each as likely."""
    return _domain("quniform", [low, high, q], when, guess)


def loguniform(low: Number, high: Number, *, when: When = None, guess: Any = None) -> Domain:
    """A float from [low, high), every order of magnitude as likely; low above 0."""
    return _domain("loguniform", [low, high], when, guess)


def qloguniform(low: Number, high: Number, q: Number, *, when: When = None, guess: Any = None) -> Domain:
    """A multiple of `q` from low to high, as likely as its cell on the scale of logarithms."""
    return _domain("qloguniform", [low, high, q], when, guess)


def randint(low: int, high: int, *, when: When = None, guess: Any = None) -> Domain:
    """An integer from low to high - 1, each as likely."""
    return _domain("randint", [low, high], when, guess)


def qrandint(low: int, high: int, q: int, *, when: When = None, guess: Any = None) -> Domain:
    """A multiple of `q` from low to high, both ends too, each as likely."""
    return _domain("qrandint", [low, high, q], when, guess)


def lograndint(low: int, high: int, *, when: When = None, guess: Any = None) -> Domain:
    """An integer from low to high - 1, every order of magnitude as likely; low from 1."""
    return _domain("lograndint", [low, high], when, guess)


def qlograndint(low: int, high: int, q: int, *, when: When = None, guess: Any = None) -> Domain:
    """A multiple of `q` from low to high, as likely as its cell on the scale of logarithms."""
    return _domain("qlograndint", [low, high, q], when, guess)


def randn(mean: Number = 0.0, sd: Number = 1.0, *, when: When = None, guess: Any = None) -> Domain:
    """A float of the normal distribution."""
    return _domain("randn", [mean, sd], when, guess)


def qrandn(mean: Number, sd: Number, q: Number, *, when: When = None, guess: Any = None) -> Domain:
    """A multiple of `q`, as likely as its cell under the normal distribution."""
    return _domain("qrandn", [mean, sd, q], when, guess)


def choice(
    *options: Any, weights: Optional[Sequence[Number]] = None, when: When = None, guess: Any = None
) -> Domain:
    """One of the options, `choice(16, 64)` or `choice([16, 64])`; with weights as likely as those say."""
    domain = _domain("choice", _options(options), when, guess)
    if weights is not None:
        domain["weights"] = plain(_as_list(weights), "weights")
    return domain


def ordinal(*options: Any, when: When = None, guess: Any = None) -> Domain:
    """One of the options, which have an order: neighbours are alike."""
    return _domain("ordinal", _options(options), when, guess)


def grid_search(*options: Any, when: When = None) -> Domain:
    """Every one of the options; the cross product with other grids is run `samples` times."""
    return _domain("grid_search", _options(options), when)


def const(value: Any, *, when: When = None) -> Domain:
    """This value; a plain number, text or truth value in a space is one, too."""
    return _domain("const", value, when)


def _domain(name: str, value: Any, when: When, guess: Any = None) -> Domain:
    """`guess`: one of the domain's values, near which the best one is believed to be."""
    domain = Domain({name: plain(value, name)})
    if when is not None:
        domain["when"] = plain(when, "when")
    if guess is not None:
        domain["guess"] = plain(guess, "guess")
    return domain


def _options(given: Tuple[Any, ...]) -> Sequence[Any]:
    """What stands in the one list, array, set or other sequence that is given, or the values themselves."""
    options = _as_list(given[0]) if len(given) == 1 else list(given)
    return options if isinstance(options, list) else [options]


def _as_list(value: Any) -> Any:
    """A list of what stands in a list, array, set or other sequence; any other value as it is."""
    value = _without_arrays(value)
    if isinstance(value, (set, frozenset)):  # Of texts each process has another order.
        return sorted(value, key=_place_in_set)
    return list(value) if isinstance(value, _LISTS) and not isinstance(value, _TEXTS) else value


def _place_in_set(value: Any) -> Tuple[int, Any]:
    """Numbers first, texts next."""
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, repr(value))


def _without_arrays(value: Any) -> Any:
    """An array of NumPy, PyTorch or pandas as a list, and one of their scalars as a number; a class of them is neither."""
    if isinstance(value, (type, memoryview)) or not callable(getattr(value, "tolist", None)):
        return value
    return value.tolist()


def plain(value: Any, place: str = "") -> Any:
    """The value as JSON has it: arrays as lists, their scalars as numbers, tuples as lists, names as texts.

    TypeError: it is none of these; the text says which, and that it stands at `place`, "space.lr". ValueError: it is not finite.
    """
    value = _without_arrays(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner, f"{place}.{name}" if place else str(name)) for name, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(inner, place) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(
            (f"{place}: " if place else "") + f"read {value}, expected a finite number; give a text, and let the objective make {value} of it"
        )
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    read = f"the function {value.__name__}" if isinstance(value, FunctionType) else _on_one_line(repr(value))
    raise TypeError(
        (f"{place}: " if place else "")
        + f"read {read} ({type(value).__name__}), expected numbers, texts, truth values, or lists"
        " and maps of them; give its name, and let the objective look it up"
    )


def _on_one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _READ_MAX else text[:_READ_MAX] + "..."


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
