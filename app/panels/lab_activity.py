"""What a visitor does in a lab with their own hands, beside the figure: a panel for each kind of activity."""

from collections.abc import Callable

from app.panels import few_shot_episodes, gallery_shelf, gallery_size, lab_playground, pair_game, paper_tricks
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
    "tricks": paper_tricks.paper_tricks,
    "episode map": few_shot_episodes.few_shot_episodes,
    "gallery size": gallery_size.gallery_size,
}
ANSWERING = ("planes", "tricks", "episode map", "gallery size")  # these show the answer, and wait for the guess


def lab_activity(services: Services, view: LabView, guessed: bool) -> None:
    """Render the activity of a lab, if it has one; one that shows the answer only after the guess."""
    if view.lab.activity and (guessed or view.lab.activity not in ANSWERING):
        PANELS[view.lab.activity](services, view)
