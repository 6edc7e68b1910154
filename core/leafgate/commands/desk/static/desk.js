"use strict";
const trouble = document.getElementById("trouble");
if (trouble) trouble.focus();
const box = document.querySelector("[data-state]");
async function look() {
  const answer = await fetch(box.dataset.state).catch(() => null);
  if (answer === null) {
    setTimeout(look, 3000);
    return;
  }
  if (!answer.ok) return;
  const now = await answer.json();
  if (now.state !== box.dataset.now) {
    location.reload();
    return;
  }
  box.querySelector(".place").textContent = `${now.place}, ${Math.round(now.seconds)} s so far`;
  const list = box.querySelector(".steps");
  now.steps.forEach((step, at) => {
    const words = step.seconds === null ? step.words : `${step.words}, ${step.seconds.toFixed(1)} s`;
    const item = list.children[at] || list.appendChild(document.createElement("li"));
    if (item.textContent !== words) item.textContent = words;
  });
  setTimeout(look, 1000);
}
if (box) setTimeout(look, 500);
const matrix = document.querySelector(".matrix tbody");
if (matrix && matrix.rows.length > 30) {
  const label = document.createElement("label");
  const filter = document.createElement("input");
  filter.type = "search";
  label.append("Show rows with ", filter);
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of matrix.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  matrix.closest(".scroll").before(label);
}
