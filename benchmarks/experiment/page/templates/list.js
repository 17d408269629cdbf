// A list that shows its first entries, and more when asked: thousands of them cost nothing until they are looked at.
const PAGE_SIZE = 20;

// `entry(item)` returns {link, head, under, side}.
function growingList(label, entry) {
  const count = el("p", { class: "count", role: "status" }),
    list = el("ul", { class: "list", "aria-label": label });
  const more = el("button", { type: "button", class: "more", onclick: () => grow() }, "Show more");
  let items = [],
    shown = 0;
  function grow() {
    const next = items.slice(shown, shown + PAGE_SIZE);
    list.append(
      ...next.map((item) => {
        const { link, head, under, side } = entry(item);
        return el(
          "li",
          {},
          el(
            "a",
            { href: link },
            el("span", {}, head),
            el("span", { class: "under" }, under),
            el("span", { class: "side" }, side),
          ),
        );
      }),
    );
    shown += next.length;
    more.hidden = shown >= items.length;
    list.hidden = !items.length;
  }
  function show(found, total) {
    items = found;
    shown = 0;
    list.replaceChildren();
    count.textContent = `${found.length.toLocaleString("en-GB")} of ${plural(total, label)}`;
    grow();
  }
  return { nodes: [count, list, more], show };
}

const all = (text) => ["", text];
const options = (values) => values.map((value) => [String(value), String(value)]);
const distinct = (values) => [...new Set(values)];
