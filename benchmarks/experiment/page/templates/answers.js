// The transcript viewer: find an answer by what it was asked and what became of it, and read two modes side by side.
const FLIPS = {
  gained: "turned right",
  lost: "turned wrong",
  right: "right in both",
  wrong: "wrong in both",
  single: "only one mode",
};

let indexed = null;

// The answers with what finding them needs: attempts by question and side, and by card.
function answersIndex() {
  indexed ??= part("answers").then((data) => {
    const byQuestion = data.questions.map(() => new Map()),
      byCard = new Map();
    data.attempts.forEach(([question, side, , , , cards], number) => {
      byQuestion[question].set(side, number);
      for (const [card] of cards) {
        if (typeof card !== "number") continue;
        if (!byCard.has(card)) byCard.set(card, []);
        byCard.get(card).push(number);
      }
    });
    const names = new Map(data.sides.map(([arm, mode], side) => [`${arm}\n${mode}`, side]));
    const sideNumber = (arm, mode) => names.get(`${arm}\n${mode}`);
    const find = (question, arm, mode) => byQuestion[question].get(sideNumber(arm, mode));
    function flip(attempt) {
      const [question, side, right] = data.attempts[attempt],
        off = find(question, data.sides[side][0], "off");
      if (off === undefined || off === attempt) return "single";
      const before = data.attempts[off][2];
      return before === right ? (right ? "right" : "wrong") : right ? "gained" : "lost";
    }
    const transcripts = new Set(data.transcripts);
    const told = (attempt) => transcripts.has(data.attempts[attempt][0]);
    return { ...data, byQuestion, byCard, sideNumber, find, flip, told };
  });
  return indexed;
}

async function startAnswers(body, card = null) {
  const data = await answersIndex(),
    { cards } = await part("cards");
  if (!data.attempts.length) {
    put(body, el("p", { class: "notice" }, "No answers are stored here."));
    return;
  }
  const arms = distinct(data.sides.map(([arm]) => arm)),
    families = distinct(data.questions.map((question) => question[6]))
      .filter(Boolean)
      .sort();
  const modes = distinct(data.sides.map(([, mode]) => mode)).filter((mode) => mode !== "off");
  const state = {
    arm: arms.includes("sesa") ? "sesa" : arms[0],
    mode: modes[0] || "",
    benchmark: "",
    seed: "",
    flip: "",
    family: "",
    hops: "",
    card,
    text: "",
  };
  if (card !== null) state.arm = "";
  const list = growingList("answer", (attempt) => {
    const [question, side, right, prediction] = data.attempts[attempt],
      [seed, benchmark, , text, wanted] = data.questions[question],
      [arm, mode] = data.sides[side],
      off = data.sideNumber(arm, "off");
    const flip = data.flip(attempt);
    return {
      link: `#answer/${question}/${off ?? side}/${side}`,
      head: text,
      under: dotted(
        `${arm} ${mode}`,
        data.benchmarks[benchmark],
        `seed ${seed}`,
        `answered ${quoted(prediction || "\u2013")}, wanted ${quoted(wanted[0])}`,
        data.told(attempt) || !data.shown ? "" : "no transcript here",
      ),
      side: flip === "single" ? verdictText(right) : el("span", { class: `flip ${flip}` }, FLIPS[flip]),
    };
  });
  function rows() {
    const found = [];
    data.attempts.forEach(([question, side, , prediction, , shown], number) => {
      const [arm, mode] = data.sides[side],
        [seed, benchmark, , text, , hops, family] = data.questions[question];
      // An arm without the mode that is looked for is shown as it is: SSP has Off alone.
      const wanted = data.sideNumber(arm, state.mode) === undefined ? "off" : state.mode;
      if (
        mode === wanted &&
        (!state.arm || arm === state.arm) &&
        (!state.seed || String(seed) === state.seed) &&
        (!state.benchmark || benchmark === state.benchmark) &&
        (!state.hops || String(hops) === state.hops) &&
        (!state.family || family === state.family) &&
        (!state.flip || data.flip(number) === state.flip) &&
        (state.card === null || shown.some(([one]) => one === state.card)) &&
        (!state.text || text.toLowerCase().includes(state.text) || prediction.toLowerCase().includes(state.text))
      )
        found.push(number);
    });
    return found.sort((a, b) => data.told(b) - data.told(a) || a - b);
  }
  const draw = () => list.show(rows(), data.attempts.length);
  const set = (name) => (value) => {
    state[name] = value;
    draw();
  };
  const chip =
    card === null
      ? ""
      : el(
          "button",
          {
            type: "button",
            onclick: () => {
              location.hash = "#transcripts";
              startAnswers(body);
            },
          },
          `Card: ${cards[card] ? cards[card].d : card} \u00d7`,
        );
  put(
    body,
    ...(data.shown < data.attempts.length
      ? [
          el(
            "p",
            { class: "note" },
            `${plural(data.shown, "transcript")} of ${plural(data.attempts.length, "answer")} are in this file: of each ` +
              "benchmark and seed the same number of questions, the first ones, which come first in the list. Every answer " +
              "is in the experiment's directory, under evaluations/.",
          ),
        ]
      : []),
    el(
      "div",
      { class: "controls", role: "search", "aria-label": "Transcripts" },
      chip,
      searchBox("Search answers", set("text")),
      choice("Arm", [all("all arms"), ...options(arms)], state.arm, set("arm")),
      modes.length
        ? choice(
            "Bank",
            modes.map((mode) => [mode, `Off against ${mode === "on" ? "On" : mode}`]),
            state.mode,
            set("mode"),
          )
        : "",
      choice("From Off", [all("any change"), ...Object.entries(FLIPS)], state.flip, set("flip")),
      choice(
        "Benchmark",
        [all("all benchmarks"), ...Object.entries(data.benchmarks)],
        state.benchmark,
        set("benchmark"),
      ),
      choice(
        "Seed",
        [all("all seeds"), ...options(distinct(data.questions.map(([seed]) => seed)))],
        state.seed,
        set("seed"),
      ),
      families.length ? choice("Kind", [all("all kinds"), ...options(families)], state.family, set("family")) : "",
      choice(
        "Hops",
        [
          all("any"),
          ...options(
            distinct(data.questions.map((question) => question[5]))
              .filter(Boolean)
              .sort(),
          ),
        ],
        state.hops,
        set("hops"),
      ),
    ),
    list.nodes,
  );
  draw();
}

