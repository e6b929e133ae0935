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
    // One slider moves both curves, and ticks the features it counts.
    first.addSignalListener("size", (name, value) => {
      if (curve && curve !== first) curve.signal(name, value).runAsync();
      tickFirst(value);
    });
  });

  // Features may be ticked in the ranking and in the table: the same feature has the same place in both.
  const { names, groups, command, document: head } = JSON.parse(document.getElementById("ticks").textContent);
  const members = new Map(groups);
  const boxes = Array.from(document.querySelectorAll("input[data-place]"));
  const ranked = boxes.filter((box) => box.closest(".ranking"));
  const ticked = new Set(ranked.filter((box) => box.defaultChecked).map((box) => Number(box.dataset.place)));
  // As JSON writes texts, so that Python reads them too, without characters that turn the direction of reading.
  const text = (value) => JSON.stringify(value).replace(/[\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
    (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));
  const word = (value) => /^[\w./:=@%+-]+$/.test(value) ? value : "'" + value.replace(/'/g, "'\\''") + "'";
  const show = (id, content) => { const place = document.getElementById(id); if (place) place.textContent = content; };
  const update = () => {
    boxes.forEach((box) => {
      box.checked = ticked.has(Number(box.dataset.place));
      const row = box.closest(".ranking li");
      if (row) row.classList.toggle("in", box.checked);
    });
    const chosen = Array.from(ticked).sort((a, b) => a - b).map((place) => names[place]);
    const added = chosen.flatMap((name) => ["--include", name]);
    show("n-ticked", chosen.length);
    const columns = chosen.flatMap((name) => members.get(name) || [name]);
    show("copy-python", "X[[" + columns.map(text).join(", ") + "]]");
    show("copy-command", [...command, "-k", String(chosen.length), ...added].map(word).join(" "));
    show("copy-json", "{" + Object.entries(head).map((pair) => pair.map(text).join(": ")).join(", ")
      + ', "features": [' + columns.map((name) => '{"name": ' + text(name) + "}").join(", ") + "]}");
  };
  const tickFirst = (n) => {
    ranked.forEach((box) => { ticked.delete(Number(box.dataset.place)); });
    for (let place = 0; place < n && place < names.length; place++) ticked.add(place);
    update();
  };
  boxes.forEach((box) => box.addEventListener("change", () => {
    const place = Number(box.dataset.place);
    if (box.checked) ticked.add(place); else ticked.delete(place);
    update();
  }));
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => {
    const place = document.getElementById(button.dataset.copy);
    const range = document.createRange();
    range.selectNodeContents(place);
    getSelection().removeAllRanges();
    getSelection().addRange(range);  // also where a page may not write to the clipboard
    const done = navigator.clipboard ? navigator.clipboard.writeText(place.textContent) : Promise.reject();
    done.catch(() => document.execCommand("copy")).then(() => { button.textContent = "Copied"; });
  }));
  update();

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
