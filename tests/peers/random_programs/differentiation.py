"""Steps that ask for gradients, and hooks that watch them."""

from __future__ import annotations

from tests.peers.random_programs.grower import Grower

__all__ = ["backward", "grad", "hook"]


def hook(g: Grower) -> None:
    """Something that watches a gradient."""
    word = g.of("hook", "hook", "retain_grad", "gathered_hook")
    i = g.pick(lambda x: x.requires_grad)
    if word == "retain_grad" and i is not None and g.machine.values[i]._is_view():
        return  # which gradient is kept depends on when PyTorch last looked where the view is on the tape
    if i is not None and i not in g.turned:
        if word == "hook" and not g.machine.values[i].is_leaf:
            if any(step.word in ("grad", "seeded_grad", "backward") and step.params[-1] for step in g.steps):
                return  # whether a gradient's own gradient goes by the result or by its operands is the formula's
            g.hooked.add(i)
        g.add(word, (i,), (g.of(None, 2.0),) if word == "hook" else ())


def _ends(g: Grower) -> tuple[int, ...]:
    """Tensors to differentiate."""
    first = g.pick(lambda x: x.requires_grad)
    if first is None:
        return ()
    second = g.pick(lambda x: x.requires_grad) if g.often(2) else None
    return (first,) if second is None else (first, second)


def backward(g: Grower) -> None:
    """A backward."""
    ends = _ends(g)
    if ends:
        g.add("backward", ends, (bool(g.choose(3) != 2), g.often(5) and not g.hooked))


def grad(g: Grower) -> None:
    """Gradients of some tensors, which may be differentiated again."""
    ends = _ends(g)
    starts = [g.pick(lambda x: x.requires_grad and x.numel() > 0) for _ in range(g.of(1, 1, 2))]
    values = g.machine.values
    # Hooks of what is itself an output PyTorch calls although it leads to nothing that is asked for.
    if any(values[i].retains_grad or i in g.hooked for i in ends):
        return
    if (
        ends
        and not {None, *g.turned} & {*starts}
        and not any(values[i].is_leaf and i not in starts for i in ends)
    ):
        word = g.of("grad", "grad", "seeded_grad")
        several = (*ends, *dict.fromkeys(starts))
        g.add(
            word,
            several,
            (len(ends), bool(g.choose(3) != 2), bool(g.choose(2)) and not g.hooked),
        )
