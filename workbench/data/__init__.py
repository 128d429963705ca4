"""Data sets, loaders, and the data that comes with the workbench."""

from __future__ import annotations

from workbench.data.archive import DataError, read_arrays
from workbench.data.assets import asset
from workbench.data.dataset import Dataset, Subset, TensorDataset, random_split
from workbench.data.digits import Digits, digits
from workbench.data.labels import read_labels
from workbench.data.loader import DataLoader, default_collate

__all__ = [
    "DataError",
    "DataLoader",
    "Dataset",
    "Digits",
    "Subset",
    "TensorDataset",
    "asset",
    "default_collate",
    "digits",
    "random_split",
    "read_arrays",
    "read_labels",
]
