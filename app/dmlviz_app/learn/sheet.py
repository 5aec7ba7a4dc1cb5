"""Teacher's sheet of a lesson: a page of its own, made to be printed, from what the lesson's file says."""

import html
from pathlib import Path

from markdown_it import MarkdownIt

from dmlviz.catalog.datasets import DATASETS
from dmlviz.lessons import Lesson, Task
from dmlviz.lessons.measurements import MeasuredRange, measured_ranges
from dmlviz.storage.text import counted
from dmlviz_app.learn import READ_SHEETS
from dmlviz_app.server.services import Services

_PAGE = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")

_TASK = """<section>
<h2>{number}. {title}</h2>
{question}
<ul>
{guesses}
</ul>
<p><b>Students usually guess:</b> {usual_guess}</p>
{answer}
{table}
</section>"""


def may_read_sheets(services: Services) -> bool:
    """Return whether this person may read the teacher's sheets: in an open class its teacher, no student."""
    room = services.classrooms.of_person(services.person.id)
    return services.person.may(READ_SHEETS) if room is None else room.teacher == services.person.id


def sheet_page(lesson: Lesson) -> str:
    """Return the sheet of a lesson as HTML."""
    ranges = measured_ranges(lesson)
    return _PAGE.format(
        name=lesson.name,
        title=html.escape(lesson.title),
        part=html.escape(lesson.part),
        minutes=lesson.minutes,
        goal=_markdown(lesson.sheet.goal),
        tasks="\n".join(_task(number, task, ranges.get(number, [])) for number, task in enumerate(lesson.tasks, 1)),
        exam=_markdown(f"**Question.** {lesson.sheet.exam}"),
        exam_answer=_markdown(f"**Answer.** {lesson.sheet.exam_answer}"),
    )


def _task(number: int, task: Task, ranges: list[MeasuredRange]) -> str:
    guesses = [
        f"<li{' class=right' if place == task.answer else ''}>{html.escape(guess)}</li>"
        for place, guess in enumerate(task.guesses)
    ]
    return _TASK.format(
        number=number,
        title=html.escape(task.title),
        question=_markdown(" ".join(filter(None, (task.instructions, task.question)))),
        guesses="\n".join(guesses),
        usual_guess=html.escape(task.usual_guess),
        answer=_markdown(f"**Answer: {task.guesses[task.answer]}.** {task.reveal}"),
        table=_markdown(_table(ranges)) if ranges else "",
    )


def _table(ranges: list[MeasuredRange]) -> str:
    """Return what was measured with several seeds as a Markdown table."""
    datasets = list(dict.fromkeys(each.dataset for each in ranges))
    rows = list(dict.fromkeys(each.label for each in ranges))
    cells = {(each.label, each.dataset): each.text for each in ranges}
    seeds = {each.dataset: each.seeds for each in ranges}
    head = [f"{DATASETS[name].title}, {counted(seeds[name], 'seed')}" for name in datasets]
    lines = [["Measured", *head], ["---"] * (len(datasets) + 1)]
    lines += [[row, *(cells.get((row, name), "–") for name in datasets)] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown(text: str) -> str:
    page: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return page
