"""What names come out: the published rules of named tensors, row by row, for every op of the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import DimensionError, Tensor

F = wb.nn.functional


def named(*names: str | None, dtype: Any = None) -> Tensor:
    """Positive values below one, with sizes 2, 3, 4, … and the names given."""
    sizes = tuple(range(2, 2 + len(names)))
    x = (wb.arange(wb.zeros(sizes).numel()) / 64.0 + 0.1).reshape(sizes).rename(*names)
    return x if dtype is None else (x * 8).to(dtype)


X = named("N", "C", "H")
INTEGERS = named("N", "C", "H", dtype=wb.int64)

# ------------------------------------------------------------------------------------------------ names pass

UNARY = """
    abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
    lgamma log log10 log1p log2 logit neg positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign sin sinc sinh
    sqrt square tan tanh trunc isfinite isinf isnan isposinf isneginf isreal signbit logical_not nan_to_num conj clone
    detach contiguous float double half bfloat16 int long short bool i0 xlogy_self
""".split()  # noqa: SIM905
KEEP: dict[str, Callable[[Tensor], Any]] = {
    **{name: lambda x, name=name: getattr(x, name)() for name in UNARY if name != "xlogy_self"},
    "cumsum": lambda x: x.cumsum("C"),
    "cumprod": lambda x: x.cumprod("C"),
    "cummax": lambda x: x.cummax("C"),
    "cummin": lambda x: x.cummin("C"),
    "logcumsumexp": lambda x: x.logcumsumexp("C"),
    "clamp": lambda x: x.clamp(0.2, 0.4),
    "clip": lambda x: x.clip(min=0.2),
    "softmax": lambda x: x.softmax("C"),
    "log_softmax": lambda x: x.log_softmax("C"),
    "softmin": lambda x: F.softmin(x, "C"),
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout2d": lambda x: F.dropout2d(x, 0.5),
    "masked_fill": lambda x: x.masked_fill(x > 0.3, 0.0),
    "index_fill": lambda x: x.index_fill("C", wb.tensor([0]), 1.0),
    "narrow": lambda x: x.narrow("C", 0, 2),
    "split": lambda x: x.split(2, "C"),
    "chunk": lambda x: x.chunk(2, "C"),
    "tensor_split": lambda x: x.tensor_split(2, "C"),
    "slice": lambda x: x[:, 1:],
    "bernoulli": lambda x: x.bernoulli(),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "max_pool1d_with_indices": lambda x: F.max_pool1d(x, 2, return_indices=True),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 2),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 2),
    "gelu": F.gelu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "silu": F.silu,
    "softplus": F.softplus,
    "hardtanh": F.hardtanh,
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "interpolate": lambda x: F.interpolate(x, 6),
    "pad": lambda x: F.pad(x, (1, 1)),
    "flip": lambda x: x.flip("C"),
    "roll": lambda x: x.roll(1, "C"),
    "sort": lambda x: x.sort("C"),
    "argsort": lambda x: x.argsort("C"),
    "topk": lambda x: x.topk(2, "C"),
    "tril": lambda x: x.tril(),
    "index_select": lambda x: x.index_select("C", wb.tensor([0, 0])),
    "gather": lambda x: x.gather("C", wb.zeros(2, 1, 4, dtype=wb.int64)),
    "scatter": lambda x: x.scatter("C", wb.zeros(2, 1, 4, dtype=wb.int64), 0.0),
    "scatter_add": lambda x: x.scatter_add("C", wb.zeros(2, 1, 4, dtype=wb.int64), x),
    "index_add": lambda x: x.index_add("C", wb.tensor([0]), x[:, :1]),
    "index_copy": lambda x: x.index_copy("C", wb.tensor([0]), x[:, 1:2]),
    "take_along_dim": lambda x: x.take_along_dim(wb.zeros(2, 1, 4, dtype=wb.int64), "C"),
    "diff": lambda x: x.diff(dim="C"),
    "renorm": lambda x: x.renorm(2, "C", 1.0),
    "empty_like": wb.empty_like,
    "zeros_like": wb.zeros_like,
    "ones_like": wb.ones_like,
    "full_like": lambda x: wb.full_like(x, 2.0),
    "rand_like": wb.rand_like,
    "randn_like": wb.randn_like,
    "randint_like": lambda x: wb.randint_like(x, 3),
    "to": lambda x: x.to(wb.float64),
    "fft": lambda x: wb.fft.fft(x, dim="C"),
    "rfft": lambda x: wb.fft.rfft(x, dim="C"),
    "expit": wb.special.expit,
    "normalize": lambda x: F.normalize(x, dim="C"),
}


def several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", KEEP)
def test_names_are_kept(name: str) -> None:
    for one in several(KEEP[name](X)):
        assert one.names == ("N", "C", "H")
    for one in several(KEEP[name](X.rename("N", "C", None))):
        assert one.names == ("N", "C", None)


# --------------------------------------------------------------------------------------------- names go

REDUCTIONS = """
    sum mean prod std var logsumexp median nanmedian mode amax amin argmax argmin all any nansum nanmean count_nonzero
    norm min max
