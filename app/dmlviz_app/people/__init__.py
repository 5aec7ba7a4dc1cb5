"""People, their rights and possessions, and the classes that they are in; what it adds to the program."""

from dmlviz_app.feature import Feature
from dmlviz_app.people import policy

FEATURE = Feature(
    name="people",
    actions=[action for action in vars(policy).values() if isinstance(action, policy.Action)],
)
