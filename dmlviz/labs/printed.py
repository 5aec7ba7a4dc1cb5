"""The page *printed and measured*: every number that the labs' papers print, beside ours or a reason why there is none.

`printed.csv` holds the numbers and where ours is: a figure of the lab, its series and x, times a factor.
"""

import csv
import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from string import Template

from dmlviz.labs.lab import FigureRow
from dmlviz.labs.lab_study import ready_made, study_rows
from dmlviz.labs.registry import LABS

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A printed number; `figure` and `reason` exclude each other. The fields are the columns of `printed.csv`."""

    lab: str
    source: str
    what: str
    printed: str
    figure: str
    series: str
    x: str
    factor: float
    reason: str

    def ours(self, rows: Sequence[FigureRow]) -> float | None:
        """Return our number, in the unit of the printed one; None where these rows do not have it."""
        key = self.figure, self.series, self.x
        found = [row.y for row in rows if (row.figure, row.series, _words(row.x)) == key]
        return self.factor * found[0] if found and self.figure else None


@cache
def printed() -> tuple[Printed, ...]:
    """Return all of them, by lab."""
    with (HERE / "printed.csv").open(newline="", encoding="utf-8") as file:
        return tuple(Printed(**{**row, "factor": float(row["factor"])}) for row in csv.DictReader(file))  # type: ignore[arg-type]


def page(measured: Mapping[str, Sequence[FigureRow]], notes: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        measured: The rows of a quick study by lab; without any, the page has the ready-made studies only.
        notes: A sentence for each lab: how long it took, or why it could not be done.
    """
    template = Template((HERE / "printed.html").read_text(encoding="utf-8"))
    rows = printed()
    return template.substitute(
        contents="".join(f"<li><a href=#{lab}>{html.escape(spec.title)}</a>" for lab, spec in LABS.items()),
        parts="".join(_part(lab, measured.get(lab, ()) if measured else None, notes.get(lab, "")) for lab in LABS),
        quick=", and of the quick run that wrote this page" if measured else "",
        numbers=len(rows),
        beside=sum(not row.reason for row in rows),
        without=sum(bool(row.reason) for row in rows),
    )


def _part(lab: str, quick: Sequence[FigureRow] | None, note: str) -> str:
    spec, study = LABS[lab], ready_made(lab)
    full = study_rows(study) if study is not None else []
    rows = [row for row in printed() if row.lab == lab]
    head = f"<h2 id={lab}>{html.escape(spec.title)}</h2><p>{html.escape(f'{spec.question} {note}')}</p>"
    note = f"<p>{html.escape(spec.literature_note)}</p>"
    if not rows:
        return f"{head}<p>No number is printed for it.</p>{note}"
    ours = {"Ours": full} if quick is None else {"Ours, quick": quick, "Ours, whole": full}
    titles = "".join(f"<th class=number>{title}</th>" for title in ("Printed", *ours))
    body = "".join(
        _of_source(source, [*own], [*ours.values()]) for source, own in groupby(rows, lambda row: row.source)
    )
    return f"{head}<table><thead><tr><th>What</th>{titles}</tr></thead>{body}</table>{note}"


def _of_source(source: str, rows: Sequence[Printed], ours: Sequence[Sequence[FigureRow]]) -> str:
    title = f"<tr><th colspan={2 + len(ours)} scope=rowgroup>{html.escape(source)}</th></tr>"
    body = "".join(f"<tr>{''.join(_cells(row, ours))}</tr>" for row in rows)
    return f"<tbody>{title}{body}</tbody>"


def _cells(row: Printed, ours: Sequence[Sequence[FigureRow]]) -> Iterator[str]:
    reason = f"<br><small>{html.escape(row.reason)}</small>" if row.reason else ""
    yield f"<td>{html.escape(row.what)}{reason}</td><td class=number>{html.escape(row.printed)}</td>"
    decimals = max(1, len(row.printed.partition(".")[2]))
    for rows in ours:
        value = row.ours(rows)
        yield f"<td class=number>{'' if value is None else f'{value:.{decimals}f}'}</td>"


def _words(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:g}"
