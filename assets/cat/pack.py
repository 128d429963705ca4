"""Makes photo.jpg and mask.png: ``python assets/cat/pack.py``, with scikit-image installed."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw
from skimage import data

FOLDER = Path(__file__).parent

# Drawn by hand along the cat's outline, (column, row) in the photo's pixels; the photo cuts it off on three sides.
OUTLINE = [
    (40, -1), (33, 30), (32, 70), (35, 105), (25, 130), (5, 145), (-1, 150), (-1, 300), (170, 300), (195, 288),
    (215, 282), (250, 281), (285, 272), (302, 260), (315, 236), (330, 206), (347, 182), (359, 150), (363, 125),
    (358, 100), (352, 76), (368, 58), (384, 30), (396, -1),
]  # fmt: skip


def main() -> None:
    """Write both files."""
    photo = Image.fromarray(data.chelsea())
    photo.save(FOLDER / "photo.jpg", quality=90)
    mask = Image.new("1", photo.size)
    ImageDraw.Draw(mask).polygon(OUTLINE, fill=1)
    mask.save(FOLDER / "mask.png", optimize=True)


if __name__ == "__main__":
    main()
