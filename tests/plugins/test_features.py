"""Features: what each declares is there, names are taken once, and the library does without the app."""

import subprocess
import sys
from importlib import import_module

import pytest
from dmlviz_app import routes
from dmlviz_app.feature import FEATURES, Feature, Page
from starlette.routing import Route

from dmlviz.cli.main import command_named, main
from dmlviz.errors import UserError
from dmlviz.parts import PARTS, Command, Kind, kinds
from dmlviz.plugins import load_plugins


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_what_a_feature_names_is_there(feature):
    for kind in feature.kinds.values():
        module, _, function = kind.work.partition(":")
        assert callable(getattr(import_module(module), function))
    for command in feature.commands:
        assert callable(command_named(command.name))
    assert all(isinstance(route, Route) for route in feature.routes())
    assert feature.page is None or feature.page.script.is_file()


def test_the_library_alone_has_the_commands_of_the_features_and_all_work_but_that_of_pages():
    def named(parts, field):
        return {name for part in parts for name in getattr(part, field)}

    of_pages = named(FEATURES, "kinds") - named(PARTS, "kinds")
    assert of_pages == {name for name, kind in kinds().items() if kind.work.startswith("dmlviz_app.")}
    assert named(PARTS, "kinds") <= named(FEATURES, "kinds")
    assert named(PARTS, "commands") == named(FEATURES, "commands")


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"name": "labs"}, "The feature labs has the name 'labs'"),
        ({"kinds": {"trial": Kind("x:y")}}, "The feature labs has the work 'trial'"),
        ({"commands": [Command("study", "", "x")]}, "The feature labs has the command 'study'"),
    ],
)
def test_a_name_is_taken_once(fields, taken):
    with pytest.raises(UserError, match=taken):
        FEATURES.add(Feature(**{"name": "mine"} | fields))
    assert "mine" not in {feature.name for feature in FEATURES}


def test_a_page_has_an_address_of_its_own(tmp_path):
    with pytest.raises(UserError, match="The feature classroom has a page /class"):
        FEATURES.add(Feature(name="mine", page=Page(address="class", title="Mine", script=tmp_path)))


def test_a_route_that_anyone_might_ask_is_refused():
    FEATURES.add(Feature(name="mine", routes=lambda: [Route("/mine", lambda request: None)]))
    with pytest.raises(UserError, match=r"The route /mine does not say who may ask: write @access"):
        routes.routes()


def test_a_file_brings_work_and_a_command_and_one_that_fails_leaves_nothing(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "import typer\n"
        "from dmlviz.parts import Command, Kind\n"
        "from dmlviz_app.feature import FEATURES, Feature\n"
        "work, commands = {'count': Kind(f'{__name__}:count', 'answer')}, [Command('greet', 'Greet.', __name__)]\n"
        "FEATURES.add(Feature(name='mine', kinds=work, commands=commands))\n"
        "app = typer.Typer()\n"
        "@app.command()\n"
        "def greet(name: str):\n"
        "    print('Hello', name)\n"
    )
    with pytest.raises(SystemExit):
        main(["greet", "Ada", "--plugin", str(file)])
    assert capsys.readouterr().out == "Hello Ada\n"
    assert "count" in kinds("answer")
    file = tmp_path / "broken.py"
    file.write_text(
        "from dmlviz_app.feature import FEATURES, Feature\n"
        "FEATURES.add(Feature(name='other'))\n"
        "raise ValueError('no')\n"
    )
    with pytest.raises(UserError, match="line 3: ValueError: no"):
        load_plugins([file])
    assert "other" not in {feature.name for feature in FEATURES}


@pytest.mark.slow
def test_the_library_works_where_there_is_no_app():
    script = (
        "import sys; sys.path[:] = [path for path in sys.path if not path.endswith('/app')]\n"
        "from dmlviz import parts; print(*parts.kinds())\n"
        "from dmlviz.cli.main import main; main(['lab'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    work, _, labs = ended.stdout.partition("\n")
    assert sorted(work.split()) == sorted(name for part in PARTS for name in part.kinds)
    assert "reality-check" in labs
