"""The command line: files in, files, words and exit codes out.

The arguments are in the words of ``interface.md``. That document has no word for a further mark of a missing entry
(``--missing`` says why entries are missing), which is ``--missing-mark`` here.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tests.golden import planted
from tests.golden.case import Case, Data, Intervals

__all__ = ["cases", "command", "concentrations", "labelled", "of", "text", "with_limits_in_cells"]

Array = np.ndarray
Generator = np.random.Generator
Content = str | bytes

EXACT = partial(planted.matrix, n=30, r=2)
NOISY = partial(planted.matrix, n=40, r=2, noise=0.02)
RESIDUES = ("GLY", "LEU", "SER", "ALA")
CIF_COLUMNS = (
    *("group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id", "label_asym_id"),
    *("label_entity_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z", "auth_seq_id", "auth_asym_id"),
    "pdbx_PDB_model_num",
)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    yield from _of_matrices()
    yield from _of_formats()
    yield from _of_tables()
    yield from _of_other_commands()
    yield from _of_points()
    yield from _refused()


def command(name: str, draw: Callable[[Generator], Data], argv: str, **rest: Any) -> Case:
    """Return an instance, of the family ``cli`` unless its name has another, with its arguments as one line."""
    fields = {name: rest.pop(name) for name in ("wants", "quick", "review", "right") if name in rest}
    return Case(name if "/" in name else f"cli/{name}", "command", draw, {"argv": argv.split(), **rest}, **fields)


# Files.


def cells(values: Array, delimiter: str = ",", decimal: str = ".", below: Any = None, above: Any = None) -> list[str]:
    """Return lines of numbers with all their digits; cells beyond limits are written as <low and >high."""
    lines = []
    for row in values:
        words = [_cell(float(x), below, above).replace(".", decimal) for x in row]
        lines.append(delimiter.join(words))
    return lines


def _cell(x: float, below: Any, above: Any) -> str:
    if np.isnan(x):
        return ""
    if below is not None and x < below:
        return f"<{below}"
    if above is not None and x > above:
        return f">{above}"
    return repr(x)


def text(values: Array, **options: Any) -> str:
    """Return a matrix as text without labels."""
    return "\n".join(cells(np.atleast_2d(values), **options)) + "\n"


def labelled(values: Array, rows: str = "s", columns: str = "c", delimiter: str = ",", **options: Any) -> str:
    """Return a matrix as text under the labels c0, c1, … and behind s0, s1, …"""
    head = delimiter.join(["site", *(f"{columns}{k}" for k in range(values.shape[1]))])
    body = [f"{rows}{k}{delimiter}{line}" for k, line in enumerate(cells(values, delimiter, **options))]
    return "\n".join([head, *body]) + "\n"


def binary(write: Callable[[io.BytesIO], object]) -> bytes:
    """Return what a function writes to a file."""
    handle = io.BytesIO()
    write(handle)
    return handle.getvalue()


def frame(X: Array) -> pd.DataFrame:
    """Return a data frame with the labels s0, s1, … on both sides."""
    names = [f"s{k}" for k in range(len(X))]
    return pd.DataFrame(X, names, names)


def edges(X: Array, missing: str = "") -> str:
    """Return the upper triangle as lines i, j, value; missing entries are left out or written as `missing`."""
    lines = ["from,to,value"]
    for i, j in zip(*np.triu_indices(len(X)), strict=True):
        if not np.isnan(X[i, j]):
            lines.append(f"p{i},p{j},{float(X[i, j])!r}")
        elif missing:
            lines.append(f"p{i},p{j},{missing}")
    return "\n".join(lines) + "\n"


def matrix_market(X: Array) -> str:
    """Return the observed entries as a Matrix Market file."""
    rows, cols = np.nonzero(~np.isnan(X))
    body = [f"{i + 1} {j + 1} {float(X[i, j])!r}" for i, j in zip(rows, cols, strict=True)]
    head = ["%%MatrixMarket matrix coordinate real general", f"{X.shape[0]} {X.shape[1]} {len(rows)}"]
    return "\n".join([*head, *body]) + "\n"


def zarr_array(X: Array) -> dict[str, Content]:
    """Return the two files of an uncompressed zarr array (version 2) of one chunk."""
    about = {"zarr_format": 2, "shape": X.shape, "chunks": X.shape, "dtype": "<f8", "order": "C"}
    about |= {"compressor": None, "fill_value": None, "filters": None}
    return {"f.zarr/.zarray": json.dumps(about), "f.zarr/0.0": np.ascontiguousarray(X, "<f8").tobytes()}


# Draws.


def files(g: Generator, draw: Callable[[Generator], Data], write: Callable[[Data, Generator], dict]) -> Data:
    """Draw data and put them into files."""
    data = draw(g)
    known = data.known or Intervals(data.given["X"] if "X" in data.given else data.given["D"])
    return Data({"files": write(data, g)}, data.truth, data.noise, data.scale, known)


def of(draw: Callable[[Generator], Data], write: Callable[[Data, Generator], dict]) -> Callable[[Generator], Data]:
    """Return a draw function whose data are in files."""
    return partial(files, draw=draw, write=write)


def plain(data: Data, g: Generator) -> dict[str, Content]:
    return {"f.csv": text(data.given["X"])}


def as_file(name: str, make: Callable[[Array], Content], data: Data, g: Generator) -> dict[str, Content]:
    return {name: make(data.given["X"])}


def with_labels(data: Data, g: Generator) -> dict[str, Content]:
    return {"f.csv": labelled(data.given["X"], "p", "p")}


def with_mask(data: Data, g: Generator) -> dict[str, Content]:
    return {"f.csv": text(data.given["X"]), "m.csv": text(data.given["unknown"].astype(int))}


def with_column_limits(data: Data, g: Generator) -> dict[str, Content]:
    limits = np.ravel(data.given["limits"] if "limits" in data.given else data.given["threshold"])
    lines = ["column,lower,upper", *(f"c{k},{float(limit)!r}," for k, limit in enumerate(limits))]
    return {"f.csv": labelled(data.given["X"]), "lod.csv": "\n".join(lines) + "\n"}


def with_weights(data: Data, g: Generator) -> dict[str, Content]:
    weights = np.ones(data.given["X"].shape)
    weights[:5] = weights[:, :5] = 0.5
    sigma = np.full((len(weights), 1), data.noise)
    return {"f.csv": text(data.given["X"]), "w.csv": text(weights), "s.csv": text(sigma)}


def with_truth(data: Data, g: Generator) -> dict[str, Content]:
    return {"f.csv": text(data.given["X"]), "t.npy": binary(lambda handle: np.save(handle, data.truth))}


def with_gross_errors(data: Data, g: Generator) -> dict[str, Content]:
    X = data.given["X"].copy()
    rows, cols = np.nonzero(np.triu(~np.isnan(X), 1))
    for k in g.choice(len(rows), 4, replace=False):
        X[rows[k], cols[k]] = X[cols[k], rows[k]] = X[rows[k], cols[k]] + 8
    return {"f.csv": text(X)}


def marked(data: Data, g: Generator, prefix: str = "c") -> dict[str, Content]:
    """Write -999 for what is below the threshold, nothing where an entry is missing at random, and their mask."""
    unknown = data.given["unknown"]
    X = np.where(unknown, np.nan, np.where(np.isnan(data.given["X"]), -999.0, data.given["X"]))
    names = {"rows": prefix, "columns": prefix} if prefix == "p" else {}
    return {"f.csv": labelled(X, **names), "m.csv": text(unknown.astype(int))}


def two_blocks(g: Generator) -> Data:
    """Draw a matrix of rank 1 of two groups that share no observed entry, and a row of which nothing is observed."""
    u = g.uniform(1, 2, (21, 1))
    truth = u @ u.T
    X = truth.copy()
    X[:10, 10:] = X[10:, :10] = np.nan
    X[20] = X[:, 20] = np.nan
    return Data({"X": X}, truth, known=Intervals(X))


def concentrations(g: Generator) -> Data:
    """Draw positive numbers of rank 2 below and above limits of measurement."""
    truth = g.uniform(0.2, 2, (30, 2)) @ g.uniform(0.2, 2, (2, 12))
    low, high = np.round(np.quantile(truth, [0.15, 0.9]), 3)
    return Data({"X": np.where((truth < low) | (truth > high), np.nan, truth), "ends": (low, high)}, truth)


def below_limits(g: Generator) -> Data:
    """Draw correlated positive numbers below one limit of measurement."""
    data = planted.table(g, 40, 6)
    low = round(float(np.quantile(data.truth, 0.2)), 3)
    X = np.where(data.truth < low, np.nan, data.truth)
    return Data({"X": X, "ends": (low, None)}, data.truth, data.noise)


def with_limits_in_cells(data: Data, g: Generator, **options: Any) -> dict[str, Content]:
    low, high = data.given["ends"]
    return {"f.csv": labelled(data.truth, below=low, above=high, **options)}


def with_gross_cells(data: Data, g: Generator) -> dict[str, Content]:
    X = data.given["X"].copy()
    rows, cols = np.nonzero(~np.isnan(X))
    for k in g.choice(len(rows), 5, replace=False):
        X[rows[k], cols[k]] += 15 * np.nanstd(X[:, cols[k]])
    return {"f.csv": labelled(X)}


def with_lost_cells(data: Data, g: Generator) -> dict[str, Content]:
    lost = g.random(data.truth.shape) < 0.05
    files = with_column_limits(Data(data.given | {"X": np.where(lost, np.nan, data.given["X"])}), g)
    return files | {"m.csv": text(lost.astype(int))}


def with_words(data: Data, g: Generator) -> dict[str, Content]:
    lines = with_column_limits(data, g)
    head, *body = lines["f.csv"].splitlines()
    table = [f"{head},remark", *(f"{line},{'dry' if k % 3 else 'wet'}" for k, line in enumerate(body))]
    return lines | {"f.csv": "\n".join(table) + "\n"}


# Commands.


def _of_matrices() -> Iterator[Case]:
    yield command("complete", of(EXACT, plain), "complete f.csv -o g.csv --json", quick=True)
    argv = "complete f.csv --rank 2 --seed 1 -o g.tsv --plot p.png --quiet"
    yield command("complete-labels", of(EXACT, with_labels), argv)
    draw = partial(planted.matrix, n=40, r=2, threshold=0.2, observed="below", random_share=0.05)
    argv = "complete f.csv --rank 2 --threshold 0.2 --observed below --unknown m.csv --bounds=-20,20 -o g.csv"
    yield command("complete-threshold", of(draw, with_mask), argv)
    draw = partial(planted.rectangular, m=30, n=12, r=2, column_quantile=0.25)
    argv = "complete f.csv --rank 2 --limits lod.csv -o g.csv --flags-out flags.csv --long-out long.csv"
    yield command("complete-limits", of(draw, with_column_limits), argv + " --mask-out mask.csv --plot p.png --json")
    argv = "complete f.csv --rank 2 --sigma s.csv --pairs one --weights w.csv -o g.csv --errors-out e.csv"
    yield command("complete-noise", of(NOISY, with_weights), argv + " --long-out long.tsv --json")
    argv = "complete f.csv --rank 2 --loss huber -o g.csv --outliers-out o.csv --json"
    yield command("complete-huber", of(NOISY, with_gross_errors), argv)
    argv = "complete f.csv --rank 2 --method gradient-descent --start tailored --tol 1e-4 --max-iter 20 --truth t.npy"
    yield command("complete-method", of(EXACT, with_truth), argv + " --device cpu -o g.csv --json")
    argv = "complete f.csv --rank 2 --method momentum-pam --max-iter 5000 -o g.csv --json"
    yield command("complete-converged", of(EXACT, plain), argv)
    draw = partial(planted.matrix, n=40, r=2, noise=0.02, threshold=0.3, random_share=0.1)
    argv = "complete f.csv --rank 2 --missing mixed --threshold auto -o g.csv --json"
    yield command("complete-gaps", of(draw, plain), argv)
    draw = partial(planted.matrix, n=40, r=2, noise=0.02, threshold=0.3)
    argv = "complete f.csv --rank 2 --threshold auto --sensitivity -o g.csv --json"
    yield command("complete-sensitivity", of(draw, plain), argv)
    argv = "complete f.csv --factor-out f.npz --max-seconds 60 --json"
    yield command("complete-factor", of(EXACT, plain), argv, main="f.npz", wants=("factor",))
    draw = partial(planted.matrix, n=40, r=3, signs=(1, 1, -1))
    argv = "complete f.csv --rank 3 --structure indefinite -o g.npy --json"
    yield command("complete-indefinite", of(draw, plain), argv)
    write = partial(with_limits_in_cells, delimiter=";", decimal=",")
    argv = "complete f.csv --rank 2 --structure rectangular -o g.npy --fit --json"
    yield command("complete-rectangular", of(concentrations, write), argv)
    draw = partial(planted.rectangular, m=30, n=30, r=2)
    argv = "complete f.csv --rank 2 --structure rectangular -o g.csv --plot p.svg"
    yield command("complete-square-table", of(draw, plain), argv)
    argv = "complete f.zarr --rank 2 --peak-memory 200MB --checkpoint kept.npz -o g.zarr"
    yield command("complete-zarr", of(EXACT, lambda data, g: zarr_array(data.given["X"])), argv)
    argv = "complete f.csv --rank 1 --threshold none --keep-undetermined --fit --quiet -o g.csv --flags-out flags.tsv"
    yield command("complete-undetermined", of(two_blocks, plain), argv)
    argv = "complete f.csv --rank 1 --threshold none -o g.csv --flags-out flags.csv --mask-out mask.csv --json"
    yield command("complete-blanks", of(two_blocks, plain), argv)


def _of_formats() -> Iterator[Case]:
    packed = partial(as_file, "f.csv.gz", lambda X: gzip.compress(text(X).encode(), mtime=0))
    yield command("formats", of(EXACT, packed), "complete f.csv.gz --rank 2 -o g.npy")
    argv = "complete f.tsv --rank 2 -o g.csv"
    write = partial(as_file, "f.tsv", lambda X: labelled(X, "p", "p", "\t"))
    yield command("formats-tsv", of(EXACT, write), argv)
    write = partial(as_file, "f.npy", lambda X: binary(lambda handle: np.save(handle, X)))
    yield command("formats-npy", of(EXACT, write), "complete f.npy --rank 2 -o g.npz")
    write = partial(as_file, "f.npy", lambda X: binary(lambda handle: np.save(handle, X.astype(np.float32))))
    yield command("formats-single", of(EXACT, write), "complete f.npy --rank 2 -o g.npy")
    write = partial(as_file, "f.npz", lambda X: binary(lambda handle: np.savez(handle, X=X)))
    yield command("formats-npz", of(EXACT, write), "complete f.npz --rank 2 -o g.npy")
    write = partial(as_file, "f.mtx", matrix_market)
    yield command("formats-mtx", of(EXACT, write), "complete f.mtx --rank 2 -o g.tsv")
    write = partial(as_file, "f.xlsx", lambda X: binary(frame(X).to_excel))
    yield command("formats-xlsx", of(EXACT, write), "complete f.xlsx --rank 2 -o g.csv")
    write = partial(as_file, "f.parquet", lambda X: binary(frame(X).to_parquet))
    yield command("formats-parquet", of(EXACT, write), "complete f.parquet --rank 2 -o g.csv")
    write = partial(as_file, "f.csv", partial(edges, missing="-999"))
    argv = "complete f.csv --rank 2 --format edges --missing-mark -999 --header -o g.csv"
    yield command("edges", of(EXACT, write), argv)
    write = partial(as_file, "f.csv", lambda X: labelled(np.where(np.isnan(X), -999.0, X), "p", "p"))
    argv = "complete f.csv --rank 2 --missing-mark -999 --header --labels -o g.csv"
    yield command("missing-mark", of(EXACT, write), argv)
    write = partial(as_file, "f.csv", lambda X: text(X).replace(",,", ",NA,").replace(",,", ",ND,"))
    yield command("missing-words", of(EXACT, write), "complete f.csv --rank 2 -o g.csv")
    yield command("stdin", of(EXACT, plain), "complete - --rank 2 -o - --quiet", stdin="f.csv", quick=True)


def _of_tables() -> Iterator[Case]:
    draw = partial(planted.table, m=40, n=6, log=False)
    argv = "impute f.csv --limits lod.csv -o g.csv --flags-out flags.csv --errors-out e.csv --long-out long.csv"
    yield command("table", of(draw, with_column_limits), argv + " --plot p.png --json")
    draw = partial(planted.table, m=40, n=6)
    argv = "impute f.csv --limits lod.csv --scale log --rank 2 --unknown m.csv -o g.csv --json"
    yield command("table-log", of(draw, with_lost_cells), argv)
    argv = "impute f.csv --threshold none --scale log -o g.csv --quiet --seed 2 --max-seconds 60"
    yield command("table-random", of(partial(draw, censored=0.0, random_share=0.1), with_column_limits), argv)
    draw = partial(planted.rectangular, m=30, n=8, r=2, noise=0.1, threshold=0.5, observed="below", random_share=0.05)
    argv = "impute f.csv --threshold 0.5 --observed below --unknown m.csv --missing-mark -999 --header --labels"
    yield command("table-seen", of(draw, marked), argv + " --format matrix -o g.csv --json")
    draw = partial(planted.table, m=40, n=6)
    yield command("table-words", of(draw, with_words), "impute f.csv --limits lod.csv --scale log -o g.tsv --quiet")
    draw = partial(planted.table, m=60, n=6, log=False)
    argv = "impute f.csv --threshold auto --loss huber -o g.csv --outliers-out o.csv --json"
    yield command("table-huber", of(draw, with_gross_cells), argv)
    argv = "impute f.csv -o g.csv --flags-out flags.csv --json"
    yield command("table-cells", of(below_limits, with_limits_in_cells), argv)


def _of_other_commands() -> Iterator[Case]:
    draw = partial(planted.matrix, n=30, r=2, noise=0.03, threshold=0.25)
    yield command("inspect", of(draw, plain), "diagnose f.csv --rank 2 --plot p.png --json")
    draw = partial(planted.rectangular, m=30, n=20, r=2, noise=0.03)
    yield command("inspect-table", of(draw, plain), "diagnose f.csv --rank 2 --seed 1 --json")
    argv = "diagnose f.csv --kind rectangular --rank 2 --threshold 0.2 --observed above --unknown m.csv"
    rest = " --missing-mark -999 --header --labels --format matrix"
    draw = partial(planted.rectangular, m=30, n=20, r=2, noise=0.03, threshold=0.2, random_share=0.05)
    yield command("inspect-threshold", of(draw, marked), argv + rest + " --json")
    yield command("certify", of(EXACT, plain), "certify f.csv --rank 2 --json", quick=True)
    argv = "certify f.csv --rank 1 --threshold none --data-error 1e-9 --no-stress --json"
    yield command("certify-open", of(two_blocks, plain), argv)
    draw = partial(planted.rectangular, m=20, n=12, r=2, threshold=None, random_share=0.6)
    argv = "certify f.csv --kind rectangular --rank 2 --threshold none --json"
    yield command("certify-table", of(draw, plain), argv)
    draw = partial(planted.matrix, n=30, r=2, threshold=0.1, observed="below", random_share=0.05)
    argv = "certify f.csv --rank 2 --threshold 0.1 --observed below --unknown m.csv --bounds=-20,20 --data-error 1e-6"
    yield command("certify-threshold", of(draw, partial(marked, prefix="p")), argv + rest + " --json")
    argv = "compare f.csv --rank 2 --threshold 0.1 --observed below --unknown m.csv --methods auto,gauss-newton"
    argv += " --trials 2 --budget 30 --csv runs.csv --quiet"
    yield command("compare-threshold", of(draw, partial(marked, prefix="p")), argv + rest)
    argv = "compare f.csv --rank 2 --methods direct,gauss-newton --csv runs.csv --truth t.npy --seed 1"
    yield command("compare", of(NOISY, with_truth), argv)
    argv = "compare --planted 30,2,0.01 --methods gauss-newton,scaled-gd --trials 2 --json runs.json --plot p.png"
    yield command("compare-planted", of(EXACT, plain), argv)
    yield command("demo", of(EXACT, plain), "demo -o shown --size 40 --rank 2 --seed 3")
    yield command("version", of(EXACT, plain), "--version")


# Points.


def plane(g: Generator) -> Data:
    """Draw the distances up to 0.45 of points in the unit square."""
    return planted.distances_within(g, g.random((30, 2)), 0.45)


def noisy_plane(g: Generator) -> Data:
    """Draw the same with noise."""
    return planted.distances_within(g, g.random((30, 2)), 0.45, 0.005)


def fold(g: Generator, count: int = 30, step: float = 3.8) -> Data:
    """Draw a chain of beads in a ball and its short distances."""
    points = [np.zeros(3)]
    while len(points) < count:
        turn = g.standard_normal(3)
        point = points[-1] + step * turn / np.linalg.norm(turn)
        apart = np.linalg.norm(point - points, axis=1).min()
        if np.linalg.norm(point) < 1.1 * step * count ** (1 / 3) and apart >= step - 1e-9:
            points.append(point)
    return planted.distances_within(g, np.round(np.array(points), 3), 10.0)


def ranges(data: Data, g: Generator, power: int = 1, mark: str = "") -> dict[str, Content]:
    """Write lines name, name, distance; with a ``mark`` also for pairs that are missing."""
    D = data.given["D"] ** power
    lines = ["from,to,distance"]
    for i, j in zip(*np.triu_indices(len(D), 1), strict=True):
        if not np.isnan(D[i, j]):
            lines.append(f"p{i},p{j},{float(D[i, j])!r}")
        elif mark:
            lines.append(f"p{i},p{j},{mark}")
    return {"d.csv": "\n".join(lines) + "\n"}


def with_anchors(data: Data, g: Generator) -> dict[str, Content]:
    anchors = "".join(f"p{k},{float(x)!r},{float(y)!r}\n" for k, (x, y) in enumerate(data.truth[:4]))
    apart = np.linalg.norm(data.truth[:, None] - data.truth, axis=2)
    rows, cols = np.nonzero(np.triu(np.isnan(data.given["D"])))
    bounds = "".join(
        f"p{i},p{j},{0.9 * apart[i, j]:.4f},{1.1 * apart[i, j]:.4f}\n"
        for i, j in zip(rows[:20], cols[:20], strict=True)
    )
    return ranges(data, g) | {"anchors.csv": anchors, "bounds.csv": bounds}


def with_wrong_ranges(data: Data, g: Generator) -> dict[str, Content]:
    lines = ranges(data, g)["d.csv"].splitlines()
    for k in 1 + g.choice(len(lines) - 1, 3, replace=False):
        one, other, distance = lines[k].split(",")
        lines[k] = f"{one},{other},{float(distance) + 1.5!r}"
    return {"d.csv": "\n".join(lines) + "\n"}


def contacts(data: Data, g: Generator) -> dict[str, Content]:
    apart = np.linalg.norm(data.truth[:, None] - data.truth, axis=2)
    near = [(i, j) for i, j in zip(*np.nonzero(np.triu(apart <= 8, 1)), strict=True)]
    lines = [f"{i + 1} {j + 1} 0 8 {0.9 if (i + j) % 5 else 0.6}" for i, j in near]
    return {"d.rr": "PFRMAT RR\n" + "\n".join(lines) + "\nEND\n"}


def pdb(data: Data, g: Generator) -> dict[str, Content]:
    lines = []
    for chain, shift in (("A", 0.0), ("B", 100.0)):
        for k, (x, y, z) in enumerate(data.truth):
            residue = RESIDUES[k % 4]
            place = f"{x + shift:8.3f}{y:8.3f}{z:8.3f}"
            lines.append(
                f"ATOM  {len(lines) + 1:>5}  CA  {residue} {chain}{k + 1:>4}    {place}  1.00  0.00           C"
            )
    return {"d.pdb": "\n".join(["MODEL        1", *lines, "ENDMDL", "END"]) + "\n"}


def cif(data: Data, g: Generator) -> dict[str, Content]:
    head = "data_MADE\n#\nloop_\n" + "".join(f"_atom_site.{name}\n" for name in CIF_COLUMNS)
    lines = [
        f"ATOM {k + 1} C CA . {RESIDUES[k % 4]} Z 1 {k + 1} {x:.3f} {y:.3f} {z:.3f} {k + 1} A 1\n"
        for k, (x, y, z) in enumerate(data.truth)
    ]
    return {"d.cif": head + "".join(lines) + "#\n"}


def distance_matrix(data: Data, g: Generator) -> dict[str, Content]:
    D = data.given["D"]
    return {"d.npy": binary(lambda handle: np.save(handle, D**2))}


def _of_points() -> Iterator[Case]:
    argv = "locate d.csv --dim 2 --cutoff 0.45 -o positions.csv --plot p.png --json"
    yield command("locate", of(plane, ranges), argv)
    argv = "locate d.csv --dim 2 --squared --sigma 0.005 --format edges --missing-mark -999 --header --labels"
    draw = of(noisy_plane, partial(ranges, power=2, mark="-999"))
    yield command("locate-squared", draw, argv + " --loss distances --tol 1e-9 --max-iter 500 --quiet -o positions.csv")
    argv = "locate d.csv --dim auto --cutoff 0.45 --seed 1 -o positions.tsv --quiet"
    yield command("locate-auto", of(plane, ranges), argv)
    argv = "locate d.npy --dim 2 --squared --cutoff 0.45 --start trilateration -o positions.xyz"
    yield command("locate-matrix", of(plane, distance_matrix), argv)
    argv = "locate d.csv --dim 2 --sigma 0.005 --anchors anchors.csv --bounds bounds.csv -o positions.csv --json"
    yield command("locate-anchors", of(noisy_plane, with_anchors), argv)
    argv = "locate d.csv --dim 2 --loss huber -o positions.csv --outliers-out o.csv --json"
    yield command("locate-robust", of(noisy_plane, with_wrong_ranges), argv)
    argv = "locate d.rr --dim 3 --probability 0.7 -o positions.csv --json"
    yield command("locate-contacts", of(fold, contacts), argv)
    argv = "locate d.pdb --atoms CA --chains A --model 1 --cutoff 10 -o positions.pdb --json"
    yield command("locate-pdb", of(fold, pdb), argv)
    yield command("locate-cif", of(fold, cif), "locate d.cif --cutoff 10 -o positions.csv --json")


# What is refused, and what cannot be written.


def given(content: dict[str, Content]) -> Callable[[Generator], Data]:
    """Return a draw function of files that are always the same."""
    return lambda g: Data({"files": content})


def ragged(data: Data, g: Generator) -> dict[str, Content]:
    lines = text(data.given["X"]).splitlines()
    lines[4] = lines[4].rpartition(",")[0]
    return {"f.csv": "\n".join(lines) + "\n"}


def mistyped(data: Data, g: Generator) -> dict[str, Content]:
    lines = [line.split(",") for line in text(data.given["X"]).splitlines()]
    lines[4][7] = "5.1O"
    return {"f.csv": "\n".join(map(",".join, lines)) + "\n"}


def oblong(data: Data, g: Generator) -> dict[str, Content]:
    return {"f.csv": text(data.given["X"]), "m.csv": text(np.zeros((3, 4)))}


def _refused() -> Iterator[Case]:
    yield command("bad-input", of(EXACT, mistyped), "complete f.csv --rank 2 -o g.csv")
    yield command("bad-input-ragged", of(EXACT, ragged), "complete f.csv --rank 2 -o g.csv")
    yield command("bad-input-empty", given({"f.csv": ""}), "complete f.csv --rank 2 -o g.csv")
    yield command("bad-input-absent", of(EXACT, plain), "complete other.csv --rank 2 -o g.csv")
    yield command("bad-input-mask", of(EXACT, oblong), "complete f.csv --rank 2 --unknown m.csv -o g.csv")
    yield command("bad-input-rank", of(EXACT, plain), "complete f.csv --rank 31 -o g.csv")
    yield command("bad-input-npy", given({"f.npy": b"\x93NUMPY and no more"}), "complete f.npy --rank 2 -o g.csv")
    yield command("bad-output", of(EXACT, plain), "complete f.csv --rank 2 -o absent/g.csv")
    yield command("bad-option", of(EXACT, plain), "complete f.csv --rank 2 --loss cubic -o g.csv")
    yield command("bad-distances", given({"d.csv": "a,b,1\nb,c,-2\n"}), "locate d.csv --dim 2 -o positions.csv")
