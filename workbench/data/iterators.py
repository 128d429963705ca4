"""One pass of a loader over its data: how far it has come, which batches are to come, and who makes them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.base import deferred_interrupts
from workbench.data.fetch import Ended, Fetch, FetchIterable, describe
from workbench.data.pool import Pool
from workbench.data.random_streams import Once, Streams, mixed
from workbench.data.sampler import BatchSampler, order_of
from workbench.data.worker import END

if TYPE_CHECKING:
    from workbench.data.loader import DataLoader

__all__ = ["ENDLESS", "ByWorkers", "InProcess", "Pass", "fetch_of", "plan_of"]

ORDER = -1
"""The number by which the streams of samplers are told from those of batches."""


@dataclass
class Pass:
    """One pass over the data: how it began, and how far it has come."""

    seed: int | None
    generators: dict[str, Any]
    """States of what samplers draw from, when the pass began; None for what cannot be repeated."""
    position: int = 0
    """So many batches have been given, or passed over because they failed."""
    ahead: set[int] = field(default_factory=set)
    """Numbers of batches that were given out of order, behind `position`."""
    finished: bool = False
    resumed: Pass | None = None
    """The place at which it goes on, until it has given a batch."""

    def gave(self, number: int) -> None:
        """Note that a batch has been given."""
        # The usual case needs no set.
        if number == self.position and not self.ahead:
            self.position += 1
            return
        self.ahead.add(number)
        while self.position in self.ahead:
            self.ahead.remove(self.position)
            self.position += 1


class _Endless:
    """Stands for the sampler of an iterable data set, which has none."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


ENDLESS: Any = _Endless()


def plan_of(loader: DataLoader[Any], begun: Pass) -> Iterator[tuple[int, Any]]:
    """Return the batches of a pass that are still to come, as numbers and indices."""
    assert begun.seed is not None
    if loader.iterable:
        # Each worker counts its own samples, so what was given before is made again, and dropped.
        return zip(itertools.count(), itertools.repeat(loader.batch_size))
    streams, given = Streams(mixed(begun.seed, ORDER)), frozenset(begun.ahead)
    index_sampler = loader.batch_sampler if loader.batched else loader.sampler
    base, size = index_sampler, 0
    if type(index_sampler) is BatchSampler:
        base, size = index_sampler.sampler, index_sampler.batch_size
    with streams:
        order = order_of(base)
        indices = iter(index_sampler) if order is None else None
    if order is None:
        assert indices is not None
        numbered = _drawn(indices, streams)
        # Those given before are drawn again and dropped: nobody else knows what a sampler would give.
        skipped = itertools.islice(numbered, begun.position, None)
        return ((number, chosen) for number, chosen in skipped if number not in given)
    if size == 0:
        # Here the order is known, so nothing has to be drawn again.
        numbers = range(begun.position, len(order))
        return ((number, int(order[number])) for number in numbers if number not in given)
    numbers = range(begun.position, len(index_sampler))
    return ((number, order[number * size : (number + 1) * size]) for number in numbers if number not in given)


def _drawn(indices: Iterator[Any], streams: Streams) -> Iterator[tuple[int, Any]]:
    """Number what a sampler gives; what it draws comes from streams of its own."""
    for number in itertools.count():
        with streams:
            try:
                chosen = next(indices)
            # A generator may not end by StopIteration.
            except StopIteration:
                return
        yield number, chosen


def fetch_of(loader: DataLoader[Any]) -> Fetch | FetchIterable:
    if loader.iterable:
        return FetchIterable(
            loader.dataset, loader.collate_fn, loader.batched, loader.drop_last, loader.batch_dim
        )
    return Fetch(loader.dataset, loader.collate_fn, loader.batched, loader.batch_dim)


