"""scikit-learn's API: `TSNE` and `UMAP` that place new points, and `MetricLearner`, for pipelines and searches.

Each is thin: the work is done by `dmlviz.projection`, `dmlviz.losses` and `dmlviz.miners`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dmlviz import losses, miners
from dmlviz.catalog.parameters import Fields, Parameter, brief
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.labels import read_labels
from dmlviz.ops.precision import is_read_alone, to_numbers
from dmlviz.projection import Projection, project

__all__ = ["TSNE", "UMAP", "MetricLearner"]

_FLOATS = [np.float64, np.float32]
_FARTHEST = 1e18  # standard deviations from the mean of a column: further away a row has no direction


def _number(name: str, kind: type = int, minimum: float | None = 1, maximum: float | None = None) -> Parameter:
    return Parameter(name=name, kind=kind, default=None, minimum=minimum, maximum=maximum, help="")


_MAP = (_number("n_components"),)
_LEARNER = (
    *(_number(name) for name in ("n_components", "n_neighbors", "max_iter")),
    _number("hidden_units", minimum=0),
    _number("batch_size", minimum=2),
    _number("learning_rate", float, minimum=1e-12),
    _number("normalize", bool),
)


def _checked(estimator: BaseEstimator, parameters: Iterable[Parameter]) -> Fields:
    """Return the values of an estimator's parameters; raise UserError for a wrong one."""
    values = {each.name: getattr(estimator, each.name) for each in parameters}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    return {each.name: each.check(type(estimator).__name__, plain[each.name]) for each in parameters}


class _Map(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A map of the rows of X; `transform` places rows on the finished map, those it was fitted to where they are."""

    n_components: int
    random_state: Any
    projection_: Projection
    embedding_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map of X (n × d). Labels y (n) are used by a supervised UMAP alone; -1, None, NaN: unknown.

        Args:
            X: n × d.
            y: n labels.

        Returns:
            Itself.
        """
        X = validate_data(self, _rows(X), dtype=_FLOATS, ensure_min_samples=2)
        dims = _checked(self, _MAP)["n_components"]
        config = ProjectionConfig(
            method=type(self).__name__.lower(),
            params=self._params(),
            dims=min(3, max(2, dims)),
            seed=_seed(self.random_state),
        )
        if dims > 3:  # more than a page shows
            config = config.model_copy(update={"dims": dims})
        self.projection_ = project(X, config, labels=y if config.params.get("supervised") else None)
        points = self.projection_.coordinates
        self.axes_ = np.eye(points.shape[1], dtype=np.float32)
        if dims == 1:
            self.axes_ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:1].T
        self.n_iter_ = self.projection_.iterations
        self.embedding_ = points @ self.axes_
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> np.ndarray:
        """Draw the map of X (n × d) and return it (n × n_components, float32)."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Return the positions (m × n_components, float32) of X (m × d) on the map, which stays as it is.

        Args:
            X: m × d.
        """
        check_is_fitted(self)
        return self.projection_.place(validate_data(self, _rows(X), dtype=_FLOATS, reset=False)) @ self.axes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _params(self) -> Fields:
        raise NotImplementedError


