"""Measuring: blocks, quartiles, tables, random inputs and instruction counts."""

from __future__ import annotations

import shutil

import pytest

import workbench as wb
from workbench.utils.benchmark import (
    Compare,
    FunctionCount,
    FunctionCounts,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    Measurement,
    ParameterAlias,
    TaskSpec,
    Timer,
)


class Clock:
    """A clock that a statement moves, so that nothing here depends on time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-7
        return self.now


def test_a_block_is_large_enough_for_the_clock_not_to_matter() -> None:
    clock = Clock()

    def work() -> None:
        clock.now += 1e-6

    heard: list[tuple[int, float]] = []
    found = Timer(work, timer=clock).blocked_autorange(lambda *block: heard.append(block), min_run_time=0.01)
    assert found.number_per_run == 100
    assert found.median == pytest.approx(1e-6, rel=0.01)
    assert sum(found.raw_times) >= 0.01
    assert heard == [(100, time) for time in found.raw_times]


def test_adaptive_autorange_stops_when_it_is_sure() -> None:
    clock = Clock()

    def steady() -> None:
        clock.now += 0.01

    found = Timer(steady, timer=clock).adaptive_autorange()
    assert len(found.raw_times) == 4
    assert found.meets_confidence()
    steps = iter([0.01, 0.1] * 10_000)

    def restless() -> None:
        clock.now += next(steps)

    found = Timer(restless, timer=clock).adaptive_autorange(max_run_time=2.0)
    assert sum(found.raw_times) >= 2.0
    assert found.has_warnings


def test_a_callable_and_source_measure_alike_and_threads_are_put_back() -> None:
    before = wb.get_num_threads()
    x = wb.ones(4)
    seen: list[int] = []
    Timer(lambda: seen.append(wb.get_num_threads()), num_threads=2).timeit(2)
    assert set(seen) == {2}
    assert wb.get_num_threads() == before
    assert Timer("y = x + x", globals={"x": x}).timeit(10).median > 0
    assert Timer("z", global_setup="z = 3").timeit(1).number_per_run == 1


def test_a_measurement_says_what_it_found() -> None:
    found = Measurement(
        100, [4e-4, 4.1e-4, 4.2e-4, 4.3e-4, 9e-4], TaskSpec("f(x)", setup="x = 1", num_threads=2)
    )
    text = repr(found)
    assert "of f(x)>" in text
    assert "setup: x = 1" in text
    assert "Median: 4.2 us" in text
    assert "5 measurements, 100 runs per measurement, 2 threads" in text
    assert (found.median, found.iqr) == (pytest.approx(4.2e-6), pytest.approx(0.2e-6))
    merged = Measurement.merge([found, found, Measurement(7, [1.0], TaskSpec("g"))])
    assert [len(one.raw_times) for one in merged] == [10, 1]


def measured(rows: str, column: str, time: float, threads: int = 1) -> Measurement:
    spec = TaskSpec("f", label="sums <b>", sub_label=rows, description=column, num_threads=threads)
    return Measurement(1, [time] * 4, spec)


def test_a_table_groups_by_threads_and_has_one_unit() -> None:
    table = Compare(
        [measured("8", "ours", 1e-6), measured("8", "theirs", 3e-6), measured("8", "ours", 2e-3, 2)]
    )
    text = str(table)
    assert text.index("1 threads:") < text.index("2 threads:")
    assert "2000.0" in text
    assert "Times are in microseconds (us)." in text
    table.trim_significant_figures()
    table.colorize(rowwise=True)
    assert "\033[92m" in str(table)
    picture = table._repr_html_()
    assert "sums &lt;b&gt;" in picture
    assert "<b>" not in picture
    with pytest.raises(TypeError, match="expected an instance of Measurement, got int"):
        Compare([1])  # type: ignore[list-item]


def test_in_a_notebook_each_time_has_its_unit_and_its_factor() -> None:
    table = Compare([measured("8", "ours", 1.234e-6), measured("8", "theirs", 3e-3)])
    picture = table._repr_html_()
    assert "1.23 µs" in picture
    assert "3.00 ms" in picture
    assert "2431×" in picture
    assert picture.count("×</span>") == 1
    assert "var(--jp-ui-font-color1" in picture
    assert repr(table) == str(table)


def test_in_a_notebook_colours_are_asked_for_and_never_alone() -> None:
    table = Compare([measured("8", "ours", 1e-6), measured("8", "theirs", 3e-6)])
    assert "rgba(213,94,0,.34)" not in table._repr_html_()
    table.colorize()
    picture = table._repr_html_()
    assert "rgba(213,94,0,.34)" in picture
    assert "rgba(0,114,178,.28)" in picture
    assert "3.00×" in picture


def test_a_lonely_time_is_compared_with_nothing() -> None:
    picture = Compare([measured("8", "ours", 1e-6)])._repr_html_()
    assert "×" not in picture
    assert picture.count("font-weight:600") == 1  # the title's


def test_a_fuzzer_repeats_itself_and_keeps_its_bounds() -> None:
    def fuzzer(seed: int) -> Fuzzer:
        return Fuzzer(
            [
                [FuzzedParameter(f"k{i}", 1, 64, "loguniform") for i in range(3)],
                FuzzedParameter("dim", distribution={2: 0.5, 3: 0.5}),
                FuzzedParameter("again", distribution={ParameterAlias("k0"): 1.0}),
            ],
            [
                FuzzedTensor("x", ("k0", "k1", "k2"), min_elements=4, max_elements=4096, dim_parameter="dim",
                             probability_contiguous=0.2, names=("N", "C", "L")),
                FuzzedTensor("y", ("again",), steps=(2,)),
            ],
            constraints=[lambda k0, **others: k0 > 1],
            seed=seed,
        )  # fmt: skip

    drawn = list(fuzzer(0).take(30))
    assert [params for *_, params in drawn] == [params for *_, params in fuzzer(0).take(30)]
    strided = 0
    for tensors, facts, params in drawn:
        x, y = tensors["x"], tensors["y"]
        assert x.shape == tuple(params[f"k{i}"] for i in range(params["dim"]))
        assert x.names == ("N", "C", "L")[: params["dim"]]
        assert 4 <= facts["x"]["numel"] <= 4096
        assert y.shape == (params["k0"],)
        strided += not facts["x"]["is_contiguous"]
    assert strided > 5


def test_a_fuzzer_that_finds_nothing_says_so() -> None:
    with pytest.raises(RuntimeError, match="widen the parameters"):
        next(Fuzzer([FuzzedParameter("k", 1, 2, "uniform")], [], [lambda k: k > 5]).take(1))
    with pytest.raises(ValueError, match="Unknown distribution: 'normal'"):
        FuzzedParameter("k", 1, 2, "normal")
    with pytest.raises(ValueError, match="Duplicate name: k"):
        Fuzzer([FuzzedParameter("k", 1, 2, "uniform")] * 2, [])


def test_counts_are_subtracted_and_cleaned() -> None:
    a = FunctionCounts((FunctionCount(10, "f"), FunctionCount(4, "Objects/dictobject.c:lookdict")))
    b = FunctionCounts((FunctionCount(3, "f"), FunctionCount(1, "g")))
    assert [tuple(one) for one in a - b] == [(7, "f"), (4, "Objects/dictobject.c:lookdict"), (-1, "g")]
    assert a.denoise().sum() == 10
    assert "Total: 14" in repr(a)


@pytest.mark.skipif(shutil.which("callgrind_control") is None, reason="valgrind is not installed")
def test_instructions_are_counted_where_valgrind_is() -> None:
    short = Timer("sum(range(10))").collect_callgrind(number=20)
    long = Timer("sum(range(1000))").collect_callgrind(number=20)
    assert 0 < short.counts(denoise=True) * 5 < long.counts(denoise=True)


def test_a_missing_valgrind_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="needs valgrind"):
        Timer("pass").collect_callgrind()
    with pytest.raises(TypeError, match="give it as source"):
        Timer(print).collect_callgrind()