class InProcess(Iterator[Any]):
    """The batches of a pass, made in this process."""

    def __init__(self, loader: DataLoader[Any], begun: Pass, plan: Iterator[tuple[int, Any]]) -> None:
        assert begun.seed is not None
        self._loader, self._begun, self._plan, self._seed = loader, begun, plan, begun.seed
        self._fetch = fetch_of(loader)
        # The batches of before are made again, since an iterable data set knows no places.
        self._again = begun.position if loader.iterable else 0

    def __next__(self) -> Any:
        begun = self._begun
        if begun.resumed is not None:
            self._loader._started(begun)
        for number, indices in self._plan:
            try:
                if self._fetch.draws:
                    # With the number of the batch, so that it draws the same in whatever process it is made.
                    with Once(mixed(self._seed, number)):
                        batch = self._fetch(indices)
                else:
                    batch = self._fetch(indices)
            except Ended:
                break
            except Exception as error:
                # A batch that fails is passed over: the loop may be gone on with behind it.
                begun.gave(number)
                error.add_note(
                    f"in batch {number} of {describe(None if self._loader.iterable else indices)} of a DataLoader"
                )
                if isinstance(error, StopIteration):
                    raise RuntimeError(
                        "the data set raised StopIteration, which would end the loop"
                    ) from error
                raise
            if number >= self._again:
                begun.gave(number)
                return batch
        begun.finished = True
        raise StopIteration


class ByWorkers(Iterator[Any]):
    """The batches of a pass, made by workers."""

    def __init__(
        self, loader: DataLoader[Any], begun: Pass, plan: Iterator[tuple[int, Any]], pool: Pool
    ) -> None:
        self._loader, self._begun, self._plan, self._pool = loader, begun, plan, pool
        self._active = list(pool.members)
        """Workers that have samples left; the one whose turn it is comes first."""
        self._expected: deque[tuple[int, Any]] = deque()
        """Numbers of the batches that are being made, and by whom."""
        self._again = begun.position if loader.iterable else 0
        self._given = 0
        with deferred_interrupts.whole():  # workers that stay must not get half a message
            while self._issue():
                pass

    def _issue(self) -> bool:
        """Have one more batch made; say whether there was one to make, and a worker to make it."""
        if not self._active:
            return False
        if self._loader.in_order:
            member = self._active[0]
        else:
            member = min(self._active, key=lambda one: len(one.pending))
        if not self._pool.room(member):
            return False
        following = next(self._plan, None)
        if following is None:
            return False
        number, indices = following
        # To the end of the row: workers take turns, which makes the order of an iterable data set repeatable.
        self._active.append(self._active.pop(self._active.index(member)))
        self._expected.append((number, member))
        self._pool.submit(member, number, indices)
        return True

    def __next__(self) -> Any:
        try:
            return self._following()
        # What is wrong with one batch leaves the workers as they are.
        except Exception:
            raise
        except BaseException:
            # An interrupt: a message may be cut in two, and what the workers do now, nobody waits for.
            self._pool.close()
            raise

    def _following(self) -> Any:
        pool, begun, expected = self._pool, self._begun, self._expected
        if self._loader._pass is not begun and self._loader.persistent_workers:
            raise RuntimeError(
                "a new pass over this DataLoader has begun, and its workers have left this one: finish a loop before "
                "the next, or pass persistent_workers=False"
            )
        if begun.resumed is not None:
            self._loader._started(begun)
        while expected and pool.close.alive:
            in_order = self._loader.in_order
            member = pool.wait([expected[0][1]] if in_order else [one for one in pool.members if one.pending])
            task, result = pool.take(member)
            if self._loader.in_order:
                expected.popleft()
            else:
                expected.remove((task.number, member))
            if result.kind == END:
                pool.release(member, task)
                if member in self._active:
                    self._active.remove(member)
            elif self._given < self._again:
                self._given += 1
                pool.release(member, task)
            else:
                begun.gave(self._given if self._loader.iterable else task.number)
                self._given += 1
                try:
                    return pool.open(member, task, result)
                finally:
                    # Only now: opening the batch has given its slot free, or lent it.
                    self._issue()
            while self._issue():
                pass
        # Workers that were ended by an error leave a pass that is not finished.
        begun.finished = begun.finished or pool.close.alive
        if not self._loader.persistent_workers:
            pool.close()
        raise StopIteration
