"""Where the data is that comes with the workbench."""

from __future__ import annotations

from pathlib import Path

__all__ = ["asset"]


def asset(name: str) -> Path:
    """Return the path of a file that comes with the workbench, such as ``"digits/digits.npz"``.

    An installed workbench has its data in the package, a checkout of the sources beside it. Raises
    FileNotFoundError, which says where was looked.

    >>> asset("digits/LICENSE.txt").name
    'LICENSE.txt'
    """
    package = Path(__file__).resolve().parents[1]
    places = (package / "assets", package.parent / "assets")
    for place in places:
        path = (place / name).resolve()
        if not path.is_relative_to(place.resolve()):
            raise ValueError(f"{name!r} is not below the folder of assets")
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"there is no asset {name!r}: looked in {' and '.join(str(place) for place in places)}"
    )
