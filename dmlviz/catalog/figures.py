"""The specs of the figures of a run. Loads no Plotly."""

from dmlviz.catalog.parameters import Catalog, Spec, specs

FIGURES = Catalog("figure", specs(Spec, "figure"))
