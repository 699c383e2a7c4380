"""A space file's map as YAML: maps as blocks, all else as JSON, which YAML reads.

Thread rule: pure functions.
"""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_LINE_MAX = 100


def as_yaml(document: Mapping[str, Any]) -> str:
    return "\n".join(_lines(document, 0)) + "\n"


def _lines(document: Mapping[str, Any], depth: int) -> List[str]:
    lines = []
    for name, value in document.items():
        label = "  " * depth + _text(name) + ":"
        flow = _flow(value)
        is_block = isinstance(value, Mapping) and value and (depth == 0 and name == "space" or len(flow) > _LINE_MAX)
        if is_block:
            lines += [label, *_lines(value, depth + 1)]
        else:
            lines.append(f"{label} {flow}")
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(name)}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _text(text: str) -> str:
    is_plain = _PLAIN.match(text) and text.lower() not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """With a point: YAML 1.1 reads 1e-05 as a text."""
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if mark and "." not in mantissa else text
