"""What must hold of every program that is quantized as a graph: each check raises AssertionError, and says where."""

from __future__ import annotations

import copy
import importlib
import io
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_graphs import Program
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional

__all__ = ["CHECKS", "Quantized", "judge", "quantized"]


@dataclass
class Quantized:
    """A program in its three forms, with what it answers."""

    program: Program
    words: str
    """How it is quantized."""
    engine: str
    mapping: Any
    prepared: Any = None
    integer: Any = None
    exact: list[Any] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)


def leaves(value: Any) -> list[Any]:
    """Return the arrays and numbers of what a program answers."""
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, tuple | list):
        return [leaf for one in value for leaf in leaves(one)]
    if isinstance(value, wb.Tensor):
        return [(value.dequantize() if value.is_quantized else value).detach().numpy().copy()]
    return [np.asarray(value)]


def sqnr(exact: Any, other: Any) -> float:
    """Return the signal over the noise in dB, of what varies: a mean is no signal."""
    noise = float(np.mean((exact - other) ** 2))
    signal = float(np.var(exact))
    return 200.0 if noise == 0 else 10 * float(np.log10(max(signal, 1e-12) / noise))


def same(found: Any, wanted: Any, what: str) -> None:
    """Assert that two answers are the same to the last bit."""
    mine = leaves(found)
    assert len(mine) == len(wanted), f"{what}: {len(mine)} results instead of {len(wanted)}"
    for place, (a, b) in enumerate(zip(mine, wanted, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, (
            f"{what}: result {place} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        )
        if not np.array_equal(a, b, equal_nan=True):
            far = np.max(np.abs(a.astype(float) - b.astype(float)))
            level = sqnr(b.astype(float), a.astype(float))
            raise AssertionError(f"{what}: result {place} differs by up to {far:.4g}, {level:.1f} dB")


def close(found: Any, wanted: Any, what: str, least: float) -> None:
    """Assert that floating point results of two answers are near each other."""
    mine = leaves(found)
    assert len(mine) == len(wanted), f"{what}: {len(mine)} results instead of {len(wanted)}"
    for place, (a, b) in enumerate(zip(mine, wanted, strict=True)):
        assert a.shape == b.shape, f"{what}: result {place} is {a.shape}, not {b.shape}"
        if b.dtype.kind == "f":
            level = sqnr(b.astype(float), a.astype(float))
            assert level >= least, f"{what}: result {place} has {level:.1f} dB, not {least}"


def quieter(found: Any, wanted: Any, made: Quantized, what: str) -> None:
    """Assert that two ways to round differ by a few codes, no more than codes do from the model itself."""
    exact = [one for one in made.exact if one.ndim]
    answers = [one for one in leaves(found) if one.ndim], [one for one in wanted if one.ndim]
    assert len(answers[0]) == len(answers[1]) == len(exact), (
        f"{what}: {len(answers[0])} results of {len(exact)}"
    )
    for place, (a, b, c) in enumerate(zip(*answers, exact, strict=True)):
        assert a.shape == b.shape, f"{what}: result {place} is {a.shape}, not {b.shape}"
        if b.dtype.kind == "f":
            level, least = sqnr(b.astype(float), a.astype(float)), sqnr(c.astype(float), b.astype(float))
            assert level >= min(25, least - 3), (
                f"{what}: result {place} has {level:.1f} dB, beside the model {least:.1f}"
            )


# ------------------------------------------------------------------------------------- how it is quantized

_ENGINES = ("x86", "onednn", "qnnpack", "fbgemm")


def quantized(program: Program) -> Quantized:
    """Draw how a program is quantized."""
    random = np.random.default_rng(program.seed + 1_000_000)

    def one(several: Any) -> Any:
        return several[int(random.integers(len(several)))]

    engine = str(one(_ENGINES))
    observers = {
        "ranges": q.QConfig(
            q.MinMaxObserver.with_args(reduce_range=True), q.default_per_channel_weight_observer
        ),
        "ranges, a scale each": q.QConfig(q.MinMaxObserver, q.default_weight_observer),
        "symmetric": q.QConfig(
            q.MinMaxObserver.with_args(qscheme=wb.per_tensor_symmetric), q.default_per_channel_weight_observer
        ),
    }
    words = str(one(["default", "default", *observers]))
    mapping = q.get_default_qconfig_mapping(engine)
    if words != "default":
        mapping = q.QConfigMapping().set_global(observers[words])
    said = [f"{engine}, {words}"]
    other = one([None, None, q.default_dynamic_qconfig, q.per_channel_dynamic_qconfig])
    if random.random() < 0.25:
        kind = one(
            [nn.Linear, nn.Conv2d, nn.ReLU, wb.relu, wb.cat, "mean", functional.gelu, wb.add, nn.LSTM, nn.GRU]
        )
        other = other if kind in (nn.Linear, nn.LSTM, nn.GRU) else None
        mapping.set_object_type(kind, other)
        said.append(f"{getattr(kind, '__name__', kind)}: {'None' if other is None else 'dynamic'}")
    paths = [name for name, _ in program.model.named_children()]
    if random.random() < 0.25 and paths:
        path = one(paths)
        other = other if isinstance(program.model.get_submodule(path), nn.Linear) else None
        mapping.set_module_name(path, other)
        said.append(f"{path}: {'None' if other is None else 'dynamic'}")
    if random.random() < 0.3:
        mapping.set_object_type(nn.Embedding, q.float_qparams_weight_only_qconfig)
    return Quantized(program, "; ".join(said), engine, mapping)


# ------------------------------------------------------------------------------------------------- checks


def check_prepared(made: Quantized) -> None:
    """Preparing and calibrating change nothing."""
    program = made.program
    state = {key: one.numpy().copy() for key, one in program.model.state_dict().items()}
    given = [one.numpy().copy() for one in program.inputs]
    exact = made.exact = leaves(program.model(*program.inputs))
    same(list(given), [one.numpy() for one in program.inputs], "calling writes into its inputs")
    try:
        made.prepared = q.prepare_fx(program.model, made.mapping, program.inputs)
    except wb.QuantizationError as error:
        if "writes into" in str(error):
            made.words += "; written through a view"
            return
        if "nothing to quantize" in str(error):
            return
        raise
    prepared = leaves(made.prepared(*program.inputs))
    if any(word in program.text for word in ("BatchNorm", "F.linear", " @ ", "matmul")):
        close(prepared, exact, "prepared", 90)
    else:
        same(prepared, exact, "prepared")
    same(list(given), [one.numpy() for one in program.inputs], "calibrating writes into its inputs")
    for key, one in program.model.state_dict().items():
        assert np.array_equal(one.numpy(), state[key]), f"calibrating changes {key}"
    made.integer = q.convert_fx(made.prepared)


def check_near(made: Quantized) -> None:
    """Codes answer near the model, as the reference form does, whatever the batch and however it lies."""
    program = made.program
    made.codes = leaves(made.integer(*program.inputs))
    # What is cut to a small part of the range of its codes has few of them.
    narrow = any(
        word in program.text
        for word in ("clamp", "clip", "hardtanh", "Hardtanh", "relu6", "ReLU6", "minimum")
    )
    close(made.codes, made.exact, "codes beside the model", 5 if narrow else 10)
    same(leaves(made.integer(*program.inputs)), made.codes, "called again")
    reference = (
        leaves(q.convert_to_reference_fx(made.prepared)(*program.inputs))
        if "dynamic" not in made.words
        else made.codes
    )
    quieter(made.codes, reference, made, "codes beside the reference form")
    for count in (1, 3, 8):
        given = program.batch(count)
        found = leaves(made.integer(*given))
        if "dynamic" in made.words:
            assert [one.shape for one in found] == [one.shape for one in leaves(program.model(*given))]
            continue
        wanted = [one[np.arange(count) % len(one)] if one.ndim else np.asarray(count) for one in made.codes]
        alike(found, wanted, f"codes of {count} samples")


def check_layouts(made: Quantized) -> None:
    """What is computed does not depend on how inputs lie."""
    for what, lay in LAYOUTS.items():
        odd = tuple(lay(one) for one in made.program.inputs)
        plain = tuple(one.contiguous().clone() for one in odd)
        try:
            made.program.model(*odd)
        except wb.DimensionError as error:
            # A view is refused of the model itself, too.
            if "view size is not compatible" not in str(error):
                raise
            continue
        alike(made.integer(*odd), leaves(made.integer(*plain)), what)


def _backwards(x: Any) -> Any:
    return wb.from_numpy(np.ascontiguousarray(x.numpy()[..., ::-1])[..., ::-1])


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "expanded": lambda x: x[:1].expand(4, *x.shape[1:]),
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "every other": lambda x: wb.stack([x, x], -1)[..., 0],
    "backwards": _backwards,
}


def check_compiled(made: Quantized) -> None:
    """Compiled programs give the same codes."""
    compiled = wb.compile(made.integer)
    for count in (6, 3):
        given = made.program.batch(count)
        with wb.no_grad():
            found = compiled(*given)
        alike(found, leaves(made.integer(*given)), f"compiled, {count} samples")


def alike(found: Any, wanted: Any, what: str) -> None:
    """Assert that two ways to compute the same codes agree, but for some that fall on the other side of a half.

    Sums in floating point between codes may be computed in another order.
    """
    mine = leaves(found)
    assert len(mine) == len(wanted), f"{what}: {len(mine)} results instead of {len(wanted)}"
    for place, (a, b) in enumerate(zip(mine, wanted, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, (
            f"{what}: result {place} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        )
        if b.dtype.kind != "f" or not b.size:
            continue
        level = sqnr(b, a)
        apart = float(np.mean(np.abs(a - b) > 1e-4 * np.abs(b).max()))
        assert level > 45 or (level > 28 and apart < 0.2), (
            f"{what}: result {place} differs in {apart:.0%}, {level:.1f} dB"
        )


def check_saved(made: Quantized) -> None:
    """What is saved, printed, copied or traced is the same model."""
    inputs, codes = made.program.inputs, made.codes
    same(copy.deepcopy(made.integer)(*inputs), codes, "copied")
    with wb.no_grad():
        same(made.integer(*inputs), codes, "without gradients")
    with wb.inference_mode():
        same(made.integer(*inputs), codes, "in inference mode")
    again = q.convert_fx(made.prepared)
    again.load_state_dict(made.integer.state_dict())
    same(again(*inputs), codes, "a state loaded")
    if returns_sizes(made.program):
        return
    graph = wb.graph.trace(made.integer, *inputs)
    same(graph(*inputs), codes, "traced")
    tensors = {value.name: one for value, one in graph.held().items()}
    same(wb.graph.parse(str(graph), tensors)(*inputs), codes, "printed and parsed")
    tensors = {value.name: one for value, one in graph.held().items()}
    same(wb.graph.parse(wb.graph.python_text(graph), tensors)(*inputs), codes, "printed as Python and parsed")
    file = io.BytesIO()
    wb.save(graph, file)
    file.seek(0)
    loaded = wb.load(file)
    same(loaded(*inputs), codes, "saved and loaded")
    with wb.no_grad():
        alike(wb.compile(loaded)(*inputs), codes, "saved, loaded and compiled")
    scripted = wb.jit.trace(made.integer, inputs)
    same(scripted(*inputs), codes, "jit.trace")


def returns_sizes(program: Program) -> bool:
    """Say whether a program returns numbers, which a traced one cannot."""
    return program.text.rstrip().endswith(".shape[0]")


def check_training(made: Quantized) -> None:
    """A program is trained with fake quantization, and converted."""
    program = made.program
    if "BatchNorm" in program.text or "Dropout" in program.text:
        return
    model = copy.deepcopy(program.model).train()
    mapping = q.get_default_qat_qconfig_mapping(made.engine)
    prepared = q.prepare_qat_fx(model, mapping, program.inputs)
    for _ in range(4):
        prepared(*program.inputs)
    prepared.eval()
    close(prepared(*program.inputs), made.exact, "in training", 5)
    integer = q.convert_fx(prepared)
    close(integer(*program.inputs), made.exact, "trained, in codes", 5)
    close(
        q.convert_to_reference_fx(prepared)(*program.inputs),
        leaves(integer(*program.inputs)),
        "trained, reference",
        25,
    )


def check_report(made: Quantized) -> None:
    """A report is written, and biases are corrected."""
    program = made.program
    inputs = {f"x{place}": one for place, one in enumerate(program.inputs)}
    if any(isinstance(one, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d) for one in program.model.modules()):
        try:
            better = q.correct_bias(made.integer, program.model, [inputs])
        except wb.QuantizationError as error:
            if "no layer in common" not in str(error) and "no integer layer" not in str(error):
                raise
        else:
            close(better(*program.inputs), made.exact, "with corrected biases", 10)
    try:
        found = q.report(program.model, [inputs], qconfig_mapping=made.mapping, progress=False, advice=False)
    except wb.QuantizationError as error:
        if "no layer that becomes codes" not in str(error):
            raise
    else:
        assert str(found)


def written(made: Quantized) -> bytes:
    """Return a file of it; nothing where it has no form in the format."""
    if returns_sizes(made.program):
        return b""
    file = io.BytesIO()
    try:
        wb.onnx.save(made.integer, file, *made.program.inputs)
    except wb.onnx.OnnxError:
        return b""
    return file.getvalue()


def check_read_back(made: Quantized) -> None:
    """A file of it is read back."""
    file = written(made)
    if not file:
        return
    found = leaves(wb.onnx.load(file)(*made.program.inputs))
    floats = [one for one in made.codes if one.ndim]
    quieter([one for one in found if one.ndim], floats, made, "read back")


def check_onnxruntime(made: Quantized) -> None:
    """A file of it runs in onnxruntime."""
    file = written(made)
    if not file:
        return
    onnxruntime = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    given = {one.name: x.numpy() for one, x in zip(session.get_inputs(), made.program.inputs, strict=False)}
    found = [one for one in session.run(None, given) if one.ndim]
    quieter(found, [one for one in made.codes if one.ndim], made, "onnxruntime")


CHECKS: dict[str, Callable[[Quantized], None]] = {
    "prepared": check_prepared, "near": check_near, "layouts": check_layouts, "compiled": check_compiled,
    "saved": check_saved, "training": check_training, "report": check_report, "read back": check_read_back,
    "onnxruntime": check_onnxruntime,
}  # fmt: skip


def judge(made: Quantized, names: Iterable[str] = CHECKS) -> list[str]:
    """Return what fails of a program, each with how it is quantized."""
    before = wb.backends.quantized.engine
    wb.backends.quantized.engine = made.engine
    found: list[str] = []
    try:
        for name, check in CHECKS.items():
            if name not in names and name != "prepared":
                continue
            try:
                with np.errstate(all="ignore"):
                    check(made)
            except AssertionError as error:
                found.append(f"--- {name} ({made.words}): {error}")
            except Exception:
                found.append(f"--- {name} ({made.words}):\n{traceback.format_exc(limit=-6)}")
            if made.integer is None:
                break
            if not made.codes and name == "near":
                break
    finally:
        wb.backends.quantized.engine = before
    return found
