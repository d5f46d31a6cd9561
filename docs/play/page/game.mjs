// Game: a level, the choices made in it, and what there is to find. It needs no page.

import {End, Unexplored} from './data.mjs';
import {cellName, chapterOf, data, goals, graph, levelAt, levelNamed, levels, names, nodeOf, placeOf,
  scheduleOf} from './levels.mjs';
import {keep, progress} from './store.mjs';
import {t, words} from './words.mjs';

const when = {
  acquiring: 'crash-acquire', busy: 'slow pause pause-waits', write: 'late-write', releasing: 'crash-release',
  holding: 'crash-hold crash-waits slow-answers renewal-once renewal-all dead healed healing',
  holdingReleasing: 'stolen deleted',
  inFlight: 'resent resent-waits unsent nested-resent deadline late-set slow-answer late-reply',
};
// whenOf is a word for when a fault can strike.
export const whenOf = fault => Object.keys(when).find(w => when[w].split(' ').includes(fault)) ?? 'anybody';

// Before anything has reached Redis, these faults change nothing that matters.
const needACommand = ['slow', 'pause', 'pause-waits', 'failover', 'restart', 'restart-waits', 'restart-late',
  'clock'];

// whoOf is who does what an option stands for: a client, or F, T, W.
export const whoOf = ({label}) => names.find(n => n[0] === label[0].toLowerCase() && label[0] !== 'F')
  ?? label[0];
export const isFault = o => o.label[0] === 'F';

// sends reports whether an option has a command of its own to show.
export const sends = o => o.text.includes(' ') && (isFault(o) || o.label[0] !== o.label[0].toUpperCase());

// saying is an option in words. Of a command it has the name.
export function saying(level, o) {
  const who = whoOf(o), first = o.label[0], [command] = o.text.split(' ');
  if (isFault(o)) return striking(level, command);
  if (first === 'T') return t('do.T');
  if (first === 'W') return t(`do.W.${level.Fault}`);
  if (first === first.toUpperCase()) return t(`do.${o.text}`, {who});
  const node = nodeOf(level, o.label[1]);
  return t(o.label.includes('_') ? 'do.overtakes' : 'do.command', {who, command, node});
}
export const striking = (level, command) => t(`strike.${level.Fault}`, {command, node: nodeOf(level, 1)});
export const strikes = level => Boolean(words.en[`strike.${level.Fault}`]);

// kindsIn are the letters of the violations in records.
export const kindsIn = records => records.filter(r => r.kind === 'verdict').map(r => r.text[0]);

export const optionOf = edge => graph.options[graph.option[edge]];

export class Game {
  path = []; // the choices, as edges of the graph
  ahead = []; // those that have been undone
  back = 0; // how many were
  shown = false; // an answer
  bet = undefined;
  hint = 0; // how many are shown
  revealed = false; // in presenter mode
  on = false; // after the goal
  beat = 0; // the moves of who challenges

  constructor(level, {Goal = '', After = '', Bet} = goals()[cellName(level)] ?? {}) {
    const later = placeOf(level) >= 2, id = cellName(level);
    Object.assign(this, {level, id, cell: graph.cells.get(id), aim: graph.aim(Goal, After)});
    this.question = t(Bet ? `level.${id}.bet` : 'bet.when');
    this.moments = Bet ? [...'abc'].map(x => ({text: t(`level.${id}.bet.${x}`), right: x === Bet}))
      : later && this.aim.breaks ? this.momentsOf() : [];
  }

  get name() { return graph.name(this.path); }
  get whole() { return [...this.path, ...this.ahead]; }
  get best() { return this.along([]).steps[0]; } // moves to the goal, at least
  get ways() { return this.along([]).found[0]; } // schedules that reach it, of all
  get all() { return graph.all[this.cell.State]; }
  get way() { return this.aim.shortest(this.cell, this.path); }
  // A bet comes before the first move.
  get toBet() { return this.moments.length > 0 && this.bet === undefined && this.path.length === 0; }
  // lastChance is the number of choices after which a schedule could still reach the goal.
  get lastChance() { return this.along().found.findLastIndex(n => n > 0); }

  run(path = this.path) { return graph.play(this.cell, path); }
  along(path = this.path) { return this.aim.along(this.cell, path); }

  // decisive is the index of the choice before which the lock could still hold, and after which it could not;
  // -1 if it never could.
  decisive(path, until) {
    const {found} = this.along(path), {states} = this.run(path);
    return states.slice(0, until).findLastIndex((state, i) => found[i] < graph.all[state]);
  }

  choose(edge) {
    this.ahead = this.ahead[0] === edge ? this.ahead.slice(1) : [];
    this.path.push(edge);
  }

  // goTo goes to the state after n choices.
  goTo(n, path = this.whole) {
    this.back += Math.max(0, this.path.length - n);
    this.ahead = path.slice(n);
    this.path = path.slice(0, n);
  }

