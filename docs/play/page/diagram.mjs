// Diagram: rows as a sequence diagram, in the shapes and colours of the pictures in the
// lessons (docs/internal/picture): a key is a bar in its node's lane that becomes narrower
// as its ttl runs out, a client that is inside is a bar in its own, and hatched is where
// two are inside.

import {el} from './dom.mjs';
import {event} from './timeline.mjs';
import {close, t} from './words.mjs';

function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

let measure;
function widthOf(text, bold) {
  measure ??= document.createElement('canvas').getContext('2d');
  measure.font = `${bold ? '600 ' : ''}13px system-ui, sans-serif`;
  return measure.measureText(text).width;
}

const rowHeight = 30, headHeight = 40;

// fitting is the first of some texts that has room, or the last, cut.
function fitting(texts, room) {
  const text = texts.find(s => widthOf(s) <= room);
  if (text) return text;
  let last = texts.at(-1);
  while (last.length > 3 && widthOf(last + '…') > room) last = last.slice(0, -1);
  return last + '…';
}

// lines breaks a text between words, or in Chinese between any two characters.
function lines(text, room) {
  const list = [];
  for (const word of text.match(/\s*(\p{sc=Han}[，。：；、]*|[^\s\p{sc=Han}]+)/gu)) {
    if (list.length > 0 && widthOf(list.at(-1) + word, true) <= room) list[list.length - 1] += word;
    else list.push(word.trimStart());
  }
  return list;
}

// clock is a time in short.
export function clock(us) {
  if (us < 1_000_000) return `${(Math.floor(us / 100) / 10).toFixed(1)} ms`;
  return `${(Math.floor(us / 10_000) / 100).toFixed(2).replace(/\.?0+$/, '')} s`;
}

// spares reports whether a command of an Unlock has left another's key alone.
const spares = (r, next) => /^(release|GET) /.test(r.text) && (r.again || next?.reply === 'ErrNotHeld')
  && r.redis[r.node - 1]?.owner && r.redis[r.node - 1].owner !== r.who;

// numberOf is the number that comes with an access to the resource, or 0.
const numberOf = r => Number(r.text.match(/ with token (\d+)/)?.[1] ?? 0);

