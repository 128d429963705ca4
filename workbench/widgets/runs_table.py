"""The table of a log's hyperparameters, with the figures that came of them."""

from __future__ import annotations

import math
from typing import Any

from workbench.live.messages import RunsColumn, RunsRow, RunsTable
from workbench.tensorboard import Log, Run
from workbench.widgets.runs_cards import cut

__all__ = ["table"]

MOST_COLUMNS = 60
MOST_ROWS = 400


def table(log: Log, found: list[Run]) -> RunsTable:
    """Return a row for each run among `found` that was told hyperparameters.

    Writers put them into a run of their own, in the folder of that which has the curves: the figures of both are
    columns, and both are the row's runs.
    """
    numbers = {run.name: number for number, run in enumerate(found)}
    told = [run for run in found if run.hyperparameters]
    rows = []
    for run in told:
        parent = log.runs.get(_folder(run.name))
        own = (
            [run] if parent is None or parent.hyperparameters or parent.name not in numbers else [run, parent]
        )
        figures = {
            tag: one.values[-1] for part in reversed(own) for tag, one in part.scalars.items() if len(one)
        }
        rows.append((own, figures))
    settings = list(dict.fromkeys(name for run in told for name in run.hyperparameters))
    metrics = list(dict.fromkeys(tag for _, figures in rows for tag in figures))
    # Those that the table was told of come first: they are in the run of the hyperparameters itself.
    first = list(dict.fromkeys(tag for run in told for tag in run.scalars))
    metrics.sort(key=lambda tag: first.index(tag) if tag in first else len(first))
    columns = [*(("setting", name) for name in settings), *(("metric", tag) for tag in metrics)]
    kept = columns[:MOST_COLUMNS]
    values = [
        [run[0].hyperparameters.get(name) if kind == "setting" else figures.get(name) for kind, name in kept]
        for run, figures in rows[:MOST_ROWS]
    ]
    return RunsTable(
        [
            RunsColumn(
                cut(name), "setting" if kind == "setting" else "metric", _numbers([row[i] for row in values])
            )
            for i, (kind, name) in enumerate(kept)
        ],
        [
            RunsRow(numbers[own[0].name], [numbers[one.name] for one in own], list(map(_cell, cells)))
            for (own, _), cells in zip(rows, values, strict=False)
        ],
        len(columns) - len(kept) + max(0, len(rows) - MOST_ROWS),
    )


def _folder(name: str) -> str:
    folder, _, _ = name.rpartition("/")
    return folder or "."


def _numbers(column: list[Any]) -> bool:
    there = [one for one in column if one is not None]
    return bool(there) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in there)


def _cell(value: Any) -> str | float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return cut(value)
    # A figure that is not finite is a word: nothing at all is another thing.
    return (
        float(value)
        if math.isfinite(value)
        else {math.inf: "inf", -math.inf: "−inf"}.get(float(value), "NaN")
    )
