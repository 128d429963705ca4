"""Pictures of attributions hold what Captum's hold: normalised values, pixels, colours of a map, labels."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from workbench.attribution import visualization as ours

pytest.importorskip("torch")
theirs = pytest.importorskip("captum.attr").visualization

RANDOM = np.random.default_rng(3)
HEAT = RANDOM.normal(size=(9, 7, 3)) ** 3
SIGNS = ["all", "positive", "negative", "absolute_value"]
IMAGES = {
    "fractions": RANDOM.random((9, 7, 3)),
    "whole numbers": RANDOM.integers(0, 256, (9, 7, 3)),
    "constant": np.full((9, 7, 3), 0.5),
}


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


def drawn(axes: Any) -> list[tuple[Any, Any, Any]]:
    return [(np.asarray(one.get_array()), one.get_clim(), one.get_alpha()) for one in axes.get_images()]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("outlier_perc", [0.5, 2, 30, 99])
@pytest.mark.parametrize("shape", ["[H, W, C]", "[H, W]"])
def test_normalised_values(sign: Any, outlier_perc: float, shape: str) -> None:
    heat = HEAT if shape == "[H, W, C]" else HEAT[:, :, 0]
    found = ours.visualize_image_attr(heat, sign=sign, outlier_perc=outlier_perc, use_pyplot=False)[1]
    expected = theirs.visualize_image_attr(heat, sign=sign, outlier_perc=outlier_perc, use_pyplot=False)[1]
    np.testing.assert_allclose(drawn(found)[0][0], drawn(expected)[0][0], atol=1e-12)


@pytest.mark.parametrize("method", ["blended_heat_map", "original_image", "masked_image", "alpha_scaling"])
@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("sign", SIGNS)
def test_images(method: Any, image: str, sign: Any) -> None:
    if sign == "all" and method in ("masked_image", "alpha_scaling"):
        for one, error in ((ours, ValueError), (theirs, AssertionError)):
            with pytest.raises(error):
                one.visualize_image_attr(HEAT, IMAGES[image], method, sign, use_pyplot=False)
        return
    options: dict[str, Any] = {
        "show_colorbar": True,
        "title": "cat",
        "alpha_overlay": 0.3,
        "use_pyplot": False,
    }
    figures = [
        one.visualize_image_attr(HEAT, IMAGES[image], method, sign, cmap="viridis", **options)
        for one in (ours, theirs)
    ]
    found, expected = (drawn(axes) for _, axes in figures)
    assert len(found) == len(expected)
    for (values, limits, alpha), (wanted, bounds, opaque) in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, wanted, atol=1e-12)
        assert (alpha, values.ndim == 3 or limits) == (opaque, values.ndim == 3 or bounds)
    assert [axes.get_title() for _, axes in figures] == ["cat", "cat"]
    assert len({len(figure.axes) for figure, _ in figures}) == 1
    assert len({tuple(one.axison for one in figure.axes) for figure, _ in figures}) == 1


def test_several() -> None:
    methods, signs = ["original_image", "heat_map", "masked_image"], ["all", "all", "positive"]
    both = [
        one.visualize_image_attr_multiple(
            HEAT, IMAGES["fractions"], methods, signs, ["a", "b", "c"], use_pyplot=False, show_colorbar=True
        )
        for one in (ours, theirs)
    ]
    for found, expected in zip(both[0][1], both[1][1], strict=True):
        assert found.get_title() == expected.get_title()
        np.testing.assert_allclose(drawn(found)[0][0], drawn(expected)[0][0], atol=1e-12)


@pytest.mark.parametrize("sign", SIGNS)
def test_maps(sign: Any) -> None:
    maps = [
        one.visualize_image_attr(HEAT, sign=sign, use_pyplot=False, **options)[1].get_images()[0].get_cmap()
        for one, options in ((ours, {"cmap": "captum"}), (theirs, {}))
    ]
    np.testing.assert_allclose(maps[0](np.linspace(0, 1, 50)), maps[1](np.linspace(0, 1, 50)), atol=1e-12)


SERIES, CURVES = RANDOM.normal(size=(2, 20, 3))


@pytest.mark.parametrize("method", ["overlay_individual", "overlay_combined", "colored_graph"])
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("channels_last", [True, False])
def test_time_series(method: Any, sign: Any, channels_last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Captum 0.9 calls what matplotlib 3.11 has no longer.
    monkeypatch.setattr("matplotlib.cm.get_cmap", matplotlib.colormaps.__getitem__, raising=False)
    heat, curves = (SERIES, CURVES) if channels_last else (SERIES.T, CURVES.T)
    options: dict[str, Any] = {
        "x_values": np.arange(20) * 0.5,
        "channel_labels": ["a", "b", "c"],
        "channels_last": channels_last,
        "title": "wave",
        "cmap": "viridis",
    }
    # Captum looks for pyplot's figure, ours does not: both show it, on a backend without a screen.
    both = [
        np.ravel(one.visualize_timeseries_attr(heat, curves, method=method, sign=sign, **options)[1])
        for one in (ours, theirs)
    ]
    assert len(both[0]) == len(both[1])
    for found, expected in zip(*both, strict=True):
        assert (found.get_title(), found.get_ylabel()) == (expected.get_title(), expected.get_ylabel())
        for line, wanted in zip(found.lines, expected.lines, strict=method != "colored_graph"):
            np.testing.assert_array_equal(line.get_xydata(), wanted.get_xydata())
            assert line.get_label() == wanted.get_label() or line.get_label().startswith("_")
        assert found.get_xlim() == both[1][-1].get_xlim()
        if method == "colored_graph":
            (lines,), (wanted,) = found.collections, expected.collections
            np.testing.assert_allclose(lines.get_segments(), wanted.get_segments())
            np.testing.assert_allclose(lines.get_array(), wanted.get_array()[:-1], atol=1e-12)
        else:
            # One mesh there, a patch for each point here.
            (mesh,) = found.collections
            mesh.update_scalarmappable()
            colours = [patch.get_facecolor() for patch in expected.patches]
            np.testing.assert_allclose(mesh.get_facecolor(), colours, atol=1e-12)
            lefts = [patch.get_x() for patch in expected.patches]
            np.testing.assert_allclose(mesh.get_coordinates()[0, :-1, 0], lefts, atol=1e-12)


def test_tokens() -> None:
    words, values = ["<pad>", "not", "bad"], np.array([0.0, -0.5, 1.0])
    record = (values, 0.98, 1, 0, 1, 0.5, words, 1e-4)
    found = ours.visualize_text([ours.VisualizationDataRecord(*record)]).data
    expected = theirs.visualize_text([theirs.VisualizationDataRecord(*record)]).data
    for shown in ("#pad", "not", "bad", "1 (0.98)", "0.50", "Negative", "Neutral", "Positive"):
        assert shown in found and shown in expected
    assert found.count("<mark") == expected.count("<mark") == 3
    assert ours.VisualizationDataRecord.__slots__ == tuple(sorted(theirs.VisualizationDataRecord.__slots__))


def test_regions() -> None:
    mask = RANDOM.random((12, 12)) > 0.2
    images = []
    for one in (ours, theirs):
        axes = pyplot.subplots()[1]
        one.draw_mask_border(axes, mask, 2, "red")
        one.draw_mask_legend(axes, mask, "7")
        images.append((drawn(axes)[0][0], axes.texts[0].get_position(), axes.texts[0].get_text()))
    np.testing.assert_array_equal(images[0][0], images[1][0])
    assert images[0][1:] == images[1][1:]
