"""What PyTorch offers, as its own documentation and signatures have it: names, and names and order of parameters."""

from __future__ import annotations

import inspect
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SPACES: dict[str, tuple[Any, Any]] = {
    "torch": (torch, wb),
    "Tensor": (torch.Tensor, wb.Tensor),
    "nn": (torch.nn, wb.nn),
    "nn.functional": (torch.nn.functional, wb.nn.functional),
    "nn.init": (torch.nn.init, wb.nn.init),
    "nn.utils": (torch.nn.utils, wb.nn.utils),
    "optim": (torch.optim, wb.optim),
    "optim.lr_scheduler": (torch.optim.lr_scheduler, wb.optim.lr_scheduler),
    "autograd": (torch.autograd, wb.autograd),
    "linalg": (torch.linalg, wb.linalg),
    "fft": (torch.fft, wb.fft),
    "special": (torch.special, wb.special),
    "func": (torch.func, wb.func),
}


_LISTED = ("optim.lr_scheduler", "autograd", "special", "func")
"""Files that say what they offer; in others it is what does not begin with an underscore."""


def names_of(space: str) -> list[str]:
    """Return the public names of a space of PyTorch's, modules and words for type checkers left out."""
    theirs = SPACES[space][0]
    found = set(theirs.__all__) if space in _LISTED else set(dir(theirs)) - {"TYPE_CHECKING"}
    if space == "torch":
        found = {*torch.__all__, *dir(torch._C._VariableFunctions)}
    return sorted(
        name
        for name in found
        if not name.startswith("_")
        and not isinstance(getattr(theirs, name, None), types.ModuleType)
        and getattr(getattr(theirs, name, None), "__module__", "")
        not in ("typing", "collections.abc", "typing_extensions")
    )


def has(space: str, name: str) -> bool:
    """Say whether we have a name."""
    with warnings.catch_warnings(action="ignore"):
        return hasattr(SPACES[space][1], name)


def pairs() -> Iterator[tuple[str, str, Callable[..., Any], Callable[..., Any]]]:
    """Yield what both libraries have and call: space, name, theirs and ours."""
    for space, (theirs, ours) in SPACES.items():
        for name in names_of(space):
            if has(space, name):
                one, other = getattr(theirs, name, None), getattr(ours, name)
                if callable(one) and callable(other):
                    yield space, name, one, other


def parameters(name: str, function: Callable[..., Any]) -> list[list[tuple[str, bool]]]:
    """Return the signatures of a function of PyTorch's: names of parameters, and whether each goes by position.

    Where Python knows none, they are those at the top of its documentation and behind ``.. function::``.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        said = re.findall(
            rf"(?:^|function::|\n)\s*(?:torch\.)?{re.escape(name)}\((.*?)\)", inspect.getdoc(function) or ""
        )
        return [_read(one) for one in said]
    kinds = inspect.Parameter
    return [
        [
            (one.name, one.kind is not kinds.KEYWORD_ONLY)
            for one in signature.parameters.values()
            if one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        ]
    ]


def _read(text: str) -> list[tuple[str, bool]]:
    found, by_place = [], True
    for part in text.replace("[", "").replace("]", "").split(","):
        word = part.split("=")[0].split(":")[0].strip()
        if word == "*":
            by_place = False
        elif re.fullmatch(r"\w+", word) and not word.isdigit():
            found.append((word, by_place))
    return found
