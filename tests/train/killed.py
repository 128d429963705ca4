"""A training that stands still at a chosen point, to be killed: ``python -m tests.train.killed FOLDER POINT``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.train.parts import loader, trainer
from workbench.base import files
from workbench.interop import safetensors
from workbench.train import state

EPOCHS = 4
SAVE = 3
"""The save at which to stand still."""


def stand_still(*_: Any) -> None:
    print("here", flush=True)
    time.sleep(600)


def at_save(number: int, before: Callable[..., None], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, which calls `before` at its call of that number."""
    calls = [0]

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            before(*arguments)
        return function(*arguments, **keywords)

    return wrapped


def half_written(path: Path, *_: Any) -> None:
    path.write_bytes(b"\x10\0\0\0\0\0\0\0{half")
    stand_still()


def main(folder: str, point: str) -> None:
    made = trainer(seed=3, checkpoint=folder)
    resume = None
    if point == "writing":
        safetensors._write = at_save(SAVE, half_written, safetensors._write)
    elif point == "replacing":
        os.replace = at_save(SAVE, stand_still, os.replace)
    elif point == "replaced":
        files._sync = at_save(2 * SAVE, stand_still, files._sync)  # the file's, then the folder's
    elif point == "reading":
        resume = "last"
        state.apply = at_save(1, stand_still, state.apply)
    elif point == "taking over":
        resume = "last"
        made.optimizer.load_state_dict = stand_still  # type: ignore[method-assign]
    made.fit(loader(), loader(), epochs=EPOCHS, resume=resume)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
