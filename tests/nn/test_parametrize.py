"""Parameters computed from others: what is registered, read, assigned, copied and removed, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class Outer(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x.unsqueeze(-1) * y.unsqueeze(-2)

    def right_inverse(self, z: Any) -> Any:
        return z[:, 0], z[0] / z[0, 0]


class Centred(nn.Module):
    named = True

    def forward(self, x: Any) -> Any:
        return x - x.mean("in_features", keepdim=True)


def square() -> Any:
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_a_parametrized_weight_is_read_learned_and_assigned_under_its_names() -> None:
    layer = nn.Linear(3, 3)
    known = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert layer.parametrizations.weight.original is known
    assert layer.weight.dim_labels == known.dim_labels == ("out_features", "in_features")
    layer(wb.ones(N=2, in_features=3)).sum().backward()
    assert known.grad is not None and known.grad.dim_labels == known.dim_labels
    value = np.arange(9, dtype=np.float32).reshape(3, 3)
    layer.weight = wb.tensor(value + value.T)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value + value.T)
    assert layer.parametrizations.weight.original is known
    with pytest.raises(TypeError, match=r"use wb\.tensor"):
        layer.weight = nn.Parameter(3)


def test_a_parametrization_can_ask_for_names() -> None:
    layer = parametrize.register_parametrization(nn.Linear(3, 2), "weight", Centred())
    np.testing.assert_allclose(layer.weight.detach().numpy().sum(1), 0, atol=1e-6)
    assert layer.weight.dim_labels == ("out_features", "in_features")


def test_a_weight_can_start_from_several_tensors() -> None:
    layer = nn.Linear(3, 2)
    with wb.no_grad():
        layer.weight.copy_(wb.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    parametrize.register_parametrization(layer, "weight", Outer())
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert layer.weight.tolist() == [[1, 2, 3], [2, 4, 6]]
    layer.weight = wb.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 6.0]])
    assert layer.parametrizations.weight.original0.tolist() == [1, 3]
    with pytest.raises(ValueError, match="parametrized in terms of a sequence"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.tolist() == [[1, 0, 2], [3, 0, 6]]


def test_buffers_and_training_modes() -> None:
    norm = nn.BatchNorm1d(2).eval()
    parametrize.register_parametrization(norm, "running_mean", nn.Identity())
    assert not norm.parametrizations.running_mean[0].training
    assert "parametrizations.running_mean.original" in norm.state_dict()
    parametrize.remove_parametrizations(norm, "running_mean")
    assert [name for name, _ in norm.named_buffers()] == [
        "running_var",
        "num_batches_tracked",
        "running_mean",
    ]


def test_each_is_computed_once_in_a_cached_block() -> None:
    layer = square()
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            assert layer.weight is first
        layer.weight = wb.eye(3)
        assert layer.weight is not first and layer.weight.tolist() == wb.eye(3).tolist()
    assert layer.weight is not layer.weight


def test_what_is_kept_in_a_cached_block_is_never_that_of_another_layer() -> None:
    layer = square()
    listed = weakref.ref(layer.parametrizations.weight)
    with parametrize.cached():
        layer.weight  # noqa: B018
        del layer
        gc.collect()
        assert listed() is not None  # so that no other layer gets its id
    gc.collect()
    assert listed() is None


def test_copies_are_apart_and_pickles_are_refused() -> None:
    layer = square()
    other = copy.deepcopy(layer)
    assert type(other) is not type(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and not parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(other, "weight")
    np.testing.assert_array_equal(other.weight.detach().numpy(), layer.weight.detach().numpy())
    assert parametrize.type_before_parametrizations(other) is nn.Linear
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(other)
    third = square()
    third.load_state_dict(other.state_dict())
    np.testing.assert_array_equal(third.weight.detach().numpy(), other.weight.detach().numpy())


def test_parametrizations_move_to_another_module() -> None:
    one, other = square(), nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(one, other)
    assert other.parametrizations.weight.original is one.parametrizations.weight.original
    np.testing.assert_array_equal(one.weight.detach().numpy(), other.weight.detach().numpy())
    bare = nn.Module()
    parametrize.transfer_parametrizations_and_params(one, bare, "weight")
    assert bare.weight.shape == (3, 3)
    with pytest.raises(ValueError, match="Linear has no parametrization on bias"):
        parametrize.transfer_parametrizations_and_params(one, other, "bias")


def changing(forward: Any, inverse: Any = None) -> nn.Module:
    module = nn.Module()
    module.forward = forward
    if inverse is not None:
        module.right_inverse = inverse
    return module


@pytest.mark.parametrize(
    ("parametrization", "message"),
    [
        (changing(lambda x: x.double()), "may not change the dtype of the tensor"),
        (changing(lambda x: x[0]), "may not change the shape of the tensor"),
        (changing(lambda x: 3), "A parametrization must return a tensor. Got int"),
        (changing(lambda x: x, lambda x: 3), "must return a Tensor or a Sequence of tensors"),
        (changing(lambda x: x.float(), lambda x: x.double()), "it may not change the dtype"),
        (changing(lambda x, y: x, lambda x: (x, 3)), "element 1 of the sequence with type int"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(parametrization: nn.Module, message: str) -> None:
    layer = nn.Linear(2, 2)
    before = copy.deepcopy(layer.state_dict())
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer, "weight", parametrization)
    assert type(layer) is nn.Linear and list(layer.state_dict()) == list(before)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), before["weight"].numpy())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda m: parametrize.register_parametrization(m, "wait", Symmetric()), ValueError, "with name 'wait'"),
        (
            lambda m: parametrize.register_parametrization(m, "weight", changing(lambda x: x.double())),
            ValueError,
            "may not change the dtype",
        ),
        (
            lambda m: parametrize.register_parametrization(m, "weight", changing(lambda x: x, lambda x: 3)),
            ValueError,
            r"parametrization.right_inverse must return a tensor. Got: int",
        ),
        (lambda m: parametrize.remove_parametrizations(m, "bias"), ValueError, "a parametrization on bias"),
        (lambda m: parametrize.ParametrizationList([], m.bias), ValueError, "requires one or more modules"),
        (lambda m: parametrizations.weight_norm(m, "wait"), ValueError, "with name 'wait'"),
        (lambda m: parametrizations.spectral_norm(m, "wait"), ValueError, "no parameter or buffer with name 'wait'"),
        (lambda m: parametrizations.spectral_norm(m, dim=2), IndexError, "Dimension out of range"),
        (lambda m: parametrizations.spectral_norm(m, n_power_iterations=0), ValueError, "to be positive"),
        (lambda m: parametrizations.orthogonal(m, "bias"), ValueError, "Got a tensor of 1 dimensions"),
        (lambda m: parametrizations.orthogonal(m, orthogonal_map="qr"), ValueError, "Got: qr"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(change: Any, error: type[Exception], message: str) -> None:
    layer = square()
    before = list(layer.state_dict())
    with pytest.raises(error, match=message):
        change(layer)
    assert list(layer.state_dict()) == before


def test_inverses_that_say_there_is_none_and_assignments_that_do_not_fit() -> None:
    def none(x: Any) -> Any:
        raise NotImplementedError

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", changing(lambda x: x * 2, none))
    assert layer.weight.shape == (2, 2)
    other = square()
    with pytest.raises(ValueError, match="has dtype"):
        other.weight = wb.zeros(3, 3, dtype="float64")
    outer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Outer())
    with pytest.raises(ValueError, match="Tensor 0 returned by `right_inverse` has dtype"):
        outer.weight = wb.ones(2, 2, dtype="float64")
    outer.parametrizations.weight[0].right_inverse = lambda z: (z,)
    with pytest.raises(ValueError, match=r"of length 2\. Got a sequence of length 1"):
        outer.weight = wb.ones(2, 2)
    outer.parametrizations.weight.is_tensor = True
    with pytest.raises(ValueError, match=r"should return a tensor\. Got tuple"):
        outer.weight = wb.ones(2, 2)


def test_states_of_the_older_weight_norm_load() -> None:
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        old = nn.utils.weight_norm(nn.Linear(3, 2))
    new = parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    np.testing.assert_allclose(new.weight.detach().numpy(), old.weight.detach().numpy(), rtol=1e-6)


def test_a_vector_is_normalised_by_its_length() -> None:
    layer = parametrizations.spectral_norm(nn.Linear(3, 4), "bias")
    assert float(layer.bias.norm()) == pytest.approx(1, rel=1e-5)
    assert list(layer.state_dict()) == ["weight", "parametrizations.bias.original"]


def test_orthogonal_weights_stay_so_and_take_what_is_assigned() -> None:
    for way in ("matrix_exp", "cayley", "householder"):
        layer = parametrizations.orthogonal(nn.Linear(3, 5), orthogonal_map=way)
        with wb.no_grad():
            layer.parametrizations.weight.original.add_(wb.randn(5, 3) * 0.1)
        q = layer.weight.detach().numpy()
        np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-5)
        layer.weight = wb.tensor(q)
        np.testing.assert_allclose(layer.weight.detach().numpy(), q, atol=1e-5)
    free = parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        free.weight = wb.eye(3)
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
        layer.parametrizations.weight[0].right_inverse(wb.eye(2))
    whole = nn.Module()
    whole.weight = nn.Parameter(wb.zeros(2, 2, dtype="complex64"))
    with pytest.raises(ValueError, match="does not support complex tensors"):
        parametrizations.orthogonal(whole, orthogonal_map="householder")


@pytest.mark.parametrize("older", [True, False])
def test_the_largest_singular_value_is_followed_while_training(older: bool) -> None:
    put = nn.utils.spectral_norm if older else parametrizations.spectral_norm
    layer = put(nn.Linear(6, 4), n_power_iterations=5)
    for _ in range(20):
        layer(wb.zeros(1, 6))
    singular = np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)
    assert singular[0] == pytest.approx(1, abs=1e-3)
    layer.eval()
    before = {key: value.numpy().copy() for key, value in layer.state_dict().items()}
    layer(wb.zeros(1, 6))
    for key, value in layer.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])


def test_gradients_of_two_calls_do_not_disturb_each_other() -> None:
    layer = parametrizations.spectral_norm(nn.Linear(3, 2))
    (layer(wb.ones(1, 3)) - layer(wb.ones(1, 3) * 2)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_a_later_unsafe_parametrization_makes_all_unsafe() -> None:
    class Wider(nn.Module):
        def forward(self, x: Any) -> Any:
            return wb.cat([x, x], 0)

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", nn.Identity())
    assert not layer.parametrizations.weight.unsafe
    parametrize.register_parametrization(layer, "weight", Wider(), unsafe=True)
    assert layer.parametrizations.weight.unsafe
    assert layer.weight.shape == (4, 2)


def test_assigning_is_told_to_the_tape_and_frozen_starts_stay_frozen() -> None:
    class Halves(nn.Module):
        def forward(self, one: Any, other: Any) -> Any:
            return one + other

        def right_inverse(self, x: Any) -> Any:
            return x / 2, x / 2

    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(False)
    parametrize.register_parametrization(layer, "weight", Halves())
    starts = layer.parametrizations.weight
    assert not starts.original0.requires_grad
    assert not starts.original1.requires_grad
    before = starts.original0._version
    layer.weight = wb.ones(2, 2)
    assert starts.original0._version > before
