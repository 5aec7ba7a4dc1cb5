"""Documents: names are those of the catalog, the README's code and commands work, examples in docstrings run."""

import ast
import doctest
import importlib
import inspect
import json
import os
import pydoc
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import yaml
from PIL import Image
from sklearn.datasets import load_digits

import dmlviz
from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli.docs import PARTS, whole_page
from dmlviz.cli.main import _split_plugins, command_named
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.storage.paths import cache_dir

ROOT = Path(__file__).parents[1]
CATALOGS = (LOSSES, MINERS, NETS, METRICS, DATASETS, SAMPLERS, PROJECTIONS, BACKBONES)
NAMES = {name for catalog in CATALOGS for name in catalog}
OPTIONS = {parameter.name for catalog in CATALOGS for spec in catalog.values() for parameter in spec.parameters}
OPTIONS |= {*TrainConfig.model_fields, *ProjectionConfig.model_fields}
KNOWN = NAMES | OPTIONS
LONG = [name for name in KNOWN if "_" in name]
CODE = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")  # of two words or more: one word may be anything
NEAR = 0.8  # of `difflib`, from which a word looks like a name
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted(path for folder in ("packages",) for path in (ROOT / folder).glob("*/README.md")),
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OTHERS = {".", "./test", "cd", "cp", "curl", "docker", "export", "git", "jupyter", "printf", "python", "srun"}
OTHERS |= {"DMLVIZ_HOST=dmlviz.school.example"}
FIRST = "dmlviz train --dataset digits --loss nt_xent --steps 30 --num-snapshots 3"  # each page's `latest`
NOT_HERE = re.compile(
    r"dmlviz *(#|$|-|serve|show|worker|fleet)"  # stays open
    r"|dmlviz data features"  # loads weights
    r"|dmlviz train(?!.*digits --loss nt_xent)|dmlviz lab [a-z]"  # takes minutes
    r"|.*(--engine reference|--playground|--lesson|doctor --json)"
)
# One process, which imports torch once: the notebooks' cells and the README's blocks, then the commands of the pages.
EVERYTHING = """
import json, os, shlex, shutil, sys, traceback, warnings
from contextlib import redirect_stdout
from io import StringIO

given, answers, said = json.load(sys.stdin), {}, sys.stdout
sys.stdout = sys.stderr  # an answer is all that is printed

def part(name):
    def call(do):
        answers[name] = {"shown": [], "failed": ""}
        try:
            do(answers[name]["shown"].append)
        except BaseException as error:
            answers[name]["failed"] = traceback.format_exc()
    return call

@part("blocks")
def _(note):
    with warnings.catch_warnings(action="error"):
        for block in given["blocks"]:
            with redirect_stdout(StringIO()) as shown:
                exec(block, {"__name__": "__main__"})  # each in a namespace of its own, as in a new file
            note(shown.getvalue())

@part("notebooks")
def _(note):
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    for cells in given["notebooks"]:
        shell.reset()
        with redirect_stdout(StringIO()) as shown:
            for cell in cells:
                shell.run_cell(cell).raise_error()
        note(shown.getvalue())

@part("commands")
def _(note):
    os.environ.update(given["environment"])
    from dmlviz.cli.main import main
    for page, line in given["commands"]:
        runs = os.path.join("runs", page)
        if not os.path.exists(runs) and page != "README.md":
            shutil.copytree("first", runs)
        os.environ["DMLVIZ_RUNS"] = "first" if not os.path.exists("first") else runs
        note(line)
        try:
            main(shlex.split(line)[1:])
        except SystemExit as end:
            assert not end.code, (page, line)

json.dump(answers, said)
"""
README = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/COMMANDS.md", "docs/PYTHON.md"))
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
PACKAGE = Path(dmlviz.__file__).parent
MODULES = [
    ".".join(("dmlviz", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text()
]


def wrong_names(text: str) -> list[str]:
    """Return the code words that look like a name of the catalog or a setting and are none, with that name."""
    return [
        f"{word}: {near[0]}?"
        for word in CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        if word not in KNOWN and (near := get_close_matches(word, LONG, 1, NEAR))
    ]


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))], ids=lambda path: path.name
)
def test_names_in_documents_are_those_of_the_catalog(path: Path) -> None:
    assert wrong_names(path.read_text()) == []


def test_the_documents_written_by_hand_stay_short() -> None:
    measured = ("LEARNING", "SWEEPS", "REALITY_CHECK", "FAULTS")
    by_hand = [path for path in (ROOT / "docs").glob("*.md") if path.stem not in measured]
    assert len(by_hand) <= 24
    assert sum(path.stat().st_size for path in by_hand) <= 140_000, "say each thing once"


