"""What a visitor does in a lab with their own hands, beside the figure: a panel for each kind of activity."""

from collections.abc import Callable

from app.panels import gallery_shelf, lab_playground, pair_game
from app.runtime.services import Services
from app.state.labs import LabView

PANELS: dict[str, Callable[[Services, LabView], None]] = {
    "pairs": pair_game.pair_game,
    "gallery": gallery_shelf.gallery_shelf,
    "places": lab_playground.places,
    "planes": lab_playground.planes,
    "sketch": lab_playground.sketch,
    "video": lab_playground.video,
    "metric": lab_playground.metric_playground,
}
TELLING = ("planes",)  # they show what the guess is about


def lab_activity(services: Services, view: LabView, guessed: bool) -> None:
    """Render the activity of a lab, if it has one; one that tells the answer only after the guess."""
    activity = view.lab.activity
    if activity and (guessed or activity not in TELLING):
        PANELS[activity](services, view)
