"""Every number that a paper of the labs prints has one of ours beside it, or a reason why not."""

import re

import pytest

from dmlviz.labs.lab import PrintedRow
from dmlviz.labs.lab_study import ready_made, study_rows
from dmlviz.labs.printed import page, printed
from dmlviz.labs.registry import LABS


@pytest.mark.parametrize("lab", dict.fromkeys(row.lab for row in printed()))
def test_no_printed_number_is_without_a_partner_or_a_reason(lab):
    rows = study_rows(ready_made(lab))
    figures = {spec.name: spec for spec in LABS[lab].figures}
    for row in printed():
        if row.lab == lab:
            assert (row.ours(rows) is None) == bool(row.reason), row
            float(row.printed)
            if row.figure:
                most = 100 * row.factor * (figures[row.figure].bounds or (0, 10_000))[1]
                assert 0 <= row.ours(rows) <= most


@pytest.mark.parametrize("lab", LABS)
def test_what_a_lab_shows_as_printed_is_in_the_table(lab):
    def numbers(row: PrintedRow) -> set[float]:
        return {round(row.y, 4), round(100 * row.y, 2)}

    known = {round(float(row.printed), 4) for row in printed() if row.lab == lab}
    shown = [row for row in LABS[lab].literature if "computed from" not in row.source]
    assert shown or not LABS[lab].literature
    assert all(numbers(row) & known for row in shown)


def test_the_page_shows_each_number_once_beside_ours():
    some = LABS["reid"].rows(ready_made("reid").results())
    text = page({"reid": some}, {"reid": "It took 3 s.", "scale": "It could not be run: no <data>"})
    assert len(re.findall("<tr><td>", text)) == len(printed())
    assert "no &lt;data&gt;" in text
    assert f"{len(printed())} numbers" in text
    assert text.count("<h2>") == len(LABS)
    reasons = sum(bool(row.reason) for row in printed())
    assert text.count("<td colspan=2>") == reasons < len(printed()) / 2
