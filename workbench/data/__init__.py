"""Data sets, loaders, and the data that comes with the workbench."""

from __future__ import annotations

from workbench.data.archive import DataError, read_arrays
from workbench.data.assets import asset
from workbench.data.dataset import Dataset, Subset, TensorDataset, random_split
from workbench.data.digits import Digits, digits
from workbench.data.idx import fashion_mnist, read_idx
from workbench.data.labels import read_labels
from workbench.data.loader import DataLoader, default_collate
from workbench.data.text import Book, moby_dick

__all__ = [
    "Book",
    "DataError",
    "DataLoader",
    "Dataset",
    "Digits",
    "Subset",
    "TensorDataset",
    "asset",
    "default_collate",
    "digits",
    "fashion_mnist",
    "moby_dick",
    "random_split",
    "read_arrays",
    "read_idx",
    "read_labels",
]
