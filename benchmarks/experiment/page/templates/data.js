// The page's data: parts that are unpacked when they are first asked for, and kept.
const parts = new Map();

function stored(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) return null;
  const text = atob(element.textContent),
    bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

// What cannot wait, and browsers that have no DecompressionStream, unpack by hand.
function unpackNow(name) {
  const bytes = stored(name);
  return bytes && JSON.parse(new TextDecoder().decode(inflate(bytes)));
}

async function unpack(name) {
  if (typeof DecompressionStream === "undefined") return unpackNow(name);
  const bytes = stored(name);
  if (!bytes) return null;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
}

function part(name) {
  if (!parts.has(name)) parts.set(name, unpack(name));
  return parts.get(name);
}

const place = (study, seed) => part(`place-${study}-${seed}`);
