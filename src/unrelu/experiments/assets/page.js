"use strict";
// Tables: a click on a heading sorts by it, a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
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
  }));
}
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
    image.src = inner.src; image.alt = inner.alt; whole(); viewer.showModal();
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
