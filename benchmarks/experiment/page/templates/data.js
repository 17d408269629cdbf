// The page's data: parts that are unpacked when they are first asked for, and kept.
const parts = new Map();

async function unpack(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) return null;
  const text = atob(element.textContent),
    bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  if (typeof DecompressionStream === "undefined") return JSON.parse(new TextDecoder().decode(inflate(bytes)));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
}

function part(name) {
  if (!parts.has(name)) parts.set(name, unpack(name));
  return parts.get(name);
}

const place = (study, seed) => part(`place-${study}-${seed}`);
