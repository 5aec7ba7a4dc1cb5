"""The page Labs: its address, whose study is shown, who may stop one."""

import pytest

from app.runtime.people import DEFAULT_LIMITS, Limits, Person, Role, sole_person
from app.runtime.personal_studies import PersonalStudies
from app.state import labs
from app.state.labs import NO_GUESS, LabsState, first_figure, view_lab
from dmlviz.errors import UserError
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import create_study, study_id


@pytest.mark.parametrize("name", LABS)
def test_a_state_survives_its_address(name):
    lab = LABS[name]
    for guess in (0, NO_GUESS, len(lab.guess.options)):
        state = LabsState(name, "full", lab.datasets[-1], labs.OWN, guess, lab.figures[-1].name)
        assert LabsState.from_query(state.to_query()) == state


@pytest.mark.parametrize(
    "query",
    [
        {"lab": "nothing"},
        {"lab": "margins", "size": "huge", "data": "cifar", "results": "mine", "guess": "99", "figure": "none"},
        {"lab": "margins", "guess": "-7"},
        {"guess": "1"},
    ],
)
def test_a_wrong_address_is_the_nearest_right_one(query):
    lab = query["lab"] if query.get("lab") in LABS else ""
    assert LabsState.from_query(query) == LabsState(lab)


class Runner:
    """Studies in a folder, none of which is ever run."""

    def __init__(self, folder):
        self.folder = folder
        self.begun = []

    def get(self, lab, size, dataset):
        study = create_study(self.folder / study_id(lab, size, dataset), lab, size, dataset)
        return study if study.info["owner"] else None

    def start(self, lab, size, dataset, owner="", *, afresh=False):
        study = create_study(self.folder / study_id(lab, size, dataset), lab, size, dataset)
        study.update(owner=owner)
        self.begun.append((study.id, owner, afresh))
        return study


def person(name, role=Role.MEMBER):
    return Person(id=name, name=name, role=role, limits=DEFAULT_LIMITS[role])


def test_who_began_a_study_and_admins_may_stop_it_and_begin_it_anew(tmp_path):
    runner = Runner(tmp_path)

    def of(who):
        return PersonalStudies(runner, who, lambda dataset: None)

    study = of(person("ada")).start("margins", "quick", "digits")
    assert runner.begun == [("margins-quick-digits", "ada", False)]
    with pytest.raises(UserError, match="Somebody else began this study"):
        of(person("bob")).stop(study)
    with pytest.raises(UserError, match="Somebody else began this study"):
        of(person("bob")).start("margins", "quick", "digits", afresh=True)
    of(person("root", Role.ADMIN)).stop(study)
    assert study.is_stop_requested
    of(person("ada")).start("margins", "quick", "digits", afresh=True)
    assert runner.begun[-1] == ("margins-quick-digits", "ada", True)


def test_the_only_person_has_all_slots_and_a_guest_without_jobs_none(tmp_path):
    runner = Runner(tmp_path)
    PersonalStudies(runner, sole_person("browser"), lambda dataset: None).start("margins", "quick", "digits")
    assert runner.begun == [("margins-quick-digits", "", False)]
    looker = Person(id="eve", name="eve", role=Role.GUEST, limits=Limits(disk=0, jobs=0, upload=0))
    with pytest.raises(UserError, match="not start jobs"):
        PersonalStudies(runner, looker, lambda dataset: None).start("margins", "quick", "digits")
    nobody = Person(id="", name="", role=Role.GUEST, limits=DEFAULT_LIMITS[Role.GUEST])
    with pytest.raises(UserError, match="allow cookies"):
        PersonalStudies(runner, nobody, lambda dataset: None).start("margins", "quick", "digits")


def test_own_results_come_before_ready_made_ones_unless_these_are_asked_for(tmp_path):
    class Here:
        studies = PersonalStudies(Runner(tmp_path), sole_person(""), lambda dataset: None)

        def available(self):
            return ["digits"]

    ui = LabsState("margins")
    view = view_lab(ui, Here())
    assert view.dataset == "digits"  # of the lab's data sets the first that is here
    assert view.own is None
    assert view.is_ready_made
    study = create_study(tmp_path / "margins-quick-digits", "margins", "quick", "digits")
    study.update(owner="ada")
    view = view_lab(ui, Here())
    assert view.study == study
    ui.source = labs.READY_MADE
    assert view_lab(ui, Here()).is_ready_made


def test_figure_numbers_and_script_can_be_kept(client):
    answer = client.get("/dmlviz/labs/margins/mnist/ready-made/numbers.csv")
    header, *rows = answer.text.splitlines()
    assert header == "figure,series,x,y,low,high,n"
    assert len(rows) > 5
    assert answer.headers["content-disposition"].startswith('attachment; filename="margins-')
    figure = client.get("/dmlviz/labs/margins/mnist/ready-made/figure.html", params={"dark": "1"})
    assert LABS["margins"].figures[0].title in figure.text
    script = client.get("/dmlviz/labs/margins/mnist/quick/script.py")
    compile(script.text, "script.py", "exec")


@pytest.mark.parametrize(
    "address", ["margins/mnist/own/numbers.csv", "margins/cifar/quick/script.py", "margins/mnist/huge/script.py"]
)
def test_a_study_that_cannot_be_is_refused_in_a_sentence(client, address):
    answer = client.get(f"/dmlviz/labs/{address}")
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("A study of margins is ")


def test_the_figure_that_has_something_to_show_is_shown_first():
    lab = LABS["reality-check"]
    rows = {name: FigureRow(figure=name, series="", x=0, y=0) for name in ("search", "level")}
    assert first_figure(lab, []) == "level"
    assert first_figure(lab, [rows["search"]]) == "search"
    assert first_figure(lab, [rows["search"], rows["level"]]) == "level"
