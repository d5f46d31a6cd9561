// Level: a game on one lock under one fault, as a page of its own, or in a chapter.

import {format, go} from './address.mjs';
import {showCode} from './code.mjs';
import {beats, nextBeat, stacked} from './course.mjs';
import {End, Unexplored} from './data.mjs';
import {clock} from './diagram.mjs';
import {button, copies, el, fill, kbd, leads, narrow, part, rich, say, send, still} from './dom.mjs';
import {fixOf, gameOf, isFault, kindsIn, optionOf, reasonsOf, saying, sends, strikes, striking, whenOf,
  whoOf} from './game.mjs';
import {all, cellName, chapterOf, data, goals, graph, hardOf, levelNamed, levelOf, levels, lockOf, names,
  nodesOf, onWay, placeOf, solved, stepName, stepTitle, titleOf} from './levels.mjs';
import {boss, frame} from './menu.mjs';
import {note, now} from './store.mjs';
import {replaying, rows, spoken, text} from './timeline.mjs';
import {close, fromData, inProse, plain, t, upper} from './words.mjs';

const address = (level, path) => format({level: cellName(level), path});
const secret = () => leads && !now.game.revealed;

// The lessons are beside the page in a checkout, and below it where docs/keep/site has written both.
// Elsewhere there is no link.
function lessonOf({Step, Dir}) {
  if (/\/docs\/play\/(index\.html)?$/.test(location.pathname)) return `../../${Dir}/${t('lesson.page')}`;
  return location.hostname.endsWith('.github.io')
    && t('lesson.page').replace('README', `lessons/0${Step}`).replace('.md', '.html');
}

