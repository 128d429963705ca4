"""Post-training quantization in one call."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workbench.base.errors import DTypeError, QuantizationError
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.nn import Module
from workbench.quantization.analysis import float_results, sqnr
from workbench.quantization.calibration import Calibration
from workbench.quantization.convert import convert
from workbench.quantization.fuse import find_patterns, fuse_modules
from workbench.quantization.given import require_layers
from workbench.quantization.prepare import prepare
from workbench.quantization.qconfig import QConfig

__all__ = ["default_eval_fn", "fuse_automatically", "quantize"]


def quantize(
    model: Module,
    data: Iterable[Any] | Callable[..., Any],
    run_args: Sequence[Any] = (),
    *,
    qconfig: QConfig | None = None,
    batches: int | None = None,
    evaluate: Any = None,
) -> Any:
    """Return the integer form of `model`: fused, prepared, calibrated with `data` and converted; `model` stays.

    `data` gives batches, inputs or pairs (inputs, labels), of which the first `batches` are used; or it is a function
    that is called with the prepared model and `run_args`, and runs it (then nothing is fused that was not fused
    before). A batch held out as `evaluate` lets live views show what ranges do to the whole model. The observers stay
    at hand as ``calibration`` of the result.

    The integer form is called once with the first batch, so that what takes no codes refuses them here, in words.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU())
    >>> integer = quantize(model, [wb.rand(8, 4)])
    >>> type(integer.module[0]).__name__
    'LinearReLU'
    """
    require_layers(model, "quantize", "take prepare_fx, which works on graphs")
    model = copy.deepcopy(model).eval()
    given: Any = data
    if not callable(data):
        first, given = _peek(data)
        model = fuse_automatically(model, _inputs(first))
    prepared = prepare(model, qconfig, inplace=True)
    if evaluate is not None:
        Calibration(prepared, evaluate)
    calibration = prepared.calibration
    with dispatch.no_grad():
        if callable(data):
            data(prepared, *run_args)
        else:
            for batch in itertools.islice(given, batches):
                prepared(_inputs(batch))
    converted = convert(prepared)
    if not callable(data):
        _require_codes_taken(converted, _inputs(first))
    # Past the registry: a calibration is no part of the model.
    object.__setattr__(converted, "calibration", calibration)
    return converted


def _require_codes_taken(converted: Any, inputs: Any) -> None:
    """Call an integer form, whose parts refuse codes that they do not take: nobody knows what is called before."""
    try:
        with dispatch.no_grad():
            converted(inputs.clone())
    except (DTypeError, QuantizationError) as error:
        error.add_note("quantize called the integer form of the model once, with its first batch")
        raise


def default_eval_fn(model: Module, calib_data: Iterable[Any]) -> None:
    """Call `model` with the inputs of pairs (inputs, labels): PyTorch's name for what calibrates."""
    with dispatch.no_grad():
        for inputs, _ in calib_data:
            model(inputs)


def _peek(data: Any) -> tuple[Any, Any]:
    """Return the first batch, and all of them."""
    batches = iter(data)
    first = next(batches, None)
    if first is None:
        raise QuantizationError("there is nothing to calibrate with: the data gave no batch")
    return first, itertools.chain([first], batches)


def _inputs(batch: Any) -> Any:
    found = batch if isinstance(batch, Value) else batch[0]
    if not isinstance(found, Value):
        raise QuantizationError(
            f"a batch is a tensor or a pair (inputs, labels), and a {type(batch).__name__} was given"
        )
    return found


def fuse_automatically(model: Module, *inputs: Any) -> Module:
    """Return a copy of `model` with everything fused that can be, found by calling it once with `inputs`.

    What a model does between its modules is not seen, so the fused model is called, too: where it gives other
    numbers, it is not used.
    """
    groups = find_patterns(model, *inputs)
    if not groups:
        return model
    fused = fuse_modules(model, groups)
    with dispatch.no_grad():
        expected, found = model(*inputs), fused(*inputs)
    pairs = zip(float_results(expected), float_results(found), strict=True)
    # Folding changes the last digits only, far beyond 60 dB; a model that computes something in between loses
    # more.
    return fused if all(sqnr(a, b) > 60 for a, b in pairs) else model
