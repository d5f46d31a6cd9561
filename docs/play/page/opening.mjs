// Opening: two minutes for a new reader. The reader delivers the messages of Alice and Bob, and what happens
// is recorded below as a sequence diagram, so that its language is learned by doing.

import {format, go} from './address.mjs';
import {End, Unexplored} from './data.mjs';
import {button, el, fill, part, rich, say, still} from './dom.mjs';
import {Game, isFault, optionOf, sends, whoOf} from './game.mjs';
import {cellName, data, graph, levelNamed, levels, names} from './levels.mjs';
import {frame} from './menu.mjs';
import {note, now, stateOf} from './store.mjs';
import {rows} from './timeline.mjs';
import {t} from './words.mjs';

// The acts: both get in; then the lock holds; then a fault may strike.
const acts = [{cell: '00/none', goal: 'X'}, {cell: '01/none', goal: 'X', holds: true}, {cell: '01/crash-hold',
  goal: 'K'}];
const act = () => acts[now.place.opening - 1];

// isNew reports whether the page begins with the opening: nothing has been played yet.
export const isNew = () => !data.Own && levels.every(l => stateOf(cellName(l)) === 'new');

// showOpening opens an act with its moves. It reports whether there is such a place.
export function showOpening({opening: n, path}) {
  const cell = graph.cells.get(acts[n - 1]?.cell), {edges, rest} = cell ? graph.follow(cell, path) : {};
  if (!edges || rest) return false;
  now.place = {opening: n, path};
  now.game = Object.assign(new Game(levelNamed(act().cell), {Goal: act().goal}), {path: edges});
  const person = (name, i) => [
    el('div', {class: `person owner${i}`, id: name, 'aria-hidden': true}, name[0].toUpperCase()),
    el('p', {class: `reply owner${i}`, id: `reply-${name}`, 'aria-hidden': true}),
    el('div.dock', {id: `dock-${name}`, role: 'group', 'aria-label': t('open.messages', {who: name})}),
  ];
  frame('opening', '', [
    el('h1', {tabindex: '-1'}, t('open.title')), el('p#ask', rich(t(`open.${n}`))),
    el('div.stage',
      person(names[0], 0), el('div#redis', t('node.one'), el('p#held')), person(names[1], 1),
      el('div#room', t('open.rule')), el('div#bolt')),
    el('div#told.told'),
    el('lock-board#picture', {room: 'open.room', play: true}),
    el('p.skip-opening', el('a', {href: '#menu'}, t('open.menu')))]);
  drawOpening();
  document.querySelector('h1').focus({preventScroll: true});
  return true;
}

// deliver makes a move: its message flies to Redis, and the reply comes back.
async function deliver(option, from) {
  const {game} = now;
  if (game.busy) return;
  game.choose(option.edge);
  if (from && sentLast(game.run()) && !still()) {
    game.busy = true;
    const a = from.getBoundingClientRect(), b = part('redis').getBoundingClientRect();
    const x = b.left + b.width / 2 - a.left - a.width / 2, y = b.top + b.height / 2 - a.top - a.height / 2;
    const to = {transform: `translate(${x}px, ${y}px) scale(.6)`};
    await from.animate([{transform: 'none'}, to], {duration: 400, easing: 'ease-in'}).finished;
    game.busy = false;
    if (now.game !== game) return; // the reader has left
  }
  drawOpening();
  if (isFault(option)) goOn(game);
}

// goOn plays what follows a fault: there is only one thing left to see.
function goOn(game) {
  const {way} = game;
  if (now.game !== game || !way?.length || game.along().at) return;
  setTimeout(() => {
    if (now.game === game) deliver({edge: way[0], label: ' '}).then(() => goOn(game));
  }, still() ? 0 : 700);
}

// sentLast is the command of the last move, if it has one.
const sentLast = ({records, seen}) => records.slice(seen.at(-2) ?? 0).find(r => r.kind === 'command');

export function undoDelivery(n = now.game.path.length - 1) {
  now.game.path.length = Math.max(0, n);
  drawOpening();
}

