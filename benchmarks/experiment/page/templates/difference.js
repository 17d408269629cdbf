// What one text has that another lacks, word by word (longest common subsequence).
function changed(text, other) {
  const words = text.split(/(\s+)/),
    others = other.split(/(\s+)/);
  if (words.length * others.length > 250000) return [el("mark", {}, text)];
  const table = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  for (let i = words.length - 1; i >= 0; i -= 1) {
    for (let j = others.length - 1; j >= 0; j -= 1) {
      table[i][j] = words[i] === others[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const pieces = [];
  for (let i = 0, j = 0; i < words.length;) {
    if (j < others.length && words[i] === others[j]) {
      pieces.push(words[i]);
      i += 1;
      j += 1;
    } else if (j < others.length && table[i][j + 1] >= table[i + 1][j]) j += 1;
    else {
      pieces.push(words[i].trim() ? el("mark", {}, words[i]) : words[i]);
      i += 1;
    }
  }
  return pieces;
}
