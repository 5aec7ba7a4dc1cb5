"""The settings of a projection."""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import sha256
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from dmlviz.catalog.parameters import Fields
from dmlviz.catalog.projection_checks import axes as projection_axes
from dmlviz.catalog.projections import PROJECTIONS, Engine, ProjectionSpec, declaration
from dmlviz.config.base import Config
from dmlviz.errors import UserError
from dmlviz.ops.pairwise_numpy import of_equal_length

TURNED = "The learned space, turned: it has no more dimensions than the map, so all distances are as they were."
TAUGHT = "It was drawn with the classes: that they lie apart here says nothing about the embedding."
MAX_BYTES = 1 << 17  # a bit for each of a million items


def pack_bits(bits: bytes) -> str:
    """Return the word of a bit mask (little-endian bits): fifty letters for ten items of 10,000, at most 1,700."""
    return urlsafe_b64encode(zlib.compress(bits.rstrip(b"\0"), 9)).decode().rstrip("=")


def unpack_bits(word: str) -> bytes | None:
    """Return the bit mask of a word; None for what is no such word, or has no item."""
    inflater = zlib.decompressobj()
    try:
        bits = inflater.decompress(urlsafe_b64decode(word + "=" * (-len(word) % 4)), MAX_BYTES)
    except (Error, ValueError, zlib.error):
        return None
    return bits if inflater.eof and any(bits) else None


def pack_items(items: np.ndarray) -> str:
    """Return the word of a set of items (indices ≥ 0, at least one)."""
    bits = np.zeros(int(items.max()) + 1, np.uint8)
    bits[items] = 1
    return pack_bits(np.packbits(bits, bitorder="little").tobytes())


def unpack_items(word: str) -> np.ndarray:
    """Return the items of a word, ascending; raise UserError for what is no such word."""
    bits = unpack_bits(word)
    if bits is None:
        raise UserError(
            f"A subset is a word that names at least one item, as the map writes it; got {word[:40]!r}: copy the whole "
            "word, or select the items again."
        )
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))


