"""The studies of labs as one person uses them: everybody sees all; who began one, or an admin, may stop it."""

from collections.abc import Callable
from dataclasses import dataclass

from app.runtime.people import Person, Role
from dmlviz.errors import UserError
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import Study
from dmlviz.studies.trial import Size


@dataclass(frozen=True)
class PersonalStudies:
    """Like `StudyRunner`, for one person.

    Attributes:
        runner: The studies of everyone; a study holds no one's data, so that all may see it.
        person: Who asks.
        before_start: Called with the data set of a study; raises UserError if this person may not train on it.
    """

    runner: StudyRunner
    person: Person
    before_start: Callable[[str], None]

    def get(self, lab: str, size: Size, dataset: str) -> Study | None:
        """Return a study; None where it was never begun."""
        return self.runner.get(lab, size, dataset)

    def start(self, lab: str, size: Size, dataset: str, *, afresh: bool = False) -> Study:
        """Begin a study or go on with it, as `StudyRunner.start`; for one person of many, one trial at a time.

        Raises:
            UserError: If this person may start no jobs, or throw away the study of somebody else.
        """
        if not self.person.alone:
            if not self.person.id:
                raise UserError("This browser sends no cookie, so your studies could not be told; allow cookies.")
            if self.person.limits.jobs == 0:
                raise UserError("You may look here, but not start jobs; ask who runs this server.")
            self.before_start(dataset)
            study = self.get(lab, size, dataset)
            if afresh and study is not None and not self.may_stop(study):
                raise UserError("Somebody else began this study, so you cannot begin it anew.")
        return self.runner.start(lab, size, dataset, "" if self.person.alone else self.person.id, afresh=afresh)

    def may_stop(self, study: Study) -> bool:
        """Whether this person may stop a study: who began it, an admin, and the only person there is."""
        return self.person.alone or self.person.may(Role.ADMIN) or study.info["owner"] == self.person.id

    def stop(self, study: Study) -> None:
        """Stop a study; raise UserError where somebody else began it."""
        if not self.may_stop(study):
            raise UserError("Somebody else began this study, so you cannot stop it.")
        study.request_stop()
