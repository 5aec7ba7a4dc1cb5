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
            summary="The classical siamese net, two convolutions with pooling: about seven times the work per step.",
            reference="LeCun, Bottou, Bengio, Haffner 1998; Chopra, Hadsell, LeCun 2005",
        ),
        Declaration(
            name="mlp",
            title="MLP",
            summary="Two hidden layers, no idea of neighbouring pixels: the fastest, and a baseline.",
        ),
        Declaration(
            name="protonet",
            title="ProtoNet",
            summary="Four blocks of convolution, batch normalisation and pooling, as in few-shot learning.",
            reference="Vinyals et al. 2016; Snell, Swersky, Zemel 2017",
        ),
        Declaration(
            name="resnet18",
            title="ResNet-18",
            summary="Eighteen layers with shortcuts, for larger colour images; slow without a GPU.",
            reference="He, Zhang, Ren, Sun 2016",
        ),
    ],
)
