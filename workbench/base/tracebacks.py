"""What a notebook shows of an error whose words say all there is to know: the user's own lines, and those words."""

from __future__ import annotations

import textwrap
import traceback

from workbench.base import renderer_lookup

__all__ = ["short_traceback"]

WIDTH = 100
"""Letters of a line: JupyterLab breaks longer ones in the middle of a word."""


def short_traceback(error: BaseException) -> list[str]:
    """Return the traceback of `error` without the frames of this package, where there are others."""
    report = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    pending: list[traceback.TracebackException | None] = [report]
    while pending:
        one = pending.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.stack = _own(one.stack)
            pending += [one.__cause__, one.__context__]
    return [_readable(part) for part in report.format()]


def _own(stack: traceback.StackSummary) -> traceback.StackSummary:
    """Return the frames that are not this package's, nor Python's own where this package called it; else all."""
    own, left_out = [], False
    for frame in stack:
        path = frame.filename.replace("\\", "/")
        # Frames of Python's own go with those of the workbench that called them.
        left_out = _inside(path) or (left_out and path.startswith(_PYTHON) and "/site-packages/" not in path)
        if not left_out:
            own.append(frame)
    return traceback.StackSummary.from_list(own or list(stack))


def _inside(path: str) -> bool:
    """Say whether a frame is this package's or the notebook's machinery: nothing the user can mend is there."""
    return path.startswith(_PACKAGE) or "/IPython/core/" in path


_PACKAGE = __file__.replace("\\", "/").rpartition("/base/")[0] + "/"
_PYTHON = textwrap.__file__.replace("\\", "/").rpartition("/")[0] + "/"


def _readable(part: str) -> str:
    """Return a piece of a traceback: cells by their numbers, this package's errors by their names, words whole."""
    lines = []
    for line in part.splitlines():
        if line.startswith('  File "'):
            lines.append(_place(line))
        else:
            lines += _wrapped(_named(line))
    return "\n".join(lines) + "\n"


def _place(line: str) -> str:
    """``File "/tmp/ipykernel_1/2.py", line 3`` is ``Cell In[4], line 3`` to who wrote it."""
    filename, _, rest = line.removeprefix('  File "').partition('"')
    cell = renderer_lookup.cell_of(filename)
    return line if cell is None else f"  {cell}{rest.removesuffix(', in <module>')}"


def _named(line: str) -> str:
    name, colon, words = line.partition(":")
    if colon and name.startswith("workbench.") and name.replace(".", "_").isidentifier():
        return f"{name.rpartition('.')[2]}:{words}"
    return line


def _wrapped(line: str) -> list[str]:
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    if len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False, tabsize=4,
    )  # fmt: skip
