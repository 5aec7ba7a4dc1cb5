"""A lesson as a page of a static site: text, formulas, guesses with their answers, and the runs that gave them."""

import html
from collections.abc import Mapping, Sequence

from markdown_it import MarkdownIt

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.export.contents import LessonExport, RunExport
from dmlviz.export.page import BUILT, TEMPLATES
from dmlviz.export.site_builder import SiteBuilder, card, map_of
from dmlviz.export.site_runs import RunPage
from dmlviz.lessons import Lesson
from dmlviz.lessons.measurements import measured_after, measurement_table, task_measurements

GUESS = '<label{right}><input type="radio" name="task-{number}"> {guess}</label>'

# By the end of its address a run's page hides header and footer (`map`), and the scores as well (`run`).
FRAME = '<iframe class="{shown}" src="../runs/{page}.html#{shown}" title="The run: {title}" loading="lazy"></iframe>'

TRAINING = (
    '<p><a href="../playground/index.html?task={task}">Train this net in your browser</a> and see for yourself.</p>'
)

FORMULA = '<div><dt>{title}</dt><dd class="formula">{formula}</dd></div>'


def add_lessons(site: SiteBuilder) -> None:
    """Add the lessons to a site, each with a card."""
    if site.lessons:
        (site.folder / "formulas.js").write_bytes((BUILT / "formulas.js").read_bytes())
    for export in site.lessons:
        lesson = export.lesson
        body = lesson_page(export, [RunPage(run).name for run in export.runs], site.title, site.trained)
        site.page(f"lessons/{lesson.name}", lesson.title, body)
        site.cards.append(card(f"lessons/{lesson.name}", map_of(export.runs[-1]), lesson.title, lesson.summary))


def lesson_page(export: LessonExport, pages: Sequence[str], site: str, trained: Mapping[str, str] | None = None) -> str:
    """Return the body of the page.

    Args:
        export: The lesson with its runs.
        pages: Names of the pages of these runs.
        site: Title of the site.
        trained: For each task that the site's playground was to train why it cannot; empty where it can.
    """
    lesson = export.lesson
    values = [
        (task.title, task_measurements(run.run, task)) for task, run in zip(lesson.tasks, export.runs, strict=True)
    ]
    tasks = [
        _task(number, export, measurement_table(values[:number]), pages[number - 1], trained or {})
        for number in range(1, len(values) + 1)
    ]
    return TEMPLATES["lesson"].format(
        site=html.escape(site),
        title=html.escape(lesson.title),
        minutes=lesson.minutes,
        summary=html.escape(lesson.summary),
        text=_markdown(lesson.text),
        formulas=_formulas(lesson),
        tasks="\n".join(tasks),
    )


def _task(number: int, lesson: LessonExport, table: str, page: str, trained: Mapping[str, str]) -> str:
    task, export = lesson.lesson.tasks[number - 1], lesson.runs[number - 1]
    config = export.run.config
    page_kind = "run" if task.view_before_guess else "workbench"
    frame = FRAME.format(page=page, shown=page_kind, title=html.escape(task.title))
    guesses = [
        GUESS.format(number=number, guess=html.escape(guess), right=' class="right"' if place == task.answer else "")
        for place, guess in enumerate(task.guesses)
    ]
    images, data = len(RunExport(export.run).labels), DATASETS[config.dataset].title
    after = measured_after(lesson.lesson.tasks[:number], config.dataset)
    measured = f"On all {images:,} test images of {data}, {after}."
    name = f"{lesson.lesson.name}-{number}"
    refused = trained.get(name)
    return TEMPLATES["task"].format(
        number=number,
        training="" if refused is None else f"<p>{html.escape(refused)}</p>" if refused else TRAINING.format(task=name),
        title=html.escape(task.title),
        question=_markdown(" ".join(filter(None, (task.instructions, task.question)))),
        before=frame if task.view_before_guess else "",
        guesses="\n".join(guesses),
        answer=_markdown(f"The run says: **{task.guesses[task.answer]}**\n\n{task.reveal}\n\n{table}\n\n{measured}"),
        after="" if task.view_before_guess else frame,
    )


def _formulas(lesson: Lesson) -> str:
    losses = [LOSSES[name] for kind, name in lesson.related if kind == "loss"]
    rows = [FORMULA.format(title=html.escape(loss.title), formula=html.escape(loss.formula)) for loss in losses]
    return f'<dl class="formulas">{"".join(rows)}</dl>' if rows else ""


def _markdown(text: str) -> str:
    page: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return page
