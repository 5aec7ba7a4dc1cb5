"""People, their rights and possessions, and the classes that they are in; what it adds to the program."""

from dmlviz_app.feature import Feature
from dmlviz_app.people import policy

FEATURE = Feature(
    name="people",
    actions=[
        policy.SEE,
        policy.TRAIN,
        policy.CHANGE,
        policy.STOP,
        policy.MEET,
        policy.KEEP,
        policy.SHARE_LINK,
        policy.MAKE_PUBLIC,
        policy.SEE_QUEUE,
        policy.READ_FILES,
    ],
)
