"""Learn page: index, catalog entries, interactive topics, lessons."""

import streamlit as st

from app.content.catalog_index import KINDS
from app.panels import learn_entry, learn_index, learn_lesson, learn_topics, navigation
from app.runtime import url_state
from app.state.learn import KEY, LearnState

before = url_state.peek(LearnState, KEY)
ui = url_state.get_or_create(LearnState, KEY)
if ui is not before:  # a link from Learn to Learn tells the server, but leaves the browser's address as it was
    st.query_params.from_dict(ui.to_query())
url_state.write_url(ui)  # before there is a link to click, which would find the address of a moment ago

with st.container(key="learn"):
    if not ui.kind:
        learn_index.index(ui)
    else:
        navigation.link("learn", "All of Learn", {}, icon=":material/arrow_back:")
        if ui.kind in KINDS:
            learn_entry.render_entry(KINDS[ui.kind], ui.name)
        elif ui.kind == "topic":
            learn_topics.TOPICS[ui.name]()
        else:
            learn_lesson.lesson(ui.name)
