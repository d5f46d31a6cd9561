// Level: a game on one lock under one fault, as a page of its own, or in a chapter.

import {format} from './address.mjs';
import {showCode} from './code.mjs';
import {nextBeat, stacked} from './course.mjs';
import {End, Unexplored} from './data.mjs';
import {clock, diagram} from './diagram.mjs';
import {button, copy, el, fill, leads, narrow, part, rich, say, send, still} from './dom.mjs';
import {
  all, cellName, chapterOf, data, goals, graph, hardOf, levelAt, levelOf, levels, lockOf, names, nodesOf,
  onWay, placeOf, solved, stepName, stepTitle, titleOf,
} from './levels.mjs';
import {boss, frame} from './menu.mjs';
import {note, now} from './store.mjs';
import {replaying, rows, text} from './timeline.mjs';
import {close, fromData, inProse, language, plain, t, upper, words} from './words.mjs';

const when = {
  'crash-acquire': 'acquiring', 'crash-hold': 'holding', 'crash-waits': 'holding', 'crash-release': 'releasing', slow: 'busy', pause: 'busy', 'pause-waits': 'busy',
  resent: 'inFlight', 'resent-waits': 'inFlight', unsent: 'inFlight', 'nested-resent': 'inFlight', deadline: 'inFlight', 'late-set': 'inFlight', 'slow-answer': 'inFlight',
  'late-reply': 'inFlight', 'late-write': 'write', 'slow-answers': 'holding', 'renewal-once': 'holding', 'renewal-all': 'holding', dead: 'holding', healed: 'holding',
  healing: 'holding', stolen: 'holdingReleasing', deleted: 'holdingReleasing',
};

// who does what an option stands for: a client, or F, T, W.
export const whoOf = label => names.find(n => n[0] === label[0].toLowerCase() && label[0] !== 'F') ?? label[0];

// saying is an option in words. Of a command it has the name.
function saying(level, o) {
  const who = whoOf(o.label), first = o.label[0], command = o.text.split(' ')[0];
  if (first === 'F') return striking(level, command);
  if (first === 'T') return t('do.T');
  if (first === 'W') return t(`do.W.${level.Fault}`);
  if (first === first.toUpperCase()) return t(`do.${o.text}`, {who});
  const node = level.Nodes === 1 ? t('node.one') : t('node.many', {n: o.label[1]});
  return t(o.label.includes('_') ? 'do.overtakes' : 'do.command', {who, command, node});
}

const striking = (level, command) => t(`strike.${level.Fault}`, {command, node: level.Nodes === 1 ? t('node.one') : t('node.many', {n: 1})});

// Before anything has reached Redis, these faults change nothing that matters.
const needACommand = ['slow', 'pause', 'pause-waits', 'failover', 'restart', 'restart-waits', 'restart-late', 'clock'];

// sends reports whether an option has a command of its own to show.
export const sends = o => o.text.includes(' ') && (o.label[0] === 'F' || o.label[0] !== o.label[0].toUpperCase());

// ---- a game

export function newGame(level) {
  const place = placeOf(level), {Goal = '', After = ''} = goals()[cellName(level)] ?? {}, cell = graph.cells.get(cellName(level)), aim = graph.aim(Goal, After);
  // The first two levels say at once that the goal is out of reach, the others three choices later: a notice at
  // once is a way to win without a thought.
  return {
    level, cell, aim, path: [], ahead: [], back: 0, patience: place >= 2 ? 3 : 0, hint: 0, shown: false, revealed: false, on: false,
    moments: place >= 2 && aim.breaks ? momentsOf(level, cell, aim) : [], bet: undefined,
  };
}

// momentsOf are what a reader can bet on before the first move: when the fault must strike. They are those at which Alice,
// alone, has come to a next command. Where all are right, there is no bet.
function momentsOf(level, cell, aim) {
  const moments = [], path = [], node = o => level.Nodes > 1 ? t('node.many', {n: o.label[1]}) : t('node.one');
  for (let state = cell.State, text = t('bet.first'); state !== End && moments.length < 4;) {
    const open = graph.edges(state).filter(o => o.to !== Unexplored), fault = open.find(o => o.label[0] === 'F'), next = open.find(o => whoOf(o.label) === names[0]);
    if (fault) {
      const {at, found} = aim.along(cell, [...path, fault.edge]);
      moments.push({text, right: at > 0 || found.at(-1) > 0});
    }
    if (!next) break;
    path.push(next.edge);
    text = t(sends(next) ? 'bet.after' : 'bet.write', {command: next.text.split(' ')[0], node: node(next)});
    state = next.to;
  }
  return moments.some(m => m.right) && moments.some(m => !m.right) ? moments : [];
}

