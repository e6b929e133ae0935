"""What has changed between two tables, in words."""

import numpy as np

from unirel.inference.drift import RelevanceChange

# Features that are named as gained or lost.
_NAMED = 3


def change_in_words(found: RelevanceChange, target: str, alpha: float) -> list[str]:
    """How many features have gained or lost information, and which the most."""
    changed = [one for one in found.order.tolist() if found.adjusted[one] <= alpha]
    n_compared = int(np.count_nonzero(~np.isnan(found.adjusted)))
    rate = f"at a false discovery rate of {alpha:.0%}"
    if not changed:
        return [f"None of {n_compared} features has changed significantly, {rate}: differences may be chance."]
    gained = [one for one in changed if found.change[one] > 0]
    lost = [one for one in changed if found.change[one] <= 0]
    counts = f"{len(gained)} gained and {len(lost)} lost"
    said = [f"Of {n_compared} features, {counts} information about '{target}', {rate}."]
    for verb, features in (("Lost", lost), ("Gained", gained)):
        if features:
            more = f" and {len(features) - _NAMED} more" if len(features) > _NAMED else ""
            named = (f"'{found.names[one]}' ({found.before[one]:.2f} to {found.after[one]:.2f})" for one in features)
            said.append(f"{verb}, in nats: {', '.join(list(named)[:_NAMED])}{more}.")
    return [" ".join(said)]
