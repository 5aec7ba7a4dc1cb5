"""The live map in a notebook: Jupyter, Colab, VS Code, marimo."""

from dmlviz.notebook.display import show

__all__ = ["show"]
