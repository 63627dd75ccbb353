"use strict";
// What draws the page. The data are those of page_data.py; the libraries are Cytoscape.js, Plotly and Tabulator.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const known = value => value !== null && value !== undefined;
const whole = value => Math.round(value).toLocaleString("en");
const digits = (value, count) => typeof value === "number"
  ? value.toLocaleString("en", {minimumFractionDigits: count, maximumFractionDigits: count}) : value;
const real = value => value === "∞" ? Infinity : value === "−∞" ? -Infinity : value;
const percent = value => digits(100 * value, 1) + " %";
const size = bytes => bytes < 1024 ? whole(bytes) + " B"
  : bytes < 1048576 ? digits(bytes / 1024, 1) + " KiB" : digits(bytes / 1048576, 2) + " MiB";
const short = name => name.replace(/^aten\./, "").replace(/\.(default|Tensor)$/, "");
const plain = text => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");  // Plotly reads tags in its texts
const line = source => (source ?? "").split(", in ")[0];  // of "file.py:12, in forward: y = x"
const redraws = [];  // what is drawn again when the theme changes

function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter(known));
  return made;
}

function section(id, title, note) {
  const made = element("section", {id}, element("h2", {}, title), note ? element("p", {class: "note"}, note) : null);
  main.append(made);
  document.querySelector("nav").append(element("a", {href: "#" + id}, title));
  return made;
}

function plainTable(heads, rows) {
  const cell = (kind, value) => element(kind, typeof value === "object" && value?.n ? {class: "n"} : {}, value?.n ?? value ?? "");
  return element("table", {class: "plain"},
    element("thead", {}, element("tr", {}, ...heads.map(head => cell("th", head)))),
    element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map(value => cell("td", value))))));
}

// Cards

function cards() {
  const f = data.figures, a = data.accuracy, rows = [];
  const add = (name, value, note) => rows.push([name, value, note]);
  if (f) {
    if (known(f.delegated)) add("operators delegated", whole(f.delegated), `in ${f.delegates} delegate${f.delegates === 1 ? "" : "s"}`);
    if (known(f.on_cpu)) add("operators on the CPU", whole(f.on_cpu), f.on_cpu ? "not in the cycles" : null);
    if (known(f.cycles)) add("cycles", whole(f.cycles), "an estimate of the " + (f.cycles_by || "target's compiler"));
    if (data.timing) add("cycles, timing model", whole(data.timing.cycles), data.timing.system.replaceAll("_", "_\u200b"))  // where a line may break;
    if (known(f.inferences_per_second)) {
      add("milliseconds", digits(f.ms, 3), `estimated, at ${whole(f.clock_hz / 1e6)} MHz`);
      add("inferences per second", digits(f.inferences_per_second, 1), "estimated");
    }
    if (known(f.sram_bytes)) add("SRAM", size(f.sram_bytes), data.sram_parts || null);
    const by = f.estimated_by ? "an estimate of the " + f.estimated_by : null;
    if (f.dram_bytes) add("DRAM", size(f.dram_bytes), by);
    if (f.dram_read_bytes || f.dram_written_bytes)
      add("DRAM traffic", size(f.dram_read_bytes + f.dram_written_bytes), `${size(f.dram_read_bytes)} read; ${by ?? "estimated"}`);
    if (known(f.flash_bytes)) add("flash", size(f.flash_bytes), f.flash_bytes ? "weights and commands" : null);
    add("file", size(f.file_bytes), `${whole(f.file_bytes)} bytes`);
    add("time to compile", digits(f.seconds, 1) + " s", "on the machine that compiled");
  }
  if (a) {
    if (known(a.metric)) add("metric", digits(a.metric, 4), `in float ${digits(a.float_metric, 4)}`);
    if (known(a.sqnr)) add("SQNR against float", digits(a.sqnr, 1) + " dB", `${a.samples} samples`);
    if (known(a.equal)) add("integers that are equal", percent(a.equal), `${a.samples} samples`);
  }
  main.append(element("dl", {class: "cards"}, ...rows.map(([name, value, note]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, note ? element("small", {}, note) : null)))));
  for (const note of f?.notes ?? []) main.append(element("p", {class: "note"}, `Not in these figures: ${note}`));
}

// What would make it faster

