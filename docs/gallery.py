"""How the gallery is ordered and drawn."""

# The gallery begins with what a newcomer asks; an example that is not named here comes last.
EXAMPLES = [
    *("answer", "unique_relevance", "redundancy", "genes", "mixed", "regression"),
    *("classes", "pipeline", "weights", "stability", "comparing", "million", "text"),
    *("pairs", "costs", "drift", "targets", "rows_together"),
    *("own_criterion", "relevance", "selection", "ties", "chance", "truth", "unique_designs", "quality"),
]


def example_order(filename):
    name = filename.removeprefix("plot_").removesuffix(".py")
    return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), filename)


def draw_quietly(gallery_conf, fname):
    """Colours that survive colour blindness, no box around the axes; for every example anew."""
    import matplotlib as mpl

    mpl.rcdefaults()
    colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
    mpl.rcParams.update(
        {
            "axes.prop_cycle": mpl.cycler(color=colors),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "figure.dpi": 110,
            "savefig.dpi": 110,
        }
    )
