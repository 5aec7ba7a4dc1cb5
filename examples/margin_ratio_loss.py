"""A loss as a plug-in: `dmlviz train --plugin examples/margin_ratio_loss.py --loss margin_ratio`."""

from dmlviz.plugins import Parameter, distance, loss, reduction


@loss(
    title="Margin ratio",
    summary="Each positive must be nearer than a share of the way to the anchor's nearest negative.",
    when_to_use="To try a margin that grows with the distances instead of one that stays the same.",
    formula=r"\big[\,d_{ap} - \rho \min_{n\in N(a)} d_{an}\,\big]_+",
    reference="An example of this project",
    compares="positive_pairs",
    tuple_kinds=["pairs"],
    parameters=[
        Parameter(
            name="ratio",
            kind=float,
            default=0.5,
            minimum=0.05,
            maximum=1,
            step=0.05,
            help="ρ: how far a positive may be, as a share of the distance to the nearest negative",
        ),
        distance(),
        reduction(),
    ],
)
def margin_ratio(batch, *, ratio, distance, reduction):
    """Return [d_ap − ρ · min d_an]₊ for each positive pair."""
    d = batch.distances(distance)  # n × n
    nearest_negative = d.masked_fill(~batch.negative, float("inf")).amin(dim=1, keepdim=True)
    return batch.terms((d - ratio * nearest_negative).relu(), batch.positive & batch.has_both[:, None], reduction)
