"""Interactive topics of the Learn page: the force playground, architectures, three spaces, exam questions, glossary."""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import streamlit as st

from dmlviz.catalog.glossary import GLOSSARY, with_terms
from dmlviz.catalog.metrics import METRICS
from dmlviz.lessons.figure_specs import FIGURES
from dmlviz_app.learn import catalog_index
from dmlviz_app.learn.cards import card, section, show
from dmlviz_app.learn.code import show_figures
from dmlviz_app.learn.entry import force_playground
from dmlviz_app.learn.protocol import MapAtRDemoProps, SmallSpace
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.architectures import show_architecture
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.protocol import Card

Places = tuple[tuple[str, str], ...]
EXAM_TEXT = """
### Exam questions
Answer each for yourself before you open it: draw, and write the formula. The drawings lead to where it happens.
"""
CASES = Card(
    address="learn?topic=forces",
    title="Hard, semi-hard, easy",
    text="The triplet loss over the distance of the negative, for a fixed positive.",
    note="",
    picture="topic-cases",
)


@dataclass(frozen=True, kw_only=True)
class ExamQuestion:
    """A question, its answer in Markdown, and drawings: kind and name of what they show and lead to."""

    question: str
    answer: str
    drawings: Places


def _read() -> tuple[ExamQuestion, ...]:
    rows = tomllib.loads(Path(__file__).with_name("exam.toml").read_text(encoding="utf-8"))["questions"]
    return tuple(ExamQuestion(**row | {"drawings": tuple(map(tuple, row["drawings"]))}) for row in rows)


QUESTIONS = _read()


def exam() -> None:
    """Render the questions as cards."""
    st.markdown(EXAM_TEXT)
    for number, question in enumerate(QUESTIONS, 1):
        with st.expander(f"**{number}.** {question.question}", width=READABLE):
            st.markdown(with_terms(question.answer))
            cards = [CASES if place == ("topic", "cases") else card(*place) for place in question.drawings]
            show([section(cards, "small")], key=f"exam.{number}")


def glossary() -> None:
    """Render it."""
    title, text = catalog_index.TOPICS["glossary"]
    st.markdown(f"### {title}\n{text} On every page, a word with a dotted line explains itself.")
    groups = dict.fromkeys(term.group for term in GLOSSARY.values())
    st.html("".join(f"<h4>{escape(group)}</h4><dl>{_terms(group)}</dl>" for group in groups))


def _terms(group: str) -> str:
    return "".join(
        f'<div id="term-{term.name}"><dt>{escape(term.title)}</dt><dd>{escape(term.text)}{_link(term.entry)}</dd></div>'
        for term in GLOSSARY.values()
        if term.group == group
    )


def _link(entry: tuple[str, str] | None) -> str:
    return "" if entry is None else f' <a href="learn?{entry[0]}={entry[1]}">More</a>'


READABLE = 900  # pixels

FORCES = """
### Forces in the plane
A loss says how wrong a few embeddings are; minus its gradient says where each should go. Drag a point, or move it with
the arrow keys once it has the focus: every arrow is the force on its point, as long as the force is strong. The shade
behind tells how large the loss would be with the chosen point there. Step follows the arrows a little way, as training
does, only without a net between.
"""

