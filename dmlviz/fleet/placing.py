"""Choice of the machine of a fleet for a training."""

from collections.abc import Iterable, Mapping

from dmlviz.jobs.placement import MachineInfo


def best_machine(
    machines: Iterable[MachineInfo], jobs: Mapping[str, int], dataset: str, only: str = ""
) -> MachineInfo | None:
    """Return a machine with a free slot, at best one with the data and a GPU; None if there is none.

    Args:
        machines: The machines that are connected.
        jobs: How many jobs each has, by its address.
        dataset: Name of the data set.
        only: Name of the one machine that may get it; empty for any.
    """
    free = [
        (machine.slots - jobs.get(machine.address, 0), machine)
        for machine in machines
        if machine.can_train(dataset) and only in ("", machine.name)
    ]

    def merit(choice: tuple[int, MachineInfo]) -> tuple[bool, bool, int]:
        slots, machine = choice
        return dataset in machine.datasets, machine.gpus > 0, slots

    return max((choice for choice in free if choice[0] > 0), key=merit, default=(0, None))[1]
