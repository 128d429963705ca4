"""Checkpoints of a training: found, read, and the model put back as it was."""

from __future__ import annotations

import copy
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.core.dispatch import no_grad
from workbench.interop.safetensors import load_file
from workbench.interop.serialization import load
from workbench.nn import Module
from workbench.nn.state import StateDict

__all__ = ["found_checkpoints", "keeping", "load_checkpoint"]


def found_checkpoints(method: str, checkpoints: Any) -> list[Any]:
    """Return the checkpoints of a folder, by name, with numbers in their order; of a list of paths so, too.

    Raises:
        ValueError: there are none.
    """
    if isinstance(checkpoints, str | Path):
        found: list[Any] = [str(one) for one in Path(checkpoints).glob("*")]
    elif isinstance(checkpoints, Iterable):
        found = list(checkpoints)
    else:
        raise TypeError(
            f"{method}: checkpoints are a folder, or a list of paths, got {type(checkpoints).__name__}"
        )
    if not found:
        raise ValueError(f"{method}: there are no checkpoints in {checkpoints!r}")
    if all(isinstance(one, str) for one in found):
        return sorted(found, key=_in_order)
    return found


def _in_order(path: str) -> list[tuple[int, int, str]]:
    return [(0, int(one), "") if one.isdigit() else (1, 0, one) for one in re.split("([0-9]+)", path)]


def load_checkpoint(model: Module, path: Any) -> float:
    """Load the state that a file holds into a model; return its ``learning_rate``, 1 where it has none.

    The file is one of `workbench.save` or of PyTorch's, or safetensors; nothing in it is run.

    Raises:
        TypeError: the file holds no state.
    """
    state: Any = load_file(path) if str(path).endswith(".safetensors") else load(path)
    if not isinstance(state, dict):
        raise TypeError(f"{path} holds a {type(state).__name__}, and no state of a model by names")
    rate = float(state.get("learning_rate", 1.0))
    # As parallel training saves it; a part of the model may be called so itself.
    own = model.state_dict()
    whole = StateDict(
        (name if name in own else name.removeprefix("module."), value)
        for name, value in state.items()
        if name != "learning_rate"
    )
    # Versions of layers, and scales that have no key of their own, stand beside the keys.
    beside = getattr(state, "_metadata", None)
    if beside is not None:
        parts = {name for name, _ in model.named_modules(remove_duplicate=False)}
        whole._metadata = OrderedDict((_place(path, parts), told) for path, told in beside.items())
    model.load_state_dict(whole)
    return rate


def _place(path: str, parts: set[str]) -> str:
    """Return the path that a part has in the model for that in a state, which may begin with ``module``."""
    return path if path in parts else path.removeprefix("module").removeprefix(".")


@contextmanager
def keeping(model: Module) -> Iterator[None]:
    """Put a model's state back afterwards."""
    # Codes stand there with their biases in pairs, and beside types: not every value is a tensor.
    with no_grad():
        before = copy.deepcopy(model.state_dict())
    try:
        yield
    finally:
        model.load_state_dict(before)
