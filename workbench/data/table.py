"""Tables in text files, and arrays in NumPy's."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.base.errors import DTypeError
from workbench.core.value import new
from workbench.data.archive import DataError, read_arrays
from workbench.data.dataset import Dataset, Empty, Whole
from workbench.data.tensors import TensorDataset, checked, taken
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["CSVDataset", "NumpyDataset"]

MAXIMUM_BYTES = 1 << 30
"""Largest table that is read."""
TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class CSVDataset(Dataset[dict[str, Any]]):
    r"""A table in a text file, the first line of which names its columns: a sample is a dict of the values in a row.

    `columns` says which columns are read, and as what: a type of numbers, or ``"str"``. A batch is a dict of tensors
    [N], or of lists of text. `missing` stands for empty cells, which are refused otherwise. Raises `DataError`, which
    names file, line and column, for a cell that is no such value or out of the type's range, and for a row of another
    length.

    >>> path = getfixture("tmp_path") / "flowers.csv"
    >>> _ = path.write_text("length,width,kind\n5.1,3.5,1\n4.9,3.0,0\n")
    >>> flowers = CSVDataset(path, {"length": "float32", "width": "float32", "kind": "int64"})
    >>> flowers[1]["kind"], flowers.tensor("length", "width").shape, flowers.column("kind").tolist()
    (0, (2, 2), [1, 0])
    """

    def __init__(
        self,
        path: str | Path,
        columns: Mapping[str, Any],
        *,
        delimiter: str = ",",
        missing: Any = None,
    ) -> None:
        self.path = str(path)
        if not columns:
            raise ValueError("say which columns are read, and as what: columns={'age': 'float32'}")
        kinds = {name: None if kind in (str, "str") else as_dtype(kind) for name, kind in columns.items()}
        cells, lines = _cells(Path(path), list(columns), delimiter)
        self._columns = {
            name: _converted(cells[name], lines, kind, missing, f"{path}", name)
            for name, kind in kinds.items()
        }
        self._count = len(lines)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {
            name: values[index] if isinstance(values, list) else values[index].item()
            for name, values in self._columns.items()
        }

    def column(self, name: str, *, names: Any = None) -> Any:
        """Return a column as a tensor [N], whose dim `names` names, or as a list of text."""
        if name not in self._columns:
            raise KeyError(f"no column {name!r} was read, only: {', '.join(self._columns)}")
        values = self._columns[name]
        return values if isinstance(values, list) else from_numpy(values, names=names)

    def tensor(self, *columns: str, names: Any = None) -> Tensor:
        """Return columns of numbers side by side: [N, C], of which `names` names the dims."""
        values = [self.column(name) for name in columns]
        for name, one in zip(columns, values, strict=True):
            if isinstance(one, list):
                raise TypeError(f"column {name!r} is text, and a tensor has numbers")
        return from_numpy(np.stack([one.numpy() for one in values], 1), names=names)

    def _whole(self) -> Whole:
        return self._gather

    def _gather(self, indices: Any, empty: Empty) -> dict[str, Any]:
        if not isinstance(indices, slice):
            indices = checked(np.asarray(indices), self._count)
        batch: dict[str, Any] = {}
        # Text is kept as lists, which take no array as an index.
        for name, values in self._columns.items():
            if isinstance(values, list):
                chosen = (
                    values[indices] if isinstance(indices, slice) else [values[i] for i in indices.tolist()]
                )
                batch[name] = list(chosen)
            else:
                batch[name] = new(taken(values, indices, empty))
        return batch


def _cells(path: Path, wanted: Sequence[str], delimiter: str) -> tuple[dict[str, list[str]], list[int]]:
    """Return the text in the wanted columns, and the line that each row is on."""
    size = path.stat().st_size
    if size > MAXIMUM_BYTES:
        raise DataError(f"{path} has {size} bytes; a table has at most {MAXIMUM_BYTES}")
    lines: list[int] = []
    # With or without the mark that spreadsheet programs put first; newlines are the reader's, as cells may
    # have them.
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next(rows, None)
            if header is None:
                raise DataError(f"{path} is empty: its first line names the columns")
            for name in wanted:
                # Also of two columns of one name nobody can say which is meant.
                if header.count(name) != 1:
                    raise DataError(
                        f"{path} has {header.count(name)} columns {name!r}; its columns are: {', '.join(header[:50])}"
                    )
            places = [header.index(name) for name in wanted]
            cells: dict[str, list[str]] = {name: [] for name in wanted}
            for row in rows:
                if not row:
                    continue  # an empty line
                if len(row) != len(header):
                    raise DataError(
                        f"{path}, line {rows.line_num}: the row has {len(row)} cells, and there are {len(header)} "
                        "columns"
                    )
                lines.append(rows.line_num)
                for name, place in zip(wanted, places, strict=True):
                    cells[name].append(row[place])
        except csv.Error as error:
            raise DataError(f"{path}, line {rows.line_num}: {error}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, after line {rows.line_num}: {error}, it is not UTF-8 text") from None
    return cells, lines


def _converted(cells: list[str], lines: list[int], kind: Any, missing: Any, path: str, name: str) -> Any:
    """Return a column's values as an array, or as they are where no type of numbers is asked for."""
    if kind is None:
        return cells
    values = []
    limits = np.iinfo(kind.numpy) if kind.kind in "iu" else None
    for cell, line in zip(cells, lines, strict=True):
        text = cell.strip()
        value = missing if text == "" else _value(text, kind.kind)
        # Compared here, since NumPy would let some of them wrap around.
        if value is None or (limits is not None and not limits.min <= value <= limits.max):
            what = "an empty cell, for which missing= says no value," if text == "" else repr(cell)
            raise DataError(f"{path}, line {line}, column {name!r}: {what} is no {kind.name}")
        values.append(value)
    if kind.kind != "f":
        return np.array(values, dtype=kind.numpy)
    # By way of float64, so that a number beyond the type is told from infinity, which may stand in the file.
    wide = np.array(values, np.float64)
    with np.errstate(over="ignore"):
        array = wide.astype(kind.numpy)
    if (beyond := np.isinf(array.astype(np.float64)) & ~np.isinf(wide)).any():
        first = int(beyond.argmax())
        raise DataError(f"{path}, line {lines[first]}, column {name!r}: {cells[first]!r} is no {kind.name}")
    return array


