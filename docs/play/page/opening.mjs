// Opening: two minutes for a new reader. The reader delivers the messages of Alice and Bob, and what happens is recorded
// below as a sequence diagram, so that its language is learned by doing.

import {format} from './address.mjs';
import {End, Unexplored} from './data.mjs';
import {diagram} from './diagram.mjs';
import {button, el, fill, part, rich, say, still} from './dom.mjs';
import {sends, whoOf} from './level.mjs';
import {cellName, data, graph, levels, names} from './levels.mjs';
import {frame} from './menu.mjs';
import {note, now, stateOf} from './store.mjs';
import {rows} from './timeline.mjs';
import {t} from './words.mjs';

// The acts: both get in; then the lock holds; then a fault may strike.
const acts = [{cell: '00/none', goal: 'X'}, {cell: '01/none', goal: 'X', holds: true}, {cell: '01/crash-hold', goal: 'K'}];
const struck = o => o.label[0] === 'F';

// isNew reports whether the page begins with the opening: nothing has been played yet.
export const isNew = () => !data.Own && levels.every(l => stateOf(cellName(l)) === 'new');

// showOpening opens an act with its moves. It reports whether there is such a place.
export function showOpening({opening: n, path}) {
  const act = acts[n - 1], cell = act && graph.cells.get(act.cell), {edges, rest} = cell ? graph.follow(cell, path) : {rest: '?'};
  if (rest) return false;
  now.opening = {n, act, cell, aim: graph.aim(act.goal), path: edges, busy: false};
  document.title = t('title');
  const person = (name, i) => [
    el('div', {class: `person owner${i}`, id: name, 'aria-hidden': 'true'}, name[0].toUpperCase()),
    el('p', {class: `reply owner${i}`, id: `reply-${name}`, 'aria-hidden': 'true'}),
    el('div', {class: 'dock', id: `dock-${name}`, role: 'group', 'aria-label': t('open.messages', {who: name})}),
  ];
  frame(el('main', {class: 'opening', tabindex: '-1'},
    el('h1', {tabindex: '-1'}, t('open.title')), el('p', {id: 'ask'}, rich(t(`open.${n}`))),
    el('div', {class: 'stage'},
      person(names[0], 0), el('div', {id: 'redis'}, t('node.one'), el('p', {id: 'held'})), person(names[1], 1),
      el('div', {id: 'room'}, t('open.rule')), el('div', {id: 'bolt'})),
    el('div', {id: 'told', class: 'told'}),
    el('div', {id: 'picture', class: 'recorder', 'aria-hidden': 'true'}),
    el('p', {class: 'skip-opening'}, el('a', {href: '#menu'}, t('open.menu')))));
  drawOpening();
  document.querySelector('h1').focus({preventScroll: true});
  return true;
}

// deliver makes a move: its message flies to Redis, and the reply comes back.
async function deliver(option, from) {
  const {opening} = now;
  if (opening.busy) return;
  opening.path.push(option.edge);
  const sent = sentLast(play());
  if (from && sent && !still()) {
    opening.busy = true;
    const a = from.getBoundingClientRect(), b = part('redis').getBoundingClientRect();
    const to = `translate(${b.left + b.width / 2 - a.left - a.width / 2}px, ${b.top + b.height / 2 - a.top - a.height / 2}px) scale(.6)`;
    await from.animate([{transform: 'none'}, {transform: to}], {duration: 400, easing: 'ease-in'}).finished;
    opening.busy = false;
    if (now.opening !== opening) return; // the reader has left
  }
  drawOpening();
  if (struck(option)) goOn(opening);
}

// goOn plays what follows a fault: there is only one thing left to see.
function goOn(opening) {
  const way = opening.aim.shortest(opening.cell, opening.path);
  if (now.opening !== opening || !way?.length || opening.aim.along(opening.cell, opening.path).at) return;
  setTimeout(() => {
    if (now.opening === opening) deliver({edge: way[0], label: ''}).then(() => goOn(opening));
  }, still() ? 0 : 700);
}

const play = (path = now.opening.path) => graph.play(now.opening.cell, path);

// sentLast is the command of the last move, if it has one.
const sentLast = ({records, seen}) => records.slice(seen.at(-2) ?? 0).find(r => r.kind === 'command');

export function undoDelivery() {
  now.opening.path.pop();
  drawOpening();
}

