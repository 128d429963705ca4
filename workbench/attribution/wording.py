"""The values of settings in words, and as Python that finds an answer again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.tensor import Tensor

__all__ = ["is_plain", "said", "with_own", "written"]

LONGEST = 200
"""Most characters of a line that names variables."""


def is_plain(value: Any) -> bool:
    """Say whether the text of a value is Python for it: of numbers, words, slices, and what is made of them.

    >>> is_plain((1, slice(0, 2))), is_plain(float("inf")), is_plain([len])
    (True, False, False)
    """
    if type(value) in (tuple, list):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, (*value, *value.values())))
    if type(value) is slice:
        return is_plain([value.start, value.stop, value.step])
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def written(name: str, value: Any) -> str:
    """Return Python for the value of a setting: of one that cannot be written, the name of the setting.

    >>> written("n_steps", 20), written("strides", (1, 4)), written("perm_func", len)
    ('20', '(1, 4)', 'perm_func')
    """
    return repr(value) if is_plain(value) else name


def with_own(code: str, given: Mapping[str, Any]) -> str:
    """Return `code` below a line that says which of its variables stand for what cannot be written.

    >>> print(with_own("explain(model, perm_func=perm_func)", {"perm_func": len, "n_steps": 20}))
    # Your own: perm_func (len)
    explain(model, perm_func=perm_func)
    """
    own = [f"{name} ({said(value).strip('()')})" for name, value in given.items() if not is_plain(value)]
    # One line, whatever things are called: the next is run.
    line = " ".join(f"# Your own: {', '.join(own)}".split())[:LONGEST]
    return f"{line}\n{code}" if own else code


def said(value: Any) -> str:
    """Return the value of a setting as people read it: of what has no short form, what it is.

    >>> said(0.5), said((3, slice(0, 2))), said(len), said(Tensor([1.0]))
    ('0.5', '(3, 0:2)', 'len', 'tensor')
    """
    if isinstance(value, bool | int | str):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, slice):
        bounds = [value.start, value.stop, *([] if value.step is None else [value.step])]
        return ":".join("" if one is None else str(one) for one in bounds)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(said, value))})"
    return "tensor" if isinstance(value, Tensor) else str(getattr(value, "__name__", type(value).__name__))
