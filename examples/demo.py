"""Show how much each feature of the breast cancer data tells about the diagnosis."""

from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer

import unirel

BAR = 30


def main():
    data = load_breast_cancer()
    start = perf_counter()
    relevance = unirel.relevance(data.data, data.target)
    seconds = perf_counter() - start

    width = max(map(len, data.feature_names))
    print(f"rank  {'feature':<{width}}  relevance")
    for rank, j in enumerate(np.argsort(-relevance, kind="stable"), start=1):
        bar = "#" * round(BAR * relevance[j] / relevance.max())
        print(f"{rank:4d}  {data.feature_names[j]:<{width}}  {relevance[j]:9.4f}  {bar}".rstrip())

    shares = np.bincount(data.target) / len(data.target)
    entropy = -np.sum(shares * np.log(shares))
    n_samples, n_features = data.data.shape
    print(
        f"\n{n_samples} samples, {n_features} features, {seconds:.2f} s (the first run also compiles)."
        "\nRelevance is the mutual information of a feature and the diagnosis, in nats:"
        f" 0 tells nothing, {entropy:.4f} (the entropy of the diagnosis) tells everything."
    )


if __name__ == "__main__":
    main()
