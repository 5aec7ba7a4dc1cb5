"""The studies of labs as one person uses them: all are visible, and its owner or an admin may stop one."""

from dataclasses import dataclass

from dmlviz.errors import UserError
from dmlviz.runs.quota import folder_size
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import Study
from dmlviz.studies.trial import Size
from dmlviz_app.people import policy
from dmlviz_app.people.personal_jobs import PersonalJobs


@dataclass(frozen=True)
class PersonalStudies:
    """Like `StudyRunner`, for one person.

    Attributes:
        runner: The studies of everyone; a study holds no one's data, so that all may see it.
        jobs: The jobs as this person may start them.
    """

    runner: StudyRunner
    jobs: PersonalJobs

    def get(self, lab: str, size: Size, dataset: str) -> Study | None:
        """Return a study; None where it was never begun."""
        return self.runner.get(lab, size, dataset)

    def start(self, lab: str, size: Size, dataset: str, *, afresh: bool = False) -> Study:
        """Begin or resume a study, as `StudyRunner.start`; for one person of many, one trial at a time.

        Raises:
            UserError: If this person may start no jobs, or throw away the study of another person.
        """
        self.jobs.check_training(dataset)
        study = self.get(lab, size, dataset)
        if afresh and study is not None and not self.may_stop(study):
            raise UserError("Another person began this study, so you cannot begin it anew.")
        return self.runner.start(lab, size, dataset, self.jobs.person.owner, afresh=afresh)

    def may_stop(self, study: Study) -> bool:
        """Return whether this person may stop a study."""
        person, owner = self.jobs.person, study.info["owner"]
        return person.may(policy.STOP, "mine" if owner and owner == person.id else "others")

    def stop(self, study: Study) -> None:
        """Stop a study; raise UserError if another person began it."""
        if not self.may_stop(study):
            raise UserError("Another person began this study, so you cannot stop it.")
        study.request_stop()

    def used(self) -> int:
        """Return the bytes that the studies of this person take."""
        person = self.jobs.person.id
        return sum(folder_size(study.path) for study in self.runner.studies() if study.info["owner"] == person)
