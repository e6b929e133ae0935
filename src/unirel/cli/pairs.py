"""`unirel interactions`: pairs of features that tell more together than one by one."""

from typing import Any

from unirel.cli import Exit, Output, bar
from unirel.cli import options as flags

_COLUMNS = ("first", "second", "synergy", "first_relevance", "second_relevance", "p_value", "adjusted", "significant")
_HEADERS = ("first", "second", "synergy", "", "first alone", "second alone", "p-value", "adjusted", "significant")


@flags.with_flags(
    "unirel interactions data.csv --target outcome",
    "unirel interactions data.csv --target outcome --columns dose,age",
    "unirel interactions data.csv --target outcome --plot pairs.png",
)
def interactions(data: flags.Data, options: flags.Pairing, printing: flags.Printing) -> int:
    """Find pairs of features that have information about the target only together."""
    output = Output(printing)
    given = output.open(data)
    columns = flags.find_names(options.columns, given.names, "--columns") or None
    from unirel import interactions as find_interactions
    from unirel.report.pairs import pairs_in_words

    asked: Any = {"max_pairs": options.top, "n_permutations": options.permutations, "max_seconds": options.max_seconds}
    asked |= {"random_state": options.seed, "n_jobs": options.jobs, "verbose": output.verbose, **given.kinds}
    with output.catching_warnings():
        found = find_interactions(given.X, given.y, columns=columns, **asked)
    content = {"data": given.about, "alpha": options.alpha, **found.to_dict()}
    for row, is_significant in zip(content["pairs"], found.significant(options.alpha).tolist(), strict=True):
        row["significant"] = "yes" if is_significant else "no"
    words = pairs_in_words(found, given.origin.target, options.alpha)
    cells = [[row[column] for column in _COLUMNS] for row in content["pairs"]]
    largest = max([0.0, *found.synergy.tolist()])
    shown = [[*row[:3], bar(row[2], largest), *row[3:]] for row in cells]
    output.show("interactions", content, _COLUMNS, content["pairs"], words, _HEADERS, shown)
    if options.plot is not None:
        from unirel.plotting.display import write_figure

        write_figure(found, options.plot, alpha=options.alpha)
        output.tell(f"wrote {options.plot}")
    return Exit.OK if found.complete or options.max_seconds is not None else Exit.INTERRUPTED
