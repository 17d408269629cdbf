// Turns as a reader sees them: what was written, and what a search brought. A turn is [text, event, passages], by number.
const EVENTS = {
  search: "searched",
  answer: "answered",
  malformed: "malformed turn",
  forfeit: "forfeited: too many malformed turns",
  over_budget: "searched without a search left",
  search_failed: "the search failed",
  out_of_turns: "out of turns",
  cut_off: "cut off by the token budget",
  question: "posed a question",
};

const eventText = (event) =>
  EVENTS[event] || (event.startsWith("rejected:") ? `rejected: ${reasonText(event.slice(9))}` : event);
const reasonText = (reason) => reason.replaceAll("_", " ");

function passageView([, title, text], evidence, only) {
  return el(
    "div",
    { class: `passage${evidence ? " evidence" : ""}` },
    el("b", {}, title),
    text,
    evidence ? [" ", el("span", { class: "tag" }, "evidence")] : "",
    only ? [" ", el("span", { class: "tag" }, "only here")] : "",
  );
}

// `other` holds the turns beside which these stand, null where they stand alone.
function turnsView(data, turns, evidence = [], other = null) {
  const theirs = new Set((other || []).flatMap(([, , passages]) => passages));
  return turns.map(([text, event, passages], n) => {
    const beside = other && other[n] ? data.texts[other[n][0]] : "",
      same = other === null || (other[n] && other[n][0] === text);
    return el(
      "div",
      { class: `turn${same ? "" : " other"}` },
      el("div", { class: "said" }, same ? data.texts[text].trim() : changed(data.texts[text].trim(), beside.trim())),
      el("div", { class: "shown note" }, eventText(event), same ? "" : [" ", el("span", { class: "tag" }, "differs")]),
      passages.map((passage) =>
        passageView(data.passages[passage], evidence.includes(passage), other !== null && !theirs.has(passage)),
      ),
      event === "search" && !passages.length ? el("p", { class: "note" }, "Nothing was found.") : "",
    );
  });
}
