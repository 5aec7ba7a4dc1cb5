"""Connection of a server to the machine of a Dask fleet that does one job."""

import contextlib
import json
import logging
from collections.abc import Callable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NoAnswer
from typing import TYPE_CHECKING, Any

from dmlviz.fleet import MachineLostError, dask_worker
from dmlviz.fleet.dask_client import answer_within
from dmlviz.fleet.dask_config import SLOT
from dmlviz.fleet.machine import Message
from dmlviz.fleet.remote_job import RemoteJob
from dmlviz.jobs.job_record import OrderContent

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

CALL_TIMEOUT_S = 3.0  # seconds for a machine to answer a question
RESULT_TIMEOUT_S = 120.0  # seconds for a packed run to come
log = logging.getLogger(__name__)


class DaskLink:
    """Connection to the machine that does one job: a Dask task for the job, `Client.run` for everything else."""

    def __init__(self, client: "Client", order: str, content: OrderContent, address: str, job: RemoteJob) -> None:
        self._client, self._order, self._address, self._job = client, order, address, job
        try:
            self._future = client.submit(
                dask_worker.work,
                order,
                json.dumps(content),
                key=order,
                workers=[address],
                allow_other_workers=False,
                resources={SLOT: 1},
                retries=0,
                pure=False,
            )
            self._future.add_done_callback(self._on_done)
        except (OSError, RuntimeError) as error:
            raise MachineLostError(f"{job.machine} could not be reached ({error}).") from None

    def message_from(self, first: int) -> Message | None:
        """Return the message from this line on; see `dmlviz.fleet.remote_job`."""
        message: Message | None = self._call(dask_worker.message_from, first)
        return message

    def stop(self, force: bool) -> None:
        """Stop the job: between two batches, or at once by `force`."""
        self._call(dask_worker.stop, force)

    def close(self) -> None:
        """Release the job."""
        with contextlib.suppress(Exception):
            self._future.release()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # `Future.cancel` would free the slot while the training goes on; the machine itself must end it.
        try:
            answers = answer_within(
                CALL_TIMEOUT_S,
                lambda: self._client.run(function, self._order, *arguments, workers=[self._address]),
            )
            return answers[self._address]
        except (OSError, RuntimeError, ValueError, KeyError, NoAnswer) as error:
            raise MachineLostError(f"{self._job.machine} gives no answer ({type(error).__name__}).") from None

    def _on_done(self, future: "DaskFuture[bytes]") -> None:
        self._job.on_result(self._fetch)

    def _fetch(self) -> bytes:
        from distributed import KilledWorker

        future, name = self._future, self._job.machine
        if future.status == "error":
            error = future.exception(timeout=CALL_TIMEOUT_S)
            if isinstance(error, KilledWorker):
                log.warning("%s has died.", name)
                raise MachineLostError(f"{name} was lost.")
            assert isinstance(error, BaseException)
            raise error
        if future.status == "lost":
            raise MachineLostError(f"{name} was lost.")
        try:
            return bytes(future.result(timeout=RESULT_TIMEOUT_S))
        except CancelledError as error:
            is_cut = getattr(error, "reason", "") == "scheduler-connection-lost"  # as Dask calls it
            raise MachineLostError("The fleet was lost." if is_cut else f"{name} was lost.") from None
        except (OSError, RuntimeError, NoAnswer) as error:
            raise MachineLostError(f"{name} did not send its run ({type(error).__name__}).") from None
