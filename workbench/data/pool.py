"""The loader's side of its workers: they are started, given tasks, listened to, and ended."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import select
import signal
import struct
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from workbench.base import deferred_interrupts
from workbench.base.lazy import Lazy
from workbench.base.shared_memory import Handle, anonymous_memory
from workbench.data.fetch import describe
from workbench.data.shared_memory import Slot, unpack
from workbench.data.worker import (
    BATCH,
    BATCH_IN_SLOT,
    BROKEN,
    CHUNK,
    CONTROL,
    NEW_PASS,
    NUMBERS,
    OVER,
    PICKLED,
    RANGE,
    RESULT,
    STOP,
    TASK,
    Setup,
    work,
)

__all__ = ["Pool", "Result", "WorkerError"]

multiprocessing = Lazy("multiprocessing")

LENT = 2
"""So many batches of a worker may lie in its slots while the program has them; of more, copies are given."""
PATIENCE = 1.0
"""Seconds that a worker has to end by itself, before it is ended."""
GLANCE = 2.0
"""Seconds between two looks whether a worker that says nothing is still there."""


class WorkerError(RuntimeError):
    """A worker of a loader that ended, failed in a way that cannot be passed on, or took too long."""


@dataclass(frozen=True)
class Result:
    """What came of a task."""

    kind: int
    number: int
    slot: int
    size: int
    used: int
    body: bytes


@dataclass(frozen=True)
class Task:
    """A batch that a worker is to make."""

    number: int
    slot: int
    indices: Any


@dataclass
class _Member:
    """One worker, as the loader sees it."""

    id: int
    process: Any
    tasks: int
    """Where tasks are written to."""
    results: int
    slots: list[Slot]
    free: deque[int]
    pending: deque[Task] = field(default_factory=deque)
    buffer: bytearray = field(default_factory=bytearray)
    backlog: bytes = b""
    """What the pipe had no room for."""
    arrived: deque[Result] = field(default_factory=deque)

    @property
    def lent(self) -> int:
        return len(self.slots) - len(self.free) - len(self.pending)


_ours: set[int] = set()
"""Descriptors of the loaders' sides of all pools: a process that is forked must not keep them."""


