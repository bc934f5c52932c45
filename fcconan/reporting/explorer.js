"use strict";
// The rows of a dataset: listed a page at a time, filtered, sorted, and opened with all that is known of each.
(() => {
  const { data, make, say, collator, MISSING } = report;
  const part = (id) => document.getElementById(id);
  if (!part("explorer")) return;
  const ON_A_PAGE = 25, MOST_VALUES = 40, MOST_FILTERS = 10, MOST_RELATED = 100, MOST_COLUMNS = 9;
  const IDS = ["pair_id", "reply_id", "_id", "query-id", "item_id"];
  const FIRST = {
    pairs: ["pair_id", "label", "tier", "agreement", "n_votes", "valid"], votes: ["pair_id", "rater", "label"],
    ratings: ["reply_id", "rater", "aspect", "value", "reason"], replies: ["reply_id", "system", "strategy", "item_id"],
    comparisons: ["item_id", "system_a", "system_b", "rater", "verdict", "reason"], qrels: ["query-id", "corpus-id", "score"],
  };
  const words = (name) => name.replaceAll("_", " ").trim();
  const said = (value) => (value === null || value === undefined ? MISSING : value === true ? "yes" : value === false ? "no"
    : Array.isArray(value) ? value.join(", ") || "none" : String(value));

  // Columns: a value for every row, which is one of few.
  const decoded = ({ values, size, codes }) => {
    if (codes === undefined) return { values, at: (row) => values[row], code: (row) => row + 1 };
    const bytes = Uint8Array.from(atob(codes), (letter) => letter.charCodeAt(0));
    const numbers = size === 1 ? bytes : size === 2 ? new Uint16Array(bytes.buffer) : new Uint32Array(bytes.buffer);
    return { values, at: (row) => (numbers[row] ? values[numbers[row] - 1] : null), code: (row) => numbers[row] };
  };
  const tables = data.tables.map((given) => {
    const columns = new Map();
    for (const [name, column] of Object.entries(given.columns))
      if (!column.join) columns.set(name, { ...decoded(column), text: Boolean(column.text) });
    for (const [name, column] of Object.entries(given.columns))
      if (column.join) {
        const [a, b] = column.join.map((one) => columns.get(one));
        columns.set(name, { values: null, at: (row) => `${a.at(row)}:${b.at(row)}`, text: false });
      }
    const names = Object.keys(given.columns), plain = names.filter((name) => !columns.get(name).text);
    const id = IDS.find((name) => plain.includes(name)) || plain[0];
    const few = plain.filter((name) => name !== id && !/(_|-)(id|index)$/.test(name) && columns.get(name).values
      && columns.get(name).values.length > 1 && columns.get(name).values.length <= MOST_VALUES
      && columns.get(name).values.length < given.rows);
    const first = (FIRST[given.kind] || []).filter((name) => plain.includes(name));
    const listed = [...new Set([id, ...first, ...few])].slice(0, MOST_COLUMNS);
    return {
      ...given, columns, id, listed, few: few.slice(0, MOST_FILTERS), names, indexes: new Map(),
      texts: names.filter((name) => columns.get(name).text),
      at(name, row) { const column = this.columns.get(name); return column ? column.at(row) : null; },
      has(name) { return this.columns.has(name); },
      // The rows that hold a value in a column.
      where(name, value) {
        if (!this.has(name)) return [];
        if (!this.indexes.has(name)) {
          const index = new Map();
          for (let row = 0; row < this.rows; row++) {
            const key = this.at(name, row);
            if (index.has(key)) index.get(key).push(row); else index.set(key, [row]);
          }
          this.indexes.set(name, index);
        }
        return this.indexes.get(name).get(value) || [];
      },
    };
  });
  const TIERS = ["diamond", "gold", "silver", "bronze"];

  // What is chosen.
  const list = part("rows-list"), search = part("rows-with"), which = part("rows-of"), by = part("rows-by");
  let table = tables[0], filters = [], rows = [], page = 0, sorted = { name: null, ascending: true }, opened = null;

  const offer = () => {
    filters = table.few.map((name) => {
      const column = table.columns.get(name), counts = new Map();
      for (let row = 0; row < table.rows; row++) counts.set(column.code(row), (counts.get(column.code(row)) || 0) + 1);
      const label = make("label", `${words(name)} `), select = make("select");
      select.append(new Option("any", ""));
      const there = column.values.map((value, place) => ({ value, code: place + 1 })).filter((one) => counts.has(one.code));
      const order = (one) => (name === "tier" ? TIERS.indexOf(one.value) : 0);
      there.sort((a, b) => order(a) - order(b) || collator.compare(said(a.value), said(b.value)));
      if (counts.has(0)) there.push({ value: null, code: 0 });
      for (const one of there) select.append(new Option(`${one.value === null ? "missing" : said(one.value)} (${counts.get(one.code)})`, `=${one.code}`));
      if (name === "tier") {
        const codes = there.filter((one) => one.value !== null);
        for (let last = 1; last < codes.length - 1; last++) {
          const among = codes.slice(0, last + 1);
          const total = among.reduce((sum, one) => sum + counts.get(one.code), 0);
          select.append(new Option(`${codes[last].value} and better (${total})`, `=${among.map((one) => one.code).join(",")}`));
        }
      }
      select.dataset.column = name;
      select.addEventListener("change", () => find(true));
      label.append(select);
      return { column, select, label };
    });
    by.replaceChildren(...filters.map((one) => one.label));
    by.hidden = !filters.length;
  };
  const find = (tell) => {
    const chosen = filters.filter((one) => one.select.value).map((one) => ({ column: one.column, codes: new Set(one.select.value.slice(1).split(",").map(Number)) }));
    const sought = search.value.trim().toLowerCase();
    const ids = table.names.filter((name) => !table.columns.get(name).text && /(^|_|-)id$|^reply_[ab]$/.test(name));
    const looked = [...new Set([table.id, ...ids, ...(report.textsShown() ? table.texts : [])])].map((name) => table.columns.get(name));
    rows = [];
    for (let row = 0; row < table.rows; row++) {
      if (!chosen.every((one) => one.codes.has(one.column.code(row)))) continue;
      if (sought && !looked.some((column) => said(column.at(row)).toLowerCase().includes(sought))) continue;
      rows.push(row);
    }
    if (sorted.name) {
      const column = table.columns.get(sorted.name), sign = sorted.ascending ? 1 : -1;
      const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(said(a), said(b)));
      const keys = new Map(rows.map((row) => [row, column.at(row)]));
      rows.sort((a, b) => {
        const x = keys.get(a), y = keys.get(b);
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * order(x, y);
      });
    }
    page = 0;
    opened = null;
    draw(tell);
  };
  const draw = (tell) => {
    const start = page * ON_A_PAGE, shown = rows.slice(start, start + ON_A_PAGE);
    const texts = report.textsShown() ? table.texts.filter((name) => !Array.isArray(table.at(name, 0))).slice(0, 2) : [];
    const names = [table.listed[0], ...texts, ...table.listed.slice(1)], head = make("tr");
    for (const name of names) {
      const cell = make("th"), button = make("button", words(name));
      cell.scope = "col";
      button.type = "button";
      cell.setAttribute("aria-sort", sorted.name !== name ? "none" : sorted.ascending ? "ascending" : "descending");
      button.addEventListener("click", () => {
        sorted = { name, ascending: sorted.name === name ? !sorted.ascending : true };
        find(false);
        list.tHead.rows[0].cells[names.indexOf(name)].querySelector("button").focus();
        say(`Sorted by ${words(name)}, ${sorted.ascending ? "ascending" : "descending"}.`);
      });
      cell.append(button);
      head.append(cell);
    }
    list.tHead.replaceChildren(head);
    list.tBodies[0].replaceChildren(...shown.map((row) => line(row, names)));
    const from = rows.length ? start + 1 : 0, to = start + shown.length;
    part("rows-count").textContent = rows.length ? `Rows ${from} to ${to} of ${rows.length}${rows.length < table.rows ? ` found in ${table.rows}` : ""}` : "No row is like that.";
    part("rows-before").disabled = page === 0;
    part("rows-after").disabled = to >= rows.length;
    part("search-of").textContent = report.textsShown() && table.texts.length ? "Id or text holds" : "Id holds";
    if (tell) say(part("rows-count").textContent);
  };
  const line = (row, names) => {
    const element = make("tr");
    names.forEach((name, place) => {
      const value = table.at(name, row);
      if (place === 0) {
        const cell = make("th"), button = make("button", undefined, "row");
        cell.scope = "row";
        button.type = "button";
        // A pair's id breaks between its two ids only.
        said(value).split(/(?<=:)/).forEach((piece, at) => { if (at) button.append(make("wbr")); button.append(make("span", piece)); });
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => toggle(row, element, button, names.length));
        cell.append(button);
        element.append(cell);
        return;
      }
      const cell = make("td", undefined, table.columns.get(name).text ? "words" : typeof value === "number" ? "number" : "");
      if (table.columns.get(name).text) cell.append(make("bdi", said(value), "clamp"));
      else cell.textContent = said(value);
      element.append(cell);
    });
    element.dataset.row = row;
    return element;
  };
  const toggle = (row, element, button, width) => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    if (!open) { element.nextSibling.remove(); opened = null; return; }
    const below = make("tr", undefined, "open"), cell = make("td");
    cell.colSpan = width;
    cell.append(details(row));
    below.append(cell);
    element.after(below);
    opened = row;
    say("Opened below.");
  };

  // All that is known of a row.
  const fields = (of, row) => {
    const found = make("dl");
    for (const name of of.names) {
      const column = of.columns.get(name), value = column.at(row);
      if (value === null || value === undefined || (column.text && !report.textsShown())) continue;
      const shown = make("dd", undefined, column.text ? "words" : "");
      if (column.text) for (const one of Array.isArray(value) ? value : [value]) shown.append(make("bdi", one), make("br"));
      else shown.textContent = said(value);
      found.append(make("dt", words(name)), shown);
    }
    return found;
  };
  const grid = (title, columns, cells) => {
    const holder = make("div", undefined, "scroll"), shown = make("table"), head = make("tr"), body = make("tbody");
    holder.tabIndex = 0;
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", title);
    for (const name of columns) { const cell = make("th", words(name), "text"); cell.scope = "col"; head.append(cell); }
    for (const row of cells.slice(0, MOST_RELATED)) {
      const element = make("tr");
      row.forEach((value, place) => {
        const cell = make(place ? "td" : "th", said(value), "text");
        if (!place) cell.scope = "row";
        element.append(cell);
      });
      body.append(element);
    }
    const top = make("thead");
    top.append(head);
    shown.append(top, body);
    holder.append(shown);
    const heading = make("h4", cells.length > MOST_RELATED ? `${title} (the first ${MOST_RELATED} of ${cells.length})` : title);
    return [heading, holder];
  };
  const rowsOf = (kind, name, value) => (value === null ? [] : tables.filter((one) => one.kind === kind)
    .flatMap((one) => one.where(name, value).map((row) => ({ of: one, row }))));
  const votes = (pair) => {
    const found = rowsOf("votes", "pair_id", pair);
    if (!found.length) return [];
    const more = ["role", "inferred"].filter((name) => found.some(({ of }) => of.has(name)));
    return grid("Votes", ["rater", "label", ...more], found.map(({ of, row }) => ["rater", "label", ...more].map((name) => of.at(name, row))));
  };
  const tierOf = (of, row) => {
    const tier = of.at("tier", row), place = data.rule.findIndex((one) => one.tier === tier);
    if (place < 0) return [];
    const why = make("ul");
    why.append(make("li", `${tier} asks for: ${data.rule[place].asks}.`));
    const counts = rowsOf("votes", "pair_id", of.at("pair_id", row)).reduce((all, vote) => {
      const label = words(said(vote.of.at("label", vote.row)));
      return all.set(label, (all.get(label) || 0) + 1);
    }, new Map());
    const given = counts.size ? [...counts].map(([label, n]) => `${n} ${label}`).join(", ") : `${said(of.at("n_votes", row))} in number`;
    why.append(make("li", `This pair: votes ${given}; label ${words(said(of.at("label", row)))}, agreement ${said(of.at("agreement", row))}, confirmed by a validator: ${said(of.at("valid", row))}.`));
    if (place > 0) why.append(make("li", `It is not ${data.rule[place - 1].tier}, which asks for: ${data.rule[place - 1].asks}.`));
    return [make("h4", `Why ${tier}`), why];
  };
  // Raters down, aspects across; a rating without a value says why.
  const ratings = (reply) => {
    const found = rowsOf("ratings", "reply_id", reply), grown = [];
    for (const of of new Set(found.map((one) => one.of))) {
      const own = found.filter((one) => one.of === of).map((one) => one.row);
      const raters = new Map();
      for (const row of own) {
        const value = of.at("value", row), reason = of.at("reason", row), low = of.at("low", row), high = of.at("high", row);
        const scale = low === null ? "" : ` (${low} to ${high}${of.at("higher_is_better", row) === false ? ", low is better" : ""})`;
        const line = raters.get(of.at("rater", row)) || raters.set(of.at("rater", row), new Map()).get(of.at("rater", row));
        line.set(of.at("aspect", row), value === null ? `${MISSING} ${words(said(reason))}` : `${value}${scale}`);
      }
      // Raters who share no aspect have tables of their own.
      let groups = [];
      for (const [rater, line] of raters) {
        const shared = groups.filter((group) => [...line.keys()].some((aspect) => group.aspects.has(aspect)));
        const all = { aspects: new Set([...shared.flatMap((group) => [...group.aspects]), ...line.keys()]), lines: [...shared.flatMap((group) => group.lines), [rater, line]] };
        groups = [...groups.filter((group) => !shared.includes(group)), all];
      }
      for (const { aspects, lines } of groups)
        grown.push(...grid(`Ratings, ${of.split}: ${[...aspects].map(words).join(", ")}`, ["rater", ...aspects], lines.map(([rater, line]) => [rater, ...[...aspects].map((aspect) => line.get(aspect) ?? "not asked")])));
      const spoken = report.textsShown() && of.has("explanation") ? own.filter((row) => of.at("explanation", row) !== null) : [];
      if (spoken.length) grown.push(...grid("Explanations", ["rater", "aspect", "explanation"], spoken.map((row) => ["rater", "aspect", "explanation"].map((name) => of.at(name, row)))));
    }
    return grown;
  };
  const comparisons = (item, reply, system) => {
    const found = rowsOf("comparisons", "item_id", item).filter(({ of, row }) => {
      if (!reply) return true;
      const pair = ["reply_a", "reply_b"].map((name) => of.at(name, row));
      return pair.includes(reply) || (pair.every((one) => one === null) && ["system_a", "system_b"].some((name) => of.at(name, row) === system));
    });
    if (!found.length) return [];
    const names = ["rater", "system_a", "system_b", "verdict", "score_a", "score_b", "reason"].filter((name) => found.some(({ of, row }) => of.at(name, row) !== null));
    return grid("Comparisons", [...names, "split"], found.map(({ of, row }) => [...names.map((name) => of.at(name, row)), of.split]));
  };
  const partners = (id) => {
    const own = id.startsWith("hs-") ? "hs_id" : "cn_id", other = own === "hs_id" ? "cn_id" : "hs_id";
    const found = rowsOf("pairs", own, id);
    if (!found.length) return [];
    const names = [other, "label", "tier", "agreement"].filter((name) => found.some(({ of, row }) => of.at(name, row) !== null));
    return grid("Pairs", [...names, "config"], found.map(({ of, row }) => [...names.map((name) => of.at(name, row)), of.config]));
  };
  const about = (title, found) => found.slice(0, 1).flatMap(({ of, row }) => [make("h4", title), fields(of, row)]);
  const details = (row) => {
    const shown = make("div", undefined, "opened"), at = (name) => table.at(name, row);
    shown.append(make("h3", said(at(table.id))), fields(table, row));
    const hidden = table.texts.filter((name) => at(name) !== null);
    if (hidden.length && !report.textsShown()) shown.append(make("p", `${hidden.map(words).join(", ")}: hidden until you choose “Show texts” above.`, "hint"));
    if (table.kind === "pairs") shown.append(...tierOf(table, row), ...votes(at("pair_id")));
    if (table.kind === "votes") shown.append(...about("The pair", rowsOf("pairs", "pair_id", at("pair_id"))), ...votes(at("pair_id")));
    if (table.kind === "replies") shown.append(...ratings(at("reply_id")), ...comparisons(at("item_id"), at("reply_id"), at("system")));
    if (table.kind === "ratings") shown.append(...about("The reply", rowsOf("replies", "reply_id", at("reply_id"))), ...ratings(at("reply_id")));
    if (table.kind === "comparisons") {
      for (const side of ["a", "b"]) shown.append(...about(`Reply ${side}`, rowsOf("replies", "reply_id", at(`reply_${side}`))));
      shown.append(...comparisons(at("item_id")));
    }
    if (table.has("_id")) shown.append(...partners(at("_id")));
    if (table.kind === "rows" && table.has("reply_id")) shown.append(...about("The reply", rowsOf("replies", "reply_id", at("reply_id"))), ...ratings(at("reply_id")));
    else if (table.kind === "rows" && table.has("pair_id")) shown.append(...votes(at("pair_id")));
    else if (table.kind === "rows" && table.has("item_id")) {
      const replies = rowsOf("replies", "item_id", at("item_id"));
      if (replies.length) shown.append(...grid("Replies", ["reply", "system"], replies.map(({ of, row: own }) => [of.at("reply_id", own), of.at("system", own)])));
      shown.append(...comparisons(at("item_id")));
    }
    return shown;
  };

  const change = (place) => {
    table = tables[place];
    which.value = String(place);
    sorted = { name: null, ascending: true };
    search.value = "";
    offer();
  };
  const turn = (by_) => { page += by_; opened = null; draw(true); };
  // Opens a row wherever it is in the list.
  const open = (row) => {
    page = Math.floor(Math.max(0, rows.indexOf(row)) / ON_A_PAGE);
    draw(false);
    const button = list.querySelector(`tr[data-row="${row}"] button.row`);
    if (button && button.getAttribute("aria-expanded") !== "true") button.click();
    return button;
  };
  which.addEventListener("change", () => { change(Number(which.value)); find(true); });
  search.addEventListener("input", () => find(true));
  part("rows-before").addEventListener("click", () => turn(-1));
  part("rows-after").addEventListener("click", () => turn(1));
  part("rows-all").addEventListener("click", () => { change(tables.indexOf(table)); find(true); });
  report.onTexts(() => { const row = opened; if (search.value && table.texts.length) find(false); else draw(false); if (row !== null && rows.includes(row)) open(row); });
  if (tables.length) { change(0); find(false); }
  else part("explorer").replaceChildren(make("p", "No table is small enough to be listed here.", "hint"));

  // The matrix: a cell is pointed at, or reached with the arrow keys.
  const drawing = part("matrix"), cursor = part("matrix-cursor"), readout = part("matrix-at");
  if (drawing && data.matrix) {
    const of = tables[data.matrix.table], { hs, cn } = data.matrix, side = Number(cursor.getAttribute("width"));
    const cells = new Map();
    for (let row = 0; row < of.rows; row++) cells.set(`${of.at("hs_id", row)}:${of.at("cn_id", row)}`, row);
    let x = 0, y = 0;
    const partition = () => { const box = document.querySelector('input[name="matrix-tier"]:checked'); return box ? box.value : data.matrix.tiers.at(-1); };
    const here = () => {
      const row = cells.get(`${hs[y]}:${cn[x]}`), tiers = data.matrix.tiers;
      return row !== undefined && tiers.indexOf(of.at("tier", row)) <= tiers.indexOf(partition()) ? row : undefined;
    };
    const look = (tell) => {
      const row = here();
      cursor.setAttribute("x", x * side);
      cursor.setAttribute("y", y * side);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = `${hs[y]}, ${cn[x]}: ${row === undefined ? `not in ${partition()}` : `${words(of.at("label", row))}, ${of.at("tier", row)}`}`;
      if (tell) say(readout.textContent);
    };
    const pick = () => {
      const row = here();
      if (row === undefined) return;
      change(data.matrix.table);
      find(false);
      open(row)?.focus();
    };
    const point = (event) => {
      const box = drawing.getBoundingClientRect();
      x = Math.min(cn.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * cn.length)));
      y = Math.min(hs.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * hs.length)));
    };
    // With scripts it is more than a picture.
    drawing.setAttribute("role", "application");
    drawing.setAttribute("tabindex", "0");
    drawing.setAttribute("aria-describedby", "matrix-at");
    drawing.addEventListener("pointermove", (event) => { point(event); look(false); });
    drawing.addEventListener("click", (event) => { point(event); look(false); pick(); });
    drawing.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-cn.length, 0], End: [cn.length, 0] }[event.key];
      if (event.key === "Enter") { event.preventDefault(); pick(); return; } // or it would press what is then in focus
      if (!move) return;
      event.preventDefault();
      x = Math.min(cn.length - 1, Math.max(0, x + move[0]));
      y = Math.min(hs.length - 1, Math.max(0, y + move[1]));
      look(true);
    });
    for (const box of document.querySelectorAll('input[name="matrix-tier"]')) box.addEventListener("change", () => { if (cursor.getAttribute("visibility") === "visible") look(true); });
  }
})();
