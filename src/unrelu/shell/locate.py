"""``unrelu locate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu.base.errors import InputError
from unrelu.base.printable import printable
from unrelu.complete_distances import complete_distances
from unrelu.io.disk import together
from unrelu.io.measurements import read_distances
from unrelu.io.positions import check_positions_target, write_positions
from unrelu.io.restraints import read_anchors, read_bounds
from unrelu.loop.history import Stop
from unrelu.results.distances import DistanceCompletion
from unrelu.shell import options
from unrelu.shell.common import (
    check_output,
    distinct,
    ended,
    exit_code,
    guarded,
    kept_warnings,
    shown_names,
    warn,
    watching,
)
from unrelu.shell.streams import deliver, out

__all__ = ["locate_command"]


@guarded
def locate_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="Distances: lines 'name, name, distance\\[, sigma]', or a matrix; .csv, .tsv, .npy, .npz or .mtx."
        ),
    ],
    dim: Annotated[int, typer.Option("--dim", "-d", help="How many coordinates a point has.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the positions: .csv, .tsv, .xyz or, in space, .pdb.")
    ],
    cutoff: Annotated[float | None, typer.Option(help="Every distance that is not there is at least this.")] = None,
    anchors: Annotated[
        Path | None, typer.Option(help="Known positions, lines 'name, coordinates'; all points come in their frame.")
    ] = None,
    bounds: Annotated[
        Path | None, typer.Option(help="Bounds on further distances, lines 'name, name, lower, upper'.")
    ] = None,
    squared: Annotated[bool, typer.Option("--squared", help="The file holds squared distances.")] = False,
    sigma: Annotated[
        float | None, typer.Option(help="Standard deviation of the distances.", show_default="estimated")
    ] = None,
    layout: Annotated[
        str | None, typer.Option("--format", help="What the file holds: edges or matrix.", show_default="look")
    ] = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    start: Annotated[str, typer.Option(help="Where to start; auto finds out.")] = "auto",
    loss: Annotated[str, typer.Option(help="How misfit is measured; auto finds out.")] = "auto",
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    max_seconds: options.MaxSeconds = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same answer.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Where to draw a map: .png, .svg or .pdf.")] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Find the positions of points from some of their distances, and say which of them the data fix."""
    inputs = [path for path in (file, anchors, bounds) if path is not None]
    if dim < 1:
        raise InputError(f"--dim must be at least 1, the number of coordinates of a point, got {dim}")
    if sigma is not None and not sigma > 0:
        raise InputError(f"--sigma must be a positive number, got {sigma:g}; leave it out to have it estimated")
    seconds = options.checked_seconds(max_seconds)
    check_positions_target(output, dim, inputs=inputs)
    if plot is not None:
        check_output(plot, (".png", ".svg", ".pdf"), inputs)
        if dim > 3:
            raise InputError(f"--plot draws up to three dimensions, got --dim {dim}; leave it out")
    distinct({"--output": output, "--plot": plot})
    measured = read_distances(
        file, layout=layout, header=header, labels=labels, missing=missing or (), repeats=sigma is not None
    )
    lower, upper = (None, None) if bounds is None else read_bounds(bounds, measured.names)
    shown = shown_names(measured.names)
    limited: dict[str, Any] = {} if seconds is None else {"max_seconds": seconds}
    with kept_warnings() as notes, watching(quiet or as_json) as watched:
        completion = complete_distances(
            measured.data,
            dim,
            cutoff=cutoff,
            squared=squared,
            sigma=sigma,
            lower=lower,
            upper=upper,
            anchors=None if anchors is None else read_anchors(anchors, measured.names, dim),
            loss=loss,
            start=start,
            max_iter=max_iter,
            tol=tol,
            rng=options.checked_seed(seed),
            names=shown,
            **limited,
            **watched.options,
        )
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    with together(final=exit_code(completion.verdict)):
        write_positions(
            output,
            completion.points,
            names=measured.names,
            determinacy=completion.determinacy.tolist(),
            components=completion.components,
            standard_errors=completion.standard_errors,
            comment=f"{completion.size} points from {len(completion.pairs)} distances by unrelu locate",
        )
        if plot is not None:
            from unrelu.show.maps import draw_map
            from unrelu.show.plots import save_figure

            save_figure(draw_map(completion), plot)
    if as_json:
        about = {**completion.summary(), "explanation": completion.explain()}
        about |= {"output": str(output), "plot": None if plot is None else str(plot), "warnings": notes}
        deliver(json.dumps(about), f"{output} is written")
    else:
        warn(notes)
        if not quiet:
            _report(completion, [path for path in (output, plot) if path is not None])
    return ended(completion.verdict, quiet)


def _report(completion: DistanceCompletion, written: list[Path]) -> None:
    seconds = completion.history[-1].seconds if len(completion.history) else 0.0
    told = [completion.explain(), f"Relative residual {completion.residual:.2e}, {seconds:.2f} s."]
    out("\n".join(told + [f"wrote {printable(path)}" for path in written]))
