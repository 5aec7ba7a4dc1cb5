"""The specs of the metrics."""

import math
import re
from dataclasses import dataclass

from dmlviz.catalog.parameters import Catalog, Spec

_REALITY = "Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020"
_MANNING = "Manning, Raghavan, Schütze: Introduction to information retrieval, 2008, chapter 8"
_LFW = "Huang, Ramesh, Berg, Learned-Miller: Labeled faces in the wild, 2007"


@dataclass(frozen=True, kw_only=True)
class MetricSpec(Spec):
    """A metric by the key that `evaluate` gives it (k in a name stands for the numbers asked for).

    Its values lie in [`low`, `high`], None where there is no bound; `better` is "higher", "lower" or, for a description
    rather than a score, "". `three_spaces`: whether the topic "Three spaces" of Learn shows what it can distinguish.
    """

    low: float = 0
    high: float | None = 1
    better: str = "higher"
    three_spaces: bool = False

    @property
    def range(self) -> str:
        """Its values in words."""
        ends = f"{self.low:g} or more" if self.high is None else f"{self.low:g} to {self.high:g}".replace("-", "−")
        return f"{ends}; {self.better} is better" if self.better else ends


METRICS = Catalog(
    "metric",
    [
        MetricSpec(
            name="precision_at_1",
            aliases=("rank-1", "top-1"),
            three_spaces=True,
            title="P@1",
            family="retrieval",
            summary="The share of images whose nearest neighbor is of their own class. Also called R@1.",
            when_to_use="The first number to look at, and the one most papers report. It looks at one neighbor only: "
            "it cannot tell a space in which classes are compact from one in which they are fragmented.",
            formula=r"\frac1n\sum_q \big[\,y_{(1)}=y_q\,\big]",
            reference=_MANNING,
        ),
        MetricSpec(
            name="recall_at_k",
            title="R@k",
            family="retrieval",
            summary="The share of images with at least one image of their class among their k nearest.",
            when_to_use="When a person looks through the first k results and one hit is enough. It grows with k and "
            "is soon near 1, so compare losses at a small k.",
            formula=r"\frac1n\sum_q \big[\,\exists\, i\le k:\ y_{(i)}=y_q\,\big]",
            reference="Song, Xiang, Jegelka, Savarese: Deep metric learning via lifted structured feature embedding, "
            "CVPR 2016",
        ),
        MetricSpec(
            name="cmc_at_k",
            aliases=("rank-1", "rank-5", "Market-1501", "re-identification", "gallery", "query"),
            title="CMC@k",
            family="retrieval",
            summary="What the search for persons and faces calls R@k: the chance that the right one is among the "
            "first k.",
            when_to_use="To compare with papers on person re-identification: the number is that of R@k.",
            formula=r"\frac1n\sum_q \big[\,\exists\, i\le k:\ y_{(i)}=y_q\,\big]",
            reference="Gray, Brennan, Tao: Evaluating appearance models for recognition, reacquisition, and tracking, "
            "PETS 2007",
        ),
        MetricSpec(
            name="recall_at_1_percent",
            aliases=("cross-view",),
            title="R@1 %",
            family="retrieval",
            summary="R@k where k is one hundredth of the images searched, rounded up.",
            when_to_use="When a street photograph is searched among satellite pictures, or a sketch among photographs: "
            "with one right image for each query, it says how much of a large gallery a person can leave aside.",
            formula=r"\frac1n\sum_q \big[\,\exists\, i\le \lceil m/100\rceil:\ y_{(i)}=y_q\,\big]",
            reference="Vo, Hays: Localizing and orienting street views using overhead imagery, ECCV 2016",
        ),
        MetricSpec(
            name="r_precision",
            title="R-precision",
            family="retrieval",
            summary="Of the R nearest images, R being how many others are of the query's class, the share that is.",
            when_to_use="When all images of the class should be found and their order does not matter.",
            formula=r"\frac1n\sum_q \frac1{R_q}\sum_{i=1}^{R_q}\big[\,y_{(i)}=y_q\,\big]",
            reference=_MANNING,
        ),
        MetricSpec(
            name="map_at_r",
            three_spaces=True,
            title="MAP@R",
            family="retrieval",
            summary="R-precision that also rewards order: a wrong image costs more the earlier it comes.",
            when_to_use="The best single number for an embedding: it is 1 only where every class is a cluster of its "
            "own, and it tells spaces apart that tie in NMI, F1 and R@1.",
            formula=r"\frac1n\sum_q \frac1{R_q}\sum_{i=1}^{R_q}\big[\,y_{(i)}=y_q\,\big]\ \mathrm{precision}@i",
            reference=_REALITY,
        ),
        MetricSpec(
            name="map",
            aliases=("Market-1501", "average precision", "re-identification"),
            title="MAP",
            family="retrieval",
            summary="Mean average precision over the ranking of all images, to the last.",
            when_to_use="When the whole ranking matters. Images far down still count, so it is higher than MAP@R on "
            "the same space.",
            formula=r"\frac1n\sum_q \frac1{R_q}\sum_{i}\big[\,y_{(i)}=y_q\,\big]\ \mathrm{precision}@i",
            reference=_MANNING,
        ),
        MetricSpec(
            name="mrr",
            title="MRR",
            family="retrieval",
            summary="Mean reciprocal rank: 1 where the nearest image is right, ½ where the second is the first right "
            "one, and so on.",
            when_to_use="When one right result is wanted and its place matters.",
            formula=r"\frac1n\sum_q \frac1{\min\{i:\ y_{(i)}=y_q\}}",
            reference="Voorhees: The TREC-8 question answering track report, 1999",
        ),
        MetricSpec(
            name="knn_accuracy",
            title="kNN",
            family="classification",
            summary="The share of images whose class wins the vote of their 5 nearest neighbors.",
            when_to_use="When the embedding is to classify. Steadier than P@1 where single images are mislabeled.",
            formula=r"\frac1n\sum_q \big[\,\mathrm{majority}(y_{(1)},\dots,y_{(5)})=y_q\,\big]",
            reference="Cover, Hart: Nearest neighbor pattern classification, 1967",
        ),
        MetricSpec(
            name="nearest_mean_accuracy",
            title="Nearest mean",
            family="classification",
            summary="The share of images nearer to the mean of their own class than to that of any other.",
            when_to_use="To see whether each class is one cluster: a class in several pieces has its mean between "
            "them.",
            formula=r"\frac1n\sum_q \Big[\,\arg\min_c \|f_q-\bar f_c\|=y_q\,\Big]",
            reference="Mensink, Verbeek, Perronnin, Csurka: Distance-based image classification, PAMI 2013",
        ),
        MetricSpec(
            name="head_accuracy",
            title="Head accuracy",
            family="classification",
            summary="The share of images whose own class has the highest class score, as the loss has learned it.",
            when_to_use="For a loss that learns a weight for each class: what the net would reach as a classifier, "
            "without neighbors. Compare it with kNN: a good head does not make a good metric. Images of classes held "
            "out of training have no score and are left out.",
            formula=r"\frac1n\sum_q \Big[\,\arg\max_c s_c(f_q)=y_q\,\Big],\quad s_c(f)=w_c^\top f+b_c\ "
            r"\text{or}\ \cos(w_c,f)",
            reference="Zhai, Wu: Classification is a strong baseline for deep metric learning, BMVC 2019",
        ),
        MetricSpec(
            name="knn_probe_accuracy",
            aliases=("kNN evaluation", "self-supervised"),
            title="kNN by training images",
            family="classification",
            summary="The share of images whose class wins the vote of their 5 nearest training images.",
            when_to_use="As the readout of training without labels: only the vote looks at the labels of the training "
            "images. It sees a class that lies in several pieces, which a linear probe may not. Images of classes held "
            "out of training are left out.",
            formula=r"\frac1n\sum_q \big[\,\mathrm{majority}(y_{(1)},\dots,y_{(5)})=y_q\,\big]",
            reference="Wu, Xiong, Yu, Lin: Unsupervised feature learning via non-parametric instance discrimination, "
            "CVPR 2018",
        ),
        MetricSpec(
            name="linear_probe_accuracy",
            aliases=("linear evaluation", "linear probe", "self-supervised"),
            title="Linear probe",
            family="classification",
            summary="The accuracy of a logistic regression on the embeddings, fitted to training images.",
            when_to_use="As the readout of training without labels that most papers report: what a linear layer makes "
            "of the embedding. The net stays as it is; the regularization is chosen on validation images. Images of "
            "classes held out of training are left out.",
            formula=r"\frac1n\sum_q \Big[\,\arg\max_c (w_c^\top f_q+b_c)=y_q\,\Big]",
            reference="Alain, Bengio: Understanding intermediate layers using linear classifier probes, ICLR workshop "
            "2017; Chen, Kornblith, Norouzi, Hinton 2020",
        ),
        MetricSpec(
            name="nmi",
            three_spaces=True,
            title="NMI",
            family="clustering",
            summary="How much clusters found by k-means and the classes tell of each other.",
            when_to_use="When classes are to be found without labels. It depends on k-means and its seed, and is "
            "well above 0 for many small clusters even by chance: AMI takes that off.",
            formula=r"\frac{2\,I(\text{classes};\text{clusters})}{H(\text{classes})+H(\text{clusters})}",
            reference="Strehl, Ghosh: Cluster ensembles, JMLR 2002",
        ),
        MetricSpec(
            name="ami",
            title="AMI",
            family="clustering",
            summary="NMI with what chance alone would give taken off.",
            when_to_use="In place of NMI, above all with many classes of few images.",
            low=-1,
            formula=r"\frac{I-\mathbb E[I]}{\tfrac12(H_{\text{classes}}+H_{\text{clusters}})-\mathbb E[I]}",
            reference="Vinh, Epps, Bailey: Information theoretic measures for clusterings comparison, JMLR 2010",
        ),
        MetricSpec(
            name="pairwise_f1",
            three_spaces=True,
            title="Pairwise F1",
            family="clustering",
            summary="“In one cluster of k-means” as a guess at “of one class”, judged over all pairs.",
            when_to_use="To compare with older papers, which report it with NMI. Large classes dominate: pairs grow "
            "with the square.",
            formula=r"\frac{2\,P\,R}{P+R}\ \text{ over pairs}",
            reference="Manning, Raghavan, Schütze: Introduction to information retrieval, 2008, chapter 16",
        ),
        MetricSpec(
            name="roc_auc",
            aliases=("AUC",),
            title="ROC area",
            family="verification",
            summary="The chance that a pair of one class is nearer than a pair of two.",
            when_to_use="When pairs will be judged by a threshold that is not chosen yet. It is near 1 early: look "
            "at the false positives then.",
            formula=r"\Pr(d_P < d_N)",
            reference="Fawcett: An introduction to ROC analysis, 2006",
        ),
        MetricSpec(
            name="eer",
            aliases=("EER",),
            title="Equal error rate",
            family="verification",
            summary="The error at the threshold where as many same pairs are refused as different ones are let in.",
            when_to_use="The usual single number of biometrics.",
            better="lower",
            formula=r"\Pr(d_N\le t)=\Pr(d_P>t)",
            reference="Jain, Ross, Prabhakar: An introduction to biometric recognition, 2004",
        ),
        MetricSpec(
            name="fpr_at_95_recall",
            aliases=("FPR95",),
            title="FPR at 95 %",
            family="verification",
            summary="Of different pairs, the share let in by the threshold that accepts 95 % of the same ones.",
            when_to_use="When nearly all true matches must be found and false ones cost something: patches, loop "
            "closure.",
            better="lower",
            formula=r"\Pr(d_N\le t),\quad \Pr(d_P\le t)=0.95",
            reference="Brown, Hua, Winder: Discriminative learning of local image descriptors, PAMI 2011",
        ),
        MetricSpec(
            name="accuracy_10_fold",
            aliases=("LFW", "verification"),
            title="Ten-fold accuracy",
            family="verification",
            summary="How often a threshold is right about a pair, chosen on nine tenths of the pairs and judged on the "
            "last.",
            when_to_use="To compare with face verification. Positive and negative pairs are balanced, "
            "unlike in practice.",
            formula=r"\tfrac1{10}\sum_{k}\ \mathrm{accuracy}_k\big(\arg\max_t \mathrm{accuracy}_{\ne k}(t)\big)",
            reference=_LFW,
        ),
        MetricSpec(
            name="mean_positive_distance",
            title="Mean distance within classes",
            family="space",
            summary="The mean distance of two images of one class.",
            when_to_use="Beside the distance between classes: alone it only says how large the space is.",
            high=None,
            better="",
            formula=r"\overline{d_{ij}},\ y_i=y_j",
        ),
        MetricSpec(
            name="mean_negative_distance",
            title="Mean distance between classes",
            family="space",
            summary="The mean distance of two images of different classes.",
            when_to_use="To see whether a margin can be met at all; on the sphere it stays near √2 with many classes.",
            high=None,
            better="",
            formula=r"\overline{d_{ij}},\ y_i\ne y_j",
        ),
        MetricSpec(
            name="effective_rank",
            title="Effective rank",
            family="space",
            summary="How many directions of the space the embeddings really use.",
            when_to_use="To see whether dimensions are wasted: ten classes pressed into points use nine directions, "
            "whatever the net offers.",
            high=None,
            better="",
            formula=r"\exp\Big(-\sum_i p_i\log p_i\Big),\quad p_i=\sigma_i\big/\textstyle\sum_j\sigma_j",
            reference="Roy, Vetterli: The effective rank, EUSIPCO 2007",
        ),
        MetricSpec(
            name="mean_norm",
            title="Mean norm",
            family="space",
            summary="The mean length of an embedding; 1 on the sphere.",
            when_to_use="For free embeddings: a length that grows without end is a loss without a margin, or one "
            "that rewards length.",
            high=None,
            better="",
            formula=r"\overline{\|f_i\|}",
        ),
        MetricSpec(
            name="collapsed",
            title="Collapse",
            family="space",
            summary="1 when all images lie in one place, within 1 % of their mean length, or 3 classes on one line.",
            when_to_use="An alarm, not a score: a collapsed net knows nothing, whatever its loss says.",
            better="lower",
            formula=r"\sqrt{\overline{\|f_i-\bar f\|^2}}\ \le\ 0.01\,\sqrt{\overline{\|f_i\|^2}}",
        ),
    ],
)


def metric_of(key: str) -> MetricSpec | None:
    """Return the spec of a key that `evaluate` gives; None for what is no metric, as the number of queries.

    Example:
        >>> metric_of("seen/recall_at_5").name
        'recall_at_k'
    """
    name = re.sub(r"_at_\d+$", "_at_k", key.rpartition("/")[2])
    return next((METRICS[metric] for metric in (key.rpartition("/")[2], name) if metric in METRICS), None)


def metric_title(key: str) -> str:
    """Return what the page calls the metric of a key that `evaluate` gives.

    Example:
        >>> metric_title("recall_at_5")
        'R@5'
    """
    metric, number = metric_of(key), re.search(r"_at_(\d+)$", key)
    if metric is None:
        return METRICS[key].title  # raises the sentence for an unknown name
    return metric.title if number is None or metric.name == key else metric.title.replace("k", number[1])


def format_score(key: str, value: float) -> str:
    """Return a score as the command line and the page print it; a dash where it is not defined."""
    if math.isnan(value):
        return "–"  # for instance of pairs where every image is alone in its class
    return f"{value:,.0f}" if "queries" in key else f"{value:.4f}"