class Pool:
    """Workers of one loader."""

    def __init__(self, loader: Any, seed: int) -> None:
        # The pools wait with `poll`, on the ends of pipes.
        if not hasattr(select, "poll"):
            raise OSError(
                "workers need Linux or macOS: load in the program's own process, with num_workers=0"
            )
        context = loader.multiprocessing_context
        if context is None:
            context = multiprocessing.get_context()
        self.timeout = float(loader.timeout)
        # With none at all, not even the batch that is waited for would be asked for.
        self.prefetch = max(1, loader.prefetch_factor)
        self.members: list[_Member] = []
        self._iterable = loader.iterable
        self._pass = 0
        control = anonymous_memory()
        os.truncate(control, mmap.PAGESIZE)
        self._control = mmap.mmap(control, CONTROL.size)
        # What ends the workers must not hold the pool: it is called when the pool is garbage, and at exit.
        self.close = weakref.finalize(self, _close, self.members, self._control, os.getpid())
        try:
            for i in range(loader.num_workers):
                # An interrupt amid a start would leave a process that nobody ends, or be lost in a hook of the fork.
                with deferred_interrupts.whole():
                    self._start(loader, context, i, seed, control)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                error.add_note(
                    f"while worker {len(self.members) - 1} of {loader.num_workers} was started, which takes a process "
                    f"and about {self.prefetch + LENT + 4} open files: use fewer workers, or raise the limit"
                )
            raise
        finally:
            # The mapping stays, and is all that is needed.
            os.close(control)

    def _start(self, loader: Any, context: Any, i: int, seed: int, control: int) -> None:
        (task_out, task_in), (result_out, result_in) = _pipes()
        member = _Member(i, None, task_in, result_out, [], deque(range(self.prefetch + LENT)))
        self.members.append(member)  # before anything else can fail: what is here is given back
        _ours.update((task_in, result_out))
        method = context.get_start_method()
        try:
            member.slots.extend(Slot(k) for k in member.free)
            setup = Setup(
                id=i,
                num_workers=loader.num_workers,
                dataset=loader.dataset,
                collate_fn=loader.collate_fn,
                batched=loader.batched,
                batch_dim=loader.batch_dim,
                iterable=loader.iterable,
                drop_last=loader.drop_last,
                init=loader.worker_init_fn,
                seed=seed,
                tasks=Handle(task_out),
                results=Handle(result_in),
                control=Handle(control),
                slots=[Handle(slot.descriptor) for slot in member.slots],
                foreign=_ours if method == "fork" else set(),
                method=method,
            )
            process = context.Process(target=work, args=(setup,), name=f"DataLoader worker {i}", daemon=True)
            _want_two_pipes()
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            error.add_note(
                f"The data set, collate_fn and worker_init_fn travel to workers by pickle where these are started by "
                f"{method!r}: define what they use at the top of a module, or pass multiprocessing_context='fork'."
            )
            raise
        finally:
            # They belong to the worker: as long as one end is open here, no end of the other is ever seen.
            os.close(task_out)
            os.close(result_in)
        member.process = process
        os.set_blocking(task_in, False)
        os.set_blocking(result_out, False)

    # ------------------------------------------------------------------------------------------ tasks

    def begin_pass(self, seed: int) -> None:
        """Have the workers that are there go over the data anew, and forget what they still do of the pass before."""
        self._pass += 1
        CONTROL.pack_into(self._control, 0, self._pass)
        for member in self.members:
            self._send(member, TASK.pack(0, NEW_PASS, self._pass, seed, 0))
            for task in member.pending:
                member.free.append(task.slot)
            member.pending.clear()
            member.arrived.clear()

    def room(self, member: _Member) -> bool:
        """Say whether a worker may get another task."""
        return len(member.pending) < self.prefetch and bool(member.free)

    def submit(self, member: _Member, number: int, indices: Any) -> None:
        """Give a worker a task; it must have room for it."""
        slot = member.free.popleft()
        member.pending.append(Task(number, slot, None if self._iterable else indices))
        # Plain indices go as bytes: pickling them, and reading that, takes longer than to make a small batch.
        if type(indices) is np.ndarray:
            kind, body = NUMBERS, indices.tobytes()
        elif type(indices) is range and indices.step == 1:
            kind, body = RANGE, struct.pack("<qq", indices.start, indices.stop)
        else:
            kind, body = PICKLED, pickle.dumps(indices)
        self._send(member, TASK.pack(len(body), kind, self._pass, number, slot) + body)

    def _send(self, member: _Member, message: bytes) -> None:
        # Behind what is waiting there: messages keep their order.
        member.backlog += message
        self._push(member)

    def _push(self, member: _Member) -> None:
        """Write as much of the backlog as the pipe takes."""
        while member.backlog:
            try:
                written = os.write(member.tasks, member.backlog)
            # The pipe is full; the rest goes when the worker has read.
            except BlockingIOError:
                return
            except BrokenPipeError:
                member.backlog = b""  # the worker has ended; whoever waits for a result of it is told
                return
            member.backlog = member.backlog[written:]

    # ---------------------------------------------------------------------------------------- results

    def wait(self, members: list[_Member]) -> _Member:
        """Return one of some workers that has a result, once there is one.

        Raises `WorkerError` where one of them is gone, or none comes in time; then the pool is over.
        """
        for member in members:
            if member.arrived or self._read(member):
                return member
        poll = select.poll()
        for member in members:
            poll.register(member.results, select.POLLIN)
        watched = {member.results: member for member in members}
        # What a full pipe has kept back is sent on from here, or a worker that waits for its task would be
        # waited for.
        writing = {member.tasks: member for member in self.members if member.backlog}
        for descriptor in writing:
            poll.register(descriptor, select.POLLOUT)
        since = time.monotonic()
        while True:
            span = GLANCE
            if self.timeout:
                span = min(span, self.timeout - (time.monotonic() - since))
                if span <= 0:
                    self._too_late(members)
            # At least a millisecond: 0 would not wait at all.
            for descriptor, _ in poll.poll(max(1, int(span * 1000))):
                if descriptor in writing:
                    self._push(writing[descriptor])
                    if not writing[descriptor].backlog:
                        poll.unregister(descriptor)
                elif self._read(watched[descriptor]):
                    return watched[descriptor]
            for member in members:
                # It may have sent a result and ended at once, so what is in the pipe counts first.
                if not member.process.is_alive() and not self._read(member):
                    self._lost(member)

    def _read(self, member: _Member) -> bool:
        """Take in what a worker has sent; say whether that is a result of this pass at least."""
        while True:
            try:
                chunk = os.read(member.results, CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                if not member.arrived:
                    self._lost(member)
                break
            buffer = member.buffer
            buffer += chunk
            taken = 0
            while len(buffer) - taken >= RESULT.size:
                length, kind, of_pass, number, slot, size, used = RESULT.unpack_from(buffer, taken)
                end = taken + RESULT.size + length
                if len(buffer) < end:
                    break
                # What was made for a pass that is over is read, and dropped.
                if of_pass == self._pass or kind == BROKEN:
                    body = bytes(memoryview(buffer)[taken + RESULT.size : end])
                    member.arrived.append(Result(kind, number, slot, size, used, body))
                taken = end
            del buffer[:taken]
            # A short read has emptied the pipe; another would only say so.
            if len(chunk) < CHUNK and not buffer:
                break
        return bool(member.arrived)

    def take(self, member: _Member) -> tuple[Task, Result]:
        """Return a worker's next result, and the task that it is of."""
        result = member.arrived.popleft()
        if result.kind == BROKEN:
            place = f"in DataLoader worker {member.id} (pid {member.process.pid}), while it was started"
            self.close()
            _raise(result.body, place)
        return member.pending.popleft(), result

    def open(self, member: _Member, task: Task, result: Result) -> Any:
        """Return the batch of a result; raise the error that it is instead."""
        if result.kind not in (BATCH, BATCH_IN_SLOT):
            member.free.append(task.slot)
            _raise(
                result.body,
                f"in DataLoader worker {member.id} (pid {member.process.pid}), batch {task.number} of "
                f"{describe(task.indices)}",
            )
        slot = member.slots[task.slot]
        # The more slots are lent, the fewer are left to work ahead in.
        if member.lent <= LENT:
            memory = slot.lend(result.size, member.free.append)
        else:
            memory = slot.copy(result.size, result.used)
            member.free.append(task.slot)
        body = result.body
        if result.kind == BATCH_IN_SLOT:
            place, length = struct.unpack("<QQ", body)
            body = memory[place : place + length].tobytes()
        return unpack(body, memory)

    def release(self, member: _Member, task: Task) -> None:
        """Take back the slot of a task of which nothing came."""
        member.free.append(task.slot)

    # --------------------------------------------------------------------------------------- failures

    def _lost(self, member: _Member) -> NoReturn:
        """Raise what is known of a worker that has ended."""
        process = member.process
        process.join(PATIENCE)
        code, pid, at_work = process.exitcode, process.pid, _at_work(member)
        self.close()
        raise WorkerError(
            f"DataLoader worker {member.id} (pid {pid}) exited unexpectedly: {_why(code)}. {at_work}."
        )

    def _too_late(self, members: list[_Member]) -> NoReturn:
        at_work = "; ".join(
            f"worker {member.id} (pid {member.process.pid}): {_at_work(member)}" for member in members
        )
        self.close()
        raise WorkerError(
            f"DataLoader timed out after {self.timeout:g} seconds, waiting for {at_work}. Pass a larger timeout, or "
            "look for what takes so long in these samples."
        )


def _want_two_pipes() -> None:
    """Fail where two pipes cannot be had: a process that is started so leaves the first open (CPython's popen_fork)."""
    for pipe in _pipes():
        for descriptor in pipe:
            os.close(descriptor)


def _pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    first = os.pipe()
    try:
        return first, os.pipe()
    except OSError:
        for descriptor in first:
            os.close(descriptor)
        raise


def _at_work(member: _Member) -> str:
    if not member.pending:
        return "It was at no batch"
    task = member.pending[0]
    return f"It was at batch {task.number} of {describe(task.indices)}"


_HINTS = {
    signal.SIGKILL: "the system does that where memory runs out",
    signal.SIGSEGV: "compiled code read memory that was not its own",
    signal.SIGBUS: "shared memory or a mapped file was smaller than it should be",
}


def _why(code: int | None) -> str:
    if code is None:
        return "its pipe is closed, though it still runs"
    if code >= 0:
        return f"it called exit with status {code}, or an error that is no Exception ended it"
    try:
        name = signal.Signals(-code)
    except ValueError:
        return f"signal {-code} ended it"
    hint = _HINTS.get(name)
    return f"{name.name} ended it" + (f" ({hint})" if hint else "")


def _raise(body: bytes, place: str) -> NoReturn:
    """Raise the error that a worker told of, as it is where it can travel, with where it was and its traceback."""
    itself, kind, message, notes, text = pickle.loads(body)
    error = pickle.loads(itself) if itself else WorkerError(f"{kind}: {message}")
    # Raised as it is, it would end the program's loop as if the data had ended.
    if isinstance(error, StopIteration):
        error = WorkerError(f"{kind} came out of the data set, which would have ended the loop")
    # The error itself brings its notes along.
    if not itself:
        for note in notes:
            error.add_note(note)
    error.add_note(f"{place}\n\nThe worker's traceback:\n{text}")
    raise error


def _close(members: list[_Member], control: mmap.mmap, owner: int) -> None:
    """End workers and give back what they used; an interrupt waits until that is done."""
    if os.getpid() != owner:
        return  # a process that was forked has the object, but the workers are not its own
    with deferred_interrupts.whole(unbreakable=True):
        _end(members, control)


def _end(members: list[_Member], control: mmap.mmap) -> None:
    CONTROL.pack_into(control, 0, OVER)
    for member in members:
        if member.process is not None and not member.backlog:
            # One that is busy looks at `control` before its next task.
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                os.write(member.tasks, TASK.pack(0, STOP, 0, 0, 0))
        for descriptor in (member.tasks, member.results):
            _ours.discard(descriptor)  # first: a process that is forked between the two would close another's
            os.close(descriptor)
    until = time.monotonic() + PATIENCE
    # By itself, then asked, then forced; at last it is only looked whether it helped.
    for end in ("terminate", "kill", None):
        for member in members:
            if member.process is not None:
                member.process.join(max(0.0, until - time.monotonic()))
        left = [
            member.process for member in members if member.process is not None and member.process.is_alive()
        ]
        if not left or end is None:
            break
        for process in left:
            getattr(process, end)()
        # Each of the three has its own time.
        until = time.monotonic() + PATIENCE
    # Arrays that the program still has keep the memory; only descriptors are given back.
    for member in members:
        for slot in member.slots:
            slot.close()
        # One that has not ended cannot be closed. It is a daemon, and ends with the program.
        if member.process is not None and not member.process.is_alive():
            member.process.close()
