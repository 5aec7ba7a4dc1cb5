"""The Learn page: an index, a page for every choice, things to play with, lessons."""

import streamlit as st

from app import address, navigation
from app.learn import entry, index, lesson, topics
from app.learn.entries import KINDS
from app.learn.state import KEY, LearnState

before = address.held(LearnState, KEY)
ui = address.current(LearnState, KEY)
if ui is not before:  # a link from Learn to Learn tells the server, but leaves the browser's address as it was
    st.query_params.from_dict(ui.to_query())
address.publish(ui)  # before there is a link to click, which would find the address of a moment ago

with st.container(key="learn"):
    if not ui.kind:
        index.index(ui)
    else:
        navigation.link("learn", "All of Learn", {}, icon=":material/arrow_back:")
        if ui.kind in KINDS:
            entry.entry(KINDS[ui.kind], ui.name)
        elif ui.kind == "topic":
            topics.TOPICS[ui.name]()
        else:
            lesson.lesson(ui.name)