function advice() {
  if (!data.advice.length) return;
  const place = section("advice", "What would make it faster",
    "Each change was made and compiled; cycles are of the same estimate as above. The savings of two changes need not add up.");
  place.append(element("ol", {}, ...data.advice.map(text => element("li", {}, text))));
}

// What bounds the time: the cycles of the timing model, or else of who estimates layers, by the unit or memory that decides

const BOUNDS = {mac: "the multipliers", output: "the output unit", issue: "the issue of commands"};
const ADVICE = [
  [/flash|dram/i, "Weights, or tensors of a cache, come from there: a memory mode that has them in SRAM, a schedule that fetches them earlier "
    + "(--schedule deep) or fewer weights make it faster."],
  [/^mac$/, "An accelerator with more MACs, or fewer multiplications, makes it faster."],
  [/^output$/, "Results are the limit, not multiplications: fewer elementwise operators and smaller results make it faster."],
  [/^sram$/i, "Tensors move through SRAM faster than they can be read: fewer copies and smaller tensors make it faster."]];

function bounds() {
  const sums = new Map(), by = data.timing ? "timing model" : data.figures?.estimated_by || "target's compiler";
  const cost = row => data.timing ? row.model_cycles : row.cycles;
  for (const row of data.operators)
    if (row.bound && cost(row)) sums.set(row.bound, (sums.get(row.bound) ?? 0) + cost(row));
  const all = [...sums.values()].reduce((a, b) => a + b, 0);
  if (!all) return;
  const rows = [...sums].sort((a, b) => b[1] - a[1]), [first, most] = rows[0], name = bound => BOUNDS[bound] ?? bound;
  const advice = data.timing ? ADVICE.find(([which]) => which.test(first))?.[1] ?? "" : "";
  const place = section("bounds", "What bounds the time",
    `${percent(most / all)} of the cycles are bound by ${name(first)}. ${advice} This is an estimate of the ${by}; nobody measured it.`);
  chart(place, "Cycles by what bounds them", () => [{type: "bar", orientation: "h", x: rows.map(([, cycles]) => cycles), y: rows.map(([bound]) => name(bound)),
    text: rows.map(([, cycles]) => `${percent(cycles / all)}`), textposition: "auto", hoverinfo: "x+y", marker: {color: rows.map((_, i) => colour(i ? "quiet" : "accent"))}}],
    () => ({height: 60 + 34 * rows.length, margin: {l: 130, r: 15, t: 5, b: 40}, xaxis: {title: {text: `cycles, ${by}`}}, yaxis: {autorange: "reversed"}}));
}

// The graph: operators in their modules; a closed module is one box

const LEGIBLE = .85;  // of the size of the page's text

