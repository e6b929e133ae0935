"""Pictures that commands write."""

from pathlib import Path
from typing import Any

from unirel._runtime import atomic_path
from unirel.cli import BadInput

_ENDINGS = (".png", ".svg", ".pdf")


def check_plot(path: Path, source: str) -> None:
    """Refuse a file that cannot be written, and a picture that cannot be drawn, before the work begins."""
    if path.suffix.lower() not in _ENDINGS:
        raise BadInput(f"--plot '{path}' has no known ending; end it with {', '.join(_ENDINGS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"--plot '{path}' cannot be written: there is no such folder, or it is one")
    if Path(source).exists() and path.exists() and path.samefile(source):
        raise BadInput(f"--plot '{path}' is the file that is read; name another one")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("--plot needs matplotlib; install it with: pip install 'unirel[plot]'") from None


def save_plot(evaluation: Any, path: Path) -> None:
    """Draw the scores of a comparison, a panel for each model."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from unirel.plotting import AccuracyDisplay

    models = list(dict.fromkeys(row["model"] for row in evaluation.rows))
    figure = Figure(figsize=(3.6 * len(models) + 0.6, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
    for model, panel in zip(models, panels, strict=True):
        AccuracyDisplay.from_evaluation(evaluation, model).plot(panel)
        panel.set_title(model, loc="left")
        panel.label_outer()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix[1:].lower())
