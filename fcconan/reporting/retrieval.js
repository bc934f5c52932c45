// The leaderboard: a partition at a time.
(() => {
  const part = (id) => document.getElementById(id);
  const panels = [...document.querySelectorAll(".panel")], slider = part("slider"), plotted = part("plotted");
  const showPanel = (index) => {
    panels.forEach((panel, place) => panel.classList.toggle("apart", place !== index));
  };
  const showMetric = () => {
    for (const plot of document.querySelectorAll(".by-metric")) plot.classList.toggle("other", plot.dataset.metric !== plotted.value);
  };
  if (plotted) {
    const first = [...plotted.options].find((option) => option.value.startsWith("ndcg@"));
    if (first) plotted.value = first.value;
    plotted.addEventListener("change", showMetric);
    showMetric();
  }
  if (slider) {
    slider.addEventListener("input", () => {
      const panel = panels[slider.valueAsNumber], name = panel.dataset.partition, below = part("partition");
      showPanel(slider.valueAsNumber);
      slider.setAttribute("aria-valuetext", name);
      part("slider-value").textContent = name;
      if (below && below.value !== name) {
        below.value = name;
        below.dispatchEvent(new Event("change"));
      }
    });
    showPanel(slider.valueAsNumber);
  }
})();

// The drill-down.
if (document.getElementById("queries")) (() => {
  const MANY_QUERIES = 200;
  const { data, make, collator } = report;
  const part = (id) => document.getElementById(id);
  const partition = part("partition"), metric = part("metric"), whole = part("whole");
  const list = part("query-list"), detail = part("query-detail"), more = part("more");
  for (const name of data.partitions) partition.append(new Option(name, name));
  for (const [name, title] of data.metrics) metric.append(new Option(title, name));
  partition.selectedIndex = data.partitions.length - 1;
  metric.value = (data.metrics.find(([name]) => name.startsWith("ndcg@")) || data.metrics[0])[0];
  const boxes = data.systems.map((name) => {
    const label = make("label"), box = make("input");
    box.type = "checkbox";
    box.checked = true;
    box.value = name;
    box.addEventListener("change", () => fill());
    label.append(box, ` ${name}`);
    part("system-list").append(label);
    return box;
  });
  let chosen = null, limit = MANY_QUERIES;

  const shown = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const look = (tree, ...keys) => keys.reduce((branch, key) => (branch && Object.hasOwn(branch, key) ? branch[key] : undefined), tree);
  const places = new Map(data.order.map((query, place) => [query, place]));
  const valueOf = (name, query) => look(data.values, name, partition.value, metric.value, places.get(query)) ?? null;
  const textOf = (texts, id) => (report.textsShown() && look(texts, id)) || id;
  const bidi = (text, className) => make("bdi", text, className); // a text cannot turn the words around it

  const entry = (query, id) => {
    const label = look(data.labels, partition.value, query, id);
    const kind = label === undefined ? "unjudged" : label > 0 ? "right" : "wrong";
    const meaning = { unjudged: "unjudged", right: "appropriate", wrong: "not appropriate" }[kind];
    const item = make("li"), mark = make("span", { unjudged: "?", right: "✓", wrong: "✗" }[kind], `mark ${kind}`);
    item.dataset.id = id;
    mark.title = label > 1 ? `${meaning}, grade ${label}` : meaning;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.title);
    item.append(mark, " ", bidi(textOf(data.corpus, id), "clamp"));
    if (item.textContent.length > 120) item.title = textOf(data.corpus, id);
    return item;
  };
  const card = (name, query) => {
    const section = make("section"), head = make("h3", `${name}: `), ranking = make("ol");
    const value = valueOf(name, query), failure = look(data.failures, name, query);
    section.dataset.system = name;
    head.append(make("output", value === null ? "no value" : value.toFixed(3)));
    section.append(head);
    (look(data.runs, name, places.get(query)) || []).forEach((place) => ranking.append(entry(query, data.ids[place])));
    if (data.seeded.includes(name)) section.append(make("p", "value: mean over seeds; ranking: first seed", "hint"));
    if (failure !== undefined) section.append(make("p", `failed: ${failure}`, "failure"));
    else if (!ranking.children.length) section.append(make("p", "nothing was ranked", "hint"));
    section.append(ranking);
    return section;
  };
  const show = (query) => {
    chosen = query;
    for (const button of list.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.query === query));
    const lists = make("div", undefined, "lists");
    lists.append(...shown().map((name) => card(name, query)));
    const head = make("p", undefined, "query");
    head.append(bidi(textOf(data.queries, query)));
    detail.replaceChildren(head, lists);
  };
  const choice = (row) => {
    const item = make("li"), button = make("button"), range = make("span", undefined, "range");
    const strip = make("span", undefined, "strip"), filled = make("span");
    filled.style.left = `${100 * Math.min(1, Math.max(0, row.low))}%`;
    filled.style.width = `${100 * Math.min(1, row.high - row.low)}%`;
    strip.append(filled);
    range.append(strip, make("span", `${row.low.toFixed(3)} to ${row.high.toFixed(3)}`));
    button.type = "button";
    button.dataset.query = row.query;
    button.append(bidi(textOf(data.queries, row.query), "clamp"), range);
    button.addEventListener("click", () => show(row.query));
    item.append(button);
    return item;
  };
  const fill = () => {
    const names = shown();
    const rows = data.order.map((query) => {
      const values = names.map((name) => valueOf(name, query)).filter((value) => value !== null);
      return { query, low: Math.min(...values), high: Math.max(...values), some: values.length > 0 };
    }).filter((row) => row.some);
    rows.sort((a, b) => (b.high - b.low) - (a.high - a.low) || collator.compare(a.query, b.query));
    list.replaceChildren(...rows.slice(0, limit).map(choice));
    more.hidden = rows.length <= limit;
    if (rows.length) show(rows.some((row) => row.query === chosen) ? chosen : rows[0].query);
    else detail.replaceChildren(make("p", names.length ? "No HS has a value here, as none has an appropriate CN." : "Choose a system.", "hint"));
  };
  partition.addEventListener("change", fill);
  metric.addEventListener("change", fill);
  whole.addEventListener("change", () => detail.classList.toggle("whole", whole.checked));
  more.addEventListener("click", () => { limit += MANY_QUERIES; fill(); });
  // The same CN in the lists of other systems.
  const point = (event) => {
    const item = event.target.closest("li");
    for (const other of detail.querySelectorAll("li")) other.classList.toggle("same", Boolean(item) && other.dataset.id === item.dataset.id);
  };
  detail.addEventListener("mouseover", point);
  detail.addEventListener("mouseleave", point);
  report.onTexts(fill);
  fill();
})();
