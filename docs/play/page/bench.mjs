// Bench: the reader makes a lock from switches, and the network attacks it. What each lock does
// under each attack, docs/keep/explore/locks.go has found.

import {go} from './address.mjs';
import {button, copies, el, fill, narrow, part, rich, say} from './dom.mjs';
import {benchGraph, data, levelAt, scheduleOf} from './levels.mjs';
import {listed} from './level.mjs';
import {frame} from './menu.mjs';
import {keep, progress} from './store.mjs';
import {replaying, rows} from './timeline.mjs';
import {close, t, upper} from './words.mjs';

// The switches, and how many settings each has. The first six make a design; with the last three
// it is a lock of the course.
const benchSwitches = [['take', 2], ['expiry', 3], ['value', 2], ['release', 3], ['watchdog', 2],
  ['replies', 2], ['nesting', 2], ['copies', 2], ['resource', 2]];
const benchFurther = {'06': '121201100', '07': '121211100', '08': '121211110', '09': '121201001'};
const bench = {set: null, attack: '', same: false, moving: false};

// benchNot is why a switch cannot have a setting, '' if it can.
function benchNot([take, expiry, value, release, watchdog, replies, nesting], name) {
  const best = take === 1 && expiry === 2 && value === 1 && release === 2 && replies === 1;
  switch (name) {
  case 'release': return value ? '' : 'token';
  case 'watchdog': return expiry ? '' : 'ttl';
  case 'replies': return take && value ? '' : 'own';
  case 'nesting': return best ? '' : 'best';
  case 'copies': return nesting && watchdog ? '' : 'renewed';
  case 'resource': return best && !nesting && !watchdog ? '' : 'plain';
  }
  return '';
}

// benchLock is a lock's name in the data: build/121200, or 06.
function benchLock(set = bench.set) {
  const digits = set.join('');
  return Object.keys(benchFurther).find(n => benchFurther[n] === digits) ?? `build/${digits.slice(0, 6)}`;
}

// benchCell is what a lock does under an attack, with a shortest schedule that breaks it.
export function benchCell(attack, lock = benchLock()) {
  const {Attacks, Locks, Cells} = data.Bench,
    {Kinds, Bad, All} = Cells[Locks.indexOf(lock) * Attacks.length + Attacks.indexOf(attack)];
  if (Bad === 0) return {kinds: '', bad: 0, all: All, moves: 0, records: []};
  const graph = benchGraph(), name = `${lock}/${attack}`, edges = [];
  for (let state = graph.cells.get(name).State; state >= 0;) {
    const [only] = graph.edges(state);
    edges.push(only.edge);
    state = only.to;
  }
  const path = graph.name(edges), {records} = scheduleOf(name, path, true);
  return {kinds: Kinds, bad: Bad, all: All, moves: edges.length, records, first: records.at(-1).text[0], name,
    path};
}

// benchCode is the lock as code.
function benchCode([take, expiry, value, release, watchdog, replies, nesting, copies, resource]) {
  const v = value ? 'token' : '"locked"', ex = expiry === 2 ? ' EX 10' : '', code = ['func TryLock() {'];
  const add = (is, ...lines) => { if (is) code.push(...lines); };
  add(value, '  token = random()');
  add(nesting, '  Lua: if EXISTS key && !HEXISTS key token {', '         return refused', '       }',
    '       HSET key token depth+1; PEXPIRE key 10000');
  add(!nesting && take === 0, '  if EXISTS key == 1 { return refused }', `  SET key ${v}${ex}`);
  add(!nesting && take === 1, ...replies ? [`  if SET key ${v} NX${ex} fails`, '     and GET key != token {']
    : [`  if SET key ${v} NX${ex} fails {`], '    return refused', '  }');
  add(expiry === 1, '  PEXPIRE key 10000');
  add(copies, `  // ${t('bench.code.copies')}`);
  add(resource, '  number = INCR key:fence', `  // ${t('bench.code.resource')}`);
  add(watchdog, `  // ${t('bench.code.watchdog')}`, ...nesting || value
    ? [`  Lua: if ${nesting ? 'HEXISTS key token' : 'GET key == token'} {`, '         PEXPIRE key 10000',
    '       }'] : ['  PEXPIRE key 10000']);
  add(true, '}', 'func Unlock() {');
  add(nesting, '  Lua: HSET key token depth-1', '       if depth is 0 { DEL key; PUBLISH }');
  add(!nesting && release === 2, '  Lua: if GET key == token { DEL key }');
  add(!nesting && release === 1, '  if GET key != token { return not held }');
  add(!nesting && release < 2, '  DEL key');
  add(replies && release === 2, `  // ${t('bench.code.replies')}`);
  return [...code, '}'];
}

const benchName = attack => t(`bench.attack.${attack}`);

