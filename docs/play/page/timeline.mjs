// Timeline: records as rows, and as the text that go run ./docs/explore replay prints. It
// is docs/internal/trace in JavaScript; the tests compare them.

// rows are what happened, one after the other: the same thing at several nodes is one row,
// and what is repeated again and again is there once.
function rows(records) {
  const list = [];
  for (let i = 0, j = 0; i < records.length; i = j) {
    const r = records[i];
    for (j = i + 1; j < records.length && r.node > 0 && alike(r, records[j]); j++);
    if (r.kind !== 'call') list.push({...row(records.slice(i, j)), first: i});
  }
  return fold(list);
}

const alike = (a, b) => a.kind === b.kind && a.at === b.at && a.who === b.who && a.text === b.text && a.again === b.again && a.node !== b.node;

function row(same) {
  const r = same[0];
  const row = {at: r.at, who: r.who, text: r.text, reply: '', again: r.again, of: same, more: 0};
  row.mark = same.find(s => s.mark)?.mark ?? '';
  if (r.kind === 'verdict') row.who = '**';
  if (r.kind === 'command' || r.kind === 'return') row.reply = replies(same);
  if (r.kind === 'expire') row.text += where(same);
  if (row.who === '') {
    if (r.kind === 'expire' || r.node > 0 && r.redis.length === 1) row.who = 'Redis';
    else if (r.node > 0) row.who = `node ${r.node}`;
  }
  return row;
}

function replies(same) {
  const all = [];
  for (const r of same) {
    const text = r.reply + where(same.filter(b => b.reply === r.reply));
    if (!all.includes(text)) all.push(text);
  }
  return all.join(', ');
}

function where(same) {
  if (same[0].redis.length < 2 || same[0].node === 0) return '';
  const nodes = same.map(r => r.node).sort((a, b) => a - b);
  return nodes.length === 1 ? ` (node ${nodes[0]})` : ` (nodes ${nodes.join(' ')})`;
}

function fold(rows) {
  const bare = rows.map(r => parts(r).join(' ').replace(/-\d+>/g, '>'));
  const same = (i, j, n) => {
    if (j + n > rows.length) return false;
    for (let k = 0; k < n; k++) if (bare[i + k] !== bare[j + k]) return false;
    return true;
  };
  const kept = [];
  for (let i = 0; i < rows.length;) {
    let period = 1, again = 0;
    for (let n = 1; n <= 20 && again < 3; n++) {
      for (period = n, again = 0; same(i, i + (again + 1) * n, n);) again++;
    }
    if (again < 3) period = 1, again = 0;
    kept.push(...rows.slice(i, i + period));
    i += period * (again + 1);
    if (again > 0) kept.push({at: rows[i - 1].at, more: again, of: rows[i - 1].of, first: rows[i - 1].first});
  }
  return kept;
}

function parts(r) {
  let parts = [`-- ${r.text}`];
  if (r.who === '**') parts = [`** ${r.text}`];
  else if (r.who.startsWith('node ')) parts = [`${r.who} ${r.text}`];
  else if (r.who !== '') parts = [`${r.who.padEnd(6)} ${r.text}`];
  if (r.who === '**' && r.reply) parts.push(r.reply);
  else if (r.reply) parts.push(`-> ${r.reply}`);
  if (r.again) parts.push('  (sent again)');
  if (r.mark) parts.push(`  <- ${r.mark}`);
  return parts;
}

// text is a row as replay prints it. The last row of a timeline has nothing to wait for.
function text(r, last) {
  const time = (Math.floor(r.at / 100) / 10).toFixed(1).padStart(9) + 'ms  ';
  if (r.more > 0) return time + `... the same ${r.more} times more` + (last ? '' : ', until:');
  const indent = r.who !== '' && r.who !== '**' ? 22 : 16;
  const columns = 76, first = columns - time.length, rest = columns - indent; // as in docs/internal/trace
  const lines = r.who === '**' ? parts(r).flatMap((part, i) => wrap([part], i === 0 ? first : rest, rest)) : wrap(parts(r), first, rest);
  return time + lines.join('\n' + ' '.repeat(indent));
}

function wrap(parts, width, rest) {
  const lines = [''];
  parts.forEach((part, i) => {
    let last = lines.length - 1;
    if (i > 0 && lines[last].length + 1 + part.length <= width) {
      lines[last] += ' ' + part;
      return;
    }
    if (i > 0) {
      lines.push('');
      width = rest;
      part = part.replace(/^ +/, '');
    }
    for (const word of part.match(/[^ ]* |[^ ]+$/g) ?? []) {
      last = lines.length - 1;
      if (lines[last] !== '' && lines[last].length + word.replace(/ +$/, '').length > width) {
        lines[last] = lines[last].replace(/ +$/, '');
        lines.push('');
        width = rest;
        last++;
      }
      lines[last] += word;
    }
  });
  return lines;
}
