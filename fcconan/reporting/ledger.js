"use strict";
// Selects that leave rows out by the values of a column; the field for words does so by all columns.
for (const part of document.querySelectorAll(".filtered")) {
  const table = part.querySelector("table"), rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const controls = report.make("div", undefined, "controls script"), count = report.make("p", undefined, "hint");
  const filters = part.dataset.columns.split(",").map((name) => {
    const column = heads.indexOf(name), cell = (row) => row.cells[column].textContent;
    const label = report.make("label", `${name[0].toUpperCase()}${name.slice(1)} `), select = report.make("select");
    label.append(select);
    controls.append(label);
    select.addEventListener("change", () => { offer(); fill(); });
    return { column, cell, select };
  });
  const fits = (row, but) => filters.every((one) => one === but || !one.select.value || one.cell(row) === one.select.value);
  // A select offers what the others leave, and how much of it.
  const offer = () => {
    for (const one of filters) {
      const before = one.select.value, left = rows.filter((row) => fits(row, one)), found = new Map();
      for (const row of left) found.set(one.cell(row), (found.get(one.cell(row)) || 0) + 1);
      if (before && !found.has(before)) found.set(before, 0);
      const values = [...found.keys()].sort(report.collator.compare);
      one.select.replaceChildren(new Option(`all (${left.length})`, ""), ...values.map((value) => new Option(`${value} (${found.get(value)})`, value)));
      one.select.value = before;
    }
  };
  const fill = () => {
    let shown = 0;
    for (const row of rows) {
      const fit = fits(row);
      row.classList.toggle("left-out", !fit);
      shown += fit;
    }
    const before = count.textContent;
    count.textContent = `${shown} of ${rows.length} figures`;
    if (before) report.say(count.textContent);
  };
  offer();
  fill();
  controls.append(count);
  part.prepend(controls);
}
