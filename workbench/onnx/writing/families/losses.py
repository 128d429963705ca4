"""Losses."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import int64
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.families.reductions import reduced
from workbench.onnx.writing.table import written

__all__: list[str] = []


def _gathered(call: Any, losses: str, rank: int) -> Any:
    """Return the losses, their sum or their mean."""
    how = call.params["reduction"]
    if how == "none":
        return losses
    return reduced(call, "ReduceSum" if how == "sum" else "ReduceMean", losses, range(rank), False)


@written("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "kl_div")
def _of_pairs(call: Any) -> Any:
    x, y, number, params = call.x(0), call.x(1), call.number_like, call.params
    away = call("Sub", x, y)
    match call.op.name:
        case "mse_loss":
            found = call("Mul", away, away)
        case "l1_loss":
            found = call("Abs", away)
        case "huber_loss":
            near = call("Clip", away, number(-params["bound"]), number(params["bound"]))
            rest = call("Sub", away, call("Mul", near, number(0.5)))
            found = call("Mul", call("Div", near, number(params["scale"])), rest)
        case "binary_cross_entropy_with_logits":
            if len(call.inputs) > 2:
                raise OnnxError("weights have no form in it")
            # max(x, 0) - x y + log(1 + e^-|x|)
            rest = call("Softplus", call("Neg", call("Abs", x)))
            found = call("Add", call("Sub", call("Max", x, number(0.0)), call("Mul", x, y)), rest)
        case _:
            if params["log_target"]:
                found = call("Mul", call("Exp", y), call("Sub", y, x))
            else:
                none = call("LessOrEqual", y, number(0.0))
                safe = call("Where", none, number(1.0), y)
                found = call("Where", none, number(0.0), call("Mul", y, call("Sub", call("Log", safe), x)))
    return _gathered(call, str(found), len(call.out_sizes()) or max(call.rank(0), call.rank(1)))


@written("binary_cross_entropy")
def _binary_cross_entropy(call: Any) -> Any:
    x, y, number = call.x(0), call.x(1), call.number_like
    # As PyTorch has it: a logarithm of nothing is -100.
    some = call("Max", call("Log", x), number(-100.0))
    none = call("Max", call("Log", call("Sub", number(1.0), x)), number(-100.0))
    found = call("Add", call("Mul", y, some), call("Mul", call("Sub", number(1.0), y), none))
    return call("Neg", found)


@written("nll_loss", "cross_entropy")
def _of_classes(call: Any) -> Any:
    params, kind = call.params, call.kind(0)
    if params.get("smoothing"):
        raise OnnxError("smoothed labels have no operator in the format")
    if call.rank(0) < 2 or call.kind(1) != int64 or call.rank(1) != call.rank(0) - 1:
        raise OnnxError("the operator takes scores of several samples and the numbers of their classes")
    weight = call.x(2, kind) if call.given(2) else None
    operator = "NegativeLogLikelihoodLoss" if call.op.name == "nll_loss" else "SoftmaxCrossEntropyLoss"
    return (
        call(
            operator, call.raw(0), call.raw(1), weight, reduction=params["reduction"],
            ignore_index=params["ignore_index"],
        )
    )  # fmt: skip