""".split()  # noqa: SIM905
BY_NAME: dict[str, Callable[..., Any]] = {
    **{
        name: lambda x, *a, name=name, **k: getattr(x, name)(*a, **k) for name in REDUCTIONS if name != "norm"
    },
    "norm": lambda x, *a, **k: wb.linalg.norm(x, None, *a, **k) if a else wb.linalg.norm(x, **k),
    "kthvalue": lambda x, dim, **k: x.kthvalue(1, dim, **k),
    "quantile": lambda x, dim=None, **k: x.quantile(0.5, dim, **k),
    "std_mean": lambda x, *a, **k: wb.std_mean(x, *a, **k),
    "var_mean": lambda x, *a, **k: wb.var_mean(x, *a, **k),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_reduced_dim_goes_and_keepdim_keeps_all(name: str) -> None:
    reduce = BY_NAME[name]
    for one in several(reduce(X, "C")):
        assert one.names == ("N", "H")
    if name != "count_nonzero":
        for one in several(reduce(X, "C", keepdim=True)):
            assert (one.names, one.shape) == (("N", "C", "H"), (2, 1, 4))
    for one in several(reduce(X, -1)):
        assert one.names == ("N", "C")


@pytest.mark.parametrize(
    "name", [name for name in BY_NAME if name not in ("kthvalue", "logsumexp", "mode", "norm")]
)
def test_a_full_reduction_has_no_dims(name: str) -> None:
    for one in several(BY_NAME[name](X)):
        assert one.names == ()


@pytest.mark.parametrize("name", ["sum", "mean", "std", "var", "logsumexp", "amax", "amin", "nansum"])
def test_several_dims_are_reduced_by_name(name: str) -> None:
    assert BY_NAME[name](X, ["H", "N"]).names == ("C",)
    assert BY_NAME[name](X, ("N", -1)).names == ("C",)


def test_selecting_and_squeezing_drop_names() -> None:
    assert X.select("C", 1).names == ("N", "H")
    assert [one.names for one in X.unbind("C")] == [("N", "H")] * 3
    thin = named("N", "C", "H")[:1, :, :1]
    assert thin.squeeze().names == ("C",)
    assert thin.squeeze("N").names == ("C", "H")
    assert thin.squeeze("C").names == ("N", "C", "H")


# ------------------------------------------------------------------------------------------ names unify

BINARY = """
    add sub mul div pow atan2 fmod remainder floor_divide eq ne lt le gt ge maximum minimum fmax fmin hypot copysign
    logaddexp logaddexp2 logical_and logical_or logical_xor true_divide subtract multiply divide float_power xlogy
    heaviside nextafter arctan2 greater less
""".split()  # noqa: SIM905
BITWISE = """
    bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm
