"""What runs in a loader's worker process: batches are made as tasks come, until the loader is done or gone."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import struct
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.lazy import Lazy
from workbench.base.shared_memory import Handle
from workbench.data.fetch import Ended, Fetch, FetchIterable
from workbench.data.random_streams import mixed, own_twister, start
from workbench.data.shared_memory import INLINE, SlotWriter, pack
from workbench.kernels import set_num_threads

__all__ = ["RESULT", "TASK", "Setup", "WorkerInfo", "get_worker_info", "work"]

multiprocessing = Lazy("multiprocessing")
connection = Lazy("multiprocessing.connection")

TASK = struct.Struct("<IBIqI")
"""What a task begins with: bytes that follow, how they say the indices, the pass, the batch's number, its slot."""
RESULT = struct.Struct("<IBIqIQQ")
"""What a result begins with: bytes that follow, what it is, pass, number, slot, its size, and how much is in use."""
CONTROL = struct.Struct("<q")
"""What the loader and its workers both see at any time: the number of the present pass, or OVER."""
OVER = -1
NUMBERS, RANGE, PICKLED, NEW_PASS, STOP = range(5)
"""Kinds of tasks."""
BATCH, BATCH_IN_SLOT, ERROR, END, BROKEN = range(5)
"""Kinds of results; BROKEN is a worker that could not begin."""
CHUNK = 1 << 16


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself."""

    id: int
    """From 0 to `num_workers` - 1."""
    num_workers: int
    seed: int
    """Differs between workers and between passes."""
    dataset: Any
    """This worker's copy of the data set."""


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what a worker of a `DataLoader` knows of itself; None in the program's own process.

    >>> print(get_worker_info())
    None
    """
    return _info


@dataclass
class Setup:
    """All that a worker is given when it is started."""

    id: int
    num_workers: int
    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool
    batch_dim: str | None
    iterable: bool
    drop_last: bool
    init: Callable[[int], Any] | None
    seed: int
    tasks: Handle
    results: Handle
    control: Handle
    slots: list[Handle]
    foreign: set[int]
    """Descriptors of the loader's side that a forked process has got and must not keep open: the set itself, which
    is in the child what it was at the fork, since another loader may end between this is made and then."""
    method: str


def work(setup: Setup) -> None:
    """Run one worker."""
    global _info
    # The program may have asked Python to write signals to a descriptor of its own, an event loop's.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader hears of it, and ends its workers
    # The program's own handlers are not for this process: being ended has to end it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for descriptor in sorted(setup.foreign):
        os.close(descriptor)
    # A daemon, so that it does not outlive the worker's own loop.
    threading.Thread(target=_watch, args=(setup.method,), daemon=True).start()
    worker = _Worker(setup)
    try:
        set_num_threads(1)  # pools of threads do not survive a fork, and the workers are the threads here
        own_twister()
        worker.begin_pass(0, setup.seed)
        if setup.init is not None:
            setup.init(setup.id)
        worker.fetch = _fetcher(setup)
    # The loader learns of it in place of the first result, and says in which worker it was.
    except Exception as error:
        with contextlib.suppress(BrokenPipeError):
            worker.send(BROKEN, -1, 0, _told(error))
        return
    with contextlib.suppress(BrokenPipeError):  # nobody wants what this worker has
        worker.run()


def _fetcher(setup: Setup) -> Fetch | FetchIterable:
    if setup.iterable:
        return FetchIterable(setup.dataset, setup.collate_fn, setup.batched, setup.drop_last, setup.batch_dim)
    return Fetch(setup.dataset, setup.collate_fn, setup.batched, setup.batch_dim)


def _watch(method: str) -> None:
    """End this process when the one that started it is gone, whatever the data set is doing."""
    parent, above = multiprocessing.parent_process(), os.getppid()
    while not connection.wait([parent.sentinel], 1.0):
        # A forked sibling may hold the sentinel's other end open; then the system gives this process another parent.
        if method != "forkserver" and os.getppid() != above:
            break
    # At once: what the data set or its libraries would do at exit may never come to an end.
    os._exit(1)


class _Worker:
    """The loop of a worker."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.fetch: Any = None
        self._slots = [SlotWriter(handle.descriptor) for handle in setup.slots]
        self._control = mmap.mmap(setup.control.descriptor, CONTROL.size)
        self._pass, self._seed = 0, 0

    def begin_pass(self, number: int, seed: int) -> None:
        """Go over the data anew."""
        global _info
        self._pass, self._seed = number, seed
        own = mixed(seed, -2 - self.setup.id)
        _info = WorkerInfo(self.setup.id, self.setup.num_workers, own, self.setup.dataset)
        start(own)
        if isinstance(self.fetch, FetchIterable):
            self.fetch.restart()

    def run(self) -> None:
        """Do tasks until there will be no more."""
        buffer = bytearray()
        while True:
            taken = 0
            while len(buffer) - taken >= TASK.size:
                length, kind, of_pass, number, slot = TASK.unpack_from(buffer, taken)
                end = taken + TASK.size + length
                if len(buffer) < end:
                    break
                body = bytes(memoryview(buffer)[taken + TASK.size : end])
                taken = end
                if kind == STOP or CONTROL.unpack_from(self._control)[0] == OVER:
                    return
                if kind == NEW_PASS:
                    self.begin_pass(of_pass, number)
                # A task of a pass that is over is not worth doing; so is one of a pass that has just ended.
                elif of_pass == self._pass == CONTROL.unpack_from(self._control)[0]:
                    self._do(kind, number, slot, body)
            del buffer[:taken]
            chunk = os.read(self.setup.tasks.descriptor, CHUNK)
            if not chunk:
                return
            buffer += chunk

    def _do(self, kind: int, number: int, slot: int, body: bytes) -> None:
        memory = self._slots[slot]
        memory.begin()
        try:
            # A batch that draws nothing needs no streams, and starting them takes longer than to make a small
            # batch.
            if self.fetch.draws:
                start(mixed(self._seed, number))
            batch = self.fetch(_indices(kind, body), memory.empty)
            packed = pack(batch, memory)
            # A long message would fill the pipe, which then blocks here until the loader reads it.
            if len(packed) > INLINE:
                place = memory.place_bytes(packed)
                self.send(BATCH_IN_SLOT, number, slot, struct.pack("<QQ", place, len(packed)))
            else:
                self.send(BATCH, number, slot, packed)
        except Ended:
            self.send(END, number, slot, b"")
        # The loader raises it: a worker that ended here would take all of its batches along.
        except Exception as error:
            self.send(ERROR, number, slot, _told(error))

    def send(self, kind: int, number: int, slot: int, body: bytes) -> None:
        """Send a result, before anything else is begun: should this process end then, it is known at what."""
        memory = self._slots[slot]
        left = memoryview(
            RESULT.pack(len(body), kind, self._pass, number, slot, memory.size, memory.used) + body
        )
        # Written by us alone, so a write may be cut in two: the loader puts the parts together.
        while left:
            left = left[os.write(self.setup.results.descriptor, left) :]


def _indices(kind: int, body: bytes) -> Any:
    if kind == NUMBERS:
        return np.frombuffer(body, np.int64)
    if kind == RANGE:
        return range(*struct.unpack("<qq", body))
    return pickle.loads(body)


def _told(error: Exception) -> bytes:
    """Return an error as it travels: itself where it can, and its traceback as text."""
    text = "".join(traceback.format_exception(error))
    try:
        itself = pickle.dumps(error)
        # Some errors can be pickled and not read again: those whose constructors want other arguments than
        # they keep.
        pickle.loads(itself)
    except Exception:  # errors are classes of anybody's: what their pickling raises cannot be known
        itself = b""
    return pickle.dumps(
        (itself, type(error).__name__, str(error), list(getattr(error, "__notes__", ())), text)
    )
