// Timeline: records as rows, and as the text that go run ./docs/explore replay prints. It
// is docs/internal/trace in JavaScript; the tests compare them, in English and in Chinese.

import {language, words} from './words.mjs';

// event is what happened, in the language of the page. The data says it in English; what is
// put into a text is in the language of the page as well. It is Catalog.Find of docs/internal/course.
const gap = /%[a-z]/g;
let formats;
export function event(text) {
  if (language === 'en') return text;
  const said = words[language];
  if (said[`event.${text}`]) return said[`event.${text}`];
  formats ??= Object.keys(said).filter(key => key.startsWith('event.') && key.includes('%')).map(key => {
    const english = key.slice('event.'.length), parts = english.split(gap), gaps = english.match(gap);
    const pattern = parts.map((part, i) => part.replace(/[().]/g, '\\$&') + (i === gaps.length ? ''
      : gaps[i] === '%d' ? '(-?[0-9]+)' : '(.*?)')).join('');
    return {key, pattern: new RegExp(`^${pattern}$`), says: parts.join('').length, gaps: gaps.length};
  }).sort((a, b) => b.says - a.says || a.gaps - b.gaps);
  for (const {key, pattern} of formats) {
    const found = text.match(pattern);
    let n = 0;
    if (found) return said[key].replace(gap,
      () => event(found[++n])).replace(/([）\p{sc=Han}]) (\p{sc=Han})/gu, '$1$2');
  }
  return text;
}

// rows are what happened, one after the other: the same thing at several nodes is one row, and what is
// repeated again and again is there once: for replay from three times on, in a picture from six, so that the
// renewals of a watchdog are seen.
export function rows(records, often = 3) {
  const list = [];
  for (let i = 0, j = 0; i < records.length; i = j) {
    const r = records[i];
    for (j = i + 1; j < records.length && r.node > 0 && alike(r, records[j]); j++);
    if (r.kind !== 'call') list.push({...row(records.slice(i, j)), first: i});
  }
  return fold(list, often);
}

const alike = (a, b) => a.kind === b.kind && a.at === b.at && a.who === b.who && a.text === b.text
  && a.again === b.again && a.node !== b.node;

function row(same) {
  const r = same[0];
  const row = {at: r.at, who: r.who, text: r.text, reply: '', again: r.again, of: same, more: 0};
  row.mark = same.find(s => s.mark)?.mark ?? '';
  if (r.kind === 'verdict') row.who = '**';
  if (r.kind === 'command' || r.kind === 'return') row.reply = replies(same);
  if (row.who === '') {
    if (r.kind === 'expire' || r.node > 0 && r.redis.length === 1) row.who = 'Redis';
    else if (r.node > 0) row.who = `node ${r.node}`;
  }
  return row;
}

// replies are those of several nodes, as they are or in the language of the page.
function replies(same, say = text => text) {
  const all = [];
  for (const r of same) {
    const text = say(r.reply) + where(same.filter(b => b.reply === r.reply), say);
    if (!all.includes(text)) all.push(text);
  }
  return all.join(', ');
}

function where(same, say = event) {
  if (same[0].redis.length < 2 || same[0].node === 0) return '';
  const nodes = same.map(r => r.node).sort((a, b) => a - b);
  return say(nodes.length === 1 ? ` (node ${nodes[0]})` : ` (nodes ${nodes.join(' ')})`);
}

function fold(rows, often) {
  const bare = rows.map(r => parts(r).join(' ').replace(/-\d+>/g, '>'));
  const same = (i, j, n) => {
    if (j + n > rows.length) return false;
    for (let k = 0; k < n; k++) if (bare[i + k] !== bare[j + k]) return false;
    return true;
  };
  const kept = [];
  for (let i = 0; i < rows.length;) {
    let period = 1, again = 0;
    for (let n = 1; n <= 20 && again < often; n++) {
      for (period = n, again = 0; same(i, i + (again + 1) * n, n);) again++;
    }
    if (again < often) period = 1, again = 0;
    kept.push(...rows.slice(i, i + period));
    i += period * (again + 1);
    if (again > 0) kept.push({at: rows[i - 1].at, more: again, of: rows[i - 1].of, first: rows[i - 1].first});
  }
  return kept;
}

function parts(r) {
  const what = event(r.text) + (r.of[0].kind === 'expire' ? where(r.of) : '');
  let parts = [`-- ${what}`];
  if (r.who === '**') parts = [`** ${what}`];
  else if (r.who.startsWith('node ')) parts = [`${event(r.who)} ${what}`];
  else if (r.who !== '') parts = [`${r.who.padEnd(6)} ${what}`];
  if (r.reply) parts.push(`-> ${replies(r.of, event)}`);
  if (r.again) parts.push(`  ${event('(sent again)')}`);
  if (r.mark) parts.push(`  <- ${event(r.mark)}`);
  return parts;
}

// text is a row as replay prints it, in one line. The last row of a timeline has nothing to wait for.
export function text(r, last) {
  const time = (Math.floor(r.at / 100) / 10).toFixed(1).padStart(9) + 'ms  ';
  return time + (r.more > 0 ? event(`... the same ${r.more} times more${last ? '' : ', until:'}`)
    : parts(r).join(' '));
}

// spoken is some rows for those who listen.
export const spoken = list => list.map((r, i) => text(r, i === list.length - 1).trim().replace(/\s+/g,
  ' ')).join('. ');

// replaying is the command that prints a schedule, in the language of the page.
export const replaying = id => `go run ./docs/explore replay ${id}${language === 'en' ? '' : ' -lang zh'}`;
