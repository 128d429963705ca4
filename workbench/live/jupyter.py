"""The link over Jupyter's comms: the only file that knows ipykernel, and only if it is already running.

Nothing is imported here: a process that is the kernel of a notebook has ipykernel loaded.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from workbench.live import cells
from workbench.live.link import CONTROL, DATA, KernelLink
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.live.throttle import throttle

__all__ = ["connect"]

_link: KernelLink | None = None


class CommChannel:
    """A Jupyter comm as a `Channel`."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    @property
    def comm_id(self) -> str:
        """Identity of the comm, the same at both ends."""
        return str(self.comm.comm_id)

    def send(self, data: dict[str, Any], *, buffers: Sequence[bytes] | None = None) -> None:
        """Write one message."""
        self.comm.send(data, buffers=list(buffers) if buffers else None)

    def listen(self, receive: Callable[[dict[str, Any]], None]) -> None:
        """Call ``receive(message)`` at every message.

        The comm's own handler would run IPython's hooks for cells around each message, and those may meet a
        running cell in another thread (a half-drawn figure would be shown and closed), so it is replaced.
        """
        self.comm.handle_msg = receive


def connect() -> KernelLink | None:
    """Return this process's link, made at the first call; None if the process is no Jupyter kernel.

    >>> connect() is None
    True
    """
    global _link
    if _link is None and _is_kernel():
        _link = _make()
    return _link


def _is_kernel() -> bool:
    kernels = sys.modules.get("ipykernel.kernelbase")
    return kernels is not None and "comm" in sys.modules and bool(kernels.Kernel.initialized())


def _make() -> KernelLink:
    comms = sys.modules["comm"]
    manager = comms.get_comm_manager()
    data = _open_data(comms, manager)
    link = KernelLink(data, registry, renderers, selection)
    # The throttle makes its thread at the first request, which comes later than this.
    throttle.enter = _enter_thread

    running = RunningCell(sys.modules["ipykernel.kernelbase"].Kernel.instance())

    def opened(comm: Any, message: dict[str, Any]) -> None:
        running.tell()
        control = CommChannel(comm)
        control.listen(lambda received: link.receive(control, received))
        comm.on_close(lambda closing: link.leave(control))
        # The message that opens the comm carries the page's first hello.
        link.receive(control, message)

    manager.register_target(CONTROL, opened)
    _hear_cells(running)
    return link


class RunningCell:
    """The cell that runs, of which the kernel tells every page that opens meanwhile.

    A kernel says that it is busy when a cell begins: a page that was not there then would show an unknown status up to
    the cell's end.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._lock = threading.Lock()
        self._request: dict[str, Any] | None = None
        # The cell that imports the workbench has begun already.
        self.begin()

    def begin(self, info: object = None) -> None:
        """Keep the request whose cell begins; those of other threads, and silent ones, are no business of the pages."""
        request = self._kernel.get_parent("shell")
        header, content = request.get("header", {}), request.get("content", {})
        ours = header.get("msg_type") == "execute_request" and not content.get("silent")
        if ours and header.get("subshell_id") is None:
            with self._lock:
                self._request = request

    def end(self) -> None:
        """Forget it; what is told after this would stand behind the kernel's own word that it is idle."""
        with self._lock:
            self._request = None

    def tell(self) -> None:
        """Say once more that the kernel is busy with it, if there is one."""
        with self._lock:
            if self._request is not None:
                topic = f"kernel.{self._kernel.ident}.status".encode()
                self._kernel.session.send(
                    self._kernel.iopub_socket,
                    "status",
                    {"execution_state": "busy"},
                    parent=self._request,
                    ident=topic,
                )


def _hear_cells(running: RunningCell) -> None:
    """Hear when a cell begins and has ended. A kernel without IPython's shell has no cells."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        shell.events.register("pre_run_cell", running.begin)
        # The first, as what follows may raise or take its time.
        shell.events.register("post_run_cell", lambda result: running.end())
        shell.events.register("post_run_cell", lambda result: _cell_ended(result, shell.user_ns))


def _cell_ended(result: Any, names: dict[str, Any]) -> None:
    cells.ended.tell(result, names)
    # Last, so that what the cell shows comes at once, too.
    cells.settle(registry, throttle)


def _enter_thread() -> None:
    """Let what the throttle's thread sends be nobody's answer.

    Otherwise it would count as an answer to the last message of whatever page, and ipykernel would hand
    what widgets say to the thread that has served that page, even when it is gone.
    """
    kernel = sys.modules["ipykernel.kernelbase"].Kernel.instance()
    # Private, and other in older versions: where it is not what we know, nothing is changed.
    parent = getattr(kernel, "_shell_parent", None)
    if isinstance(parent, ContextVar):
        parent.set({})


def _open_data(comms: Any, manager: Any) -> CommChannel:
    """Open the data comm: pages that are there learn from it that this kernel has a workbench."""
    comm = comms.create_comm(target_name=DATA, data={"version": 1})

    def closed(message: dict[str, Any]) -> None:
        # One page of several, or a front end without the workbench, has no use for it; the others still do.
        # A comm that was closed by one page would send nothing to the others, and would not be found by them.
        comm._closed = False
        manager.register_comm(comm)

    comm.on_close(closed)
    return CommChannel(comm)
