"""The sampler of one process out of several: each takes its own part of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

from workbench.base.errors import UnavailableError
from workbench.base.random import Generator
from workbench.data.sampler import Sampler
from workbench.tensor.random import randperm

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Gives process `rank` of `num_replicas` every `num_replicas`-th sample, shuffled by `seed` and epoch.

    All processes get equally many: samples from the front are added to the last, or left out with `drop_last`. The
    orders are those of `seed` and the epoch that `set_epoch` was told; without it every pass has the same.

    Raises UnavailableError without `num_replicas` and `rank`, which there is no group of processes to ask for.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise UnavailableError(
                "DistributedSampler: there is no group of processes to ask for num_replicas and rank: give both, or "
                "leave the sampler out for the one process that there is"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset: Any = dataset
        self.num_replicas, self.rank = num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        count = len(dataset)
        left_out = count % num_replicas if drop_last else 0
        self.num_samples = math.ceil((count - left_out) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(len(order), generator=generator).tolist()
        if order and len(order) < self.total_size:
            order *= math.ceil(self.total_size / len(order))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which pass comes next: each has an order of its own."""
        self.epoch = epoch