async function answerDetail(question, left, right) {
  const data = await answersIndex(),
    found = data.questions[question];
  if (!found) return null;
  const [seed, benchmark, id, text, wanted, hops, family] = found,
    store = await place("main", seed),
    { cards } = await part("cards");
  const pair = el("div", { class: "pair" }),
    names = [...data.byQuestion[question].keys()]
      .sort((a, b) => a - b)
      .map((side) => [String(side), data.sides[side].join(", ")]);
  const go = (one, other) => {
    location.hash = `#answer/${question}/${one}/${other}`;
  };
  function column(side, other, pick) {
    const number = data.byQuestion[question].get(side),
      beside = data.byQuestion[question].get(other),
      alone = side === other || beside === undefined;
    if (number === undefined) return el("div", {}, "This side did not answer it.");
    const [, , correct, prediction, end, shown] = data.attempts[number],
      turns = store.attempts[number];
    return el(
      "div",
      {},
      el("div", { class: "controls" }, choice("Side", names, String(side), pick)),
      shown.length
        ? [
            el("h4", {}, "Cards shown"),
            el(
              "ul",
              {},
              shown.map(([card, likeness]) =>
                el(
                  "li",
                  {},
                  typeof card === "number"
                    ? el("a", { href: `#card/${card}` }, cards[card].d || cards[card].t)
                    : el("code", {}, card),
                  ` (likeness ${likeness})`,
                ),
              ),
            ),
          ]
        : el("p", { class: "note" }, "No card was shown."),
      turns
        ? turnsView(store, turns, store.evidence[question], alone ? null : store.attempts[beside] || null)
        : el("p", { class: "note" }, "This transcript is not in this file: it is in the experiment's directory, under evaluations/."),
      el(
        "p",
        {},
        "Answer: ",
        el("strong", {}, prediction || "none"),
        ` (${end.replaceAll("_", " ")}). `,
        verdictText(correct),
        `, reward ${correct}`,
      ),
    );
  }
  put(
    pair,
    column(left, right, (side) => go(side, right)),
    left === right ? "" : column(right, left, (side) => go(left, side)),
  );
  return [
    el("h2", { id: "detail-title" }, text),
    el(
      "p",
      { class: "note" },
      dotted(data.benchmarks[benchmark], `seed ${seed}`, id, hops ? plural(hops, "hop") : "", family),
    ),
    el("p", {}, "Wanted: ", el("strong", {}, wanted.join(" | "))),
    pair,
  ];
}
