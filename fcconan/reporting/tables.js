// Tables: sorted by the head of a column, as numbers where every cell is one; missing is last both ways.
(() => {
  const MANY_ROWS = 24, NUMBER = /^[±+[]?\s*(-?\d+(?:\.\d+)?)(?=$|[\s%]|, )/;
  const { make, MISSING, say } = report;
  const isMissing = (cell) => cell === MISSING || cell.startsWith(`${MISSING} (`); // with a reason or without
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const text = (row) => row.cells[column].textContent;
      const present = [...body.rows].map(text).filter((cell) => !isMissing(cell));
      const numeric = column > 0 && present.length > 0 && present.every((cell) => NUMBER.test(cell));
      if (column > 0 && present.length > 0 && !numeric)
        for (const row of [table.tHead.rows[0], ...body.rows]) row.cells[column].classList.add("text");
      const key = (cell) => (numeric ? Number(NUMBER.exec(cell)[1]) : cell);
      head.querySelector("button").addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const ascending = before === "none" ? !numeric : before === "descending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => {
          const cell = text(row);
          return { row, missing: isMissing(cell), key: isMissing(cell) ? null : key(cell) };
        });
        rows.sort((a, b) => {
          if (a.missing || b.missing) return a.missing - b.missing;
          const order = numeric ? a.key - b.key : report.collator.compare(a.key, b.key);
          return ascending ? order : -order;
        });
        body.append(...rows.map((entry) => entry.row));
        say(`Sorted by ${head.textContent.trim()}, ${ascending ? "ascending" : "descending"}.`);
      });
    });
    if (body.rows.length > MANY_ROWS) {
      const label = make("label", "Rows with ", "filter"), input = make("input");
      input.type = "search";
      input.placeholder = "such as bronze ndcg";
      input.addEventListener("input", () => {
        const found = report.filter([...body.rows], input.value, (row) => [...row.cells].map((cell) => cell.textContent).join(" "));
        say(`${found} of ${body.rows.length} rows are shown.`);
      });
      label.append(input);
      table.parentElement.before(label);
    }
  }
})();
