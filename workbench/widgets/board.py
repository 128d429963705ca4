"""The board of attribution methods as a live view: rows that fill, figures to sort by, heatmaps to open."""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np

from workbench.attribution.board import Board, Figure, Row, compare
from workbench.base.errors import DimensionError
from workbench.live.messages import (
    BoardCell,
    BoardColumn,
    BoardRow,
    BoardState,
    Head,
    OpenRowEvent,
    Refusal,
    StopEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.heatmap import HeatmapModel
from workbench.widgets.heatmap_parts import heat_of, picture_bytes

__all__ = ["BoardModel", "BoardWidget", "board"]

Array = np.ndarray[Any, Any]

LARGEST = 112
"""Greatest side of the small heatmaps, in cells."""

LONGEST = 300
"""Most characters of a text that travel."""


class BoardModel(ViewModel):
    """Draws `board`; a row that is opened is drawn as a heatmap until a person goes back."""

    view = "heatmap"

    def __init__(self, board: Board, where: str = "") -> None:
        super().__init__()
        self._board = board
        self._where = where
        self._lock = threading.RLock()
        self._open: HeatmapModel | None = None
        self._refusal: Refusal | None = None
        reference = weakref.ref(self)

        def told() -> None:
            model = reference()
            if model is not None:
                model.changed()

        weakref.finalize(self, board.listen(told))

    @property
    def board(self) -> Board:
        """What is drawn."""
        return self._board

    def snapshot(self) -> Snapshot:
        """Return all rows as far as they are, or the row that is open."""
        with self._lock:
            opened = self._open
        if opened is not None:
            return opened.snapshot()
        board = self._board
        buffers: list[bytes] = []
        shape = (1, 1)
        rows = []
        for row in list(board.rows):
            small = _small(row)
            buffer = None
            if small is not None and (not buffers or small.shape == shape):
                shape = small.shape
                buffer = len(buffers)
                buffers.append(picture_bytes(small))
            rows.append(self._row(row, buffer))
        state = BoardState(
            kind="board",
            head=Head(board.title[:LONGEST], self._where, self.made, board.running, board.code()),
            height=shape[0],
            width=shape[1],
            columns=[BoardColumn(one.name, one.title, one.better, one.meaning) for one in board.columns],
            rows=rows,
            question=_question(board),
            running=board.running,
            done=sum(row.standing == "done" for row in board.rows),
            seconds=board.seconds,
            refusal=self._refusal,
        )
        return Snapshot(state, tuple(buffers))

    def _row(self, row: Row, buffer: int | None) -> BoardRow:
        missing = Figure(None)
        found = [row.figures.get(one.name, missing) for one in self._board.columns]
        return BoardRow(
            method=row.method,
            title=row.title,
            made=row.made[:LONGEST],
            standing=row.standing,
            trouble=row.trouble[: 3 * LONGEST],
            attribution_buffer=buffer,
            cells=[BoardCell(_finite(one.value), one.note[:LONGEST]) for one in found],
        )

    def handle(self, event: object) -> None:
        """Open a row, go back, or stop."""
        with self._lock:
            opened = self._open
            self._refusal = None
        if isinstance(event, OpenRowEvent):
            self._show(event.method)
        elif opened is not None:
            opened.handle(event)
        elif isinstance(event, StopEvent):
            self._board.stop()
            self.changed()
        else:
            raise Refused("on a board one opens a row or stops, and nothing else")

    def _show(self, method: str | None) -> None:
        opened = None
        if method is not None:
            row = next((one for one in self._board.rows if one.method == method), None)
            if row is None:
                raise Refused(f"there is no row {method!r} on this board")
            if row.result is None:
                raise Refused(f"{row.title} has no attributions: {row.trouble or 'it is not done yet'}")
            opened = HeatmapModel(row.result, self._where)
            opened.of_board = True
            opened.listen(_Passing(self))
        with self._lock:
            self._open = opened
        self.changed()


class _Passing:
    """Tells of an open row's changes without keeping the board alive."""

    def __init__(self, model: BoardModel) -> None:
        self._model = weakref.ref(model)

    def __call__(self, _: ViewModel) -> None:
        model = self._model()
        if model is not None:
            model.changed()


def _small(row: Row) -> Array | None:
    """Return the heatmap of the first sample, at a size for the board; None where there is none."""
    if row.result is None:
        return None
    try:
        heat = heat_of(*row.result.pairs[0], 0)
    except DimensionError:  # its samples are no pictures
        return None
    step = math.ceil(max(heat.shape) / LARGEST)
    return heat[::step, ::step]


def _question(board: Board) -> str:
    first = board.inputs[0] if isinstance(board.inputs, tuple) else board.inputs
    count = int(first.shape[0])
    samples = f"{count:,} samples" if count > 1 else "one sample"
    if board.targets is None:
        return f"the predicted class of {samples}"
    if isinstance(board.targets, int):
        names = board.class_names
        name = names[board.targets] if names and 0 <= board.targets < len(names) else board.targets
        return f"class {name} of {samples}"[:LONGEST]
    return f"given targets of {samples}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


class BoardWidget(ViewWidget):
    """A board in a cell."""

    def __init__(self, source: Board, where: str = "", **traits: Any) -> None:
        super().__init__(BoardModel(source, where) if where else renderers.model_of(source), **traits)


def board(source: Any, inputs: Any = None, targets: Any = None, **settings: Any) -> BoardWidget:
    """Show a board in this cell: a `Board`, or that of a model and its inputs.

    `settings` are those of `workbench.attribution.compare`.

    Raises:
        TypeError: a model without inputs.
    """
    if isinstance(source, Board):
        return BoardWidget(source)
    if inputs is None:
        raise TypeError("methods are compared on inputs: wb.widgets.board(model, images, targets)")
    return BoardWidget(compare(source, inputs, targets, publish=False, **settings))


renderers.register(Board, BoardModel)
