"""What is done to modules from outside: clipping, vectors, functional calls, pruning, fusing, older norms."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func, nn
from workbench.nn import utils
from workbench.nn.utils import prune


def with_gradient(values: Any, dtype: str = "float32", **names: Any) -> wb.Tensor:
    tensor = wb.zeros(*np.shape(values), dtype=dtype, requires_grad=True)
    tensor.grad = wb.tensor(np.asarray(values, tensor.payload.dtype))
    return tensor


# ---------------------------------------------------------------------------------------------- clipping


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
def test_the_norm_is_that_of_all_values_and_gradients_shrink_to_it(dtype: str) -> None:
    a, b = with_gradient([[3.0, 0.0]], dtype), with_gradient([4.0], dtype)
    versions = [one.grad._version for one in (a, b)]
    total = utils.clip_grad_norm_(iter([a, b]), 1.0)
    assert total.item() == pytest.approx(5, rel=1e-3)
    assert total.dtype is {"complex64": wb.float32}.get(dtype, a.dtype)
    assert [one.grad._version for one in (a, b)] > versions
    assert abs(complex(a.grad[0, 0].item())) == pytest.approx(0.6, rel=1e-2)
    assert b.grad.dtype is b.dtype


def test_small_gradients_stay_to_the_bit_and_gradients_that_lie_apart_count() -> None:
    a = with_gradient(np.ones((2, 3)))
    a.grad = wb.tensor(np.ones((3, 4), np.float32)).T[:2, :3]
    before = a.grad.numpy().copy()
    assert utils.clip_grad_norm_([a], 100.0).item() == pytest.approx(6**0.5)
    utils.clip_grad_norm_([a], 3.0)
    np.testing.assert_array_equal(a.grad.numpy(), before)
    assert utils.clip_grad_norm_([a], 0.5).item() == pytest.approx(6**0.5)
    assert utils.get_total_norm(a.grad).item() == pytest.approx(0.5, rel=1e-4)


def test_norms_beyond_the_range_of_squares_are_right() -> None:
    assert utils.get_total_norm([wb.tensor([3e25, 4e25])]).item() == pytest.approx(5e25)
    assert utils.get_total_norm([wb.tensor([3e-30, 4e-30])]).item() == pytest.approx(5e-30)
    assert utils.get_total_norm([]).item() == 0
    assert utils.get_total_norm([wb.zeros(0), wb.ones(1)], float("inf")).item() == 1


def test_a_norm_that_is_not_finite_is_refused_where_asked_and_changes_nothing() -> None:
    a = with_gradient([1.0, np.inf])
    with pytest.raises(RuntimeError, match=r"total norm of order 2\.0 .* non-finite"):
        utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)
    assert a.grad.tolist() == [1, np.inf]
    utils.clip_grad_norm_(a, 1.0)
    assert a.grad.numpy()[0] == 0
    b = with_gradient([1.0, np.nan])
    utils.clip_grad_norm_(b, 1.0)
    assert np.isnan(b.grad.numpy()).all()
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((one for one in ()), 1.0)
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        utils.clip_grad_norm([with_gradient([1.0])], 1.0)


def test_values_are_clipped() -> None:
    a = with_gradient([-3.0, 0.5, 3.0])
    utils.clip_grad_value_(a, 1)
    assert a.grad.tolist() == [-1, 0.5, 1]
    utils.clip_grad_value_([wb.zeros(1, requires_grad=True)], 1)


# --------------------------------------------------------------------------------------------- vectors


def test_parameters_go_into_a_vector_and_back_and_keep_names() -> None:
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    vector.sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.tolist() == [[1, 1]] * 3
    version = layer.weight._version
    utils.vector_to_parameters(wb.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and layer.weight._version > version
    assert layer.weight.dim_labels == ("out_features", "in_features")
    with pytest.raises(wb.DimensionError, match=r"have 9 values, and the vector has size \[8\]"):
        utils.vector_to_parameters(wb.zeros(8), layer.parameters())
    with pytest.raises(TypeError, match="expected a tensor, but got list"):
        utils.vector_to_parameters([1.0], layer.parameters())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no parameters"):
        utils.parameters_to_vector([])
    assert layer.bias is not None and layer.bias.tolist() == [6, 7, 8]


# ------------------------------------------------------------------------------------- functional calls


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(2, 2, bias=False)
        self.other = nn.Linear(2, 2, bias=False)
        self.other.weight = self.one.weight
        self.register_buffer("shift", wb.zeros(2))

    def forward(self, x: Any, times: float = 1.0) -> Any:
        return self.other(self.one(x)) * times + self.shift


def test_a_functional_call_uses_what_is_given_and_leaves_the_module() -> None:
    model = Tied()
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    eye = wb.eye(2)
    x = wb.ones(N=1, in_features=2)
    result = func.functional_call(model, {"one.weight": eye}, (x,), {"times": 3.0})
    assert result.tolist() == [[3, 3]] and result.names == ("N", "out_features")
    apart = func.functional_call(
        model, [{"one.weight": eye, "other.weight": eye * 2}, {"shift": wb.ones(2)}], x, tie_weights=False
    )
    assert apart.tolist() == [[3, 3]]
    assert nn.utils.stateless.functional_call is func.functional_call
    with pytest.raises(wb.DimensionError):
        func.functional_call(model, {"one.weight": wb.ones(3, 3)}, x)
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    assert model.one.weight is model.other.weight


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, x: func.functional_call(m, {"one.weight": 3}, x), TypeError, "a tensor is needed, got int"),
        (lambda m, x: func.functional_call(m, {"two.weight": x}, x), AttributeError, "has no module `two`"),
        (lambda m, x: func.functional_call(m, 3, x), ValueError, "to be a dict, or a list/tuple of dicts"),
        (lambda m, x: func.functional_call(m, [{"shift": x}, {"shift": x}], x), ValueError, "multiple dictionaries"),
        (
            lambda m, x: func.functional_call(m, {"one.weight": wb.eye(2), "other.weight": wb.eye(2)}, x),
            ValueError,
            "multiple values for keys",
        ),
        (lambda m, x: func.functional_call(m, {"shfit": x}, x, strict=True), RuntimeError, "Is shfit shift?"),
        (lambda m, x: func.functional_call(m, {"shift": x}, x, strict=True), RuntimeError, "Missing key"),
    ],
)  # fmt: skip
def test_what_cannot_be_called_with_is_refused(call: Any, error: type[Exception], message: str) -> None:
    model = Tied()
    with pytest.raises(error) as caught:
        call(model, wb.ones(2))
    assert message in str(caught.value)


def test_a_parametrized_weight_is_given_by_what_it_is_computed_from() -> None:
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    x = wb.ones(1, 2)
    given = {"parametrizations.weight.original0": wb.tensor([[10.0]])}
    assert func.functional_call(layer, given, x).item() == pytest.approx(
        10 / layer.parametrizations.weight.original0.item() * layer(x).item(), rel=1e-5
    )
    with pytest.raises(KeyError, match="is computed from other parameters"):
        func.functional_call(layer, {"weight": wb.ones(1, 2)}, x)


def test_models_are_stacked_into_an_ensemble() -> None:
    models = [nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1)).eval() for _ in range(3)]
    parameters, buffers = func.stack_module_state(models)
    assert parameters["0.weight"].shape == (3, 1, 2) and parameters["0.weight"].requires_grad
    assert buffers["1.running_mean"].shape == (3, 1) and not buffers["1.running_mean"].requires_grad
    x = wb.randn(5, 2)
    together = func.vmap(lambda p, b: func.functional_call(models[0], (p, b), x))(parameters, buffers)
    apart = np.stack([one(x).detach().numpy() for one in models])
    np.testing.assert_allclose(together.detach().numpy(), apart, rtol=1e-5, atol=1e-6)
    for bad, message in (
        ([], "at least one model, got 0"),
        ([models[0], nn.ReLU().eval()], "of the same class"),
        ([models[0], nn.Sequential()], "same training/eval mode"),
    ):
        with pytest.raises(RuntimeError, match=message):
            func.stack_module_state(bad)


# -------------------------------------------------------------------------------------------- pruning


def test_pruning_keeps_names_learns_what_is_left_and_can_be_made_permanent() -> None:
    layer = nn.Linear(4, 3)
    weight = layer.weight
    prune.ln_structured(layer, "weight", amount=1, n=2, dim="in_features")
    assert layer.weight_mask.dim_labels == layer.weight.dim_labels == ("out_features", "in_features")
    gone = layer.weight_mask.numpy() == 0
    assert gone.sum() == 3 and gone.all(0).sum() == 1
    layer(wb.randn(N=5, in_features=4)).sum().backward()
    assert weight.grad is not None and (weight.grad.numpy()[gone] == 0).all()
    prune.random_unstructured(layer, "weight", amount=2)
    assert (layer.weight_mask.numpy() == 0).sum() == 5
    hook = prune.pruning_of(layer, "weight")
    assert hook is not None and [type(one).__name__ for one in hook[1]] == [
        "LnStructured",
        "RandomUnstructured",
    ]
    assert len(hook[1]) == 2 and hook[1][0]._tensor_name == "weight"
    prune.remove(layer, "weight")
    assert layer.weight is weight and (weight.detach().numpy() == 0).sum() == 5
    assert not layer._hooked and not prune.is_pruned(layer)


def test_random_pruning_of_positions() -> None:
    layer = prune.random_structured(nn.Conv2d(2, 8, 3), "weight", amount=0.5, dim=0)
    per_channel = layer.weight_mask.numpy().reshape(8, -1).mean(1)
    assert sorted(per_channel) == [0] * 4 + [1] * 4
    prune.random_structured(layer, "weight", amount=0.5, dim=0)
    assert layer.weight_mask.numpy().reshape(8, -1).mean(1).sum() == 2


def test_nuclear_norms_choose_channels() -> None:
    layer = nn.Conv2d(1, 3, 2)
    with wb.no_grad():
        layer.weight.copy_(wb.tensor(np.array([3.0, 1.0, 2.0], np.float32).reshape(3, 1, 1, 1)))
    prune.ln_structured(layer, "weight", amount=1, n="fro", dim=0)
    assert layer.weight_mask.numpy().mean((1, 2, 3)).tolist() == [1, 0, 1]
    plain = nn.Conv2d(1, 3, 2)
    prune.ln_structured(plain, "weight", amount=1, n="nuc", dim=0)
    assert plain.weight_mask.numpy().mean((1, 2, 3)).sum() == 2


def test_weights_that_are_not_finite_are_pruned_together_with_others() -> None:
    layer = nn.Linear(3, 1, bias=False)
    layer.load_state_dict({"weight": wb.tensor([[math.inf, 1.0, 2.0]])})
    prune.global_unstructured([(layer, "weight")], prune.L1Unstructured, amount=1)
    assert layer.weight_mask.tolist() == [[1, 0, 1]]
    assert layer.weight.tolist() == [[math.inf, 0, 2]]


def test_a_method_prunes_a_tensor_by_itself() -> None:
    x = wb.tensor([1.0, -3.0, 2.0])
    assert prune.L1Unstructured(amount=1).prune(x).tolist() == [0, -3, 2]
    scores = wb.tensor([9.0, 1.0, 2.0])
    assert [
        abs(one) for one in prune.L1Unstructured(amount=1).prune(x, importance_scores=scores).tolist()
    ] == [1, 0, 2]
    with pytest.raises(ValueError, match="same shape as tensor t"):
        prune.L1Unstructured(amount=1).prune(x, importance_scores=wb.ones(2))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", amount=1.5), ValueError, "should either be a float"),
        (lambda m: prune.l1_unstructured(m, "weight", amount=True), TypeError, "Must be int or float"),
        (lambda m: prune.l1_unstructured(m, "weight", amount=99), ValueError, "amount=99 should be smaller than"),
        (lambda m: prune.l1_unstructured(m, "wait", amount=1), ValueError, "Linear has no parameter `wait`"),
        (lambda m: prune.random_structured(m, "bias", amount=1, dim=0), wb.DimensionError, "Found tensor of shape"),
        (lambda m: prune.random_structured(m, "weight", amount=1, dim=5), IndexError, "5"),
        (lambda m: prune.custom_from_mask(m, "weight", wb.ones(2)), ValueError, r"the mask has shape \[2\]"),
        (
            lambda m: prune.l1_unstructured(m, "weight", amount=1, importance_scores=wb.ones(2)),
            ValueError,
            "importance_scores should have the same shape",
        ),
        (lambda m: prune.remove(m, "weight"), ValueError, "has to be pruned before pruning can be removed"),
        (lambda m: prune.global_unstructured(3, prune.L1Unstructured, amount=1), TypeError, "list of pairs"),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.RandomStructured, amount=1),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
        ),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.L1Unstructured, [3], amount=1),
            TypeError,
            "importance_scores is a dict",
        ),
        (lambda m: prune.PruningContainer(3), TypeError, "is not a BasePruningMethod subclass"),
    ],
)  # fmt: skip
def test_what_cannot_be_pruned_is_refused_and_changes_nothing(
    change: Any, error: type[Exception], message: str
) -> None:
    layer = nn.Linear(2, 3)
    with pytest.raises(error, match=message):
        change(layer)
    assert list(layer.state_dict()) == ["weight", "bias"] and not layer._hooked


def test_methods_of_other_parameters_do_not_go_together() -> None:
    layer = nn.Linear(2, 3)
    one = prune.Identity.apply(layer, "weight")
    other = prune.Identity.apply(layer, "bias")
    with pytest.raises(ValueError, match="Found 'bias'"):
        prune.PruningContainer(one, other)


# ------------------------------------------------------------------------- fusing, skipping, older norms


def test_fusing_is_for_use_only() -> None:
    conv, norm = nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)
    with pytest.raises(ValueError, match="Fusion only for eval"):
        utils.fuse_conv_bn_eval(conv, norm)
    with pytest.raises(ValueError, match="nothing was measured"):
        utils.fuse_conv_bn_eval(conv.eval(), nn.BatchNorm2d(2, track_running_stats=False).eval())
    with pytest.raises(ValueError, match=r"linear\.out_features=2 and bn\.num_features=3"):
        utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval())
    fused = utils.fuse_conv_bn_eval(conv, norm.eval())
    assert fused.weight.dim_labels == conv.weight.dim_labels and fused.bias is not None
    assert fused.bias.dim_labels == ("out_channels",)


def test_a_module_is_made_without_drawing() -> None:
    state = wb.get_rng_state()
    layer = utils.skip_init(nn.Conv2d, 2, 3, kernel_size=2, device="cpu")
    assert wb.get_rng_state() == state and layer.weight.shape == (3, 2, 2, 2)
    with pytest.raises(TypeError, match="Expected a Module; got"):
        utils.skip_init(dict)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_older_norms_cannot_be_put_on_twice_and_come_off() -> None:
    for put, off in (
        (utils.weight_norm, utils.remove_weight_norm),
        (utils.spectral_norm, utils.remove_spectral_norm),
    ):
        layer = put(nn.Linear(3, 2))
        assert layer.weight.dim_labels == ("out_features", "in_features")
        with pytest.raises(RuntimeError, match="Cannot register two"):
            put(layer)
        with pytest.raises(ValueError, match="has no parameter `wait`"):
            put(layer, "wait")
        off(layer)
        assert isinstance(layer.weight, nn.Parameter) and not layer._hooked
        with pytest.raises(ValueError, match="not found in"):
            off(layer)
    with pytest.raises(ValueError, match="to be positive"):
        utils.spectral_norm(nn.Linear(1, 1), n_power_iterations=0)


def test_fusing_learns_no_bias_where_there_was_none() -> None:
    norm = nn.BatchNorm2d(2).eval()
    fused = nn.utils.fusion.fuse_conv_bn_eval(nn.Conv2d(1, 2, 1, bias=False).eval(), norm)
    assert fused.weight.requires_grad
    assert not fused.bias.requires_grad
    assert fused.bias.dim_labels == ("out_channels",)


def test_masks_have_the_names_of_what_they_mask() -> None:
    layer = nn.Linear(4, 3)
    nn.utils.prune.custom_from_mask(layer, "weight", wb.ones(3, 4))
    assert layer.weight_mask.dim_labels == ("out_features", "in_features")


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", [nn.Linear, lambda *sizes: nn.Conv2d(*sizes, 1)])
@pytest.mark.parametrize(
    "change",
    [lambda layer: prune.l1_unstructured(layer, "weight", 0.5), lambda layer: utils.weight_norm(layer)],
)
def test_what_a_hook_computes_is_copied_and_pickled_with_its_module(kind: Any, change: Any) -> None:
    layer = kind(2, 3)
    change(layer)
    x = wb.ones(1, 2) if isinstance(layer, nn.Linear) else wb.ones(1, 2, 1, 1)
    expected = layer(x).detach().numpy()
    start = next(name for name in layer._parameter_names if name.startswith("weight_"))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        y = other(x)
        np.testing.assert_array_equal(y.detach().numpy(), expected)
        y.sum().backward()
        assert getattr(other, start).grad is not None
        assert getattr(layer, start).grad is None
