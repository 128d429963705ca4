"""Other ways to codes, judged of one random network at a time: in training, in each call, of weights alone."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_checks import (
    DATA,
    alike,
    data,
    numbers,
    same,
    state,
    unchanged,
    without_kernels,
)
from tests.quantization.random_draws import chance, pick
from tests.quantization.random_modules import Plan, joins, make
from workbench import quantization as q

__all__ = ["aware", "dynamic", "equalized", "weights"]


def aware(plan: Plan) -> None:
    """Judge a network that is trained with fake quantization, with momentum and then with frozen statistics."""
    random = np.random.default_rng([plan.seed, 2])
    config = pick(
        random,
        [
            q.get_default_qat_qconfig("x86"),
            q.get_default_qat_qconfig("qnnpack"),
            q.default_qat_qconfig,
            q.default_qat_qconfig_v2,
            q.get_default_qat_qconfig("fbgemm", 0),
        ],
    )
    kind = str(pick(random, ["plain", "positive", "outlier", "dead channels", "zero"]))

    def trained() -> tuple[Any, Any, Any]:
        draw = np.random.default_rng([plan.seed, 3])
        fused = q.fuse_modules_qat(make(wb, plan).train(), trainable(plan))
        fused.qconfig = config
        prepared = q.prepare_qat(fused)
        if not [*prepared.parameters()]:
            x = wb.from_numpy(data(draw, plan.size, kind))
            prepared(x)
            return fused, prepared, x
        optimizer = wb.optim.SGD(prepared.parameters(), lr=1e-3, momentum=0.9)
        for step in range(4):
            if step == 2:
                prepared.apply(q.freeze_bn_stats)
            if step == 3:
                prepared.apply(q.disable_observer)
            x = wb.from_numpy(data(draw, plan.size, kind))
            optimizer.zero_grad()
            loss = prepared(x).square().mean()
            if loss.requires_grad:
                loss.backward()
            optimizer.step()
        return fused, prepared.eval(), x

    _, prepared, x = trained()
    prepared.eval()
    expected = prepared(x)
    held = state(prepared)
    integer = q.convert(prepared)
    unchanged(prepared, held, "the model in training")
    answer = integer(x)
    assert answer.shape == expected.shape
    if kind != "outlier":
        # Beside an outlier codes are coarse, and a mean of them is rounded where the mean of numbers is not.
        close(answer, expected, "what was trained for")

    def other() -> Any:
        _, made, _ = trained()
        made.eval()
        return q.convert(made)

    alike(integer, x, other)
    fresh = q.fuse_modules_qat(make(wb, plan).train(), trainable(plan))
    fresh.qconfig = config
    fresh = q.prepare_qat(fresh)
    fresh.load_state_dict(prepared.state_dict(), strict=True)
    same(fresh.eval()(x), expected, "a state in training in another")


def trainable(plan: Plan) -> list[list[str]]:
    """Return the layers that are joined in training: an affine map and its normalisation have no rectifier there."""
    model = make(wb, plan)
    return [one[:2] if type(model.get_submodule(one[0])) is wb.nn.Linear else one for one in joins(plan.body)]


def close(found: Any, expected: Any, what: str) -> None:
    one, other = numbers(found), numbers(expected)
    fits = np.isfinite(one) & np.isfinite(other)
    ratio = float(q.sqnr(wb.from_numpy(other[fits]), wb.from_numpy(one[fits]))) if fits.any() else 99.0
    assert ratio > 10, f"{what}: {ratio:.1f} dB"


def dynamic(plan: Plan) -> None:
    """Judge a network whose linear layers quantize what they take in each call."""
    random = np.random.default_rng([plan.seed, 4])
    spec = pick(
        random,
        [
            {"dtype": wb.qint8},
            {"dtype": wb.float16},
            {"qconfig_spec": {wb.nn.Linear: q.per_channel_dynamic_qconfig}},
            {"qconfig_spec": {wb.nn.Linear: q.per_token_dynamic_qconfig}},
            {"qconfig_spec": {wb.nn.Linear: q.default_dynamic_qconfig}},
        ],
    )
    model = make(wb, plan)
    x = wb.from_numpy(data(random, plan.size, str(pick(random, DATA))))
    exact = model(x)
    held = state(model)
    try:
        made = q.quantize_dynamic(model, **spec)
    except wb.QuantizationError as error:
        if "takes" not in str(error) and "has no" not in str(error):
            raise AssertionError(f"{spec}: {error}") from error
        return
    unchanged(model, held, "the model before")
    answer = made(x)
    assert answer.shape == exact.shape
    with without_kernels():
        same(made(x), answer, "by NumPy", 0.02)
    same(copy.deepcopy(made)(x), answer, "a deep copy")
    same(pickle.loads(pickle.dumps(made))(x), answer, "a pickle")
    fresh = q.quantize_dynamic(make(wb, Plan(plan.seed + 1, plan.size, plan.body)), **spec)
    fresh.load_state_dict(made.state_dict(), strict=True)
    same(fresh(x), answer, "a state in another")
    same(wb.graph.trace(made, x)(x), answer, "a trace")
    same(wb.compile(made)(x), answer, "compiled", 1e-5)
    inplace = make(wb, plan)
    assert q.quantize_dynamic(inplace, **spec, inplace=True)(x).shape == answer.shape
    same(inplace(x), answer, "in place")
    assert made(x[:0]).shape == (0, *answer.shape[1:])


def weights(plan: Plan) -> None:
    """Judge a network whose linear layers have weights of few bits in groups of any size."""
    random = np.random.default_rng([plan.seed, 5])
    told = {
        "bits": int(pick(random, [4, 8])), "group_size": int(pick(random, [1, 2, 3, 5, 8, 128])),
        "symmetric": chance(random, 0.5), "method": str(pick(random, ["nearest", "gptq", "awq", "awq+gptq"])),
    }  # fmt: skip
    model = make(wb, plan)
    if not any(type(one) is wb.nn.Linear for one in model.modules()):
        return
    x = wb.from_numpy(
        data(random, plan.size, str(pick(random, ["plain", "positive", "zero", "dead channels"])))
    )
    held, exact = state(model), model(x)
    made = q.quantize_weights(model, [x], **told)
    unchanged(model, held, "the model before")
    answer = made(x)
    if told["bits"] == 8:
        close(answer, exact, f"{told}")
    with without_kernels():
        same(made(x), answer, f"{told} by NumPy", 1e-4)
    fresh = q.quantize_weights(make(wb, Plan(plan.seed + 1, plan.size, plan.body)), [x], **told)
    fresh.load_state_dict(made.state_dict(), strict=True)
    for what, one in {
        "a state": fresh,
        "a copy": copy.deepcopy(made),
        "a pickle": pickle.loads(pickle.dumps(made)),
    }.items():
        same(one(x), answer, f"{told} {what}")
    same(wb.graph.trace(made, x)(x), answer, f"{told} a trace")
    same(wb.compile(made)(x), answer, f"{told} compiled", 1e-5)
    assert made(x[:0]).shape == (0, *answer.shape[1:])
    for count in (1, 4):
        same(made(x[:count]), answer[:count], f"{told} {count} samples", 1e-4)


def equalized(plan: Plan) -> None:
    """Judge a network whose channels were rescaled, whose biases were corrected, and whose rounding was learned."""
    random = np.random.default_rng([plan.seed, 6])
    x = wb.from_numpy(data(random, plan.size, str(pick(random, ["plain", "positive", "dead channels"])), 24))
    model = q.fuse_modules(make(wb, plan), [*joins(plan.body)])
    held, exact = state(model), model(x)
    ways: list[Any] = [
        lambda: q.equalize(model, x),
        lambda: q.smooth(model, [x], divide_inputs=chance(random, 0.5)),
    ]
    for way in ways:
        try:
            same(way()(x), exact, "rescaled", 1e-3)
        except wb.QuantizationError as error:
            if "there is nothing to" not in str(error):
                raise AssertionError(f"rescaling: {error}") from error
        unchanged(model, held, "the model before")
    prepared = q.prepare(model, q.bits_qconfig(8, 8))
    prepared(x)
    held = state(prepared)
    plain = q.convert(prepared)
    try:
        corrected = q.correct_bias(prepared, model, [x])
        learned = q.adaround(prepared, [x], steps=3)
    except wb.QuantizationError as error:
        if not any(
            word in str(error) for word in ("no integer layer", "no layer", "several sizes", "share", "own")
        ):
            raise AssertionError(f"tuning: {error}") from error
        return
    unchanged(prepared, held, "the prepared model")
    for what, one in {"corrected": corrected, "rounded": learned}.items():
        assert gap(q.convert(one)(x), exact) <= 3 * gap(plain(x), exact) + 1e-3, what


def gap(found: Any, exact: Any) -> float:
    return float(np.abs(numbers(found) - numbers(exact)).mean())
