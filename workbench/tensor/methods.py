"""The methods and operators that a tensor has from the table, as a type checker sees them.

They are bound when the tensor room is imported; their signatures stand in the stub beside this file, which
`python -m workbench.lab.stubs` writes.
"""

from __future__ import annotations

from workbench.core.value import Value

__all__ = ["Methods"]


class Methods(Value):
    """Nothing here while Python runs."""

    __slots__ = ()
