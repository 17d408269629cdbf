// Where a link leads: a section, or one card, answer or proposal in the dialog. Sections are filled when they come near.
const STARTS = { plots: startPlots, cards: startCards, transcripts: startAnswers, challenger: startPosed };
const started = new Map();

function start(name, ...rest) {
  if (started.has(name) && !rest.length) return started.get(name);
  const body = document.querySelector(`#${name} > .body`);
  const ready = STARTS[name](body, ...rest).then(
    () => body.removeAttribute("aria-busy"),
    (error) => {
      put(body, el("p", { class: "notice" }, `This part cannot be shown: ${error.message}`));
      console.error(error);
    },
  );
  started.set(name, ready);
  return ready;
}

async function route() {
  const [what, ...rest] = location.hash.slice(1).split("/"),
    numbers = rest.map(Number),
    dialog = document.getElementById("detail");
  const details = { card: cardDetail, answer: answerDetail, posed: posedDetail };
  const found = Object.hasOwn(details, what) ? await details[what](...numbers) : null;
  if (found === null) {
    dialog.close();
    if (what === "transcripts" && rest[0] === "card") {
      await start("transcripts", numbers[1]);
      document.getElementById("transcripts").scrollIntoView();
    }
    return;
  }
  const body = dialog.querySelector(".body");
  put(body, found);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

function startRoutes() {
  const dialog = document.getElementById("detail");
  dialog.addEventListener("close", () => {
    if (/^#(card|answer|posed)\//.test(location.hash))
      history.pushState(null, "", `${location.pathname}${location.search}#`);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (entry.isIntersecting) {
          near.unobserve(entry.target);
          start(entry.target.id);
        }
    },
    { rootMargin: "600px" },
  );
  for (const name of Object.keys(STARTS)) near.observe(document.getElementById(name));
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const mark = (section) => {
    for (const [name, link] of links) {
      if (name === section) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) mark(entry.target.id);
    },
    { rootMargin: "-20% 0px -75% 0px" },
  );
  for (const name of links.keys()) seen.observe(document.getElementById(name));
  addEventListener("beforeprint", () => {
    // Printing waits for no promise: plots that are not there yet are drawn before this returns.
    const body = document.querySelector("#plots > .body");
    if (!body.hasAttribute("aria-busy")) return;
    drawPlots(body, unpackNow("plots"));
    body.removeAttribute("aria-busy");
    started.set("plots", Promise.resolve());
  });
  addEventListener("hashchange", route);
  route();
}

startTheme();
startRoutes();
