"""What layers give in floating point, of as few runs of their model as there is memory for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.quantization.batches import Batch
from workbench.quantization.tuning.places import paused, watching

__all__ = ["FloatResults"]

Array = np.ndarray[Any, Any]

MOST = 2**29
"""How many bytes of results are kept."""


class FloatResults:
    """What some layers of a model give for some batches, each asked for once."""

    def __init__(self, model: Any, batches: list[Batch], layers: list[Any]) -> None:
        self._model = model
        self._batches = batches
        self._waiting = [*layers]
        self._kept: dict[Any, list[list[Array]]] = {}
        self._bytes: dict[Any, int] = {}

    def of(self, layer: Any) -> Iterator[list[Array]]:
        """Yield the results of a layer, for each batch those of its calls; what was yielded is not kept."""
        self._waiting.remove(layer)
        if layer in self._kept:
            del self._bytes[layer]
            yield from self._kept.pop(layer)
            return
        # What was dropped may fit now.
        more = [one for one in self._waiting if one not in self._kept]
        self._kept.update({one: [] for one in more})
        self._bytes.update(dict.fromkeys(more, 0))
        for batch in self._batches:
            yield self._run(layer, more, batch)

    def _run(self, asked: Any, more: list[Any], batch: Batch) -> list[Array]:
        """Run the model on a batch; return what the layer gives that is asked for, and keep what others do."""
        found: list[Array] = []

        def take(layer: Any, arguments: Any, output: Any) -> None:
            # Copies: what stands behind a layer may write into its result.
            if layer is asked:
                found.append(np.array(output.detach().payload))
            elif layer in self._kept:
                values = np.array(output.detach().payload)
                self._kept[layer][-1].append(values)
                self._bytes[layer] += values.nbytes
                self._drop()

        for layer in more:
            if layer in self._kept:
                self._kept[layer].append([])
        with paused(), watching(dict.fromkeys((asked, *more), take)):
            self._model(*batch.arguments)
        return found

    def _drop(self) -> None:
        """Let go what is largest until the rest fits: so most layers need no run of their own."""
        while sum(self._bytes.values()) > MOST:
            largest = max(self._kept, key=self._rate)
            del self._kept[largest], self._bytes[largest]

    def _rate(self, layer: Any) -> float:
        """Return how many bytes a layer gives for a sample, as far as the batches were run."""
        reached = zip(self._batches, self._kept[layer], strict=False)
        return self._bytes[layer] / max(1, sum(batch.samples for batch, calls in reached if calls))
