"""What a person sees of a sweep that runs from Python: the program's own lines in a terminal, a table
that is drawn anew in a notebook.

Thread rule: one thread an object; it starts one of its own that reads the program's lines.
"""

from __future__ import annotations

import html
import io
import math
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

from ._program import TuneError

if TYPE_CHECKING:
    from ._sweep import Sweep

_PAUSE_S = 1.0
_SHOWN = 10


class Display:
    """In a terminal: the program writes there itself."""

    stderr: Optional[int] = None

    @staticmethod
    def choose() -> "Display":
        if _notebook() is not None:
            return NotebookDisplay()
        try:
            sys.stderr.fileno()
        except (AttributeError, OSError, io.UnsupportedOperation):
            return TextDisplay()
        return Display() if sys.stderr.isatty() else TextDisplay()

    def follow(self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"]) -> None:
        """Until the process has ended, as far as there is something to do."""

    def finish(
        self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"], summary: str
    ) -> None:
        """The process has ended, with these words."""
        sys.stderr.write(summary)

    def last_line(self) -> str:
        """The last that the program said, where that is known."""
        return ""


class TextDisplay(Display):
    """Where standard error is no terminal: its lines are written one by one, and the last is known to an exception."""

    stderr = subprocess.PIPE

    def __init__(self) -> None:
        self._lines: List[str] = []
        self._reader: Optional[threading.Thread] = None

    def follow(self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"]) -> None:
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
            self._reader.start()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self._lines.append(line.rstrip("\n"))
            self._write(line)

    def _write(self, line: str) -> None:
        sys.stderr.write(line)

    def finish(
        self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"], summary: str
    ) -> None:
        self._end_reading(process)
        sys.stderr.write(summary)

    def _end_reading(self, process: "subprocess.Popen[str]") -> None:
        TextDisplay.follow(self, process, None)
        assert self._reader is not None and process.stderr is not None
        self._reader.join(10)
        process.stderr.close()

    def last_line(self) -> str:
        return self._lines[-1].removeprefix("tune: ") if self._lines else ""


class NotebookDisplay(TextDisplay):
    """A table below the cell, drawn anew each second; warnings and the summary beneath it."""

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None

    def _write(self, line: str) -> None:
        pass  # In the table.

    def follow(self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"]) -> None:
        super().follow(process, sweep)
        while True:
            try:
                process.wait(_PAUSE_S)
                return
            except subprocess.TimeoutExpired:
                table = _table_of(sweep)
                if table:
                    self._show(table)

    def finish(
        self, process: "subprocess.Popen[str]", sweep: Optional["Sweep"], summary: str
    ) -> None:
        self._end_reading(process)
        lines = [line for line in self._lines if not line.startswith("trial ")]
        told = f"<pre>{html.escape(chr(10).join([*lines, summary]))}</pre>"
        self._show(_table_of(sweep) + told)

    def _show(self, text: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        if self._handle is None:
            self._handle = display(HTML(text), display_id=True)
        else:
            self._handle.update(HTML(text))


def _table_of(sweep: Optional["Sweep"]) -> str:
    """Empty where it cannot be had: a head that is away for a moment comes back, and the sweep goes on."""
    try:
        return sweep._repr_html_() if sweep is not None else ""
    except (TuneError, OSError):
        return ""


def _notebook() -> Any:
    """IPython's shell where a notebook shows what it displays."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


# ---- pictures


def table_as_html(status: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """How a sweep stands, and its best trials."""
    done = status["terminated"] + status["error"]
    total = status["trials_max"] or "?"  # None: no end.
    head = (
        f"<b>{html.escape(status['name'])}</b> {status['status']}, {done} of {total} {'trial' if total == 1 else 'trials'} ended, "
        f"{status['running']} running, {status['error']} failed"
    )
    doubts = "".join(f"<div>&#9888; {html.escape(str(doubt))}</div>" for doubt in status.get("doubts", []))
    hidden = ("stop_reason", "best_iteration", "last_value", "attempts", "run_seconds")
    names = [name for name in (rows[0] if rows else {}) if name not in hidden]
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_shown(row.get(name)))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<div>{head}</div>{doubts}<table><tr>{cells}</tr>{body}</table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 360, 70, 40, 28


def curves_as_svg(reports: Sequence[Mapping[str, Any]], status: Mapping[str, Any]) -> str:
    """A line for each trial, the metric over iterations; the best one is drawn strong."""
    curves: Dict[int, List[Any]] = {}
    for report in reports:
        if report["value"] is not None and math.isfinite(report["value"]):
            curves.setdefault(report["trial"], []).append((report["iteration"], report["value"]))
    points = [point for curve in curves.values() for point in curve]
    title = html.escape(f"{status['name']}: {status['metric']} by iteration")
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="{title}">'
        f'<rect width="100%" height="100%" fill="white"/><text x="{_LEFT}" y="18">{title}</text>'
    )
    if not points:
        return begin + f'<text x="{_LEFT}" y="60">no values yet</text></svg>'
    last = max(2, max(iteration for iteration, _ in points))
    low, high = min(value for _, value in points), max(value for _, value in points)
    if low == high:
        low, high = low - 0.5, high + 0.5

    def x(iteration: float) -> float:
        return _LEFT + (iteration - 1) / (last - 1) * (_WIDTH - _LEFT - 15)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    best = status.get("best_trial")
    parts = [begin]
    for value in (low, (low + high) / 2, high):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 15}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        )
    for iteration in (1, last):
        parts.append(
            f'<text x="{x(iteration):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{iteration}</text>'
        )
    for number, curve in sorted(curves.items(), key=lambda one: one[0] == best):
        path = " ".join(f"{x(iteration):.1f},{y(value):.1f}" for iteration, value in curve)
        width = 3 if number == best else 1.2
        colour = _COLOURS[number % len(_COLOURS)]
        label = f"<title>trial {number}</title>"
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}">{label}</polyline>'
        )
        if len(curve) == 1:
            iteration, value = curve[0]
            parts.append(
                f'<circle cx="{x(iteration):.1f}" cy="{y(value):.1f}" r="{width + 1}" fill="{colour}">{label}</circle>'
            )
    return "".join(parts) + "</svg>"
