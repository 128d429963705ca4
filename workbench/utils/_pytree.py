"""Nests of tuples, lists and dicts in PyTorch's words: apart to their leaves, and together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any
IsLeaf = Callable[[Any], bool]
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]

_NODES: dict[type, tuple[Flatten, Unflatten]] = {
    tuple: (lambda node: (node, None), lambda values, _: tuple(values)),
    list: (lambda node: (node, None), lambda values, _: list(values)),
    dict: (
        lambda node: (node.values(), list(node)),
        lambda values, keys: dict(zip(keys, values, strict=True)),
    ),
    OrderedDict: (
        lambda node: (node.values(), list(node)),
        lambda values, keys: OrderedDict(zip(keys, values, strict=True)),
    ),
    defaultdict: (
        lambda node: (node.values(), (node.default_factory, list(node))),
        lambda values, kept: defaultdict(kept[0], zip(kept[1], values, strict=True)),
    ),
    deque: (lambda node: (node, node.maxlen), deque),
}
"""How a type is taken apart, and put together of its values and what else was kept of it."""
_NAMED_TUPLE = (lambda node: (node, type(node)), lambda values, kind: kind(*values))


@dataclass(frozen=True)
class TreeSpec:
    """What a nest is without its leaves: a type, what is kept of it, and the specs of its parts."""

    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_leaves: int = field(init=False)

    def __post_init__(self) -> None:
        count = 1 if self.type is None else sum(one.num_leaves for one in self.children_specs)
        object.__setattr__(self, "num_leaves", count)

    @property
    def num_children(self) -> int:
        """How many parts it has."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Say whether this stands for a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the nest of these leaves."""
        return tree_unflatten(leaves, self)


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, **kwargs: Any) -> None:
    """Have a class of one's own taken apart. Raises ValueError where it is already."""
    if cls in _NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _NODES[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _node(tree: Any, is_leaf: IsLeaf | None) -> tuple[Any, tuple[Flatten, Unflatten]] | None:
    if is_leaf is not None and is_leaf(tree):
        return None
    kind = type(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return namedtuple, _NAMED_TUPLE
    known = _NODES.get(kind)
    return None if known is None else (kind, known)


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a nest, and what it is without them; None is a leaf.

    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves, tree_unflatten([10, 20, 30], spec)
    ([1, 2, 3], {'a': 10, 'b': (20, [30])})
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeSpec:
    found = _node(tree, is_leaf)
    if found is None:
        leaves.append(tree)
        return _LEAF
    kind, (flatten, _) = found
    parts, context = flatten(tree)
    return TreeSpec(kind, context, [_flatten(part, leaves, is_leaf) for part in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the nest of these leaves. Raises ValueError where there are more or fewer than it has."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: the nest has {treespec.num_leaves} leaves, and {len(given)} were given"
        )
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    unflatten = _NAMED_TUPLE[1] if spec.type is namedtuple else _NODES[spec.type][1]
    return unflatten([_unflatten(leaves, one) for one in spec.children_specs], spec.context)


def tree_iter(tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterable[Any]:
    """Go over the leaves of a nest."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of a nest."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """Return what a nest is without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Return the nest of ``func(leaf, …)``, with a leaf of each of `rests`, which are nests of the same form."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_at(rest, spec) for rest in rests]
    return tree_unflatten([func(*one) for one in zip(leaves, *others, strict=True)], spec)


def _leaves_at(tree: Any, spec: TreeSpec) -> list[Any]:
    """Return what `tree` has where `spec` has leaves, which may be nests themselves."""
    if spec.type is None:
        return [tree]
    found = _node(tree, None)
    parts = [] if found is None else list(found[1][0](tree)[0])
    if found is None or found[0] is not spec.type or len(parts) != spec.num_children:
        raise ValueError(
            f"tree_map: nests of different forms: {type(tree).__name__} stands where the first has "
            f"{spec.type.__name__} of {spec.num_children}"
        )
    return [
        leaf for part, one in zip(parts, spec.children_specs, strict=True) for leaf in _leaves_at(part, one)
    ]


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Call ``func(leaf, …)`` for each leaf, and return the nest as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    chosen = kinds if callable(kinds) and not isinstance(kinds, type) else lambda x: isinstance(x, kinds)
    return lambda x: func(x) if chosen(x) else x


def tree_map_only(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, *, is_leaf: IsLeaf | None = None
) -> Any:
    """Return the nest with `func` applied to leaves of a type, or of one of several, or that a function chooses."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, *, is_leaf: IsLeaf | None = None
) -> Any:
    """Call `func` for such leaves, and return the nest as it is."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf=is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Say whether `pred` holds of every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Say whether `pred` holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None
) -> bool:
    """Say whether `pred` holds of every leaf of a type."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind))


def tree_any_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None
) -> bool:
    """Say whether `pred` holds of a leaf of a type."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind))
