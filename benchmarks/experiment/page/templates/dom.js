// Elements. Text only ever enters the page as a text node, so nothing that a model wrote can become markup.
const SVG = "http://www.w3.org/2000/svg";

const flat = (children) =>
  children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== "");

// Puts children, nested lists of them too, in the place of what a node holds.
const put = (node, ...children) => node.replaceChildren(...flat(children));

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...flat(children));
  return node;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

let made = 0;

// A control under its label, tied together by name.
function field(label, control) {
  control.id = `control-${(made += 1)}`;
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}

// A choice with a label; `options` are [value, text] pairs.
function choice(label, options, value, onchange) {
  const select = el(
    "select",
    { onchange: () => onchange(select.value) },
    options.map(([key, text]) => el("option", { value: key }, text)),
  );
  select.value = value;
  return field(label, select);
}

function searchBox(label, onchange) {
  let waiting = 0;
  const input = el("input", {
    type: "search",
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => onchange(input.value.trim().toLowerCase()), 120);
    },
  });
  return field(label, input);
}

const signed = (value, digits = 1) => (value > 0 ? "+" : value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(digits);
const plural = (count, one, many = one + "s") => `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
const dotted = (...texts) => texts.filter(Boolean).join(" \u00b7 ");
const quoted = (text) => `\u201c${text}\u201d`;
