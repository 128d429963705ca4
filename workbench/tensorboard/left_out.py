"""What of a log no view draws, in words with the reason: nothing is left out in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["checkpointed", "notes"]

_KINDS = {
    "mesh": ("mesh", "meshes", "no view draws them, TensorBoard does"),
    "audio": ("sound", "sounds", "no view plays them, TensorBoard does"),
    "tensor": ("tensor", "tensors", "nothing says what they are for"),
}


MOST = 8
"""Kinds that are told by name: a log may name any number of them."""


def notes(counts: Mapping[str, int], charts: int = 0) -> list[str]:
    """Return a sentence for each kind of summary that was left out, and for custom charts.

    >>> notes({"mesh": 1, "audio": 2, "beholder": 1})
    ['left out: 1 mesh (no view draws them, TensorBoard does)', 'left out: 2 sounds (no view plays them, TensorBoard \
does)', "left out: 1 of kind 'beholder' (no view knows of it)"]
    """
    found = []
    for kind, count in list(counts.items())[:MOST]:
        one, several, why = _KINDS.get(kind, (f"of kind {kind[:60]!r}",) * 2 + ("no view knows of it",))
        found.append(f"left out: {count:,} {one if count == 1 else several} ({why})")
    if len(counts) > MOST:
        found.append(f"left out: summaries of {len(counts) - MOST:,} more kinds (no view knows of them)")
    if charts:
        found.append(
            f"left out: {charts:,} custom {'chart' if charts == 1 else 'charts'} (no view draws them, "
            "log.custom_scalars has them)"
        )
    return found


def checkpointed(names: Sequence[str]) -> str:
    """Return a sentence for points of the projector that a log names and does not hold; empty where there are none.

    >>> checkpointed(["encoder"])
    "left out: 1 embedding of the projector, 'encoder' (a checkpoint has its vectors, and none is read; \
projector.write puts them into a log)"
    """
    if not names:
        return ""
    told = ", ".join(f"{name[:60]!r}" for name in names[:MOST])
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    one = len(names) == 1
    return (
        f"left out: {len(names):,} {'embedding' if one else 'embeddings'} of the projector, {told}{more} (a checkpoint "
        f"has {'its' if one else 'their'} vectors, and none is read; projector.write puts them into a log)"
    )
