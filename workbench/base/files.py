"""Files that are replaced whole or not at all, and files opened only where they are files."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_file", "replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a new, empty file beside `path`; at the end it takes the place of `path`, synced to the disk.

    Where the block fails the new file is removed, and what was at `path` stays as it was. A link stays a link: the
    file it leads to is replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as part:
    ...         _ = part.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)  # what the user's mask leaves
        os.close(handle)
        yield part
        os.chmod(part, mode)
        _sync(part)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        _sync(target.parent)


def _sync(path: Path) -> None:
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
    kind = os.stat(path).st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a file")
    if not stat.S_ISREG(kind):
        raise OSError(f"{os.fspath(path)} is no regular file")
    stream = open(path, "rb")  # noqa: SIM115 - the caller closes it
    return stream, os.fstat(stream.fileno()).st_size
