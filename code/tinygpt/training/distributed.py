"""One run in several processes, started by `torchrun`, each with a part of every batch."""

import os
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed


@dataclass(frozen=True)
class Workers:
    """How many processes train together, and which of them this one is."""

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")

    @property
    def first(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def share(self, batch_size: int) -> slice:
        """Return the rows of a batch that are this process's.

        Raises:
            ValueError: when the processes do not divide the batch.
        """
        if batch_size % self.size:
            raise ValueError(
                f"train: batch_size={batch_size} does not divide among {self.size} processes; "
                "choose a multiple of them"
            )
        part = batch_size // self.size
        return slice(self.rank * part, (self.rank + 1) * part)

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a value over all processes."""
        if self.size > 1:
            distributed.all_reduce(value)
            value = value / self.size
        return value

    def any(self, value: bool) -> bool:
        """Return whether the value is true in any process."""
        if self.size > 1:
            count = torch.tensor(float(value), device=self.device)
            distributed.all_reduce(count)
            value = count.item() > 0
        return value

    def wait(self):
        """Go on when every process has come here."""
        if self.size > 1:
            distributed.barrier()


def started_by_torchrun() -> bool:
    """Whether `torchrun` started this process."""
    return "WORLD_SIZE" in os.environ and "RANK" in os.environ


@contextmanager
def workers(device: torch.device):
    """Yield this process's Workers; under `torchrun`, meet the others first.

    NCCL carries the gradients between graphics cards, gloo everywhere else.
    """
    if not started_by_torchrun() or distributed.is_initialized():
        if distributed.is_initialized():
            yield Workers(distributed.get_rank(), distributed.get_world_size(), device)
        else:
            yield Workers()
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Workers(distributed.get_rank(), distributed.get_world_size(), device)
    finally:
        distributed.destroy_process_group()
