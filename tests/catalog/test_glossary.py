"""The glossary: every word of the pages is explained once, and texts are linked to it."""

import re
from pathlib import Path

import dmlviz_app
import pytest

from dmlviz.catalog.glossary import CATALOGS, GLOSSARY, address, with_terms

ROOT = Path(dmlviz_app.__file__).parents[2]


def test_every_term_has_a_sentence_and_no_word_belongs_to_two():
    words = [word for term in GLOSSARY.values() for word in set(term.words)]
    assert len(words) == len(set(words))
    for term in GLOSSARY.values():
        assert term.text.endswith("."), term.name
        assert term.title
        assert term.entry is None or term.text == CATALOGS[term.entry[0]][term.entry[1]].summary


@pytest.mark.parametrize(
    "asked",
    "terms-per-image fan align-each-frame faithfulness reduction space precision_at_1 map_at_r nmi margin anchor "
    "hard-negative semi-hard-negative gallery query embedding".split(),
)
def test_the_words_that_people_asked_for_are_explained(asked):
    assert asked in GLOSSARY


def test_the_first_mention_of_a_term_is_a_link_to_it():
    linked = with_terms("Anchors and a hardest negative: an anchor, P@1.")
    assert linked == (
        f"[Anchors]({address('anchor')}) and a [hardest negative]({address('hard-negative')}): "
        f"an anchor, [P@1]({address('precision_at_1')})."
    )


@pytest.mark.parametrize(
    "text",
    [
        "$anchor$",
        "`margin`",
        "[margin](https://a.b)",
        "**a margin**",
        "## Margin\n",
        "the sampler “Anchor and neighbors”",
        "the map",
        "non-negative",
        "marginal",
    ],
)
def test_formulas_code_links_and_other_words_stay_as_they_are(text):
    assert with_terms(text) == text


def test_the_text_about_a_term_does_not_link_to_it():
    assert with_terms("a margin", without="margin") == "a margin"


def test_the_page_names_only_terms_that_exist():
    named = {
        name
        for path in (ROOT / "frontend" / "src").rglob("*.ts*")
        for name in re.findall(r'explain\([^;]*?, "([a-z0-9_-]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= GLOSSARY.keys()
