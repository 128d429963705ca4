"""The table: every op, declared once, by family; and the functions people call.

Every file of this room is part of the table. A file says what people call in module-level names, each optional:

`FUNCTIONS`
    offered as ``workbench.<name>`` and, unless listed in `NOT_METHODS`, as a method of tensors;
`METHODS`
    offered as methods of tensors only;
`NN`, `LINALG`, `FFT`, `SPECIAL`
    offered in ``workbench.nn.functional``, ``workbench.linalg``, ``workbench.fft``, ``workbench.special``;
`INPLACE`
    names of functions or methods that also come as ``<name>_``, which writes into the first operand's memory;
`OUT`
    names of functions that take ``out=``, the tensor to write the result into.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from workbench.core.inplace import in_place, reshaping, taking_out
from workbench.core.op import Op, ops

__all__ = ["FFT", "FUNCTIONS", "INPLACE", "LINALG", "METHODS", "NN", "OUT", "SPECIAL", "Op", "ops"]

_FILES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(__path__, f"{__name__}.")
    if not found.ispkg
]


def _declared(word: str) -> Iterator[tuple[str, Any]]:
    """Yield what the files declare under `word`; two files cannot offer one name."""
    seen: dict[str, str] = {}
    for file in _FILES:
        for name, function in getattr(file, word, {}).items():
            if name in seen:
                raise ValueError(f"{word}: {name!r} is declared in {seen[name]} and in {file.__name__}")
            seen[name] = file.__name__
            yield name, function


def _listed(word: str) -> frozenset[str]:
    return frozenset(name for file in _FILES for name in getattr(file, word, ()))


INPLACE = _listed("INPLACE")
OUT = _listed("OUT")


_RESHAPING = ("squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")
"""Views that come in place too: ``x.squeeze_()`` changes the dims of `x`."""


def _offered(word: str, room: str = "workbench") -> dict[str, Any]:
    """Return what the files declare under `word`, with ``out=`` where it is taken."""
    return {
        name: taking_out(name, function, room) if name in OUT else function
        for name, function in _declared(word)
    }


_NOT_METHODS = _listed("NOT_METHODS")
_METHODS: dict[str, Any] = {
    **{name: function for name, function in _declared("FUNCTIONS") if name not in _NOT_METHODS},
    **dict(_declared("METHODS")),
}
FUNCTIONS: dict[str, Any] = _offered("FUNCTIONS")
"""What `workbench` offers by name."""
NN: dict[str, Any] = dict(_declared("NN"))
LINALG: dict[str, Any] = _offered("LINALG", "workbench.linalg")
FFT: dict[str, Any] = _offered("FFT", "workbench.fft")
SPECIAL: dict[str, Any] = _offered("SPECIAL", "workbench.special")
METHODS: dict[str, Any] = {
    **_METHODS,
    **{f"{name}_": in_place(f"{name}_", _METHODS[name]) for name in sorted(INPLACE)},
    **{f"{name}_": reshaping(f"{name}_", _METHODS[name]) for name in _RESHAPING},
}
"""What a tensor offers as methods."""

_IN_PLACE = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh as_strided asin asinh atan atanh ceil celu clamp
clamp_max clamp_min clip conj_physical cos cosh deg2rad erf erfc exp exp2 expm1 fill fix floor frac gcd i0 index_put
lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt selu sigmoid sin sinc
sinh sqrt square tan tanh threshold trunc xlogy
"""
"""What PyTorch offers in place as a function too: ``wb.relu_(x)``."""

FUNCTIONS.update({f"{name}_": METHODS[f"{name}_"] for name in _IN_PLACE.split() if f"{name}_" in METHODS})
