"""`unirel relevance`: what every feature tells by itself."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel.cli.exits import Exit
from unirel.cli.options import METHOD, flag, takes
from unirel.cli.output import Printing
from unirel.cli.request import Request
from unirel.options import EstimationOptions, MeasureOptions, SignificanceOptions, complete, part_of

if TYPE_CHECKING:
    from unirel.results import RelevanceTest

EXAMPLES = """Examples:

unirel relevance data.csv --target outcome

unirel relevance data.csv --target outcome --test

unirel relevance data.csv --target outcome --top 0 --csv > relevance.csv
"""

COLUMNS = ("rank", "name", "kind", "missing", "relevance")
TESTED = ("p_value", "adjusted", "significant")

Top = Annotated[int, typer.Option("--top", "-n", min=0, help="How many rows, 0 for all; --json prints all.")]
Test = Annotated[bool, flag(METHOD, "Test which features could tell what they tell by chance.", "--test")]
Alpha = Annotated[
    float,
    flag(METHOD, "With --test: the share of false alarms to expect at most.", "--alpha", min=0.0, max=1.0),
]
Permutations = Annotated[int, flag(METHOD, "With --test: permutations at most.", "--permutations", min=1)]
Seed = Annotated[int, flag(METHOD, "With --test: seed of the permutations.", "--seed", min=0)]


@takes(MeasureOptions, without=["metric"])
def command(
    request: Request,
    top: Top = 30,
    test: Test = False,
    alpha: Alpha = 0.05,
    permutations: Permutations = 1000,
    seed: Seed = 0,
    *,
    printing: Printing,
    **options: Any,
) -> int:
    """Print how much every feature tells about the target by itself, in nats, best first."""
    given = request.open(options, printing.messages, in_parts=True)
    from unirel.estimation.base import make_information

    estimation = complete(EstimationOptions, part_of(EstimationOptions, given.options), "relevance")
    tested = None
    with printing.messages.catching_warnings():
        table = given.read()
        information = make_information(table, estimation)
        raw = information.relevance(table.features)
        values = information.bounded_pairs(raw, table.features, table.target)
        entropy = information.entropy(table.target) if table.discrete[table.target] else None
        if test:
            from unirel.inference.tests import permutation_test

            asked = {"n_permutations": permutations, "random_state": seed, "verbose": not printing.quiet}
            tested = permutation_test(
                information, complete(SignificanceOptions, {**given.options, **asked}, "relevance")
            )
    ranked = sorted(zip(values.tolist(), table.features.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
    rows: list[list[Any]] = []
    for rank, (value, feature) in enumerate(ranked, start=1):
        column = table.columns[feature]
        rows.append([rank, column.name, column.kind, column.n_missing, value, *_about(tested, feature, alpha)])
    source, target = given.origin.source, given.origin.target
    columns = COLUMNS if tested is None else (*COLUMNS, *TESTED)
    features = [dict(zip(columns, row, strict=True)) for row in rows]
    content: dict[str, Any] = {"data": {"source": source, "target": target}, "entropy": entropy, "features": features}
    shown = rows[:top] if top else rows
    left = f" {len(rows) - len(shown):,} more are not shown (--top 0)." if len(shown) < len(rows) else ""
    most = f" There are {entropy:.4f} to know about '{target}'." if entropy is not None else ""
    words = f"Relevance is mutual information with '{target}' in nats; 0 tells nothing.{most}{left}"
    if tested is not None:
        content["test"] = {"alpha": alpha, "complete": tested.complete, "settings": dict(tested.settings)}
        words += f" {_in_words(tested, alpha, target)}"
    printing.show("relevance", content, columns, shown, words, [column.replace("_", "-") for column in columns])
    if tested is not None and not tested.complete:
        printing.messages.tell("interrupted; p-values are from the permutations that were made")
        return Exit.INTERRUPTED
    return Exit.OK


def _about(tested: "RelevanceTest | None", feature: int, alpha: float) -> list[Any]:
    """What the test says of one feature."""
    if tested is None:
        return []
    p_value, adjusted = float(tested.p_value[feature]), float(tested.adjusted[feature])
    return [p_value, adjusted, "yes" if adjusted <= alpha else "no"]


def _in_words(tested: "RelevanceTest", alpha: float, target: str) -> str:
    """What the test found, and what its numbers mean."""
    n_tested, n_found = len(tested.adjusted[tested.adjusted == tested.adjusted]), int(tested.significant(alpha).sum())
    found = (
        f"{n_found:,} of {n_tested:,} features are significant: of such a list, {alpha:.0%} or less are expected to be "
        "there by chance."
        if n_found
        else f"None of {n_tested:,} features is significant: all that they seem to tell may be chance."
    )
    return (
        f"{found} The p-value of a feature is how often one that has nothing to do with '{target}' would tell at least "
        "as much; among many features some have a small one by chance, and the adjusted value allows for that. A "
        "feature that is not significant may still matter: there may be too few rows to see it, or it tells something "
        "only together with others."
    )
