"""Observers: what they keep, what they choose, ranges set by hand, values that are no numbers."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.histogram import RunningHistogram, extremes

ACTIVATION = [
    q.MinMaxObserver,
    q.MovingAverageMinMaxObserver,
    q.HistogramObserver,
    q.PerChannelMinMaxObserver,
]


def tensor(values: Any) -> Any:
    return wb.from_numpy(np.asarray(values, np.float32))


@pytest.mark.parametrize("make", ACTIVATION)
def test_an_observer_returns_its_input(make: Any) -> None:
    x = wb.randn(N=4, C=3)
    assert make()(x) is x


@pytest.mark.parametrize("make", ACTIVATION)
def test_without_data_one_and_zero_are_returned_with_a_warning(make: Any) -> None:
    with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
        scale, zero = make().calculate_qparams()
    assert scale.tolist() == [1.0]
    assert zero.tolist() == [0]


@pytest.mark.parametrize("make", ACTIVATION)
def test_only_nan_is_no_data_and_said_so(make: Any) -> None:
    observer = make()
    observer(tensor([[np.nan, np.nan], [np.inf, np.nan]]))
    assert not observer.has_data
    assert (observer.nan_count, observer.inf_count) == (3, 1)
    with pytest.warns(UserWarning, match="seen only 3 NaN and 1 infinite values"):
        observer.calculate_qparams()


@pytest.mark.parametrize("size", [40, 5000])
@pytest.mark.parametrize("make", ACTIVATION)
def test_nan_and_infinity_are_counted_and_change_nothing_else(make: Any, size: int) -> None:
    x = np.random.default_rng(0).standard_normal((4, size)).astype(np.float32)
    clean, dirty = make(), make()
    clean(tensor(x))
    dirtied = np.concatenate([x, np.array([[np.nan], [np.inf], [-np.inf], [np.nan]], np.float32)], axis=1)
    dirty(tensor(dirtied))
    assert (dirty.nan_count, dirty.inf_count) == (2, 2)
    for a, b in zip(clean.calculate_qparams(), dirty.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_min_max_grows_and_moving_average_follows() -> None:
    widest, mean = q.MinMaxObserver(), q.MovingAverageMinMaxObserver(averaging_constant=0.5)
    for batch in ([-1.0, 1.0], [-3.0, 5.0], [0.0, 1.0]):
        widest(tensor(batch))
        mean(tensor(batch))
    assert (widest.min_val.item(), widest.max_val.item()) == (-3.0, 5.0)
    assert (mean.min_val.item(), mean.max_val.item()) == (-1.0, 2.0)


def test_per_channel_ranges_and_a_limit_for_all_of_them() -> None:
    observer = q.PerChannelMinMaxObserver(0, dtype=wb.qint8, qscheme=wb.per_channel_symmetric)  # type: ignore[attr-defined]
    observer(tensor([[1.0, -2.0], [0.25, -0.5]]))
    assert observer.calculate_qparams()[0].tolist() == pytest.approx([2 / 127.5, 0.5 / 127.5])
    observer.set_range(-1.0, 1.0)
    assert observer.calculate_qparams()[0].tolist() == pytest.approx([1 / 127.5, 0.5 / 127.5])
    with pytest.raises(wb.QuantizationError, match="2 channels were seen before, and now 3"):
        observer(tensor([[1.0], [2.0], [3.0]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": wb.float32}, "float32 is not a quantized type"),
        ({"quant_min": 0}, "give both or none"),
        ({"quant_min": 5, "quant_max": 5}, "must be less than"),
        ({"quant_min": 0, "quant_max": 300}, "do not fit quint8"),
        ({"quant_min": 3, "quant_max": 9}, "must include 0"),
        (
            {"reduce_range": True, "qscheme": q.per_tensor_symmetric},
            "Cannot reduce range for symmetric quantization for quint8",
        ),
        ({"qscheme": q.per_channel_affine}, "use PerChannelMinMaxObserver"),
    ],
)
def test_refused_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        q.MinMaxObserver(**settings)


@pytest.mark.parametrize(
    ("dtype", "limits"),
    [
        (wb.quint8, (0, 127)), (wb.int8, (-64, 63)), (wb.quint4x2, (0, 15)), (wb.quint2x4, (0, 3)),
        (wb.qint32, (-(2**31), 2**31 - 1)),
    ],
)  # fmt: skip
def test_only_codes_of_eight_bits_have_one_less(dtype: Any, limits: tuple[int, int]) -> None:
    observer = q.MinMaxObserver(dtype=dtype, reduce_range=True)
    assert (observer.quant_min, observer.quant_max) == limits


def test_observers_that_watch_nothing() -> None:
    for made in (q.PlaceholderObserver(wb.float16), q.NoopObserver()):
        x = wb.ones(2)
        assert made(x) is x
        assert made.dtype is wb.float16
        with pytest.raises(wb.QuantizationError, match="calculate_qparams should not be called for"):
            made.calculate_qparams()


def test_moving_averages_of_channels_leave_out_what_is_no_number() -> None:
    observer = q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    observer(tensor([[1.0, 3.0], [np.nan, np.inf]]))
    observer(tensor([[3.0, 5.0], [-2.0, 2.0]]))
    observer(tensor([[np.nan, -np.inf], [0.0, np.nan]]))
    assert observer.min_val.tolist() == [2.0, -1.0]
    assert observer.max_val.tolist() == [4.0, 1.0]
    assert (observer.nan_count, observer.inf_count) == (3, 2)
    with pytest.raises(wb.QuantizationError, match="2 channels were seen before, and now 3"):
        observer(tensor(np.ones((3, 1))))
    assert observer.min_val.tolist() == [2.0, -1.0]


def test_a_fixed_range_is_known_before_any_value_and_cannot_be_moved() -> None:
    observer = q.FixedQParamsObserver(scale=1 / 256, zero_point=0)
    observer(tensor([7.0, np.nan]))
    assert observer.calculate_qparams()[0].item() == 1 / 256
    assert [float(end) for end in observer.range()] == [0.0, 255 / 256]
    assert observer.nan_count == 1
    with pytest.raises(wb.QuantizationError, match="the range of this observer is fixed"):
        observer.set_range(0.0, 2.0)
    for bad, words in (
        ({"scale": 0.0, "zero_point": 0}, "a finite number above 0"),
        ({"scale": 1.0, "zero_point": 300}, "zero_point 300 is no code"),
        ({"scale": 1.0, "zero_point": 0, "is_dynamic": True}, "is_dynamic=True asks for one a batch"),
    ):
        with pytest.raises(wb.QuantizationError, match=words):
            q.FixedQParamsObserver(**bad)


def test_factories_are_equal_where_they_make_the_same() -> None:
    assert q.get_default_qconfig("x86") == q.get_default_qconfig("fbgemm")
    assert not q.qconfig_equals(q.get_default_qconfig("x86"), q.get_default_qconfig("qnnpack"))
    asked: list[int] = []
    factory = q.MinMaxObserver.with_callable_args(eps=lambda: asked.append(1) or 0.5)
    assert factory().eps.item() == factory().eps.item() == 0.5  # type: ignore[attr-defined]
    assert len(asked) == 2


def test_states_of_observers_are_taken_out_and_put_back() -> None:
    first, second = (q.prepare(wb.nn.Linear(2, 2).eval()) for _ in range(2))
    first(wb.ones(1, 2))
    state = q.get_observer_state_dict(first)
    q.load_observer_state_dict(second, state)
    assert second.quant.activation_post_process.max_val.item() == 1.0
    state.popitem()
    with pytest.raises(wb.QuantizationError, match="Missing keys for observer"):
        q.load_observer_state_dict(second, state)


def test_settings_can_be_given_ahead() -> None:
    factory = q.HistogramObserver.with_args(bins=64).with_args(quant_min=0, quant_max=15)
    made = factory(search="minmax")
    assert (made.bins, made.bits, made.search) == (64, 4, "minmax")  # type: ignore[attr-defined]
    assert repr(factory) == "HistogramObserver.with_args(bins=64, quant_min=0, quant_max=15)"


# --------------------------------------------------------------------------------------- histograms


def test_a_growing_histogram_loses_no_count_and_misplaces_none() -> None:
    random = np.random.default_rng(2)
    parts = [random.standard_normal(3000) * width for width in (0.1, 1.0, 7.0, 0.5)]
    running = RunningHistogram.of(256)
    for part in parts:
        running.add(part, part.min(), part.max())
    everything = np.concatenate(parts)
    assert running.total == everything.size
    expected, _ = np.histogram(everything, len(running.counts), (running.edges[0], running.edges[1]))
    assert np.abs(expected - running.counts).sum() <= 4  # a value on an edge may go either way


@pytest.mark.parametrize("rectified", [False, True])
def test_later_batches_are_counted_as_the_first_was(rectified: bool) -> None:
    values = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    values = np.maximum(values, 0) if rectified else values
    observer = q.HistogramObserver()
    observer(wb.tensor(values))
    first = observer.histogram.numpy().copy()
    special = np.concatenate([values, np.array([np.nan, np.inf, -np.inf], np.float32)])
    observer(wb.tensor(special))
    np.testing.assert_array_equal(observer.histogram.numpy(), 2 * first)
    assert (observer.nan_count, observer.inf_count) == (1, 2)
    # Beyond the ends the bins are other ones, and nothing is counted twice.
    observer(wb.tensor(3 * values))
    assert observer.histogram.numpy().sum() == 15_000
    assert observer.max_val.item() == 3 * values.max()


def test_a_histogram_uses_as_many_bins_as_were_asked_for() -> None:
    observer = q.HistogramObserver(bins=512)
    for scale in (0.3, 1.0, 2.9):
        observer(tensor(np.random.default_rng(0).uniform(-scale, scale, 5000)))
    density = observer.density()
    assert density is not None
    assert len(density.counts) >= 512


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-30, 1e30])
def test_constant_values_have_a_range(value: float) -> None:
    observer = q.HistogramObserver()
    observer(tensor(np.full(100, value)))
    observer(tensor([value]))
    scale, zero = observer.calculate_qparams()
    x = wb.quantize_per_tensor(tensor([value]), scale.item(), int(zero.item()), wb.quint8).dequantize().item()
    assert x == pytest.approx(value, rel=1e-2, abs=1e-6)


def test_a_huge_value_after_tiny_ones() -> None:
    observer = q.HistogramObserver()
    observer(tensor(np.zeros(100)))
    observer(tensor([3e38, -3e38]))
    density = observer.density()
    assert density is not None
    assert density.total == 102


def test_extremes_of_nothing() -> None:
    low, high, nan, inf = extremes(np.zeros(0, np.float32))
    assert np.isnan(low)
    assert np.isnan(high)
    assert (nan, inf) == (0, 0)


MINIMUM = {
    ("gauss", 8): 40.5, ("gauss", 4): 19.25, ("laplace", 8): 35.3, ("laplace", 4): 15.97, ("relu", 8): 46.1,
    ("relu", 4): 24.3, ("student", 8): 18.5, ("student", 4): 9.1, ("outliers", 8): 14.4, ("outliers", 4): 6.1,
}  # fmt: skip
"""Least signal to noise ratio in dB. No range that holds zero does better for a Gaussian in 4 bits than 19.26."""


def distribution(name: str, count: int = 1_000_000) -> Any:
    random = np.random.default_rng(5)
    if name == "outliers":
        x = random.standard_normal(count)
        x[random.random(count) < 1e-4] *= 50
        return x
    return {
        "gauss": lambda: random.standard_normal(count),
        "laplace": lambda: random.laplace(size=count),
        "relu": lambda: np.maximum(random.standard_normal(count), 0),
        "student": lambda: random.standard_t(3, count),
    }[name]()


@pytest.mark.parametrize("search", ["l2", "mse"])
@pytest.mark.parametrize(("name", "bits"), MINIMUM)
def test_no_range_near_the_one_found_is_better(name: str, bits: int, search: str) -> None:
    x = distribution(name, 100_000).astype(np.float32)
    observer = q.HistogramObserver(search=search, quant_min=0, quant_max=2**bits - 1)
    observer(tensor(x))
    scale, zero = (float(one.item()) for one in observer.calculate_qparams())

    def ratio(scale: float, zero: float) -> float:
        codes = np.clip(np.rint(x / scale) + zero, 0, 2**bits - 1) - zero
        return q.sqnr(x, codes * scale)

    factors = np.geomspace(0.5, 2.0, 41)
    shifts = (-1, 0, 1) if 0 < zero < 2**bits - 1 else (0,)
    best = max(ratio(scale * factor, zero + shift) for factor in factors for shift in shifts)
    assert ratio(scale, zero) >= best - 0.05


def test_every_range_that_was_looked_at_is_kept_with_its_error() -> None:
    observer = q.HistogramObserver(quant_min=0, quant_max=15)
    assert observer.candidates() == []
    observer(tensor(distribution("gauss", 20_000)))
    found = {one.rule: one for one in observer.candidates()}
    assert list(found) == ["minmax", "percentile", "l2", "kl", "mse"]
    for one in found.values():
        assert len(one.lows) == len(one.highs) == len(one.sqnrs) > 0
    for rule in ("l2", "mse"):
        # The chosen one is the best that was looked at, but for what a coarser histogram sees.
        assert found[rule].sqnr >= found[rule].sqnrs.max() - 0.02
    assert len(found["mse"].lows) > 100


@pytest.mark.parametrize(("name", "bits"), MINIMUM)
def test_the_search_knows_the_number_of_bits(name: str, bits: int) -> None:
    x = distribution(name).astype(np.float32)
    found = {}
    for search in ("l2", "mse", "minmax", "percentile", "kl"):
        observer = q.HistogramObserver(search=search, quant_min=0, quant_max=2**bits - 1)
        for part in np.split(x, 4):
            observer(tensor(part))
        scale, zero = observer.calculate_qparams()
        y = wb.fake_quantize_per_tensor_affine(tensor(x), scale.item(), int(zero.item()), 0, 2**bits - 1)
        found[search] = q.sqnr(x, y)
    assert found["l2"] >= MINIMUM[name, bits]
    assert found["mse"] >= MINIMUM[name, bits]
    assert found["l2"] >= max(found.values()) - 0.05


def test_the_error_predicted_from_the_histogram_is_the_error_there_is() -> None:
    x = distribution("gauss").astype(np.float32)
    observer = q.HistogramObserver(quant_min=0, quant_max=15)
    observer(tensor(x))
    density = observer.density()
    assert density is not None
    for low, high in ((-1.0, 2.0), (-4.0, 4.0), (-10.0, 0.5), (0.0, 3.0)):
        scale, zero = observer.scheme.qparams(low, high)
        y = wb.fake_quantize_per_tensor_affine(tensor(x), float(scale), int(zero), 0, 15)
        assert density.sqnr(observer.scheme, low, high) == pytest.approx(q.sqnr(x, y), abs=0.02)
        clip = density.clipped(low, high)
        assert clip == pytest.approx(((x < low).mean(), (x > high).mean()), abs=1e-3)


# ------------------------------------------------------------------------------------ ranges by hand


@pytest.mark.parametrize("make", ACTIVATION[:3])
def test_a_range_set_by_hand_is_in_force_until_it_is_given_back(make: Any) -> None:
    observer = make()
    observer(tensor([-1.0, 0.0, 2.0]))
    before = observer.calculate_qparams()[0].item()
    observer.set_range(-0.5, 1.0)
    observer(tensor([-4.0, 4.0]))
    assert observer.calculate_qparams()[0].item() == pytest.approx(1.5 / 255)
    assert observer.override == (-0.5, 1.0)
    observer.reset_range()
    assert observer.override is None
    assert observer.calculate_qparams()[0].item() > before


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1.0, 1.0, "the low end 1 is not below the high end 1"),
        (2.0, 1.0, "give the smaller one first"),
        (float("nan"), 1.0, "a range has two finite ends"),
        (0.0, float("inf"), "a range has two finite ends"),
        (-1e300, 1e300, "does not fit into float32"),
        (7.0, 9.0, "leaves out every value that was seen, which lie from -1 to 2"),
    ],
)
def test_a_range_that_cannot_be_changes_nothing(low: float, high: float, message: str) -> None:
    observer = q.MinMaxObserver()
    observer(tensor([-1.0, 2.0]))
    observer.set_range(-0.5, 0.5)
    version = observer.version
    with pytest.raises(wb.QuantizationError, match=message):
        observer.set_range(low, high)
    assert observer.override == (-0.5, 0.5)
    assert observer.version == version


def test_ranges_move_from_another_thread_while_data_flows() -> None:
    observer = q.HistogramObserver()
    x = tensor(np.random.default_rng(0).standard_normal(2000))
    observer(x)
    done = threading.Event()

    def move() -> None:
        for i in range(300):
            observer.set_range(-1.0 - i / 300, 1.0)
            observer.qparams()
        done.set()

    mover = threading.Thread(target=move)
    mover.start()
    while not done.is_set():
        observer(x)
    mover.join()
    assert observer.override == (-1.0 - 299 / 300, 1.0)
    density = observer.density()
    assert density is not None
    assert density.total == observer.batches * 2000


def test_state_travels_and_copies_stand_alone() -> None:
    observer = q.HistogramObserver()
    observer(tensor([-1.0, 0.5, 2.0]))
    other = q.HistogramObserver()
    other.load_state_dict(observer.state_dict())
    np.testing.assert_array_equal(
        other.calculate_qparams()[0].numpy(), observer.calculate_qparams()[0].numpy()
    )
    copied = copy.deepcopy(observer)
    copied(tensor([-100.0]))
    assert observer.min_val.item() == -1.0
    assert copied.min_val.item() == -100.0
    observer.reset()
    assert not observer.has_data
    assert repr(observer) == "HistogramObserver(no values yet)"


def test_values_without_numbers_are_not_observed() -> None:
    observer = q.MinMaxObserver()
    with wb.core.interpreting(wb.core.WithoutNumbers()):  # type: ignore[attr-defined]
        x = wb.relu(wb.ones(N=3))
        observer(x)
    assert observer.batches == 0


@pytest.mark.parametrize(
    ("low", "high", "zero_point"),
    [(-1.1, 3.0, 68), (-1.0, 3.0, 64), (-2.9, 3.0, 125), (-4.0, 3.0, 146), (0.5, 3.0, 0), (-3.0, -0.5, 255)],
)
def test_zero_points_go_to_the_nearest_code(low: float, high: float, zero_point: int) -> None:
    observer = q.MinMaxObserver()
    observer(wb.tensor([low, high]))
    assert observer.calculate_qparams()[1].item() == zero_point


OBSERVERS = [
    q.MinMaxObserver, q.MovingAverageMinMaxObserver, q.HistogramObserver, q.PerChannelMinMaxObserver,
    q.MovingAveragePerChannelMinMaxObserver,
]  # fmt: skip


@pytest.mark.parametrize("make", OBSERVERS)
def test_doubles_beyond_float32_are_infinite_and_complex_values_refused(make: Any) -> None:
    observer, plain = make(), make()
    observer(wb.from_numpy(np.array([[1e300, -1.0, 2.0], [-1e300, 0.5, 3.0]])))
    plain(tensor([[np.inf, -1.0, 2.0], [-np.inf, 0.5, 3.0]]))
    assert observer.inf_count == plain.inf_count == 2
    for found, expected in zip(observer.calculate_qparams(), plain.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with pytest.raises(wb.QuantizationError, match="complex64 values have no order, so no range"):
        make()(wb.ones(2, 2, dtype=wb.complex64))


def test_a_histogram_of_pytorchs_state_is_taken_and_goes_on() -> None:
    values = np.random.default_rng(0).standard_normal(10_000).astype(np.float32)
    counts, edges = np.histogram(values, 2048)
    state = {
        "eps": wb.tensor([2.0**-23]),
        "histogram": wb.tensor(counts.astype(np.float32)),
        "min_val": wb.tensor(edges[0]).float(),
        "max_val": wb.tensor(edges[-1]).float(),
    }
    mine, other = q.HistogramObserver(), q.HistogramObserver()
    mine(wb.tensor(values))
    other.load_state_dict(state)
    assert other.density().total == 10_000
    np.testing.assert_allclose(other.range(), mine.range(), rtol=0.01)
    assert "edges" not in state and state["histogram"].shape == (2048,)
    for one in (mine, other):
        one(wb.tensor(4 * values))
    np.testing.assert_allclose(other.range(), mine.range(), rtol=0.01)

    # Of one value; of none, which is how PyTorch's begins; and of what is no histogram.
    other.load_state_dict({**state, "min_val": wb.tensor(2.0), "max_val": wb.tensor(2.0)})
    assert other.density().total == 10_000
    fresh = q.HistogramObserver()
    fresh.load_state_dict({**state, "min_val": wb.tensor(np.inf), "max_val": wb.tensor(-np.inf)})
    assert fresh.density() is None
    with pytest.raises(RuntimeError, match="edges"):
        fresh.load_state_dict({**state, "histogram": wb.zeros(2, 2)})
