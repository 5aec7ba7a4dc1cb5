"""What people add to the program: the actions that a server with several of them allows."""

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
        policy.SHARE_SHELF,
        policy.SEE_QUEUE,
        policy.READ_FILES,
    ],
)
