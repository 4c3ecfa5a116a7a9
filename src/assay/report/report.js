"use strict";
// Draws each figure from the specification next to it, when it first becomes visible; sorts tables; opens what a
// link leads to. Nothing is loaded: the loader refuses.
(() => {
  const refuse = { load: () => Promise.reject(new Error("this page loads nothing")), sanitize: () => Promise.reject(new Error("no links")) };
  const dark = JSON.parse(document.getElementById("dark").textContent);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const recoloured = (value) => {
    if (typeof value === "string") return Object.hasOwn(dark, value) ? dark[value] : value;
    if (Array.isArray(value)) return value.map(recoloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, recoloured(inner)]));
  };
  const views = new Map();
  let drawing = Promise.resolve();
  const draw = async (place) => {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    spec.description = place.getAttribute("aria-label"); // else Vega names every figure alike
    const options = { actions: false, renderer: place.dataset.renderer, loader: refuse, scaleFactor: { canvas: 2 } };
    try {
      const made = await window.vegaEmbed(place, scheme.matches ? recoloured(spec) : spec, options);
      views.get(place)?.finalize();
      views.set(place, made);
      // The words of the whole picture are its place's; a screen reader would read every tick of the axes after them.
      for (const drawn of place.querySelectorAll("svg, canvas")) drawn.setAttribute("aria-hidden", "true");
    } catch (error) {
      place.textContent = "This figure could not be drawn (" + error.message + "). Its numbers are in the table below.";
      place.classList.add("undrawn");
    }
  };
  const isSeen = (place) => place.checkVisibility ? place.checkVisibility() : place.offsetParent !== null;
  const drawSeen = () => {
    const wanted = Array.from(document.querySelectorAll("[data-spec]:not([data-begun])")).filter(isSeen);
    for (const place of wanted) place.dataset.begun = "";
    drawing = wanted.reduce((before, place) => before.then(() => draw(place)), drawing).then(() => {
      document.documentElement.dataset.drawn = String(views.size);
    });
  };
  document.addEventListener("toggle", drawSeen, true);
  scheme.addEventListener("change", () => {
    for (const place of document.querySelectorAll("[data-begun]")) delete place.dataset.begun;
    drawSeen();
  });

  const open = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (place) place.scrollIntoView();
  };
  window.addEventListener("hashchange", open);

  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.by !== undefined ? Number(cell.dataset.by) : cell.textContent.trim();
  };
  const numeric = (text) => {
    const found = /^≤?\s*(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(ns|µs|ms|s|KiB|MiB|GiB|M)?\b/i.exec(text);
    const scale = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, kib: 1024, mib: 1048576, gib: 1073741824, m: 1e6 };
    return found ? Number(found[1].replaceAll(",", "")) * (scale[(found[2] || "").toLowerCase()] ?? 1) : NaN;
  };
  const compare = (a, b) => {
    const [x, y] = [a, b].map((value) => (typeof value === "number" ? value : numeric(value)));
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const sort = (table, head) => {
    const descending = head.ariaSort === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => compare(key(a, head.cellIndex), key(b, head.cellIndex)) * (descending ? -1 : 1));
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.plain !== undefined) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  drawSeen();
  if (location.hash) open();
})();
