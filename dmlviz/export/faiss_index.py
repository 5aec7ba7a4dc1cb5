"""Export of the embeddings as an index file of FAISS (Douze et al. 2024)."""

from typing import IO

import numpy as np

from dmlviz.export.contents import RunExport


def write_faiss(export: RunExport, file: IO[bytes]) -> None:
    """Write an exact index, `IndexIDMap2` over `IndexFlatL2`, whose IDs are the numbers of the test images.

    `faiss.read_index` reads it. A search returns squared Euclidean distances, as FAISS's flat index does.

    Raises:
        UserError: Before the run's end.
    """
    import faiss

    vectors = np.ascontiguousarray(export.embeddings, np.float32)
    index = faiss.IndexIDMap2(faiss.IndexFlatL2(vectors.shape[1]))
    index.add_with_ids(vectors, np.ascontiguousarray(export.items, np.int64))
    file.write(faiss.serialize_index(index).tobytes())
