"""A tensor as a live view and as static HTML."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

import workbench as wb
from workbench.base.number_format import byte_figure, figure, percent, si
from workbench.live.encode import encode_snapshot
from workbench.live.messages import SelectEvent, SliceEvent
from workbench.live.model import Refused
from workbench.widgets.html import tensor_html
from workbench.widgets.png import encode_png
from workbench.widgets.tensor import TensorModel
from workbench.widgets.values import EXACT, _sample


class Page(HTMLParser):
    """Checks that every tag is closed; collects tags and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def pixels(html: str) -> np.ndarray:
    """The picture in `html`: colours, or indices into its palette."""
    found = re.search(r"data:image/png;base64,([^\"]+)", html)
    assert found
    png = base64.b64decode(found[1])
    width, height, _, colour_type = struct.unpack(">IIBB", png[16:26])
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, chunk = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + chunk)
        data += chunk if kind == b"IDAT" else b""
        at += 12 + length
    channels = {6: 4, 3: 1}[colour_type]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


# ------------------------------------------------------------------------------------------ the live view


def test_the_state_says_what_the_tensor_is() -> None:
    tensor = wb.randn(64, 1, 28, 28, names=("N", "C", "H", "W"), requires_grad=True)
    state, buffers = encode_snapshot("shapes", TensorModel(tensor, "images", "cell 3").snapshot())
    assert state["dtype"] == "f32"
    assert state["dims"][0] == {"name": "N", "size": 64}  # type: ignore[index]
    assert (state["count"], state["nbytes"]) == (50176, 200704)
    assert (state["requires_grad"], state["leaf"], state["device"]) == (True, True, "cpu")
    assert state["head"]["title"] == "images"  # type: ignore[index]
    assert len(buffers) == 1
    assert len(buffers[0]) == 16 * 28 * 28 * 4


def test_a_slider_moves_the_picture_and_nonsense_is_refused() -> None:
    tensor = wb.tensor(np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), names=("T", "row", None))
    model, changes = TensorModel(tensor), []
    model.listen(changes.append)
    model.handle(SliceEvent("slice", 0, 1))
    snapshot = model.snapshot()
    np.testing.assert_array_equal(np.frombuffer(snapshot.buffers[0], "<f4"), np.arange(12, 24))
    assert snapshot.state.picture.sliders[0].index == 1  # type: ignore[attr-defined]
    for event, words in [
        (SliceEvent("slice", 3, 0), "the tensor has 3 dims; there is no axis 3"),
        (SliceEvent("slice", -1, 0), "there is no axis -1"),
        (SliceEvent("slice", 0, 2), "T has 2 entries; there is no entry 2"),
        (SliceEvent("slice", 2, -1), "dim 2 has 4 entries; there is no entry -1"),
        (SelectEvent("select", "a"), "a tensor's picture has sliders only"),
    ]:
        with pytest.raises(Refused, match=words):
            model.handle(event)
    assert len(changes) == 1
    assert model.snapshot().buffers == snapshot.buffers


def test_another_tensor_keeps_the_sliders_that_still_fit() -> None:
    model = TensorModel(wb.zeros(4, 5, 3, 3))
    model.handle(SliceEvent("slice", 0, 3))
    model.handle(SliceEvent("slice", 1, 1))
    model.show(wb.zeros(2, 5, 3, 3))
    state = model.snapshot().state
    assert [slider.index for slider in state.picture.sliders] == [0, 1]  # type: ignore[attr-defined]


def test_a_tensor_without_values_or_picture_is_still_described() -> None:
    snapshot = TensorModel(wb.zeros(0, 3)).snapshot()
    assert snapshot.state.picture is None  # type: ignore[attr-defined]
    assert snapshot.buffers == ()


# ------------------------------------------------------------------------------------------ static HTML


def test_html_names_dims_type_range_and_what_is_wrong() -> None:
    values = np.linspace(-1, 3, 12, dtype=np.float32).reshape(3, 4)
    values[0, 0], values[1, 1], values[2, 2] = np.nan, np.inf, 0
    text = Page(tensor_html(wb.tensor(values, names=("out_features", None)))).text.replace("\xa0", " ")
    for words in [
        "f32",
        "out_features 3",
        "·4",
        "12 values · 48 B · cpu",
        "NaN 1",
        "inf 1",
        "zeros 8.33 %",
        "3.00",
    ]:
        assert words in text


def test_html_holds_no_markup_from_data() -> None:
    class Hostile:
        """A tensor whose every text is markup."""

        def __init__(self) -> None:
            self.dim_labels = ('<script>alert("1")</script>', "</span><img src=x onerror=alert(2)>")
            self.shape = (2, 2)
            self.dtype = type("DType", (), {"name": "<b>f32</b>"})()
            self.device = "<i>cpu</i>"
            self.requires_grad, self.is_leaf, self.nbytes = False, True, 16

        def detach(self) -> Hostile:
            return self

        def numpy(self) -> np.ndarray:
            return np.eye(2, dtype=np.float32)

    page = Page(tensor_html(Hostile()))
    assert set(page.tags) <= {"div", "span", "code", "svg", "path", "b", "img"}
    assert page.tags.count("img") == 1, "the picture"
    assert "b" not in page.tags
    assert '<script>alert("1")</script>' in page.text


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((64, 3, 32, 32), ("N", "C", "H", "W")),
        ((2, 4, 500, 700), ("N", "C", "H", "W")),
        ((1000, 1000), (None, None)),
        ((100_000,), ("T",)),
        ((3,) * 12, tuple("abcdefghijkl")),
        ((1,) * 30, (None,) * 30),
        ((), ()),
    ],
)
def test_html_is_small_whatever_the_tensor(shape: tuple[int, ...], names: tuple[str | None, ...]) -> None:
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    html = tensor_html(wb.tensor(values, names=names))
    assert len(html.encode()) <= 50_000
    Page(html)


