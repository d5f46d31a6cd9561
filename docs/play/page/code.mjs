// Code: where in the source of its lock each client is.

import {End} from './data.mjs';
import {el, part} from './dom.mjs';
import {sends, whoOf} from './game.mjs';
import {data, graph, names} from './levels.mjs';
import {now} from './store.mjs';
import {t} from './words.mjs';

// places say for each client where it is: at the line that sends its next command, or if it
// waits or is dead, that sent its last one.
function places(level, {state, records}) {
  const edges = state === End ? [] : graph.edges(state), idle = state === End ? '' : graph.idle(state);
  return names.map((who, i) => {
    const next = edges.find(o => whoOf(o) === who && sends(o));
    const last = records.findLast(r => r.who === who && r.kind === 'command');
    const is = next ? 'next' : {d: 'dead', h: 'waits', w: 'waits'}[idle[i]]
      ?? (records.at(-1)?.inside.includes(who) ? 'inside' : 'outside');
    const at = is === 'next' ? next : is === 'waits' || is === 'dead' ? last : undefined;
    return {who, is: is === 'waits' && !at ? 'outside' : is, line: at && (at.line || lineOf(level, at.text))};
  });
}

// lineOf finds the call that sends a command, where the data names no line: in the lock
// before step 01.
function lineOf(level, text) {
  const call = `.${text.split(' ')[0].toLowerCase()}(`;
  const lines = data.Files[level.Step][0].Text.toLowerCase().split('\n');
  const at = lines.findIndex(s => s.includes(call));
  return at < 0 ? '' : `lock.go:${at + 1}`;
}

const isBare = line => /^\s*(\/\/.*)?$/.test(line); // nothing, or a comment

// excerpts are the functions at which clients are: of each the head, and the lines around.
function excerpts(level, at) {
  const list = [];
  for (const {who, line} of at.filter(p => p.line)) {
    const [name, n] = line.split(':'), here = Number(n) - 1;
    const source = data.Files[level.Step].find(f => f.Name === name)?.Text.split('\n') ?? [];
    const head = source.findLastIndex((s, i) => i <= here && s.startsWith('func '));
    if (head < 0) continue;
    let found = list.find(e => e.name === name && e.head === head);
    if (!found) list.push(found = {name, head, source, marks: new Map()});
    found.marks.set(here, [...found.marks.get(here) ?? [], who]);
  }
  for (const e of list) {
    const end = e.source.indexOf('}', e.head), room = list.length > 1 ? 6 : 8,
      shown = new Set([e.head, ...e.marks.keys()]);
    for (let d = 1; d <= end - e.head && shown.size < room; d++) {
      for (const i of [...e.marks.keys()].flatMap(m => [m + d, m - d])) {
        if (i > e.head && i <= end && shown.size < room && !isBare(e.source[i])) shown.add(i);
      }
    }
    e.lines = [...shown].sort((a, b) => a - b);
  }
  return list;
}

export function showCode(played) {
  const at = places(now.game.level, played), whose = n => `owner${names.indexOf(n)}`;
  part('code').replaceChildren(
    ...excerpts(now.game.level, at).map(({name, head, source, lines, marks}) => el('pre.excerpt',
      {tabindex: '0', 'aria-label': name}, el('code', lines.flatMap((n, i) => [
        !source.slice(i > 0 ? lines[i - 1] + 1 : n, n).every(isBare) && el('span.src.cut', '⋮'),
        el('span', {class: `src ${marks.has(n) ? 'hit' : ''}`},
          el('span.at', marks.get(n)?.map(who => el('b', {class: whose(who)}, who[0])), marks.has(n) && '▶'),
          el('span.nr', String(n + 1).padStart(3)), ' ', n !== head ? source[n].replaceAll('\t', '  ')
            : source[n].replace(/^(func (?:\(.*?\) )?\w+\().*$/, '$1…) {')),
      ])))),
    el('p.where', at.map(p => el('span', el('b', {class: whose(p.who)}, p.who), ' ', t(`code.${p.is}`),
      p.line && [' ', el('code', p.line)]))));
}
