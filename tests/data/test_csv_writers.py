"""CSV files as pandas, NumPy, Excel, R and Kaggle write them are read with the same vectors, labels and names."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dmlviz.data.csv_file import read_csv_file
from dmlviz.data.embedding_file import LabeledEmbeddings, columns_of_vectors
from dmlviz.data.import_path import import_path
from dmlviz.data.table_file import Choice
from dmlviz.data.text_vectors import parse_text_vectors
from dmlviz.errors import UserError

N = 130  # more than the lines that decide on the form
VECTORS = np.random.default_rng(0).normal(scale=3, size=(N, 3)).round(4)
VECTORS[0] *= 1000  # with separators of thousands
LABELS = {
    "words": ["cat", "dog", "eel"],
    "codes": ["1", "01", "001"],
    "numbers": ["1e5", "100000", "1.10"],
    "flags": ["True", "False", "NA"],
    "names": ['say "hi"', "a, b; c", "=1+1"],
    "dates": ["2021-01-01", "2021-1-1", "1/2/21"],
}
NAMES = ["d0", "d1", "d2"]


def frame(labels, **how):
    kept = pd.DataFrame(VECTORS, **how)
    return kept if labels is None else kept.assign(label=[labels[i % 3] for i in range(N)])


def excel(labels, mark, parts, delimiter, hint=""):
    """Write as a spreadsheet does: separators of thousands, an empty column and empty rows at the end."""

    def number(value):
        return f"{value:,.4f}".translate(str.maketrans(",.", parts + mark))

    file = io.StringIO()
    table = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
    table.writerow([*NAMES, *(["label"] if labels else []), ""])
    for i, row in enumerate(VECTORS):
        table.writerow([*map(number, row), *([labels[i % 3]] if labels else []), ""])
    table.writerows([[""] * (5 if labels else 4)] * 3)
    return f"{hint}{file.getvalue()}"


def r_lang(labels, sep=",", dec=".", row_name='"",'):
    def text(value):
        return '"' + value.replace('"', '""') + '"'

    head = row_name + sep.join(text(name) for name in [*NAMES, *(["label"] if labels else [])])
    rows = [
        sep.join(
            [
                text(str(i + 1)),
                *(f"{x:.15g}".replace(".", dec) for x in row),
                *([text(labels[i % 3])] if labels else []),
            ]
        )
        for i, row in enumerate(VECTORS)
    ]
    return "\n".join([head, *rows]) + "\n"


def savetxt(labels, **how):
    file = io.StringIO()
    np.savetxt(file, VECTORS, **how)
    return file.getvalue()


WRITERS = {
    "pandas": lambda k: frame(k, columns=NAMES).to_csv(index=False),
    "pandas with row numbers": lambda k: frame(k, columns=NAMES).to_csv(),
    "pandas without names": lambda k: frame(k).to_csv(index=False),
    "pandas without names, with row numbers": lambda k: frame(k).to_csv(),
    "pandas with a named index": lambda k: frame(k, columns=NAMES).rename_axis("id").to_csv(),
    "pandas with texts as index": lambda k: frame(k, columns=NAMES, index=[f"w {i}" for i in range(N)]).to_csv(),
    "pandas, German": lambda k: frame(k, columns=NAMES).to_csv(index=False, sep=";", decimal=","),
    "pandas, decimal commas in quotes": lambda k: frame(k, columns=NAMES).to_csv(index=False, decimal=","),
    "pandas, all quoted": lambda k: frame(k, columns=NAMES).to_csv(index=False, quoting=csv.QUOTE_ALL),
    "pandas, tabs": lambda k: frame(k, columns=NAMES).to_csv(index=False, sep="\t"),
    "pandas, bars and Windows line ends": lambda k: frame(k, columns=NAMES).to_csv(
        index=False, sep="|", lineterminator="\r\n"
    ),
    "pandas, UTF-16": lambda k: frame(k, columns=NAMES).to_csv(index=False).encode("utf-16"),
    "pandas, UTF-16 without a mark": lambda k: frame(k, columns=NAMES).to_csv(index=False).encode("utf-16-le"),
    "Spark": lambda k: frame(k, columns=NAMES).to_csv(index=False, doublequote=False, escapechar="\\"),
    "pandas, packed": lambda k: gzip.compress(frame(k, columns=NAMES).to_csv(index=False).encode()),
    "Excel": lambda k: "\ufeff" + excel(k, ".", ",", ","),
    "Excel, German": lambda k: excel(k, ",", ".", ";"),
    "Excel, French": lambda k: excel(k, ",", "\u202f", ";"),
    "Excel, Swiss": lambda k: excel(k, ".", "'", ";"),
    "Excel with a hint": lambda k: excel(k, ",", ".", ";", "sep=;\r\n"),
    "Excel, tabs": lambda k: excel(k, ".", ",", "\t"),
    "R, write.csv": r_lang,
    "R, write.csv2": lambda k: r_lang(k, ";", ",", '"";'),
    "R, write.table": lambda k: r_lang(k, " ", ".", ""),
    "R, write.table with commas": lambda k: r_lang(k, ",", ".", ""),
    "R, write.table with tabs": lambda k: r_lang(k, "\t", ".", ""),
    "label first": lambda k: frame(k, columns=NAMES)[[*(["label"] if k else []), *NAMES]].to_csv(index=False),
    "spaces after commas": lambda k: "\n".join(
        ", ".join(row) for row in csv.reader(io.StringIO(frame(k, columns=NAMES).to_csv(index=False)))
    ),
}
BARE = {
    "pandas without a header": lambda k: frame(k).to_csv(index=False, header=False),
    "numpy, commas": lambda k: savetxt(k, delimiter=",", fmt="%.4f"),
    "numpy, tabs": lambda k: savetxt(k, delimiter="\t"),
    "numpy, semicolons": lambda k: savetxt(k, delimiter=";"),
    "numpy, spaces": lambda k: savetxt(k),
    "numpy with a header": lambda k: savetxt(k, delimiter=",", header="d0,d1,d2"),
    "numpy with two comments": lambda k: savetxt(k, delimiter=",", header="of the run\nd0,d1,d2"),
    "numpy with a comment": lambda k: savetxt(k, delimiter=",", header="made by numpy"),
    "numpy with a plain header": lambda k: savetxt(k, delimiter=",", header="d0,d1,d2", comments=""),
}
CASES = [(name, kind) for name in WRITERS for kind in (None, *LABELS)]
CASES = [case for case in CASES if not (case[0] == "spaces after commas" and case[1] == "names")]  # not quoted


def read(tmp_path, content, name="t.csv", **how):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    imported = import_path(path, **how)
    assert isinstance(imported, LabeledEmbeddings)
    return imported


@pytest.mark.parametrize(("writer", "kind"), CASES)
def test_what_programs_write_is_read_with_its_vectors_and_labels(tmp_path, writer, kind):
    labels = LABELS.get(kind)
    content = WRITERS[writer](labels)
    imported = read(tmp_path, content, "t.csv.gz" if "packed" in writer else "t.csv")
    np.testing.assert_allclose(imported.embeddings, VECTORS, rtol=1e-6)
    names = [imported.classes[label] for label in imported.labels]
    assert names == (["no label"] * N if labels is None else [labels[i % 3] for i in range(N)])
    assert f"({N} rows; choose others with --vector)" in " ".join(imported.notes)
    assert imported.columns.column_names in ([], ["index"], ["column 1"], ["id"])
    if "texts as index" in writer:
        assert imported.columns["index"].to_pylist() == [f"w {i}" for i in range(N)]


@pytest.mark.parametrize("writer", BARE)
def test_rows_without_a_header_are_all_read(tmp_path, writer):
    np.testing.assert_allclose(read(tmp_path, BARE[writer](None)).embeddings, VECTORS, rtol=1e-6)


@pytest.mark.parametrize("end", [0, -1])
def test_pixels_without_a_header_have_their_label_at_the_end_that_is_no_blank_corner(tmp_path, end):
    pictures = np.random.default_rng(0).integers(0, 256, (N, 64))
    pictures[:, [0, -1]] = 0
    rows = [
        list(map(str, [*([i % 3] if end == 0 else []), *row, *([] if end == 0 else [i % 3])]))
        for i, row in enumerate(pictures)
    ]
    imported = read(tmp_path, "\n".join(map(",".join, rows)))
    np.testing.assert_array_equal(imported.embeddings, pictures)
    assert [imported.classes[label] for label in imported.labels[:3]] == ["0", "1", "2"]


def test_only_an_empty_cell_and_what_is_named_is_no_label(tmp_path):
    labels = ["1", "01", "1e5", "True", "NA", "1.10", "", " "]
    rows = "".join(f"{i},{i + 0.5},{label}\n" for i, label in enumerate(labels))
    imported = read(tmp_path, f"x,y,label\n{rows}")
    assert [imported.classes[label] for label in imported.labels] == [*labels[:6], "no label", "no label"]
    assert imported.notes[0].startswith("Label: label (6 values, 2 missing). Vector: x, y (8 rows;")
    assert any("--missing NA" in note for note in imported.notes)
    imported = read(tmp_path, f"x,y,label\n{rows}", choice=Choice(missing=("NA", "True")))
    assert imported.classes == ("01", "1", "1.10", "1e5", "no label")


def test_what_white_space_merges_is_said_and_columns_that_it_pads_alike_are_not(tmp_path):
    rows = [
        f"{i},{i + 0.5},{label},{side}" for i, (label, side) in enumerate([(" a", " l "), ("a ", " r "), ("a", " l ")])
    ]
    imported = read(tmp_path, "\n".join(["x,y,label,side", *rows]))
    assert [note for note in imported.notes if "white space" in note] == [
        "Values of column label that differ only by white space around them are taken as equal."
    ]


@pytest.mark.parametrize("row", [5, 120, pytest.param(40_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("odd", ["n/k", "1.2.3", "12 kg"])
def test_a_column_of_the_vector_that_is_not_of_numbers_is_named_wherever_it_shows(tmp_path, row, odd):
    numbers = [[str(i + 0.5)] * 3 for i in range(max(N, row + 1))]
    numbers[row][1] = odd
    content = "d0,d1,d2\n" + "\n".join(",".join(cells) for cells in numbers)
    with pytest.raises(UserError, match=rf"d1 of t\.csv, .* holds texts, such as '{odd}' in row {row + 1:,}"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("d0,d1,label\n1,2,a\n3,4,b,c\n", r"3 columns, and row 2 \('3,4,b,c'\) has 4 cells"),
        ("d0,d1,label\n1,2,a\n3,4\n", r"3 columns, and row 2 \('3,4'\) has 2 cells"),
        ("d0,d1\n1,2\n3,\n", r"the first in row 2, column d1"),
        ("", "t.csv is empty"),
        (",emb,emb,meta\n,0,1,label\n" + "0,1.5,2.5,a\n1,2.5,4.5,b\n", "has two, which begin emb, emb and 0, 1: join"),
        ("emb,emb,emb\nx,y,z\n" + "1.5,2.5,1\n" * 3, "has two, which begin emb, emb and x, y: join them, as emb_x"),
        ("\n\n", "t.csv is empty"),
        (b"d0,d1\n1,2\n\xff\xfe,4\n".decode("latin-1"), "d1 of|d0 of"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, says):
    with pytest.raises(UserError, match=says):
        read(tmp_path, content)


FORMS = {  # what a number of a series is, and how it is written; "": refused by row and value
    "-1.5": ("\u22121.5", "\u20131.5", "-1.5D+00", "\u22121.5d0", "\u221215e\u22121", " -1.5 ", "-.15D+1"),
    "1234.5": [f"1{part}234.5" for part in " \u2009\u00a0\u202f'\u2019,"],
    "": ("1.5%", "1_000", "1.0+100", "(1.5)", "1D3", "\u0661\u066b\u0665", "\u2212", "1.5-", "0x1F", "1/2", "1,5"),
}


@pytest.mark.parametrize(("number", "text"), [(number, text) for number, texts in FORMS.items() for text in texts])
def test_a_number_is_read_in_every_spelling_or_refused_by_row_and_value_and_so_in_a_list(tmp_path, number, text):
    rows = [[f"{i}.25", f"{i}.5", f"-{i}.75"] for i in range(1, 9)]
    rows[4][1] = text
    series = pd.DataFrame(rows, columns=NAMES).to_csv(index=False, sep="\t")
    if number:
        assert read(tmp_path, series, "t.tsv").embeddings[4].tolist() == [5.25, float(number), -5.75]
    else:
        with pytest.raises(UserError, match=r"d1 of t\.tsv.* in row [15]"):
            read(tmp_path, series, "t.tsv")
    table = pa.table({"v": [f"[{', '.join(row)}]" for row in rows]})
    if number == "-1.5":
        assert parse_text_vectors(table, "t")["v"][4].as_py() == [5.25, -1.5, -5.75]
    elif text != "1_000":
        with pytest.raises(UserError, match=r"v of t .* in row 5 is .\[5\.25, |numbers in row 5"):
            columns_of_vectors(parse_text_vectors(table, "t"), "t")


@pytest.mark.parametrize("text", ["[1,5; 2,5; 3,5]", "[1,5 2,5 3,5]", "[1,234.5, 2,345.5, 3,456.5]", "[1.5, (2.5), 3]"])
def test_lists_in_which_a_comma_may_be_in_a_number_are_refused(text):
    with pytest.raises(UserError, match=r"v of t .* in row 1 is"):
        parse_text_vectors(pa.table({"v": [text] * 3}), "t")


def test_codes_stay_what_they_are_beside_numbers(tmp_path):
    rows = "".join(f"{i}.5,{i}.25,00{i},1234567890123456789{i},\u22121{i}.125\n" for i in range(1, 9))
    columns = read(tmp_path, f"d0,d1,zip,order,depth\n{rows}").columns
    assert columns.slice(2, 1).to_pylist() == [{"zip": "003", "order": "12345678901234567893", "depth": -13.125}]


def test_equal_names_and_names_with_spaces_stay_apart(tmp_path):
    rows = "\n".join(f"{i},{i + 0.5},{i},{i * 2},a" for i in range(9))
    imported = read(tmp_path, f' x , y ,score,score,"\nlabel"\n{rows}')  # Excel breaks lines in cells
    assert imported.columns.column_names == ["x", "y", "score", "score 2"]
    assert [column[4].as_py() for column in imported.columns.columns] == [4, 4.5, 4, 8]
    assert imported.classes == ("a",)
    assert any("Two columns are called score" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        ([f"{i}x{j}" for i in (1, 2) for j in range(1, 29)], "1x1, 1x2, … 2x28, 56 columns"),
        ([f"pixel{i}" for i in range(56)], "pixel0, pixel1, … pixel55, 56 columns"),
        (["f1", "f2", "f4"], "f1, f2, f4, without f3"),
        (["emb_0", "emb_1", "emb_2", "img_0", "img_1"], "emb_0, emb_1, emb_2"),
        (["emb[0]", "emb[1]", "emb[2]"], "emb[0], emb[1], emb[2]"),
        (["humid", "acid", "item_id", "rowId"], "humid, acid, as they are, not scaled"),
    ],
)
def test_a_series_is_found_by_its_names_and_said(tmp_path, names, taken):
    rows = np.random.default_rng(0).integers(0, 9, (9, len(names)))
    content = pd.DataFrame(rows, columns=names).assign(label=list("abcabcabc")).to_csv(index=False)
    assert f"Vector: {taken} (9 rows;" in read(tmp_path, content).notes[0]


@pytest.mark.slow
def test_a_column_looks_the_same_in_a_small_and_a_large_file(tmp_path):
    head = "id,code,when,price,label\n"
    line = "1,1,2021-01-01,1.5,a\n"
    for odd in (
        "1,01,2021-01-01,1.5,a\n",
        "1,1,2021-01-01 10:00,1.5,a\n",
        "1,1,soon,2,a\n",
        '1,1,2021-01-01,"1,250.5",a\n',
    ):
        types = []
        for rows in (3, 50_000):
            (tmp_path / "t.csv").write_text(f"{head}{line * rows}{odd}")
            types.append(read_csv_file(tmp_path / "t.csv", ("label",))[0].schema)
        assert types[0] == types[1]


def test_texts_that_look_like_vectors_take_linear_time(tmp_path):
    cell = "[" + "1.5, " * 20_000
    with pytest.raises(UserError, match=r"emb of t\.csv .* in row 1 is cut off, after 32,767"):
        read(tmp_path, "emb,label\n" + f'"{cell}",a\n"{cell}",b\n')


@pytest.mark.parametrize("names", [[("u", 0), ("u", 1), ("v", 0)], [("u", "a"), ("v", "b"), ("w", "c")]])
@pytest.mark.parametrize("index", [None, "row"])
def test_two_levels_of_names_are_refused_and_never_read_as_a_row(tmp_path, names, index):
    table = pd.DataFrame(VECTORS, columns=pd.MultiIndex.from_tuples(names)).rename_axis(index)
    table["label", ""] = LABELS["words"][0]
    with pytest.raises(UserError, match=f"has two, which begin u, . and {names[0][1]}, {names[1][1]}: join them"):
        read(tmp_path, table.to_csv())


def test_a_label_and_named_pixels_are_pictures_in_one_file_too(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (N, 64))
    for names in ([f"pixel{i}" for i in range(64)], [f"{i}x{j}" for i in range(8) for j in range(8)]):
        table = pd.DataFrame(pixels, columns=names)
        table.to_csv(tmp_path / "digits_test.csv", index=False)
        for at in (0, 64):
            given = table.copy()
            given.insert(at, "label", np.arange(N) % 3)
            given.to_csv(tmp_path / "digits_train.csv", index=False)
            imported = import_path(tmp_path / "digits_train.csv")
            assert sorted(map(len, (imported.parts["train_images"], imported.parts["test_images"]))) == [26, 104]
            assert "digits_test.csv is left out: it has no labels." in imported.report["notes"]
            first = imported.parts["train_images"][0].ravel()
            assert (pixels == first).all(1).any()
