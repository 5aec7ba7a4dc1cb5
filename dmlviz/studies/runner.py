"""Runs studies through the job slots: asks for the trials wanted, hands them out, keeps their results."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.jobs.order import trial as trial_order
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.record_writer import error_message
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.run_schema.events import FailedEvent
from dmlviz.studies.study import Study, create_study, list_studies, study_id
from dmlviz.studies.trial import Size, Trial, TrialResult

Plan: TypeAlias = Callable[[str, Size, str, Sequence[TrialResult]], Sequence[Trial]]
"""The trials wanted, from the name of a lab, the size, the data set and the results so far."""

STOP_CHECK_S = 0.5  # seconds between two looks whether another process asked for the end


class StudyRunner:
    """The studies of a folder, and a thread for each that runs. Safe to use from many threads; close it at the end.

    An interrupted study resumes; the trials that were running are restarted.

    Args:
        scheduler: Does the trials. It gives way to others: no more trials are handed out than there are slots.
        folder: The folder of the studies.
        plan: Says which trials a study wants.
        room: Returns the bytes that the person of an ID may still take, None for any number; raises UserError where
            that is none, which ends the study.
    """

    def __init__(
        self,
        scheduler: JobScheduler,
        folder: Path,
        plan: Plan,
        room: Callable[[str], int | None] = lambda owner: None,
    ) -> None:
        self.scheduler = scheduler
        self.folder = folder.resolve()
        self.plan = plan
        self.room = room
        self._change = threading.Lock()
        self._sessions: dict[Path, _Session] = {}
        self._is_closed = False

    def studies(self) -> list[Study]:
        """Return all studies, newest first."""
        return list_studies(self.folder)

    def get(self, lab: str, size: Size, dataset: str) -> Study | None:
        """Return a study; None where it was never begun."""
        study = Study(self.folder / study_id(lab, size, dataset))
        return study if study.exists else None

    def start(
        self, lab: str, size: Size, dataset: str, owner: str = "", *, path: Path | None = None, afresh: bool = False
    ) -> Study:
        """Begin a study, or go on with one that has ended early; one that runs or is finished stays as it is.

        Args:
            lab: Name of the lab.
            size: "quick" or "full".
            dataset: Name of the data set.
            owner: ID of the requesting person. One owner has one trial at a time under way, an empty one as many as
                there are slots.
            path: Its folder, by default one in the runner's.
            afresh: Throw away the results of an earlier one.

        Raises:
            UserError: If another process does it, or the folder holds another study.
        """
        path = (path or self.folder / study_id(lab, size, dataset)).resolve()
        with self._change:
            if self._is_closed:
                raise UserError("The server is shutting down: try again when it is back.")
            study = create_study(path, lab, size, dataset, owner, self.scheduler.all_slots)
            if path in self._sessions and self._sessions[path].is_alive():
                return study
            if afresh:
                study.delete()
                study = create_study(path, lab, size, dataset, owner, self.scheduler.all_slots)
            elif study.info["state"] == "finished":
                return study
            lock = study.lock
            if not lock.acquire():
                raise UserError(f"Another process runs the study {study.id}; wait until it ends, or stop it.")
            (path / "stop").unlink(missing_ok=True)
            study.update(state="running", reason="")
            session = _Session(study, self.scheduler, self.plan, self.room, lock)
            self._sessions[path] = session
            session.start()
        return study

    def resume_interrupted(self) -> list[Study]:
        """Go on with every study that ran when its server ended; return them."""
        studies = []
        for study in self.studies():
            with contextlib.suppress(UserError):
                if study.state == "interrupted":
                    info = study.info
                    self.start(info["lab"], info["size"], info["dataset"], info["owner"], path=study.path)
                    studies.append(study)
        return studies

    def wait(self, study: Study, timeout: float | None = None) -> bool:
        """Wait until a study no longer runs in this process; return whether that is so."""
        session = self._sessions.get(study.path.resolve())
        if session is None:
            return True
        session.join(timeout)
        return not session.is_alive()

    def close(self) -> None:
        """Leave the studies that run: the next runner of the folder can go on with them."""
        with self._change:
            self._is_closed = True
            sessions = [*self._sessions.values()]
        for session in sessions:
            session.leave()
        for session in sessions:
            session.join(5)


class _Session(threading.Thread):
    """One session of a study, from its start to its end or to the end of the program."""

    def __init__(
        self, study: Study, scheduler: JobScheduler, plan: Plan, room: Callable[[str], int | None], lock: FileLock
    ) -> None:
        super().__init__(name=f"study {study.id}", daemon=True)
        self.study = study
        self.scheduler = scheduler
        self.plan = plan
        self.room = room
        self.lock = lock
        self._info = study.info
        self._under_way: dict[str, tuple[Trial, TrialRecord]] = {}
        self._news = threading.Event()
        self._leaving = False

    def leave(self) -> None:
        """End without an entry in study.json, so that the study counts as interrupted."""
        self._leaving = True
        self._news.set()

    def run(self) -> None:
        """Hand out trials until there are no more, or an end is asked for."""
        start = time.monotonic()
        try:
            state, reason = self._work(), ""
        except Exception as error:
            if not isinstance(error, UserError):
                logging.getLogger(__name__).exception("a study failed")
            state, reason = "failed", error_message(error)
        try:
            with contextlib.suppress(OSError, UserError):  # its folder may be gone
                seconds = self._info["seconds"] + time.monotonic() - start
                self.study.update(seconds=round(seconds, 3))
                if state == "finished":
                    self.study.finish()
                elif state:
                    self.study.update(state=state, reason=reason)
        finally:
            (self.study.path / "stop").unlink(missing_ok=True)
            self.lock.release()

    def _work(self) -> str:
        """Return how the study ended; empty when the program ends before it."""
        results = self.study.results()
        trials = self._plan(results)
        while True:
            self._news.clear()
            if fresh := self._collect():
                results += fresh
                trials = self._plan(results)  # not more often: a search may think for a while
            if self._leaving:
                return ""
            if self.study.is_stop_requested:
                self._stop_trials()
                self._collect()
                return "stopped"
            missing = [trial for trial in trials if trial.name not in self._under_way]
            if not missing and not self._under_way:
                return "finished"
            room = (1 if self._info["owner"] else self.scheduler.all_slots) - len(self._under_way)
            if all(self._hand_out(trial) for trial in missing[: max(0, room)]):
                self._news.wait(STOP_CHECK_S)
            else:  # the owner has enough under way
                time.sleep(STOP_CHECK_S)

    def _plan(self, results: list[TrialResult]) -> list[Trial]:
        """Return the trials that have no result."""
        done = {result.trial.name: result.trial for result in results}
        trials = []
        for trial in self.plan(self._info["lab"], self._info["size"], self._info["dataset"], results):
            if trial.name not in done:
                trials.append(trial)
            elif dict(done[trial.name].settings) != dict(trial.settings):
                raise UserError(
                    f"The study {self.study.id} was begun by another version of the program: its trial {trial.name} "
                    "had other settings. Start it anew."
                )
        return trials

    def _hand_out(self, trial: Trial) -> bool:
        """Give a trial to the scheduler; False when the owner may not have more under way.

        Raises:
            UserError: When the owner has no room left.
        """
        order = trial_order(
            self.study.trial_folder(trial.name),
            self._info["lab"],
            asdict(trial) | {"settings": dict(trial.settings)},
            f"{self.study.id}/{trial.name}",
            self.room(self._info["owner"]),
        )
        try:
            self._under_way[trial.name] = trial, self.scheduler.submit(order, self._info["owner"], self._news.set)
        except UserError:
            return False
        return True

    def _collect(self) -> list[TrialResult]:
        """Keep the results of the trials that have ended."""
        results = []
        for name, (trial, record) in [*self._under_way.items()]:
            if self.scheduler.owners_of(record):
                continue
            try:
                end = record.end
            except DamagedFileError as error:
                end = FailedEvent(event="failed", reason=str(error))
            if end is None and self._leaving:
                continue
            del self._under_way[name]
            end = end or FailedEvent(event="failed", reason="The trial ended without a result.")
            if end["event"] == "stopped":  # by hand, without its study: it is begun again
                continue
            result = TrialResult(
                trial=trial,
                values=end["values"] if end["event"] == "finished" else {},
                error=end["reason"] if end["event"] == "failed" else "",
                seconds=end["seconds"] if end["event"] == "finished" else 0.0,
                folder=record.path,
            )
            self.study.append(result)
            results.append(result)
        return results

    def _stop_trials(self) -> None:
        """Stop the trials under way and wait until their workers have ended."""
        records = [record for _, record in self._under_way.values()]
        for record in records:
            self.scheduler.stop(record)
        while any(map(self.scheduler.owners_of, records)) and not self._leaving:
            self._news.wait(STOP_CHECK_S)
            self._news.clear()
