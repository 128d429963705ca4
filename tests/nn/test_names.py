"""Every module that is offered: names come in, are checked where the layer says what they mean, and come out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench.nn import Module
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import check_spatial

nn: Any = wb.nn

Names = tuple[str | None, ...]


class Given(NamedTuple):
    """An input by the names and sizes of its dims, and what its values are."""

    sizes: dict[str, int]
    values: Callable[..., Any] = wb.randn

    def tensor(self, *names: str | None) -> Any:
        return self.values(*self.sizes.values()).rename(*(names or self.sizes))


class Case(NamedTuple):
    """A layer, what it is called with, and what it says of the names."""

    make: Callable[[], Any]
    inputs: tuple[Given, ...]
    out: Any
    """Names of what comes out."""
    known: tuple[str, ...] = ()
    """Names that are refused in another spelling, wherever they stand."""
    placed: tuple[str, ...] = ()
    """Names that are refused in another place, of any input."""
    by_name: bool = False
    """Whether the layer was made with the name of a dim, which its input must then have."""
    unnamed: frozenset[str] = frozenset()
    """Parameters that have a dim without a label; the reason stands beside the case."""


def whole(*sizes: int) -> Any:
    return wb.zeros(*sizes, dtype=wb.int64)


def share(*sizes: int) -> Any:
    return wb.full(sizes, 0.5)


def fours(*sizes: int) -> Any:
    return wb.full(sizes, 4, dtype=wb.int64)


def ones(*sizes: int) -> Any:
    return wb.ones(*sizes, dtype=wb.int64)


SPATIAL: dict[int, dict[str, int]] = {
    1: {"N": 2, "C": 4, "L": 6},
    2: {"N": 2, "C": 4, "H": 6, "W": 4},
    3: {"N": 2, "C": 4, "D": 4, "H": 6, "W": 4},
}
IMAGE = SPATIAL[2]
CASES: dict[str, list[Case]] = {}
arguments: tuple[Any, ...]


def case(name: str, *arguments: Any, given: Any, out: Any = None, known: Any = (), placed: Any = (),
         by_name: bool = False, unnamed: Any = (), **settings: Any) -> None:  # fmt: skip
    inputs = tuple(one if isinstance(one, Given) else Given(one) for one in given)
    CASES.setdefault(name, []).append(
        Case(
            lambda: getattr(nn, name)(*arguments, **settings),
            inputs,
            tuple(inputs[0].sizes) if out is None else out,
            tuple(known),
            tuple(placed),
            by_name,
            frozenset(unnamed),
        )
    )


def spatial(name: str, n: int, *arguments: Any, alone: bool = True, **settings: Any) -> None:
    """A layer on [N, C, …], and on [C, …] if `alone`, that knows every dim."""
    batch = SPATIAL[n]
    one = {key: size for key, size in batch.items() if key != "N"}
    for sizes in (batch, one) if alone else (batch,):
        case(name, *arguments, given=[sizes], known=sizes, placed=sizes, **settings)


for n in (1, 2, 3):
    for kind, arguments in (
        ("Conv", (4, 2, 3)), ("ConvTranspose", (4, 2, 3)), ("LazyConv", (2, 3)), ("LazyConvTranspose", (2, 3)),
        ("InstanceNorm", (4,)), ("LazyInstanceNorm", ()), ("MaxPool", (2,)), ("AvgPool", (2,)),
        ("LPPool", (2, 2)), ("AdaptiveAvgPool", (2,)), ("AdaptiveMaxPool", (2,)),
    ):  # fmt: skip
        affine = {"affine": True} if "InstanceNorm" in kind else {}
        spatial(f"{kind}{n}d", n, *arguments, **affine)
    spatial(f"Dropout{n}d", n, alone=n != 2)  # of three dims Dropout2d takes the first for N, as PyTorch does
    spatial(f"BatchNorm{n}d", n, 4, alone=False)
    if n == 2:  # of any number of dims
        spatial("SyncBatchNorm", n, 4, alone=False)
    spatial(f"LazyBatchNorm{n}d", n, alone=False)
    batch = SPATIAL[n]
    pair = [batch, Given(batch, whole)]
    case(f"MaxUnpool{n}d", 2, given=pair, known=batch, placed=batch)
    # Borders are those of the last dims; what stands before them is passed on.
    space = tuple(batch)[2:]
    for kind, arguments in (("Zero", (1,)), ("Constant", (1, 2.0)), ("Reflection", (1,)), ("Replication", (1,)),
                            ("Circular", (1,))):  # fmt: skip
        case(f"{kind}Pad{n}d", *arguments, given=[batch], known=space, placed=space)
    case("Upsample", scale_factor=2, given=[batch], known=batch, placed=batch)
for n in (2, 3):
    spatial(f"FractionalMaxPool{n}d", n, 2, output_size=2)
for name in (
    "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Dropout", "AlphaDropout",
):  # fmt: skip
    case(name, given=[IMAGE])
case("Threshold", 0.1, 1.0, given=[IMAGE])
case("FeatureAlphaDropout", given=[IMAGE], placed="C")
case("PReLU", 4, given=[IMAGE], placed="C")
case("GLU", given=[IMAGE])
for name in ("GLU", "Softmax", "LogSoftmax", "Softmin"):
    case(name, dim="C", given=[IMAGE], known="C", by_name=True)
case("Softmax2d", given=[IMAGE], known=IMAGE, placed=IMAGE)

ROWS = {"N": 2, "C": 4}
for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss", "KLDivLoss",
             "PoissonNLLLoss", "SoftMarginLoss", "HingeEmbeddingLoss"):  # fmt: skip
    case(name, reduction="none", given=[ROWS, ROWS], known=ROWS, placed=ROWS)
case("MultiLabelSoftMarginLoss", reduction="none", given=[ROWS, ROWS], out=("N",), known=ROWS, placed=ROWS)
case("BCELoss", reduction="none", given=[Given(ROWS, share)] * 2, known=ROWS, placed=ROWS)
case("GaussianNLLLoss", reduction="none", given=[ROWS, ROWS, Given(ROWS, share)], known=ROWS, placed=ROWS)
PICKED = Given({"N": 2}, whole)
DENSE, DENSE_PICKED = {"N": 2, "C": 4, "H": 3, "W": 3}, Given({"N": 2, "H": 3, "W": 3}, whole)
for name in ("CrossEntropyLoss", "NLLLoss"):  # classes may be called as one likes
    case(name, reduction="none", given=[ROWS, PICKED], out=("N",), known="N", placed=ROWS)
for name in ("CrossEntropyLoss", "NLLLoss", "NLLLoss2d"):
    case(name, reduction="none", given=[DENSE, DENSE_PICKED], out=("N", "H", "W"), known="NHW", placed=DENSE)
case("MultiMarginLoss", reduction="none", given=[ROWS, PICKED], out=("N",), known="N", placed=ROWS)
case(
    "MultiLabelMarginLoss",
    reduction="none",
    given=[ROWS, Given(ROWS, whole)],
    out=("N",),
    known="N",
    placed=ROWS,
)
PAIRS = {"N": 2, "E": 4}
for name in ("CosineSimilarity", "PairwiseDistance"):
    case(name, given=[PAIRS, PAIRS], out=("N",), known=PAIRS, placed=PAIRS)
case(
    "CosineEmbeddingLoss",
    reduction="none",
    given=[PAIRS, PAIRS, {"N": 2}],
    out=("N",),
    known=PAIRS,
    placed=PAIRS,
)
case("MarginRankingLoss", reduction="none", given=[{"N": 2}] * 3, known="N")
for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
    case(name, reduction="none", given=[PAIRS] * 3, out=("N",), known=PAIRS, placed=PAIRS)
case(
    "CTCLoss", reduction="none", out=("N",), known="N", placed="TN",
    given=[{"T": 6, "N": 2, "C": 4}, Given({"N": 2, "S": 2}, ones), Given({"N": 2}, fours), Given({"N": 2}, ones)],
)  # fmt: skip
case(
    "LinearCrossEntropyLoss", 4, 5, reduction="none", given=[PAIRS, PICKED], out=("N",), known="N", placed="N"
)
case(
    "AdaptiveLogSoftmaxWithLoss",
    4,
    10,
    cutoffs=[5],
    given=[PAIRS, PICKED],
    out=(("N",), ()),
    known="N",
    placed="N",
)

WORDS = Given({"N": 2, "T": 3}, whole)
case("Linear", 4, 3, given=[{"N": 2, "T": 3, "E": 4}], out=("N", "T", "out_features"))
case("LazyLinear", 3, given=[{"N": 2, "T": 3, "E": 4}], out=("N", "T", "out_features"))
case(
    "Bilinear",
    4,
    5,
    3,
    given=[{"N": 2, "A": 4}, {"N": 2, "B": 5}],
    out=("N", "out_features"),
    known="N",
    placed="N",
)
case("Embedding", 10, 3, given=[WORDS], out=("N", "T", "embedding_dim"))
case("EmbeddingBag", 10, 3, given=[WORDS], out=("N", "embedding_dim"), placed="N")
case("Flatten", given=[IMAGE], out=("N", "features"))
case(
    "Unflatten",
    "C",
    (("a", 2), ("b", 2)),
    given=[dict.fromkeys("NCHW", 4)],
    out=("N", "a", "b", "H", "W"),
    known="C",
    by_name=True,
)
case("Fold", (6, 6), (1, 1), given=[{"N": 2, "C": 4, "L": 36}], out=tuple(IMAGE), known="N", placed="NCL")
case("Unfold", 2, given=[IMAGE], out=("N", None, None), known=IMAGE, placed=IMAGE)  # channels times places
case("GroupNorm", 2, 4, given=[IMAGE], known=IMAGE, placed=IMAGE)
for name in ("LayerNorm", "RMSNorm"):
    case(name, 4, given=[IMAGE])
    case(name, {"H": 6, "W": 4}, given=[IMAGE], known="HW", placed="HW")
    # Nobody has said what several dims are called that were given by size alone.
    case(name, (6, 4), given=[IMAGE], unnamed=("weight", "bias"))
for name in ("LocalResponseNorm", "CrossMapLRN2d", "ChannelShuffle"):
    case(name, 2, given=[IMAGE], known=IMAGE, placed=IMAGE)
for name in ("PixelShuffle", "PixelUnshuffle"):
    case(name, 2, given=[IMAGE], known="HW", placed="CHW")
for name in ("UpsamplingBilinear2d", "UpsamplingNearest2d"):
    case(name, scale_factor=2, given=[IMAGE], known=IMAGE, placed=IMAGE)

STEPS, BATCHES = {"T": 5, "N": 2, "E": 4}, {"N": 2, "T": 5, "E": 4}
LAST = ("layers", "N", "hidden")
for name in ("RNN", "LSTM", "GRU"):
    last = (LAST, LAST) if name == "LSTM" else LAST
    for sizes in (STEPS, BATCHES):
        for settings in ({}, {"bidirectional": True, "num_layers": 2}, {"bias": False}):
            case(name, 4, 3, batch_first=sizes is BATCHES, given=[sizes], placed="NT",
                 out=((*tuple(sizes)[:2], "hidden"), last), **settings)  # fmt: skip
    case(name, 4, 3, given=[{"T": 5, "E": 4}], out=(("T", "hidden"), (("layers", "hidden"),) * 2
         if name == "LSTM" else ("layers", "hidden")))  # fmt: skip
case(
    "LSTM",
    4,
    3,
    proj_size=2,
    given=[STEPS],
    placed="NT",
    out=(("T", "N", "hidden"), (LAST, ("layers", "N", "cell"))),
)
for name in ("RNNCell", "LSTMCell", "GRUCell"):
    case(
        name,
        4,
        3,
        given=[PAIRS],
        placed="N",
        out=(("N", "hidden"),) * 2 if name == "LSTMCell" else ("N", "hidden"),
    )

SOURCE = {"S": 3, "N": 2, "E": 4}
for sizes in (STEPS, BATCHES):
    first = sizes is BATCHES
    source = {key: SOURCE[key] for key in ("NSE" if first else "SNE")}
    names = tuple(sizes)
    case(
        "MultiheadAttention",
        4,
        2,
        batch_first=first,
        given=[sizes] * 3,
        out=(names, ("N", "T", None)),
        placed="NT",
    )
    case("MultiheadAttention", 4, 2, batch_first=first, given=[sizes, source, source], placed="NTS",
         out=(names, ("N", "T", "S")))  # fmt: skip
    case("Transformer", 4, 2, 1, 1, 8, batch_first=first, given=[source, sizes], out=names, placed="NT")
    case("TransformerEncoderLayer", 4, 2, 8, batch_first=first, given=[sizes], placed="NT")
    case("TransformerDecoderLayer", 4, 2, 8, batch_first=first, given=[sizes, source], placed="NT")
# The first two dims of a key and value that are added to all have one entry: they are nobody's.
case("MultiheadAttention", 4, 2, add_bias_kv=True, kdim=4, vdim=5, given=[STEPS, SOURCE, {**SOURCE, "E": 5}],
     out=(tuple(STEPS), ("N", "T", "S")), unnamed=("bias_k", "bias_v"), placed="NTS")  # fmt: skip

NOT_CALLED = {
    "DataParallel": "does what its module does",
    "Module": "has no forward of its own",
    "ModuleDict": "has no forward of its own",
    "ModuleList": "has no forward of its own",
    "ParameterDict": "has no forward of its own",
    "ParameterList": "has no forward of its own",
    "RNNBase": "what RNN, LSTM and GRU share",
    "RNNCellBase": "what the cells share",
    "Sequential": "does what its modules do",
    "TransformerDecoder": "does what its layers do",
    "TransformerEncoder": "does what its layers do",
}

EACH = [
    pytest.param(name, one, id=f"{name}-{i}")
    for name, several in CASES.items()
    for i, one in enumerate(several)
]


def dims_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(dims_of(one) for one in value)
    return () if isinstance(value, float) or not value.shape else value.names


def names_in(value: Any) -> list[str | None]:
    if isinstance(value, tuple):
        return [name for one in value for name in names_in(one)]
    return [] if isinstance(value, float) else list(value.names)


def test_every_module_that_is_offered_stands_here() -> None:
    offered = {
        name
        for name in nn.__all__
        if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    }
    assert offered == CASES.keys() | NOT_CALLED.keys()
    assert not CASES.keys() & NOT_CALLED.keys()


@pytest.mark.parametrize(("name", "case"), EACH)
def test_names_come_out(name: str, case: Case) -> None:
    module = case.make()
    assert dims_of(module(*[one.tensor() for one in case.inputs])) == case.out
    if not case.by_name:  # values without names pass, and what comes out has none
        unnamed = module(*[one.tensor().rename(None) for one in case.inputs])
        assert not any(names_in(unnamed)), names_in(unnamed)


@pytest.mark.parametrize(("name", "case"), EACH)
def test_every_parameter_knows_what_its_dims_are_called(name: str, case: Case) -> None:
    module = case.make()
    module(*[one.tensor() for one in case.inputs])  # lazy layers know their sizes from here on
    known = {path: one.dim_labels for path, one in module.named_parameters()}
    without = {path for path, labels in known.items() if None in labels}
    assert without == case.unnamed & known.keys()
    statistics = {path: one.dim_labels for path, one in module.named_buffers() if one.shape}
    assert not [path for path, labels in statistics.items() if None in labels]


@pytest.mark.parametrize(("name", "case"), EACH)
def test_no_parameter_has_names_that_nobody_gave_it(name: str, case: Case) -> None:
    module = case.make()
    module(*[one.tensor() for one in case.inputs])
    held = [*module.named_parameters(), *module.named_buffers()]
    assert not [path for path, one in held if one.has_names()]


@pytest.mark.parametrize(("name", "case"), EACH)
def test_names_in_another_place_are_refused(name: str, case: Case) -> None:
    module = case.make()
    inputs = [one.tensor() for one in case.inputs]
    module(*inputs)
    before = {key: one.clone() for key, one in module.state_dict().items()}
    for i, given in enumerate(case.inputs):
        names = list(given.sizes)
        for first, second in combinations(range(len(names)), 2):
            swapped = list(names)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            changed = [*inputs[:i], given.tensor(*swapped), *inputs[i + 1 :]]
            if not {names[first], names[second]} & set(case.placed):
                module(*changed)
                continue
            error = refused(module, changed)
            assert error.fix, str(error)
            if len(case.inputs) == 1 and set(names) <= set(case.placed):
                assert "align_" in error.fix, error.fix
    now = module.state_dict()
    if case.placed:
        assert all(bool((now[key] == one).all()) for key, one in before.items())


@pytest.mark.parametrize(("name", "case"), EACH)
def test_names_in_another_spelling_are_refused(name: str, case: Case) -> None:
    module = case.make()
    inputs = [one.tensor() for one in case.inputs]
    module(*inputs)
    for i, given in enumerate(case.inputs):
        names = list(given.sizes)
        for place, right in enumerate(names):
            wrong = [*names[:place], right.lower(), *names[place + 1 :]]
            changed = [*inputs[:i], given.tensor(*wrong), *inputs[i + 1 :]]
            if right not in case.known:
                continue
            error = refused(module, changed)
            assert "rename" in error.fix or "Did you mean" in str(error), str(error)


class Outer(Module):
    """Calls a module."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Any) -> Any:
        return self.inner(*inputs)