  // momentsOf are what a reader can bet on: when the fault can strike at the earliest. They are those at
  // which Alice, alone, has come to a next command.
  momentsOf() {
    const moments = [], path = [];
    for (let state = this.cell.State, text = t('bet.first'); state !== End && moments.length < 4;) {
      const open = graph.edges(state).filter(o => o.to !== Unexplored);
      const fault = open.find(isFault), next = open.find(o => whoOf(o) === names[0]);
      if (fault) {
        const {at, found} = this.along([...path, fault.edge]);
        moments.push({text, right: at > 0 || found.at(-1) > 0});
      }
      if (!next) break;
      path.push(next.edge);
      const [command] = next.text.split(' ');
      text = t(sends(next) ? 'bet.after' : 'bet.write', {command, node: nodeOf(this.level, next.label[1])});
      state = next.to;
    }
    const first = moments.findIndex(m => m.right);
    return first >= 0 && moments.length > 1 ? moments.map((m, i) => ({...m, right: i === first})) : [];
  }

  // early reports whether the fault of a level would change nothing yet.
  get early() { return this.path.length === 0 && needACommand.includes(this.level.Fault); }

  // keep keeps it, with the games of the same chapter.
  keep() {
    const same = ([id]) => levelNamed(id) && chapterOf(levelNamed(id)) === chapterOf(this.level);
    const {name: path, bet, back, shown} = this, ahead = graph.name(this.ahead);
    progress.games = {...Object.fromEntries(Object.entries(progress.games ?? {}).filter(same)),
      [this.id]: {path, ahead, bet, back, shown}};
    keep();
  }
}

// gameOf is the game on a level as the reader has left it. With another path, a new one begins there.
export function gameOf(level, path) {
  const game = new Game(level), kept = progress.games?.[game.id], {back = 0, bet, shown = false} = kept ?? {};
  const follow = name => graph.follow(game.cell, String(name));
  const whole = follow(`${kept?.path}${kept?.ahead ?? ''}`), anew = {path: follow(path ?? '').edges};
  if (!kept || whole.rest || (path ?? kept.path) !== kept.path) return Object.assign(game, anew);
  const n = follow(kept.path).edges.length;
  return Object.assign(game, {path: whole.edges.slice(0, n), ahead: whole.edges.slice(n), back, bet, shown});
}

// A reason has parts, each for some kinds of violation: the others are for what is inside.
const partOf = Object.entries({
  D: /^DEL asks|between GET and DEL$|^the DEL is sent again/, K: /no ttl|^a resent SETNX/,
  N: /^a release that/, B: /^the owner's second/, U: /only one node/,
});

// reasonsOf is why a lock shows a violation of a kind under a fault, as far as the data says it.
export function reasonsOf({Why}, kind) {
  return Why.split('; ').filter(part => (partOf.find(([, text]) => text.test(part))?.[0]
    ?? 'XLT').includes(kind)).join('; ');
}

// beside plays a schedule on another lock, as far as it makes sense: until a label is not there, or a call of
// one of them is over and that of the other is not.
function beside(level, game) {
  const cell = graph.cells.get(cellName(level)), mine = game.run(), edges = [];
  const returns = ({records, seen}, i) =>
    records.slice(seen[i], seen[i + 1]).filter(r => r.kind === 'return').map(r => r.who).join();
  for (const [i, edge] of game.path.entries()) {
    const {state} = graph.play(cell, edges), {label} = optionOf(edge);
    const o = state !== End && graph.edges(state).find(o => o.label === label && o.to !== Unexplored);
    if (!o) break;
    edges.push(o.edge);
    const then = graph.play(cell, edges), last = i + 1 === game.path.length;
    if (then.state !== End && !last && returns(mine, i) !== returns(then, i)) break;
  }
  return edges;
}

// fixOf is the next lock that does not fail in this way: under this fault it never does, or not in the
// schedule that was played.
export function fixOf(game, kind) {
  const {Step, Fault} = game.level;
  if (data.Own) return undefined;
  const later = o => o.Fault === Fault && o.Step > Step && graph.cells.has(cellName(o));
  for (const level of Step === 0 ? [levelAt(1, Fault)] : levels.filter(later)) {
    const edges = beside(level, game), whole = edges.length === game.path.length, id = cellName(level);
    const fails = () => kindsIn(scheduleOf(id, graph.name(edges)).records).includes(kind);
    if (Step === 0 || !level.Kinds.includes(kind) && (level.Step < 9 || !level.Kinds) || level.Step < 9
      && whole && !fails()) {
      return {level, path: graph.name(edges)};
    }
  }
  const many = Step === 7 && levelAt(8, Fault); // a fault of one node does less harm there
  return many && graph.cells.has(cellName(many)) ? {level: many, path: '', helps: true} : undefined;
}