def test_the_picture_in_html_is_the_tensor() -> None:
    drawn = pixels(tensor_html(wb.tensor(np.array([[0.0, 1.0], [np.nan, 0.5]], dtype=np.float32))))
    assert drawn[..., 0].tolist() == [[0, 253], [255, 126]]
    images = np.zeros((2, 3, 2, 2), np.float32)
    images[0, 0], images[1, 2] = 1, 1  # a red one and a blue one, with a gap between them
    drawn = pixels(tensor_html(wb.tensor(images, names=("N", "C", "H", "W"))))
    red, gap, blue = [255, 0, 0, 255], [0, 0, 0, 0], [0, 0, 255, 255]
    assert drawn.tolist() == [[red, red, gap, blue, blue]] * 2


def test_a_line_has_gaps_where_there_is_no_number() -> None:
    html = tensor_html(wb.tensor(np.array([0, 1, np.nan, 1, 0], dtype=np.float32)))
    (path,) = re.findall(r'<path d="([^"]*)" fill="none"', html)
    assert re.sub(r"[^ML]", "", path) == "MLML"


def test_quantized_values_and_values_without_numbers_are_described() -> None:
    class Traced:
        dim_labels, shape, nbytes, device = ("N",), (4,), 16, "cpu"
        dtype = wb.float32
        requires_grad, is_leaf = False, True

        def detach(self) -> Traced:
            return self

        def numpy(self) -> np.ndarray:
            raise wb.NoNumbersError("only a shape")

    class Quantized(Traced):
        def numpy(self) -> np.ndarray:
            raise wb.DTypeError("no plain values")

        def int_repr(self) -> wb.Tensor:
            return wb.tensor([1, 2, 3, 4], dtype=wb.int8)

    assert "no numbers: this value stands for one in a graph" in tensor_html(Traced())
    assert "4.00" in tensor_html(Quantized())
    assert TensorModel(Traced()).snapshot().state.statistics is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "shape", [(2,) * 60, (10**8,), (10**4, 10**4), (1000, 3, 1000, 1000), (1,) * 64, (5,) * 25]
)
@pytest.mark.parametrize("names", [False, True])
def test_html_reads_a_sample_whatever_the_size(shape: tuple[int, ...], names: bool) -> None:
    x = wb.tensor(1.25).expand(shape)
    if names:
        x = x.rename(*[f"{'n' * 200}{i}" for i in range(len(shape))])
    html = tensor_html(x)  # these views have no memory of their size: reading all of it would fail
    assert len(html.encode()) <= 50_000
    assert ("from a sample" in html) == (x.numel() > EXACT)
    assert _sample(x.numpy()).size <= EXACT


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "complex64", "complex128", "bool", "uint8", "int64"]
)
def test_html_of_every_type(dtype: str) -> None:
    for shape in ((), (0,), (3,), (3, 4)):
        html = tensor_html(wb.ones(shape, dtype=dtype))
        assert f"<code>{wb.ones(0, dtype=dtype).dtype.short}</code>" in html


def test_html_says_what_a_gradient_is() -> None:
    x = wb.tensor([1.0, 2.0, float("inf")], requires_grad=True)
    y = x * x
    assert "result of mul, needs grad" in tensor_html(y)
    y.sum().backward()
    text = Page(tensor_html(x)).text
    assert "leaf, needs grad" in text
    assert text.count("inf 1") == 2, "one of the values and one of the gradient"
    assert "grad" in text


def test_html_of_values_that_stand_for_others() -> None:
    from workbench import func

    said: list[str] = []

    def look(x: wb.Tensor) -> wb.Tensor:
        said.append(Page(tensor_html(x)).text)
        return x * 2

    wb.graph.trace(look, wb.ones(2, 3))
    func.vmap(look)(wb.ones(2, 3))
    func.jvp(look, (wb.ones(2),), (wb.ones(2),))
    assert "no numbers: this value stands for one in a graph" in said[0]
    assert "no numbers: this value stands for one entry of a batch" in said[1]
    assert "mean 1.00" in said[2]


def test_a_notebook_shows_it() -> None:
    shown = wb.zeros(N=2, C=3)._repr_mimebundle_()
    assert "tensor" in shown["text/plain"]
    assert "wb-tensor-html" in shown["text/html"]


def test_png_rows_and_checksums() -> None:
    colours = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    assert (
        pixels("data:image/png;base64," + base64.b64encode(encode_png(colours)).decode()).tolist()
        == colours.tolist()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.999951, "1.000"),
        (-123456.0, "−1.23e5"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (1e-5, "1.00e−5"),
    ],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert figure(value) == text


def test_sizes_and_shares() -> None:
    assert [si(999), si(1000), si(1.5e9)] == ["999", "1.00 K", "1.50 G"]
    assert [byte_figure(1), byte_figure(2048), byte_figure(3 << 30)] == ["1 B", "2.00 KB", "3.00 GB"]
    assert [percent(0), percent(1), percent(0.5), percent(1e-7)] == ["0 %", "100 %", "50.0 %", "0.0000 %"]
