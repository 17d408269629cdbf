// The section of plots: learning curves and training metrics by arm, flips by kind of question and by benchmark, the regime map.
const QUIET = 5; // arms shown at first; more would be a tangle

async function startPlots(body) {
  drawPlots(body, await part("plots"));
}

function drawPlots(body, data) {
  const studies = data.titles.filter(
    ([name]) => data.curves[name].length || Object.keys(data.training[name]).length,
  );
  const state = { study: "", metric: "", hidden: new Set() };
  const controls = el("div", { class: "controls" }),
    legend = el("div", { class: "legend", role: "group", "aria-label": "Arms" });
  const curves = el("div", { class: "charts" }),
    training = el("div", { class: "charts" });

  function arms() {
    const series = [...data.curves[state.study], ...Object.values(data.training[state.study]).flat()];
    return [...new Set(series.map((one) => one.name))];
  }
  function visible(series) {
    return series.filter((one) => !state.hidden.has(one.name));
  }
  function draw() {
    const modes = { off: "Off: the weights alone", on: "On: with the bank" };
    curves.replaceChildren(
      ...Object.entries(modes).map(([mode, title]) =>
        lineChart({
          title: `${title}, exact match, percent`,
          xLabel: "updates",
          colours: data.colours[state.study],
          series: visible(data.curves[state.study].filter((one) => one.mode === mode)),
          beside: visible(data.curves[state.study]),
        }),
      ),
    );
    const metrics = Object.keys(data.training[state.study]);
    if (!metrics.includes(state.metric)) state.metric = metrics.includes("solve_rate") ? "solve_rate" : metrics[0];
    put(
      training,
      ...[state.metric].filter(Boolean).map((name) =>
        lineChart({
          title: data.metrics[name],
          xLabel: "updates",
          colours: data.colours[state.study],
          series: visible(data.training[state.study][name]),
        }),
      ),
      flips(data.flips),
    );
    legend.replaceChildren(
      ...arms().map((name) =>
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(!state.hidden.has(name)),
            onclick: () => {
              if (!state.hidden.delete(name)) state.hidden.add(name);
              draw();
            },
          },
          el("i", { style: `color:${colour(data.colours[state.study], name)}` }),
          name,
        ),
      ),
    );
  }
  function choose(study) {
    state.study = study;
    state.hidden = new Set(
      arms().filter(
        (name) => arms().length > QUIET && !["ssp", "sesa", "shaping-only", "oracle", "skillrl"].includes(name),
      ),
    );
    put(
      controls,
      choice(
        "Study",
        studies,
        study,
        choose,
      ),
      choice(
        "Training metric",
        Object.keys(data.training[study]).map((name) => [name, data.metrics[name]]),
        state.metric || "solve_rate",
        (name) => {
          state.metric = name;
          draw();
        },
      ),
    );
    draw();
  }
  if (studies.length) choose(studies[0][0]);
  put(
    body,
    controls,
    legend,
    curves,
    training,
    el(
      "p",
      { class: "note" },
      "Bands reach from the lowest seed to the highest. Curves of training are means over ten updates. " +
        "Press an arm's name to hide or show it; hover or touch a chart for its values.",
    ),
    ...(data.regime ? [regime(data.regime)] : []),
  );
}