class ProjectionConfig(Config):
    """Settings of a projection: method, engine, parameters, dimensions, seed; of a run also step or follow, images."""

    optional_settings: ClassVar[frozenset[str]] = frozenset({"subset", "prefix"})

    method: str = Field(default="pca", description="projection method")
    engine: Engine = Field(
        default="dmlviz",
        description="implementation of t-SNE and UMAP: dmlviz, the reference (scikit-learn, umap-learn), or torchdr",
    )
    params: Fields = Field(default_factory=dict, description="parameters of the method")
    dims: Literal[2, 3] = Field(default=2, description="dimensions of the projection")
    seed: int = Field(default=0, ge=0, lt=2**31, description="random seed")
    step: int | None = Field(
        default=None, ge=0, le=1_000_000, description="training step to project (default: the last)"
    )
    follow: bool = Field(
        default=False, description="follow the training: a layout of each snapshot, at the end of all test images"
    )
    prefix: int | None = Field(
        default=None, ge=2, le=1_000_000, description="first dimensions of the embedding to project (default: all)"
    )
    subset: str | None = Field(
        default=None,
        description="test images to project: the word after select=DATASET. in the page's address (default: all)",
    )

    @model_serializer(mode="wrap")
    def _omit_defaults(self, write: SerializerFunctionWrapHandler) -> Fields:
        """Omit what was added later, where it is as before: IDs are older."""
        content: Fields = write(self)
        if self.engine == "dmlviz":
            del content["engine"]
        if content["params"].get("attraction") == 1:
            del content["params"]["attraction"]
        return content

    @property
    def id(self) -> str:
        """Hash of the settings, and of a plug-in that brought the method: with other code it is another map."""
        return sha256(f"{self.to_json()}{PROJECTIONS.code.get(self.method, '')}".encode()).hexdigest()[:16]

    @property
    def declared(self) -> ProjectionSpec:
        """The catalog entry of the method with this engine."""
        return declaration(self.method, self.engine)

    @property
    def resumable(self) -> bool:
        """Return whether a stopped projection can continue where it was stopped."""
        return self.declared.resumable and not self.follow

    @property
    def whole(self) -> bool:
        """Return whether all test images can be projected, and not only the tracked ones."""
        return self.step is None and not (self.follow and self.subset is not None)

    @property
    def may_follow(self) -> bool:
        """Return whether such a map of all test images can go on from snapshot to snapshot."""
        return self.engine == "dmlviz" and self.declared.follows and self.step is None and self.subset is None

    @property
    def items(self) -> np.ndarray | None:
        """The test images to project, ascending; None for all."""
        return None if self.subset is None else unpack_items(self.subset)

    def note(self, dimension: int) -> str:
        """Return what a map of embeddings of so many dimensions must say of itself; mostly nothing."""
        if self.prefix is not None:
            return f"Drawn from the first {self.prefix:,} of {dimension:,} dimensions; scores and neighbors are of all."
        if self.params.get("supervised"):
            return TAUGHT
        return TURNED if self.declared.linear and dimension <= self.dims else ""

    @classmethod
    def following(cls, drawn: "str | ProjectionConfig") -> "ProjectionConfig":
        """Return a map that follows a training, of a method's name or of settings; raise UserError for any other."""
        if isinstance(drawn, str):
            return cls(method=drawn, follow=True)
        if not isinstance(drawn, ProjectionConfig):
            raise UserError(
                f"A map is the name of a method, as tsne, or a ProjectionConfig; got {type(drawn).__name__}: pass one."
            )
        return drawn.replace(follow=True)

    def by(self, engine: Engine) -> "ProjectionConfig":
        """Return the same map drawn by another engine.

        Parameters that both engines have keep their values; the number of iterations, whose meaning differs, and the
        parameters that only the other engine has are at their defaults. So is a value that the other engine lacks.

        Args:
            engine: "dmlviz", "reference" or "torchdr".

        Raises:
            UserError: If the engine does not know the method.

        Examples:
            >>> ours = ProjectionConfig(method="umap", params={"neighbors": 30})
            >>> ours.by("reference").params["neighbors"]
            30
        """
        params: Fields = {}
        for parameter in declaration(self.method, engine).parameters:
            if parameter.name in self.params and parameter.name != "iterations":
                try:
                    params[parameter.name] = parameter.check(self.method, self.params[parameter.name])
                except UserError:
                    continue  # as a metric that only one of them knows
        fields = {name: getattr(self, name) for name in ("method", "dims", "seed", "step", "prefix", "subset")}
        return ProjectionConfig(**fields, engine=engine, params=params)

    def cut(self, embeddings: np.ndarray) -> np.ndarray:
        """Return the dimensions of embeddings that are drawn.

        Args:
            embeddings: n × d.

        Returns:
            The first `prefix` columns, of length 1 if the embeddings are; all without a prefix.

        Raises:
            UserError: If they have fewer dimensions than `prefix`.

        Examples:
            >>> ProjectionConfig(prefix=2).cut(np.arange(6.0).reshape(2, 3)).tolist()
            [[0.0, 1.0], [3.0, 4.0]]
        """
        if self.prefix is None:
            return embeddings
        if self.prefix > embeddings.shape[1]:
            raise UserError(
                f"A prefix has at most as many dimensions as the embeddings, here {embeddings.shape[1]:,}; got "
                f"{self.prefix:,}: choose fewer."
            )
        return of_equal_length(embeddings[:, : self.prefix], embeddings)

    @property
    def axes(self) -> tuple[int, ...]:
        """The principal components on the axes x, y (and z) of a PCA; empty for other projections."""
        return projection_axes(self.params, self.dims)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        object.__setattr__(self, "params", self.declared.with_defaults(self.params))
        if self.declared.check_params is not None:
            self.declared.check_params(self.params, self.dims)
        if self.items is not None:  # equal sets are one projection, however they were written
            object.__setattr__(self, "subset", pack_items(self.items))
        if self.follow and not self.declared.follows:
            raise UserError(
                f"follow is for PCA, and for t-SNE, UMAP, PaCMAP and LocalMAP by dmlviz; got {self.declared.title} "
                f"by {self.engine}."
            )
        if self.follow and self.step is not None:
            raise UserError(f"A map follows a training, or is of one step; got follow and step {self.step:,}.")
        return self