def _value(text: str, kind: str) -> Any:
    """Return the number that a text is; None where it is none."""
    if kind == "b":
        return TRUTH.get(text.lower())
    if "_" in text:
        return None  # Python reads 1_000, and tables do not mean that
    try:
        return int(text) if kind in "iu" else complex(text) if kind == "c" else float(text)
    except ValueError:
        return None


class NumpyDataset(TensorDataset):
    """Samples that lie along the first dim of arrays in NumPy's files.

    Each ``.npy`` file has one array; it is mapped, and read where it is looked at, so it may be larger than memory. An
    ``.npz`` file has several, which are read whole: `keys` says which, in order. `names` are the dims of each array.
    Nothing is ever unpickled. Raises `DataError`, which names the file, where it is damaged or holds Python objects.

    >>> import numpy as np
    >>> path = getfixture("tmp_path") / "images.npy"
    >>> np.save(path, np.zeros((5, 1, 8, 8), np.float32))
    >>> (image,) = NumpyDataset(path, names=[("N", "C", "H", "W")])[2]
    >>> image.names, image.shape
    (('C', 'H', 'W'), (1, 8, 8))
    """

    def __init__(
        self,
        *paths: str | Path,
        keys: Sequence[str] | None = None,
        names: Sequence[Sequence[str | None] | None] | None = None,
    ) -> None:
        if not paths:
            raise ValueError("a NumpyDataset is made of at least one file")
        self._made_of = (tuple(str(path) for path in paths), keys, names)
        arrays: list[np.ndarray[Any, Any]] = []
        for path in map(Path, paths):
            if path.suffix == ".npz":
                if keys is None:
                    raise ValueError(f"{path} may have several arrays: say which, in order, with keys=[…]")
                arrays += read_arrays(path, *keys)
            else:
                arrays.append(_mapped(path))
        if names is not None and len(names) != len(arrays):
            raise ValueError(f"names are given for {len(names)} arrays, and there are {len(arrays)}")
        dims = names or [None] * len(arrays)
        super().__init__(*(from_numpy(array, names=one) for array, one in zip(arrays, dims, strict=True)))

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        # A copy: the file is mapped, and a sample that is kept would keep the map.
        return tuple([tensor[index].clone() for tensor in self.tensors])

    def _whole(self) -> Whole | None:
        # In any case: mapped arrays are of a class of their own, which the base class leaves alone.
        return self._gather

    def __reduce__(self) -> tuple[Any, ...]:
        paths, keys, names = self._made_of
        return _again, (paths, keys, names)


def _again(paths: tuple[str, ...], keys: Any, names: Any) -> NumpyDataset:
    """Open files once more, in another process: what is mapped does not travel."""
    return NumpyDataset(*paths, keys=keys, names=names)


def _mapped(path: Path) -> np.ndarray[Any, Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} cannot be read as an array: {error}") from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise DataError(
            f"{path} has several arrays: give it a name that ends in .npz, and say which with keys=[…]"
        )
    try:
        as_dtype(array.dtype)
    except DTypeError as error:
        raise DataError(f"{path} has no values that a tensor can have: {error}") from None
    return array