function graph() {
  const operators = data.operators.filter(row => row.inputs.length || data.operators.some(other => other.inputs.includes(row.node)));
  if (operators.length < 2) return;
  const place = section("network", "Network");
  place.append(document.getElementById("graph-tools").content.cloneNode(true));
  const at = id => document.getElementById(id);
  const parts = row => row.module ? row.module.split(".") : [];
  const deepest = Math.max(...operators.map(row => parts(row).length));
  const ways = [["cost", "cycles"], ["place", "delegate or CPU"], ["sqnr", "SQNR"]].filter(([way]) =>
    way === "place" || operators.some(row => known(row[way === "cost" ? "cycles" : way])));
  for (const [way, text] of ways) at("colour").append(new Option(text, way));
  for (let depth = 0; depth <= deepest; depth++)
    at("depth").append(new Option(depth === deepest ? "all" : depth === 0 ? "none" : `${depth} deep`, depth));
  const boxesAt = depth => new Set(operators.map(row => parts(row).slice(0, depth + 1).join(".") + (parts(row).length <= depth ? "/" + row.node : ""))).size;
  let first = 0;
  while (first < deepest && boxesAt(first + 1) <= 24) first++;
  at("depth").value = first;

  let open = new Set(), cy = null, selected = null;
  const byDepth = depth => {
    open = new Set();
    for (const row of operators)
      for (let i = 1; i <= Math.min(depth, parts(row).length); i++) open.add(parts(row).slice(0, i).join("."));
  };
  // The box of an operator: its outermost module that is closed, or itself
  const box = row => {
    const path = parts(row);
    for (let i = 1; i <= path.length; i++) {
      const module = path.slice(0, i).join(".");
      if (!open.has(module)) {
        const kind = row.classes?.[i - 1];
        return {id: "m:" + module, label: path[i - 1], kind, parent: path.slice(0, i - 1), module};
      }
    }
    return {id: "o:" + row.node, label: short(row.operator), parent: path, module: null};
  };
  // framed: around what is in an open module is its frame; else its name stands in front of each box's own
  const elements = framed => {
    const boxes = new Map(), edges = new Map(), frames = new Set(), of = new Map();
    for (const row of operators) {
      const made = box(row);
      if (!boxes.has(made.id)) boxes.set(made.id, {...made, rows: []});
      boxes.get(made.id).rows.push(row);
      of.set(row.node, made.id);
      for (let i = 1; i <= made.parent.length; i++) frames.add(made.parent.slice(0, i).join("."));
    }
    for (const row of operators) for (const input of row.inputs) {
      const [from, to] = [of.get(input), of.get(row.node)];
      if (from && from !== to) edges.set(from + ">" + to, {data: {source: from, target: to}});
    }
    const parent = path => framed && path.length ? "f:" + path.join(".") : undefined;
    const made = (framed ? [...frames] : []).map(module => ({classes: "frame", data: {
      id: "f:" + module, label: module.split(".").pop(), module, parent: parent(module.split(".").slice(0, -1))}}));
    for (const {id, label, kind, parent: path, module, rows} of boxes.values()) {
      const sum = key => rows.some(row => known(row[key])) ? rows.reduce((all, row) => all + (row[key] ?? 0), 0) : null;
      const errors = rows.map(row => real(row.sqnr)).filter(known);
      made.push({classes: module === null ? "operator" : "module", data: {
        id, module, parent: parent(path), rows, cycles: sum("cycles"), share: sum("share"),
        label: [[framed || module === null ? label : module, kind].filter(Boolean).join(" ") + (module !== null && rows.length > 1 ? ` (${rows.length})` : ""),
          known(sum("share")) ? percent(sum("share")) : null].filter(known).join(" · "),
        cpu: rows.filter(row => row.cpu).length, sqnr: errors.length ? Math.min(...errors) : null}});
    }
    return [...made, ...edges.values()];
  };
  const mix = (from, to, part) => {
    const read = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
    const [a, b] = [read(from), read(to)];
    return "#" + a.map((v, i) => Math.round(v + (b[i] - v) * part).toString(16).padStart(2, "0")).join("");
  };
  const paint = () => {
    const way = at("colour").value, boxes = cy.nodes(".operator, .module");
    const most = Math.max(...boxes.map(node => node.data("share") ?? 0), 1e-9);
    const cool = colour("cool"), hot = colour("hot"), cpu = colour("cpu");
    boxes.forEach(node => {
      const part = way === "cost" ? Math.sqrt((node.data("share") ?? 0) / most)
        : way === "sqnr" ? (known(node.data("sqnr")) ? 1 - Math.min(Math.max(node.data("sqnr"), 0), 60) / 60 : 0) : 0;
      const fill = way === "place" ? mix(cool, cpu, node.data("cpu") / node.data("rows").length) : mix(cool, hot, part);
      const text = part > .5 || way === "place" && node.data("cpu") ? colour("on-hot") : colour("text");
      node.style({"background-color": fill, color: text, "border-color": node.data("cpu") ? cpu : colour("line")});
    });
    cy.nodes(".frame").style({"background-color": colour("ground"), "border-color": colour("line"), color: colour("quiet")});
    cy.edges().style({"line-color": colour("quiet"), "target-arrow-color": colour("quiet")});
    const key = (name, text) => [element("i", {style: `background: var(--${name})`}), text];
    at("legend").replaceChildren(...(way === "place" ? [...key("cool", "delegate"), ...key("cpu", "CPU")]
      : way === "cost" ? [...key("cool", "few cycles"), ...key("hot", "most cycles"), ...key("cpu", "frame: on the CPU")]
      : [...key("cool", "60 dB and more"), ...key("hot", "0 dB")]));
  };
  const say = node => {
    selected = node;
    cy.nodes().removeClass("selected");
    if (!node) return at("selected").replaceChildren();
    node.addClass("selected");
    const {rows, cycles, share, cpu, sqnr, module} = node.data(), one = rows?.length === 1 ? rows[0] : null;
    const words = [one ? `${one.node}: ${one.operator}` : `${module}: ${rows?.length ?? "open"} operators`];
    if (one?.module) words.push(`in ${one.module}`);
    if (known(cycles)) words.push(`${whole(cycles)} cycles (${percent(share)})`);
    if (known(sqnr)) words.push(`SQNR ${digits(sqnr, 1)} dB`);
    if (cpu) words.push(one ? `on the CPU: ${one.reason || "no reason known"}` : `${cpu} on the CPU`);
    if (one?.source) words.push(one.source);
    at("selected").textContent = words.join(" · ");
  };
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "12px system-ui, sans-serif";
  const width = text => Math.ceil(pen.measureText(text).width) + 4;
  const layout = (framed = true) => {
    cy?.destroy();
    cy = cytoscape({container: at("graph"), elements: elements(framed), style: [
      {selector: "node", style: {label: "data(label)", "font-size": 12, "font-family": "system-ui, sans-serif"}},
      {selector: ".operator, .module", style: {shape: "rectangle", width: node => width(node.data("label")), height: 24, padding: 6, "text-valign": "center",
        "border-width": 2}},
      {selector: ".module", style: {shape: "round-rectangle", height: 28}},
      {selector: ".frame", style: {shape: "round-rectangle", "text-valign": "top", "border-width": 1, padding: 10}},
      {selector: "edge", style: {width: 1.2, "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": .8}},
      {selector: ".selected", style: {"border-width": 4, "border-color": colour("accent")}}]});
    cy.layout({name: "dagre", rankDir: "LR", nodeSep: 14, rankSep: 30, edgeSep: 8, padding: 16}).run();
    const tooWide = cy.nodes().boundingBox().w > cy.width() / LEGIBLE - 32;
    if (tooWide && cy.nodes(".frame").length) return layout(false);
    if (tooWide) wrap();
    const all = cy.elements().boundingBox(), scale = Math.min(1.2, Math.max(LEGIBLE, cy.width() / all.w));
    at("graph").style.height = `${Math.min(544, Math.max(160, all.h * scale + 60))}px`;
    cy.resize();
    cy.on("tap", ".module, .frame", event => toggle(event.target));
    cy.on("tap", ".operator", event => say(event.target));
    cy.on("tap", event => { if (event.target === cy) say(null); });
    paint();
    look();
    printed();
    window.network = cy;  // for those who look into the page
  };
  // On paper, which has no room for a canvas of the screen's size, a picture of all of it stands in its place
  const printed = () => {
    at("graph-printed").src = cy.png({full: true, scale: 2, maxWidth: 2400, maxHeight: 3200, bg: colour("ground")});
  };
  addEventListener("beforeprint", printed);
  // A long row of closed boxes goes on below, as text does, at a size at which labels can be read
  const wrap = () => {
    const all = cy.nodes().boundingBox(), room = cy.width() / LEGIBLE - 32;
    const columns = [...new Set(cy.nodes().map(node => node.position("x")))].sort((a, b) => a - b), place = new Map();
    let begin = 0, left = all.x1;
    for (const x of columns) {
      const right = Math.max(...cy.nodes().filter(node => node.position("x") === x).map(node => node.boundingBox().x2));
      if (right - left > room) { begin++; left = Math.min(...cy.nodes().filter(node => node.position("x") === x).map(node => node.boundingBox().x1)); }
      place.set(x, [x - left, begin * (all.h + 40)]);
    }
    cy.nodes().forEach(node => {
      const [x, down] = place.get(node.position("x"));
      node.position({x, y: node.position("y") + down});
    });
  };
  // Long networks are legible only in part: the beginning is shown, at a size at which labels can be read
  const look = () => {
    cy.fit(undefined, 16);
    if (cy.zoom() > 1.2) { cy.zoom(1.2); cy.center(); }
    if (cy.zoom() < .6) {
      cy.zoom(LEGIBLE);
      const all = cy.elements().boundingBox();
      cy.pan({x: 16 - LEGIBLE * all.x1, y: Math.max(16, (cy.height() - LEGIBLE * all.h) / 2) - LEGIBLE * all.y1});
    }
  };
  const toggle = node => {
    const module = node.data("module");
    if (!open.delete(module)) open.add(module);
    else for (const inner of [...open]) if (inner.startsWith(module + ".")) open.delete(inner);
    layout();
    const next = cy.nodes().filter(other => other.data("module") === module);
    if (next.length) { say(next[0]); cy.center(next[0]); }
  };
  const step = by => {
    const all = cy.nodes(".operator, .module, .frame").sort((a, b) => a.position("x") - b.position("x") || a.position("y") - b.position("y"));
    const now = selected ? all.toArray().findIndex(node => node.id() === selected.id()) : -1;
    const next = all[(now + by + all.length) % all.length];
    say(next);
    cy.center(next);
  };
  const zoom = factor => cy.zoom({level: cy.zoom() * factor, renderedPosition: {x: cy.width() / 2, y: cy.height() / 2}});
  const keys = {ArrowUp: () => cy.panBy({x: 0, y: 60}), ArrowDown: () => cy.panBy({x: 0, y: -60}), "+": () => zoom(1.3),
    ArrowLeft: () => cy.panBy({x: 60, y: 0}), ArrowRight: () => cy.panBy({x: -60, y: 0}), "-": () => zoom(1 / 1.3),
    n: () => step(1), p: () => step(-1), Enter: () => selected?.data("module") != null && toggle(selected)};
  at("graph").addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  at("colour").onchange = paint;
  at("depth").onchange = () => { byDepth(+at("depth").value); say(null); layout(); };
  at("fit").onclick = () => cy.fit(undefined, 16);
  at("nearer").onclick = () => zoom(1.3);
  at("farther").onclick = () => zoom(1 / 1.3);
  byDepth(first);
  layout();
  redraws.push(paint);
}

