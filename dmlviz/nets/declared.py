"""The embedding nets, as they are offered."""

from dmlviz.declarations import Catalogue, Declaration

NETS = Catalogue(
    "net",
    [
        Declaration(
            name="small",
            title="Small",
            summary="Strided convolutions: learns digits in seconds on a laptop. The net for watching.",
        ),
        Declaration(
            name="lenet",
            title="LeNet",
            summary="The classical siamese net, two convolutions with pooling: about five times the work per step.",
        ),
        Declaration(
            name="mlp",
            title="MLP",
            summary="Two hidden layers, no idea of neighbouring pixels: the fastest, and a baseline.",
        ),
    ],
)