def test_a_name_that_is_not_in_the_catalog_is_found() -> None:
    assert wrong_names("Two margins `contrastive_double_margin`") == [
        "contrastive_double_margin: contrastive_no_margin?"
    ]
    assert wrong_names("`batch_hards` and `images_per_clas`") == [
        "batch_hards: batch_hard?",
        "images_per_clas: images_per_class?",
    ]
    assert wrong_names("`contrastive_double`, `batch_size`, `dmlviz_sessions`, `state_dict`") == []


def short(code: str) -> str:
    """Return code with a short training, which shows as well that it works."""
    return re.sub(r"(steps|max_iter)=\d+", r"\1=20", code)


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What the code and the commands of the documents showed, and how they failed."""
    folder = tmp_path_factory.mktemp("documents")
    bring(folder)
    (folder / "cache" / "dmlviz").mkdir(parents=True)  # with the compiled kernels of whoever runs the tests
    (cache_dir() / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "dmlviz" / "kernels").symlink_to(cache_dir() / "kernels")
    notebooks = [json.loads(path.read_text())["cells"] for path in sorted((ROOT / "examples").glob("*.ipynb"))]
    assert not any(cell.get("outputs") for cells in notebooks for cell in cells)  # kept without what they gave here
    commands = [(page, line.replace("--steps 100", "--steps 30")) for page, line in commands_to_run()]
    given = {
        "blocks": [*map(short, BLOCKS)],
        "notebooks": [
            [short("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"] for cells in notebooks
        ],
        "commands": [("README.md", FIRST), *commands],
        "environment": {
            "DMLVIZ_DATA": str(folder / "data"),
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING], input=json.dumps(given), cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads(done.stdout)
    for name, answer in answers.items():
        if answer["failed"] and name == "commands":
            answer["failed"] += done.stderr[-3000:]
        answer["whole"] = len(answer["shown"]) == len(given[name])
    return answers


def commands_to_run() -> list[tuple[str, str]]:
    """All that neither stay open nor load weights nor take minutes, with their page."""
    lines = []
    for page in PAGES:
        blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        here = [line for block in blocks for line in block.splitlines() if re.match("dmlviz ", line)]
        lines += [(page.name, line.split("  #")[0].strip()) for line in here if not NOT_HERE.match(line)]
    assert len(lines) > 30
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("part", ["blocks", "notebooks", "commands"])
def test_the_python_the_notebooks_and_the_commands_of_the_documents_work(part, answers):
    """Python without a warning; commands in one shell, in a folder with what the pages speak of."""
    answer = answers[part]
    assert not answer["failed"], answer["failed"]
    assert answer["whole"]
    assert all(answer["shown"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_every_page_is_understood(page, monkeypatch):
    """Commands: their options and values. Python: its syntax, and that what it imports is there. Settings: read."""
    readers = {"sh": str, "python": ast.parse, "toml": tomllib.loads, "yaml": yaml.safe_load, "text": str, "nginx": str}
    for kind, block in re.findall(r"^ *```(.*)\n((?s:.*?))^ *```$", page.read_text(), re.MULTILINE):
        readers[kind](block)
    monkeypatch.syspath_prepend(ROOT / "packages" / "streamlit-embedding-map")
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            words = shlex.split(line.replace("<this repository>", "REPOSITORY"), comments=True)
            match words[:1]:
                case ["dmlviz" | "./start"]:
                    understand([word for word in words[1:] if word != "&"])
                case ["pip"]:
                    extras = re.findall(r"(?:dmlviz|\.)\[([\w,-]+)\]", line)
                    assert {name for names in extras for name in names.split(",")} <= set(EXTRAS), line
                case [word]:
                    assert word in OTHERS, line
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for statement in ast.parse(block).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                exec(ast.unparse(statement), {})


def understand(words: list[str]) -> None:
    """Read a command as `dmlviz` does, without doing anything."""
    words = _split_plugins(words)[0]
    if not words or words[0].startswith("-"):
        words = ["serve", *words]
    command = command_named(words[0])
    subcommands = getattr(command, "commands", {})
    if subcommands and words[1:] and not words[1].startswith("-"):
        command, words = subcommands[words[1]], words[1:]
    command.make_context(words[0], words[1:])


def test_a_command_or_an_option_that_is_not_there_is_found():
    for words in (["trian"], ["train", "--los", "triplet"], ["train", "--steps", "many"], ["runs", "remove"]):
        with pytest.raises(Exception, match=r"trian|--los|integer|remove"):
            understand(words)


def bring(folder: Path) -> None:
    """Put the files there that the pages take for granted."""
    digits, labels = load_digits(return_X_y=True)
    for start, name in enumerate(("pets", "photographs", "my_pets")):
        for item in range(start, start + 24):
            place = folder / name / f"class {labels[item] % 2}" / f"{item}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((digits[item].reshape(8, 8) * 15).astype("uint8")).resize((32, 32)).save(place)
    Image.fromarray((digits[0].reshape(8, 8) * 15).astype("uint8")).resize((256, 256)).save(folder / "photo.jpg")
    shutil.make_archive(str(folder / "my_pets"), "zip", folder / "my_pets")
    vectors = pandas.DataFrame(digits[:200, :8]).add_prefix("d").assign(kind=labels[:200].astype(str))
    for name in ("items", "vectors"):
        vectors.to_parquet(folder / f"{name}.parquet")
    tabs = {"sep": "\t", "header": False, "index": False}
    vectors.drop(columns="kind").to_csv(folder / "vectors.tsv", **tabs)
    vectors["kind"].to_csv(folder / "metadata.tsv", **tabs)
    pictures = [str(path.relative_to(folder)) for path in (folder / "pets").rglob("*.png")]
    brands = [name.split("/")[1] for name in pictures]
    pandas.DataFrame({"photo": pictures, "brand": brands}).to_csv(folder / "items.csv", index=False)
    for name in ("q", "g"):
        numpy.savez(folder / f"{name}.npz", embeddings=digits[:60], labels=labels[:60], cam=numpy.arange(60) % 3)


@pytest.mark.slow
def test_a_newcomers_shell_has_the_command_and_the_package_once_it_is_activated():
    activate = re.search(r"^\. \.venv/bin/activate$", (ROOT / "README.md").read_text(), re.MULTILINE)
    script = f"{activate[0]} && dmlviz --version && python -c 'import dmlviz' && pip --version"
    if not (ROOT / ".venv").is_dir():
        pytest.skip("dmlviz is not installed in .venv here")
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert str(ROOT / ".venv") in done.stdout


def test_the_files_that_readme_and_contributing_name_are_there():
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for name in re.findall(r"\]\(([^)#:]+)[)#]", text):
            assert (ROOT / name).exists(), name
        assert text.count("\n") <= {"README.md": 130, "CONTRIBUTING.md": 80}[page]
    for name in ("start", "test"):
        assert os.access(ROOT / name, os.X_OK)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module, tmp_path, monkeypatch):
    monkeypatch.setenv("DMLVIZ_RUNS", str(tmp_path))  # no other test's
    home = importlib.import_module(module)
    result = doctest.testmod(home)
    assert result.attempted == len(re.findall("^ +>>> ", inspect.getsource(home), re.MULTILINE)) > 0
    assert result.failed == 0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of the documentation, built with warnings as errors."""
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, ROOT / "scripts" / "make_site.py", "--no-playground", "--site", folder]
    environment = os.environ | {"SITE_URL": "https://dmlviz.example/docs/"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site):
    pages = {path: path.read_text() for path in site.rglob("*.html") if path.parent.name != "gallery"}
    places = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in pages.items()}
    assert len(pages) > 20
    for page, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            if page.name == "404.html" or re.match(r"[a-z]+:|#?$|//", link) or link.startswith("try/"):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page.name, link)
            if anchor and target in places and not anchor.startswith("__"):
                assert anchor in places[target], (page.name, link)