// shared is what leads others to a level: a link to the public page, or to the reader's own, if others can
// reach it; otherwise the command in a clone.
export function shared(at) {
  const {hostname, href, protocol} = location;
  const mine = /^(localhost|127\.|10\.|192\.168\.|\[)/.test(hostname) || !protocol.startsWith('http');
  const home = data.Home || !mine && href.replace(/[?#].*/, '');
  return home ? `${home}#${at}` : `go run ./docs/play ${at}`;
}

// openLevel opens a level with the moves made in it. It reports whether there are such.
export function openLevel({level: id, path, beat}) {
  const level = levelNamed(id), cell = graph.cells.get(id);
  if (!level || !cell || graph.follow(cell, path).rest) return false;
  now.game = gameOf(level, path);
  now.game.beat = beat >= now.game.best ? beat : 0; // nobody can have needed less
  skeleton();
  scrollTo(0, 0);
  arrived();
  return true;
}

// ---- moves

const choice = () => document.querySelector('#choices button:not([aria-disabled])');

function choose(edge) {
  now.game.choose(edge);
  arrived(true);
  toChoices();
}

// toChoices shows the new list from its heading on, which may be under the picture of a phone.
function toChoices() {
  const above = document.querySelector('.figure')?.offsetHeight ?? 0;
  const over = part('h-choices').getBoundingClientRect().top - above - 8;
  if (now.place.chapter && stacked() && !card && over < 0) scrollBy({top: over, behavior: 'instant'});
}

function goTo(n, path) {
  now.game.goTo(n, path);
  arrived();
}
export const undo = () => now.game.path.length > 0 && goTo(now.game.path.length - 1);
export const redo = () => now.game.ahead.length > 0 && goTo(now.game.path.length + 1);

function arrived(moved) {
  const {game, place: {chapter, at}} = now, path = game.name;
  game.hint = 0;
  go(chapter ? {chapter, at, path} : {level: game.id, path, beat: game.beat});
  const over = game.run().state === End, reached = game.along().at > 0;
  if (reached) note(game.id, game.shown ? 'shown' : game.aim.breaks ? 'broken' : 'holds');
  else if (over) note(game.id, game.ways === 0 ? 'holds' : 'seen');
  game.revealed = game.revealed && (reached || over);
  show(moved);
}

// ---- a level

// region is a part of a view, with its heading.
const region = (name, heading, inside = el('div', {id: name})) =>
  el('section', {class: name, 'aria-labelledby': `h-${name}`}, el('h2', {id: `h-${name}`}, heading), inside);

// controls are what a game needs beside its picture.
export function controls() {
  const choices = region('choices', t('choices'));
  choices.append(el('div#tools.tools'), el('div#hints'));
  return [el('div#outcome'), choices];
}

// rule says which fault there is.
export const rule = l => el('span.rule',
  strikes(l) ? t('goal.rule', {fault: plain(striking(l, t('goal.command')))}) : t('goal.rule.none'));

function skeleton() {
  const {level: l, id, beat} = now.game, lock = lockOf(l.Step), lesson = l.Step > 0 && lessonOf(lock),
    aimed = Boolean(goals()[id]), n = placeOf(l) < 0 ? 0 : chapterOf(l);
  const skip = e => { e.preventDefault(); choice()?.focus(); };
  frame('play', stepTitle(l.Step) + t('comma') + (aimed ? titleOf(l) : t(`fault.${l.Fault}`)), [
    el('div.title',
      el('p.crumbs', el('a', {href: n ? `#${n}` : '#menu'}, '← ', n ? t('chapter', {n}) : t('back')),
        el('span', data.Own ? t('own', {step: stepName(l.Step)}) : stepTitle(l.Step)),
        el('span.what', fromData(lock.Lock)), lesson && el('a', {href: lesson}, t('lesson'))),
      el('h1', {tabindex: '-1'}, boss(l), titleOf(l)),
      el('p.goal', !aimed && [t(l.Step === 9 ? 'goal.fencing' : 'goal'), ' '], rule(l)),
      beat > 0 && el('p#challenge', t('challenge', {n: beat}))),
    el('div.board',
      el('div.scene', region('now', t('now')), region('picture', t('picture'), el('lock-board#picture'))),
      el('div.side', controls(), region('code', t('code')), region('schedule', t('schedule')))),
    region('timeline', t('timeline')), el('div#source'),
  ], el('nav', {'aria-label': t('skip')}, el('a.skip', {href: '#', onclick: skip}, t('skip'))));
  card = '';
}

// Which card is shown.
let card = '';

// enter shows a game for the first time.
export function enter() {
  card = null;
  show();
}

// show shows the game. moved says that a choice has just been made.
function show(moved) {
  const {game, place: {chapter}} = now, played = game.run(), {records, seen, state} = played,
    before = seen.at(-2) ?? 0, picture = part('picture'), told = notice(played),
    list = rows(records).filter(r => !secret() || r.who !== '**');
  game.keep();
  picture.show({cell: game.id, path: game.name, play: true, secret: secret(), rows: undefined}, moved);
  // On a phone, what is new is above the choices.
  if (!chapter && game.path.length > 0 && narrow()) {
    scrollTo(0, picture.getBoundingClientRect().bottom + scrollY - innerHeight * .54);
  }
  showChoices(played, told);
  showTools();
  showHints();
  showOutcome(played);
  if (!chapter) {
    showNow(played);
    showCode(played);
    showSchedule();
    showTimeline(played, list, before);
  }
  if (game.path.length === 0) return;
  const news = spoken(list.filter(r => r.first >= before)).replace(/(^|\. )[\d.]+ms /g, '$1');
  const lines = () => [...part('outcome').querySelector('.told').children].map(e => e.textContent).join(' ');
  say(`${news}. ${card ? lines() : told || (state === End ? t('choices.over') : '')}`);
}

const msLeft = us => us >= 1_000_000 ? `${(us / 1e6).toFixed(1)} s` : `${(us / 1e3).toFixed(1)} ms`;

function showNow({records, at}) {
  const {redis, inside} = records.at(-1) ?? {redis: [], inside: []};
  const keys = nodesOf(now.game.level).map((node, i) => {
    const k = redis[i], left = k?.until ? k.until - at : Infinity, owner = all.indexOf(k?.owner);
    const key = (cls, whose, width, ttl) => el('div', {class: `key ${cls}`},
      el('span.node', node), el('span.whose', whose),
      el('span.bar', {'aria-hidden': true}, el('span', {style: `width:${width.toFixed(1)}%`})),
      el('span.left', ttl));
    if (!k?.token || left <= 0) return key('free', t('now.free'), 0, '\u00a0');
    return key(owner >= 0 ? `owner${owner}` : 'other',
      rich(t('now.key', {owner: k.owner, token: k.token.replace(/[<>]/g, '')})), Math.min(100, left / 1e5),
      left < Infinity ? t('now.left', {time: msLeft(left)}) : t('now.noTtl'));
  });
  part('now').replaceChildren(
    el('div.keys', keys),
    el('div', {class: `inside ${inside.length > 1 ? 'two' : ''}`}, el('span.node', t('now.inside')),
      inside.length === 0 ? el('span.nobody', t('now.nobody'))
        : inside.map(n => el('span', {class: `chip owner${all.indexOf(n)}`}, n)),
      inside.length > 1 && el('strong', t('now.two'))),
    el('div.time', t('now.time', {time: clock(at)})));
}

// notice is what stands above the choices when there is more to say than that.
function notice({state, records, seen}) {
  const {game} = now, {aim} = game, {found, at} = game.along(), n = game.path.length;
  if (secret() || at > 0 || state === End || n === 0) return '';
  const wrong = kindsIn(records), other = () => t('choices.other', {kind: t(`kind.${wrong.at(-1)}`)});
  if (wrong.length > kindsIn(records.slice(0, seen.at(-2))).length) return other();
  const late = found[0] > 0 && found[n] === 0;
  if (late) return t(aim.breaks ? 'choices.dead' : 'choices.deadSee');
  if (wrong.length > 0) return other();
  const sure = aim.breaks && found[n] > 0 && found[n] === graph.all[state] && found[0] < game.all;
  return sure ? t('choices.sure') : '';
}

// options are the buttons of what can be chosen, and lines for what cannot.
function options({state, records}) {
  const {game} = now, l = game.level, list = [];
  const add = (words, cls, act, props) => {
    const n = act && list.filter(b => b.matches(':not([aria-disabled])')).length + 1;
    const key = n <= 10 && String(n % 10);
    list.push(button([kbd(key || ''), el('span.words', words)], act,
      {class: `choice ${cls}`, 'aria-keyshortcuts': key, 'aria-disabled': !act, ...props}));
  };
  const bet = i => {
    game.bet = i;
    show();
    toChoices();
  };
  if (game.toBet) {
    [...game.moments.map(m => m.text), t('bet.none')].forEach((s, i) => add(rich(s), 'bet', () => bet(i)));
    return list;
  }
  if (state === End) return [el('p.over', t('choices.over'))];
  const idle = graph.idle(state), edges = graph.edges(state), open = edges.filter(o => o.to !== Unexplored);
  const offer = (o, cls) => {
    const who = whoOf(o), call = records.findLast(r => r.who === who && r.kind === 'call')?.text;
    const back = /^release /.test(o.text) && !isFault(o) && call !== 'Unlock'; // an attempt that was refused
    const late = l.Nodes === 1 && records.findLast(r => r.who === who && r.kind === 'command')?.reply === '1';
    const small = sends(o)
      && el('small', back ? t(late ? 'why.late' : 'why.back', {who}) : el('code', o.text));
    add([...rich(upper(saying(l, o))), small], cls, () => choose(o.edge), {'data-label': o.label});
  };
  names.forEach((who, i) => {
    open.filter(o => whoOf(o) === who).forEach(o => offer(o, `owner${i}`));
    if (!edges.some(o => whoOf(o) === who)) add(t(`why.${idle[i].replace('.', 'w')}`, {who}), `owner${i}`);
  });
  const others = o => !names.includes(whoOf(o)) && !(game.early && isFault(o));
  open.filter(others).forEach(o => offer(o, 'fault'));
  if (strikes(l) && !edges.filter(others).some(isFault)) {
    const struck = game.path.some(e => isFault(optionOf(e))), when = t(`when.${whenOf(l.Fault)}`);
    add(t(`why.${struck ? 'struck' : game.early ? 'early' : 'notNow'}`, {when}), 'fault');
  }
  const n = edges.filter(o => o.to === Unexplored && !(game.early && isFault(o))).length;
  return n > 0 ? [...list, el('p.beyond', t('why.unexplored', {n}))] : list;
}

function showChoices(played, told) {
  const {game} = now, ended = played.state === End, box = part('choices'), section = box.parentElement,
    over = !secret() && (game.along().at > 0 && !game.on || ended), had = document.activeElement,
    focused = box.contains(had) || part('outcome').contains(had) && !over;
  const bet = game.toBet && t('bet', {question: game.question});
  fill(section.querySelector('h2'), rich(bet || told || t('choices')));
  section.classList.toggle('told', told !== '');
  section.classList.toggle('sure', told === t('choices.sure'));
  section.classList.toggle('folded', over);
  fill(box, options(played));
  if (focused) (choice() ?? part('tools').querySelector('button'))?.focus({preventScroll: true});
  document.body.classList.toggle('choosing', !now.place.chapter && !over && !ended);
}

function showTools() {
  const {path, ahead} = now.game;
  const tool = (id, act, on, key) => button(t(id), act, {id, 'aria-keyshortcuts': key, 'aria-disabled': !on});
  fill(part('tools'), path.length + ahead.length > 0 && [tool('undo', undo, path.length, 'u'),
    tool('redo', redo, ahead.length), tool('restart', () => goTo(0), path.length)],
  tool('hint', hint, true, 'h'));
}

// ---- hints

// stages are how many hints there are: a written one where there is one, then who, when and which.
const stages = () => placeOf(now.game.level) >= 0 ? 4 : 3;

export function hint() {
  const {game} = now;
  if (game.hint < stages()) game.hint++;
  const {steps, at} = game.along();
  if (game.hint === stages() && at === 0 && steps.at(-1) < Infinity) {
    game.shown = true;
    game.bet ??= game.moments.length; // too late for one
    note(game.id, 'shown');
  }
  show();
  document.querySelector('.hint').scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  say(part('hints').textContent);
}

function showHints() {
  const {game} = now, l = game.level, box = part('hints'), {at} = game.along(), {way} = game, list = [];
  if (game.hint === 0) return fill(box);
  if (at > 0) list.push(t('hint.won'));
  else if (game.ways === 0) list.push(t('hint.holds', {all: game.all}));
  else if (!way) list.push(t(game.aim.breaks ? 'hint.dead' : 'hint.deadSee', {n: game.lastChance}));
  else {
    const whole = [...game.path, ...way], {records, seen} = game.run(whole), n = game.path.length;
    const d = Math.max(n, game.decisive(whole, whole.length)), who = whoOf(optionOf(whole[d]));
    const written = placeOf(l) >= 0, stage = game.hint - written, next = optionOf(way[0]);
    const other = {F: 'hint.who.fault', T: 'hint.who.time', W: 'hint.who.late'}[who];
    const row = spoken(rows(records.slice(0, seen[d])).slice(-1)).replace(/^[\d.]+ms /, '');
    if (written) list.push(t(`level.${game.id}.hint`));
    if (stage > 0) list.push(t('hint.who', {who: other ? t(other) : inProse(who)}));
    if (stage > 1) list.push(t(['hint.when.now', 'hint.when.next'][d - n] ?? 'hint.when', {n: d - n, row}));
    if (stage > 2) {
      list.push(t('hint.which', {text: saying(l, next)}));
      document.querySelector(`.choice[data-label="${next.label}"]`)?.classList.add('hinted');
    }
  }
  const more = at === 0 && way && game.hint < stages() && button(t('hint.more'), hint, {class: 'quiet'});
  fill(box, el('div.hint', list.map(line => el('p', rich(line))), more));
}

// ---- the end

// reached tells of the goal: in how many moves, by which bet, why, and where the lock is that holds.
function reached({records}) {
  const {game} = now, {level: l, aim, moments, bet, beat, best, back} = game, {at} = game.along(),
    kind = goals()[game.id]?.Goal[0] ?? kindsIn(records.slice(0, game.run().seen[at])).at(-1),
    right = moments.length === 0 || moments[bet]?.right, step = stepTitle(l.Step), told = [], more = [],
    star = at === best && !game.shown && right;
  told.push(el('h2', star && '★ ', aim.breaks ? t('outcome.won', {step, n: at, best})
    : t('outcome.saw', {step: upper(step), n: at, best}),
    back > 0 && [' ', el('small', t('outcome.taken', {n: back}))]));
  if (moments[bet]) {
    const were = moments.filter(m => m.right).map(m => m.text).join(t('comma'));
    told.push(el('p.bet', rich(t(right ? 'bet.right' : 'bet.wrong', {bet: moments[bet].text, right: were}))));
  }
  const rank = ['beaten', 'met', 'missed'][1 + Math.sign(at - beat)];
  if (beat) told.push(el('p', t(`challenge.${rank}`, {n: beat})));
  const reasons = aim.breaks && reasonsOf(l, kind), is = () => t(`kind.${kind}`);
  const why = () => reasons ? t('outcome.why', {kind: is(), why: fromData(reasons)}) : `${is()}${t('stop')}`;
  told.push(el('p.reason', rich(placeOf(l) >= 0 ? t(`level.${game.id}.why`) : upper(why()))));
  const there = aim.breaks && !now.place.chapter && fixOf(game, kind); // in a chapter, the next one tells it
  if (there) {
    const {level, path, helps} = there, step = upper(stepTitle(level.Step)), fix = t(`fix.${level.Step}`);
    told.push(el('p.fix', t(helps ? 'outcome.helps' : 'outcome.fix', {step, fix}), ' ',
      el('a#there', {href: address(level, path)}, t(path ? 'outcome.there' : 'outcome.thereAnew'))));
  }
  const {all, ways} = game;
  if (!aim.breaks) more.push(t(l.Kinds === '' ? 'outcome.none' : 'outcome.seen', {all, ways}));
  if (game.shown) more.push(t('outcome.shown'));
  return {told, more};
}

// missed tells where the goal was lost; held, that there is none.
function missed() {
  const {ways, all, aim, lastChance: n} = now.game;
  const some = t(aim.breaks ? 'outcome.some' : 'outcome.seen', {violating: ways, ways, all});
  return [el('h2', t(aim.breaks ? 'outcome.missed' : 'outcome.unseen')),
    el('p', close(`${some} ${t('outcome.goBack', {n: n + 1})}`))];
}

function held() {
  const {level: l, all} = now.game, step = upper(stepTitle(l.Step)),
    told = [el('h2', '✓ ', t('outcome.held', {step})), el('p', t('outcome.none', {all}))];
  // fencing has the lock of step 05
  const before = levels.findLast(o => o.Fault === l.Fault && o.Step < l.Step && (l.Step < 9 || o.Step <= 5)
    && o.Kinds !== '');
  if (!before || data.Own) return told;
  const fixer = l.Step === 9 && before.Step === 5 ? 9 : before.Step + 1;
  const values = {before: stepTitle(before.Step), step: stepTitle(fixer), fix: t(`fix.${fixer}`)};
  return [...told, el('p.reason', t('outcome.fixed', values))];
}

// ways are the buttons of a card: on, back, and to others.
function ways(state) {
  const {game, place: {chapter}} = now, {level: l, aim} = game, {at} = game.along(), {href, text} = onward(l),
    n = game.lastChance, list = [];
  const act = (id, text, does, cls) => list.push(button(text, does, {id, class: cls}));
  const link = (id, href, text, cls = '') => list.push(
    el('a', {class: `button ${cls}`, id, href}, text, cls && kbd('↵')));
  if (at === 0 && game.ways > 0) {
    act('goback', n === 0 ? t('restart') : t('outcome.back', {n}), () => goTo(n), 'primary');
    return list;
  }
  if (chapter && now.place.at < beats().length) {
    act('next', [`${t('course.next')} ↓`, kbd('↵')], nextBeat, 'primary');
  } else if (placeOf(l) >= 0 && chapterOf(l) === data.Chapters.length) {
    link('next', '#pairs', t('medal.pairs'), 'primary');
    link('left', href, text);
  } else link('next', href, text, 'primary');
  const again = () => { game.shown = true; goTo(game.best, aim.shortest(game.cell, [])); };
  const on = () => { game.on = true; show(); choice()?.focus(); };
  if (at > game.best) act('shortest', t('outcome.showShortest'), again);
  if (at > 0 && state !== End && !game.on) act('on', t('outcome.on'), on);
  if (chapter) link('whole', address(l, game.name), t('outcome.whole'));
  if (at > 0 && aim.breaks && !game.shown && !data.Own) {
    const dare = shared(format({level: game.id, beat: at}).slice(1));
    const result = t('share.text', {lock: t(`lock.${l.Step}`), n: at, link: dare});
    act('dare', t('share.challenge'), e => send(dare, e.currentTarget));
    act('result', t('share.result'), e => send(result, e.currentTarget));
  }
  return list;
}

function showOutcome(played) {
  const {game} = now, box = part('outcome'), {at} = game.along(), {state} = played, before = card;
  card = '';
  if (at === 0 && state !== End) return fill(box);
  if (secret()) return fill(box, el('div.outcome.hidden-answer', el('p', t('outcome.hidden')),
    button(t('outcome.reveal'), reveal, {class: 'primary'})));
  const {told, more} = at > 0 ? reached(played) : {told: game.ways > 0 ? missed() : held(), more: []};
  if (game.level.Bound >= 0) more.push(t('outcome.bound'));
  told[0].id = 'h-outcome';
  const is = at > 0 && game.aim.breaks ? 'won' : at > 0 || game.ways === 0 ? 'held' : 'missed';
  const shown = el('section', {class: `outcome ${is}`, tabindex: '-1', 'aria-labelledby': 'h-outcome'},
    el('div.told', told), el('div.buttons', ways(state)), el('div.more', more.map(s => el('p', rich(s)))));
  fill(box, shown);
  card = at > 0 ? `won ${at}` : 'over';
  if (card === before || before === null || game.path.length === 0) return;
  shown.focus({preventScroll: true});
  intoView(shown);
}

// onward is where it goes on after a level: to the next chapter, after the last to what is left or to the
// medal, and from one of the hard levels to the next of them.
function onward(l) {
  const left = onWay().map(levelOf).filter(o => !solved(o)), n = placeOf(l) < 0 ? 0 : chapterOf(l);
  const to = level => ({href: address(level), text: t('outcome.next', {level: titleOf(level)})});
  if (data.Own) return {href: '#menu', text: t('back')};
  const hard = hardOf(l) && data.Hard.map(levelOf).find(o => o && o !== l && !solved(o));
  if (hard) return to(hard);
  if (left.length === 0) return {href: '#menu', text: t(n ? 'outcome.medal' : 'back')};
  if (n === data.Chapters.length) return to(left[0]);
  const next = n ? n + 1 : chapterOf(left[0]);
  return {href: `#${next}`, text: t('outcome.nextChapter', {n: next, title: t(`chapter.${next}.title`)})};
}

// intoView shows a card: beside the picture, or below as much of it as fits.
function intoView(shown) {
  const {chapter} = now.place, picture = part('picture');
  if (chapter ? !stacked() : !narrow()) {
    shown.closest('.side')?.scrollTo(0, 0);
    return shown.scrollIntoView({block: 'nearest'});
  }
  const {top, bottom} = shown.getBoundingClientRect(), below = top - 8
    - picture.closest(chapter ? '.figure' : '.picture').offsetHeight;
  const tools = chapter ? 0 : part('choices').parentElement.offsetHeight,
    down = Math.min(bottom + tools - innerHeight + 8, below);
  picture.scrollTop = picture.scrollHeight;
  scrollBy(0, chapter ? Math.max(down, Math.min(0, below)) : down);
}

export function reveal() {
  now.game.revealed = true;
  show();
}

// ---- its schedule, as letters and as rows

function showSchedule() {
  const {game} = now, {whole, path: {length: n}} = game, command = replaying(`${game.id}/${game.name}`);
  const letter = (text, i, label) => button(text, () => goTo(i), {'aria-label': label,
    class: `letter ${i === n ? 'here' : i > n ? 'ahead' : ''}`, 'aria-current': i === n && i > 0 && 'step'});
  const letters = whole.map(optionOf).map((o, i) => letter(o.label, i + 1,
    plain(t('schedule.to', {label: o.label, n: i + 1, text: saying(game.level, o)}))));
  fill(part('schedule'), el('div.letters', letter('|', 0, '| ' + t('schedule.start')), letters),
    el('div.command', el('code#command', command), ' ', copies(command, 'copy')));
}

// listed are rows as a list, each with what comes after it.
export function listed(list, props, of = () => ({})) {
  return el('ol.rows', {tabindex: '0', ...props}, list.map((r, i) => {
    const {after, cls = '', ...rest} = of(r);
    return el('li', {class: `${r.who === '**' || r.mark ? 'wrong' : ''} ${cls}`, ...rest},
      el('span.row', text(r, i === list.length - 1)), after);
  }));
}

function showTimeline({seen}, list, before) {
  const {level: l, path} = now.game;
  if (list.length === 0) return fill(part('timeline'), el('p', t('timeline.empty')));
  fill(part('timeline'), listed(list, {}, r => {
    const {line} = r.of[0], [file, n] = line.split(':');
    const after = line && !r.more && button(line.replace('lock.go', ''), () => showSource(l.Step, line),
      {class: 'line', 'aria-label': t('timeline.line', {line: n, file})});
    return {cls: path.length > 0 && r.first >= before && !r.more ? 'new' : '', after};
  }));
}

// showSource shows the files of a lock, and opens that of a line: lock.go:126.
function showSource(step, line) {
  const box = part('source'), lines = ({Name, Text}) => Text.split('\n').map((s, i) =>
    el('span', {class: `src ${line === `${Name}:${i + 1}` ? 'hit' : ''}`},
      el('span.nr', String(i + 1).padStart(3)), `  ${s}`));
  const files = data.Files[step].map(f => el('details', {open: line.startsWith(`${f.Name}:`)},
    el('summary', f.Name), el('pre', {tabindex: '0', 'aria-label': f.Name}, el('code', lines(f)))));
  fill(box, el('section.source', {'aria-labelledby': 'h-source'},
    el('h2#h-source', t('source', {step: stepTitle(step)})),
    el('p', step < 9 && !data.Own && rich(t('source.why', {arg: String(step)}))),
    files, button(t('source.close'), () => box.replaceChildren(), {class: 'quiet'})));
  const hit = box.querySelector('.hit'), pre = hit.closest('pre');
  pre.scrollTop = hit.offsetTop - pre.offsetTop - pre.clientHeight / 3;
  box.scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  pre.focus({preventScroll: true});
}
