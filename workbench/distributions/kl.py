"""The Kullback-Leibler divergence: a table of pairs of distributions, and which of its entries is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_found: dict[tuple[type, type], Divergence | None] = {}
"""Answers that were found before: a table that is asked in every step of a training."""


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Enter the function below as the divergence of a pair of classes, and of their subclasses.

    Raises TypeError for what is no class of distributions.

    >>> import workbench as wb
    >>> class Mine(wb.distributions.Normal): ...
    >>> @register_kl(Mine, Mine)
    ... def _of_mine(p, q):
    ...     return wb.tensor(7.0)
    >>> wb.distributions.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    tensor(7.)
    """
    given: dict[str, Any] = {"type_p": type_p, "type_q": type_q}
    for name, one in given.items():
        if not (isinstance(one, type) and issubclass(one, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {one}")

    def enter(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _found.clear()
        return function

    return enter


def _distance(kind: type, entry: type) -> int:
    return kind.__mro__.index(entry)


def _divergence(type_p: type, type_q: type) -> Divergence | None:
    """Return the entry of the closest classes. Raises RuntimeError where p's choice is not q's."""
    if (type_p, type_q) in _found:
        return _found[type_p, type_q]
    entries = [
        (left, right)
        for left, right in _KL_REGISTRY
        if issubclass(type_p, left) and issubclass(type_q, right)
    ]
    chosen: Divergence | None = None
    if entries:
        places = {entry: (_distance(type_p, entry[0]), _distance(type_q, entry[1])) for entry in entries}
        by_p = min(entries, key=lambda entry: places[entry])
        by_q = min(entries, key=lambda entry: places[entry][::-1])
        chosen = _KL_REGISTRY[by_p]
        if chosen is not _KL_REGISTRY[by_q]:
            names = [f"{left.__name__}, {right.__name__}" for left, right in (by_p, by_q)]
            raise RuntimeError(
                f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}): ({names[0]}) is closer to the "
                f"first and ({names[1]}) to the second. Please register_kl({type_p.__name__}, {type_q.__name__})"
            )
    _found[type_p, type_q] = chosen
    return chosen


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p‖q) = E_p[ln p(x) - ln q(x)] for each place of the batch, in nats.

    Raises NotImplementedError for a pair that is not in the table.

    >>> import workbench as wb
    >>> d = wb.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    function = _divergence(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}: "
            "register_kl enters one, and (p.log_prob(x) - q.log_prob(x)).mean(0) for x = p.sample((n,)) estimates it"
        )
    return function(p, q)