export function drawOpening() {
  const {n, act, cell, aim, path} = now.opening, played = play(), {records, seen, state, at} = played, last = records.at(-1) ?? {redis: [], inside: []};
  const along = aim.along(cell, path), won = along.at > 0, sent = sentLast(played), refused = act.holds && sent?.reply === '0', over = won || refused || state === End, box = part('picture');
  const writer = last.redis[0]?.token && records.findLast(r => /^SET/.test(r.text) && r.reply !== '0')?.who;
  const late = !act.holds && !won && along.found.at(-1) === 0, focus = document.activeElement.closest('.stage, .told'), dock = document.activeElement.closest('.dock')?.id;
  now.address = format({opening: n, path: graph.name(path)});
  history.replaceState(null, '', now.address);
  now.width = box.clientWidth;
  part('held').className = writer ? `owner${names.indexOf(writer)}` : '';
  part('held').textContent = writer ? t('open.key', {who: writer}) : t('open.free');
  for (const name of names) {
    part(`reply-${name}`).textContent = sent?.who === name && !last.inside.includes(name) ? t(`open.reply.${sent.text.split(' ')[0]}.${sent.reply}`) : '';
    part(name).classList.toggle('in', last.inside.includes(name));
    part(name).classList.toggle('dead', records.some(r => r.who === name && /^dies/.test(r.text)));
  }
  part('room').classList.toggle('two', last.inside.length > 1);
  let digit = 0;
  const options = over || late ? [] : graph.edges(state).filter(o => o.to !== Unexplored && !(struck(o) && path.length === 0));
  const message = o => {
    const who = whoOf(o.label), [command] = o.text.split(' '), says = t(`open.do.${command}`);
    return button([el('b', {}, says), ' ', sends(o) && el('code', {}, command)], e => deliver(o, e.currentTarget), {
      class: `message owner${names.indexOf(who)}`, 'data-label': o.label, 'aria-keyshortcuts': String(++digit),
      'aria-label': `${who}: ${says} ${sends(o) ? command : ''}`.trim(),
    });
  };
  for (const name of names) fill(part(`dock-${name}`), options.filter(o => whoOf(o.label) === name).map(message));
  const faults = options.filter(struck), strike = ['⚡ ', t('open.strike')], soon = act.goal === 'K' && options.length > 0 && !path.some(e => struck(graph.options[graph.option[e]]));
  fill(part('bolt'), faults.length === 0 && soon ? button(strike, undefined, {class: 'fault', 'aria-disabled': 'true'}) : faults.map(o => button(strike, () => deliver(o), {class: 'fault', 'data-label': o.label, 'aria-keyshortcuts': String(++digit)})));
  box.replaceChildren(...path.length ? diagram({
    rows: rows(records, 6), records, clients: names, nodes: [t('node.one')], resource: t('open.room'), width: Math.max(260, Math.min(620, box.clientWidth - 18)),
    now: at, ended: state === End, fresh: records[seen.at(-2) ?? 0]?.at ?? Infinity, moving: false, flash: won && !still(),
  }) : []);
  box.scrollTop = box.scrollHeight;
  if (won) note(act.cell, 'broken');
  if (over && act.holds) note(act.cell, 'holds');
  const done = won || over && act.holds, next = acts[n] ? format({opening: n + 1}) : '#2';
  fill(part('told'), done ? [el('h2', {class: won ? 'bad' : 'good'}, won ? '✗ ' : '✓ ', t(`open.${n}.end`, {all: graph.all[cell.State]})), el('p', {}, rich(t(`open.${n}.so`))),
    el('a', {class: 'button primary', id: 'next', href: next}, t(`open.${n}.next`))]
    : over || late ? [el('p', {}, t(`open.late.${act.goal === 'X' && last.inside.includes(writer) ? names.find(name => name !== writer) : n}`)), button(t('open.back'), () => {
      path.length = Math.max(0, along.found.findLastIndex(found => found > 0));
      drawOpening();
    }, {id: 'back'})] : []);
  if (done || over || late) say(part('told').textContent);
  else if (path.length > 0) say(rows(records.slice(seen.at(-2))).map(r => `${r.who} ${r.text} ${r.reply}`).join('. '));
  if (focus || done || over || late) (part('told').querySelector('.button, button') ?? (dock && part(dock).querySelector('button')) ?? document.querySelector('.stage button:not([aria-disabled])'))?.focus({preventScroll: true});
}