@pytest.mark.slow
def test_the_gallery_plays_and_the_reference_has_signatures(site):
    played = [*(site / "gallery").glob("*.html")]
    assert played
    assert all("<script" in page.read_text() for page in played)
    reference = (site / "REFERENCE.html").read_text()
    assert "embedding_dim" in reference
    assert "dmlviz.losses.build" in reference


@pytest.mark.slow
def test_what_people_search_for_is_found(site):
    index = json.loads((site / "search.json").read_text())["items"]
    for word, page in {
        "ArcFace": "catalog/loss/arcface.html",
        "temperature": "catalog/loss/nt_xent.html",
        "KMNIST": "catalog/dataset/kmnist.html",
        "perplexity": "catalog/projection/tsne.html",
        "semi-hard": "catalog/miner/semihard_nearest.html",
        "lasso": "catalog/keys.html",
        "stays at the margin": "catalog/questions.html",
        "anchor": "catalog/glossary.html",
        "LeNet": "catalog/net/lenet.html",
        "uninstall": "QUESTIONS.html",
        "share it with my class": "QUESTIONS.html",
        "keyboard": "catalog/keys.html",
        "--learning-rate": "catalog/command/train.html",
    }.items():
        found = {
            each["location"].partition("#")[0]
            for each in index
            if word.lower() in f"{each['title']} {each['text']}".lower()
        }
        assert page in found, (word, found)