// Questions that the bank turned right and wrong, by their kind or by benchmark.
function flips(found) {
  const figure = el("figure", { class: "chart" }),
    bars = el("div");
  if (!found.length) return "";
  const arms = found.map((one) => [one.arm, one.arm]),
    ways = Object.keys(found[0].by).filter((way) => found.every((one) => one.by[way].length));
  const state = { arm: arms.some(([name]) => name === "sesa") ? "sesa" : arms[0][0], way: ways[0] };
  function draw() {
    const rows = found.find((one) => one.arm === state.arm).by[state.way],
      most = Math.max(1, ...rows.flatMap(([, right, wrong]) => [right, wrong]));
    const middle = 310,
      reach = 110,
      height = 30 * rows.length + 8;
    const picture = svg("svg", {
      viewBox: `0 0 480 ${height}`,
      role: "img",
      "aria-label": rows
        .map(([name, right, wrong, asked]) => `${name}: of ${asked} ${right} turned right, ${wrong} wrong`)
        .join("; "),
    });
    rows.forEach(([name, right, wrong, asked], n) => {
      const y = 30 * n + 6,
        gained = (right / most) * reach,
        lost = (wrong / most) * reach;
      picture.append(
        svg("text", { x: 4, y: y + 15 }, name, svg("title", {}, plural(asked, "question"))),
        svg("rect", { x: middle, y, width: gained, height: 20, style: "fill:var(--good)" }),
        svg("text", { x: middle + gained + 5, y: y + 15 }, String(right)),
        svg("rect", { x: middle - lost, y, width: lost, height: 20, style: "fill:var(--bad)" }),
        svg("text", { x: middle - lost - 5, y: y + 15, "text-anchor": "end" }, String(wrong)),
      );
    });
    picture.append(svg("line", { class: "grid", x1: middle, x2: middle, y1: 0, y2: height }));
    bars.replaceChildren(picture);
  }
  const set = (name) => (value) => {
    state[name] = value;
    draw();
  };
  figure.append(
    el("figcaption", {}, "From Off to On: questions turned wrong (left) and right (right)"),
    el(
      "div",
      { class: "controls" },
      choice("Arm", arms, state.arm, set("arm")),
      choice(
        "By",
        ways.map((way) => [way, way]),
        state.way,
        set("way"),
      ),
    ),
    bars,
  );
  draw();
  return figure;
}

// A heat map as a table, so that its numbers can be read in any way that a table can.
function regime(map) {
  const holder = el("div", { class: "table" }),
    grid = el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Regime map" });
  const sizes = [...new Set(map.cells.map((cell) => cell.tail))].sort((a, b) => b - a),
    stages = [...new Set(map.cells.map((cell) => cell.updates))].sort((a, b) => a - b);
  const largest = Math.max(
    1,
    ...map.cells.flatMap((cell) => Object.values(cell.gains).map(([value]) => Math.abs(value))),
  );
  const state = { before: map.before[0], mode: "on" };
  function cell(found) {
    if (!found) return el("td", {}, "\u2013");
    const [value, low, high] = found.gains[`${state.before}/${state.mode}`],
      sure = low > 0 || high < 0;
    const strength = ((0.55 * Math.abs(value)) / largest).toFixed(2);
    const shade = `background:rgba(var(--rgb-${value < 0 ? "bad" : "good"}), ${strength})`;
    return el(
      "td",
      { style: shade },
      sure ? el("strong", {}, signed(value)) : signed(value),
      el("small", {}, `[${signed(low)}, ${signed(high)}]`),
      found.predicted === null ? "" : el("small", {}, `model: ${signed(found.predicted[state.mode])}`),
    );
  }
  function draw() {
    grid.replaceChildren(
      el(
        "table",
        { class: "heat" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Tail \\ updates"),
            stages.map((stage) => el("th", { scope: "col" }, String(stage))),
          ),
        ),
        el(
          "tbody",
          {},
          sizes.map((size) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, String(size)),
              stages.map((stage) => cell(map.cells.find((one) => one.tail === size && one.updates === stage))),
            ),
          ),
        ),
      ),
    );
  }
  draw();
  holder.append(
    el("h3", {}, "The regime map: where a skill memory pays"),
    el(
      "div",
      { class: "controls" },
      choice(
        "SESA over",
        map.before.map((name) => [name, name]),
        state.before,
        (value) => {
          state.before = value;
          draw();
        },
      ),
      choice(
        "Bank",
        [
          ["on", "On"],
          ["off", "Off"],
        ],
        state.mode,
        (value) => {
          state.mode = value;
          draw();
        },
      ),
    ),
    grid,
    el(
      "p",
      { class: "note" },
      "Points of exact match, macro mean, with 95 % intervals, each by itself; bold where the interval leaves out zero. " +
        "Model: what the fitted model of exploration and cards predicts; shaping alone and SSP are one to it. " +
        map.errors,
    ),
  );
  return holder;
}
