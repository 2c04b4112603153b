"""``unrelu locate``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.complete_distances import complete_distances
from unrelu._old.distances.options import LOSSES, ROBUST, STARTS
from unrelu._old.io.disk import together
from unrelu._old.io.outliers import OUTLIER_FILES, write_outliers
from unrelu._old.io.positions import check_positions_target, write_positions
from unrelu._old.io.restraints import read_anchors
from unrelu._old.loop.history import Stop
from unrelu._old.results.distances import DistanceCompletion
from unrelu._old.shell import options
from unrelu._old.shell.common import (
    check_output,
    distinct,
    ended,
    guarded,
    ignore_interrupts,
    kept_warnings,
    shown_names,
    warn,
    watching,
)
from unrelu._old.shell.help import values_of
from unrelu._old.shell.points import AUTO, LIKELY, LOCATED, Known, PointFile, wanted_dim
from unrelu._old.shell.streams import deliver, out
from unrelu._old.shell.wording import for_shells

__all__ = ["locate_command"]


# Options that no other command has.
File = Annotated[
    Path,
    typer.Argument(
        metavar=options.FILE,
        help="Distances: lines 'name, name, distance' or 'name, name, distance, sigma', or a matrix; .csv, .tsv, .npy, "
        ".npz or .mtx. Contacts: lines 'name name', .rr, .txt, .csv or .tsv. A structure: .pdb or .cif.",
    ),
]
Dim = Annotated[
    str | None,
    typer.Option(
        "--dim",
        "-d",
        metavar=options.COUNT,
        help="How many coordinates a point has, or auto to have it found; of a structure 3.",
        show_default=False,
        autocompletion=values_of(AUTO),
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar=options.FILE,
        help="Where to write the positions: .csv, .tsv, .xyz or, in space, .pdb.",
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        metavar=options.NUMBER,
        help="Every distance that is not there is at least this. Contacts are closer, and of a structure the distances "
        "up to this are taken.",
    ),
]
Anchors = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE, help="Known positions, lines 'name, coordinates'; all points come in their frame."
    ),
]
Bounds = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="Bounds on further distances, lines 'name, name, lower, upper'."),
]
Squared = Annotated[bool, typer.Option("--squared", metavar=options.FLAG, help="The file holds squared distances.")]
Sigma = Annotated[
    float | None,
    typer.Option(metavar=options.NUMBER, help="Standard deviation of the distances.", show_default="estimated"),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar=options.NAME,
        help="What the file holds: edges, matrix or contacts.",
        show_default="look",
        autocompletion=values_of(*LOCATED),
    ),
]
Atoms = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Of a structure: which atoms, with commas between, or heavy for all but hydrogen.",
        show_default="CA",
    ),
]
Chains = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Of a structure: which chains, with commas between.", show_default="all"),
]
Model = Annotated[
    int | None,
    typer.Option(metavar=options.COUNT, help="Of a structure: which model, counted from 1.", show_default="1"),
]
Probability = Annotated[
    float | None,
    typer.Option(
        metavar=options.NUMBER, help="Contacts that are less probable say nothing.", show_default=f"{LIKELY:g}"
    ),
]
Start = Annotated[
    str,
    typer.Option(metavar=options.NAME, help=f"Where to begin: {', '.join(STARTS)}.", autocompletion=values_of(*STARTS)),
]
Loss = Annotated[
    str,
    typer.Option(
        metavar=options.NAME, help=f"What a misfit costs: {', '.join(LOSSES)}.", autocompletion=values_of(*LOSSES)
    ),
]
Robust = Annotated[
    bool,
    typer.Option(
        "--robust",
        metavar=options.FLAG,
        help="Some distances, up to a tenth, are grossly wrong: find them, and fit the others.",
    ),
]
OutliersOut = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="Where to write the distances found wrong, with --robust: .csv or .tsv."),
]
Seed = Annotated[int, typer.Option(metavar=options.COUNT, help="Seed; the same seed gives the same answer.")]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        metavar=options.SECONDS,
        help=f"{options.BEST_SO_FAR} Reading and writing files, and single steps of linear algebra on many points, are "
        "not cut short.",
    ),
]
Plot = Annotated[Path | None, typer.Option(metavar=options.FILE, help="Where to draw a map: .png, .svg or .pdf.")]


@guarded
def locate_command(
    file: File,
    output: Output,
    dim: Dim = None,
    cutoff: Cutoff = None,
    anchors: Anchors = None,
    bounds: Bounds = None,
    squared: Squared = False,
    sigma: Sigma = None,
    layout: Layout = None,
    atoms: Atoms = None,
    chains: Chains = None,
    model: Model = None,
    probability: Probability = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    start: Start = "auto",
    loss: Loss = "auto",
    robust: Robust = False,
    outliers_out: OutliersOut = None,
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    plot: Plot = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Find the positions of points from some of their distances, and say which of them the data fix."""
    sigma, seconds = _checked_sigma(sigma), options.checked_seconds(max_seconds)
    read_as = (layout, header, labels, tuple(missing or ()), sigma is not None)
    told = PointFile(file, cutoff, *read_as, atoms, chains, model, probability)
    count, loss = wanted_dim(dim, told), _chosen_loss(loss, robust, outliers_out)
    files = _Files(output, plot, outliers_out)
    files.check(count, [path for path in (file, anchors, bounds) if path is not None])
    known = told.read(bounds)
    shown = known.renamed(shown_names(known.names, as_json=as_json) or ())
    with kept_warnings() as notes, watching(quiet or as_json) as watched:
        completion = complete_distances(
            shown.data,
            count,
            **shown.limits,
            squared=squared,
            sigma=_checked_sigma(sigma),
            anchors=None if anchors is None else read_anchors(anchors, known.names, _named_dim(count)),
            loss=loss,
            start=start,
            max_iter=max_iter,
            tol=tol,
            rng=options.checked_seed(seed),
            names=shown.names,
            max_seconds=seconds,
            **watched.options,
        )
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    files.write(completion, known.names)
    files.tell(completion, known, notes, "json" if as_json else "nothing" if quiet else "words")
    return ended(completion.verdict, quiet)


