"""Where in its data a training is, so that it goes on with the very next batch, in this process or another."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.tensor import Tensor
from workbench.train import randomness
from workbench.train.errors import CheckpointError

__all__ = ["Position", "check_loader"]


def check_loader(label: str, loader: Any) -> None:
    """Raise TypeError for what does not give batches."""
    if isinstance(loader, Tensor | np.ndarray):
        kind = "a tensor" if isinstance(loader, Tensor) else "an array"
        raise TypeError(
            f"{label} gives batches, and this is {kind}: pass [(inputs, targets)], or a DataLoader"
        )
    if not hasattr(loader, "__iter__"):
        raise TypeError(
            f"{label} gives batches, and {type(loader).__name__} cannot be gone over: pass a DataLoader, or a list"
            + (f". So many epochs are fit(…, epochs={loader})" if type(loader) is int else "")
        )


class Position:
    """Goes over a loader, an epoch after the other, and can say where it is.

    A loader with ``state_dict`` and ``load_state_dict`` knows itself. Of any other the random streams at the start of
    the epoch are kept: it is started again from them, and the batches that were had are drawn once more and dropped.

    >>> position = Position(["a", "b", "c"])
    >>> next(position.batches())
    'a'
    >>> again = Position(["a", "b", "c"])
    >>> again.load_state_dict(position.state_dict())
    >>> list(again.batches())
    ['b', 'c']
    """

    def __init__(self, loader: Any) -> None:
        check_loader("loader", loader)
        self.loader = loader
        self.batch = 0
        """Batches of this epoch that were handed out."""
        self._knows = hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")
        self._started: dict[str, Any] | None = None
        self._goes_on = False
        self._ended = False
        self._end: dict[str, Any] | None = None
        """What the loader said of itself at the end of the epoch, whoever goes over it since."""

    @property
    def length(self) -> int | None:
        """Batches in an epoch, where the loader can say."""
        try:
            return len(self.loader)
        except TypeError:
            return None

    def begin_epoch(self) -> None:
        """Be at the start of an epoch."""
        self.batch, self._started, self._goes_on, self._ended = 0, None, False, False
        self._end = None

    def batches(self) -> Generator[Any, None, None]:
        """Yield the rest of the epoch."""
        if self._ended:
            return
        for batch in self._rest():
            self.batch += 1
            yield batch
        self._ended = True
        self._end = self.loader.state_dict() if self._knows else None

    def _rest(self) -> Iterator[Any]:
        goes_on, self._goes_on = self._goes_on, False
        if self._knows or not goes_on:
            # Before the loader begins, which is when it draws its order.
            self._started = None if self._knows else self._streams()
            return iter(self.loader)
        return self._replay()

    def _replay(self) -> Iterator[Any]:
        """Start the epoch anew, drop what was had, and let the streams go on from where they are now."""
        now, had = self._streams(), self.batch
        self._set(self._started or now)
        rest: Iterator[Any] = iter(self.loader)
        for number in range(had):
            if next(rest, self) is self:
                raise CheckpointError(
                    f"the loader has only {number} batches, of which {had} were learned from"
                )
        # Those drawn once more were drawn before: the streams are where they were.
        self._set(now)
        return rest

    def _streams(self) -> dict[str, Any]:
        own = getattr(self.loader, "generator", None)
        return {**randomness.capture(), "loader": None if own is None else own.get_state()}

    def _set(self, streams: Mapping[str, Any]) -> None:
        randomness.restore(streams)
        own = getattr(self.loader, "generator", None)
        if own is not None and streams["loader"] is not None:
            own.set_state(dict(streams["loader"]))

    def state_dict(self) -> dict[str, Any]:
        """Return where this is."""
        place: dict[str, Any] = {"batch": self.batch, "ended": self._ended}
        if self._knows:
            return {**place, "loader": self.loader.state_dict() if self._end is None else self._end}
        own = getattr(self.loader, "generator", None)
        return {
            **place,
            "started": self._started if self.batch else None,
            "generator": None if own is None else own.get_state(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was; `CheckpointError` where that was over another kind of loader."""
        if self._knows != ("loader" in state_dict):
            raise CheckpointError(
                f"the place in the data is that of a loader of another kind than {type(self.loader).__name__}"
            )
        batch, length = int(state_dict["batch"]), self.length
        if length is not None and batch > length:
            raise CheckpointError(
                f"{batch} batches of the epoch were learned from, and the loader has {length}"
            )
        if self._knows:
            self.loader.load_state_dict(state_dict["loader"])
        else:
            own = getattr(self.loader, "generator", None)
            if own is not None and state_dict["generator"] is not None:
                own.set_state(dict(state_dict["generator"]))
            self._started = state_dict["started"]
        self.batch, self._goes_on, self._ended = batch, batch > 0, bool(state_dict["ended"])
        self._end = state_dict["loader"] if self._knows and self._ended else None
