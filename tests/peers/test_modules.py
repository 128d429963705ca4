"""What modules do besides computing, against PyTorch: states, hooks, containers, and what is done from outside."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn import utils
from workbench.nn.utils import parametrizations, parametrize, prune
from workbench.testing import assert_close

torch = pytest.importorskip("torch")
tnn = torch.nn
tutils = tnn.utils
tprune = pytest.importorskip("torch.nn.utils.prune")


def peer_of(mine: nn.Module, peer: Any) -> Any:
    """Load our state into PyTorch's module."""
    state = OrderedDict(
        (key, torch.tensor(np.array(value.numpy()))) for key, value in mine.state_dict().items()
    )
    peer.load_state_dict(state)
    return peer


def same(mine: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    own = mine.detach().numpy() if isinstance(mine, wb.Tensor) else mine
    other = theirs.detach().numpy() if isinstance(theirs, torch.Tensor) else theirs
    assert_close(own, other, rtol=tolerance, atol=tolerance)


def trained(mine: nn.Module, peer: Any, x: np.ndarray[Any, Any]) -> None:
    """Compare outputs and all gradients."""
    inner, outer = wb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    a, b = mine(inner), peer(outer)
    same(a, b)
    (a.rename(None) ** 2).sum().backward()
    (b**2).sum().backward()
    same(inner.grad, outer.grad, 1e-4)
    gradients = dict(mine.named_parameters())
    for name, parameter in peer.named_parameters():
        own = gradients.pop(name).grad
        assert (own is None) == (parameter.grad is None), name
        if own is not None:
            same(own, parameter.grad, 1e-4)
    assert not gradients


X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def row(library: Any) -> Any:
    return library.Sequential(
        library.Linear(4, 3), library.BatchNorm1d(3), library.ModuleDict({"a": library.Linear(1, 1)})["a"]
    )


def test_states_have_the_same_keys_versions_and_forms() -> None:
    mine, peer = row(nn), row(tnn)
    assert list(mine.state_dict()) == list(peer.state_dict())
    assert dict(mine.state_dict()._metadata)[""] == dict(peer.state_dict()._metadata)[""]
    assert list(mine.state_dict(prefix="x.")) == list(peer.state_dict(prefix="x."))
    assert repr(mine) == repr(peer)


@pytest.mark.parametrize("strict", [True, False])
def test_keys_are_missing_and_unexpected_in_the_same_order(strict: bool) -> None:
    mine, peer = row(nn), row(tnn)
    keys = {
        "0.weight": (3, 4),
        "1.num_batches_tracked": (),
        "1.extra": (1,),
        "9.bias": (2,),
        "2.weight": (1, 1),
    }
    ours = {key: np.zeros(shape, np.float32) for key, shape in keys.items()}
    theirs = {key: torch.zeros(shape) for key, shape in keys.items()}
    if not strict:
        a, b = mine.load_state_dict(ours, strict=False), peer.load_state_dict(theirs, strict=False)
        assert (a.missing_keys, a.unexpected_keys) == (b.missing_keys, b.unexpected_keys)
        return
    with pytest.raises(RuntimeError) as own:
        mine.load_state_dict(ours)
    with pytest.raises(RuntimeError) as other:
        peer.load_state_dict(theirs)
    lines = [str(one.value).split("\n\t") for one in (own, other)]
    assert lines[0][1].strip() == lines[1][1].strip()  # the missing ones; ours adds near misses to the others


def containers(library: Any) -> list[str]:
    s = library.Sequential(library.ReLU(), library.Tanh())
    s2 = s + library.Sequential(library.Identity())
    s3 = s2 * 2
    s3.insert(1, library.Sigmoid())
    s3.insert(-1, library.Sigmoid())
    popped = s3.pop(2)
    del s3[0]
    s3.append(library.Linear(2, 2))
    s3.extend(library.Sequential(library.ReLU()))
    named = library.Sequential(OrderedDict(a=library.ReLU(), b=library.Linear(1, 2)))
    ml = library.ModuleList([library.ReLU() for _ in range(3)])
    ml.insert(1, library.Tanh())
    ml += [library.Linear(1, 1), library.Linear(1, 1)]
    md = library.ModuleDict([("z", library.ReLU()), ("a", library.Linear(1, 1))])
    md.update({"k": library.Tanh()})
    removed = ml.pop(0)
    return [
        repr(one)
        for one in (
            s2,
            s3,
            popped,
            s3[1:3],
            named,
            named[1:],
            ml,
            ml[1:],
            ml.__add__([library.ReLU()]),
            md,
            removed,
        )
    ] + [
        str(list(md.keys())),
        str([name for name, _ in s3.named_modules()]),
        str([name for name, _ in named.named_parameters()]),
    ]


def test_containers_do_and_print_the_same() -> None:
    assert containers(nn) == containers(tnn)


def test_parameter_containers_do_and_print_the_same() -> None:
    mine = nn.ParameterList([wb.zeros(2, 3), nn.Parameter(wb.zeros(1)), "x"])
    peer = tnn.ParameterList([torch.zeros(2, 3), tnn.Parameter(torch.zeros(1)), "x"])
    ours, theirs = repr(mine).replace("workbench.", "torch."), repr(peer)
    assert ours.split("\n")[1].strip() == theirs.split("\n")[1].strip()
    assert len(ours.split("\n")) == len(theirs.split("\n"))
    a = nn.ParameterDict({"b": wb.zeros(2), "a": wb.ones(1)})
    b = tnn.ParameterDict({"b": torch.zeros(2), "a": torch.ones(1)})
    for one in (a, b):
        one.update([("q", one["a"])])
        one.setdefault("r", one["b"])
        one.pop("b")
    assert list(a.keys()) == list(b.keys())
    assert list(a.state_dict()) == list(b.state_dict())


def hooked(library: Any, x: Any, trace: list[Any]) -> Any:
    def shape(values: Any) -> Any:
        return [None if one is None else np.round(one.detach().numpy(), 4).tolist() for one in values]

    model = library.Sequential(library.Tanh(), library.Sigmoid())
    for i, module in enumerate(model):
        module.register_forward_pre_hook(lambda m, a, i=i: trace.append(("pre", i)))
        module.register_forward_hook(lambda m, a, o, i=i: trace.append(("post", i)))
        module.register_full_backward_pre_hook(lambda m, o, i=i: trace.append(("back pre", i, shape(o))))
        module.register_full_backward_hook(lambda m, a, o, i=i: trace.append(("back", i, shape(a), shape(o))))
    model.register_full_backward_hook(lambda m, a, o: (a[0] * 2,))
    model.register_forward_pre_hook(lambda m, a, k: ((a[0] * 3,), k), with_kwargs=True)
    model.register_forward_hook(lambda m, a, k, o: trace.append(("with", k)), with_kwargs=True, prepend=True)
    y = model(x)
    y.sum().backward()
    return y, x.grad


def test_hooks_run_in_the_same_order_with_the_same_gradients() -> None:
    ours: list[Any] = []
    theirs: list[Any] = []
    x = np.array([0.25, -0.5], np.float32)
    a = hooked(nn, wb.tensor(x, requires_grad=True), ours)
    b = hooked(tnn, torch.tensor(x, requires_grad=True), theirs)
    assert ours == theirs
    for mine, peer in zip(a, b, strict=True):
        same(mine, peer)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, float("inf"), 0.5])
