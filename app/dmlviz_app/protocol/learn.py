"""The glossary, which explains words on all pages."""

from typing_extensions import TypedDict


class GlossaryProps(TypedDict):
    """What explains the words of a page: it needs nothing but to be there."""


class GlossaryTerm(TypedDict):
    """dmlviz/glossary.json: one for each term, by its name."""

    title: str
    text: str
