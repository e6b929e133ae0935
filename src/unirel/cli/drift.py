"""`unirel drift`: which features have gained or lost information between two tables."""

from dataclasses import replace
from typing import Any

from unirel.cli import Output
from unirel.cli import options as flags

_COLUMNS = ("name", "before", "after", "change", "p_value", "adjusted", "significant")


@flags.with_flags(
    "unirel drift old.parquet new.parquet --target outcome",
    "unirel drift 2023.csv 2024.csv --target outcome --plot drift.png",
)
def drift(*, data: flags.Data, new: flags.NewData, options: flags.Drifting, printing: flags.Printing) -> int:
    """Tell which features have gained or lost information about the target between two tables."""
    output = Output(printing)
    old, later = output.open(data), output.open(replace(data, data=new))
    from unirel import compare_relevance
    from unirel.report.drift import change_in_words

    asked: Any = {"n_permutations": options.permutations, "random_state": options.seed, "verbose": output.verbose}
    asked |= {"common_bins": options.common_bins, "target_type": old.kinds["target_type"]}
    if isinstance(known := old.kinds["discrete_features"], dict):
        asked["discrete_features"] = {name: kind for name, kind in known.items() if name in later.names}
    with output.catching_warnings():
        found = compare_relevance(old.X, old.y, later.X, later.y, **asked)
    content = {"data": {**old.about, "new": later.origin.source}, "alpha": options.alpha, **found.to_dict()}
    significant = found.significant(options.alpha)
    for row, is_significant in zip(content["features"], significant.tolist(), strict=True):
        row["significant"] = "yes" if is_significant else "no"
    rows = [content["features"][feature] for feature in found.order]
    shown = rows[: options.top or None]
    words = change_in_words(found, old.origin.target, options.alpha)
    if len(shown) < len(rows):
        words.append(f"{len(rows) - len(shown):,} more are not shown (--top 0).")
    output.show("drift", content, _COLUMNS, shown, words, [column.replace("_", "-") for column in _COLUMNS])
    if options.plot is not None:
        from unirel.plotting.display import write_figure

        write_figure(found, options.plot, alpha=options.alpha)
        output.tell(f"wrote {options.plot}")
    return output.end(found.complete, "these are the features that were compared")