function drawOpening() {
  const {game} = now, {opening: n} = now.place, {goal, holds} = act(), {path} = game,
    {records, seen, state} = game.run();
  const {redis, inside} = records.at(-1) ?? {redis: [], inside: []}, {at, found} = game.along(), won = at > 0;
  const sent = sentLast({records, seen}), over = won || holds && sent?.reply === '0' || state === End,
    done = won || over && holds;
  const writer = redis[0]?.token && records.findLast(r => /^SET/.test(r.text) && r.reply !== '0')?.who;
  const late = !holds && !won && found.at(-1) === 0, had = document.activeElement;
  const focus = had.closest('.stage, .told'), dock = had.closest('.dock')?.id;
  go({opening: n, path: game.name});
  part('held').className = writer ? `owner${names.indexOf(writer)}` : '';
  part('held').textContent = writer ? t('open.key', {who: writer}) : t('open.free');
  for (const name of names) {
    const replied = sent?.who === name && !inside.includes(name);
    part(`reply-${name}`).textContent = replied ? t(`open.reply.${sent.text.split(' ')[0]}.${sent.reply}`)
      : '';
    part(name).classList.toggle('in', inside.includes(name));
    part(name).classList.toggle('dead', records.some(r => r.who === name && /^dies/.test(r.text)));
  }
  part('room').classList.toggle('two', inside.length > 1);
  let digit = 0;
  const options = over ? [] : graph.edges(state).filter(o => o.to !== Unexplored
    && !(isFault(o) && path.length === 0));
  const message = o => {
    const who = whoOf(o), [command] = o.text.split(' '), says = t(`open.do.${command}`);
    return button([el('b', says), ' ', sends(o) && el('code', command)], e => deliver(o, e.currentTarget), {
      class: `message owner${names.indexOf(who)}`, 'data-label': o.label,
        'aria-keyshortcuts': String(++digit),
      'aria-label': `${who}: ${says} ${sends(o) ? command : ''}`.trim(),
    });
  };
  for (const name of names) fill(part(`dock-${name}`), options.filter(o => whoOf(o) === name).map(message));
  const soon = goal === 'K' && options.length > 0 && !path.some(e => isFault(optionOf(e)));
  const bolt = (act, props) => button(['⚡ ', t('open.strike')], act, {class: 'fault', ...props});
  const bolts = options.filter(isFault).map(o => bolt(() => deliver(o), {'data-label': o.label,
    'aria-keyshortcuts': String(++digit)}));
  fill(part('bolt'), bolts.length === 0 && soon ? bolt(() => fill(part('told'),
    el('p', t('open.early'))), {'aria-disabled': 'true'}) : bolts);
  part('picture').show({cell: game.id, path: game.name}, won);
  if (won) note(game.id, 'broken');
  if (over && holds) note(game.id, 'holds');
  const next = acts[n] ? format({opening: n + 1}) : '#2', nobody = goal === 'X' && inside.includes(writer);
  fill(part('told'), done ? [
    el('h2', {class: won ? 'bad' : 'good'}, won ? '✗ ' : '✓ ', t(`open.${n}.end`, {all: game.all})),
    holds && !won && el('p.orders', {'aria-hidden': 'true'}, '✓ '.repeat(game.all)),
    el('p', rich(t(`open.${n}.so`))),
    el('a.button.primary#next', {href: next}, t(`open.${n}.next`)),
  ] : over || late ? [
    el('p', t(`open.late.${nobody ? names.find(name => name !== writer) : n}`)),
    button(t('open.back'), () => undoDelivery(game.lastChance), {id: 'back'}),
  ] : []);
  if (done || over || late) say(part('told').textContent);
  else if (path.length > 0) say(rows(records.slice(seen.at(-2))).map(r =>
    `${r.who} ${r.text} ${r.reply}`).join('. '));
  if (!focus && !done && !over && !late) return;
  const first = dock && part(dock).querySelector('button');
  (part('told').querySelector('.button, button') ?? first
    ?? document.querySelector('.stage button:not([aria-disabled])'))?.focus({preventScroll: true});
}
