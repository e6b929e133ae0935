"""
Which words give a topic away?
==============================

Documents as counts of words are a table with very many columns that are nearly all
zero. A sparse matrix is read from its stored entries and never made dense.
"""

# %%
# Two thousand synthetic documents from four groups. Each has a few words of
# its topic, some of which come in pairs, and many of 20,000 words that mean nothing.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array, hstack, random_array

from unirel import BURSelector

TOPICS = {
    "space": ["orbit", "launch", "moon", "shuttle", "nasa", "probe"],
    "hockey": ["goal", "ice", "puck", "playoff", "season", "goalie"],
    "medicine": ["doctor", "dose", "patient", "symptom", "disease", "cure"],
    "motors": ["engine", "brake", "gear", "ride", "clutch", "fuel"],
}
PAIRS = {"orbit": "orbiting", "puck": "pucks", "doctor": "doctors", "engine": "engines"}

rng = np.random.default_rng(0)
topic = rng.integers(0, 4, 2000)
words, columns = [], []
for number, own in enumerate(TOPICS.values()):
    for place, word in enumerate(own):
        chance = np.where(topic == number, 0.5 - 0.06 * place, 0.02)
        present = rng.random(2000) < chance
        words.append(word)
        columns.append(present)
        if word in PAIRS:
            words.append(PAIRS[word])
            columns.append(present & (rng.random(2000) < 0.95))
topical = csr_array(np.column_stack(columns).astype(float))
filler = random_array((2000, 20_000), density=0.005, rng=rng) > 0
X = hstack([topical, filler.astype(float)], format="csr")
names = np.array([*words, *(f"word{number:05d}" for number in range(20_000))])
print(f"{X.shape[0]:,} documents, {X.shape[1]:,} words, {X.nnz:,} entries")

# %%
# Counting works on sparse columns: `beta=0`, since unique relevance asks for
# neighbours. Among its first ten words the ranking takes both of three pairs. `cmim`
# takes one of each.

ranked = BURSelector("mim", 10, beta=0).fit(X, topic).order_
selected = BURSelector("cmim", 10, beta=0).fit(X, topic).order_

# %%
# In which share of the documents of a topic a selected word occurs. Words in red
# repeat a word above them.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for ax, title, order in [
    (axes[0], "ranking (mim)", ranked),
    (axes[1], "cmim", selected),
]:
    dense = X[:, order].toarray() > 0
    share = np.array([dense[topic == number].mean(axis=0) for number in range(4)])
    image = ax.imshow(share.T, cmap="Blues", vmin=0, vmax=0.55, aspect="auto")
    ax.set_xticks(range(4), TOPICS)
    ax.set_yticks(range(10), names[order])
    for place, label in enumerate(ax.get_yticklabels()):
        earlier = set(names[order[:place]])
        twin = PAIRS.get(names[order[place]])
        repeats = twin in earlier or any(
            PAIRS.get(word) == names[order[place]] for word in earlier
        )
        label.set_color("C1" if repeats else "black")
    ax.set_title(title)
figure.colorbar(image, ax=axes, label="share of documents with the word")
plt.show()
