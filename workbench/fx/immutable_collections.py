"""Lists and dicts among the operands of a node: they are read, and never changed in place.

What a node is called with is the graph's. A change in place would be lost, or missed by the users of a node, so it is
refused with what to write.
"""

from __future__ import annotations

from typing import Any, NoReturn

from workbench.base.public import words

__all__ = ["immutable_dict", "immutable_list"]


def _refusing(kind: str) -> Any:
    def refuse(self: Any, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError(
            f"'{kind}' object does not support mutation: operands of a node are changed by assigning new ones, "
            "node.args = (…) or node.kwargs = {…}"
        )

    return refuse


class immutable_list(list[Any]):
    """A list that refuses changes.

    >>> immutable_list([1]).append(2)
    Traceback (most recent call last):
    TypeError: 'immutable_list' object does not support mutation: operands of a node are changed by assigning new ...
    """

    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that refuses changes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (dict(self),)


for _name in (
    "__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop", "remove",
    "reverse", "sort",
):  # fmt: skip
    setattr(immutable_list, _name, _refusing("immutable_list"))
for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(immutable_dict, _name, _refusing("immutable_dict"))
del _name

__getattr__, __dir__ = words(__name__, __all__)