def refused(module: Any, inputs: list[Any]) -> Any:
    """Call the module inside of another; return the error, which says where it arose."""
    with pytest.raises(wb.DimensionError) as caught:
        Outer(module)(*inputs)
    assert any(note.startswith("in module inner") for note in caught.value.__notes__), caught.value.__notes__
    return caught.value


def test_a_value_of_spatial_dims_alone_is_checked_too() -> None:
    with pytest.raises(wb.DimensionError, match="is 'time' where 'L' is expected"):
        check_spatial("ZeroPad1d", wb.zeros(time=2), 1)


def test_no_order_is_proposed_where_a_dim_has_no_name() -> None:
    with pytest.raises(wb.DimensionError) as caught:
        check_places("CrossEntropyLoss", wb.zeros(2, 3, 4).rename("N", None, "C"), C=1)
    assert caught.value.fix == ""


class Language(Module):
    """Words, positions, a residual block and a tied head: what most programs of today are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(7, 4), nn.Embedding(5, 4)
        self.norm, self.map, self.read = nn.LayerNorm(4), nn.Linear(4, 4), nn.GRU(4, 4, batch_first=True)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.words.weight

    def forward(self, words: Any) -> Any:
        x = self.words(words) + self.positions(wb.arange(words.shape[1]))
        x = x + self.map(self.norm(x))
        read, _ = self.read(x)
        return self.head(wb.cat([x, read], dim=0))


def test_a_program_that_names_nothing_meets_no_names() -> None:
    assert Language()(whole(2, 5)).names == (None, None, None)
    with pytest.raises(
        wb.DimensionError, match=r"rename\(embedding_dim='num_embeddings'\)|rename\(out_features="
    ):
        Language()(whole(2, 5).rename("N", "T"))
