"""The state of a module, and what brings it to other types: parts that hooks do not touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn


class Counting(nn.Linear):
    _version = 3

    def __init__(self) -> None:
        super().__init__(2, 2)
        self.calls = 0
        self.told: Any = None

    def get_extra_state(self) -> Any:
        return {"calls": self.calls}

    def set_extra_state(self, state: Any) -> None:
        self.calls = state["calls"]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        self.told = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_extra_state_and_version_go_round() -> None:
    model = nn.Sequential(Counting())
    model[0].calls = 7
    state = model.state_dict()
    assert state["0._extra_state"] == {"calls": 7}
    assert state._metadata["0"] == {"version": 3}
    other = nn.Sequential(Counting())
    other.load_state_dict(state)
    assert (other[0].calls, other[0].told) == (7, 3)
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
        other.load_state_dict(state)
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "_extra_state"'):
        nn.Linear(2, 2).load_state_dict(Counting().state_dict())
    with pytest.raises(RuntimeError, match="Linear has no extra state"):
        nn.Linear(1, 1).get_extra_state()
    with pytest.raises(RuntimeError, match="Linear has no extra state"):
        nn.Linear(1, 1).set_extra_state(None)


def test_assign_puts_the_tensors_themselves_in_place_under_the_names_of_the_module() -> None:
    layer = nn.Linear(2, 3)
    weight = wb.ones(3, 2, dtype="float64")
    layer.load_state_dict({"weight": weight, "bias": np.zeros(3)}, assign=True)
    assert layer.weight.dtype is wb.float64
    assert layer.weight.dim_labels == ("out_features", "in_features")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert np.shares_memory(layer.weight.payload, weight.payload)
    norm = nn.BatchNorm1d(3)
    norm.load_state_dict({key: value.clone() for key, value in norm.state_dict().items()}, assign=True)
    assert norm.running_mean is not None and norm.running_mean.dim_labels == ("C",)


def test_a_destination_is_filled_and_one_number_goes_where_there_are_no_dims() -> None:
    norm = nn.BatchNorm1d(2)
    given: dict[str, Any] = {"here": 1}
    assert norm.state_dict(destination=given, prefix="n.") is given
    assert list(given)[:2] == ["here", "n.weight"]
    state = norm.state_dict()
    state["num_batches_tracked"] = wb.tensor([4])
    norm.load_state_dict(state)
    assert norm.num_batches_tracked is not None and norm.num_batches_tracked.item() == 4


@pytest.mark.parametrize(
    ("bring", "dtype"),
    [
        (lambda m: m.double(), "float64"),
        (lambda m: m.half(), "float16"),
        (lambda m: m.bfloat16(), "bfloat16"),
        (lambda m: m.to(wb.float64), "float64"),
        (lambda m: m.to("cpu", wb.float64, True), "float64"),
        (lambda m: m.to(wb.zeros(1, dtype="float64")), "float64"),
        (lambda m: m.to(device="cpu", dtype="float64", non_blocking=True), "float64"),
        (lambda m: m.to("cpu").cpu(), "float32"),
        (lambda m: m.double().float(), "float32"),
    ],
)
def test_types_change_in_place_with_gradients_and_names(bring: Any, dtype: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    weight, bias = model[0].weight, model[0].bias
    model(wb.randn(4, 2)).sum().backward()
    assert bring(model) is model
    assert model[0].weight is weight
    assert weight.dtype is getattr(wb, dtype)
    assert weight.grad is not None and weight.grad.dtype is weight.dtype
    assert weight.dim_labels == weight.grad.dim_labels == ("out_features", "in_features")
    assert weight.requires_grad and weight.is_leaf and bias is not None
    assert model[1].running_mean.dtype is weight.dtype
    assert model[1].num_batches_tracked.dtype is wb.int64


def test_what_was_recorded_before_a_change_of_type_says_so() -> None:
    layer = nn.Linear(2, 2)
    y = layer(wb.ones(1, 2, requires_grad=True)).sum()
    layer.double()
    with pytest.raises(wb.AutogradError):
        y.backward()
    layer.zero_grad()
    layer(wb.ones(1, 2, dtype="float64")).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.dtype is wb.float64


def test_all_numbers_take_a_type_where_no_gradient_is_wanted() -> None:
    norm = nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match=r"call requires_grad_\(False\) first"):
        norm.type(wb.int64)
    assert norm.running_mean is not None and norm.running_mean.dtype is wb.float32
    norm.requires_grad_(False).type("int64")
    assert {value.dtype for value in norm.state_dict().values()} == {wb.int64}
    with pytest.raises(TypeError, match=r"must be a memory format such as workbench\.channels_last, not str"):
        norm.to(memory_format="channels_last")
    with pytest.raises(wb.DeviceError):
        norm.to("nowhere")


def test_to_empty_keeps_what_is_not_numbers() -> None:
    layer = nn.Linear(2, 3)
    weight = layer.weight
    layer.to_empty(device="cpu")
    assert layer.weight is weight
    assert weight.shape == (3, 2) and weight.dim_labels == ("out_features", "in_features")


def test_buffers_can_be_asked_for_assigned_and_deleted() -> None:
    layer = nn.Module()
    layer.count = nn.Buffer(wb.zeros(2), persistent=False)
    layer.seen = nn.Buffer(wb.zeros(N=2))
    assert list(layer.state_dict()) == ["seen"]
    assert layer.get_buffer("seen").names == ("N",)
    layer.count = wb.ones(2)
    assert list(layer.state_dict()) == ["seen"]
    with pytest.raises(AttributeError, match=r"has no buffer `sen`\. Did you mean `seen`"):
        layer.get_buffer("sen")
    del layer.seen
    assert [name for name, _ in layer.named_buffers()] == ["count"]
    with pytest.raises(TypeError, match="made of a tensor"):
        nn.Buffer(3)


def test_registries_can_be_read_and_changed_as_dicts() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    assert list(model._modules) == ["0", "1"]
    assert dict(model[0]._parameters)["weight"] is model[0].weight
    assert len(model._buffers) == 0
    del model._modules["1"]
    model._modules["last"] = nn.Tanh()
    assert repr(model._modules).startswith("{'0': Linear(")
    assert [name for name, _ in model.named_children()] == ["0", "last"]
    with pytest.raises(KeyError):
        model._modules["weight"]
    with pytest.raises(KeyError):
        del model._modules["weight"]
    assert "0" not in dir(model) and "last" in dir(model)


def test_registering_needs_an_initialised_module_a_text_and_a_leaf() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.register_buffer("count", wb.zeros(1))

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Early()
    with pytest.raises(TypeError, match=r"buffer name should be a string\. Got int"):
        nn.Module().register_buffer(3, wb.zeros(1))  # type: ignore[arg-type]
    made = nn.Parameter(wb.ones(1)) * 2
    made.__class__ = nn.Parameter
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'x'"):
        nn.Module().register_parameter("x", made)
    with pytest.raises(ValueError, match="without a target name"):
        nn.Module().set_submodule("", nn.ReLU())
    with pytest.raises(ValueError, match=r"is not an nn\.Module, found int"):
        nn.Module().set_submodule("x", 3)  # type: ignore[arg-type]
    model = nn.Module()
    model.set_submodule("x", nn.ReLU())
    assert isinstance(model.x, nn.ReLU)


def test_keys_that_nobody_knows_are_refused_by_themselves() -> None:
    layer = nn.Linear(1, 1)
    state = {**layer.state_dict(), "scale": wb.ones(1)}
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "scale"'):
        layer.load_state_dict(state)


def test_one_number_of_one_dim_is_assigned_where_there_are_none() -> None:
    layer = nn.BatchNorm1d(2)
    layer.load_state_dict({**layer.state_dict(), "num_batches_tracked": wb.tensor([7])})
    assert layer.num_batches_tracked.shape == ()
    assert layer.num_batches_tracked.item() == 7


def test_what_is_taken_back_stands_in_the_memory_where_it_was() -> None:
    layer = nn.Linear(2, 1)
    memory, start = layer.weight.detach().numpy(), layer.weight.detach().clone()

    def refuse(module: nn.Module, keys: Any) -> None:
        raise ValueError("no")

    layer.register_load_state_dict_post_hook(refuse)
    with pytest.raises(ValueError, match="no"):
        layer.load_state_dict({"weight": wb.zeros(1, 2), "bias": wb.zeros(1)})
    assert bool((layer.weight == start).all())
    assert np.array_equal(memory, start.numpy())
    memory[...] = 5.0
    assert layer.weight.tolist() == [[5, 5]]


@pytest.mark.parametrize(
    ("rename", "words"),
    [
        (
            lambda key: f"module.{key}",
            r"begin with 'module\.', .* load \{key\.removeprefix\('module\.'\): value",
        ),
        (lambda key: f"model.net.{key}", r"begin with 'model\.net\.'"),
    ],
)
def test_keys_behind_a_prefix_are_explained(rename: Callable[[str], str], words: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = {rename(key): value for key, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match=words):
        model.load_state_dict(state)
    prefix = rename("")
    assert not any(model.load_state_dict({key.removeprefix(prefix): one for key, one in state.items()}))
    outer = nn.ModuleDict({"encoder": model})
    with pytest.raises(RuntimeError, match=r"module within: load them by encoder\.load_state_dict"):
        outer.load_state_dict(model.state_dict())


def test_what_is_no_state_says_where_it_is() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match=r"state_dict\['model'\] holds keys of its own: load that"):
        model.load_state_dict({"epoch": 3, "model": model.state_dict()})
    with pytest.raises(TypeError, match=r"got <class 'str'>. wb.load_weights\(path\) reads one"):
        model.load_state_dict("weights.pt")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Give its state_dict\(\)"):
        model.load_state_dict(model)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict({"weight": wb.zeros(2, 2)})
    assert "load" not in str(caught.value).partition("Missing")[2]