// diagram draws rows: the names of the lanes, which stay in view, and what is below them.
// What is not older than fresh is new: its commands can be seen moving, and two inside flash.
export function diagram({rows, records, clients, nodes, width, resource, now, ended, fresh, moving, flash}) {
  const narrow = width < 480, timeAt = narrow ? 54 : 62, left = timeAt + (narrow ? 14 : 24),
    right = width - (narrow ? 24 : 32), middle = timeAt + (width - timeAt) / 2;
  const names = [clients[0], ...nodes, ...clients.slice(1), resource], lane = {};
  // On a narrow picture the name of the resource, which ends at its edge, takes more room than the others.
  const spread = (to, list) =>
    list.forEach((name, i) => { lane[name] = left + (to - left) / (list.length - 1) * i; });
  spread(right, names);
  if (names.length === 4) { // one node: more room between the clients, where the labels are
    lane[clients[1]] = Math.max(lane[clients[1]], right - (narrow ? 66 : 105));
    lane[nodes[0]] = (left + lane[clients[1]]) / 2;
  } else if (narrow) spread(right - 56, names.slice(0, -1));
  const color = name => clients.includes(name) ? `var(--owner${clients.indexOf(name)})` : 'var(--dim)';
  const filled = name =>
    `stroke:${color(name)};fill:var(--pale${clients.includes(name) ? clients.indexOf(name) : 'line'})`;
  const back = svg('g'), bars = svg('g'), front = svg('g'), heads = svg('g');
  const draw = (name, attributes, ...text) => front.append(svg(name, attributes, ...text));
  const label = (x, y, text, {anchor = 'start', fill, bold, dim} = {}) =>
    draw('text', {x, y, class: dim ? 'dim' : bold ? 'bold' : '', 'text-anchor': anchor,
      ...fill && {style: `fill:${fill}`}}, text);
  const aside = (y, text) => label(middle, y, text, {anchor: 'middle', dim: true});
  const dot = (name, y) => draw('circle', {cx: lane[name], cy: y, r: 4, style: `fill:${color(name)}`});
  const ring = (name, y, is) => draw('circle', {cx: lane[name], cy: y, r: 9, class: is}); // guilty, or saved
  const nodeOf = n => nodes[n - 1];
  // its labels stand to the left of it
  const toLeft = name => lane[name] > lane[nodes.at(-1)] && name !== resource;

  let y = headHeight;
  const at = [], deaths = {}; // the y of each record, for the bars, and of who dies
  const arrow = (from, to, y, {dashed, style = color(from)} = {}) => {
    const x1 = lane[from], x2 = lane[to], d = Math.sign(x2 - x1), tip = x2 - d * 9;
    draw('path', {d: `M${x1} ${y}H${x2 - d * 8}`, class: 'arrow',
      style: `stroke:${style}${dashed ? ';stroke-dasharray:3 4' : ''}`});
    draw('path', {d: `M${tip} ${y - 4.5}L${x2 - d} ${y}L${tip} ${y + 4.5}z`, style: `fill:${style}`});
  };
  // says writes a label beside a client's lane, between it and the next.
  const says = (name, y, texts, options = {}) => {
    const next = names[names.indexOf(name) + (toLeft(name) ? -1 : 1)];
    const far = Math.abs(lane[next] - lane[name]), room = far - (nodes.includes(next) ? 28 : 20)
      + (options.wide ?? 0) + (narrow && far < 100 && !options.near ? 50 : 0);
    const [dx, anchor] = toLeft(name) ? [-11, 'end'] : [11, 'start'];
    label(lane[name] + dx, y - 6, fitting(texts, room), {...options, anchor});
  };
  const band = (text, kind) => {
    const all = lines(text, width - timeAt - 44), height = 12 + 17 * all.length, bold = kind === 'bad';
    draw('rect', {x: timeAt, y: y - 15, width: width - timeAt - 2, height, rx: 5, class: `band ${kind}`});
    all.forEach((line, i) => label(middle, y + 3 + 17 * i, line,
      {anchor: 'middle', bold, fill: bold && 'var(--bad)'}));
    y += height - 26;
  };
  let lastTime = '';
  rows.forEach((row, index) => {
    y += rowHeight;
    for (let i = row.first; i < (rows[index + 1]?.first ?? records.length); i++) at[i] = y;
    if (row.more > 0) return aside(y, t('diagram.more', {n: row.more}));
    const time = clock(row.at), first = row.of[0];
    if (time !== lastTime) label(timeAt - 8, y + 4, time, {anchor: 'end', dim: true});
    lastTime = time;
    if (first.at >= fresh) draw('rect', {x: 1, y: y - 12, width: 3, height: 24, rx: 1.5, class: 'fresh'});
    const who = first.who, next = records.slice(row.first).find(r => r.kind === 'return' && r.who === who);
    switch (first.kind) {
    case 'command': {
      const short = first.text.split(' ')[0], again = first.again ? '↻ ' : '';
      const fill = row.mark ? 'var(--bad)' : undefined;
      for (const {node, lost} of row.of) {
        const from = lane[nodeOf(node)], half = (from + lane[who]) / 2;
        arrow(who, nodeOf(node), y, {dashed: first.late, style: fill});
        if (lost) { // its reply breaks off half way
          draw('path', {d: `M${from} ${y + 8}H${half}`, class: 'arrow',
            style: 'stroke:var(--bad);stroke-dasharray:3 4'});
          label(half, y + 13, '✗', {anchor: 'middle', fill: 'var(--bad)', bold: true});
        }
        if (moving && first.at >= fresh) draw('circle', {cx: lane[who], cy: y, r: 6, class: 'travel',
          style: `fill:${color(who)};--to:${from - lane[who]}px`});
      }
      dot(who, y);
      const reply = row.reply.replace(/ \(node \d\)$/, '').replace(', but the reply is lost',
        t('diagram.lost')).replace(/[<>]/g, '').replace(/^(?=[1-9])/, / counter=/.test(first.text) ? '#'
          : '');
      const full = first.text.replace(
        / coupons| \S*\{coupons\}:fence| ttl=\d+| redislock:\S+|[<>]|, sent long ago/g, '');
      says(who, y, [`${again}${full} → ${reply}`, `${again}${short} → ${reply}`, `${again}${short}`],
        {bold: row.mark !== '', fill, wide: nodes.length > 1 ? 30 : 0});
      // Here an older lock deleted a key that is not its own.
      for (const r of row.of) if (spares(r, next)) ring(nodeOf(r.node), y, 'saved');
      if (row.mark) {
        ring(nodeOf(first.node), y, 'guilty');
        says(who, y + 26, [event(row.mark)], {fill, bold: true, wide: 60});
        y += 18;
      }
      break;
    }
    case 'return':
      dot(who, y);
      says(who, y + 10, [`${row.text} → ${row.reply}`, row.reply,
        ...(row.reply.match(/^ErrNot(Acquired|Held)/) ?? []).slice(0, 1).map(e => t(`diagram.${e}`))],
      {wide: narrow ? 0 : 40, near: nodes.length === 1});
      break;
    case 'expire': {
      row.of.forEach(r => draw('path', {d: `M${lane[nodeOf(r.node)] - 9} ${y}h18`, class: 'expire'}));
      const x = lane[nodeOf(first.node)], beside = names[names.indexOf(nodeOf(row.of.at(-1).node)) + 1];
      const expired = t('diagram.expired', {owner: event(first.text.match(/: (.+)'s/)[1])});
      label(x + 14, y + 4,
        fitting([expired, t('diagram.expiredShort'), '✗ TTL', '✗'], lane[beside] - x - 30), {dim: true});
      break;
    }
    case 'verdict':
      band('✗ ' + event(row.text).replace(/^[A-Z](: |：)/, ''), 'bad');
      break;
    case 'fault':
    case 'refused':
    case 'timeout': {
      const whose = row.who.startsWith('node ') ? t('node.many', {n: first.node}) : row.who;
      band(close(`${whose} ${event(row.text)}`.trim()), 'fault');
      if (/^dies\b/.test(row.text)) deaths[who] = y - 4;
      break;
    }
    default: // a note
      if (who && /reads|writes/.test(row.text)) {
        const refused = /refused/.test(row.text), number = numberOf(row);
        const than = Math.max(...records.slice(0, row.first).map(numberOf));
        arrow(who, resource, y, {dashed: refused});
        dot(who, y);
        if (refused) ring(resource, y, 'saved');
        label(lane[resource] - 12, y - 6, refused ? `✓ ${t('diagram.refused', {number, than})}`
          : event(row.text.replace(/is inside, | with token \d+/g, '')) + (number ? ` (#${number})` : ''),
        {anchor: 'end', bold: refused, fill: refused && 'var(--good)'});
      } else if (who) {
        dot(who, y);
        says(who, y + 10, [event(row.text)], {wide: 60});
      } else {
        draw('path', {d: `M${timeAt} ${y}H${width - 2}`, class: 'pass'});
        aside(y + 4, event(row.text));
      }
    }
  });
  const bottom = y + 24;

  // Lifelines and names.
  names.forEach(name => {
    const life = `M${lane[name]} ${headHeight - 8}V${deaths[name] ?? bottom}`;
    back.append(svg('path', {d: life, class: 'life'}));
    if (deaths[name]) label(lane[name], deaths[name] + 4, '✗', {anchor: 'middle', fill: 'var(--bad)'});
    const [x, anchor] = narrow && name === resource ? [width - 2, 'end'] : [lane[name], 'middle'];
    const short = narrow && nodes.length > 1 && nodes.includes(name);
    heads.append(svg('text', {x, y: 20, 'text-anchor': anchor,
      class: `name ${narrow && nodes.length > 1 ? 'small' : ''}`,
      style: `fill:${clients.includes(name) ? color(name) : 'var(--text)'}`},
    short ? t('node.short', {n: nodes.indexOf(name) + 1}) : name));
  });

  // Bars: from the row in which something begins to that in which it ends.
  const yAt = i => i >= records.length ? bottom : at[i] ?? headHeight;
  const spans = (is, same = () => true) => {
    const list = [];
    records.forEach((r, i) => {
      const last = list.at(-1);
      if (is(r) && last?.[1] === i && same(last[0], i)) last[1]++;
      else if (is(r)) list.push([i, i + 1]);
    });
    return list;
  };
  const inside = clients.map(name => spans(r => r.inside.includes(name)).map(([i, j]) => [yAt(i), yAt(j)]));
  const bar = (name, from, to, props) => {
    const height = to - from;
    if (height > 0) bars.append(svg('rect', {x: lane[name] - 8, y: from, width: 16, height, ...props}));
  };
  clients.forEach((name, n) => {
    for (const [a, b] of inside[n]) bar(name, a, b, {rx: 2, style: filled(name)});
    for (const [a, b] of inside[n]) for (const [c, d] of inside.toSpliced(n, 1).flat()) {
      bar(name, Math.max(a, c), Math.min(b, d), {class: flash ? 'both flash' : 'both'});
    }
  });
  // How deeply the owner of a node's key has nested: what the last command that changed it says.
  const depths = [];
  records.forEach((r, i) => {
    const depth = r.node > 0 && r.reply.startsWith('1') && r.text.match(/depth=(\d+)/);
    depths[i] = [...depths[i - 1] ?? []];
    if (depth) depths[i][r.node - 1] = Number(depth[1]);
  });
  const longest = Math.max(1, ...records.flatMap(r => r.redis.map(k => k.until ? k.until - r.at : 0)));
  // By a SET without NX another has overwritten the key.
  const overwrites = ({node, text, reply}, n) => node === n + 1 && /^SET (?!.*NX)/.test(text)
    && reply === 'OK';
  nodes.forEach((node, n) => spans(r => r.redis[n]?.token, (i, j) => {
    const [a, b] = [i, j].map(r => records[r].redis[n]);
    return b.token === a.token && b.owner === a.owner && Math.abs(b.until - a.until) < 1000
      && depths[j][n] === depths[i][n] && !overwrites(records[j], n);
  }).forEach(([i, j]) => {
    const k = records[i].redis[n], owner = overwrites(records[i], n) ? records[i].who : k.owner,
      x = lane[node], wide = new Map(); // by y: what comes first counts
    const half = time => k.until ? Math.max(1, 12 * Math.max(0, (k.until - time) / longest)) : 12;
    for (let r = j; r >= i; r--) wide.set(yAt(r), half(records[r]?.at ?? now));
    const up = [...wide], down = up.toReversed(), [top] = down[0];
    if (up.length < 2) return;
    const shape = [...up.map(([y, h]) => `${x + h},${y}`), ...down.map(([y, h]) => `${x - h},${y}`)];
    bars.append(svg('polygon', {points: shape.join(' '), style: filled(owner)}));
    const letter = (owner || '?')[0] + (depths[i][n] > 1 ? ` ×${depths[i][n]}` : '');
    if (up[0][0] - top >= 20) bars.append(svg('text',
      {x, y: top + 12, 'text-anchor': 'middle', class: 'ownerletter'}, letter));
  }));
  const hatch = svg('defs', {}, svg('pattern', {id: 'both', width: 6, height: 6,
    patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
  svg('path', {d: 'M0 3H6', class: 'hatch'})));
  const height = bottom + 6;
  if (!ended) back.append(svg('path', {d: `M${timeAt} ${bottom}H${width - 2}`, class: 'now'}));
  const drawing = (from, to, ...parts) => svg('svg', {class: 'diagram', width, height: to - from,
    viewBox: `0 ${from} ${width} ${to - from}`, 'aria-hidden': 'true', focusable: 'false'}, ...parts);
  return [el('div.heads', drawing(0, headHeight - 10, heads)),
    drawing(headHeight - 10, height, hatch, back, bars, front)];
}
