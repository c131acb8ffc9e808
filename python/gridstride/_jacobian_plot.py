"""Draws Jacobians with matplotlib, for `wp.autograd.jacobian_plot`."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(
    jacobians: dict[tuple[int, int], Any],
    metadata: Any,
    show_plot: bool,
    show_colorbar: bool,
    own_scale: bool,
    title: str | None,
    colormap: str,
    log_scale: bool,
) -> Any:
    """A figure with a row of pictures for each output and a column for each input."""
    columns = sorted({i for i, _ in jacobians})
    rows = sorted({o for _, o in jacobians})
    if not columns or not rows:
        return None
    lengths = {i: _components(metadata, i) for i in columns}
    for o in rows:
        _label(metadata.output_labels, o, "output")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    values = {
        (i, o): jacobian.numpy().reshape(jacobian.shape[0], jacobian.shape[1] * lengths[i])
        for (i, o), jacobian in jacobians.items()
    }
    if log_scale:
        values = {pair: np.log10(np.abs(found) + 1e-8) for pair, found in values.items()}
    widths = [next(found.shape[1] for (i, _), found in values.items() if i == column) for column in columns]
    heights = [next(found.shape[0] for (_, o), found in values.items() if o == row) for row in rows]
    figure, axes = plt.subplots(
        ncols=len(columns),
        nrows=len(rows),
        figsize=(7, 7),
        layout="constrained",
        sharex="col",
        sharey="row",
        gridspec_kw={"wspace": 0.1, "hspace": 0.1, "width_ratios": widths, "height_ratios": heights},
        subplot_kw={"aspect": 1},
        squeeze=False,
    )
    title = title or f"{metadata.key or 'unknown'} kernel Jacobian"
    figure.suptitle(title)
    if figure.canvas.manager is not None:
        figure.canvas.manager.set_window_title(title)
    scale = _range(list(values.values()))
    for r, o in enumerate(rows):
        for c, i in enumerate(columns):
            axis, found = axes[r, c], values.get((i, o))
            if found is None:
                axis.axis("off")
                continue
            low, high = _range([found]) if own_scale else scale
            extent = (0, found.shape[1], 0, found.shape[0])
            image = axis.imshow(
                found, cmap=colormap, aspect="auto", interpolation="nearest", extent=extent, vmin=low, vmax=high
            )
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
            axis.grid(color="black", which="major", linewidth=1.0)
            if not any((i, below) in values for below in rows[r + 1 :]):
                axis.set_xlabel(metadata.input_labels[i])
            if not any((left, o) in values for left in columns[:c]):
                axis.set_ylabel(metadata.output_labels[o])
            if show_colorbar and own_scale:
                plt.colorbar(image, ax=axis, orientation="vertical", pad=0.02)
    if show_colorbar and not own_scale:
        mappable = plt.cm.ScalarMappable(cmap=colormap)
        mappable.set_clim(*scale)
        plt.colorbar(mappable, ax=axes, orientation="vertical", pad=0.02)
    if show_plot:
        plt.show()
    return figure


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    known = np.concatenate([found[~np.isnan(found)].ravel() for found in values])
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def _label(labels: Any, index: int, role: str) -> str:
    if not 0 <= index < len(labels or ()):
        n = len(labels or ())
        raise ValueError(f"Invalid Jacobian {role} index {index}: plotting metadata defines {n} {role}s")
    if labels[index] is None:
        raise ValueError(f"Invalid plotting metadata for Jacobian {role} index {index}: missing label")
    return labels[index]


def _components(metadata: Any, index: int) -> int:
    """Numbers of an element of an input."""
    _label(metadata.input_labels, index, "input")
    place = f"Invalid plotting metadata for Jacobian input index {index}"
    dtypes = metadata.input_dtypes or ()
    if index >= len(dtypes) or dtypes[index] is None:
        raise ValueError(f"{place}: missing array dtype")
    length = getattr(dtypes[index], "_length_", None)
    if length is None:
        raise ValueError(f"{place}: array dtype has no component count")
    return length
