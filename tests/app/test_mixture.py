"""What lies at an empty place of a map: a mixture of the nearest test images, and where it lands."""

import base64

import numpy as np
import pytest
from dmlviz_app.answers.protocol import Mixture
from pydantic import TypeAdapter

from dmlviz.data import load
from dmlviz.data.import_path import import_path
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.store import Runs

MIXTURE = TypeAdapter(Mixture)


@pytest.fixture
def lies(client, trained):
    """Ask for a mixture of test images; the status and the answer."""

    def ask(near, view="live", run=trained.id):
        answer = client.get(f"/dmlviz/runs/{run}/mixture/{view}.json", params={"near": near})
        return answer.status_code, answer.json()

    return ask


def test_one_image_alone_lies_at_its_own_place_and_two_make_their_mean(lies, trained):
    images = load("digits").test.images
    for item in (0, 77):
        status, answer = lies(f"{item}:0.2")
        alone = MIXTURE.validate_python(answer, strict=False)
        assert (status, alone["by_net"]) == (200, True)
        assert base64.b64decode(alone["picture"]["ink"]) == images[item].tobytes()
        here = trained.linear_projection.project(np.asarray(trained.embeddings[[item]]))[0]
        np.testing.assert_allclose(alone["place"], here, atol=1e-3)
    ink = np.frombuffer(base64.b64decode(lies("0:3,77:1")[1]["picture"]["ink"]), np.uint8)
    np.testing.assert_allclose(ink, (0.75 * images[0] + 0.25 * images[77]).ravel(), atol=0.51)


@pytest.mark.parametrize(
    ("near", "view", "words"),
    [
        ("", "live", "ITEM:WEIGHT"),
        ("1", "live", "ITEM:WEIGHT"),
        ("1:e", "live", "A weight is a number"),
        ("1:0", "live", "a positive weight"),
        ("1:1e999", "live", "a positive weight"),
        ("1:1,1:1", "live", "One to 5 different test images"),
        ("1:1,2:1,3:1,4:1,5:1,6:1", "live", "One to 5 different test images"),
        ("5000:1", "live", "from 0 to 595"),
        ("1:1", "0" * 16, "projection"),
    ],
)
def test_what_is_no_mixture_is_refused_in_a_sentence(lies, near, view, words):
    status, answer = lies(near, view)
    assert status in (404, 422)
    assert words in answer["error"]


def test_rows_of_a_table_are_mixed_in_its_columns_and_placed_by_the_mean_of_their_vectors(lies, here, tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 7},{i % 5},{i / 2},{('north', 'south')[i % 2]}" for i in range(40)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["label,d0,d1,price,shop", *rows]))
    run = import_embeddings(Runs(here.runs.folder, tmp_path / "none"), import_path(file), "t")
    status, answer = lies("3:3,10:1", run=run.id)
    assert (status, answer["picture"], answer["by_net"]) == (200, None, False)
    assert answer["values"] == [["price", "2.375"], ["shop", "south (75 %)"]]
