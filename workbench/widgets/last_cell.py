"""The Shapes panel follows the notebook: it shows the tensor, or the shape error, of the cell that ran last.

One view model stands for all cells and holds what the last of them made, so that no tensor is kept longer for it.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import Any

from workbench.base.errors import DimensionError
from workbench.live import cells
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.tensor import Tensor
from workbench.widgets.clash import ClashModel
from workbench.widgets.tensor import TensorModel

__all__ = ["CellModel", "last_cell", "made_by"]

Result = Any
"""What IPython says of a cell that has ended; it is not imported here."""


def _nothing() -> None:
    """Stand for the end of listening until there is somebody to listen to."""


class CellModel(ViewModel):
    """Draws what the cell that ran last has made."""

    view = "shapes"

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._inner: ViewModel | None = None
        self._stop: Callable[[], None] = _nothing

    def show(self, inner: ViewModel) -> None:
        """Draw `inner` from now on, as the latest of the panel."""
        with self._lock:
            self._stop()
            self._inner, self._stop = inner, inner.listen(lambda model: self.changed())
        registry.show(self)
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the picture of what the last cell has made."""
        return self._present().snapshot()

    def handle(self, event: object) -> None:
        """Do what `event` asks of what the last cell has made."""
        self._present().handle(event)

    def sample_of(self, event: object) -> int | None:
        """Return the sample that `event` has chosen of what the last cell has made."""
        return None if self._inner is None else self._inner.sample_of(event)

    def show_sample(self, index: int) -> None:
        """Show a sample that was chosen elsewhere."""
        if self._inner is not None:
            self._inner.show_sample(index)

    def _present(self) -> ViewModel:
        inner = self._inner
        if inner is None:
            raise Refused("no cell has made a tensor yet")
        return inner


def made_by(result: Result, names: dict[str, Any]) -> ViewModel | None:
    """Return the view model of what a cell made: its shape error, its value, or what its last line named.

    `names` are the program's variables. None if that is no tensor.
    """
    number = result.execution_count
    source = "" if number is None else f"cell {number}"
    if isinstance(result.error_in_exec, DimensionError):
        return ClashModel(result.error_in_exec)
    if result.error_in_exec is not None:
        return None
    name = last_name(result.info.raw_cell or "")
    value = result.result if result.result is not None else names.get(name)
    if not isinstance(value, Tensor):
        return None
    # The name only where it is what the cell shows: `x.sum()` is not x.
    title = name if names.get(name) is value else "tensor"
    drawn = renderers.drawn(value)
    if isinstance(drawn, TensorModel):  # by the cell itself, which had no name for it yet
        drawn.call(title, source)
        return drawn
    return TensorModel(value, title, source)


def last_name(code: str) -> str:
    r"""Return the variable that the last line of a cell shows or sets; empty if it is no single one.

    >>> last_name("x = 1\ny = x + 1"), last_name("x"), last_name("x.sum()")
    ('y', 'x', '')
    """
    try:
        lines = ast.parse(code).body
    except SyntaxError:  # magics are no Python
        return ""
    last = lines[-1] if lines else None
    if isinstance(last, ast.Assign):
        target: ast.expr = last.targets[-1]
    elif isinstance(last, ast.AnnAssign | ast.AugAssign):
        target = last.target
    elif isinstance(last, ast.Expr):
        target = last.value
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""


last_cell = CellModel()
"""What stands in the Shapes panel for the cell that ran last."""


def _ended(result: Result, names: dict[str, Any]) -> None:
    inner = made_by(result, names)
    if inner is None:
        return
    if registry.order(inner.id) is None:
        last_cell.show(inner)
    else:  # it has a place of its own, by the output of the cell
        registry.withdraw(last_cell)
        registry.show(inner)


cells.ended.add(_ended)
