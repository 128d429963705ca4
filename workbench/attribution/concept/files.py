"""Files of concepts: names that stay in their folder, tensors and plain facts in safetensors, nothing that runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.value import new
from workbench.interop.safetensors import load_file, read_metadata, save_file
from workbench.tensor import Tensor

__all__ = ["path_part", "read_facts", "write_facts"]


def path_part(kind: str, text: str) -> str:
    """Return text that is to be a folder's or a file's name.

    Raises:
        ValueError: it would lead elsewhere, or is empty.

    >>> path_part("a layer's name", "features.3")
    'features.3'
    """
    if not text or text in (".", "..") or any(one in text for one in ("/", "\\", "\0", ":")):
        raise ValueError(
            f"{kind} is part of a file's name: {text!r} must not be empty or hold / \\ : or be . or .."
        )
    return text


def write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Write tensors, arrays, numbers, text and lists of these by name.

    Raises:
        TypeError: a fact is nothing of these.
    """
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Tensor):
            tensors[name] = value.detach()
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            tensors[name] = new(value, None)
        elif _is_plain(value):
            plain[name] = value
        else:
            raise TypeError(
                f"{name!r} is a {type(value).__name__}, which a file of facts does not hold; it holds tensors, "
                "numbers, text, None, and lists and dicts of these"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, {"facts": json.dumps(plain)})


def read_facts(path: Path) -> dict[str, Any]:
    """Return what `write_facts` wrote.

    Raises:
        ValueError: the file is no such file.
    """
    metadata = read_metadata(path)
    if "facts" not in metadata:
        raise ValueError(f"{path} holds no facts of concepts: it was written by something else")
    plain = json.loads(metadata["facts"])
    if not isinstance(plain, dict):
        raise ValueError(
            f"{path} holds no facts of concepts: there is a {type(plain).__name__} in their place"
        )
    return {**plain, **load_file(path)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_plain(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    return value is None or type(value) in (bool, int, float, str)
