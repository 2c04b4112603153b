"use strict";
// Tables: a click on a heading sorts by it, a second click turns the order round. Where a table is folded into cards
// and has no headings, a list to choose from stands in for them.
const sort = (table, column, up) => {
  const heads = [...table.tHead.rows[0].cells];
  for (const other of heads) other.setAttribute("aria-sort", "none");
  heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = row => {
    const cell = row.cells[column];
    const number = parseFloat(cell.dataset.sort ?? cell.textContent.replace("−", "-"));
    return [number, cell.textContent.trim()];
  };
  const all = [...table.tBodies[0].rows].map(row => [value(row), row]);
  // What was not measured comes last, whichever way the rest is turned.
  const empty = ([[, text]]) => text === "" || text === "–";
  const rows = all.filter(row => !empty(row));
  const numeric = rows.every(([[number]]) => !Number.isNaN(number));
  rows.sort(([a], [b]) => numeric ? a[0] - b[0] : a[1].localeCompare(b[1], undefined, { numeric: true }));
  if (!up) rows.reverse();
  table.tBodies[0].append(...[...rows, ...all.filter(empty)].map(([, row]) => row));
};
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () =>
    sort(table, column, head.getAttribute("aria-sort") !== "ascending")));
  // Cards are still a table to those who listen to the page.
  const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader", TD: "cell" };
  for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) part.setAttribute("role", roles[part.tagName]);
  if (table.tBodies[0].rows.length < 4) continue;
  const order = [...table.tBodies[0].rows];
  const label = document.createElement("label"), select = document.createElement("select");
  label.className = "sorter";
  label.append("Sort by", select);
  select.add(new Option("as listed", ""));
  heads.forEach((head, column) => {
    select.add(new Option(head.textContent + " ↑", column + " up"));
    select.add(new Option(head.textContent + " ↓", column + " down"));
  });
  select.addEventListener("change", () => {
    const [column, way] = select.value.split(" ");
    if (way) sort(table, Number(column), way === "up"); else table.tBodies[0].append(...order);
  });
  table.parentElement.prepend(label);
}
// On a phone long tables without verdicts begin folded.
const phone = matchMedia("(max-width: 699px)");
if (phone.matches) for (const part of document.querySelectorAll("details.data")) if (Number(part.dataset.lines) > 6) part.open = false;
// A link to something folded unfolds it; so does printing, for as long as it takes.
const contents = document.getElementById("contents"), wide = matchMedia("(min-width: 1100px)");
const reveal = () => {
  let name = location.hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* a link from elsewhere that is none */ }
  const target = document.getElementById(name);
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
document.addEventListener("click", event => {
  const link = event.target.closest("a[href^='#']");
  if (!link) return;
  if (!wide.matches) contents.open = false;
  if (link.hash === location.hash) reveal();
});
reveal();
wide.addEventListener("change", () => { contents.open = wide.matches; });
document.addEventListener("keydown", event => {
  if (event.key === "Escape" && contents.open && !wide.matches) { contents.open = false; contents.querySelector("summary").focus(); }
});
let folded = [];
const unfold = () => {
  folded.push(...document.querySelectorAll("details:not([open])"));
  for (const part of folded) part.open = true;
};
const fold = () => { for (const part of folded) part.open = false; folded = []; };
addEventListener("beforeprint", unfold);
addEventListener("afterprint", fold);
matchMedia("print").addEventListener("change", event => event.matches ? unfold() : fold());
// The contents bar says where the reader is.
const links = new Map([...contents.querySelectorAll("a")].map(link => [link.hash.slice(1), link]));
const here = document.getElementById("here"), inView = new Set();
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) entry.isIntersecting ? inView.add(entry.target.id) : inView.delete(entry.target.id);
  const current = [...links.keys()].find(id => inView.has(id));
  if (!current) return;
  for (const [id, link] of links) id === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  here.textContent = links.get(current).firstChild.textContent;
}, { rootMargin: "-15% 0px -70% 0px" });
for (const id of links.keys()) { const part = document.getElementById(id); if (part) watcher.observe(part); }
// Figures: a click enlarges; wheel, buttons, keys and two fingers zoom; dragging moves.
const viewer = document.getElementById("viewer"), stage = document.getElementById("stage");
const image = document.getElementById("enlarged");
let scale = 1, x = 0, y = 0, fingers = new Map();
const show = () => { image.style.transform = `translate(${x}px, ${y}px) scale(${scale})`; };
const zoom = (factor, px = 0, py = 0) => {
  const next = Math.min(40, Math.max(1, scale * factor)), ratio = next / scale;
  x = px - (px - x) * ratio; y = py - (py - y) * ratio; scale = next;
  if (scale === 1) { x = 0; y = 0; }
  show();
};
const whole = () => { scale = 1; x = 0; y = 0; show(); };
for (const button of document.querySelectorAll(".zoom")) {
  button.addEventListener("click", () => {
    const inner = button.querySelector("img");
    image.src = inner.currentSrc || inner.src; image.alt = inner.alt; whole(); viewer.showModal();
  });
}
const centre = event => [event.clientX - innerWidth / 2, event.clientY - innerHeight / 2];
stage.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), ...centre(event)); }, { passive: false });
stage.addEventListener("dblclick", event => zoom(2, ...centre(event)));
stage.addEventListener("pointerdown", event => { stage.setPointerCapture(event.pointerId); fingers.set(event.pointerId, event); });
stage.addEventListener("pointermove", event => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  if (fingers.size === 2) {
    const other = [...fingers.values()].find(finger => finger.pointerId !== event.pointerId);
    const apart = finger => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
    zoom(apart(event) / Math.max(apart(before), 1), ...centre(event));
  } else { x += event.clientX - before.clientX; y += event.clientY - before.clientY; show(); }
  fingers.set(event.pointerId, event);
});
for (const kind of ["pointerup", "pointercancel"]) stage.addEventListener(kind, event => fingers.delete(event.pointerId));
document.getElementById("closer").addEventListener("click", () => zoom(1.5));
document.getElementById("further").addEventListener("click", () => zoom(1 / 1.5));
document.getElementById("whole").addEventListener("click", whole);
document.getElementById("leave").addEventListener("click", () => viewer.close());
// Escape closes a dialog by itself.
const move = (dx, dy) => () => { x += dx; y += dy; show(); };
const keys = {
  "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": whole,
  ArrowLeft: move(60, 0), ArrowRight: move(-60, 0), ArrowUp: move(0, 60), ArrowDown: move(0, -60),
};
viewer.addEventListener("keydown", event => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });
