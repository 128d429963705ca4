"""What keeps values that pass in a graph, and functions that say how far two values are from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.nn import Module, functional
from workbench.tensor import Tensor

__all__ = [
    "OutputComparisonLogger", "OutputLogger", "compute_cosine_similarity", "compute_normalized_l2_error",
    "compute_sqnr", "numbers_of",
]  # fmt: skip


def numbers_of(x: Any) -> Any:
    """Return codes as the numbers that they stand for, all else as it is."""
    return x.dequantize() if isinstance(x, Tensor) and x.is_quantized else x


def _compared(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(x: Any, y: Any) -> Any:
        if isinstance(x, tuple | list):
            return [compare(one, other) for one, other in zip(x, y, strict=True)]
        return function(numbers_of(x), numbers_of(y))

    compare.__name__ = compare.__qualname__ = function.__name__
    compare.__doc__ = function.__doc__
    return compare


@_compared
def compute_sqnr(x: Any, y: Any) -> Any:
    """Return the ratio of `x` to its difference from `y`, 20·log₁₀(‖x‖ / ‖x - y‖), in dB; of tuples one each.

    >>> import workbench as wb
    >>> compute_sqnr(wb.tensor([3.0, 4.0]), wb.tensor([3.0, 3.5])).item()
    20.0
    """
    return 20 * (x.norm() / (x - y).norm()).log10()


@_compared
def compute_normalized_l2_error(x: Any, y: Any) -> Any:
    """Return ‖x - y‖ / ‖x‖; of tuples one each."""
    return (((x - y) ** 2).sum() / (x**2).sum()).sqrt()


@_compared
def compute_cosine_similarity(x: Any, y: Any) -> Any:
    """Return the cosine of the angle between two tensors seen as rows, [1]; of tuples one each."""
    return functional.cosine_similarity(x.reshape(1, -1), y.reshape(1, -1))


class OutputLogger(Module):
    """Keeps what passes, in `stats`; pairs of a recurrent layer in `stats_rnn`."""

    _is_impure = True

    def __init__(
        self,
        ref_node_name: str,
        prev_node_name: str,
        model_name: str,
        ref_name: str,
        prev_node_target_type: str,
        ref_node_target_type: str,
        results_type: str,
        index_within_arg: int,
        index_of_arg: int,
        fqn: str | None,
        qconfig_str: str | None = "",
    ) -> None:
        super().__init__()
        self.stats: list[Any] = []
        self.stats_rnn: list[Any] = []
        self.ref_node_name, self.prev_node_name, self.model_name = ref_node_name, prev_node_name, model_name
        self.ref_name, self.results_type, self.fqn = ref_name, results_type, fqn
        self.prev_node_target_type, self.ref_node_target_type = prev_node_target_type, ref_node_target_type
        self.index_within_arg, self.index_of_arg, self.qconfig_str = (
            index_within_arg,
            index_of_arg,
            qconfig_str,
        )
        self.enabled = self.save_activations = True

    def forward(self, x: Any) -> Any:
        """Keep `x`, and return it."""
        if self.enabled and self.save_activations:
            if isinstance(x, Tensor):
                self.stats.append(x.detach().clone())
            elif isinstance(x, tuple) and len(x) == 2:
                self.stats_rnn.append(_apart(x))
        return x

    def found(self) -> dict[str, Any]:
        """Return what was kept, with where."""
        words = (
            "ref_node_name", "ref_node_target_type", "prev_node_name", "prev_node_target_type", "index_within_arg",
            "index_of_arg", "fqn", "qconfig_str",
        )  # fmt: skip
        return {
            "type": self.results_type,
            "values": self.stats_rnn or self.stats,
            **{word: getattr(self, word) for word in words},
        }

    def extra_repr(self) -> str:
        """Return where it stands."""
        return f"ref_name={self.ref_name}, model_name={self.model_name}, ref_node_name={self.ref_node_name}"


class OutputComparisonLogger(OutputLogger):
    """Keeps how far what passes is from what it should be, in `comparisons`, by `comparison_fn`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.comparison_fn: Callable[[Any, Any], Any] = compute_sqnr
        self.comparison_fn_name = "sqnr"
        self.comparisons: list[Any] = []

    def forward(self, x: Any, x_ref: Any = None) -> Any:
        """Compare `x` with `x_ref`, and return it."""
        if self.enabled and isinstance(x, Tensor) and isinstance(x_ref, Tensor):
            if self.save_activations:
                self.stats.append(x.detach().clone())
            self.comparisons.append(self.comparison_fn(x.detach(), x_ref.detach()))
        return x

    def found(self) -> dict[str, Any]:
        """Return what was kept, with where."""
        return {
            **super().found(),
            "comparisons": self.comparisons,
            "comparison_fn_name": self.comparison_fn_name,
        }


def _apart(x: Any) -> Any:
    return tuple(map(_apart, x)) if isinstance(x, tuple | list) else x.detach().clone()
