"""Batches of a data set, in order or shuffled, made here or by worker processes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from workbench.base import deferred_interrupts
from workbench.base.dims import check_names
from workbench.base.errors import short
from workbench.base.lazy import Lazy
from workbench.base.random import Generator, default_generator
from workbench.data.collate import default_collate, default_convert
from workbench.data.dataset import Dataset, IterableDataset
from workbench.data.iterators import ENDLESS, ByWorkers, InProcess, Pass, plan_of
from workbench.data.pool import Pool
from workbench.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]

T = TypeVar("T", covariant=True)
multiprocessing = Lazy("multiprocessing")

VERSION = 1
"""Of what `state_dict` returns."""
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
"""Attributes that cannot be set once a loader is made."""


class DataLoader(Generic[T]):
    """Goes over a data set in batches; every loop over it is one pass, shuffled anew if `shuffle`.

    Samples are stacked along a new first dim by `collate_fn`, by default `default_collate`; names of dims stay, and the
    first dim of all tensors of a batch is called `batch_dim`, where that is given. With ``batch_size=None`` there are
    no batches, and samples come one by one. With `num_workers` that many processes make batches ahead of time,
    `prefetch_factor` each, in memory that is shared with this one: a batch lies there until the last of its arrays is
    garbage, and nothing of it is copied or pickled on the way.

    A pass takes one number from `generator` (by default the default one) when it begins. Order, and what samples draw
    from the workbench's default generator, ``numpy.random`` or ``random``, follow from that number and the number of
    the batch: they are the same with any number of workers, and what the program draws itself does not depend on them.

    An error in a worker is raised here as it is, with notes that say in which worker and of which samples, and with the
    worker's traceback. `WorkerError` is raised where a worker ends without an error, such as one that is killed, or
    where no batch comes within `timeout` seconds. Workers, and the memory, are given back when the pass is over or
    abandoned, at exit, and also where this process is killed.

    `pin_memory` and `pin_memory_device` are taken and change nothing: arrays lie in ordinary memory.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.arange(5))
    >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    >>> [batch.names for (batch,) in DataLoader(data, batch_size=4, batch_dim="N")]
    [('N',), ('N',)]
    """

    dataset: Any
    batch_size: int | None
    sampler: Any
    batch_sampler: Any
    prefetch_factor: int | None
    _made = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[Any] | Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        batch_dim: str | None = None,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.iterable = isinstance(dataset, IterableDataset)
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        if self.iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            # A batch sampler decides all that these would.
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None and not self.iterable and batch_sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler if sampler is not None else ENDLESS, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.batched = batch_sampler is not None
        if collate_fn is None:
            collate_fn = default_collate if self.batched else default_convert
        self.collate_fn = collate_fn
        if batch_dim is not None:
            check_names((batch_dim,), 1)
            if not self.batched:
                raise ValueError("batch_dim names the dim of samples, and with batch_size=None there is none")
        self.batch_dim = batch_dim
        self._pool: Pool | None = None
        self._pass: Pass | None = None
        self._resumed: Pass | None = None
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._made and name in FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized: make a new loader"
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        told = isinstance(self.dataset, Dataset) and type(self.dataset).__repr__ is not object.__repr__
        of = short(self.dataset) if told else type(self.dataset).__name__
        size = "samples one by one" if not self.batched else f"batches of {self.batch_size or 'own sizes'}"
        order = ", shuffled" if isinstance(self.sampler, RandomSampler) else ""
        workers = f", {self.num_workers} workers" if self.num_workers else ""
        return f"<{type(self).__name__}: {size}{order}{workers}, of {of}>"

    def __len__(self) -> int:
        if not self.iterable:
            return len(self.batch_sampler if self.batched else self.sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[T]:
        begun = self._begin()
        plan = plan_of(self, begun)
        if self.num_workers == 0:
            return InProcess(self, begun, plan)
        assert begun.seed is not None
        pool = self._pool
        if pool is not None and pool.close.alive:
            # Whole, since workers that stay must not get half a message.
            with deferred_interrupts.whole():
                pool.begin_pass(begun.seed)
        else:
            _warn_of_many(self.num_workers)
            pool = Pool(self, begun.seed)
            if self.persistent_workers:
                self._pool = pool
        return ByWorkers(self, begun, plan, pool)

    # ----------------------------------------------------------------------------------- where it is

    def _begin(self) -> Pass:
        """Begin a pass: anew, or where `load_state_dict` said."""
        resumed = self._resumed
        if resumed is not None:
            # Before the states are taken down below: where the pass goes on, its samplers stand as at its
            # beginning.
            self._restore(resumed.generators)
        generators = self._generators()
        begun = Pass(None, generators)
        if resumed is not None and resumed.seed is not None:
            begun = Pass(resumed.seed, generators, resumed.position, set(resumed.ahead))
        # A pass that goes on draws the number too, so that `generator` is afterwards where it would be.
        if begun.seed is None or self.generator is not None:
            source = default_generator if self.generator is None else self.generator
            drawn = int(source.numpy.integers(0, (1 << 63) - 1))
            begun.seed = drawn if begun.seed is None else begun.seed
        begun.resumed = resumed
        self._pass = begun
        return begun

    def _started(self, begun: Pass) -> None:
        """Forget where a pass was to go on, now that it does: a loop that is only begun changes nothing."""
        if self._resumed is begun.resumed:
            self._resumed = None
        begun.resumed = None

    def _sources(self) -> dict[str, Any]:
        """What a pass draws from, and samplers with a state of their own, by where they stand."""
        inner = getattr(self.batch_sampler, "sampler", None) if self.sampler is None else self.sampler
        found = {
            "generator": self.generator,
            "batch_sampler": self.batch_sampler,
            "batch_sampler.generator": getattr(self.batch_sampler, "generator", None),
            "sampler": inner,
            "sampler.generator": getattr(inner, "generator", None),
        }
        return {
            place: one
            for place, one in found.items()
            if isinstance(one, Generator) or (hasattr(one, "state_dict") and hasattr(one, "load_state_dict"))
        }

    def _generators(self) -> dict[str, Any]:
        states: dict[str, Any] = {}
        for place, one in self._sources().items():
            if isinstance(one, Generator):
                states[place] = None if one.secure else one.get_state()
            else:
                states[place] = one.state_dict()
        return states

    def _restore(self, states: Mapping[str, Any]) -> None:
        for place, one in self._sources().items():
            if isinstance(one, Generator):
                one.set_state(states[place])
            else:
                one.load_state_dict(states[place])

    @property
    def position(self) -> int:
        """How many batches of its pass the next loop skips, because they were handed out before; mostly 0."""
        return 0 if self._resumed is None else self._resumed.position + len(self._resumed.ahead)

    def state_dict(self) -> dict[str, Any]:
        """Return where the last pass is, as plain values: `load_state_dict` has the next loop go on exactly there.

        ``position`` counts the batches that were handed out, not those that workers have made ahead of time. The
        default generator is not part of it, nor is anything that the data set keeps.
        """
        if self.iterable and self.num_workers and not self.in_order:
            raise RuntimeError(
                "in_order=False gives the batches of an iterable data set as they come, which cannot be repeated: "
                "there is no state to go on from. Pass in_order=True."
            )
        now = self._pass if self._resumed is None else self._resumed
        if now is None or now.finished:
            # Behind the last batch the next pass is what would be gone on with.
            now = Pass(None, self._generators())
        for place, state in now.generators.items():
            if state is None:
                raise RuntimeError(
                    f"{place} is secure, so its order cannot be repeated: there is no state to go on from"
                )
        return {
            "version": VERSION,
            "seed": now.seed,
            "position": now.position,
            "ahead": sorted(now.ahead),
            "generators": now.generators,
            **self._shape(),
        }

    def _shape(self) -> dict[str, Any]:
        """What must be the same where a pass goes on."""
        return {
            "samples": None if self.iterable else _count(self.dataset),
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
            "num_workers": self.num_workers if self.iterable else None,
        }

    def load_state_dict(self, state: Any) -> None:
        """Have the next loop over this loader go on where `state` says: same order, same random draws.

        Batches that were handed out before are skipped; of an iterable data set they are made once more and thrown
        away. The number of workers may be another one, except with an iterable data set. Raises ValueError, and
        changes nothing, where the state is not of a loader like this one.
        """
        keys = {"version", "seed", "position", "ahead", "generators", *self._shape()}
        if not isinstance(state, Mapping) or set(state) != keys:
            found = sorted(state) if isinstance(state, Mapping) else type(state).__name__
            raise ValueError(f"this is no state of a DataLoader: expected {sorted(keys)}, got {found}")
        if state["version"] != VERSION:
            raise ValueError(f"a state of version {state['version']!r}; this is version {VERSION}")
        for key, own in self._shape().items():
            if state[key] != own:
                raise ValueError(
                    f"the state is of a loader with {key}={state[key]!r}, and this one has {own!r}: a pass goes on "
                    "only with the same data and the same batches"
                )
        numbers = [state["position"], *state["ahead"]]
        seed, generators = state["seed"], state["generators"]
        if not all(isinstance(one, int) and one >= 0 for one in numbers) or not (
            seed is None or isinstance(seed, int)
        ):
            raise ValueError(
                f"position {state['position']!r}, ahead {state['ahead']!r} or seed {seed!r} is no number"
            )
        if set(generators) != set(self._sources()):
            raise ValueError(
                f"the state has generators or samplers with a state at {sorted(generators)}, this loader at "
                f"{sorted(self._sources())}"
            )
        self._resumed = Pass(seed, dict(generators), state["position"], set(state["ahead"]))


def _count(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:  # its sampler knows
        return None


# ------------------------------------------------------------------------------------------- what is checked


def _check_workers(
    num_workers: Any, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, got {num_workers!r}; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout!r}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"prefetch_factor option should be positive, got {prefetch_factor!r}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _context(given: Any, num_workers: int) -> Any:
    """Return the way in which processes are started; None for the system's own."""
    if given is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(given, str):
        methods = multiprocessing.get_all_start_methods()
        if given not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={given!r}"
            )
        return multiprocessing.get_context(given)
    if not isinstance(given, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={given!r}"
        )
    return given


def _warn_of_many(num_workers: int) -> None:
    # Not all that the machine has: a container may use fewer.
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if num_workers > there:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker "
            f"in current system is {there}, which is smaller than what this DataLoader is going to create: it may get "
            "slow.",
            stacklevel=3,
        )
