"""Tables of the collections of machine learning: ARFF, as Weka and OpenML have it, and the sparse rows of libsvm."""

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmlviz.data.table_limits import check_size
from dmlviz.data.text_columns import plain_numbers, typed_columns
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

_ATTRIBUTE = re.compile(r"""\s*@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(\S+)""", re.IGNORECASE)
_VALUE = r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|inf|nan|infinity)"
_SPARSE = re.compile(rf"(?:{_VALUE}(?:\s+(?:qid:[0-9]+|[0-9]+:{_VALUE}))*(?:\s+#.*)?|#.*)?", re.IGNORECASE)


def read_arff(lines: Sequence[str], name: str, missing: Sequence[str] = ()) -> tuple["pyarrow.Table", list[str]]:
    """Return the rows of an ARFF file, of which "?" is nothing, with notes; texts and dates are read, too.

    Raises:
        UserError: For sparse rows, and for a row with more or fewer values than there are attributes.
    """
    import pyarrow

    data = next((at for at, line in enumerate(lines) if line.strip().lower() == "@data"), len(lines))
    matches = [match for line in lines[:data] if (match := _ATTRIBUTE.match(line))]
    names = [re.sub(r"\\(.)", r"\1", match[1].strip("'\"")) for match in matches]
    body = [line for line in lines[data + 1 :] if line.strip() and not line.lstrip().startswith("%")]
    quote = '"' if sum(line.count('"') for line in body) > sum(line.count("'") for line in body) else "'"
    rows = list(csv.reader(body, quotechar=quote, escapechar="\\", skipinitialspace=True))
    for number, row in enumerate(rows, 1):
        if len(row) != len(names) or row[0].startswith("{"):
            raise UserError(
                f"A row of ARFF has a value for each of its attributes; {name} has {len(names):,}, and row {number:,} "
                f"is {body[number - 1][:40]!r}: correct it, or save it dense."
            )
    numbers = [match[2].lower() in ("numeric", "real", "integer") for match in matches]
    texts = [column.lower() for column, number in zip(names, numbers, strict=True) if not number]
    columns = [pyarrow.array([row[at] for row in rows], "string") for at in range(len(names))]
    return typed_columns(pyarrow.table(columns, names), texts, ("?", *missing))


def read_svmlight(lines: Sequence[str], name: str) -> "pyarrow.Table":
    """Return the labels and vectors of a file of svmlight or libsvm, and the query of each row if it has one.

    Raises:
        UserError: For more rows or dimensions than a table may have, and for a row that holds anything else.
    """
    import pyarrow
    from sklearn.datasets import load_svmlight_file

    lines = [plain_numbers(line.strip()) for line in lines]
    for row, line in enumerate(lines, 1):
        if not _SPARSE.fullmatch(line):
            raise UserError(
                f"A row of svmlight is a label and numbers with their places, as 1 3:0.5; row {row:,} of {name} is "
                f"{line[:40]!r}: correct it."
            )
    matrix, labels, queries = load_svmlight_file(io.BytesIO("\n".join(lines).encode()), query_id=True)
    check_size(name, *matrix.shape)
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(matrix.toarray().ravel()), matrix.shape[1])
    return pyarrow.table({"label": labels, "vector": vectors} | ({"qid": queries} if len(queries) else {}))
