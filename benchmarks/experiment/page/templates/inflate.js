// DEFLATE (RFC 1951) at once, and for browsers that have no DecompressionStream.
const LENGTHS = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCES = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577,
];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// A canonical Huffman code: how many codes each length has, and the symbols in the order of their codes.
function huffman(lengths) {
  const counts = new Uint16Array(16),
    starts = new Uint16Array(16),
    symbols = new Uint16Array(lengths.length);
  for (const length of lengths) counts[length] += 1;
  counts[0] = 0;
  for (let length = 1; length < 15; length += 1) starts[length + 1] = starts[length] + counts[length];
  lengths.forEach((length, symbol) => {
    if (length) symbols[starts[length]++] = symbol;
  });
  return { counts, symbols };
}

function inflate(input) {
  let out = new Uint8Array(input.length * 8 + 1024),
    size = 0,
    at = 0,
    held = 0,
    count = 0;

  function bits(wanted) {
    while (count < wanted) {
      held |= input[at++] << count;
      count += 8;
    }
    const value = held & ((1 << wanted) - 1);
    held >>>= wanted;
    count -= wanted;
    return value;
  }
  function symbol({ counts, symbols }) {
    let code = 0,
      first = 0,
      place = 0;
    for (let length = 1; length < 16; length += 1) {
      code |= bits(1);
      if (code - counts[length] < first) return symbols[place + code - first];
      place += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error("The page's data is damaged.");
  }
  function room(more) {
    if (size + more <= out.length) return;
    const larger = new Uint8Array(Math.max(out.length * 2, size + more));
    larger.set(out.subarray(0, size));
    out = larger;
  }
  function stored() {
    held = 0;
    count = 0;
    const length = input[at] | (input[at + 1] << 8);
    at += 4;
    room(length);
    out.set(input.subarray(at, at + length), size);
    at += length;
    size += length;
  }
  function tables(kind) {
    if (kind === 1) {
      const fixed = Array.from({ length: 288 }, (_, n) => (n < 144 ? 8 : n < 256 ? 9 : n < 280 ? 7 : 8));
      return [huffman(fixed), huffman(new Array(30).fill(5))];
    }
    const literals = bits(5) + 257,
      distances = bits(5) + 1,
      codes = bits(4) + 4,
      small = new Array(19).fill(0);
    for (let n = 0; n < codes; n += 1) small[CODE_ORDER[n]] = bits(3);
    const code = huffman(small),
      lengths = [];
    while (lengths.length < literals + distances) {
      const next = symbol(code);
      if (next < 16) lengths.push(next);
      else {
        const value = next === 16 ? lengths[lengths.length - 1] : 0;
        const times = next === 16 ? 3 + bits(2) : next === 17 ? 3 + bits(3) : 11 + bits(7);
        for (let n = 0; n < times; n += 1) lengths.push(value);
      }
    }
    return [huffman(lengths.slice(0, literals)), huffman(lengths.slice(literals))];
  }
  function compressed([literals, distances]) {
    for (;;) {
      const next = symbol(literals);
      if (next === 256) return;
      if (next < 256) {
        room(1);
        out[size++] = next;
        continue;
      }
      const length = LENGTHS[next - 257] + bits(LENGTH_BITS[next - 257]),
        far = symbol(distances);
      const back = DISTANCES[far] + bits(far < 2 ? 0 : (far >> 1) - 1);
      room(length);
      for (let n = 0; n < length; n += 1, size += 1) out[size] = out[size - back];
    }
  }
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) stored();
    else compressed(tables(kind));
  }
  return out.subarray(0, size);
}