def _chosen_loss(loss: str, robust: bool, outliers_out: Path | None) -> str:
    """``--robust`` is a loss under a name that says what it is for."""
    if robust and loss not in ("auto", ROBUST):
        raise InputError(f"--robust has a loss of its own, got --loss {loss} beside it; leave one of them out")
    if outliers_out is not None and not robust and loss != ROBUST:
        raise InputError("--outliers-out needs --robust: only then wrong distances are looked for")
    return ROBUST if robust else loss


def _checked_sigma(sigma: float | None) -> float | None:
    if sigma is not None and not sigma > 0:
        raise InputError(f"--sigma must be a positive number, got {sigma:g}; leave it out to have it estimated")
    return sigma


def _named_dim(count: int | str) -> int:
    """Anchors have coordinates, which say how many there are."""
    if isinstance(count, str):
        raise InputError(
            "--anchors have coordinates, so that --dim auto has nothing to find; say --dim 2, for instance"
        )
    return count


@dataclass(frozen=True)
class _Files:
    """Where an answer goes: the positions, and if wanted a map of them and the distances found wrong."""

    output: Path
    plot: Path | None
    outliers: Path | None = None

    def check(self, dim: int | str, inputs: list[Path]) -> None:
        """Refuse files that could not be written in the end, before the work starts."""
        if isinstance(dim, str) and self.output.suffix.lower() == ".pdb":
            raise InputError(f"{self.output} would hold points of three dimensions, got --dim auto; say --dim 3")
        check_positions_target(self.output, 1 if isinstance(dim, str) else dim, inputs=inputs)
        if self.plot is not None:
            check_output(self.plot, (".png", ".svg", ".pdf"), inputs)
            if isinstance(dim, int) and dim > 3:
                raise InputError(f"--plot draws up to three dimensions, got --dim {dim}; leave it out")
        if self.outliers is not None:
            check_output(self.outliers, OUTLIER_FILES, inputs)
        distinct({"--output": self.output, "--plot": self.plot, "--outliers-out": self.outliers})

    def write(self, completion: DistanceCompletion, names: tuple[str, ...]) -> None:
        """All of them or none, with the names that the points came with."""
        with together(ignore_interrupts):
            write_positions(
                self.output,
                completion.points,
                names=names,
                determinacy=completion.determinacy.tolist(),
                components=completion.components,
                standard_errors=completion.standard_errors,
                comment=f"{completion.size} points from {len(completion.pairs)} distances by unrelu locate",
            )
            if self.outliers is not None:
                given = dict(zip(completion.names or (), names, strict=True))
                wrong = [(given[one.row], given[one.column], one) for one in completion.distrusted]
                rows = [(row, column, one.value, one.expected, one.deviations) for row, column, one in wrong]
                write_outliers(self.outliers, rows)
            if self.plot is not None:
                from unrelu._old.show.maps import draw_map
                from unrelu._old.show.plots import save_figure

                save_figure(draw_map(completion), self.plot)

    def _tell_programs(self, completion: DistanceCompletion, known: Known, notes: list[str]) -> None:
        """What came out and where it is, as JSON."""
        about = {**completion.summary(), "explanation": completion.explain()}
        about |= {"read": list(known.words), "truth": known.off(completion)}
        plot, outliers = (None if path is None else str(path) for path in (self.plot, self.outliers))
        about |= {"output": str(self.output), "plot": plot, "outliers": outliers, "warnings": notes}
        deliver(json.dumps(about), f"{self.output} is written")

    def tell(self, completion: DistanceCompletion, known: Known, notes: list[str], how: str) -> None:
        """What came out and where it is: as ``json``, in ``words``, or ``nothing`` but what is wrong with it."""
        if how == "json":
            self._tell_programs(completion, known, notes)
            return
        warn(notes)
        if how == "nothing":
            return
        seconds = completion.history[-1].seconds if len(completion.history) else 0.0
        told = [*known.words, for_shells(completion.explain()), *_beside_truth(known.off(completion))]
        told += [f"Relative residual {completion.residual:.2e}, {seconds:.2f} s."]
        told += [f"wrote {printable(path)}" for path in (self.output, self.plot, self.outliers) if path is not None]
        out("\n".join(told))


def _beside_truth(off: dict[str, Any] | None) -> list[str]:
    """How far the points are from where the file has them."""
    if off is None:
        return []
    rest = f"all points {off['rmsd']:.2g}"
    if off["rmsd_determined"] is None:
        return [f"RMSD from the coordinates in the file: {rest}."]
    fixed = f"the {off['determined']} determined points {off['rmsd_determined']:.2g}"
    return [f"RMSD from the coordinates in the file: {fixed} (farthest {off['farthest_determined']:.2g}), {rest}."]
