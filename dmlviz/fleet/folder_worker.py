"""A machine of a fleet that shares a folder: it does what it finds there, and comes back after every fault."""

import contextlib
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmlviz.data import available_datasets
from dmlviz.errors import UserError
from dmlviz.fleet.errors import FleetError, MachineLostError
from dmlviz.fleet.folder import POLL_S, STALE_S, Beat, Pulse, check_folder, check_name, write_message
from dmlviz.fleet.machine import Machine
from dmlviz.fleet.orders import ORDER_NAME
from dmlviz.fleet.resources import gpu_count
from dmlviz.fleet.versions import versions
from dmlviz.storage.files import atomic_write, ensure_dir, read_json, write_json


class FolderWorker:
    """Trains what servers order through a folder.

    Args:
        folder: The folder.
        slots: How many trainings at a time.
        name: The machine's name on the page; the host's by default.
        data: The data folder.
        say: Gets a sentence whenever something has changed.
        stale_s: Seconds without a sign of life after which a server is gone.

    Raises:
        FleetError: If the folder or the name cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        slots: int,
        name: str | None = None,
        data: Path | None = None,
        say: Callable[[str], object] = print,
        stale_s: float = STALE_S,
    ) -> None:
        self.folder = check_folder(folder)
        self.name = check_name(name or socket.gethostname())
        self._say = say
        self._data = data
        self._orders_folder = self.folder / "orders" / self.name
        self._beat = Beat(
            self.folder / "machines" / f"{self.name}.json",
            {"slots": slots, "gpus": gpu_count(), "versions": versions()},
        )
        self._servers = Pulse(self.folder / "servers", stale_s, benefit=True)
        self._living: set[str] = set()
        self._orders: dict[str, threading.Thread] = {}
        self._ended = threading.Event()
        self._machine = Machine(slots, data)
        self._slots = slots

    def run(self) -> None:
        """Work until SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._ended.set())
        try:
            self._check_alone()
            # What was ordered before cannot be gone on with; its servers see that another one lives here now.
            shutil.rmtree(self._orders_folder, ignore_errors=True)
            self._say(f"{self.name} works for {self.folder} with {self._slots} slot{'s' if self._slots > 1 else ''}.")
            said = ""
            while not self._ended.wait(POLL_S):
                try:
                    self._look()
                    said = ""
                except OSError as error:
                    sentence = f"The fleet's folder {self.folder} cannot be used: {error.strerror}. Trying again …"
                    if sentence != said:
                        self._say(sentence)
                    said = sentence
        finally:
            self._ended.set()
            with contextlib.suppress(OSError):
                self._beat.close()
            self._machine.abandon_all()
            for thread in [*self._orders.values()]:
                thread.join(5)
            self._machine.close()

    def _check_alone(self) -> None:
        """Raise FleetError if another machine of this name lives."""
        others = Pulse(self.folder / "machines", benefit=False)
        for _ in range(10 if self._beat.file.exists() else 0):
            if self.name in others.living():
                raise FleetError(f"The fleet has a machine named {self.name} already; choose another with --name.")
            self._ended.wait(0.5)

    def _look(self) -> None:
        """Say that this machine lives, and begin what was ordered."""
        if not (self.folder / "orders").is_dir():
            raise FileNotFoundError(2, "No such file or directory")
        ensure_dir(self._orders_folder)
        self._beat.write(datasets=available_datasets(self._data), busy=len(self._orders))
        self._living = {*self._servers.living()}
        for path in sorted(self._orders_folder.iterdir()):
            if path.name in self._orders or not ORDER_NAME.fullmatch(path.name):
                continue
            order = read_json(path / "order.json")
            if isinstance(order, dict):
                thread = threading.Thread(target=self._do, args=(path, order), name=path.name, daemon=True)
                self._orders[path.name] = thread
                thread.start()

    def _do(self, path: Path, order: dict[str, Any]) -> None:
        """Do one order, and write what comes of it."""
        server, numbers = str(order.get("server")), iter(range(10**9))
        is_stopping: set[str] = set()

        def send(message: dict[str, Any]) -> None:
            with contextlib.suppress(OSError):  # the order was deleted
                write_message(path / "messages" / f"{next(numbers):06}.json", message)

        def wanted() -> bool:
            for name in ("stop", "kill"):
                if name not in is_stopping and (path / name).exists():
                    is_stopping.add(name)
                    self._machine.stop(path.name, force=name == "kill")
            return server in self._living and (path / "order.json").exists()

        try:
            packed = self._machine.work(path.name, order, send, wanted)
            with atomic_write(path / "run.zip") as file:
                file.write(packed)
        except MachineLostError:
            shutil.rmtree(path, ignore_errors=True)
        except UserError as error:
            with contextlib.suppress(OSError):
                write_json(path / "error.json", {"sentence": str(error)})
        except OSError as error:  # the order was deleted, or the disk is full
            with contextlib.suppress(OSError):
                write_json(path / "error.json", {"sentence": f"Its run could not be written: {error.strerror}."})
        finally:
            while (path / "order.json").exists() and server in self._living and not self._ended.wait(POLL_S):
                pass  # the same order must not be begun once more
            shutil.rmtree(path, ignore_errors=True)
            self._orders.pop(path.name, None)
