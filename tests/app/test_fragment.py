"""Parts of a page that run again by themselves do not overwrite what follows them."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import app


def page():
    import streamlit as st

    from app.widgets.fragment import fragment

    @fragment()
    def part():
        st.text("inside")

    part()
    st.text("after")


def test_a_fragment_keeps_its_place_on_the_page_with_an_element_that_is_not_its_own():
    container, after = AppTest.from_function(page).run().main.children.values()
    assert after.value == "after"
    (part,) = container.children.values()  # Streamlit's own, which belongs to the fragment
    (inside,) = part.children.values()
    assert inside.value == "inside"


def test_no_page_uses_a_fragment_without_a_container():
    folder = Path(app.__file__).parent
    users = [path.relative_to(folder) for path in folder.rglob("*.py") if "st.fragment(" in path.read_text()]
    assert [str(path) for path in users] == ["widgets/fragment.py"]
    assert not [path for path in folder.rglob("*.py") if "@st.fragment" in path.read_text()]
