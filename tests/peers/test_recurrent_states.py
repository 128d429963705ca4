"""Dynamic recurrent layers and cells: states from PyTorch and to PyTorch, and its modules as ours."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.errors import StateDictError, WeightsError
from workbench.interop.torch import from_module

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch.ao.quantization")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTM": ("LSTM", {}),
    "LSTM of two layers both ways": ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    "GRU": ("GRU", {"bidirectional": True}),
    "LSTMCell": ("LSTMCell", {}),
    "GRUCell": ("GRUCell", {}),
    "RNNCell": ("RNNCell", {"nonlinearity": "relu"}),
}


@pytest.fixture(autouse=True)
def engines_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine, torch.backends.quantized.engine
    torch.manual_seed(0)
    wb.manual_seed(0)
    yield
    wb.backends.quantized.engine, torch.backends.quantized.engine = before


def quantized(library: Any, name: str, dtype: str = "qint8") -> Any:
    kind, settings = KINDS[name]
    layer = getattr(library.nn, kind)(13, 24, **settings)
    model = library.nn.Sequential(layer)
    return library.ao.quantization.quantize_dynamic(model, {type(layer)}, getattr(library, dtype))


def saved(library: Any, state: Any) -> io.BytesIO:
    file = io.BytesIO()
    library.save(state, file)
    return io.BytesIO(file.getvalue())


def require_equal_answers(mine: Any, theirs: Any, name: str) -> None:
    x = np.random.default_rng(3).standard_normal((4, 13) if "Cell" in name else (7, 3, 13)).astype(np.float32)
    pairs = [(mine(wb.tensor(x)), theirs(torch.tensor(x)))]
    while pairs:
        found, wanted = pairs.pop()
        if isinstance(wanted, tuple):
            pairs += zip(found, wanted, strict=True)
        else:
            # The codes are the same, and what they are multiplied by is rounded in another order.
            np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("engine", "dtype"), [("x86", "qint8"), ("onednn", "qint8"), ("x86", "float16")])
@pytest.mark.parametrize("name", KINDS)
def test_states_go_both_ways(name: str, engine: str, dtype: str) -> None:
    wb.backends.quantized.engine = torch.backends.quantized.engine = engine
    mine, theirs = quantized(wb, name, dtype), quantized(torch, name, dtype)
    state, wanted = mine.state_dict(), theirs.state_dict()
    assert list(state) == list(wanted) and state._metadata == wanted._metadata
    mine.load_state_dict(wb.load(saved(torch, wanted)))
    require_equal_answers(mine, theirs, name)
    mine = quantized(wb, name, dtype)
    # Such objects are more than PyTorch reads unasked, also of its own.
    with torch.serialization.safe_globals([torch.ScriptObject]):
        theirs.load_state_dict(torch.load(saved(wb, mine.state_dict()), weights_only=True))
    require_equal_answers(mine, theirs, name)


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
@pytest.mark.parametrize("name", KINDS)
def test_modules_become_ours(name: str, dtype: str) -> None:
    theirs = quantized(torch, name, dtype)
    mine: Any = from_module(theirs)
    assert type(mine[0]) is getattr(wb.ao.nn.quantized.dynamic, KINDS[name][0])
    require_equal_answers(mine, theirs, name)


def test_layers_of_a_program_become_ours_with_it() -> None:
    class Net(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.fc = torch.nn.LSTM(13, 4), torch.nn.Linear(4, 2, bias=False)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.fc(self.rnn(x)[0]))

    theirs = torch.ao.quantization.quantize_dynamic(Net().eval())
    require_equal_answers(from_module(theirs), theirs, "LSTM")


def test_what_is_converted_with_observers_says_what_to_do() -> None:
    with pytest.raises(
        TypeError, match=r"module '0' is a .*\.Quantize: .* convert the float model here, and load the state, as "
    ):  # fmt: skip
        from_module(torch.nn.Sequential(torch.ao.nn.quantized.Quantize(0.1, 0, torch.quint8)))


@pytest.mark.parametrize("name", ["LSTM", "GRUCell"])
def test_objects_in_memory_say_to_write_a_file(name: str) -> None:
    with pytest.raises(
        StateDictError, match=r"got ScriptObject: write PyTorch's state to a file by torch\.save"
    ):
        quantized(wb, name).load_state_dict(quantized(torch, name).state_dict())
    layers = [wb.quantization.quantize_dynamic(wb.nn.Sequential(wb.nn.Linear(3, 2)))]
    theirs = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    with pytest.raises(
        StateDictError, match=r"got a Tensor of torch: write PyTorch's state to a file by torch\.save"
    ):
        layers[0].load_state_dict(theirs.state_dict())


def test_objects_of_other_classes_are_not_read() -> None:
    packed = torch.ops.quantized.conv2d_prepack(
        torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.1, 0, torch.qint8),
        None,
        [1, 1],
        [0, 0],
        [1, 1],
        1,
    )
    with pytest.raises(
        WeightsError, match=r"class '__torch__\..*Conv2dPackedParamsBase' is not read: weights that"
    ):
        wb.load(saved(torch, {"packed": packed}))


@pytest.mark.parametrize("name", ["LSTM of two layers both ways", "LSTMCell"])
def test_weights_are_compared_also_where_they_are_packed(name: str) -> None:
    kind, settings = KINDS[name]
    floats = wb.nn.Sequential(getattr(wb.nn, kind)(13, 24, **settings))
    codes = wb.quantization.quantize_dynamic(floats, {type(floats[0])})
    found = wb.ao.ns._numeric_suite.compare_weights(floats.state_dict(), codes.state_dict())
    assert list(found) == [key for key in floats.state_dict() if "weight" in key]
    for pair in found.values():
        assert pair["quantized"].dtype is wb.qint8
        np.testing.assert_allclose(pair["quantized"].dequantize(), pair["float"].detach(), atol=2e-3)
