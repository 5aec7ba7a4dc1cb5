"""`python -m dmlviz` is `dmlviz`."""

from dmlviz.cli import main

main()
