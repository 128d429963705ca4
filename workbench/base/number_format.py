"""Numbers as the views write them: three significant digits, SI for sizes."""

from __future__ import annotations

import math

__all__ = ["byte_figure", "figure", "percent", "si"]

MINUS = "−"


def figure(value: float | None) -> str:
    """Return `value` with three significant digits; a dash for None.

    >>> figure(0.033149), figure(-2.8), figure(1.5e-7), figure(None)
    ('0.0331', '−2.80', '1.50e−7', '–')
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 5:
        text = f"{value:.{max(0, 2 - exponent)}f}"
    else:
        mantissa, _, power = f"{value:.2e}".partition("e")
        text = f"{mantissa}e{int(power)}"
    return text.replace("-", MINUS)


def si(value: float) -> str:
    """Return a count with an SI prefix.

    >>> si(50176), si(16)
    ('50.2 K', '16')
    """
    return _scaled(value, 1000, ("", "K", "M", "G", "T", "P"))


def byte_figure(value: float) -> str:
    """Return a number of bytes; 1 KB is 1024 bytes.

    >>> byte_figure(200704)
    '196 KB'
    """
    return _scaled(value, 1024, ("B", "KB", "MB", "GB", "TB", "PB"))


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    step = 0
    while value >= base and step < len(units) - 1:
        value /= base
        step += 1
    digits = (
        f"{value:.0f}" if step == 0 or value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    )
    return f"{digits} {units[step]}".rstrip()


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.8125), percent(0.00021)
    ('81.2 %', '0.021 %')
    """
    value = share * 100
    if value <= 0 or value >= 100:
        return f"{value:.0f} %"
    magnitude = math.floor(math.log10(value))
    digits = 2 - magnitude if magnitude >= 0 else min(4, 1 - magnitude)
    return f"{value:.{digits}f} %"
