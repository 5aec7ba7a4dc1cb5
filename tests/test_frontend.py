"""The bundled front end is up to date, and Streamlit finds every component."""

import re
import shutil
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from dmlviz_app.feature import components

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "frontend"
BUILT = files("dmlviz") / "_frontend"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").is_dir(),
    reason="needs Node.js and `npm ci` in frontend/",
)


def node(*arguments, cwd):
    return subprocess.run(["node", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.fixture
def copy(tmp_path):
    """The sources and what is built of them, elsewhere."""
    shutil.copytree(SOURCES, tmp_path / "frontend", ignore=shutil.ignore_patterns("node_modules", "build", "test"))
    (tmp_path / "frontend" / "node_modules").symlink_to((SOURCES / "node_modules").resolve())
    shutil.copytree(BUILT, tmp_path / "dmlviz" / "_frontend")
    shutil.copytree(ROOT / "packages", tmp_path / "packages")
    return tmp_path / "frontend"


@pytest.mark.slow
@needs_node
def test_the_same_sources_give_the_same_bytes_wherever_they_lie(copy):
    done = node("build.mjs", "--check", cwd=copy)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@needs_node
def test_a_change_of_the_sources_makes_it_stale_until_it_is_built(copy):
    style = copy / "src" / "workbench" / "progress" / "progress.css"
    style.write_text(style.read_text() + ".another { color: red; }\n")
    stale = node("build.mjs", "--check", cwd=copy)
    assert stale.returncode == 1
    assert "is stale (" in stale.stderr
    assert node("build.mjs", cwd=copy).returncode == 0
    assert node("build.mjs", "--check", cwd=copy).returncode == 0


OWN = {
    name: file.removeprefix("src/") for name, file in re.findall(r'(\w+): "(.+)"', (SOURCES / "own.mjs").read_text())
}


def test_streamlit_is_told_of_every_component_of_a_feature_and_of_no_other():
    told = tomllib.loads((ROOT / "dmlviz" / "pyproject.toml").read_text())["tool"]["streamlit"]["component"][
        "components"
    ]
    assert {entry["asset_dir"] for entry in told} == {BUILT.name}
    built = {path.name.rpartition("-")[0] for path in BUILT.glob("*-*.js")} - {"page", "tour", "layout_worker"}
    assert sorted(entry["name"] for entry in told) == sorted(built) == sorted(components()), "npm run build writes both"
    assert OWN.items() <= components().items()


def test_every_component_loads_the_one_script_but_those_with_their_own():
    (script,) = BUILT.glob("page-*.js")
    for path in BUILT.glob("*-*.js"):
        if path.name.rpartition("-")[0] not in ("page", "tour", "layout_worker", *OWN):
            loads = re.fullmatch(
                r'export \{ (\w+) as default \} from "\.\./dmlviz\.workbench/([\w.-]+)";\n', path.read_text()
            )
            assert (loads[1], loads[2]) == (path.name.rpartition("-")[0], script.name)


def test_the_tour_is_a_script_of_its_own_which_the_page_names():
    (page,), (tour,) = BUILT.glob("page-*.js"), BUILT.glob("tour-*.js")
    assert tour.name in page.read_text()
    assert "driver-popover" in tour.read_text()
    assert "driver-popover" not in page.read_text()


def test_nothing_built_tells_where_it_was_built():
    for path in BUILT.iterdir():
        assert str(ROOT) not in path.read_text(), path.name


def test_text_is_as_large_as_the_browser_is_told_to_make_it():
    sheets = [*(SOURCES / "src").rglob("*.css"), ROOT / "app" / "dmlviz_app" / "page.css"]
    fixed = re.compile(r"\bfont(?:-size)?:[^;{}]*?(?<![\d.])[1-9][\d.]*px[^;{}]*|--(?:tiny|small|large): [\d.]+px")
    assert {sheet.name: found for sheet in sheets if (found := fixed.findall(sheet.read_text()))} == {}
    config = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text())
    usual = config["theme"]["baseFontSize"]  # Streamlit makes it the size of the whole page, in pixels
    assert f"--root-px: {usual};\n  font-size: {usual / 16:.1%} !important;" in sheets[-1].read_text()


def part_of_selector(match):
    """What stands for :has(…), :is(…) and :not(…), of which the innermost is read first."""
    if match[1] == "has" or "HAS" in match[2]:
        return "HAS"
    return ".any" if match[1] == "is" and all("." in one for one in match[2].split(",")) else ""


def test_what_a_style_finds_by_the_contents_of_something_else_has_a_class():
    """After each change `:has(…) > *` has all styles of Streamlit's page computed anew: 0.1 s a text of a chart."""
    sheet = (ROOT / "app" / "dmlviz_app" / "page.css").read_text()
    text, broad = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL), []
    for selectors in re.findall(r"[^{};]*:has\([^{};]*(?={)", text):
        plain, more = selectors.strip(), True
        while more:
            plain, more = re.subn(r":(has|is|not)\(([^()]*)\)", part_of_selector, plain)
        for selector in plain.split(","):
            *around, found = re.split(r"\s*[>+~\s]\s*", selector.strip())
            broad += [selectors] * (any("HAS" in one for one in around) and "." not in found)
    assert broad == []


def luminance(color):
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in color]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def mix(color, ground, share):
    return [share * a + (1 - share) * b for a, b in zip(color, ground, strict=True)]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_gray_words_are_read_on_a_control_under_the_pointer_too(theme):
    """4.5 : 1 on the ground, and on what a control has behind it while it is pointed at or chosen."""
    given = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text())["theme"][theme]
    names = ("textColor", "backgroundColor", "primaryColor")
    text, ground, accent = ([int(given[name][i : i + 2], 16) / 255 for i in (1, 3, 5)] for name in names)
    grays = re.compile(r"(?:--muted|[^-]color): color-mix\(in srgb, var\(--(?:st-)?text(?:-color)?\) (\d+)%, ")
    shares = [
        int(share) / 100 for path in (SOURCES / "src").rglob("*.css") for share in grays.findall(path.read_text())
    ]
    assert len(shares) >= 4
    for behind in (ground, mix(text, ground, 0.06), mix(accent, ground, 0.12)):
        for share in shares:
            light, dark = sorted((luminance(mix(text, ground, share)), luminance(behind)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{share:.0%}"
