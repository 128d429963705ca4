"""Files that are replaced whole or not at all, or opened where they are files; folders for one at a time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from workbench.base.lazy import Lazy

__all__ = ["alone", "open_file", "replacing"]

fcntl = Lazy("fcntl")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a new, empty file beside `path`; at the end it takes the place of `path`, synced to the disk.

    Where the block fails the new file is removed, and what was at `path` stays as it was. A link stays a link: the
    file it leads to is replaced. Who may read a file that is replaced stays as it was, too. Raises OSError for a path
    that leads to a device or a pipe, FileNotFoundError where the folder is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as part:
    ...         _ = part.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    target = Path(os.path.realpath(path))
    before = _mode_of(target)
    name = os.fsdecode(os.fsencode(target.name)[:200])  # of bytes a name has at most 255
    part = target.with_name(f".{name}.{os.urandom(4).hex()}.part")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target} cannot be written: there is no folder {target.parent}; make it first"
        )
    # Nobody else may read what is to replace a private file, not even before it is whole.
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if before is None else 0o600)
    try:
        # without a file before it, what the user's mask leaves
        mode = stat.S_IMODE(os.fstat(handle).st_mode) if before is None else before
        os.close(handle)
        yield part
        os.chmod(part, mode)
        _sync(part)
        os.replace(part, target)
    except BaseException:
        # An interrupt leaves no part of a file either.
        part.unlink(missing_ok=True)
        raise
    # That a file has a new name is on the disk when its folder is.
    if os.name == "posix":
        _sync(target.parent)


def _mode_of(path: Path) -> int | None:
    """Return who may do what with a file; None where there is none."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is no regular file: it is not replaced")
    return stat.S_IMODE(mode)


def _sync(path: Path) -> None:
    # Windows syncs only what is open for writing.
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_file(path: str | os.PathLike[str]) -> tuple[BinaryIO, int]:
    """Open a file for reading; return it and its size.

    Raises OSError where there is none, or where the path leads to something that is no file: a folder, a pipe, a
    device.
    """
    kind = os.stat(os.fspath(path)).st_mode  # no number of an open file
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a file")
    if not stat.S_ISREG(kind):
        raise OSError(f"{os.fspath(path)} is no regular file")
    stream = open(path, "rb")  # noqa: SIM115 - the caller closes it
    return stream, os.fstat(stream.fileno()).st_size


@contextmanager
def alone(folder: str | os.PathLike[str], *, wait: bool | float = True) -> Iterator[bool]:
    """Keep everybody else who asks for `folder` waiting during this block; say whether that could be had.

    `wait` may be a number of seconds: where another has it longer it is not had; and never where the system has no
    locks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone(folder) as first, alone(folder, wait=False) as second:
    ...     first, second
    (True, False)
    """
    if os.name != "posix":
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        had = _locked(handle, wait)
        try:
            yield had
        finally:
            if had:
                # A process that was forked meanwhile has the handle too: closing ours would not let go.
                fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _locked(handle: int, wait: bool | float) -> bool:
    end = time.monotonic() + (0.0 if wait is True else wait)
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait is True else fcntl.LOCK_NB))
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        except OSError:
            return False  # a file system without locks
        else:
            return True
