"""The exceptions of the workbench: what was given, why it is wrong, and what would work.

`DimensionError` carries its operands, so that a notebook can draw them side by side with the offending
dimensions marked, where a terminal prints the same facts as text.
"""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass, replace

from workbench.base import renderer_lookup
from workbench.base.tracebacks import short_traceback

__all__ = [
    "AbsentWordError",
    "AutogradError",
    "DTypeError",
    "DeviceError",
    "DimensionError",
    "DimensionIndexError",
    "NoNumbersError",
    "Operand",
    "QuantizationError",
    "Shown",
    "StateDictError",
    "UnavailableError",
    "WeightsError",
    "short",
]


@dataclass(frozen=True)
class Operand:
    """One operand of a refused op: its dims, where each size came from, and which dims offend."""

    label: str
    names: tuple[str | None, ...]
    sizes: tuple[int, ...]
    origins: tuple[str, ...] = ()
    marks: tuple[bool, ...] = ()

    def __str__(self) -> str:
        dims = ", ".join(
            f"{'>' if mark else ''}{name or '·'}:{size}{'<' if mark else ''}"
            for name, size, mark in zip(self.names, self.sizes, self._marks(), strict=True)
        )
        return f"{self.label or 'tensor'}[{dims}]"

    def named_by(self) -> list[str]:
        """Say where the names of the offending dims (of all, where none is marked) came from, as far as is known."""
        found: dict[str, list[str]] = {}
        every = not any(self._marks())
        for name, origin, mark in zip(self.names, self.origins, self._marks(), strict=False):
            if name is not None and origin and (mark or every):
                found.setdefault(origin, []).append(repr(name))
        return [
            f"{', '.join(names)} of {self.label or 'tensor'}: {origin}" for origin, names in found.items()
        ]

    def _marks(self) -> tuple[bool, ...]:
        return self.marks or (False,) * len(self.names)


class DimensionError(RuntimeError):
    """Names or sizes of dimensions that do not fit together.

    `op` is the op that refused, `operands` what it was given, `message` why, `fix` code that would work.
    """

    def __init__(
        self, message: str, *, op: str = "", operands: tuple[Operand, ...] = (), fix: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.operands = operands
        self.fix = fix
        self._drawn = False

    def __str__(self) -> str:
        said = not self.op or self.message.startswith(f"{self.op}: ")
        lines = [self.message if said else f"{self.op}: {self.message}"]
        lines += [f"  {operand}" for operand in self.operands]
        lines += [f"  {line}" for operand in self.operands for line in operand.named_by()]
        if self.fix:
            lines.append(f"  try: {self.fix}")
        return "\n".join(lines)

    def label(self, labels: tuple[str, ...], origins: tuple[tuple[str, ...], ...]) -> None:
        """Name the operands as the caller knows them, and say where each dim came from, once the caller is known."""
        for operand, label in zip(self.operands, labels, strict=False):
            if label and operand.label:
                # The fix is code, in which operands go by their labels.
                self.fix = re.sub(rf"\b{re.escape(operand.label)}\b", label, self.fix)
        self.operands = tuple(
            replace(
                operand,
                label=label or operand.label,
                origins=operand.origins or (came if len(came) == len(operand.names) else ()),
            )
            for operand, label, came in zip(self.operands, labels, origins, strict=False)
        )

    def _render_traceback_(self) -> list[str]:
        """Draw the operands above the traceback where this is shown in a notebook (IPython calls this)."""
        if not self._drawn:
            self._drawn = True  # IPython may ask for the traceback more than once
            renderer_lookup.display_error(self)
        return short_traceback(self)


class DimensionIndexError(DimensionError, IndexError):
    """A dimension, or an index into one, that is not there."""


class DimensionValueError(DimensionError, ValueError):
    """Dims that a layer does not take."""


class Shown(Exception):
    """An error whose words say all there is to know: a notebook shows only the user's own lines above them."""

    def _render_traceback_(self) -> list[str]:
        """Return the traceback without the frames of this package (IPython calls this)."""
        return short_traceback(self)


class DTypeError(Shown, TypeError, RuntimeError):
    """Values of a type that an op does not take."""


class NoNumbersError(Shown, RuntimeError):
    """Somebody asked for the numbers of a value that has only a shape and a type, as while tracing."""


class StateDictError(Shown, RuntimeError):
    """A state_dict that does not fit a module."""


class UninitializedError(RuntimeError, ValueError):
    """Somebody asked for the sizes or numbers of a parameter of which the sizes are not known yet."""


class AutogradError(Shown, RuntimeError):
    """A gradient that cannot be computed as asked."""


class DeviceError(Shown, RuntimeError):
    """Values on devices that do not go together, a device that is not there, or one that cannot do what is asked."""


class UnavailableError(Shown, RuntimeError):
    """A word that is there, and needs what is not: other processes, a GPU, a network, a compiler."""


class AbsentWordError(Shown, AttributeError):
    """A word that a module or a tensor has not; the text says what it is called, why there is none, or the nearest.

    `obj` is not set: Python would guess a name once more below these words.
    """

    def __init__(self, message: str, *, name: str, module: str) -> None:
        super().__init__(message)
        self.name = name
        self.module = module

    def __reduce__(self) -> tuple[object, ...]:
        return _absent_word, (str(self), self.name, self.module)


def _absent_word(message: str, name: str, module: str) -> AbsentWordError:
    return AbsentWordError(message, name=name, module=module)


class QuantizationError(Shown, RuntimeError):
    """A quantization that cannot be done as asked."""


class WeightsError(Shown, ValueError):
    """A file of weights that is damaged, is not what it claims, or holds what is never read."""


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100


def short(value: object) -> str:
    """Return `value` as it is printed, cut where it is long: what a hostile file says ends in the words of an error.

    >>> short([1, 2, 3, 4, 5, 6, 7]), len(short("a" * 1000))
    ('[1, 2, 3, 4, 5, 6, ...]', 100)
    """
    return _SHORT.repr(value)