// Tables

function operators() {
  const place = section("operators", "Operators", data.figures && known(data.figures.cycles)
    ? `Cycles are an estimate of the ${data.figures.estimated_by || "target's compiler"}, not a measurement. `
      + (data.timing ? "“model” are those of the timing model, in which units and memories work side by side, and which says what decides. " : "")
      + "Operators without cycles run as part of another." : null);
  const rows = data.operators.map((row, index) => ({...row, index, where: row.cpu ? "CPU" : "delegate"}));
  const ordered = (a, b) => (real(a) ?? -Infinity) - (real(b) ?? -Infinity);
  // Names come from the model: what Tabulator gets for a cell or a tooltip is an element, for it reads tags in a string.
  const cell = show => ({formatter: cell => element("span", {}, show(cell.getValue(), cell.getData()))});
  const whenKnown = show => cell(value => known(value) ? show(value) : "–");
  const number = (count, unit = "") => whenKnown(value => digits(value, count) + unit);
  const share = {formatter: cell => element("span", {class: "share"}, ...known(cell.getValue()) ? [element("span", {class: "bar"},
    element("i", {style: `width:${Math.min(100, 100 * cell.getValue())}%`})), element("span", {}, percent(cell.getValue()))] : ["–"])};
  const wholeText = {tooltip: (_event, cell) => element("span", {}, cell.getValue() ?? "")};
  const text = {headerFilter: "input", headerFilterPlaceholder: "filter", ...cell(value => value ?? "")};
  const counted = {hozAlign: "right", headerHozAlign: "right", sorter: ordered, minWidth: 88};
  // In a narrow window columns go below the row in this order, the greatest number first; a click on + shows them
  const leaves = responsive => ({responsive});
  const below = cells => element("dl", {class: "below"}, ...cells.flatMap(({title, value}) =>
    [element("dt", {}, title), element("dd", {}, value instanceof Node ? value : String(value ?? "–"))]));
  const columns = [
    {formatter: "responsiveCollapse", width: 34, headerSort: false, hozAlign: "center", ...leaves(0)},
    {title: "#", field: "index", ...counted, minWidth: 48, width: 48, ...leaves(7)},
    {title: "operator", field: "operator", ...text, ...cell((value, row) => short(value || row.node)), minWidth: 112, ...leaves(0)},
    {title: "node", field: "node", ...text, minWidth: 80, ...wholeText, ...leaves(9)},
    {title: "module", field: "module", ...text, minWidth: 100, widthGrow: 2, ...wholeText, ...leaves(1)},
    {title: "source", field: "source", ...text, minWidth: 92, ...cell(line), ...wholeText, ...leaves(8)},
    {title: "where", field: "where", headerFilter: "list", headerFilterParams: {values: ["", "delegate", "CPU"]}, width: 84, ...leaves(0)},
    {title: "runs as", field: "runs_as", ...text, minWidth: 144, ...wholeText, ...leaves(5)},
    {title: "cycles", field: "cycles", ...number(0), ...counted, ...leaves(0)},
    {title: "share", field: "share", ...share, ...counted, hozAlign: "left", minWidth: 118, ...leaves(0)},
    {title: "MACs in use", field: "utilisation", ...whenKnown(percent), ...counted, ...leaves(4)},
    {title: "model", field: "model_cycles", ...number(0), ...counted, ...leaves(3)},
    {title: "bound by", field: "bound", ...text, minWidth: 108, ...wholeText, ...leaves(1)},
    {title: "bytes moved", field: "bytes", ...number(0), ...counted, ...leaves(6)},
    {title: "SQNR, dB", field: "sqnr", ...number(1), ...counted, ...leaves(0)},
    {title: "own, dB", field: "own_sqnr", ...number(1), ...counted, ...leaves(2)},
    {title: "bits", field: "bits", ...number(0), ...counted, ...leaves(6)},
    {title: "saturated", field: "saturated", ...whenKnown(value => digits(100 * value, 2) + " %"), ...counted, ...leaves(5)},
    {title: "least", field: "least", ...number(3), ...counted, ...leaves(8)},
    {title: "greatest", field: "greatest", ...number(3), ...counted, ...leaves(8)},
  ].filter(column => [undefined, "index", "operator", "node"].includes(column.field)
    || rows.some(row => known(row[column.field]) && row[column.field] !== "" && (column.field !== "where" || row.cpu)));
  const holder = element("div", {id: "operator-table"});
  place.append(holder);
  const sorted = rows.some(row => known(row.cycles)) ? [{column: "cycles", dir: "desc"}]
    : rows.some(row => known(row.sqnr)) ? [{column: "sqnr", dir: "asc"}] : [];
  const table = new Tabulator(holder, {data: rows, columns, layout: "fitColumns", responsiveLayout: "collapse", responsiveLayoutCollapseStartOpen: false,
    responsiveLayoutCollapseFormatter: below, maxHeight: 520, initialSort: sorted, selectableRows: false,
    placeholder: "no operator", printAsHtml: true,
    rowFormatter: row => row.getElement().classList.toggle("cpu", row.getData().cpu)});
  table.on("tableBuilt", () => holder.querySelectorAll(".tabulator-col.tabulator-sortable").forEach(head => {
    head.tabIndex = 0;
    head.addEventListener("keydown", event => { if (event.key === "Enter" && event.target === head) head.click(); });
  }));
  window.table = table;  // for those who look into the page
}

