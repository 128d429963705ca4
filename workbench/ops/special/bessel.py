"""Bessel functions: of the first and second kind, plain and modified."""

from __future__ import annotations

from typing import Any

from workbench.core.op import Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.offer import offer, offered
from workbench.ops.special.functions import special

BOTH = Saves(None, output=True)


def _ratio(c: Call) -> Any:
    """Return y/x of an odd function that is x/2 near 0: the quotient, and ½ where it is that to all digits."""
    x = c.inputs[0]
    # Not at 0 alone: half of the smallest number is 0, and its quotient with it would be.
    nothing = ops.le(ops.abs(x), 1e-7)
    return ops.where(nothing, 0.5, ops.div(c.out, ops.where(nothing, 1.0, x)))


I0 = special(
    "i0",
    "Modified Bessel function of the first kind, of order 0.",
    "y = I₀(x)",
    lambda c, g: ops.mul(g, ops.i1(c.inputs[0])),
    reference="DLMF 10.25",
)
offer(I0, "[0.0, 1.0]", "tensor([1.0000, 1.2661])", "workbench", "Tensor", "special", out=True, in_place=True)
offer(I0, "[0.0, 1.0]", "tensor([1.0000, 1.2661])", "special", name="modified_bessel_i0", out=True)
I0E = special(
    "i0e",
    "Modified Bessel function of the first kind, of order 0, scaled.",
    "y = e^-|x|·I₀(x)",
    # At 0 both signs are as good: the sign there is 0, and so is the slope.
    lambda c, g: ops.mul(g, ops.sub(ops.i1e(c.inputs[0]), ops.mul(ops.sgn(c.inputs[0]), c.out))),
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(I0E, "[0.5, 1.0]", "tensor([0.6450, 0.4658])", "special", out=True)
I1 = special(
    "i1",
    "Modified Bessel function of the first kind, of order 1.",
    "y = I₁(x)",
    lambda c, g: ops.mul(g, ops.sub(ops.i0(c.inputs[0]), _ratio(c))),
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(I1, "[0.5, 1.0]", "tensor([0.2579, 0.5652])", "special", aliases=["modified_bessel_i1"], out=True)
I1E = special(
    "i1e",
    "Modified Bessel function of the first kind, of order 1, scaled.",
    "y = e^-|x|·I₁(x)",
    lambda c, g: ops.mul(
        g, ops.sub(ops.sub(ops.i0e(c.inputs[0]), ops.mul(ops.sgn(c.inputs[0]), c.out)), _ratio(c))
    ),
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(I1E, "[0.5, 1.0]", "tensor([0.1564, 0.2079])", "special", out=True)
BESSEL_J0 = special(
    "bessel_j0",
    "Bessel function of the first kind, of order 0.",
    "y = J₀(x)",
    lambda c, g: ops.neg(ops.mul(g, ops.bessel_j1(c.inputs[0]))),
    scipy="j0",
    reference="DLMF 10.2",
)
offer(BESSEL_J0, "[0.5, 1.0]", "tensor([0.9385, 0.7652])", "special", out=True)
BESSEL_J1 = special(
    "bessel_j1",
    "Bessel function of the first kind, of order 1.",
    "y = J₁(x)",
    lambda c, g: ops.mul(g, ops.sub(ops.bessel_j0(c.inputs[0]), _ratio(c))),
    scipy="j1",
    saves=BOTH,
    reference="DLMF 10.2",
)
offer(BESSEL_J1, "[0.5, 1.0]", "tensor([0.2423, 0.4401])", "special", out=True)
BESSEL_Y0 = special(
    "bessel_y0",
    "Bessel function of the second kind, of order 0.",
    "y = Y₀(x)",
    lambda c, g: ops.neg(ops.mul(g, ops.bessel_y1(c.inputs[0]))),
    scipy="y0",
    reference="DLMF 10.2",
)
offer(BESSEL_Y0, "[0.5, 1.0]", "tensor([-0.4445,  0.0883])", "special", out=True)
BESSEL_Y1 = special(
    "bessel_y1",
    "Bessel function of the second kind, of order 1.",
    "y = Y₁(x)",
    lambda c, g: ops.mul(g, ops.sub(ops.bessel_y0(c.inputs[0]), ops.div(c.out, c.inputs[0]))),
    scipy="y1",
    saves=BOTH,
    reference="DLMF 10.2",
)
offer(BESSEL_Y1, "[0.5, 1.0]", "tensor([-1.4715, -0.7812])", "special", out=True)
BESSEL_K0 = special(
    "modified_bessel_k0",
    "Modified Bessel function of the second kind, of order 0.",
    "y = K₀(x)",
    lambda c, g: ops.neg(ops.mul(g, ops.modified_bessel_k1(c.inputs[0]))),
    scipy="k0",
    reference="DLMF 10.25",
)
offer(BESSEL_K0, "[0.5, 1.0]", "tensor([0.9244, 0.4210])", "special", out=True)
BESSEL_K1 = special(
    "modified_bessel_k1",
    "Modified Bessel function of the second kind, of order 1.",
    "y = K₁(x)",
    lambda c, g: ops.neg(
        ops.mul(g, ops.add(ops.modified_bessel_k0(c.inputs[0]), ops.div(c.out, c.inputs[0])))
    ),
    scipy="k1",
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(BESSEL_K1, "[0.5, 1.0]", "tensor([1.6564, 0.6019])", "special", out=True)
BESSEL_K0E = special(
    "scaled_modified_bessel_k0",
    "Modified Bessel function of the second kind, of order 0, scaled.",
    "y = e^x·K₀(x)",
    lambda c, g: ops.mul(g, ops.sub(c.out, ops.scaled_modified_bessel_k1(c.inputs[0]))),
    scipy="k0e",
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(BESSEL_K0E, "[0.5, 1.0]", "tensor([1.5241, 1.1445])", "special", out=True)
BESSEL_K1E = special(
    "scaled_modified_bessel_k1",
    "Modified Bessel function of the second kind, of order 1, scaled.",
    "y = e^x·K₁(x)",
    lambda c, g: ops.mul(
        g,
        ops.sub(ops.sub(c.out, ops.div(c.out, c.inputs[0])), ops.scaled_modified_bessel_k0(c.inputs[0])),
    ),
    scipy="k1e",
    saves=BOTH,
    reference="DLMF 10.25",
)
offer(BESSEL_K1E, "[0.5, 1.0]", "tensor([2.7310, 1.6362])", "special", out=True)

# ---------------------------------------------------------------------------------- the words people use


@offered("special", out=True)
@rounded_once
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """Spherical Bessel function of the first kind, of order 0: y = sin(x)/x, 1 at 0.

    >>> import workbench as wb
    >>> wb.special.spherical_bessel_j0(wb.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    # The series near 0, where what it divides by has no inverse; beyond every place it has died away.
    near = ops.le(ops.abs(input), 1e-3)
    square = ops.mul(input, input)
    series = ops.sub(1.0, ops.mul(square, ops.sub(1 / 6, ops.mul(square, 1 / 120))))
    far = ops.where(near, 1.0, input)
    return ops.where(near, series, ops.where(ops.isinf(input), 0.0, ops.div(ops.sin(far), far)))