""".split()  # noqa: SIM905
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "&": lambda a, b: a.long() & b.long(),
    "<<": lambda a, b: a.long() << b.long(),
    "where": lambda a, b: wb.where(a > 0, a, b),
    "lerp": lambda a, b: wb.lerp(a, b, 0.5),
    "addcmul": lambda a, b: wb.addcmul(a, a, b),
    "addcdiv": lambda a, b: wb.addcdiv(a, a, b),
    "clamp": lambda a, b: wb.clamp(a, b),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 0.0),
    "isclose": lambda a, b: wb.isclose(a, b),
}
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    **OPERATORS,
    **{name: lambda a, b, name=name: getattr(wb, name)(a, b) for name in BINARY},
    **{name: lambda a, b, name=name: getattr(wb, name)(a.long(), b.long()) for name in BITWISE},
}


@pytest.mark.parametrize("name", PAIRS)
def test_names_of_two_operands_unify_from_the_right(name: str) -> None:
    op = PAIRS[name]
    assert op(X, named("N", "C", "H")).names == ("N", "C", "H")
    assert op(X, X[0]).names == ("N", "C", "H")
    assert op(X, X.rename(None)).names == ("N", "C", "H")
    assert op(X.rename("N", None, "H"), X.rename(None, "C", None)).names == ("N", "C", "H")


@pytest.mark.parametrize("name", PAIRS)
def test_permuted_names_are_refused_with_the_alignment_that_mends_it(name: str) -> None:
    square = wb.ones(C=2, H=2)
    with pytest.raises(DimensionError) as caught:
        PAIRS[name](square, wb.ones(H=2, C=2))
    assert "do not match" in str(caught.value)
    assert ".align_as(" in caught.value.fix
    assert PAIRS[name](square, wb.ones(H=2, C=2).align_as(square)).names == ("C", "H")


@pytest.mark.parametrize("name", PAIRS)
def test_a_near_miss_is_called_a_misspelling(name: str) -> None:
    with pytest.raises(DimensionError, match=r"Is 'chann?el' a misspelling of 'chann?el'") as caught:
        PAIRS[name](wb.ones(N=2, channel=3), wb.ones(N=2, chanel=3))
    assert ".rename(chan" in caught.value.fix


@pytest.mark.parametrize("name", PAIRS)
def test_a_name_at_another_place_is_refused(name: str) -> None:
    with pytest.raises(
        DimensionError, match="appears in a different position from the right across both lists"
    ):
        PAIRS[name](wb.ones(2, 2).rename("N", None), wb.ones(2).rename("N"))


def test_joins_unify_names() -> None:
    other = X.rename(None, "C", None)
    assert wb.cat([other, X], "C").names == ("N", "C", "H")
    assert wb.cat([X, other], dim=1).shape == (2, 6, 4)
    assert wb.stack([X, other], 1, "T").names == ("N", "T", "C", "H")
    assert wb.stack([X, X]).names == (None, "N", "C", "H")
    with pytest.raises(DimensionError, match="do not match"):
        wb.cat([X, X.rename(C="K")], "N")
    with pytest.raises(DimensionError, match="do not match"):
        wb.stack([X, X.rename(C="K")])


# ------------------------------------------------------------------------------- permuted, contracted, others


def test_permutations() -> None:
    assert X[0].t().names == ("H", "C")
    assert X.transpose("N", "H").names == ("H", "C", "N")
    assert X.permute(2, 0, 1).names == X.permute("H", "N", "C").names == ("H", "N", "C")
    assert X.movedim("H", 0).names == ("H", "N", "C")
    assert X.swapaxes("N", "C").names == ("C", "N", "H")
    assert (X.mT.names, X.T.names) == (("N", "H", "C"), ("H", "C", "N"))


def test_contractions() -> None:
    a, b = wb.ones(N=2, D=3), wb.ones(3, 4, names=("in", "out"))
    assert (a @ b).names == wb.mm(a, b).names == ("N", "out")
    assert wb.mv(a, wb.ones(D=3)).names == ("N",)
    assert wb.dot(wb.ones(D=3), wb.ones(E=3)).names == ()
    batch = wb.ones(B=5, N=2, D=3)
    assert wb.bmm(batch, wb.ones(5, 3, 4, names=("B", None, "K"))).names == ("B", "N", "K")
    assert (batch @ b).names == ("B", "N", "out")
    assert wb.addmm(wb.ones(out=4), a, b).names == ("N", "out")
    assert wb.addmv(wb.ones(N=2), a, wb.ones(D=3)).names == ("N",)
    assert wb.baddbmm(wb.ones(5, 2, 4), batch, wb.ones(B=5, D=3, K=4)).names == ("B", "N", "K")
    assert wb.outer(wb.ones(N=2), wb.ones(C=3)).names == ("N", "C")
    assert wb.contract(wb.ones(N=2, C=3), wb.ones(K=4, C=3), "C").names == ("N", "K")
    assert F.linear(a, wb.ones(4, 3, names=("out_features", "in_features"))).names == ("N", "out_features")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wb.addmm(wb.ones(K=4), wb.ones(N=2, D=3), wb.ones(D=3, out=4)), "do not match"),
        (lambda: wb.ones(N=2, D=3) @ wb.ones(D=3, N=4), "duplicate names"),
        (
            lambda: wb.ones(B=2, N=3, D=3) @ wb.ones(B=3, K=3).rename("D", "B"),
            "Misaligned dims when batch matrix multiplying",
        ),
        (lambda: wb.contract(wb.ones(channel=2), wb.ones(channel=2), "chanel"), "Did you mean 'channel'?"),
    ],
)
def test_contractions_that_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(DimensionError) as caught:
        call()
    assert message in str(caught.value)


def test_equations_by_name() -> None:
    images, weight = wb.ones(N=2, channel=3), wb.ones(K=4, channel=3)
    assert wb.einsum("N channel, K channel -> N K", images, weight).names == ("N", "K")
    assert wb.einsum("ij,kj->ik", images, weight).names == ("N", "K")
    heads = wb.einsum("N head1, K head2 -> N K", wb.ones(N=2, head1=3), wb.ones(K=2, head2=3))
    assert heads.names == ("N", "K")  # summed each by itself, and told apart by a number
    for call in (
        lambda: wb.einsum("N chanel, K channel -> N K", images, weight),
        lambda: wb.einsum("N channel, K chanel -> N K", images, weight.rename(channel="chanel")),
    ):
        with pytest.raises(DimensionError, match="Is one a misspelling of the other"):
            call()


def test_new_dims_have_no_name() -> None:
    assert wb.ones(C=3).expand(2, 3).names == (None, "C")
    assert wb.ones(C=3).broadcast_to((2, 3)).names == (None, "C")
    assert X.unsqueeze(0).names == (None, "N", "C", "H")
    assert X[:, None].names == ("N", None, "C", "H")


def test_quantiles_come_first_under_their_name() -> None:
    shares = wb.tensor([0.25, 0.5], names=("share",))
    assert X.quantile(shares, "C").names == ("share", "N", "H")
    assert X.quantile(shares.rename(None), "C").names == (None, "N", "H")
    with pytest.raises(DimensionError, match="would be called 'N'"):
        X.quantile(shares.rename("N"), "C")


def test_diagonals() -> None:
    assert X.diagonal(0, "N", "H").names == ("C", None)
    assert wb.diag_embed(wb.ones(N=2, C=3)).names == ("N", None, None)


def test_factories_give_names() -> None:
    for make in (wb.zeros, wb.ones, wb.empty, wb.rand, wb.randn):
        assert make(2, 3, names=("N", "C")).names == make(N=2, C=3).names == ("N", "C")
        assert make((2, 3), names=("N", None)).names == ("N", None)
        assert make(2, 3).names == (None, None)
    assert wb.tensor([[1, 2]], names=("N", "C")).names == ("N", "C")
    assert (
        wb.full((2, 3), 1.0, names=("N", "C")).names == wb.full(fill_value=1.0, N=2, C=3).names == ("N", "C")
    )
    assert wb.full({"N": 2, "C": 3}, 1.0).shape == (2, 3)
    assert wb.randint(0, 9, N=2, C=3).names == wb.randint(9, (2, 3), names=("N", "C")).names == ("N", "C")
    assert wb.normal(0.0, 1.0, N=2, C=3).names == ("N", "C")
    assert wb.arange(3, names=("N",)).names == wb.linspace(0, 1, 3, names=("N",)).names == ("N",)
    assert wb.logspace(0, 1, 3, names=("N",)).names == ("N",)
    assert wb.eye(2, names=("rows", "columns")).names == ("rows", "columns")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: wb.zeros(N=2, dytpe="float32"),
            "dytpe='float32' is no size of a dim. Did you mean 'dtype'?",
        ),
        (lambda: wb.randn(2, nmaes=("N",)), "Did you mean 'names'?"),
        (lambda: wb.full(fill_value=1, N=2, dvice="cpu"), "Did you mean 'device'?"),
        (lambda: wb.randint(0, 3, N=2, dtyp=wb.int8), "Did you mean 'dtype'?"),
        (lambda: wb.full(N=2), "give the value to fill with"),
        (lambda: wb.randint(0, 3, (2,), N=2), "not both"),
    ],
)
def test_misspelt_keywords_of_factories(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value)


# --------------------------------------------------------------------------------------------- equal, by name


def test_equal_compares_names() -> None:
    assert wb.equal(X, named("N", "C", "H"))
    assert not wb.equal(X, X.rename(None))
    assert not wb.equal(X, X.rename(C="K"))
    assert X.rename(None).equal(X.rename(None))


DIM_FIRST: dict[str, Callable[[Tensor, Any], Any]] = {
    **{name: lambda x, dim, name=name: BY_NAME[name](x, dim) for name in BY_NAME},
    **{
        name: lambda x, dim, name=name: getattr(x, name)(dim)
        for name in (
            "cumsum",
            "cumprod",
            "softmax",
            "log_softmax",
            "flip",
            "unbind",
            "squeeze",
            "size",
            "logcumsumexp",
        )
    },
    "select": lambda x, dim: x.select(dim, 0),
    "narrow": lambda x, dim: x.narrow(dim, 0, 1),
    "split": lambda x, dim: x.split(1, dim),
    "transpose": lambda x, dim: x.transpose(dim, 0),
    "permute": lambda x, dim: x.permute(dim, "N"),
    "movedim": lambda x, dim: x.movedim(dim, 0),
    "flatten": lambda x, dim: x.flatten(["N", dim], "all"),
    "unflatten": lambda x, dim: x.unflatten(dim, (("a", 3), ("b", 1))),
    "cat": lambda x, dim: wb.cat([x, x], dim),
    "gather": lambda x, dim: x.gather(dim, wb.zeros(2, 3, dtype=wb.int64)),
    "sort": lambda x, dim: x.sort(dim),
    "topk": lambda x, dim: x.topk(1, dim),
    "roll": lambda x, dim: x.roll(1, dim),
    "index_select": lambda x, dim: x.index_select(dim, wb.tensor([0])),
    "fft": lambda x, dim: wb.fft.fft(x, dim=dim),
    "diff": lambda x, dim: x.diff(dim=dim),
    "normalize": lambda x, dim: F.normalize(x, dim=dim),
    "cosine_similarity": lambda x, dim: F.cosine_similarity(x, x, dim),
    "glu": lambda x, dim: F.glu(x[:, :2], dim),
    "vector_norm": lambda x, dim: wb.linalg.vector_norm(x, dim=dim),
    "stride": lambda x, dim: x.stride(dim),
    "repeat_interleave": lambda x, dim: x.repeat_interleave(2, dim),
    "unique": lambda x, dim: x.unique(dim=dim),
    "trapezoid": lambda x, dim: wb.trapezoid(x, dim=dim),
    "align_to": lambda x, dim: x.align_to("N", dim),
}


@pytest.mark.parametrize("name", DIM_FIRST)
def test_dims_are_given_by_name_everywhere_and_misspellings_are_told(name: str) -> None:
    x = wb.ones(N=2, channel=3)
    DIM_FIRST[name](x, "channel")
    with pytest.raises(DimensionError) as caught:
        DIM_FIRST[name](x, "chanel")
    text = str(caught.value)
    assert "Did you mean 'channel'?" in text or "misspelling" in text
    if name not in ("align_to",):
        assert "Name 'chanel' not found in Tensor['N', 'channel']." in text
