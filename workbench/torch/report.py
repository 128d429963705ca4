"""What is shown when a program ends with an error: its traceback, or one line on what it lacks here."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from workbench.base.absent import absent
from workbench.base.dims import near_miss
from workbench.base.errors import AbsentWordError, DeviceError, UnavailableError, WeightsError

__all__ = ["lacking", "report_to"]

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]

COMMAND = str(Path(__file__).with_name("command.py"))
WORKBENCH = str(Path(__file__).parent.parent)

FILES = os.path.join(WORKBENCH, "interop", "")
PYTHON = str(Path(traceback.__file__).parent)

_NETWORK = {
    ("urllib.error", "URLError"),
    ("socket", "gaierror"),
    ("requests.exceptions", "ConnectionError"),
    ("urllib3.exceptions", "MaxRetryError"),
    ("httpx", "ConnectError"),
    ("huggingface_hub.errors", "LocalEntryNotFoundError"),
}
"""Errors of who reached for a network, by module and name: their libraries need not be imported to be known."""


def report_to(hook: Hook, *, whole: bool = False) -> Hook:
    """Return an excepthook that leaves out the frames of this room, and says in a line what a program lacks.

    `whole` leaves the traceback where that line would stand. A hook that the program has set gets every error.
    """

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        own = _program_part(trace)
        line = None if whole or hook is not sys.__excepthook__ else lacking(error)
        if line is None:
            hook(kind, error.with_traceback(own), own)
        else:
            print(f"{_place(own)}{line}", file=sys.stderr)

    return report


def _program_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the program's first frame on; None where the program was never begun."""
    while trace is not None and trace.tb_frame.f_code.co_filename != COMMAND:
        trace = trace.tb_next
    # Then those of who read the program, and of Python's own search for a module.
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((COMMAND, "<frozen ")):
        trace = trace.tb_next
    return trace


def _place(trace: TracebackType | None) -> str:
    """Return where a program asked for what is not here: the last line that is neither ours nor Python's own."""
    frames = [frame for frame in traceback.extract_tb(trace) if not _inside(frame.filename)]
    if not frames:
        return ""
    path = frames[-1].filename
    near = os.path.relpath(path) if os.path.isabs(path) and path.startswith(os.getcwd()) else path
    return f"{near}, line {frames[-1].lineno}: "


def _inside(path: str) -> bool:
    if path.startswith(PYTHON):  # where packages are installed, too
        return "site-packages" not in path
    return path.startswith((WORKBENCH, "<frozen "))


def lacking(error: BaseException) -> str | None:
    """Say in a line what a program needs that is not here; None for any other error.

    >>> lacking(ModuleNotFoundError("No module named 'einops'", name="einops"))
    "needs the package 'einops', which is not installed here"
    >>> lacking(ZeroDivisionError("division by zero"))
    """
    if isinstance(error, ModuleNotFoundError) and error.name and not _ours(error.name):
        return f"needs the package {error.name.partition('.')[0]!r}, which is not installed here"
    if isinstance(error, ImportError):
        return _unknown_import(error)
    if isinstance(error, AbsentWordError):
        return _as_torch(str(error))
    if isinstance(error, UnavailableError | DeviceError) or _of_a_file(error):
        return _line(error)
    if isinstance(error, AttributeError) and error.name and _is_ours(error.obj):
        return _unknown_attribute(error.name, error.obj)
    if any((one.__module__, one.__name__) in _NETWORK for one in type(error).__mro__):
        return f"needs a network, and could not reach it: {_line(error)}"
    return None


def _of_a_file(error: BaseException) -> bool:
    """Say whether it is a file's own fault, or what may not be in one: no line of the program's is to blame then."""
    if not isinstance(error, WeightsError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(FILES) for frame in frames)


def _line(error: object) -> str:
    return " ".join(str(error).split())


def _as_torch(words: str) -> str:
    """Return words with the name of the workbench's modules as the program knows them."""
    return re.sub(r"'workbench(?=[.'])", "'torch", _line(words))


def _ours(name: str) -> bool:
    return name.partition(".")[0] in ("torch", "workbench")


def _unknown_import(error: ImportError) -> str | None:
    """Say of which word a module of ``torch`` has none: Python keeps neither our words nor the word itself."""
    if not error.name or not _ours(error.name):
        return None
    found = re.match(r"cannot import name '(\w+)'", str(error))
    if found is None:
        parent, _, word = error.name.rpartition(".")
    else:
        parent, word = error.name, found[1]
    module = sys.modules.get(parent)
    try:
        getattr(module, word)
    except AbsentWordError as absent:
        return _as_torch(str(absent))
    except AttributeError:
        pass
    near = near_miss(word, dir(module)) if module is not None else None
    hint = f": did you mean {near!r}?" if near else ""
    return _as_torch(f"module {parent!r} has no {'module' if found is None else 'name'} {word!r}{hint}")


def _is_ours(thing: Any) -> bool:
    """Say whether something is a module, class or value of the workbench's, and no class of the program's own."""
    if isinstance(thing, ModuleType):
        return _ours(thing.__name__)
    kind = thing if isinstance(thing, type) else type(thing)
    return _ours(kind.__module__)


def _unknown_attribute(name: str, thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return _as_torch(str(absent(name, thing.__name__, dir(thing))))
    what = (
        f"type object {thing.__name__!r}" if isinstance(thing, type) else f"{type(thing).__name__!r} object"
    )
    near = near_miss(name, dir(thing))
    return f"{what} has no attribute {name!r} here" + (f": did you mean {near!r}?" if near else "")
