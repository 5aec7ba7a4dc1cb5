"""Exam questions of lectures on metric learning: question, answer, and the pages where one sees it happen."""

from typing import NamedTuple

import streamlit as st

from dmlviz.lessons import LESSONS
from dmlviz_app.learn.catalog_index import LAB_KIND, entry_title
from dmlviz_app.widgets import navigation


class ExamQuestion(NamedTuple):
    """A question, its answer in a few sentences, and links: kind and name of entries, topics, lessons, labs."""

    question: str
    answer: str
    links: tuple[tuple[str, str], ...]


QUESTIONS = (
    ExamQuestion(
        "Why can a net trained as a classifier not simply be used when new classes come?",
        "Its last layer has one output for each class that it was trained on, so a new class has no place in it. An"
        " embedding has no such list: a new class is known as soon as there are examples of it to compare with. The"
        " features below the last layer can be compared too, but nothing in training asked that distances mean "
        "anything.",
        (("lab", "gallery"), ("lab", "few-shot")),
    ),
    ExamQuestion(
        "Why is choosing pairs or triplets online, in the batch, faster than drawing them before?",
        "A siamese net embeds two images for one term of the loss. A batch of n embedded images has n(n − 1)/2 "
        "pairs and far more triplets, for the same forward passes. A miner then keeps those that still teach "
        "something, so that few gradients are zero.",
        (
            ("lab", "classical-or-mined"),
            ("miner", "batch_hard"),
        ),
    ),
    ExamQuestion(
        "What does the margin do, and what happens without one?",
        "It says how far apart different classes must be before their pairs cost nothing. Without it, a contrastive"
        " loss pushes for ever and the lengths grow without end, and a triplet loss is content when all images lie "
        "in one point.",
        (
            ("lesson", "why-a-margin"),
            ("loss", "triplet"),
            ("lab", "margins"),
        ),
    ),
    ExamQuestion(
        "Why do the hardest negatives often make training collapse, and semi-hard ones not?",
        "The hardest negative of a batch is often a mislabeled image or lies almost at the anchor. Its gradient "
        "then has hardly any direction, and the cheapest way out is to pull everything into one point. A semi-hard "
        "negative is farther than the positive but within the margin: it still costs, and its direction is "
        "reliable.",
        (
            ("miner", "semihard_nearest"),
            ("loss", "batch_hard"),
            ("lab", "reid"),
        ),
    ),
    ExamQuestion(
        "Why are recall at 1, NMI and F1 weak measures of an embedding?",
        "Recall at 1 looks at one neighbor, so twins are enough for it. NMI and F1 depend on a clustering and its "
        "seed, and are high wherever k-means happens to cut at the right places. MAP@R looks at all R images of the"
        " class and at their order: it is 1 only where every class keeps to itself.",
        (
            ("topic", "three-spaces"),
            ("metric", "map_at_r"),
            ("lab", "recall"),
        ),
    ),
    ExamQuestion(
        "Which habits make a new loss look better in a paper than it is?",
        "A larger net or embedding than the rivals had, another augmentation or optimizer, hyperparameters and the "
        "number of steps chosen on the test set, a baseline that was not tuned, one run without an interval. On a "
        "level field most of the reported gain is gone.",
        (("lab", "reality-check"),),
    ),
    ExamQuestion(
        "How should one choose hyperparameters when the test classes are new?",
        "By cross-validation on classes: the training classes are parted into folds that share no class, so that "
        "each choice is judged on classes that its net has not seen, as in the test. The test set is scored once, "
        "at the end, by several seeds, with an interval.",
        (("lab", "reality-check"), ("lab", "scale")),
    ),
)


TEXT = """
### Exam questions
Answer each for yourself before you open it. Below each answer is where to see it happen.
"""
READABLE = 900  # pixels


def exam() -> None:
    """Render the questions as cards."""
    st.markdown(TEXT)
    for number, question in enumerate(QUESTIONS, 1):
        with st.expander(f"**{number}.** {question.question}", width=READABLE):
            st.markdown(question.answer)
            with st.container(horizontal=True):
                for kind, name in question.links:
                    navigation.link("labs" if kind == LAB_KIND.name else "learn", _title(kind, name), {kind: name})


def _title(kind: str, name: str) -> str:
    if kind == "lesson":
        return f"Lesson: {LESSONS[name].title}"
    return f"Lab: {LAB_KIND.catalog[name].title}" if kind == LAB_KIND.name else entry_title(kind, name)
