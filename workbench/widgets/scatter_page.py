"""A projector as one HTML page that needs no kernel and no network: state, points and script stand in it."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from workbench.live.encode import encode_snapshot
from workbench.live.messages import ScatterArrangement, ScatterState
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.widgets.base import bundle

__all__ = ["MOST_VECTORS", "free_name", "page", "write_beside"]

Array = np.ndarray[Any, Any]

SCRIPT = "scatter-page"
"""The script of a published page, beside those of the widgets."""

MOST_VECTORS = 64 * 1024 * 1024
"""Most bytes of vectors that stand in a page; without them it has no neighbours, and says so."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src \
'unsafe-inline'; img-src data: blob:; media-src data: blob:">
<title>{title}</title>
<style>html, body {{ margin: 0; height: 100%; }} #projector {{ height: 100vh; }}</style></head>
<body><main id="projector"></main>
<script type="application/json" data-part="state">{state}</script>
{parts}
<script type="module">{script}</script>
</body></html>
"""


def page(model: ViewModel, vectors: Array, arrangement: ScatterArrangement | None) -> str:
    """Return what `model` draws as a page that shows `arrangement` first, and finds neighbours among `vectors`."""
    snapshot = model.snapshot()
    state = snapshot.state
    assert isinstance(state, ScatterState)
    shown = _shown(state, snapshot.buffers)
    why = "no neighbours: where many points are drawn as one there are none to find" if shown is None else ""
    vectors = vectors if shown is None or len(shown) == len(vectors) else vectors[shown]
    if not why and vectors.size * 4 > MOST_VECTORS:
        why = "no neighbours: vectors too large"
    fits = not why
    state = _alone(state, arrangement, why)
    plain, buffers = encode_snapshot(model.view, Snapshot(state, snapshot.buffers))
    parts = [_part("buffer", one) for one in buffers]
    if fits:
        parts.append(_part("vectors", np.ascontiguousarray(vectors, np.dtype("<f4")).tobytes()))
    # In a script `<` could end it, and the two separators end a line of JavaScript.
    text = json.dumps({"state": plain, "size": vectors.shape[1] if fits else 0}, allow_nan=False)
    text = text.replace("<", "\\u003c")
    script = bundle(SCRIPT).replace("</script", "<\\/script")
    return PAGE.format(title=html.escape(state.head.title), state=text, parts="\n".join(parts), script=script)


def _shown(state: ScatterState, buffers: tuple[bytes, ...]) -> Array | None:
    """Return the numbers of the points that are drawn, in their order; None where each of the drawn is many."""
    if state.window is None:
        return np.arange(state.count)
    at = state.window.numbers_buffer
    return None if at is None else np.frombuffer(buffers[at], "<u4").astype(np.intp)


def _alone(state: ScatterState, arrangement: ScatterArrangement | None, why: str) -> ScatterState:
    """Return a state without what only a kernel can do; `why` it has no neighbours, where it has none."""
    facts = " · ".join(filter(None, [state.facts, why]))
    quality = state.quality
    return dataclasses.replace(
        state,
        head=dataclasses.replace(state.head, live=False),
        columns=[one for one in state.columns if one.kind != "offered"],
        projections=[state.projection],
        frames=[],
        methods=[],
        work=None,
        # Nobody will judge it there.
        quality=None if quality is None or quality.trustworthiness is None else quality,
        judges=False,
        resumes=False,
        # Those that Python found among all points may not be there.
        neighbours=state.neighbours if state.window is None and not why else [],
        others=[],
        comparison=None,
        sounds=False,
        clip=None,
        published="",
        facts=facts,
        refusal=None,
        arrangement=arrangement,
    )


def _part(name: str, data: bytes) -> str:
    return f'<script type="text/plain" data-part="{name}">{base64.b64encode(data).decode()}</script>'


def write_beside(title: str, ending: str, write: Callable[[Path], object]) -> str:
    """Have a file written beside the notebook, under a name that none has there, and return its path.

    Raises:
        Refused: it cannot be written there.
    """
    path = free_name(Path.cwd(), title, ending)
    try:
        write(path)
    # No room, or no right to write there: nothing of ours.
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror or error}") from None
    return str(path)


def free_name(folder: Path, title: str, ending: str = "html") -> Path:
    """Return a path in `folder` that no file has: nothing is written over."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in title).strip("-.")[
        :80
    ]
    for number in range(1, 10_000):
        path = folder / f"{plain or 'embedding'}{'' if number == 1 else f'-{number}'}.{ending}"
        if not path.exists():
            return path
    raise FileExistsError(f"{folder} has 9,999 files of that name already")
