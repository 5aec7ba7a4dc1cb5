"""The state of the page of a class: the code that a link brings."""

from dataclasses import dataclass

from dmlviz_app.people.classroom import normal_code
from dmlviz_app.widgets.address import Address, Param, Type, UrlState

KEY = "page.class"


@dataclass
class ClassroomState(UrlState):
    """`code` is what a link or QR code brings, for the form to join; empty without one."""

    code: str = ""
    last_query: dict[str, str] | None = None

    ADDRESS = Address(Param("code", Type(lambda text, _: normal_code(text)), ""))