// toBet reports whether a bet comes before the first move.
const toBet = ({moments, bet, path}) => moments.length > 0 && bet === undefined && path.length === 0;

export const run = (path = now.game.path) => graph.play(now.game.cell, path);
const address = (level, path) => format({level: cellName(level), path: graph.name(path)});

// gameOf is the game on a level of a chapter, as the reader has left it.
const games = new Map();
export function gameOf(level) {
  for (const other of games.keys()) if (chapterOf(other) !== chapterOf(level)) games.delete(other);
  if (!games.has(level)) games.set(level, newGame(level));
  return games.get(level);
}

// The lessons are beside the page in a checkout, and on GitHub for a page of GitHub Pages. Elsewhere there is no link.
const lessons = () => /\/docs\/play\/(index\.html)?$/.test(location.pathname) ? '../../'
  : location.hostname.endsWith('.github.io') ? `//github.com/${location.hostname.split('.')[0]}/${location.pathname.split('/')[1]}/blob/HEAD/` : '';

// home is the address of the page for others: the public one, or that which the reader has, if others can reach it.
const home = () => data.Home || (location.protocol.startsWith('http') && !/^(localhost|127\.|10\.|192\.168\.|\[)/.test(location.hostname) ? location.href.replace(/[?#].*/, '') : '');

// shared is what leads others to a level: a link, or the command in a clone.
export const shared = at => home() ? `${home()}#${at}` : `go run ./docs/play ${at}`;

// kindsIn are the letters of the violations in records.
const kindsIn = records => records.filter(r => r.kind === 'verdict').map(r => r.text[0]);

export const along = (path = now.game.path) => now.game.aim.along(now.game.cell, path);

// breaksAt is the number of the choice that reaches the goal, 0 if none does.
const breaksAt = path => along(path).at;

// total is how many schedules of the level reach the goal.
const total = () => along([]).found[0];

// lastChance is the number of choices after which a schedule could still reach the goal.
const lastChance = () => along().found.findLastIndex(n => n > 0);

// decisive is the index of the choice before which the lock could still hold, and after
// which it could not; -1 if it never could.
function decisive(states, path, until) {
  const {found} = along(path);
  for (let i = until - 1; i >= 0; i--) if (found[i] < graph.all[states[i]]) return i;
  return -1;
}

// here writes into the address what is open.
export function here() {
  const {game, chapter} = now, path = game ? graph.name(game.path) : '';
  now.address = chapter ? format({chapter: chapter.n, at: chapter.at + 1, path}) : format({level: cellName(game.level), path, beat: game.beat});
  history.replaceState(null, '', now.address);
}

function choose(edge) {
  if (now.game.ahead[0] === edge) now.game.ahead.shift();
  else now.game.ahead = [];
  moved = !still();
  now.game.path.push(edge);
  arrived();
  toChoices();
}

// toChoices shows the new list from its heading on, which may be under the picture of a phone.
function toChoices() {
  const over = part('h-choices').getBoundingClientRect().top - (document.querySelector('.figure')?.offsetHeight ?? 0) - 8;
  if (now.chapter && stacked() && !card && over < 0) scrollBy({top: over, behavior: 'instant'});
}

// goTo goes to the state after n choices of a path.
function goTo(path, n) {
  now.game.back += Math.max(0, now.game.path.length - n);
  now.game.ahead = path.slice(n);
  now.game.path = path.slice(0, n);
  arrived();
}

const whole = () => [...now.game.path, ...now.game.ahead];
export const undo = () => now.game.path.length > 0 && goTo(whole(), now.game.path.length - 1);
export const redo = () => now.game.ahead.length > 0 && goTo(whole(), now.game.path.length + 1);

export function arrived() {
  now.game.hint = 0;
  here();
  const {state} = run(), reached = breaksAt(now.game.path) > 0, id = cellName(now.game.level);
  if (reached) note(id, now.game.shown ? 'shown' : now.game.aim.breaks ? 'broken' : 'holds');
  else if (state === End) note(id, total() === 0 ? 'holds' : 'seen');
  now.game.revealed = now.game.revealed && (reached || state === End);
  show();
}

// ---- a level

// region is a part of a view, with its heading.
const region = (name, heading, props = {}) => el('section', {class: name, 'aria-labelledby': `h-${name}`, ...props}, el('h2', {id: `h-${name}`}, heading), el('div', {id: name}));

// controls are what a game needs beside its picture.
export function controls() {
  const choices = region('choices', t('choices'));
  choices.append(el('div', {id: 'tools', class: 'tools'}), el('div', {id: 'hints'}));
  return [el('div', {id: 'outcome'}), choices];
}

// rule says which fault there is.
export const rule = l => el('span', {class: 'rule'}, words.en[`strike.${l.Fault}`] ? t('goal.rule', {fault: plain(striking(l, t('goal.command')))}) : t('goal.rule.none'));

function skeleton() {
  const l = now.game.level, lock = lockOf(l.Step), aimed = Boolean(goals()[cellName(l)]), n = placeOf(l) < 0 ? 0 : chapterOf(l);
  document.title = `${stepTitle(l.Step)}${t('comma')}${aimed ? titleOf(l) : t(`fault.${l.Fault}`)} – ${t('title')}`;
  frame(el('nav', {'aria-label': t('skip')}, el('a', {class: 'skip', href: '#', onclick: e => { e.preventDefault(); document.querySelector('#choices button:not([aria-disabled])')?.focus(); }}, t('skip'))),
    el('main', {class: 'play', tabindex: '-1'},
      el('div', {class: 'title'},
        el('p', {class: 'crumbs'}, el('a', {href: n ? `#${n}` : '#menu'}, '← ', n ? t('chapter', {n}) : t('back')), el('span', {}, data.Own ? t('own', {step: stepName(l.Step)}) : stepTitle(l.Step)), el('span', {class: 'what'}, fromData(lock.Lock)), lessons() && l.Step > 0 && el('a', {href: `${lessons()}${lock.Dir}/${t('lesson.page')}`}, t('lesson'))),
        el('h1', {tabindex: '-1'}, boss(l), titleOf(l)),
        el('p', {class: 'goal'}, !aimed && [t(l.Step === 9 ? 'goal.fencing' : 'goal'), ' '], rule(l)),
        now.game.beat > 0 && el('p', {id: 'challenge'}, t('challenge', {n: now.game.beat}))),
      el('div', {class: 'board'},
        el('div', {class: 'scene'}, region('now', t('now')), region('picture', t('picture'), {'aria-hidden': 'true'})),
        el('div', {class: 'side'}, controls(), region('code', t('code')), region('schedule', t('schedule')))),
      region('timeline', t('timeline')),
      el('div', {id: 'source'})));
  card = '';
}

// Since when a row is new, which card is shown, and whether a move has just been made.
let fresh = 0, card = '', moved = false;

// enter shows a game for the first time.
export function enter() {
  fresh = 0, card = null;
  show();
}

function show() {
  const shown = `${cellName(now.game.level)} ${now.game.beat} ${language}`;
  if (!now.chapter && (!part('choices') || part('app').dataset.level !== shown)) {
    part('app').dataset.level = shown;
    skeleton();
    fresh = 0;
    scrollTo(0, 0);
  }
  const played = run(), {records, seen, state} = played;
  const list = shownRows(records), before = seen.length > 1 ? seen.at(-2) : 0;
  fresh = seen.length > 1 && before < records.length ? records[before].at : 0;
  showPicture(played);
  showChoices(played);
  showTools();
  showHints();
  showOutcome(played);
  if (!now.chapter) {
    showNow(played);
    showCode(played);
    showSchedule();
    showTimeline(played, list, before);
  }
  const news = list.filter(r => r.first >= before).map(r => text(r, true).trim().replace(/^[\d.]+ms +/, '').replace(/\s+/g, ' '));
  if (now.game.path.length > 0) say(`${news.join('. ')}. ${card ? [...part('outcome').querySelector('.told').children].map(e => e.textContent).join(' ') : notice(played) || (state === End ? t('choices.over') : '')}`);
}

const msLeft = us => us >= 1_000_000 ? `${(us / 1e6).toFixed(1)} s` : `${(us / 1e3).toFixed(1)} ms`;

function showNow({records, at}) {
  const l = now.game.level, last = records.at(-1) ?? {redis: [], inside: []};
  const keys = nodesOf(l).map((node, i) => {
    const k = last.redis[i];
    const has = k?.token && !(k.until && k.until <= at);
    const left = has && k.until ? k.until - at : 0, part = has ? k.until ? Math.min(1, left / 10e6) : 1 : 0;
    const owner = all.indexOf(k?.owner);
    return el('div', {class: `key ${has ? owner >= 0 ? `owner${owner}` : 'other' : 'free'}`},
      el('span', {class: 'node'}, node),
      el('span', {class: 'whose'}, has ? rich(t('now.key', {owner: k.owner, token: k.token.replace(/[<>]/g, '')})) : t('now.free')),
      el('span', {class: 'bar', 'aria-hidden': 'true'}, el('span', {style: `width:${(part * 100).toFixed(1)}%`})),
      el('span', {class: 'left'}, has ? k.until ? t('now.left', {time: msLeft(left)}) : t('now.noTtl') : '\u00a0'));
  });
  const inside = last.inside;
  part('now').replaceChildren(
    el('div', {class: 'keys'}, keys),
    el('div', {class: `inside ${inside.length > 1 ? 'two' : ''}`}, el('span', {class: 'node'}, t('now.inside')),
      inside.length === 0 ? el('span', {class: 'nobody'}, t('now.nobody')) : inside.map(n => el('span', {class: `chip owner${all.indexOf(n)}`}, n)), inside.length > 1 && el('strong', {}, t('now.two'))),
    el('div', {class: 'time'}, t('now.time', {time: clock(at)})));
}

// shownRows are what has happened. What is wrong, in presenter mode the room says.
const shownRows = (records, often) => rows(records, often).filter(r => !leads || now.game.revealed || r.who !== '**');

export function showPicture({records, seen, at, state}) {
  const box = part('picture'), width = Math.max(260, Math.min(760, box.clientWidth - 18));
  now.width = box.clientWidth;
  box.replaceChildren(...diagram({rows: shownRows(records, 6), records, clients: all.filter(n => names.includes(n) || records.some(r => r.who === n)), nodes: nodesOf(now.game.level), width, resource: t('resource'), now: at, ended: state === End, fresh: now.game.path.length > 0 ? fresh : Infinity, moving: moved, flash: moved && records.at(-1)?.inside.length > 1 && !(records[seen.at(-2) - 1]?.inside.length > 1)}));
  moved = false;
  box.scrollTop = box.scrollHeight;
  if (now.game.path.length > 0 && narrow() && !now.chapter) { // what is new is above the choices
    scrollTo(0, box.getBoundingClientRect().bottom + scrollY - innerHeight * .54);
  }
}

// notice is what stands above the choices when there is more to say than that.
function notice({state, records, seen}) {
  const {found, at} = along(), n = now.game.path.length;
  if (leads && !now.game.revealed || at > 0 || state === End || n === 0) return '';
  const wrong = kindsIn(records), other = () => t('choices.other', {kind: t(`kind.${wrong.at(-1)}`)});
  if (wrong.length > kindsIn(records.slice(0, seen.at(-2))).length) return other();
  if (found[0] > 0 && found[n] === 0 && found[Math.max(0, n - now.game.patience)] === 0) return t(now.game.aim.breaks ? 'choices.dead' : 'choices.deadSee');
  if (wrong.length > 0) return other();
  if (now.game.aim.breaks && found[n] > 0 && found[n] === graph.all[state] && found[0] < graph.all[now.game.cell.State]) return t('choices.sure');
  return '';
}

function showChoices(played) {
  const {state} = played, box = part('choices'), section = box.parentElement, l = now.game.level, told = notice(played);
  section.querySelector('h2').textContent = toBet(now.game) ? t('bet') : told || t('choices');
  section.classList.toggle('told', told !== '');
  const over = !(leads && !now.game.revealed) && (breaksAt(now.game.path) > 0 && !now.game.on || state === End);
  section.classList.toggle('folded', over);
  const had = part('outcome').contains(document.activeElement) && !over ? 0 : box.contains(document.activeElement) ? [...box.querySelectorAll('button')].indexOf(document.activeElement) : -1;
  let n = 0;
  const list = [];
  let unexplored = 0;
  if (toBet(now.game)) {
    [...now.game.moments.map(m => m.text), t('bet.none')].forEach((text, i) => list.push(button([el('kbd', {'aria-hidden': 'true'}, String(i + 1)), el('span', {class: 'words'}, rich(text))], () => {
      now.game.bet = i;
      show();
      toChoices();
    }, {class: 'choice bet', 'aria-keyshortcuts': String(i + 1)})));
  } else if (state === End) list.push(el('p', {class: 'over'}, t('choices.over')));
  else {
    const idle = graph.idle(state), edges = graph.edges(state);
    const add = (o, cls) => {
      if (o.to === Unexplored) return unexplored++;
      n++;
      list.push(button([el('kbd', {'aria-hidden': 'true'}, n < 10 ? String(n) : n === 10 ? '0' : ''), el('span', {class: 'words'}, rich(upper(saying(l, o))), sends(o) && el('small', {}, el('code', {}, o.text)))],
        () => choose(o.edge), {class: `choice ${cls}`, 'data-label': o.label, 'aria-keyshortcuts': n <= 10 ? String(n % 10) : undefined}));
    };
    const never = (words, cls) => list.push(button([el('kbd', {'aria-hidden': 'true'}, ''), el('span', {class: 'words'}, words)], undefined, {class: `choice ${cls}`, 'aria-disabled': 'true'}));
    names.forEach((name, i) => {
      const own = edges.filter(o => whoOf(o.label) === name);
      own.forEach(o => add(o, `owner${i}`));
      if (own.length === 0) never(t(`why.${idle[i] === '.' ? 'w' : idle[i]}`, {who: name}), `owner${i}`);
    });
    const early = now.game.path.length === 0 && needACommand.includes(l.Fault), others = edges.filter(o => !names.includes(whoOf(o.label)) && !(early && o.label[0] === 'F'));
    others.forEach(o => add(o, 'fault'));
    if (words.en[`strike.${l.Fault}`] && !others.some(o => o.label[0] === 'F')) {
      const struck = now.game.path.some(e => graph.options[graph.option[e]].label[0] === 'F');
      never(struck ? t('why.struck') : early ? t('why.early') : t('why.notNow', {when: t(`when.${when[l.Fault] ?? 'anybody'}`)}), 'fault');
    }
  }
  if (unexplored > 0) list.push(el('p', {class: 'beyond'}, t('why.unexplored', {n: unexplored})));
  box.replaceChildren(...list);
  if (had >= 0) (box.querySelectorAll('button:not([aria-disabled])')[0] ?? part('tools').querySelector('button'))?.focus({preventScroll: true});
  document.body.classList.toggle('choosing', !now.chapter && !over && state !== End);
}

function showTools() {
  part('tools').replaceChildren(
    button(t('undo'), undo, {id: 'undo', 'aria-keyshortcuts': 'u', 'aria-disabled': now.game.path.length === 0 ? 'true' : undefined}),
    button(t('redo'), redo, {id: 'redo', 'aria-disabled': now.game.ahead.length === 0 ? 'true' : undefined}),
    button(t('restart'), () => goTo(whole(), 0), {id: 'restart', 'aria-disabled': now.game.path.length === 0 ? 'true' : undefined}),
    button(t('hint'), hint, {id: 'hint', 'aria-keyshortcuts': 'h'}));
}

// stages are how many hints there are: a written one where there is one, then who, when and which.
const stages = () => placeOf(now.game.level) >= 0 ? 4 : 3;

export function hint() {
  if (now.game.hint < stages()) now.game.hint++;
  const {steps, at} = along();
  if (now.game.hint === stages() && at === 0 && steps.at(-1) < Infinity) {
    now.game.shown = true;
    now.game.bet ??= now.game.moments.length; // too late for one
    note(cellName(now.game.level), 'shown');
  }
  show();
  document.querySelector('.hint').scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  say(part('hints').textContent);
}

function showHints() {
  const box = part('hints');
  box.replaceChildren();
  document.querySelectorAll('.choice.hinted').forEach(e => e.classList.remove('hinted'));
  if (now.game.hint === 0) return;
  const l = now.game.level, list = [], {at} = along(), way = now.game.aim.shortest(now.game.cell, now.game.path);
  if (at > 0) list.push(t('hint.won'));
  else if (total() === 0) list.push(t('hint.holds', {all: graph.all[now.game.cell.State]}));
  else if (!way) list.push(t(now.game.aim.breaks ? 'hint.dead' : 'hint.deadSee', {n: lastChance()}));
  else {
    const whole = [...now.game.path, ...way], {states, records, seen} = graph.play(now.game.cell, whole);
    const n = now.game.path.length, d = Math.max(n, decisive(states, whole, whole.length)), o = graph.options[graph.option[whole[d]]];
    const who = whoOf(o.label);
    const stage = now.game.hint - (placeOf(l) >= 0);
    if (placeOf(l) >= 0) list.push(t(`level.${cellName(l)}.hint`));
    if (stage > 0) list.push(t('hint.who', {who: {F: t('hint.who.fault'), T: t('hint.who.time'), W: t('hint.who.late')}[who] ?? inProse(who)}));
    if (stage > 1) {
      const rowsBefore = rows(records.slice(0, seen[d]));
      if (d === n) list.push(t('hint.when.now'));
      else list.push(t(d - n === 1 ? 'hint.when.next' : 'hint.when', {n: d - n, row: rowsBefore.length ? text(rowsBefore.at(-1), true).trim().replace(/^[\d.]+ms +/, '').replace(/\s+/g, ' ') : ''}));
    }
    if (stage > 2) {
      const next = graph.options[graph.option[way[0]]];
      list.push(t('hint.which', {text: saying(l, next)}));
      document.querySelector(`.choice[data-label="${next.label}"]`)?.classList.add('hinted');
    }
  }
  box.append(el('div', {class: 'hint'}, list.map(line => el('p', {}, rich(line))), at === 0 && way && now.game.hint < stages() ? button(t('hint.more'), hint, {class: 'quiet'}) : ''));
}

function showOutcome({states, state, records}) {
  const box = part('outcome'), l = now.game.level, {aim} = now.game, {at, steps, found} = along(), all = graph.all[now.game.cell.State], [ways] = found, [best] = steps;
  box.replaceChildren();
  const before = card;
  card = '';
  if (at === 0 && state !== End) return;
  if (leads && !now.game.revealed) {
    box.append(el('div', {class: 'outcome hidden-answer'}, el('p', {}, t('outcome.hidden')), button(t('outcome.reveal'), reveal, {class: 'primary'})));
    return;
  }
  const told = [], more = [], buttons = [], step = stepTitle(l.Step), why = placeOf(l) >= 0 ? t(`level.${cellName(l)}.why`) : '', done = at > 0 || ways === 0;
  if (at > 0) {
    const wrong = [...new Set(kindsIn(records.slice(0, run(now.game.path.slice(0, at)).records.length)))], kind = goals()[cellName(l)]?.Goal[0] ?? wrong.at(-1);
    const {moments, bet} = now.game, right = moments.length === 0 || moments[bet]?.right;
    told.push(el('h2', {}, at === best && now.game.back === 0 && !now.game.shown && right && '★ ', t(aim.breaks ? 'outcome.won' : 'outcome.saw', {step: aim.breaks ? step : upper(step), n: at, best}), now.game.back > 0 && [' ', el('small', {}, t('outcome.taken', {n: now.game.back}))]));
    if (moments[bet]) told.push(el('p', {class: 'bet'}, rich(right ? t('bet.right') : t('bet.wrong', {bet: moments[bet].text, right: moments.filter(m => m.right).map(m => m.text).join(t('comma'))}))));
    if (now.game.beat) told.push(el('p', {}, t(at < now.game.beat ? 'challenge.beaten' : at === now.game.beat ? 'challenge.met' : 'challenge.missed', {n: now.game.beat})));
    const reasons = aim.breaks && reasonsOf(l, kind);
    told.push(el('p', {class: 'reason'}, rich(why || upper(reasons ? t('outcome.why', {kind: t(`kind.${kind}`), why: fromData(reasons)}) : `${t(`kind.${kind}`)}${t('stop')}`))));
    if (!aim.breaks) more.push(el('p', {}, t(l.Kinds === '' ? 'outcome.none' : 'outcome.seen', {all, ways})));
    const there = aim.breaks && !now.chapter && fixOf(l, kind); // in a chapter, the next one tells it
    if (there) told.push(el('p', {class: 'fix'}, t(there.helps ? 'outcome.helps' : 'outcome.fix', {step: upper(stepTitle(there.level.Step)), fix: t(`fix.${there.level.Step}`)}), ' ', el('a', {id: 'there', href: address(there.level, there.edges)}, t(there.edges.length > 0 ? 'outcome.there' : 'outcome.thereAnew'))));
    const d = decisive(states, now.game.path, at);
    if (aim.breaks) more.push(el('p', {}, rich(d < 0 ? t('outcome.decidedStart') : t('outcome.decided', {n: d + 1, text: saying(l, graph.options[graph.option[now.game.path[d]]]), violating: found[d], all: graph.all[states[d]]}))));
    if (now.game.shown) more.push(el('p', {}, t('outcome.shown')));
    if (at > best) buttons.push(button(t('outcome.showShortest'), () => { now.game.shown = true; goTo(aim.shortest(now.game.cell, []), best); }, {id: 'shortest'}));
  } else if (ways > 0) {
    const chance = lastChance();
    told.push(el('h2', {}, t(aim.breaks ? 'outcome.missed' : 'outcome.unseen')), el('p', {}, close(`${t(aim.breaks ? 'outcome.some' : 'outcome.seen', {violating: ways, ways, all})} ${t('outcome.goBack', {n: chance + 1})}`)));
    buttons.push(button(chance === 0 ? t('restart') : t('outcome.back', {n: chance}), () => goTo(whole(), chance), {id: 'goback', class: 'primary'}));
  } else {
    told.push(el('h2', {}, '✓ ', t('outcome.held', {step: upper(step)})), el('p', {}, t('outcome.none', {all})));
    const broken = levels.findLast(o => o.Fault === l.Fault && o.Step < l.Step && (l.Step < 9 || o.Step <= 5) && o.Kinds !== ''); // fencing has the lock of step 05
    if (broken && !data.Own) {
      const fixer = l.Step === 9 && broken.Step === 5 ? 9 : broken.Step + 1;
      told.push(el('p', {class: 'reason'}, t('outcome.fixed', {before: stepTitle(broken.Step), step: stepTitle(fixer), fix: t(`fix.${fixer}`)})));
    }
  }
  if (l.Bound >= 0) more.push(el('p', {}, t('outcome.bound')));
  if (done) {
    const enter = el('kbd', {'aria-hidden': 'true'}, '↵'), {href, text} = onward(l);
    if (now.chapter && now.chapter.at + 1 < now.chapter.beats.length) buttons.unshift(button([`${t('course.next')} ↓`, enter], nextBeat, {class: 'primary', id: 'next'}));
    else if (placeOf(l) >= 0 && chapterOf(l) === data.Chapters.length) buttons.unshift(el('a', {class: 'button primary', id: 'next', href: '#pairs'}, t('medal.pairs'), enter), el('a', {class: 'button', id: 'left', href}, text));
    else buttons.unshift(el('a', {class: 'button primary', id: 'next', href}, text, enter));
    if (at > 0 && state !== End && !now.game.on) buttons.push(button(t('outcome.on'), () => { now.game.on = true; show(); document.querySelector('#choices button:not([aria-disabled])')?.focus(); }, {id: 'on'}));
    if (now.chapter) buttons.push(el('a', {class: 'button', id: 'whole', href: address(l, now.game.path)}, t('outcome.whole')));
    if (at > 0 && aim.breaks && !now.game.shown && !data.Own) {
      const copies = (id, word, text) => buttons.push(button(t(word), e => send(text, e.currentTarget), {id}));
      const link = shared(format({level: cellName(l), beat: at}).slice(1));
      copies('dare', 'share.challenge', link);
      copies('result', 'share.result', t('share.text', {lock: t(`lock.${l.Step}`), n: at, link}));
    }
  }
  const shown = el('section', {class: `outcome ${at > 0 && aim.breaks ? 'won' : done ? 'held' : 'missed'}`, tabindex: '-1', 'aria-labelledby': 'h-outcome'}, el('div', {class: 'told'}, told), el('div', {class: 'buttons'}, buttons), el('div', {class: 'more'}, more));
  shown.querySelector('h2').id = 'h-outcome';
  box.append(shown);
  card = at > 0 ? `won ${at}` : 'over';
  if (card === before || before === null || now.game.path.length === 0) return;
  shown.focus({preventScroll: true});
  intoView(shown);
}

// onward is where it goes on after a level: to the next chapter, after the last to what is left or to the medal,
// and from one of the hard levels to the next of them.
function onward(l) {
  const way = onWay().map(levelOf), left = way.filter(o => !solved(o)), n = placeOf(l) < 0 ? 0 : chapterOf(l);
  if (data.Own) return {href: '#menu', text: t('back')};
  const hard = hardOf(l) && data.Hard.map(levelOf).find(o => o && o !== l && !solved(o));
  if (hard) return {href: `#${cellName(hard)}/`, text: t('outcome.next', {level: titleOf(hard)})};
  if (left.length === 0) return {href: '#menu', text: t(n ? 'outcome.medal' : 'back')};
  if (n === data.Chapters.length) return {href: format({level: cellName(left[0])}), text: t('outcome.next', {level: titleOf(left[0])})};
  const next = n ? n + 1 : chapterOf(left[0]);
  return {href: `#${next}`, text: t('outcome.nextChapter', {n: next, title: t(`chapter.${next}.title`)})};
}

// intoView shows a card: beside the picture, or below as much of it as fits.
function intoView(shown) {
  if (now.chapter ? !stacked() : !narrow()) {
    shown.closest('.side')?.scrollTo(0, 0);
    shown.scrollIntoView({block: 'nearest'});
    return;
  }
  const {top, bottom} = shown.getBoundingClientRect(), above = document.querySelector(now.chapter ? '.figure' : '.picture').offsetHeight, tools = now.chapter ? 0 : part('choices').parentElement.offsetHeight;
  part('picture').scrollTop = part('picture').scrollHeight;
  const down = Math.min(bottom + tools - innerHeight + 8, top - above - 8);
  scrollBy(0, now.chapter ? Math.max(down, Math.min(0, top - above - 8)) : down);
}

// A reason has parts, each for some kinds of violation: the others are for what is inside.
const partOf = [
  ['D', /^DEL asks|between GET and DEL$|^the DEL is sent again/], ['K', /no ttl|^a resent SETNX/], ['N', /^a release that/], ['B', /^the owner's second/], ['U', /only one node/],
];

// reasonsOf is why a lock shows a violation of a kind under a fault, as far as the data says it.
function reasonsOf(l, kind) {
  return l.Why.split('; ').filter(part => (partOf.find(([, text]) => text.test(part))?.[0] ?? 'XLT').includes(kind)).join('; ');
}

// fixOf is the next lock that does not fail in this way: under this fault it never does, or
// not in the schedule that was played.
function fixOf(l, kind) {
  if (data.Own) return undefined;
  if (l.Step === 0) return {level: levelAt(1, l.Fault), edges: beside(levelAt(1, l.Fault), now.game.path).edges};
  for (const level of levels.filter(o => o.Fault === l.Fault && o.Step > l.Step && graph.cells.has(cellName(o)))) {
    const there = beside(level, now.game.path), whole = there.edges.length === now.game.path.length;
    if (level.Step === 9 ? level.Kinds === '' : !level.Kinds.includes(kind) || whole && !kindsIn(there.records).includes(kind)) return {level, edges: there.edges};
  }
  const many = l.Step === 7 && levelAt(8, l.Fault); // a fault of one node does less harm there
  return many && graph.cells.has(cellName(many)) ? {level: many, edges: [], helps: true} : undefined;
}

export function reveal() {
  now.game.revealed = true;
  show();
}

function showSchedule() {
  const l = now.game.level, path = whole(), command = replaying(`${cellName(l)}/${graph.name(now.game.path)}`);
  const labels = path.map((e, i) => button(graph.options[graph.option[e]].label, () => goTo(path, i + 1), {
    class: `letter ${i + 1 === now.game.path.length ? 'here' : i + 1 > now.game.path.length ? 'ahead' : ''}`,
    'aria-label': plain(t('schedule.to', {label: graph.options[graph.option[e]].label, n: i + 1, text: saying(l, graph.options[graph.option[e]])})), 'aria-current': i + 1 === now.game.path.length ? 'step' : undefined,
  }));
  fill(part('schedule'),
    el('div', {class: 'letters'}, button('|', () => goTo(path, 0), {class: `letter ${now.game.path.length === 0 ? 'here' : ''}`, 'aria-label': '| ' + t('schedule.start')}), labels),
    el('div', {class: 'command'}, el('code', {id: 'command'}, command), ' ', button(t('copy'), e => copy(command, e.currentTarget), {id: 'copy', class: 'quiet'})));
}

function showTimeline({seen}, list, before) {
  const l = now.game.level, box = part('timeline');
  if (list.length === 0) return box.replaceChildren(el('p', {}, t('timeline.empty')));
  const choiceOf = i => seen.findIndex(n => i < n);
  box.replaceChildren(el('ol', {class: 'rows', tabindex: '0'}, list.map((r, i) => {
    const line = r.of[0].line, wrong = r.who === '**' || r.mark;
    return el('li', {class: `${wrong ? 'wrong' : ''} ${now.game.path.length > 0 && r.first >= before && !r.more ? 'new' : ''}`, 'data-choice': choiceOf(r.first)},
      el('span', {class: 'row'}, text(r, i === list.length - 1)),
      line && !r.more && button(line.replace('lock.go', ''), () => showSource(l.Step, line), {class: 'line', 'aria-label': t('timeline.line', {line: line.split(':')[1], file: line.split(':')[0]})}));
  })));
}

// showSource shows the files of a lock, and opens that of a line: lock.go:126.
function showSource(step, line) {
  const lock = lockOf(step), box = part('source');
  const files = lock.Files.map(({Name, Text}) => el('details', {open: line.startsWith(Name + ':')}, el('summary', {}, Name),
    el('pre', {tabindex: '0', 'aria-label': Name}, el('code', {}, Text.split('\n').map((s, i) => el('span', {class: `src ${line === `${Name}:${i + 1}` ? 'hit' : ''}`}, el('span', {class: 'nr'}, String(i + 1).padStart(3)), '  ' + s))))));
  box.replaceChildren(el('section', {class: 'source', 'aria-labelledby': 'h-source'}, el('h2', {id: 'h-source'}, t('source', {step: stepTitle(step)})),
    el('p', {}, step < 9 && !data.Own && rich(t('source.why', {arg: String(step)}))),
    files, button(t('source.close'), () => box.replaceChildren(), {class: 'quiet'})));
  const hit = box.querySelector('.hit'), pre = hit.closest('pre');
  pre.scrollTop = hit.offsetTop - pre.offsetTop - pre.clientHeight / 3;
  box.scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  pre.focus({preventScroll: true});
}

// ---- old beside fixed

// beside plays a schedule on another lock, as far as it makes sense: until a label is not
// there, or a call of one of them is over and that of the other is not.
function beside(level, path) {
  const cell = graph.cells.get(cellName(level)), mine = run(path), edges = [];
  const returns = (records, from, to) => records.slice(from, to).filter(r => r.kind === 'return').map(r => r.who).join();
  let why = 'over';
  for (let i = 0; i < path.length; i++) {
    const now = graph.play(cell, edges);
    if (now.state === End) break;
    const label = graph.options[graph.option[path[i]]].label;
    const o = graph.edges(now.state).find(o => o.label === label && o.to !== Unexplored);
    if (!o) { why = 'commands'; break; }
    edges.push(o.edge);
    const then = graph.play(cell, edges);
    if (then.state !== End && i + 1 < path.length && returns(mine.records, mine.seen[i], mine.seen[i + 1]) !== returns(then.records, then.seen[i], then.seen[i + 1])) { why = 'commands'; break; }
    if (i === path.length - 1 && then.state !== End) why = 'same';
  }
  return {edges, why, ...graph.play(cell, edges)};
}