@pytest.mark.parametrize("max_norm", [0.1, 1e6])
def test_gradients_are_clipped_alike(norm_type: float, max_norm: float) -> None:
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (5,), (2, 3, 4, 5), ())]
    ours, theirs = [], []
    for array in arrays:
        mine, peer = wb.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
        mine.grad, peer.grad = wb.tensor(array * 2), torch.tensor(array * 2)
        ours.append(mine)
        theirs.append(peer)
    same(
        utils.clip_grad_norm_(ours, max_norm, norm_type), tutils.clip_grad_norm_(theirs, max_norm, norm_type)
    )
    utils.clip_grad_value_(ours, 0.05)
    tutils.clip_grad_value_(theirs, 0.05)
    for mine, peer in zip(ours, theirs, strict=True):
        same(mine.grad, peer.grad)


PARAMETRIZED = {
    "weight_norm": ("weight_norm", {}),
    "weight_norm over all": ("weight_norm", {"dim": None}),
    "weight_norm over columns": ("weight_norm", {"dim": 1}),
    "spectral_norm": ("spectral_norm", {"n_power_iterations": 3}),
    "spectral_norm of columns": ("spectral_norm", {"dim": 1}),
}


@pytest.mark.parametrize("case", PARAMETRIZED)
@pytest.mark.parametrize("older", [True, False])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_normalised_weights(case: str, older: bool) -> None:
    name, keywords = PARAMETRIZED[case]
    ours, theirs = (utils, tutils) if older else (parametrizations, tutils.parametrizations)
    mine = getattr(ours, name)(nn.Linear(4, 3), **keywords)
    peer = getattr(theirs, name)(tnn.Linear(4, 3), **keywords)
    assert list(mine.state_dict()) == list(peer.state_dict())
    if not older:
        assert repr(mine) == repr(peer)
    trained(mine, peer_of(mine, peer), X)
    mine.eval(), peer.eval()
    trained(mine, peer, X)
    if older:
        getattr(utils, f"remove_{name}")(mine), getattr(tutils, f"remove_{name}")(peer)
    else:
        parametrize.remove_parametrizations(mine, "weight")
        tutils.parametrize.remove_parametrizations(peer, "weight")
    assert list(mine.state_dict()) == list(peer.state_dict())
    same(mine.weight, peer.weight)
    assert mine.weight.dim_labels == ("out_features", "in_features")


