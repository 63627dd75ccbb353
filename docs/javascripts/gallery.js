"use strict";
// The gallery of docs/gallery.md: filters, sorts and compares the cells of gallery_data.js. No library, no request.

const AT_ONCE = 40;
const COLUMNS = [
  // key of a cell, head, digits after the point; text where there are none
  ["network", "network"],
  ["target", "target"],
  ["count", "cycles", 0],
  ["ms", "ms", 3],
  ["tensors_kib", "tensors, KiB", 1],
  ["weights_kib", "weights, KiB", 1],
  ["dram_kib", "DRAM, KiB", 0],
  ["kept", "kept, %", 2],
  ["sqnr_db", "SQNR, dB", 1],
  ["date", "measured"],
];
const NUMBERS = COLUMNS.filter(([, , digits]) => digits !== undefined);

/** Whether a cell has the chosen task, target and scheme ("" is any), and every word of the text. */
function matches(cell, wanted) {
  const text = `${cell.network} ${cell.task} ${cell.target} ${cell.scheme} ${cell.origin}`.toLowerCase();
  return ["task", "target", "scheme"].every((key) => !wanted[key] || cell[key] === wanted[key])
    && (wanted.text || "").toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Cells by a column; those without a figure come last in both directions. */
function ordered(cells, key, down) {
  const collator = new Intl.Collator("en", {numeric: true});
  const lacks = (cell) => cell[key] === undefined;
  return [...cells].sort((a, b) => {
    if (lacks(a) || lacks(b)) return lacks(a) - lacks(b);
    const order = typeof a[key] === "number" ? a[key] - b[key] : collator.compare(a[key], b[key]);
    return down ? -order : order;
  });
}

/** Pairs of the cells of two networks, a pair for each target and scheme that both have. */
function sideBySide(cells, first, second) {
  const key = (cell) => `${cell.target}\n${cell.scheme}`;
  const of = (network) => new Map(cells.filter((cell) => cell.network === network).map((cell) => [key(cell), cell]));
  const others = of(second);
  return ordered([...of(first).values()], "target")
    .filter((cell) => others.has(key(cell))).map((cell) => [cell, others.get(key(cell))]);
}

/** The different values of a key, in order. */
function choices(cells, key) {
  return ordered([...new Set(cells.map((cell) => cell[key]))].map((value) => ({value})), "value").map(({value}) => value);
}

/** A figure as people read it; small ones keep three digits that say something. */
function shown(value, digits) {
  if (value === undefined) return "–";
  const more = value && digits && Math.abs(value) < 0.1 ? {maximumSignificantDigits: 3} : {
    minimumFractionDigits: digits, maximumFractionDigits: digits,
  };
  return value.toLocaleString("en", more);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function select(label, values, any, onchange) {
  const options = values.map((value) => element("option", {value}, value));
  const made = element("select", {onchange}, ...(any ? [element("option", {value: ""}, any)] : []), ...options);
  return [element("label", {}, element("span", {}, label), made), made];
}

function draw(root, {cells, tasks, unmeasured}) {
  const state = {key: "network", down: false, most: AT_ONCE};
  const again = () => { state.most = AT_ONCE; fill(); };
  const [taskLabel, task] = select("task", tasks, "any", again);
  const [targetLabel, target] = select("target", choices(cells, "target"), "any", again);
  const [schemeLabel, scheme] = select("scheme", choices(cells, "scheme"), "any", again);
  const text = element("input", {type: "search", oninput: again, placeholder: "mobilenet u85"});
  const textLabel = element("label", {}, element("span", {}, "words"), text);
  target.value = "ethos-u55-128";
  const count = element("p", {role: "status"});
  const heads = element("tr");
  const body = element("tbody");
  const more = element("button", {type: "button", onclick: () => { state.most += 200; fill(); }}, "Show more lines");

  for (const [key, head, digits] of COLUMNS) {
    const sort = () => {
      state.down = state.key === key && !state.down;
      state.key = key;
      fill();
    };
    const button = element("button", {type: "button", onclick: sort}, head);
    heads.append(element("th", {scope: "col", "data-key": key, class: digits === undefined ? false : "number"}, button));
  }
  heads.append(element("th", {scope: "col"}, "command"));

  function fill() {
    const wanted = {task: task.value, target: target.value, scheme: scheme.value, text: text.value};
    const found = ordered(cells.filter((cell) => matches(cell, wanted)), state.key, state.down);
    const networks = new Set(found.map((cell) => cell.network)).size;
    count.textContent = `${found.length} of ${cells.length} lines, ${networks} ${networks === 1 ? "network" : "networks"}`;
    for (const head of heads.querySelectorAll("[data-key]")) {
      if (head.dataset.key === state.key) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    body.replaceChildren(...found.slice(0, state.most).flatMap(line));
    more.hidden = found.length <= state.most;
  }

  root.replaceChildren(
    element("form", {"aria-label": "Filter", onsubmit: (event) => event.preventDefault()},
      taskLabel, targetLabel, schemeLabel, textLabel),
    count,
    element("table", {class: "gallery"}, element("thead", {}, heads), body),
    more,
    ...compare(cells),
    ...(unmeasured.length ? [element("p", {}, `Not measured yet: ${unmeasured.join(", ")}.`)] : []),
  );
  fill();
}

/** A target, and small: what a chip has, the scheme, and more. */
function where(cell, more = "") {
  const [name, of] = cell.target.split(/ [(]|[)]/);
  return [element("span", {class: "whole"}, name), element("small", {}, (of ? `${of}, ` : "") + cell.scheme + more)];
}

/** A line of the table, and one below it with the command, hidden at first. */
function line(cell) {
  const text = {
    network: [cell.network, element("small", {}, `${cell.task}, ${cell.origin}`)],
    target: where(cell, cell.left ? `, ${cell.left} on the CPU` : ""),
    date: [element("span", {class: "whole"}, cell.date.slice(0, 10)), element("small", {}, cell.commit)],
  };
  const more = [`${cell.command}`, ...(cell.accuracy ? [`SQNR: ${cell.accuracy}`] : [])];
  const below = element("tr", {class: "command", hidden: ""}, element("td", {colspan: COLUMNS.length + 1},
    ...more.map((words) => element("code", {}, words))));
  const toggle = element("button", {type: "button", "aria-expanded": "false", onclick: () => {
    below.hidden = !below.hidden;
    toggle.setAttribute("aria-expanded", String(!below.hidden));
    toggle.textContent = below.hidden ? "show" : "hide";
  }}, "show");
  toggle.setAttribute("aria-label", `command of ${cell.network} on ${cell.target}, ${cell.scheme}`);
  const row = element("tr", {}, ...COLUMNS.map(([key, head, digits]) => {
    const name = key === "count" && cell.unit === "instructions" ? "instructions" : head;
    const unit = name === "instructions" ? [element("small", {}, name)] : [];
    const content = text[key] || [shown(cell[key], digits), ...unit];
    return element("td", {"data-head": name, class: text[key] ? false : cell[key] === undefined ? "number none" : "number"},
      ...content);
  }), element("td", {"data-head": "command"}, toggle));
  return [row, below];
}

/** Two networks side by side, on every target that both have. */
function compare(cells) {
  const networks = choices(cells, "network");
  const head = element("tr");
  const body = element("tbody");
  const note = element("p", {role: "status"});
  const table = element("table", {class: "gallery pairs"}, element("thead", {}, head), body);
  const [firstLabel, first] = select("one network", networks, "", fill);
  const [secondLabel, second] = select("another", networks, "", fill);
  const has = (name, other) => (networks.includes(name) ? name : other);
  first.value = has("mobilenet_v2", networks[0]);
  second.value = has("efficientnet_b0", networks[1]);

  function fill() {
    const pairs = sideBySide(cells, first.value, second.value);
    note.textContent = pairs.length ? `${pairs.length} targets and schemes, ${first.value} / ${second.value}`
      : `No target and scheme has both ${first.value} and ${second.value}.`;
    table.hidden = !pairs.length;
    const used = NUMBERS.filter(([key]) => pairs.some((pair) => pair.every((cell) => cell[key] !== undefined)));
    head.replaceChildren(element("th", {scope: "col"}, "target"),
      ...used.map(([, title]) => element("th", {scope: "col", class: "number"}, title)),
      element("th", {scope: "col"}, "measured"));
    body.replaceChildren(...pairs.map((pair) => element("tr", {},
      element("td", {"data-head": "target"}, ...where(pair[0])),
      ...used.map(([key, title, digits]) => element("td", {"data-head": title, class: "number"}, ...both(pair, key, digits))),
      element("td", {"data-head": "measured"}, ...pair.flatMap((cell, i) => [i ? " / " : "", cell.commit]),
        element("small", {}, pair.map((cell) => cell.date.slice(0, 10)).join(" / "))),
    )));
  }
  fill();
  return [element("h2", {id: "two"}, "Two networks side by side"),
    element("form", {"aria-label": "Two networks", onsubmit: (event) => event.preventDefault()}, firstLabel, secondLabel),
    note, table];
}

function both(pair, key, digits) {
  const [one, other] = pair.map((cell) => cell[key]);
  const ratio = one !== undefined && other && !["kept", "sqnr_db"].includes(key)
    ? [element("small", {}, `${(one / other).toFixed(2)} times`)] : [];
  return [`${shown(one, digits)} / ${shown(other, digits)}`, ...ratio];
}

if (typeof module !== "undefined") module.exports = {matches, ordered, sideBySide, choices, shown};
else draw(document.getElementById("gallery-table"), GALLERY);
