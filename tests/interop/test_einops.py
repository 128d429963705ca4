"""einops and einx on tensors: the same patterns on NumPy, names, sizes that stay open, orders of imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb

einops = pytest.importorskip("einops", reason="einops is not installed")
einx = pytest.importorskip("einx", reason="einx is not installed")

X = np.random.default_rng(0).normal(size=(2, 3, 4, 6))
PATTERNS = {
    "b c h w -> b h w c": {},
    "b c h w -> b c h w": {},
    "b c h w -> (b c h w)": {},
    "b c (h p) (w q) -> (b h w) (p q c)": {"p": 2, "q": 3},
    "b ... w -> w ... b": {},
    "b c h w -> w 1 b () c h": {},
}
REDUCED = (
    "b c h w -> b c",
    "b c h w -> w b",
    "b c (h 2) (w 2) -> b c h w",
    "b c h w -> ",
    "... w -> w",
    "b c h w -> b c 1 1",
)
REPEATED = {
    "b c h w -> b r c h w": {"r": 3},
    "b c h w -> b c (h 2) (w 2)": {},
    "b c h w -> (b c) 1 (h w)": {},
}


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, np.ndarray | np.generic):
        assert isinstance(ours, wb.Tensor)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12, atol=1e-12)
    else:
        assert ours == theirs


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rearrange(pattern: str) -> None:
    same(
        einops.rearrange(wb.tensor(X), pattern, **PATTERNS[pattern]),
        einops.rearrange(X, pattern, **PATTERNS[pattern]),
    )


@pytest.mark.parametrize("how", ["min", "max", "sum", "mean", "prod", "any", "all"])
@pytest.mark.parametrize("pattern", REDUCED)
def test_reduce(pattern: str, how: str) -> None:
    x = X > 1 if how in ("any", "all") else X
    same(einops.reduce(wb.tensor(x), pattern, how), einops.reduce(x, pattern, how))


@pytest.mark.parametrize("pattern", REPEATED)
def test_repeat(pattern: str) -> None:
    same(
        einops.repeat(wb.tensor(X), pattern, **REPEATED[pattern]),
        einops.repeat(X, pattern, **REPEATED[pattern]),
    )


def test_the_rest_of_einops() -> None:
    t = wb.tensor(X)
    same(
        einops.rearrange([t, t], "n b c h w -> b n (c h w)"),
        einops.rearrange([X, X], "n b c h w -> b n (c h w)"),
    )
    same(
        einops.einsum(t, t[0, 0], "b c h w, i w -> b c h i"),
        einops.einsum(X, X[0, 0], "b c h w, i w -> b c h i"),
    )
    packed, shapes = einops.pack([t, t[..., 0]], "b c *")
    theirs, expected = einops.pack([X, X[..., 0]], "b c *")
    same(packed, theirs)
    assert shapes == expected
    same(einops.unpack(packed, shapes, "b c *"), einops.unpack(theirs, expected, "b c *"))
    assert einops.parse_shape(t, "b _ h w") == {"b": 2, "h": 4, "w": 6}
    assert isinstance(einops.asnumpy(t), np.ndarray)
    same(einops.reduce(t, "b c h w -> b c", lambda x, axes: x.sum(axes)), X.sum((2, 3)))
    with pytest.raises(einops.EinopsError, match="can't divide axis of length 3"):
        einops.rearrange(t, "b (c r) h w -> b c r h w", r=2)
    with pytest.raises(NotImplementedError, match="mean is not available for non-floating"):
        einops.reduce(wb.arange(4), "a -> ", "mean")


def test_gradients() -> None:
    x = wb.tensor(X, requires_grad=True)
    weight = wb.tensor(X[0, 0])

    def function(x: Any) -> Any:
        patches = einops.rearrange(x, "b c (h p) w -> b h (p c) w", p=2)
        mixed = einops.einsum(patches, weight, "b h c w, i w -> b h c i")
        return einops.repeat(einops.reduce(mixed, "b h c i -> b c", "max"), "b c -> b c r", r=2)

    assert wb.autograd.gradcheck(function, (x,))


def test_names_of_dims() -> None:
    x = wb.randn(N=2, C=3, H=4, W=6)
    assert einops.rearrange(x, "b c h w -> b h w c").names == ("N", "H", "W", "C")
    assert einops.rearrange(x, "b c (h p) w -> b (c p) h w", p=2).names == ("N", None, None, "W")
    assert einops.rearrange(x, "b c h w -> b 1 (h w) c").names == ("N", None, None, "C")
    assert einops.reduce(x, "b c h w -> c b", "mean").names == ("C", "N")
    assert einops.repeat(x, "b c h w -> b r c h w", r=3).names == ("N", None, "C", "H", "W")
    assert einops.einsum(x, wb.randn(C=3, out=5), "b c h w, c o -> b o h w").names == ("N", "out", "H", "W")
    packed, shapes = einops.pack([x, wb.randn(N=2, C=3, D=5)], "b c *")
    assert packed.names == ("N", "C", None)
    assert [one.names for one in einops.unpack(packed, shapes, "b c *")] == [
        ("N", "C", None, None),
        ("N", "C", None),
    ]
    same_name, _ = einops.pack([wb.ones(N=2, C=3), wb.ones(N=4, C=3)], "* c")
    assert same_name.names == ("N", "C")
    assert einx.sum("a [b ...]", x).names == ("N",)
    assert einx.id("b c h w -> w (b c) h", x).names == ("W", None, "H")


def test_a_trace_keeps_its_sizes_open() -> None:
    def function(x: Any) -> Any:
        return einops.rearrange(x, "b c (h p) w -> b (c p) h w", p=2)

    graph = wb.graph.trace(function, wb.tensor(X))
    for shape in ((2, 3, 4, 6), (5, 1, 8, 2)):
        x = wb.randn(*shape).double()
        assert bool((graph(x) == function(x)).all())
    with pytest.raises(RuntimeError, match="shape"):
        graph(wb.randn(1, 1, 3, 1).double())
    packed = wb.graph.trace(lambda x: einops.pack([x, x], "b *")[0], wb.randn(2, 3))
    assert packed(wb.randn(4, 5)).shape == (4, 10)


def index(x: Any) -> Any:
    return np.array([0, 2]) if isinstance(x, np.ndarray) else wb.tensor([0, 2])


EINX: dict[str, Callable[[Any], Any]] = {
    "id": lambda x: einx.id("b (c q) h w -> (b w) q (h c)", x, q=3),
    "put together": lambda x: einx.id("b c h w, b d h w -> b (c + d) h w", x, x),
    "sum": lambda x: einx.sum("b [c] h [w]", x),
    "mean": lambda x: einx.mean("b [...]", x),
    "max": lambda x: einx.max("[...] w", x),
    "min": lambda x: einx.min("b [c] ...", x),
    "prod": lambda x: einx.prod("b [c] h w", x),
    "any": lambda x: 1.0 * einx.any("b [c h] w", x > 1),
    "all": lambda x: 1.0 * einx.all("b [c h] w", x > -2),
    "count_nonzero": lambda x: einx.count_nonzero("b [c h] w", x),
    "logsumexp": lambda x: einx.logsumexp("b [c] h w", x),
    "add": lambda x: einx.add("b c h w, w -> w b c h", x, x[0, 0, 0]),
    "multiply": lambda x: einx.multiply("b c h w, b", x, x[:, 0, 0, 0]),
    "where": lambda x: einx.where("b c h w, b c h w,", x > 0, x, 0.0),
    "greater": lambda x: 1.0 * einx.greater("b c h w, h w", x, x[0, 0]),
    "dot": lambda x: einx.dot("b c h w, i w -> b i c h", x, x[0, 0]),
    "softmax": lambda x: einx.softmax("b [c h] w", x),
    "log_softmax": lambda x: einx.log_softmax("b c [h] w", x),
    "sort": lambda x: einx.sort("b c [h] w", x),
    "argsort": lambda x: einx.argsort("b c [h] w", x),
    "argmax": lambda x: einx.argmax("b [c] h w", x),
    "flip": lambda x: einx.flip("b [c h] w", x),
    "roll": lambda x: einx.roll("b [c] h w", x, shift=(1,)),
    "get_at": lambda x: einx.get_at("b [c] h w, i -> b i h w", x, index(x)),
    "add_at": lambda x: einx.add_at("[h] w, i, i w -> [h] w", 1 * x[0, 0], index(x), x[1, 0, :2]),
    "set_at": lambda x: einx.set_at("[h] w, i, i w -> [h] w", 1 * x[0, 0], index(x), x[1, 0, :2]),
}


@pytest.mark.parametrize("name", EINX)
def test_einx(name: str) -> None:
    same(EINX[name](wb.tensor(X)), EINX[name](X))


def test_gradients_through_einx() -> None:
    x = wb.tensor(X, requires_grad=True)
    assert wb.autograd.gradcheck(
        lambda x: einx.softmax("b [c h] w", einx.sum("b c h [w]", x * x)[..., None]), (x,)
    )


ORDERS = (
    "import workbench as wb, einops, einx",
    "import einops, einx; import workbench as wb",
    "import einops, einx, numpy as np; x = np.ones((2, 3)); einops.rearrange(x, 'a b -> b a'); einx.sum('a [b]', x)\n"
    "import workbench as wb",
)


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_imports(order: str, root: Path) -> None:
    rest = (
        "print(einops.rearrange(wb.ones(2, 3), 'a b -> b a').shape, einx.sum('a [b]', wb.ones(2, 3)).shape)"
    )
    assert _run(f"{order}\n{rest}", root) == "(3, 2) (2,)"


def test_nothing_is_imported_until_the_program_does(root: Path) -> None:
    assert (
        _run("import sys, workbench; print('einops' in sys.modules, 'einx' in sys.modules)", root)
        == "False False"
    )


def test_layers_in_a_program_of_pytorchs(root: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import torch
import einops, einx
from einops.layers.torch import EinMix, Rearrange, Reduce
x = torch.ones(2, 3, 4, 6)
layers = torch.nn.Sequential(
    Rearrange("b c (h p) w -> b h w (p c)", p=2), EinMix("b h w c -> b h w d", "c d", bias_shape="d", c=6, d=5),
    Reduce("b h w d -> b d", "max"))
y = layers(einops.rearrange(x, "b c h w -> b c w h").transpose(2, 3))
y.sum().backward()
print(tuple(y.shape), tuple(layers[1].weight.grad.shape), tuple(einx.sum("a [b]", x[0, 0]).shape))
""")
    assert _output([sys.executable, "-m", "workbench.torch", str(program)], root) == "(2, 5) (6, 5) (4,)"


def _run(code: str, root: Path) -> str:
    return _output([sys.executable, "-c", code], root)


def _output(command: list[str], root: Path) -> str:
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
