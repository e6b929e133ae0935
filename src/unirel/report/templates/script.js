"use strict";
(() => {
  // Vega's interpreter runs expressions without eval, which the content security policy forbids.
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme } };
  window.views = {};
  const drawn = Object.entries(specs).map(([name, spec]) =>
    vegaEmbed(document.getElementById("chart-" + name), spec, options)
      .then((result) => { window.views[name] = result.view; })
      .catch((error) => { console.error(name, error); }));
  Promise.all(drawn).then(() => {
    const { curve, accuracy } = window.views;
    const first = accuracy || curve;
    if (!first) return;
    // One slider moves both curves, and marks the features it counts.
    const chips = Array.from(document.querySelectorAll("#chips li"));
    first.addSignalListener("size", (name, value) => {
      if (curve && curve !== first) curve.signal(name, value).runAsync();
      chips.forEach((chip, place) => chip.classList.toggle("in", place < value));
    });
  });

  // A link to a feature whose words are folded away unfolds them.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#feature-']");
    const place = link && document.getElementById(link.getAttribute("href").slice(1));
    const folded = place && place.closest("details");
    if (folded) folded.open = true;
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

  const table = document.getElementById("features");
  const body = table.tBodies[0];
  const headers = Array.from(table.tHead.rows[0].cells);
  const rows = Array.from(body.rows);

  const compare = (column, numeric, sign) => (a, b) => {
    const left = a.cells[column].textContent, right = b.cells[column].textContent;
    if (left === "" || right === "") return (left === "") - (right === "");  // empty ones last, either way
    return sign * (numeric ? parseFloat(left) - parseFloat(right) : left.localeCompare(right));
  };
  headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => {
    const numeric = header.classList.contains("number");
    const before = header.getAttribute("aria-sort");
    const downFirst = numeric && column > 0;
    const direction = before === null ? (downFirst ? "descending" : "ascending")
      : before === "ascending" ? "descending" : "ascending";
    headers.forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", direction);
    body.append(...rows.sort(compare(column, numeric, direction === "ascending" ? 1 : -1)));
  }));

  const search = document.getElementById("search");
  const found = document.getElementById("found");
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    let n = 0;
    for (const row of rows) {
      row.hidden = !row.cells[1].textContent.toLowerCase().includes(wanted);
      n += !row.hidden;
    }
    found.textContent = wanted ? n + " of " + rows.length : "";
  });
})();
