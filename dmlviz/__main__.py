"""`python -m dmlviz` is `dmlviz`."""

from dmlviz.cli.main import main

main()
