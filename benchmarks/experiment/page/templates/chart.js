// A line chart in SVG: a line a series, a band from its lowest to its highest seed, values under the pointer.
const WIDTH = 480,
  HEIGHT = 290,
  LEFT = 46,
  RIGHT = 12,
  TOP = 10,
  BOTTOM = 36;

// Black would vanish in the dark, so it is the text's colour.
const colour = (colours, name) => (colours[name] === "#000000" ? "var(--text)" : colours[name]);

function ticks(low, high, count, least = 0) {
  const rough = Math.max((high - low) / count || 1, least),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n += 1)
    found.push(Number((n * step).toPrecision(12)));
  return found;
}

const short = (value) => (Math.abs(value) >= 10000 ? value.toExponential(0) : String(Number(value.toPrecision(4))));

// `beside`: other series that share the scale, so that two charts can be compared by eye.
function lineChart({ title, xLabel, series, colours, beside = series }) {
  const values = [...series, ...beside].flatMap((one) => [...one.low, ...one.high]).filter((value) => value !== null);
  if (!values.length)
    return el(
      "figure",
      { class: "chart" },
      el("figcaption", {}, title),
      el("p", { class: "note" }, "Nothing to show: no arm that is shown has it."),
    );
  const xs = series.flatMap((one) => one.x),
    last = Math.max(...xs, 1),
    first = Math.min(...xs, last);
  const low = Math.min(...values),
    top = Math.max(...values),
    high = top === low ? low + 1 : top;
  const x = (value) => LEFT + ((value - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const path = (one, which) =>
    one.x
      .map((at, n) => (one[which][n] === null ? null : `${x(at).toFixed(1)},${y(one[which][n]).toFixed(1)}`))
      .filter(Boolean);

  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${title}: ${summary(series)}`,
  });
  for (const value of ticks(low, high, 5)) {
    picture.append(
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)),
    );
  }
  for (const value of ticks(first, last, 6, 1))
    picture.append(svg("text", { x: x(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, short(value)));
  picture.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, xLabel));
  for (const one of series) {
    const stroke = colour(colours, one.name);
    picture.append(
      svg("polygon", {
        points: [...path(one, "low"), ...path(one, "high").reverse()].join(" "),
        style: `fill:${stroke};opacity:0.14`,
      }),
    );
  }
  for (const one of series) {
    const stroke = colour(colours, one.name);
    picture.append(
      svg("polyline", { points: path(one, "mean").join(" "), style: `stroke:${stroke};fill:none;stroke-width:2` }),
    );
    if (one.x.length < 12)
      picture.append(
        ...path(one, "mean").map((point) =>
          svg("circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: 3, style: `fill:${stroke}` }),
        ),
      );
  }
  const figure = el("figure", { class: "chart" }, el("figcaption", {}, title), picture);
  pointed(figure, picture, series, colours, x);
  return figure;
}

const summary = (series) =>
  series.map((one) => `${one.name} ends at ${short(one.mean[one.mean.length - 1] ?? 0)}`).join(", ") || "no data";

// Tells the values of all series at the update nearest to the pointer.
function pointed(figure, picture, series, colours, x) {
  const tip = el("div", { class: "tip", hidden: true }),
    rule = svg("line", { class: "grid", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const all = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  figure.append(tip);
  picture.append(rule);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(),
      at = ((event.clientX - box.left) / box.width) * WIDTH;
    const nearest = all.reduce(
      (best, value) => (Math.abs(x(value) - at) < Math.abs(x(best) - at) ? value : best),
      all[0],
    );
    if (nearest === undefined) return;
    const lines = series
      .filter((one) => one.x.includes(nearest))
      .map((one) => [one.name, one.mean[one.x.indexOf(nearest)]])
      .sort((a, b) => b[1] - a[1]);
    tip.replaceChildren(
      el("strong", {}, `update ${nearest}`),
      ...lines.map(([name, value]) =>
        el("div", { style: `color:${colour(colours, name)}` }, `${name} ${value === null ? "\u2013" : short(value)}`),
      ),
    );
    tip.hidden = false;
    const left = event.clientX - figure.getBoundingClientRect().left;
    tip.style.left = `${Math.max(0, left > figure.clientWidth / 2 ? left - tip.offsetWidth - 12 : left + 12)}px`;
    tip.style.top = "2.5rem";
    rule.setAttribute("x1", x(nearest));
    rule.setAttribute("x2", x(nearest));
    rule.setAttribute("visibility", "visible");
  });
  picture.addEventListener("pointerleave", () => {
    tip.hidden = true;
    rule.setAttribute("visibility", "hidden");
  });
}