// showBench shows the lock that an address names, or the last one. It reports whether there is such a lock.
export function showBench(name) {
  const {Attacks, Locks} = data.Bench, digits = benchFurther[name] ?? `${name}000`;
  if (name && !Locks.includes(benchFurther[name] ? name : `build/${name}`)) return false;
  if (name || !bench.set) bench.set = name ? [...digits].map(Number) : Array(9).fill(0);
  bench.moving = false;
  const most = Math.max(...Locks.map(lock => Attacks.filter(a => benchCell(a, lock).bad === 0).length));
  const {tried = [], attack} = progress.bench ?? {};
  bench.tried = new Set(Attacks.filter(a => tried.includes?.(a)));
  bench.attack = bench.tried.has(attack) ? attack : '';
  const setting = (name, i, s) => el('label', el('input', {type: 'radio', name: `bench-${name}`,
    id: `bench-${name}-${s}`, 'aria-describedby': `bench-not-${name}`, onchange: () => benchFlip(i, s)}),
    el('span', rich(t(`bench.${name}.${s}`))));
  const flips = ([name, n], i) => el('fieldset', el('legend', t(`bench.${name}`)),
    el('div.bench-settings', Array.from({length: n}, (_, s) => setting(name, i, s))),
    el('p', {id: `bench-not-${name}`, class: 'bench-not'}));
  const follow = () => bench.moving && benchInView(part('bench-picture'));
  frame('bench', t('bench.title'), [
    el('div.bench-head', el('h1', {tabindex: '-1'}, t('bench.title')),
      el('p', t('bench.lead', {most, all: Attacks.length}))),
    el('section#bench-board.bench-board', {'aria-label': t('bench.board')}),
    el('section.bench-switches', {'aria-label': t('bench.switches')}, benchSwitches.map(flips)),
    el('section.bench-code', {'aria-label': t('bench.code')},
      el('pre#bench-code', {tabindex: '0', role: 'group', 'aria-label': t('bench.code')})),
    el('section.bench-shown', {'aria-label': t('bench.shown')}, el('div#bench-card'),
      el('lock-board#bench-picture', {bench: true, onrows: follow, onover: benchOver}),
      el('div#bench-text'))]);
  bench.before = benchCode(bench.set);
  benchDraw();
  scrollTo(0, 0);
  return true;
}

// benchFlip sets a switch, and those that do not fit any more. All that was tried is judged again.
function benchFlip(i, setting) {
  const breaks = () => data.Bench.Attacks.filter(a => bench.tried.has(a) && benchCell(a).bad > 0);
  const before = breaks(), was = bench.attack && benchCell(bench.attack);
  bench.before = benchCode(bench.set);
  bench.set[i] = setting;
  const off = benchSwitches.filter(([name], i) => bench.set[i] > 0 && benchNot(bench.set, name)
    && (bench.set[i] = 0, true));
  go({bench: benchLock().replace('build/', '')});
  const now = breaks();
  const broken = now.filter(a => !before.includes(a)), held = before.filter(a => !now.includes(a));
  if (broken.length > 0 || !bench.attack && now.length > 0) bench.attack = broken[0] ?? now[0];
  const is = bench.attack && benchCell(bench.attack);
  bench.same = is && was && ['kinds', 'bad', 'all'].every(k => was[k] === is[k]);
  bench.moving = false;
  benchDraw([...broken, ...held]);
  say([...off.map(([name]) => t('bench.off', {name: t(`bench.${name}`)})),
    ...broken.map(a => t('bench.nowBreaks', {attack: benchName(a)})),
    ...held.map(a => t('bench.nowHolds', {attack: benchName(a)})), benchScore()].join(' '));
}

// benchNext lets the network try its attacks in their order, up to the next that breaks the lock.
function benchNext() {
  const open = data.Bench.Attacks.filter(a => !bench.tried.has(a));
  const next = open.findIndex(a => benchCell(a).bad > 0);
  if (open.length === 0) return;
  open.slice(0, next < 0 ? open.length : next).forEach(a => bench.tried.add(a));
  if (next >= 0) return benchTry(open[next]);
  bench.attack = '';
  bench.moving = false;
  benchDraw(open);
  say(part('bench-card').textContent);
}

// benchTry tries an attack: its schedule plays, row by row.
function benchTry(attack) {
  Object.assign(bench, {same: false, attack, moving: benchCell(attack).bad > 0});
  bench.tried.add(attack);
  benchDraw([attack]);
  if (!bench.moving) return benchTold();
  const {name: cell, path} = benchCell(attack), board = part('bench-picture');
  board.show({cell, path, rows: 1});
  board.play(1);
}

// benchOver says what an attack has done, once it has been played.
function benchOver() {
  bench.moving = false;
  benchDraw();
  benchTold();
}

function benchTold() {
  const card = part('bench-card'), wrong = document.querySelector('#bench-picture .band.bad');
  say(card.innerText);
  benchInView(card, wrong ? wrong.getBoundingClientRect().top - part('bench-board').offsetHeight - 8
    : Infinity);
}

// benchInView shows what is new on a phone, where it is below all the rest: at most so much further.
function benchInView(e, most = Infinity) {
  if (narrow()) scrollBy(0, Math.min(most, Math.max(0, e.getBoundingClientRect().bottom - innerHeight + 8)));
}