class TSNE(_Map):
    """t-SNE that takes new points.

    Args:
        n_components: Dimensions of the map, 2 or 3; with 1, the longest axis of the map of 2.
        perplexity: How many neighbors count for each point; lowered to a third of the points.
        max_iter: Steps of the layout.
        early_exaggeration: How strongly neighbors pull at the start.
        metric: "euclidean" or "cosine".
        random_state: Seed.

    Attributes:
        embedding_: The map, n × n_components, float32.
        projection_: The same with its settings, its KL divergence (`error`) and its `quality`.

    Source: van der Maaten, Hinton: Visualizing data using t-SNE, JMLR 2008.

    Examples:
        >>> rows = np.random.default_rng(0).standard_normal((60, 8))
        >>> TSNE(perplexity=10, random_state=0).fit_transform(rows).shape
        (60, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        max_iter: int = 600,
        early_exaggeration: float = 12.0,
        metric: str = "euclidean",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.early_exaggeration = early_exaggeration
        self.metric = metric
        self.random_state = random_state

    def _params(self) -> Fields:
        return {
            "perplexity": self.perplexity,
            "iterations": self.max_iter,
            "exaggeration": self.early_exaggeration,
            "metric": self.metric,
        }


class UMAP(_Map):
    """UMAP that takes new points.

    Args:
        n_neighbors: How many neighbors each point is linked to; lowered to the number of other points.
        n_components: Dimensions of the map; with 1, the longest axis of the map of 2.
        min_dist: How close points may be drawn.
        n_epochs: Steps of the layout.
        metric: "euclidean" or "cosine".
        supervised: Whether the labels that `fit` gets influence the map.
        random_state: Seed.

    Attributes:
        embedding_: The map, n × n_components, float32.
        projection_: The same with its settings and its `quality`.

    Source: McInnes, Healy, Melville: UMAP, 2018.

    Examples:
        >>> rows = np.random.default_rng(0).standard_normal((60, 8))
        >>> UMAP(n_neighbors=10, random_state=0).fit(rows[1:]).transform(rows[:1]).shape
        (1, 2)
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        *,
        min_dist: float = 0.1,
        n_epochs: int = 200,
        metric: str = "euclidean",
        supervised: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.min_dist = min_dist
        self.n_epochs = n_epochs
        self.metric = metric
        self.supervised = supervised
        self.random_state = random_state

    def _params(self) -> Fields:
        return {
            "neighbors": self.n_neighbors,
            "min_dist": self.min_dist,
            "iterations": self.n_epochs,
            "metric": self.metric,
            "supervised": self.supervised,
        }


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """A small net whose embedding a loss shapes; `predict` asks the nearest training rows there.

    Args:
        loss: Name in `dmlviz.losses.LOSSES`.
        miner: Name in `dmlviz.miners.MINERS`; all pairs or triplets of a batch by default.
        n_components: Dimensions of the embedding.
        hidden_units: Units of the hidden layer; 0 for a linear map.
        normalize: Whether embeddings have length 1.
        n_neighbors: Neighbors that vote for a class.
        max_iter: Training steps.
        batch_size: Rows of a batch; classes have equal shares.
        learning_rate: Of Adam.
        loss_params: Parameters of the loss.
        miner_params: Parameters of the miner.
        random_state: Seed.

    Attributes:
        classes_: The class labels.
        net_: The trained net, a torch module.
        neighbors_: The classifier in the embedding.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> rows, kinds = load_iris(return_X_y=True)
        >>> learner = MetricLearner(max_iter=20, random_state=0).fit(rows, kinds)
        >>> learner.score(rows, kinds) > 0.9, learner.predict(rows[:1])
        (True, array([0]))
        >>> learner.transform(rows).shape, learner.predict_proba(rows).shape
        ((150, 16), (150, 3))
    """

    def __init__(
        self,
        loss: str = "nt_xent",
        miner: str | None = None,
        *,
        n_components: int = 16,
        hidden_units: int = 64,
        normalize: bool = True,
        n_neighbors: int = 5,
        max_iter: int = 200,
        batch_size: int = 128,
        learning_rate: float = 0.01,
        loss_params: Mapping[str, Any] | None = None,
        miner_params: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.miner = miner
        self.n_components = n_components
        self.hidden_units = hidden_units
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.loss_params = loss_params
        self.miner_params = miner_params
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the net on X (n × d) with labels y (n whole numbers or texts), two classes or more.

        Args:
            X: n × d.
            y: n labels.

        Returns:
            Itself.

        Raises:
            UserError: For a parameter out of its range, or labels of another kind.
        """
        import torch
        from torch import nn

        from dmlviz.projection.threads import one_thread
        from dmlviz.training.optimizers import eager

        params = _checked(self, _LEARNER)
        dims, hidden, steps = params["n_components"], params["hidden_units"], params["max_iter"]
        X = validate_data(self, _rows(X), dtype=_FLOATS)
        labels, self.classes_ = _read_classes(y, len(X))
        self._fit_scale(X)
        seed, width = _seed(self.random_state), X.shape[1]
        own = _mapping(self.loss_params, "loss_params")
        loss = losses.build(self.loss, embedding_dim=dims, num_classes=len(self.classes_), seed=seed, **own)
        own = _mapping(self.miner_params, "miner_params")
        mine = None if self.miner is None else miners.build(self.miner, seed=seed, **own)
        with one_thread():  # operations this small mostly wait for other threads
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                layers = [nn.Linear(width, hidden), nn.ReLU()] if hidden else []
                self.net_ = nn.Sequential(*layers, nn.Linear(hidden or width, dims))
            parameters = [*self.net_.parameters(), *loss.parameters()]
            optimizer = eager(torch.optim.Adam)(parameters, lr=params["learning_rate"], fused=True)
            rows = torch.tensor(self._scaled(X), dtype=torch.float32)
            for batch in self._batches(labels, np.random.default_rng(seed), steps, params["batch_size"]):
                embeddings, ids = self._embed(rows[batch]), torch.tensor(labels[batch])
                value = loss(embeddings, ids, None if mine is None else mine(embeddings.detach(), ids))
                if not torch.isfinite(value):
                    raise UserError(
                        f"The training diverged: a loss of {value.item()}. Try a smaller learning_rate than "
                        f"{self.learning_rate:g}, or another loss."
                    )
                optimizer.zero_grad()
                value.backward()
                optimizer.step()
        self.n_iter_ = steps
        self.net_.double()  # so that a row's embedding does not depend on the rows beside it
        k = min(params["n_neighbors"], len(X))
        self.neighbors_ = KNeighborsClassifier(k, weights=_nearest_settle_ties).fit(self._transform(X), labels)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the embeddings (m × n_components) of X (m × d), with the type of X.

        Args:
            X: m × d.
        """
        check_is_fitted(self)
        return self._transform(validate_data(self, _rows(X), dtype=_FLOATS, reset=False))

    def _transform(self, X: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            embeddings = self._embed(torch.from_numpy(self._scaled(X)))
        return embeddings.numpy().astype(X.dtype)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> np.ndarray:
        """Return the class (m) for which the nearest training rows of each row of X (m × d) vote.

        Args:
            X: m × d.
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class (m × classes) among the nearest training rows of each row of X (m × d).

        Args:
            X: m × d.
        """
        check_is_fitted(self)
        X = validate_data(self, _rows(X), dtype=_FLOATS, reset=False)
        return self.neighbors_.predict_proba(self._transform(X))  # type: ignore[no-any-return]

    def _fit_scale(self, X: np.ndarray) -> None:
        """Find what standardizes each column: in units of its largest number, since squares of others may overflow."""
        rows = X.astype(np.float64)
        self.unit_ = np.abs(rows).max(axis=0)
        self.unit_[self.unit_ == 0] = 1.0
        rows /= self.unit_
        self.mean_, self.scale_ = rows.mean(axis=0), rows.std(axis=0)
        self.scale_[self.scale_ < 8 * np.finfo(np.float64).eps] = np.inf  # a constant, but for its rounding

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            scaled = (X.astype(np.float64) / self.unit_ - self.mean_) / self.scale_
        return np.clip(np.nan_to_num(scaled), -_FARTHEST, _FARTHEST)  # type: ignore[no-any-return]

    def _embed(self, rows: Any) -> Any:
        from torch.nn.functional import normalize

        return normalize(self.net_(rows)) if self.normalize else self.net_(rows)

    def _batches(self, labels: np.ndarray, rng: np.random.Generator, steps: int, size: int) -> Any:
        """Yield the rows of each batch: of as many classes as fit four times, equally many of each."""
        members = [np.flatnonzero(labels == label) for label in range(len(self.classes_))]
        count = max(2, min(len(members), size // 4))
        for _ in range(steps):
            classes = rng.choice(len(members), count, replace=False)
            yield np.concatenate([rng.choice(members[each], max(2, size // count)) for each in classes])

    @property
    def _n_features_out(self) -> int:
        return int(self.neighbors_.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _rows(X: Any) -> Any:
    if np.ma.is_masked(X):
        raise UserError(
            f"X has a number in every cell; got {np.ma.count_masked(X):,} masked ones: fill them in, as SimpleImputer "
            "does, or leave their rows out."
        )
    is_list_of_such = isinstance(X, list | tuple) and any(map(is_read_alone, X))
    return to_numbers(X) if hasattr(X, "detach") or is_list_of_such else X  # tensors of any type and device, masks


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


def _mapping(params: Any, name: str) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise UserError(f'MetricLearner: {name} is a mapping, as in {{"margin": 0.3}}; got {brief(params)}.')
    return params or {}


def _read_classes(y: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each row as an index, and the classes as they were given; raise UserError for other labels.

    The messages hold what scikit-learn's checks of an estimator look for.
    """
    if y is None:
        raise UserError("MetricLearner requires y to be passed, but the target y is None: pass one class for each row.")
    try:
        labels, classes = read_labels(y, count, "y")
    except UserError as error:
        raise UserError(f"Unknown label type: {error}") from None
    if getattr(y, "ndim", 1) == 2:
        column_or_1d(labels[:, None], warn=True)
    if len(classes) < 2:
        raise UserError(f"A metric is learned from 2 classes or more; got 1 class, {brief(classes.tolist()[0])}.")
    given = getattr(y, "dtype", None)
    if isinstance(given, np.dtype) and given.kind in "biufUS":
        classes = classes.astype(given)
    return labels, classes


def _nearest_settle_ties(distances: np.ndarray) -> np.ndarray:
    """Return the votes of neighbors, nearest first: all count alike, but of equally many the nearer ones win."""
    return np.tile(1 + 1e-6 * 0.5 ** np.arange(distances.shape[1]), (len(distances), 1))
