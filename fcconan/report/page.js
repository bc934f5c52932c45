"use strict";
(() => {
  const numeric = (text) => {
    const found = /^[±+\s]*(-?\d+(\.\d+)?)/.exec(text);
    return found ? Number(found[1]) : null;
  };
  const compare = (a, b, direction) => {
    if (a === "–" || b === "–") return (a === "–") - (b === "–"); // missing is last, whatever the direction
    const x = numeric(a), y = numeric(b);
    const order = x !== null && y !== null ? x - y : a.localeCompare(b, "en");
    return direction * order;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(a.cells[column].textContent, b.cells[column].textContent, direction));
      table.tBodies[0].append(...rows);
    }));
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const partition = document.getElementById("partition"), metric = document.getElementById("metric");
  for (const name of data.partitions) partition.append(new Option(name, name));
  for (const [name, title] of data.metrics) metric.append(new Option(title, name));
  partition.selectedIndex = data.partitions.length - 1;
  metric.value = (data.metrics.find(([name]) => name.startsWith("ndcg@")) || data.metrics[0])[0];
  const list = document.getElementById("query-list"), detail = document.getElementById("query-detail");
  let chosen = null;

  const valuesOf = (query) => data.systems.map((name) => data.values[name][partition.value][metric.value][query]);
  const show = (query) => {
    chosen = query;
    for (const button of list.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.query === query));
    const values = valuesOf(query);
    const lists = make("div", undefined, "lists");
    data.systems.forEach((name, index) => {
      const section = make("section"), ranking = make("ol");
      section.dataset.system = name;
      section.append(make("h3", `${name}: ${values[index] === null ? "no figure" : values[index].toFixed(3)}`));
      for (const id of data.runs[name][query] || []) {
        const label = ((data.labels[partition.value] || {})[query] || {})[id];
        const kind = label === undefined ? "unjudged" : label > 0 ? "right" : "wrong";
        const mark = make("span", { unjudged: "?", right: "✓", wrong: "✗" }[kind], `mark ${kind}`);
        mark.title = { unjudged: "unjudged", right: "appropriate", wrong: "not appropriate" }[kind];
        const item = make("li");
        item.append(mark, " ", data.corpus[id] || id);
        ranking.append(item);
      }
      if (!ranking.children.length) section.append(make("p", "nothing was ranked", "hint"));
      section.append(ranking);
      lists.append(section);
    });
    detail.replaceChildren(make("p", data.queries[query] || query), lists);
  };
  const fill = () => {
    const rows = Object.keys(data.queries).map((query) => {
      const values = valuesOf(query).filter((value) => value !== null);
      return { query, low: Math.min(...values), high: Math.max(...values), some: values.length > 0 };
    }).filter((row) => row.some);
    rows.sort((a, b) => (b.high - b.low) - (a.high - a.low) || a.query.localeCompare(b.query));
    list.replaceChildren(...rows.map((row) => {
      const item = make("li"), button = make("button");
      button.type = "button";
      button.dataset.query = row.query;
      button.append(data.queries[row.query] || row.query,
        make("span", `${row.low.toFixed(3)} to ${row.high.toFixed(3)}`, "range"));
      button.addEventListener("click", () => show(row.query));
      item.append(button);
      return item;
    }));
    if (rows.length) show(rows.some((row) => row.query === chosen) ? chosen : rows[0].query);
    else detail.replaceChildren(make("p", "No HS has an appropriate CN in this partition."));
  };
  partition.addEventListener("change", fill);
  metric.addEventListener("change", fill);
  fill();
})();
