"""The table: every op, declared once, by family; and the functions people call.

Every file of this room is part of the table. A function that people call says at its definition where it is offered
(`offer.py`); here the declarations become the modules' contents, with the variants ``<name>_`` and ``out=``:

`FUNCTIONS`
    ``workbench.<name>``;
`METHODS`
    methods and properties of tensors;
`NN`, `LINALG`, `FFT`, `SPECIAL`
    ``workbench.nn.functional``, ``workbench.linalg``, ``workbench.fft``, ``workbench.special``.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from workbench.core.inplace import in_place, reshaping, taking_out
from workbench.core.op import Op, ops
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
    return _IN_PLACE.setdefault((name, id(one.function)), in_place(name, one.function))


def _offered(place: Place) -> dict[str, Any]:
    """Return what is offered at a place, by name, with its variants."""
    room = "workbench" if place == "workbench" else f"workbench.{place}"
    found: dict[str, Any] = {}
    for one in offers():
        if one.place == place:
            found[one.name] = taking_out(one.name, one.function, room, one.out) if one.out else one.function
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