@pytest.mark.parametrize("sizes", [(4, 4), (4, 2), (4, 6)])
@pytest.mark.parametrize("way", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights(sizes: tuple[int, int], way: str, trivial: bool) -> None:
    mine = parametrizations.orthogonal(nn.Linear(*sizes), orthogonal_map=way, use_trivialization=trivial)
    peer = tutils.parametrizations.orthogonal(
        tnn.Linear(*sizes), orthogonal_map=way, use_trivialization=trivial
    )
    assert list(mine.state_dict()) == list(peer.state_dict())
    trained(mine, peer_of(mine, peer), X)


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class PeerSymmetric(torch.nn.Module):
    forward = Symmetric.forward
    right_inverse = Symmetric.right_inverse


class Scaled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2


class PeerScaled(torch.nn.Module):
    forward = Scaled.forward


def test_parametrizations_one_after_the_other() -> None:
    mine, peer = nn.Linear(4, 4), tnn.Linear(4, 4)
    peer_of(mine, peer)
    for module, room, kinds in (
        (mine, parametrize, (Symmetric, Scaled)),
        (peer, tutils.parametrize, (PeerSymmetric, PeerScaled)),
    ):
        for kind in kinds:
            room.register_parametrization(module, "weight", kind())
    assert list(mine.state_dict()) == list(peer.state_dict())
    assert repr(mine).replace("Peer", "") == repr(peer).replace("Peer", "")
    same(mine.parametrizations.weight.original, peer.parametrizations.weight.original)
    trained(mine, peer, X)
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        peer.weight = torch.zeros(4, 4)
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        mine.weight = wb.zeros(4, 4)
    other = copy.deepcopy(mine)
    start = peer.parametrizations.weight.original.clone()
    parametrize.remove_parametrizations(mine, "weight")
    tutils.parametrize.remove_parametrizations(peer, "weight")
    same(mine.weight, peer.weight)
    assert type(mine) is nn.Linear
    parametrize.remove_parametrizations(other, "weight", leave_parametrized=False)
    same(other.weight, start)


PRUNED = {
    "l1": lambda room, m, t: room.l1_unstructured(m, "weight", amount=0.3),
    "l1 counted": lambda room, m, t: room.l1_unstructured(m, "weight", amount=2),
    "scores": lambda room, m, t: room.l1_unstructured(
        m, "weight", amount=3, importance_scores=t(np.arange(12.0).reshape(3, 4))
    ),
    "l2 rows": lambda room, m, t: room.ln_structured(m, "weight", amount=1, n=2, dim=0),
    "max columns": lambda room, m, t: room.ln_structured(m, "weight", amount=0.5, n=float("inf"), dim=1),
    "mask": lambda room, m, t: room.custom_from_mask(m, "weight", t(np.eye(3, 4))),
    "identity": lambda room, m, t: room.identity(m, "weight"),
    "twice": lambda room, m, t: room.l1_unstructured(
        room.ln_structured(m, "weight", amount=1, n=1, dim=-1), "weight", amount=0.25
    ),
    "rows after values": lambda room, m, t: room.ln_structured(
        room.l1_unstructured(m, "weight", amount=0.5), "weight", amount=1, n=2, dim=0
    ),
}


@pytest.mark.parametrize("case", PRUNED)
def test_pruning(case: str) -> None:
    mine, peer = nn.Linear(4, 3), tnn.Linear(4, 3)
    peer_of(mine, peer)
    PRUNED[case](prune, mine, wb.tensor)
    PRUNED[case](tprune, peer, torch.tensor)
    assert list(mine.state_dict()) == list(peer.state_dict())
    same(mine.weight_mask, peer.weight_mask)
    assert prune.is_pruned(nn.Sequential(mine))
    trained(mine, peer, X)
    prune.remove(mine, "weight")
    tprune.remove(peer, "weight")
    assert list(mine.state_dict()) == list(peer.state_dict())
    assert mine.weight.dim_labels == ("out_features", "in_features")
    trained(mine, peer, X)


def test_pruning_several_together() -> None:
    mine, peer = (
        nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 5)),
        tnn.Sequential(tnn.Linear(4, 3), tnn.Linear(3, 5)),
    )
    peer_of(mine, peer)
    for room, model in ((prune, mine), (tprune, peer)):
        for amount in (0.3, 4):
            room.global_unstructured(
                [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")],
                pruning_method=room.L1Unstructured, amount=amount,
            )  # fmt: skip
    for i in (0, 1):
        same(mine[i].weight_mask, peer[i].weight_mask)
    trained(mine, peer, X)


def test_fused_layers() -> None:
    def model(library: Any) -> Any:
        return library.Sequential(library.Conv2d(2, 3, 2, bias=False), library.BatchNorm2d(3))

    mine, peer = model(nn), model(tnn)
    image = np.random.default_rng(3).standard_normal((2, 2, 5, 5)).astype(np.float32)
    mine(wb.tensor(image))
    peer_of(mine, peer).eval()
    mine.eval()
    a, b = utils.fuse_conv_bn_eval(*mine), tutils.fusion.fuse_conv_bn_eval(*peer)
    same(a.weight, b.weight)
    trained(a, b, image)
    line, peer_line = nn.Linear(4, 3).eval(), tnn.Linear(4, 3).eval()
    peer_of(line, peer_line)
    norm, peer_norm = nn.BatchNorm1d(3), tnn.BatchNorm1d(3)
    norm(line(wb.tensor(X)).rename(None))
    peer_of(norm, peer_norm).eval()
    trained(
        utils.fuse_linear_bn_eval(line, norm.eval()),
        tutils.fusion.fuse_linear_bn_eval(peer_line, peer_norm),
        X,
    )


def test_functional_calls_and_ensembles() -> None:
    mine, peer = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), tnn.Sequential(tnn.Linear(4, 3), tnn.Tanh())
    peer_of(mine, peer)
    given = np.random.default_rng(4).standard_normal((3, 4)).astype(np.float32)
    own = wb.func.grad(
        lambda w: wb.func.functional_call(mine, {"0.weight": w}, wb.tensor(X)).rename(None).sum()
    )(wb.tensor(given))
    other = torch.func.grad(
        lambda w: torch.func.functional_call(peer, {"0.weight": w}, torch.tensor(X)).sum()
    )(torch.tensor(given))
    same(own, other)


