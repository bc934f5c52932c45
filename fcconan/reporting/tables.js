"use strict";
// Every table: DataTables sorts, filters and pages it. Missing values come last in both orders; copies have the rows found.
(() => {
  const LONG = 25, MOST_PRINTED = 2000;
  const { make, MISSING, say, collator } = report;
  const isMissing = (cell) => cell === MISSING || cell.startsWith(`${MISSING} (`); // with a reason or without
  const numberIn = (cell) => { const found = /-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/.exec(cell); return found ? Number(found[0].replaceAll(",", "")) : null; };
  const last = (compare) => (a, b) => (a === null || b === null ? (a === null) - (b === null) : compare(a, b));
  DataTable.type("number", { order: { pre: (cell) => (isMissing(cell) ? null : numberIn(cell)), asc: last((a, b) => a - b), desc: last((a, b) => b - a) } });
  DataTable.type("words", { order: { pre: (cell) => (isMissing(cell) ? null : cell), asc: last(collator.compare), desc: last((a, b) => collator.compare(b, a)) } });
  const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => MARKUP[letter]); // cells are text, never markup
  const unpacked = (columns) => {
    const cells = columns.map(({ values, places }) => (places ? places.map((place) => values[place]) : values));
    return cells[0].map((_, row) => cells.map((column) => column[row]));
  };
  const placesIn = (text) => (text ? text.split(" ").map(Number) : []);
  const line = (text, escapes) => [...text.trim().replace(/\s+/g, " ")].map((letter) => escapes[letter] ?? letter).join("");
  const copies = {
    LaTeX: (title, columns, rows, words) => {
      const cell = (text) => line(text, ESCAPES.latex).replace(/(?<![\w.-])-(?=\d)/g, "$$-$$");
      const row = (cells) => { const text = `${cells.map(cell).join(" & ")} \\\\`; return /^[[*]/.test(text) ? `{}${text}` : text; };
      const ends = columns.map((_, place) => (place === 0 || words.has(place) ? "l" : "r")).join("");
      return ["\\begin{table}", "\\centering", `\\caption{${line(title, ESCAPES.latex)}}`, `\\begin{tabular}{${ends}}`, "\\toprule", row(columns),
        "\\midrule", ...rows.map(row), "\\bottomrule", "\\end{tabular}", "\\end{table}", ""].join("\n");
    },
    Markdown: (title, columns, rows, words) => {
      const row = (cells) => `| ${cells.map((cell) => line(cell, ESCAPES.markdown).replaceAll("](", "]\\(")).join(" | ")} |`;
      const ends = columns.map((_, place) => (place === 0 || words.has(place) ? "---" : "---:")).join("|");
      return [row(columns), `|${ends}|`, ...rows.map(row), ""].join("\n");
    },
  };
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const field = make("textarea", text, "visually-hidden"); // where pages on the disk may not write to the clipboard
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  };
  const selects = (api, columns, names, rows) => {
    const controls = make("div", undefined, "controls filters"), chosen = columns.map((place) => {
      const label = make("label", `${names[place]} `), select = make("select"), counts = new Map();
      for (const row of rows) counts.set(row[place], (counts.get(row[place]) || 0) + 1);
      select.append(new Option("any", ""), ...[...counts.keys()].sort(collator.compare).map((value) => new Option(`${value} (${counts.get(value)})`, `=${value}`)));
      select.addEventListener("change", () => api.draw());
      label.append(select);
      controls.append(label);
      return { place, select };
    });
    api.search.fixed("selects", (_, row) => chosen.every(({ place, select }) => !select.value || select.value === `=${row[place]}`));
    return controls;
  };
  const enhanced = new Map();
  const enhance = (part) => {
    const table = part.querySelector("table"), data = part.querySelector("script.rows"), body = table.tBodies[0];
    if (enhanced.has(part)) return;
    const heads = [...table.tHead.rows[0].cells], names = heads.map((head) => head.textContent), title = table.caption.textContent;
    const words = new Set(heads.flatMap((head, place) => (head.classList.contains("text") ? [place] : [])));
    const rows = data ? unpacked(JSON.parse(data.textContent)) : [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
    const texts = placesIn(part.dataset.texts), grey = new Set(placesIn(part.dataset.grey)), filters = placesIn(part.dataset.filters);
    const long = rows.length > LONG;
    const api = new DataTable(table, {
      data: rows, autoWidth: false, deferRender: true, order: [], orderDescReverse: false, paging: long, info: long || filters.length > 0, searching: long || filters.length > 0, pageLength: LONG,
      layout: { topStart: null, topEnd: null, top: long ? "search" : null, bottom: null, bottomStart: long || filters.length ? "info" : null, bottomEnd: long ? "paging" : null },
      language: { search: "Rows with", info: "Rows _START_ to _END_ of _TOTAL_", infoEmpty: "No row", zeroRecords: "No row is found.", infoFiltered: "found in _MAX_" },
      columns: names.map((_, place) => ({
        type: place === 0 || words.has(place) ? "words" : "number", cellType: place === 0 ? "th" : "td", className: words.has(place) ? "text" : "",
        orderSequence: place === 0 || words.has(place) ? ["asc", "desc"] : ["desc", "asc"], visible: !texts.includes(place), searchable: true,
        createdCell: (cell) => { if (place === 0) cell.scope = "row"; },
        render: (cell, kind) => (kind === "display" || kind === "filter" ? (texts.includes(place) ? `<bdi>${escaped(cell)}</bdi>` : escaped(cell)) : cell),
      })),
      createdRow: (row, _, place) => { if (grey.has(place)) row.classList.add("grey"); },
    });
    enhanced.set(part, api);
    part.querySelector("nav")?.setAttribute("aria-label", `Rows of ${title}`);
    api.on("order", () => {
      const [by] = api.order();
      if (by) say(`Sorted by ${names[by[0]]}, ${by[1]}ending.`);
    });
    if (filters.length) part.prepend(selects(api, filters, names, rows));
    if (texts.length) {
      report.onTexts((shown) => api.columns(texts).visible(shown));
      if (report.textsShown()) api.columns(texts).visible(true);
    }
    const tools = make("p", undefined, "copies");
    for (const [name, written] of Object.entries(copies)) {
      const button = make("button", `Copy as ${name}`);
      button.type = "button";
      button.addEventListener("click", async () => {
        const shown = names.map((_, place) => place).filter((place) => api.column(place).visible());
        const found = api.rows({ search: "applied", order: "applied" }).data().toArray();
        const among = new Set(shown.flatMap((place, at) => (words.has(place) ? [at] : [])));
        await copy(written(title, shown.map((place) => names[place]), found.map((row) => shown.map((place) => row[place])), among));
        say(`Copied ${found.length} rows as ${name}.`);
      });
      tools.append(button);
    }
    part.append(tools);
  };
  // Closed tables are enhanced when they are opened.
  const enhanceOpen = (within) => {
    for (const part of within.querySelectorAll("div.table")) if (!part.closest("details:not([open])")) enhance(part);
  };
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", () => { if (details.open) enhanceOpen(details); });
  enhanceOpen(document);
  // On paper a table has all its rows, unless there are thousands.
  const lengths = (length) => { for (const api of enhanced.values()) if (api.rows().count() > LONG && api.rows().count() <= MOST_PRINTED) api.page.len(length).draw(); };
  addEventListener("beforeprint", () => { enhanceOpen(document); lengths(-1); });
  addEventListener("afterprint", () => lengths(LONG));
})();