function cpu() {
  const left = data.operators.filter(row => row.cpu), groups = new Map();
  if (!left.length) return;
  for (const row of left) {
    const key = JSON.stringify([row.operator, row.reason, row.fix]);
    groups.set(key, [...groups.get(key) ?? [], row]);
  }
  section("cpu", "On the CPU, and why").append(plainTable(["operator", "times", "why", "what to do", "where"],
    [...groups.values()].map(rows => [short(rows[0].operator), {n: String(rows.length)}, rows[0].reason, rows[0].fix,
      [...new Set(rows.map(row => line(row.source)))].filter(Boolean).slice(0, 5).join(", ")])));
}

// Charts

function chart(place, label, traces, layout) {
  const holder = element("div", {role: "img", "aria-label": label});
  place.append(holder);
  const draw = () => {
    const axis = {gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line")};
    const look = {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: 320, showlegend: false,
      font: {color: colour("text"), family: "system-ui, sans-serif", size: 12}, margin: {l: 60, r: 15, t: 15, b: 45},
      hoverlabel: {align: "left"}};
    const made = layout();
    Plotly.react(holder, traces(), {...look, ...made, xaxis: {...axis, ...made.xaxis}, yaxis: {...axis, ...made.yaxis}},
      {responsive: true, displaylogo: false, displayModeBar: false});
  };
  draw();
  redraws.push(draw);
}

function memory() {
  data.delegates.forEach((delegate, number) => {
    if (!delegate.in_memory.length) return;
    const many = data.delegates.filter(other => other.in_memory.length).length > 1;
    const place = section(`memory-${number}`, many ? `Memory of delegate ${number}` : "Memory over time",
      "Each block is a tensor in on-chip memory: when it is there, and where. Those that are there when most is in use are marked.");
    const name = row => row.node || (row.made_by === "input" ? `input ${row.name}` : row.name);
    const same = row => `${row.name} ${row.first} ${row.offset}`;
    const peak = new Set(delegate.at_peak.map(same)), rows = delegate.in_memory;
    const about = row => [name(row), row.made_by, size(row.size), `steps ${row.first} to ${row.last}`, row.source].filter(Boolean).map(plain).join("<br>");
    const beside = element("div", {class: "beside"});
    place.append(beside);
    const picture = element("div");
    const top = delegate.at_peak.toSorted((a, b) => b.size - a.size);
    beside.append(picture, ...top.length ? [element("div", {}, element("h3", {}, "At the peak"),
      plainTable(["tensor", "made by", {n: "bytes"}, "where"], top.map(row => [name(row), row.made_by, {n: whole(row.size)}, line(row.source)])))] : []);
    chart(picture, "Memory over time", () => [{
      type: "bar", x: rows.map(row => (row.first + row.last + 1) / 2), width: rows.map(row => row.last - row.first + 1),
      base: rows.map(row => row.offset / 1024), y: rows.map(row => row.size / 1024), hovertext: rows.map(about), hoverinfo: "text",
      marker: {color: rows.map(row => peak.has(same(row)) ? colour("accent") : colour("cool")), line: {color: colour("quiet"), width: .7}}}],
      () => ({barmode: "overlay", height: 380, xaxis: {title: {text: "step of the compiler's schedule"}}, yaxis: {title: {text: "KiB"}}}));
  });
}

function accuracy() {
  const a = data.accuracy;
  if (!a) return;
  const rows = data.operators.filter(row => known(row.sqnr));
  const place = section("accuracy", "Error along the network",
    "SQNR of each result in the quantized model, and of its own rounding alone. Where the first falls and the second does not, the error comes from before.");
  if (!rows.length) place.append(element("p", {}, "No operator is quantized."));
  const shown = value => value === null ? null : Math.min(Math.max(real(value), 0), 80);
  const curve = (key, tint, name) => ({type: "scatter", mode: "lines+markers", name, x: rows.map((_, i) => i), y: rows.map(row => shown(row[key])),
    connectgaps: true, marker: {size: 4}, line: {width: 1.5, color: colour(tint)},
    text: rows.map(row => `${plain(row.node)}: ${digits(row[key], 1)} dB<br>${plain(row.source)}`), hoverinfo: "text"});
  if (rows.length) chart(place, "SQNR of every operator along the network",
    () => [curve("own_sqnr", "cpu", "its own rounding"), curve("sqnr", "accent", "with all before it")],
    () => ({showlegend: true, legend: {orientation: "h", y: 1.15}, xaxis: {title: {text: "operator"}}, yaxis: {title: {text: "SQNR, dB"}, range: [0, 82]}}));
  if (a.outputs.length > 1) place.append(element("h3", {}, "Outputs: the worst decides"), plainTable(["output", {n: "SQNR, dB"}, {n: "equal"}],
    a.outputs.map(row => [row.name, {n: known(row.sqnr) ? String(digits(row.sqnr, 1)) : "–"}, {n: known(row.equal) ? percent(row.equal) : "–"}])));
  if (a.histograms.length) {
    const pictures = element("div", {class: "pictures"});
    section("histograms", "The worst results in float", "Counts are logarithmic. Marked is what the integers cannot reach: values there saturate.").append(pictures);
    for (const row of a.histograms) {
      const [low, high] = row.range, width = (high - low) / row.counts.length;
      const centres = row.counts.map((_, i) => low + width * (i + .5));
      const inside = x => x >= row.representable[0] && x <= row.representable[1];
      const figure = element("figure", {style: "margin: 0"}, element("figcaption", {}, `${row.node}, ${digits(row.sqnr, 1)} dB`));
      pictures.append(figure);
      chart(figure, `Histogram of ${row.node}`, () => [{type: "bar", x: centres, y: row.counts.map(n => Math.log10(1 + n)), hoverinfo: "x",
        marker: {color: centres.map(x => colour(inside(x) ? "accent" : "cpu"))}}],
        () => ({height: 150, bargap: 0, margin: {l: 25, r: 10, t: 5, b: 25}}));
    }
  }
}

function search() {
  const s = data.search;
  if (!s) return;
  const place = section("search", `${s.measure} against ${s.figure}`, "Each point is a scheme that was measured; dashed is what was asked for.");
  const tint = point => colour(point.chosen ? "cpu" : point.pareto ? "accent" : "quiet");
  const bound = (axis, value) => typeof value === "number" ? [{type: "line", [axis + "0"]: value, [axis + "1"]: value,
    ...(axis === "x" ? {yref: "paper", y0: 0, y1: 1} : {xref: "paper", x0: 0, x1: 1}), line: {dash: "dash", color: colour("quiet")}}] : [];
  chart(place, `${s.measure} against ${s.figure}`, () => [{type: "scatter", mode: "markers", x: s.points.map(p => p.cost), y: s.points.map(p => real(p.value)),
    marker: {size: 9, color: s.points.map(tint)}, text: s.points.map(p => plain(`${p.units} units in 16 bits`)), hoverinfo: "x+y+text"}],
    () => ({xaxis: {title: {text: s.figure}}, yaxis: {title: {text: s.measure}}, shapes: [...bound("x", s.most), ...bound("y", s.least)]}));
  place.append(plainTable([{n: "units in 16 bits"}, {n: s.measure}, {n: s.figure}, ""], s.points.map(p => [{n: String(p.units)}, {n: String(digits(p.value, 2))},
    {n: whole(p.cost)}, p.chosen ? "chosen" : p.pareto ? "" : "another is better at no more cost"])));
  if (s.groups.length) place.append(element("h3", {}, "Units in 16 bits"), element("p", {class: "note"},
    "Units of one row belong together: numbers go from one to another."),
    plainTable(["units", "where"], s.groups.map(group => [group.map(unit => unit.name).join(", "), group.map(unit => unit.source).filter(Boolean).join("; ")])));
}

function steps() {
  const s = data.steps;
  if (!s) return;
  const place = section("steps", "What each step keeps", `${s.says}. Each point is a step that was taken, from the cheapest on; dashed is what is needed.`);
  const costed = s.rows.every(row => known(row.cycles)), against = costed ? "cycles" : "step";
  const curve = (name, key, least) => chart(place, `${name} against ${against}`, () => [{type: "scatter", mode: "lines+markers",
    x: s.rows.map(row => costed ? row.cycles : row.step), y: s.rows.map(row => real(row[key])), line: {width: 1.5, color: colour("quiet")},
    marker: {size: 9, color: s.rows.map(row => colour(row.chosen ? "cpu" : "accent"))}, text: s.rows.map(row => plain(row.step)), hoverinfo: "x+y+text"}],
    () => ({xaxis: {title: {text: against}, ...(costed ? {rangemode: "tozero"} : {type: "category"})}, yaxis: {title: {text: name}, automargin: true}, shapes: least === undefined ? []
      : [{type: "line", xref: "paper", x0: 0, x1: 1, y0: least, y1: least, line: {dash: "dash", color: colour("quiet")}}]}));
  if (s.measure) curve(s.measure, "value", s.least);
  if (s.rows.some(row => known(row.sqnr))) curve("SQNR, dB", "sqnr", s.measure ? undefined : s.least);
  const or = (value, shown) => ({n: known(value) ? String(shown(value)) : "–"});
  const value = s.measure ? [{n: `${s.measure}; ${digits(s.float, 4)} in float, ${digits(s.least, 4)} needed`}] : [];
  const sqnr = {n: s.measure ? "SQNR, dB" : `SQNR, dB; ${digits(s.least, 1)} needed`};
  place.append(plainTable(["step", ...value, sqnr, {n: "cycles"}, {n: "SRAM, KiB"}, ""],
    s.rows.map(row => [row.step, ...value.map(() => ({n: String(digits(row.value, 4))})), or(row.sqnr, value => digits(value, 1)), or(row.cycles, whole),
      or(row.sram_kib, value => digits(value, 1)), row.chosen ? "chosen" : ""])));
}

function making() {
  const place = section("making", "How this was made");
  place.append(element("pre", {}, element("code", {}, data.command)));
  const words = Object.entries(data.options).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  const tables = element("div", {class: "beside"});
  if (words.length) tables.append(element("div", {}, element("h3", {}, "Options of the target"), plainTable(["option", "value"], words)));
  tables.append(element("div", {}, element("h3", {}, "Versions"), plainTable(["package", "version"], Object.entries(data.versions))));
  place.append(tables, element("p", {class: "note"}, "Drawn with Cytoscape.js, cytoscape-dagre, Plotly.js and Tabulator, all under the MIT licence."));
}

cards();
bounds();
advice();
graph();
operators();
cpu();
memory();
accuracy();
search();
steps();
making();
dark.addEventListener("change", () => redraws.forEach(draw => draw()));
document.documentElement.dataset.drawn = "yes";
