"""`Compare`: measurements side by side, as text and as a table in a notebook."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from workbench.utils.benchmark.compare_html import table_html
from workbench.utils.benchmark.measurement import UNIT_NAMES, Measurement, select_unit

__all__ = ["Compare"]

_COLOURS = {
    "best": "\033[92m\033[1m",
    "good": "\033[92m",
    "bad": "\033[2m\033[93m",
    "worst": "\033[2m\033[91m",
}
_END = "\033[0m"


class Compare:
    """A table of measurements: a row for each sub-label and environment, a column for each description.

    Rows are grouped by the number of threads; the title is the label. All times have one unit.

    >>> from workbench.utils.benchmark import Measurement, TaskSpec
    >>> def spec(rows, column): return TaskSpec("", label="add", sub_label=rows, description=column)
    >>> table = Compare([Measurement(1, [2e-6], spec("8", "ours")), Measurement(1, [4e-6], spec("8", "theirs"))])
    >>> table.print()
    [----------- add -----------]
                |  ours |  theirs
    1 threads: ------------------
          8     |   2.0 |     4.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = self._rowwise = False
        self._warn = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raises TypeError for anything else."""
        found = list(results)
        for one in found:
            if not isinstance(one, Measurement):
                raise TypeError(f"expected an instance of Measurement, got {type(one).__name__}")
        self._results.extend(found)

    def trim_significant_figures(self) -> None:
        """Show only the digits that the spread of the times lets one believe."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times from fast to slow, over the whole table or in each row."""
        self._colorize, self._rowwise = True, rowwise

    def highlight_warnings(self) -> None:
        """Mark times that deserve a doubt, with the size of it."""
        self._warn = True

    # ---------------------------------------------------------------------------------------- as text

    def _groups(self) -> list[tuple[str, list[Measurement]]]:
        merged = Measurement.merge(self._results)
        groups: dict[str, list[Measurement]] = {}
        for one in merged:
            groups.setdefault(one.task_spec.label or one.task_spec.stmt or "Unknown", []).append(one)
        return list(groups.items())

    def _cell(self, found: Measurement | None, length: float) -> str:
        if found is None:
            return ""
        value = found.median / length
        if self._trim:
            figures = found.significant_figures
            places = max(figures - 1 - math.floor(math.log10(value)), 0) if value else 0
            text = f"{value:.{places}f}"
        else:
            text = f"{value:.1f}" if value >= 0.05 or value == 0 else f"{value:.2g}"
        if self._warn and found.has_warnings:
            text += f" (! {found.iqr / found.median * 100:.0f}%)"
        return text

    def __str__(self) -> str:
        blocks = [self._text(title, group) for title, group in self._groups()]
        return "\n".join(blocks)

    def _layout(
        self, group: Sequence[Measurement]
    ) -> tuple[list[str], dict[int, dict[str, dict[str, Measurement]]]]:
        # By a dict, which keeps the order in which they came.
        columns = list(dict.fromkeys(one.task_spec.description or "" for one in group))
        threads: dict[int, dict[str, dict[str, Measurement]]] = {}
        for one in sorted(group, key=lambda one: one.task_spec.num_threads):
            name = one.as_row_name
            if one.task_spec.env:
                name = f"({one.task_spec.env})  {name}"
            row = threads.setdefault(one.task_spec.num_threads, {}).setdefault(name, {})
            row[one.task_spec.description or ""] = one
        return columns, threads

    def _text(self, title: str, group: Sequence[Measurement]) -> str:
        columns, threads = self._layout(group)
        unit, length = select_unit(min(one.median for one in group))
        cells = {
            (number, name, column): self._cell(row.get(column), length)
            for number, rows in threads.items()
            for name, row in rows.items()
            for column in columns
        }
        left = max(
            # Rows are indented by six.
            max(6 + len(name) for rows in threads.values() for name in rows),
            max(len(f"{number} threads: ") for number in threads),
        )
        left = max(left, 10)
        widths = [
            max([len(column), *(len(cells[key]) for key in cells if key[2] == column)]) for column in columns
        ]
        total = left + sum(width + 5 for width in widths) - 2
        lines = [f"[{f' {title} ':-^{max(total - 2, len(title) + 2)}}]"]
        lines.append(
            (
                " " * left
                + "".join(f" |  {column:^{width}}" for column, width in zip(columns, widths, strict=True))
            ).rstrip()
        )
        for number, rows in threads.items():
            head = f"{number} threads: "
            lines.append(head + "-" * (total - len(head)))
            for name, row in rows.items():
                values = list(itertools.chain.from_iterable(self._compared(threads, row)))
                parts = [
                    self._coloured(f"{cells[number, name, column]:>{width}}", row.get(column), values)
                    for column, width in zip(columns, widths, strict=True)
                ]
                lines.append(f"{'      ' + name:<{left}}" + "".join(f" |  {part}" for part in parts))
        lines += ["", f"Times are in {UNIT_NAMES[unit]} ({unit}).", ""]
        if self._warn and any(one.has_warnings for one in group):
            lines[-1:] = ["(! XX%) Measurement has high variance, where XX is the IQR / median * 100.", ""]
        return "\n".join(lines)

    def _compared(
        self, threads: dict[int, dict[str, dict[str, Measurement]]], row: dict[str, Measurement]
    ) -> Iterable[list[float]]:
        """Yield the times that a row's are coloured by."""
        rows = [row] if self._rowwise else [one for rows in threads.values() for one in rows.values()]
        for one in rows:
            yield [found.median for found in one.values()]

    def _coloured(self, text: str, found: Measurement | None, values: Sequence[float]) -> str:
        if not self._colorize or found is None:
            return text
        return _COLOURS[_grade(found.median, values)] + text + _END

    def print(self) -> None:
        """Print the tables."""
        print(self)

    # ---------------------------------------------------------------------------------- in a notebook

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        tables = []
        for title, group in self._groups():
            columns, threads = self._layout(group)
            grades = {}
            if self._colorize:
                for row in (row for rows in threads.values() for row in rows.values()):
                    values = list(itertools.chain.from_iterable(self._compared(threads, row)))
                    grades.update({id(found): _grade(found.median, values) for found in row.values()})
            tables.append(table_html(title, columns, threads, None if self._trim else 3, self._warn, grades))
        return "".join(tables)


def _grade(median: float, values: Sequence[float]) -> str:
    """Say how a time compares with the best and the worst of `values`."""
    best, worst = min(values), max(values)
    ratio = median / best
    if median <= best * 1.05:
        return "best"
    if median == worst and ratio > 2:
        return "worst"
    return "good" if ratio < 1.5 else "bad"