@pytest.mark.slow
def test_the_sitemap_has_the_address_that_is_given(site):
    assert "<loc>https://dmlviz.example/docs/catalog/loss/triplet.html</loc>" in (site / "sitemap.xml").read_text()


def test_what_dmlviz_docs_opens_has_every_page_and_its_links_lead_somewhere():
    page = whole_page()
    places = re.findall(r'\bid="([^"]+)"', page)
    assert {path.stem.lower() for path in (ROOT / "docs").glob("*.md")} - {"index"} <= set(places)
    for link in re.findall(r'href="#([^"]+)"', page):
        assert places.count(link) == 1, link
    for file in re.findall(r'src="file://([^"]+)"', page):
        assert Path(file).exists()
    assert "<!-- generated" not in page


def test_a_message_that_points_to_a_page_names_one_that_dmlviz_docs_opens():
    """An installed user has no folder docs/."""
    found, parts = set(), {Path(name).name for names in PARTS.values() for name in names}
    for path in [
        *(ROOT / "dmlviz").rglob("*.py"),
        *(ROOT / "app").rglob("*.py"),
        *(ROOT / "frontend/src").rglob("*.ts*"),
    ]:
        code = re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL if path.suffix == ".py" else 0)
        assert not re.findall(r"docs/[A-Z]+\.md", re.sub(r"//.*", "", code)), path
        found |= set(re.findall(r"dmlviz docs ([A-Z]\w+)", code))
    assert found
    assert found <= parts


def public() -> dict[str, Any]:
    """The functions and methods that the API reference shows, and all others that a package names, by name."""
    hidden = re.compile(re.search(r'"!(\^\([^"]+)"', (ROOT / "mkdocs.yml").read_text())[1])
    named = re.findall(r"^::: (dmlviz\.(?!integrations)\S+)", (ROOT / "docs/REFERENCE.md").read_text(), re.MULTILINE)
    packages = [importlib.import_module(f"dmlviz.{path.parent.name}") for path in PACKAGE.glob("*/__init__.py")]
    named += [f"{each.__name__}.{name}" for each in (dmlviz, *packages) for name in getattr(each, "__all__", ())]
    found, shown = [(name, pydoc.locate(name)) for name in named], {}
    for name, thing in found:  # grows by what is in modules and classes
        if inspect.ismodule(thing) or inspect.isclass(thing):
            own = {key: getattr(thing, key) for key in vars(thing) if not key.startswith("_") and not hidden.match(key)}
            home = thing.__name__ if inspect.ismodule(thing) else thing.__module__
            found += [(f"{name}.{key}", each) for key, each in own.items() if getattr(each, "__module__", "") == home]
        elif inspect.isroutine(thing) and not hidden.match(name.rpartition(".")[2]):
            shown[name] = inspect.unwrap(thing)
    return shown


def test_every_public_function_says_what_it_takes_returns_and_refuses():
    shown = public()
    assert len(shown) > 120
    for name, function in shown.items():
        text, signature = inspect.getdoc(function) or "", inspect.signature(function)
        told = text.partition("Args:\n")[2].partition("\n\n")[0]
        for parameter in {*signature.parameters} - {"self", "cls"}:
            assert re.search(rf"\b{parameter}\b", told), f"{name}: {parameter}"
        if signature.return_annotation not in (None, "None"):
            assert re.search(r"^(Return|Yield)|(Returns|Yields):", text), name
        code = inspect.getsource(function).replace("raise NotImplementedError", "")
        if re.search(r"^ +raise \w", code, re.MULTILINE):
            assert "Raises:\n" in text, name


UNSHOWN = (".Recording.close", ".record.close", ".Run.projection")  # the end of `with` calls it; needs a drawn map


def test_every_public_function_is_shown_in_an_example():
    """Of its own or of its class, which the tests run, or in a document that it names; `forward` by a call."""
    for path, function in public().items():
        place, name = path.rpartition(".")[::2]
        text, call = inspect.getdoc(function) or "", rf"\.{name}\(" if name != "forward" else r"\b(net|loss)\(|\)\("
        shown = ">>> " in text or re.search(rf"^ *(>>>|\.\.\.) .*({call})", pydoc.locate(place).__doc__ or "", re.M)
        if page := re.search(r"^Example: (docs/\w+\.md)$", text, re.M):
            shown = re.search(rf"\b{name}\b", (ROOT / page[1]).read_text())
        assert bool(shown) != path.endswith(UNSHOWN), path
