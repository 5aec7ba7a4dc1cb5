"""Below the map: the table of the test images, to search, filter and sort, and to select on the map."""

import zlib
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app.panels import inspector
from app.payloads.columns import described, run_columns
from app.payloads.table_rows import Filter, matching_rows, with_classes
from app.runtime import url_state
from app.runtime.url_state import note_event
from app.state import explore
from app.state.current_view import PageContext, context_key, page_context
from app.state.selection import Selection
from app.widgets.error_boundary import error_boundary
from dmlviz.data.columns import Column

if TYPE_CHECKING:
    import pyarrow

KEY = "table"
PICKED = "table.picked"  # a person has selected rows, so that the map has to follow
ANY = "Any column"
MOST_ROWS = 10_000  # sent to the page at a time
HEIGHT = 360  # pixels


def table_panel(page: PageContext) -> None:
    """Render an expander with the table; a fragment, so that the page is not rerun. Nothing for a run without one."""
    if page.run_view is None or not page.run_view.columns:
        return
    key, contexts = context_key(page), [page]

    @st.fragment
    def drawer() -> None:
        with error_boundary():
            context = contexts.pop() if contexts else page_context(explore.saved_state())
            if context.run_view is None or context_key(context)[:2] != key[:2] or st.session_state.pop(PICKED, False):
                url_state.rerun()
            expander = st.expander("Table", key=KEY, on_change=note_event)
            if expander.open:
                with expander:
                    _table(context)

    drawer()


def _table(context: PageContext) -> None:
    assert context.run_view is not None  # the drawer looks
    run, data = context.run_view.run, context.services.data
    table = run_columns(run, data)
    if table is None:
        st.caption("The columns of this run cannot be read.")
        return
    columns = described(run, data)
    rows = matching_rows(with_classes(run, table), columns, _filter(run.id, columns))
    chosen = _rows_on_page(context, table, rows)
    left, right = st.columns([3, 1], vertical_alignment="center")
    what = f"{len(chosen):,} picked" if len(chosen) else f"{len(rows):,} of {table.num_rows:,} rows"
    with left:
        more = f" The first {MOST_ROWS:,} are listed: search or filter for others." if len(rows) > MOST_ROWS else ""
        st.caption(f"{what}. Click the head of a column to sort by it, a box on the left to pick a row.{more}")
    with right:
        st.button(
            "Select on the map",
            key="table.select",
            width="stretch",
            disabled=not len(rows),
            on_click=_select,
            args=(context, chosen if len(chosen) else rows),
        )


def _filter(run: str, columns: tuple[Column, ...]) -> Filter:
    """Render the widgets of the filter; they belong to the run, as its columns do."""
    search, name, value = st.columns([3, 2, 4])
    with search:
        text = st.text_input("Search", key=f"table.search.{run}", placeholder="part of a text", persist_state="session")
    by_name = {column.name: column for column in columns if column.kind != "text"}
    with name:
        chosen = st.selectbox("Filter by", [ANY, *by_name], key=f"table.column.{run}")
    column = by_name.get(chosen)
    with value:
        if column is None:
            return Filter(text)
        if column.kind == "category":
            values = st.multiselect(
                "Values", column.values, key=f"table.values.{run}.{column.name}", placeholder="all", select_all=False
            )
            return Filter(text, column.name, values=tuple(values))
        if not column.low < column.high:
            st.caption("There are no numbers." if np.isnan(column.low) else f"All numbers are {column.low:g}.")
            return Filter(text)
        low, high = st.slider(
            "From and to", column.low, column.high, (column.low, column.high), key=f"table.range.{run}.{column.name}"
        )
        return Filter(text, column.name, low if low > column.low else -np.inf, high if high < column.high else np.inf)


def _rows_on_page(context: PageContext, table: "pyarrow.Table", rows: np.ndarray) -> np.ndarray:
    """Render the rows; return the indices of those that are picked."""
    assert context.run_view is not None
    shown = rows[:MOST_ROWS]
    listed = with_classes(context.run_view.run, table).take(shown)
    event = st.dataframe(
        listed.to_pandas().set_index(shown.astype(np.int64)),
        # With other rows, those that were picked before mean others.
        key=f"table.rows.{context.run_view.run.id}.{zlib.crc32(shown.tobytes()):x}",
        height=HEIGHT,
        on_select="rerun",
        selection_mode="multi-row",
    )
    picked = [row for row in event.selection.rows if row < len(shown)]
    return shown[picked]


def _select(context: PageContext, rows: np.ndarray) -> None:
    """Select rows on the map; one row is pinned."""
    assert context.run_view is not None
    ui = explore.saved_state()
    if len(rows) == 1:
        ui.pinned = int(rows[0])
    ui.selected = Selection.of(context.run_view.run.config.dataset, rows)
    st.session_state[inspector.KEY] = inspector.SIDES[0]
    st.session_state[PICKED] = True
