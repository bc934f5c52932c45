"use strict";
// Of a group of heat maps, the one that the selects name is shown.
for (const group of document.querySelectorAll(".heat-maps[data-keys]")) {
  const maps = [...group.querySelectorAll(".heat")], controls = report.make("div", undefined, "controls script");
  const selects = group.dataset.keys.split(" ").map((key) => {
    const values = [...new Set(maps.map((map) => map.dataset[key]))];
    const label = report.make("label", `${key[0].toUpperCase()}${key.slice(1)} `), select = report.make("select");
    for (const value of values) select.append(new Option(value.replaceAll("_", " "), value));
    select.dataset.key = key;
    select.addEventListener("change", () => show(true));
    label.append(select);
    if (values.length > 1) controls.append(label);
    return select;
  });
  const none = report.make("p", "This coefficient is not computed at this level.", "hint");
  const show = (announce) => {
    const fits = (map) => selects.every((select) => map.dataset[select.dataset.key] === select.value);
    for (const map of maps) map.hidden = !fits(map);
    const shown = maps.find(fits);
    none.hidden = shown !== undefined;
    if (announce) report.say(shown ? shown.querySelector("figcaption").textContent : none.textContent);
  };
  group.prepend(controls, none);
  show(false);
}
