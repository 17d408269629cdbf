// What Challengers wrote in training: a sample of their proposals, with the reasons why they were rejected.
async function startPosed(body) {
  const data = await part("posed"),
    section = body.closest("section");
  if (!data || !data.proposals.length) {
    section.hidden = true;
    document.querySelector(`nav a[href="#${section.id}"]`).hidden = true;
    return;
  }
  const reasons = distinct(data.proposals.map((one) => one.reason)).sort();
  const state = { arm: "", seed: "", reason: "", text: "" };
  const list = growingList("proposal", (number) => {
    const one = data.proposals[number];
    return {
      link: `#posed/${number}`,
      head: one.question || "(no question)",
      under: dotted(
        one.arm,
        `seed ${one.seed}`,
        `step ${one.step}`,
        `target ${quoted(one.target)}, ${plural(one.hops, "hop")}`,
      ),
      side: one.reason
        ? el("span", { class: "flip lost" }, reasonText(one.reason))
        : el("span", { class: "flip gained" }, "valid"),
    };
  });
  function draw() {
    const fits = (one) =>
      (!state.arm || one.arm === state.arm) &&
      (!state.seed || String(one.seed) === state.seed) &&
      (!state.reason || (one.reason || "valid") === state.reason) &&
      (!state.text || one.question.toLowerCase().includes(state.text) || one.target.toLowerCase().includes(state.text));
    list.show(
      data.proposals.map((_, n) => n).filter((n) => fits(data.proposals[n])),
      data.proposals.length,
    );
  }
  const set = (name) => (value) => {
    state[name] = value;
    draw();
  };
  put(
    body,
    el(
      "div",
      { class: "controls", role: "search", "aria-label": "Proposals" },
      searchBox("Search proposals", set("text")),
      choice(
        "Reject reason",
        [all("any"), ...reasons.map((reason) => [reason || "valid", reason ? reasonText(reason) : "valid"])],
        "",
        set("reason"),
      ),
      choice("Arm", [all("all arms"), ...options(distinct(data.proposals.map((one) => one.arm)))], "", set("arm")),
      choice("Seed", [all("all seeds"), ...options(distinct(data.proposals.map((one) => one.seed)))], "", set("seed")),
    ),
    list.nodes,
  );
  draw();
}

async function posedDetail(number) {
  const data = await part("posed"),
    one = data && data.proposals[number];
  if (!one) return null;
  return [
    el("h2", { id: "detail-title" }, one.question || "No question was posed"),
    el("p", { class: "note" }, `${one.arm} \u00b7 seed ${one.seed} \u00b7 step ${one.step}`),
    el(
      "dl",
      {},
      fields({
        Target: one.target,
        Hops: String(one.hops),
        Outcome: one.reason ? `rejected: ${reasonText(one.reason)}` : "valid",
      }),
    ),
    turnsView(data, one.turns),
  ];
}