const benchScore = () => t('bench.score', {all: data.Bench.Attacks.length,
  held: data.Bench.Attacks.filter(a => bench.tried.has(a) && benchCell(a).bad === 0).length});

// benchDraw shows the lock, the board, and what became of the attack. The cards of some turn over.
function benchDraw(turned = []) {
  const {set, tried, attack, moving} = bench, {Attacks} = data.Bench, focus = document.activeElement?.id;
  progress.bench = {tried: [...tried], attack};
  keep();
  benchSwitches.forEach(([name, n], i) => {
    const why = benchNot(set, name);
    for (let s = 0; s < n; s++) {
      const input = part(`bench-${name}-${s}`);
      input.checked = set[i] === s;
      input.disabled = s > 0 && why !== '';
    }
    fill(part(`bench-not-${name}`), why && t(`bench.not.${why}`));
  });
  fill(part('bench-code'), benchCode(set).map(line => bench.before.includes(line) ? el('code', line)
    : el('mark', el('code', line))));
  const known = Attacks.filter(a => tried.has(a) && !(moving && a === attack)),
    held = known.filter(a => benchCell(a).bad === 0), over = tried.size === Attacks.length,
    share = 100 * held.length / Attacks.length;
  fill(part('bench-board'),
    el('div.bench-go',
      button(t(over ? 'bench.over' : 'bench.attack'), benchNext,
        {id: 'bench-attack', class: 'primary', 'aria-disabled': over}),
      el('div.bench-score',
        el('div.bar', {'aria-hidden': true}, el('span', {style: `width:${share}%`})),
        el('span#bench-score', benchScore()))),
    el('div.bench-attacks', Attacks.map(a => {
      const {bad, moves, all} = benchCell(a);
      const [is, verdict] = !known.includes(a) ? ['open', t('bench.untried')]
        : bad > 0 ? ['breaks', t('bench.breaks', {n: moves})] : ['holds', t('bench.holds', {n: all})];
      return button([el('strong', benchName(a)), el('small', t(`fault.${a}`)), el('span.verdict', verdict)],
        () => benchTry(a), {id: `bench-try-${a}`, class: `${is} ${turned.includes(a) ? 'turned' : ''}`,
          'aria-pressed': String(a === attack)});
    })));
  benchCard(known, held);
  if (!moving) benchEnd();
  if (focus) part(focus)?.focus({preventScroll: true});
}

// benchCard says what went wrong, or what is left.
function benchCard(known, held) {
  const {attack, moving} = bench, lock = benchLock(), {Attacks} = data.Bench;
  const {bad, all, first, kinds, moves, name, path} = attack ? benchCell(attack) : {};
  const left = !moving && bad !== 0 && known.length === Attacks.length && Number(lock) >= 7;
  const bound = !moving && levelAt(Number(lock), attack)?.Bound >= 0;
  const card = (is, title, ...told) => fill(part('bench-card'),
    el(`div.bench-card${is}`, el('h2', title), ...told, left && el('p', t(`bench.left.${lock}`)),
      bound && el('p.bench-not', t('outcome.bound'))));
  const values = {attack: attack && benchName(attack), bad, all};
  if (moving) return card('', t('bench.attacks', values), el('p', upper(t(`fault.${attack}`)) + t('stop')));
  if (known.length === 0) return card('', t('bench.ready'), el('p', t('bench.ready.is')));
  if (!attack) {
    const whole = held.length === known.length;
    return card(whole ? '.good' : '', t(whole ? 'bench.whole' : 'bench.all'), el('p', t('bench.noMore')));
  }
  if (bad === 0) return card('.good', ['✓ ', t('bench.held', values)], el('p', t('bench.none', values)));
  const others = [...kinds].filter(k => k !== first).map(k => t(`kind.${k}`)).join(t('semicolon'));
  const raced = 'XLN'.includes(first) && attack !== 'none' && benchCell('none').bad > 0;
  const why = first === 'D' ? 'D' : raced ? 'none'
    : attack === 'failover' && ['08', '09'].includes(lock) ? `failover${lock}` : attack;
  const command = replaying(`${name}/${path}`);
  card('.bad', ['✗ ', t('bench.broken', {n: moves, kind: t(`kind.${first}`)})],
    el('p', close(`${t('bench.some', values)} ${others && t('bench.too', {kinds: others})}`)),
    bench.same && el('p#bench-same', t('bench.same', values)),
    !left && el('p.bench-hint', rich(t(`bench.hint.${why}`))),
    el('div.buttons', button(t('bench.again'), () => benchTry(attack), {id: 'bench-again'}),
      !lock.startsWith('build') && el('a.button', {href: `#${name}/${path}`}, t('bench.play')),
      copies(command, 'bench-copy')),
    el('code#bench-command', command));
}

// benchEnd shows the whole schedule of the attack.
function benchEnd() {
  const {name: cell, path, records} = bench.attack ? benchCell(bench.attack) : {};
  part('bench-picture').show({cell, path, rows: undefined});
  fill(part('bench-text'), cell && el('details', el('summary', t('timeline')),
    listed(rows(records), {'aria-label': t('timeline')})));
}