def test_vectors_of_parameters() -> None:
    mine, peer = nn.Linear(4, 3), tnn.Linear(4, 3)
    peer_of(mine, peer)
    same(utils.parameters_to_vector(mine.parameters()), tutils.parameters_to_vector(peer.parameters()))
    vector = np.arange(15, dtype=np.float32)
    utils.vector_to_parameters(wb.tensor(vector), mine.parameters())
    tutils.vector_to_parameters(torch.tensor(vector), peer.parameters())
    same(mine.weight, peer.weight)


@pytest.mark.parametrize(
    ("name", "shape", "keywords"),
    [
        ("dirac_", (4, 3, 3, 2), {}), ("dirac_", (6, 3, 3), {"groups": 3}), ("dirac_", (2, 2, 1, 2, 3), {"groups": 2}),
        ("eye_", (3, 5), {}), ("constant_", (2,), {"val": 0.3}), ("ones_", (2,), {}), ("zeros_", (2,), {}),
    ],
)  # fmt: skip
def test_first_values_without_chance(name: str, shape: Any, keywords: Any) -> None:
    mine, peer = wb.full(shape, 9.0), torch.full(shape, 9.0)
    same(getattr(nn.init, name)(mine, **keywords), getattr(tnn.init, name)(peer, **keywords))


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("uniform_", {"a": -1.0, "b": 3.0}), ("normal_", {"mean": 1.0, "std": 0.5}),
        ("trunc_normal_", {"std": 2.0, "a": -1.0, "b": 3.0}), ("trunc_normal_", {"mean": 1.0, "a": 2.0, "b": 2.5}),
        ("xavier_uniform_", {"gain": 1.5}), ("xavier_normal_", {}), ("kaiming_uniform_", {"a": 5**0.5}),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}), ("orthogonal_", {"gain": 2.0}),
        ("sparse_", {"sparsity": 0.2, "std": 0.5}),
    ],
)  # fmt: skip
def test_first_values_by_chance_have_the_same_distribution(name: str, keywords: Any) -> None:
    mine, peer = wb.zeros(150, 200), torch.zeros(150, 200)
    a = getattr(nn.init, name)(mine, **keywords, generator=wb.Generator(3)).numpy()
    b = getattr(tnn.init, name)(peer, **keywords, generator=torch.Generator().manual_seed(3)).numpy()
    spread = b.std()
    quantiles = np.linspace(0.01, 0.99, 25)
    np.testing.assert_allclose(np.quantile(a, quantiles), np.quantile(b, quantiles), atol=0.06 * spread)


def test_names_are_complete() -> None:
    missing = {name for name in tnn.init.__all__ if not hasattr(nn.init, name)}
    assert not missing
    for ours, theirs in ((parametrize, tutils.parametrize), (parametrizations, tutils.parametrizations)):
        assert set(theirs.__all__) <= set(ours.__all__)
    public = {
        name
        for name in vars(tnn.Module)
        if not name.startswith("_") and name not in ("T_destination", "call_super_init", "dump_patches")
    }
    assert public - set(dir(nn.Module)) == {"compile", "ipu", "mtia", "xpu"}
    assert set(tutils.__all__) - set(utils.__all__) == {
        "convert_conv2d_weight_memory_format",
        "convert_conv3d_weight_memory_format",
    }
