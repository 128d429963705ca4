"""Data sets, loaders, and the data that comes with the workbench."""

from __future__ import annotations

from workbench.base.public import words
from workbench.data.archive import DataError, read_arrays
from workbench.data.assets import asset
from workbench.data.collate import default_collate, default_convert
from workbench.data.combine import StackDataset, Subset, random_split
from workbench.data.common_words import Words, common_words
from workbench.data.dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset
from workbench.data.digits import Digits, digits
from workbench.data.distributed_sampler import DistributedSampler
from workbench.data.idx import fashion_mnist, read_idx
from workbench.data.images import ImageFolder, read_image
from workbench.data.labels import read_labels
from workbench.data.loader import DataLoader
from workbench.data.pool import WorkerError
from workbench.data.progress import progress
from workbench.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)  # fmt: skip
from workbench.data.table import CSVDataset, NumpyDataset
from workbench.data.tensors import TensorDataset
from workbench.data.text import Book, moby_dick
from workbench.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "Book",
    "CSVDataset",
    "ChainDataset",
    "ConcatDataset",
    "DataError",
    "DataLoader",
    "Dataset",
    "Digits",
    "DistributedSampler",
    "ImageFolder",
    "IterableDataset",
    "NumpyDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "Words",
    "WorkerError",
    "WorkerInfo",
    "asset",
    "common_words",
    "default_collate",
    "default_convert",
    "digits",
    "fashion_mnist",
    "get_worker_info",
    "moby_dick",
    "progress",
    "random_split",
    "read_arrays",
    "read_idx",
    "read_image",
    "read_labels",
]

PYTORCH_FILES = ("_utils", "dataloader", "dataset", "distributed", "sampler")
"""Files that PyTorch has here."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
