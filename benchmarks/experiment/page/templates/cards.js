// The card browser: find a card, and follow it from the failure that it came from to its end.
const WHY = {
  harmful: "its utility (helpful less hurt) fell below zero after enough retrievals",
  crowded: "the bank was above its cap and it was among the least useful",
  "": "the bank has no log that would say why",
};
const ORDERS = {
  age: ["Oldest first", () => 0],
  shown: ["Most retrieved", (card) => -card.r],
  best: ["Greatest utility", (card) => card.u - card.h],
  worst: ["Lowest utility", (card) => card.h - card.u],
  youngest: ["Youngest first", (card) => -card.s],
};

const utility = (card) => signed(card.h - card.u);
const bankName = ([study, arm, seed]) => `${study === "main" ? "" : `${study}: `}${arm}, seed ${seed}`;

async function startCards(body) {
  const { banks, cards } = await part("cards");
  if (!cards.length) {
    put(body, el("p", { class: "notice" }, "No training of this experiment has a bank here."));
    return;
  }
  const studies = distinct(banks.map(([study]) => study));
  const state = {
    study: studies[0],
    arm: "",
    seed: "",
    origin: "",
    fate: "",
    order: "age",
    text: "",
  };
  const list = growingList("card", (number) => {
    const card = cards[number];
    return {
      link: `#card/${number}`,
      head: card.d || card.t,
      under: dotted(
        card.i,
        card.o || "origin unknown",
        bankName(banks[card.b]),
        card.x ? `evicted at step ${card.x[0]}` : "",
      ),
      side: [`shown ${card.r}\u00d7`, el("br"), `utility ${utility(card)}`],
    };
  });
  function draw() {
    const fits = (card) => {
      const [study, arm, seed] = banks[card.b];
      return (
        study === state.study &&
        (!state.arm || arm === state.arm) &&
        (!state.seed || String(seed) === state.seed) &&
        (!state.origin || card.o === state.origin) &&
        (!state.fate || (state.fate === "evicted") === (card.x !== null)) &&
        (!state.text ||
          [card.i, card.d, card.t, card.a, ...card.z].some((text) => text.toLowerCase().includes(state.text)))
      );
    };
    const key = ORDERS[state.order][1];
    list.show(
      cards
        .map((_, n) => n)
        .filter((n) => fits(cards[n]))
        .sort((a, b) => key(cards[a]) - key(cards[b]) || a - b),
      cards.length,
    );
  }
  const set = (name) => (value) => {
    state[name] = value;
    draw();
  };
  // A study's own arms and seeds: a choice that no bank has would find nothing.
  const whose = el("div", { class: "controls" });
  function choose(study) {
    const own = banks.filter((bank) => bank[0] === study),
      arms = distinct(own.map(([, arm]) => arm));
    Object.assign(state, { study, arm: arms.includes("sesa") ? "sesa" : "", seed: "" });
    put(
      whose,
      choice("Arm", [all("all arms"), ...options(arms)], state.arm, set("arm")),
      choice("Seed", [all("all seeds"), ...options(distinct(own.map(([, , seed]) => seed)))], "", set("seed")),
    );
    draw();
  }
  put(
    body,
    el(
      "div",
      { class: "controls", role: "search", "aria-label": "Cards" },
      searchBox("Search cards", set("text")),
      studies.length > 1 ? choice("Study", options(studies), state.study, choose) : "",
      whose,
      choice(
        "Origin",
        [all("all origins"), ...options(distinct(cards.map((card) => card.o).filter(Boolean)))],
        state.origin,
        set("origin"),
      ),
      choice("Fate", [all("alive and evicted"), ["alive", "alive"], ["evicted", "evicted"]], state.fate, set("fate")),
      choice(
        "Order",
        Object.entries(ORDERS).map(([name, [text]]) => [name, text]),
        state.order,
        set("order"),
      ),
    ),
    list.nodes,
  );
  choose(state.study);
}

async function cardDetail(number) {
  const { banks, cards } = await part("cards"),
    card = cards[number];
  if (!card) return null;
  const [study, arm, seed] = banks[card.b],
    data = await place(study, seed);
  return [
    el("h2", { id: "detail-title" }, card.d || card.i),
    el("p", { class: "note" }, el("code", {}, card.i), ` \u00b7 bank of ${bankName(banks[card.b])}`),
    el(
      "dl",
      {},
      fields({ When: card.t, Avoid: card.a, Search: card.z.map((query) => el("div", {}, el("code", {}, query))) }),
      fields({
        Record: `retrieved ${card.r}\u00d7, helpful ${card.h}, hurt ${card.u}, utility ${utility(card)}`,
        Origin: originText(card),
        End: card.x
          ? `evicted at step ${card.x[0]}: ${WHY[card.x[1]] ?? card.x[1]}`
          : "in the bank when training ended",
      }),
    ),
    ...born(card, data, cards),
    ...trained(number, card, data),
    ...(await evaluated(number, arm)),
  ];
}

function fields(values) {
  return Object.entries(values)
    .filter(([, value]) => value.length)
    .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
}

function originText(card) {
  const by = card.w ? `, written by ${card.w}${card.s >= 0 ? ` at step ${card.s}` : " before training"}` : "";
  return `${card.o || "unknown"}${card.p ? ", permanent" : ""}${by}`;
}

function cardLink(cards, bank, id) {
  const number = cards.findIndex((card) => card.b === bank && card.i === id);
  return number < 0 ? el("code", {}, id) : el("a", { href: `#card/${number}` }, cards[number].d || id);
}

