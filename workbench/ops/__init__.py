"""The table: every op, declared once, by family; and the functions people call.

Every file of this room is part of the table. A function that people call says at its definition where it is offered
(`offer.py`); here the declarations become the modules' contents, with the variants ``<name>_`` and ``out=``:

`FUNCTIONS`
    ``workbench.<name>``;
`METHODS`
    methods and properties of tensors;
`NN`, `LINALG`, `FFT`, `SPECIAL`
    ``workbench.nn.functional``, ``workbench.linalg``, ``workbench.fft``, ``workbench.special``,
    ``workbench.sparse``.
"""

from __future__ import annotations

import importlib
import pkgutil
import types
from typing import Any

from workbench.core.inplace import in_place, reshaping, taking_out
from workbench.core.op import Op, ops
from workbench.core.words import OPERANDS, taking_words, words_of
from workbench.ops.offer import Offer, Place, offered, offers

__all__ = [
    "FFT",
    "FUNCTIONS",
    "LINALG",
    "METHODS",
    "NN",
    "SPECIAL",
    "Offer",
    "Op",
    "offered",
    "offers",
    "ops",
]

# A file that is imported enters its records and offers by itself.
for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_found.name)

_IN_PLACE: dict[tuple[str, int], Any] = {}


def _in_place(one: Offer) -> Any:
    """Return the variant that writes in place: one function, wherever it is offered."""
    name = f"{one.name}_"
    key = name, id(one.function)
    if key not in _IN_PLACE:
        changed = in_place(name, one.function)
        _IN_PLACE[key] = (
            taking_words(changed, _worth(one)) if isinstance(one.function, types.FunctionType) else changed
        )
    return _IN_PLACE[key]


_RENAMING: dict[int, Any] = {}


def _taking(one: Offer, room: str) -> Any:
    """Return what is offered, with ``out=`` and other words for its parameters where it takes them."""
    if not isinstance(one.function, types.FunctionType):
        return one.function
    if one.out:
        return taking_out(one.name, one.function, room, one.out, words_of(one.function, one.words))
    return _RENAMING.setdefault(id(one.function), taking_words(one.function, _worth(one)))


def _worth(one: Offer) -> dict[str, str]:
    """Return the other words for parameters that are worth a step in between: NumPy's for operands are not."""
    return {word: own for word, own in words_of(one.function, one.words).items() if word not in OPERANDS}


def _offered(place: Place) -> dict[str, Any]:
    """Return what is offered at a place, by name, with its variants."""
    room = "workbench" if place == "workbench" else f"workbench.{place}"
    found: dict[str, Any] = {}
    for one in offers():
        if one.place == place:
            found[one.name] = _taking(one, room)
            if one.in_place:
                found[f"{one.name}_"] = _in_place(one)
            if one.inplace_view:
                found[f"{one.name}_"] = reshaping(f"{one.name}_", one.function)
    return found


FUNCTIONS = _offered("workbench")
"""What `workbench` offers by name."""
METHODS = _offered("Tensor")
"""What a tensor offers as methods."""
NN = _offered("nn.functional")
LINALG = _offered("linalg")
FFT = _offered("fft")
SPECIAL = _offered("special")
SPARSE = _offered("sparse")
