"""A log of many runs as a live view: curves, histograms, pictures, texts and the table of hyperparameters.

A page of the log travels at a time, thinned out. Whether more was written is asked by pages that somebody looks at, and
by nobody else: of a log that nobody sees no file is touched.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from workbench.live.messages import (
    FilterTagsEvent,
    Head,
    RunsChart,
    RunsDistribution,
    RunsPage,
    RunsPicture,
    RunsRun,
    RunsState,
    RunsTable,
    RunsText,
    ShowPageEvent,
    ShowRunsEvent,
    ShowStepEvent,
    TailEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.tensorboard import Log, Run, open
from workbench.widgets import runs_cards as cards
from workbench.widgets.base import HearingWidget
from workbench.widgets.runs_curves import Curves
from workbench.widgets.runs_table import table

__all__ = ["RunsModel", "RunsWidget", "runs"]

MOST_CARDS = 12
"""Cards of a page that travel at once."""
MOST_RUNS = 400
"""Runs that travel, the first ones: the view says how many there are."""
MOST_PROBLEMS = 12
"""Sentences on what could not be read that travel."""
LONGEST_PATTERN = 200
"""Most characters of a regular expression."""
INTERVAL = 0.5
"""Least time between two looks for more, in seconds."""
REST = 20.0
"""After a look that took t seconds, the next waits for `REST` · t seconds."""
QUIET = 60.0
"""A log into which nothing was written for so many seconds is not live any more."""

Page = Literal["scalars", "histograms", "images", "texts", "curves", "table"]
PAGES: tuple[Page, ...] = ("scalars", "histograms", "images", "texts", "curves", "table")


class _Card(NamedTuple):
    """What one card of a page shows: a tag of one run, or of all that are shown."""

    tag: str
    runs: tuple[int, ...]


class RunsModel(ViewModel):
    """Draws `log`: all its runs, the tags that `pattern` matches, a page at a time.

    Raises ValueError where `pattern` is no regular expression.
    """

    view = "runs"

    def __init__(self, log: Log, pattern: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._log = log
        self._clock = clock
        self._lock = threading.RLock()
        try:
            self._pattern = _pattern(pattern)
        except Refused as refusal:
            raise ValueError(str(refusal)) from None
        self._hidden: set[str] = set()
        self._page: Page | None = None
        self._first = 0
        self._step: int | None = None
        self._curves = Curves()
        self._looked = float("-inf")
        self._rests = 0.0
        self._said_live = False

    @property
    def log(self) -> Log:
        """What is drawn."""
        return self._log

    # ---------------------------------------------------------------------------------------- picture

    def snapshot(self) -> Snapshot:
        """Return the page that is shown; of curves it costs what came since the last picture."""
        with self._lock, self._log.lock:
            return self._snapshot()

    def _snapshot(self) -> Snapshot:
        found = list(self._log.runs.values())[:MOST_RUNS]
        shown = [number for number, run in enumerate(found) if run.name not in self._hidden]
        contents = {page: _cards(page, found, shown, self._pattern) for page in PAGES}
        filled = [one for one in PAGES if contents[one]]
        page: Page = self._page if self._page is not None else [*filled, PAGES[0]][0]
        count = len(contents[page])
        # There may be fewer than when the page was turned.
        first = min(self._first, max(0, (count - 1) // MOST_CARDS * MOST_CARDS))
        chosen = contents[page][first : first + MOST_CARDS]
        buffers: list[bytes] = []
        self._said_live = self._is_live()
        drawn = self._drawn(page, chosen, found, buffers)
        problems = self._log.problems
        more = len(problems) - MOST_PROBLEMS
        state = RunsState(
            kind="runs",
            head=Head(str(self._log.folder)[-cards.LONGEST :], "", self.made, self._said_live, self._code()),
            runs=[
                RunsRun(
                    cards.cut(run.name),
                    run.name not in self._hidden,
                    sum(map(len, run.scalars.values())),
                    max((int(one.steps[-1]) for one in run.scalars.values() if len(one)), default=0),
                )
                for run in found
            ],
            runs_left_out=len(self._log.runs) - len(found),
            pages=[
                RunsPage(one, len(contents[one]))
                for one in PAGES
                if one == page or any(_tags(one, run) for run in found)
            ],
            page=page,
            pattern=self._pattern.pattern,
            first=first,
            most=MOST_CARDS,
            charts=drawn.charts,
            distributions=drawn.distributions,
            pictures=drawn.pictures,
            texts=drawn.texts,
            table=drawn.table,
            step=self._step,
            last_step=max(
                (_last_step(page, found[number], card.tag) for card in chosen for number in card.runs),
                default=0,
            ),
            problems=[
                *(cards.cut(one, 500) for one in problems[:MOST_PROBLEMS]),
                *([f"and {more:,} more"] if more > 0 else []),
                # What no view draws is told beside it: there, too, is less than the log has.
                *(cards.cut(one, 500) for one in self._log.notes[:MOST_PROBLEMS]),
            ],
        )
        return Snapshot(state, tuple(buffers))

    def _drawn(self, page: Page, chosen: list[_Card], found: list[Run], buffers: list[bytes]) -> _Drawn:
        drawn = _Drawn([], [], [], [], None)
        if page == "scalars":
            drawn.charts.extend(
                self._curves.charts(
                    [(card.tag, {i: found[i] for i in card.runs}) for card in chosen], buffers
                )
            )
        elif page == "table":
            return drawn._replace(table=table(self._log, found))
        for tag, numbers in chosen if page != "scalars" else ():
            run, number = found[numbers[0]], numbers[0]
            if page == "histograms":
                drawn.distributions.append(cards.distribution(tag, number, run, buffers))
            elif page == "images":
                drawn.pictures.append(cards.picture(tag, number, run, self._step, buffers))
            elif page == "texts":
                drawn.texts.append(cards.text(tag, number, run, self._step))
            else:
                lines = [cards.recall_line(tag, i, found[i], self._step, buffers) for i in numbers]
                drawn.charts.append(RunsChart(cards.cut(tag), lines))
        return drawn

    def _code(self) -> str:
        return f"wb.widgets.runs({str(self._log.folder)!r})"

    def _is_live(self) -> bool:
        return time.time() - self._log.written < QUIET

    # ----------------------------------------------------------------------------------------- events

    def handle(self, event: object) -> None:
        """Turn the page, filter, put runs away, go to a step, or look for more. Raises `Refused` where that fails."""
        if isinstance(event, TailEvent):
            self._look()
            return
        with self._lock:
            match event:
                case ShowPageEvent():
                    if event.first < 0:
                        raise Refused(f"the first card has number 0, not {event.first}")
                    self._page, self._first = event.page, event.first // MOST_CARDS * MOST_CARDS
                case FilterTagsEvent():
                    self._pattern, self._first = _pattern(event.pattern), 0
                case ShowRunsEvent():
                    self._hide(event.hidden)
                case ShowStepEvent():
                    self._step = event.step
                case _:
                    raise Refused(
                        "in a log one turns pages, filters tags, shows runs and steps, and nothing else"
                    )
        self.changed()

    def _hide(self, numbers: list[int]) -> None:
        names = list(self._log.runs)[:MOST_RUNS]
        wrong = next((one for one in numbers if not 0 <= one < len(names)), None)
        if wrong is not None:
            raise Refused(f"there is no run of number {wrong}; there are {len(names)}")
        self._hidden = {names[one] for one in numbers}

    def _look(self) -> None:
        """Read what was written since, unless that was done just now."""
        with self._lock:
            now = self._clock()
            if now - self._looked < max(INTERVAL, self._rests):
                return
            more = self._log.refresh()
            self._looked = self._clock()
            self._rests = REST * (self._looked - now)
        if more or self._said_live != self._is_live():
            self.changed()


class _Drawn(NamedTuple):
    charts: list[RunsChart]
    distributions: list[RunsDistribution]
    pictures: list[RunsPicture]
    texts: list[RunsText]
    table: RunsTable | None


def _pattern(text: str) -> re.Pattern[str]:
    if len(text) > LONGEST_PATTERN:
        raise Refused(f"a pattern has at most {LONGEST_PATTERN} characters, this has {len(text)}")
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise Refused(f"{text!r} is no regular expression: {error}") from None


def _tags(page: Page, run: Run) -> dict[str, Any]:
    """Return what a run has for a page, by tag."""
    if page == "table":
        return cast(dict[str, Any], run.hyperparameters)
    held: dict[str, Any] = getattr(run, {"curves": "pr_curves"}.get(page, page))
    return held


def _cards(page: Page, found: list[Run], shown: list[int], pattern: re.Pattern[str]) -> list[_Card]:
    """Return the cards of a page in their order: by the names of tags, those of one folder together."""
    if page == "table":
        return [_Card("", (number,)) for number, run in enumerate(found) if run.hyperparameters]
    by_tag: dict[str, list[int]] = {}
    for number in shown:
        for tag in _tags(page, found[number]):
            by_tag.setdefault(tag, []).append(number)
    tags = sorted((tag for tag in by_tag if pattern.search(tag)), key=_order)
    if page in ("scalars", "curves"):
        return [_Card(tag, tuple(by_tag[tag])) for tag in tags]
    return [_Card(tag, (number,)) for tag in tags for number in by_tag[tag]]


def _order(tag: str) -> tuple[str, list[tuple[int, str]]]:
    folder, _, name = tag.rpartition("/")
    # Numbers by their size: layer 10 comes after layer 9.
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
    return folder, parts


def _last_step(page: Page, run: Run, tag: str) -> int:
    if page == "table":
        return 0
    steps = _tags(page, run)[tag].steps
    return int(steps[-1]) if len(steps) else 0


class RunsWidget(HearingWidget):
    """A log in a cell; it follows what is written as long as somebody looks at it."""

    def __init__(self, log: Log, pattern: str = "", **traits: Any) -> None:
        model = RunsModel(log, pattern) if pattern else renderers.model_of(log)
        super().__init__(model, log, **traits)


def runs(log: Log | str | Path, pattern: str = "") -> RunsWidget:
    """Show a log in this cell, or the TensorBoard log in a folder: every run in it, while any program writes.

    `pattern` is a regular expression that tags match, all where it is empty.

    Raises:
        FileNotFoundError: there is no folder, or no log in it.
        ValueError: `pattern` is no regular expression.
    """
    return RunsWidget(log if isinstance(log, Log) else open(log), pattern)


renderers.register(Log, RunsModel)