function born(card, data, cards) {
  if (card.f < 0)
    return card.w
      ? [el("p", { class: "note" }, "The failure it came from is not stored: its bank was written without a log.")]
      : [];
  const failure = data.failures[card.f],
    siblings = cards.filter((other) => other.b === card.b && other.f === card.f && other.i !== card.i);
  return [
    el("h3", { id: "failure" }, "The failure it came from"),
    el(
      "dl",
      {},
      fields({
        Question: failure.question,
        Wanted: failure.answers.join(" | "),
        Answered: failure.prediction,
        "Failed at":
          failure.step < 0
            ? "the bootstrap phase"
            : `step ${failure.step}${failure.repeats ? `, after ${plural(failure.repeats, "earlier failure")}` : ""}`,
      }),
    ),
    turnsView(data, failure.turns, failure.evidence),
    failure.evidence.length
      ? [
          el("h4", {}, "What would have answered it"),
          failure.evidence.map((passage) => passageView(data.passages[passage], true, false)),
        ]
      : "",
    el("h4", {}, "Shown in vain to it"),
    failure.cards.length
      ? el(
          "ul",
          {},
          failure.cards.map(([id, likeness]) =>
            el(
              "li",
              {},
              cardLink(cards, card.b, id),
              ` (likeness ${likeness})`,
              gone(cards, card.b, id),
            ),
          ),
        )
      : el("p", { class: "note" }, "No card was shown to the failed attempt."),
    card.e.length
      ? [
          el("h4", {}, "Evicted as it came in, to keep the bank's cap"),
          el(
            "ul",
            {},
            card.e.map((id) => el("li", {}, cardLink(cards, card.b, id))),
          ),
        ]
      : "",
    siblings.length
      ? el(
          "p",
          { class: "note" },
          "The same failure also gave: ",
          siblings.map((other, n) => [n ? ", " : "", cardLink(cards, card.b, other.i)]),
        )
      : "",
  ];
}

function gone(cards, bank, id) {
  const old = cards.find((card) => card.b === bank && card.i === id);
  return old && old.x ? `, evicted since, at step ${old.x[0]}` : "";
}

function trained(number, card, data) {
  const rows = data.shown[number] || [];
  if (!rows.length)
    return card.r
      ? [
          el("h3", {}, "Retrieved in training"),
          el(
            "p",
            { class: "note" },
            `${plural(card.r, "time")}; single retrievals are not stored: its bank was written without a log.`,
          ),
        ]
      : [];
  return [
    el("h3", {}, `Retrieved in training, ${plural(rows.length, "time")}`),
    longTable(["Step", "Question", "Likeness", "Right", "Wrong"], rows, ([step, text, likeness, right, wrong]) =>
      el(
        "tr",
        {},
        el("td", { class: "number" }, String(step)),
        el("td", {}, data.texts[text]),
        el("td", { class: "number" }, likeness.toFixed(2)),
        el("td", { class: "number gained" }, String(right)),
        el("td", { class: "number lost" }, String(wrong)),
      ),
    ),
  ];
}

async function evaluated(number, arm) {
  const data = await answersIndex(),
    rows = [...(data.byCard.get(number) || [])].sort((a, b) => data.told(b) - data.told(a) || a - b);
  if (!rows.length) return [];
  const on = rows.filter((attempt) => data.sides[data.attempts[attempt][1]][1] === "on"),
    flips = on.map((attempt) => data.flip(attempt));
  const gained = flips.filter((flip) => flip === "gained").length,
    lost = flips.filter((flip) => flip === "lost").length;
  return [
    el("h3", {}, `Retrieved at evaluation, ${plural(rows.length, "time")}`),
    el(
      "p",
      { class: "note" },
      `With the bank open: ${plural(on.length, "question")}, ${gained} turned right, ${lost} turned wrong. `,
      el("a", { href: `#transcripts/card/${number}` }, "Their transcripts"),
    ),
    longTable(["Mode", "Question", "Likeness", "Off", "With it"], rows, (attempt) => {
      const [question, side, right, , , shown] = data.attempts[attempt],
        off = data.find(question, arm, "off");
      return el(
        "tr",
        {},
        el("td", {}, data.sides[side][1]),
        el(
          "td",
          {},
          el("a", { href: `#answer/${question}/${data.sideNumber(arm, "off")}/${side}` }, data.questions[question][3]),
        ),
        el("td", { class: "number" }, shown.find(([card]) => card === number)[1].toFixed(2)),
        el("td", {}, off === undefined ? "\u2013" : verdictText(data.attempts[off][2])),
        el("td", {}, verdictText(right)),
      );
    }),
  ];
}

const verdictText = (right) => el("span", { class: right ? "gained" : "lost" }, right ? "right" : "wrong");

// A table whose rows beyond the first few wait for a press.
function longTable(heads, rows, row) {
  const body = el("tbody"),
    more = el("button", { type: "button", class: "more", onclick: () => grow(rows.length) }, `Show all ${rows.length}`);
  let shown = 0;
  function grow(count) {
    body.append(...rows.slice(shown, count).map(row));
    shown = Math.min(count, rows.length);
    more.hidden = shown >= rows.length;
  }
  grow(10);
  return [
    el(
      "div",
      { class: "scroll", role: "region", tabindex: "0", "aria-label": heads.join(", ") },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            heads.map((head) => el("th", { scope: "col" }, head)),
          ),
        ),
        body,
      ),
    ),
    more,
  ];
}