NETS = """
### Architectures
How images come to an embedding, a distance or a score. Each picture is found in the net itself: it is run once, and
every layer says what comes out and how many weights it has. Boxes in color, joined by dashed lines, have the same
weights.
"""
DRAWN = {  # kind and name as in dmlviz.labs.architectures, and what to see
    "Siamese": ("loss", "contrastive", "One net for both images: all its weights are shared, and count once."),
    "Triplet": ("loss", "triplet", "One net, three times: anchor, positive and negative."),
    "Classifier in two dimensions": (
        *("loss", "softmax"),
        "The embedding is the layer of two numbers; a PReLU and a score for each class follow.",
    ),
    "ArcFace": (
        *("loss", "arcface"),
        "Embedding and class weights have length 1, so their product is cos θ; the angle to the own class grows by m.",
    ),
    "Prototypical": (
        "loss",
        "prototypical",
        "One net for support and queries; only the means of classes are compared.",
    ),
    "Two branches": ("patches", "pseudo-siam", "Two nets of one kind, each with weights of its own."),
    "Two different branches": ("patches", "two-branch", "For two kinds of images the nets may differ, too."),
    "First layers shared": ("patches", "first-shared", "Both begin alike and end each in its own way."),
    "Last layers shared": ("two-domains", "match, last shared", "Each begins in its own way and both end alike."),
    "Siamese, with a decision": ("patches", "siam", "A small net decides on two descriptors, in place of a distance."),
    "2-channel": ("patches", "2ch", "Both patches are two channels of one image: there is no descriptor."),
    "2-channel, deep": ("patches", "2ch-deep", "The same with small convolutions, one after the other."),
    "Central-surround, two streams": (
        *("patches", "2ch-2stream"),
        "One stream sees the middle, the other the whole at half the resolution.",
    ),
    "Siamese, two streams": ("patches", "siam-2stream", "Both streams are the same for both patches."),
    "SiamFC": (
        *("paper", "siamfc"),
        "Five layers for the exemplar and for the search region; the features of one slide over those of the other. "
        "The lab trains three.",
    ),
    "Inception with L2 pooling": (
        *("paper", "inception-l2"),
        "A block of FaceNet: the root of a sum of squares in place of a maximum, beside three convolutions.",
    ),
}

SPACES = """
### Why MAP@R
Four classes, 128 images, every image with a twin beside it. In all three spaces k-means finds the classes without a
mistake, so NMI and F1 are perfect; and the nearest neighbor of every image is its twin, so R@1 is perfect too. Yet in
the first space a search for more than one neighbor shows other classes before all of the own have come.

MAP@R sees it: for each image it looks at the R nearest, R being how many others there are of its class, and asks at
each right one how many up to there were right. It is 1 only where every class keeps to itself.
"""

SPACES_AFTER = """
Drag a point and the scores follow: they are the library's, of exactly these points. After figure 3 of Musgrave,
Belongie, Lim: A metric learning reality check, ECCV 2020.
"""


def forces() -> None:
    """Render the force playground, larger than on a loss's page."""
    st.markdown(FORCES, width=READABLE)
    force_playground("triplet")


def architectures() -> None:
    """Render the picture of one of the architectures that lectures draw."""
    st.markdown(NETS, width=READABLE)
    titles = list(DRAWN)
    title = st.selectbox("Architecture", titles, key="learn.architecture", width=520)
    kind, name, about = DRAWN[title]
    st.markdown(about, width=READABLE)
    show_architecture(kind, name)
    page = "learn" if kind in ("net", "loss") else "labs"
    if kind != "paper":
        address = {kind: name} if page == "learn" else {"lab": kind}
        navigation.link(page, "Its page" if page == "learn" else "The lab that trains it", address)


def arguments() -> None:
    """Render all figures to move."""
    title, text = catalog_index.TOPICS["figures"]
    st.markdown(f"### {title}\n{text}", width=READABLE)
    show_figures(FIGURES.values())


def map_at_r_demo() -> None:
    """Render three small spaces with their scores."""
    st.markdown(SPACES, width=READABLE)
    mount("map_at_r_demo", key="map_at_r_demo", data=MapAtRDemoProps(spaces=_spaces()))
    st.caption(SPACES_AFTER)
    with st.container(horizontal=True):
        for name in ("map_at_r", "r_precision", "precision_at_1", "nmi", "pairwise_f1"):
            navigation.link("learn", METRICS[name].title, {"metric": name})


@cache
def _spaces() -> list[SmallSpace]:
    path = Path(__file__).resolve().parent / "three_spaces.json"
    spaces: list[SmallSpace] = json.loads(path.read_text(encoding="utf-8"))
    return spaces


TOPICS = {
    "forces": forces,
    "architectures": architectures,
    "figures": arguments,
    "three-spaces": map_at_r_demo,
    "exam": exam,
    "glossary": glossary,
}
