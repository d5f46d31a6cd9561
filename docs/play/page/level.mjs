// Level: a game on one lock under one fault, as a page of its own, or in a chapter.

import {format, go} from './address.mjs';
import {showCode} from './code.mjs';
import {beats, nextBeat, stacked} from './course.mjs';
import {End, Unexplored} from './data.mjs';
import {clock} from './diagram.mjs';
import {button, copy, el, fill, leads, narrow, part, rich, say, send, still} from './dom.mjs';
import {
  fixOf, gameOf, isFault, kindsIn, optionOf, reasonsOf, saying, sends, strikes, striking, whenOf, whoOf,
} from './game.mjs';
import {
  all, cellName, chapterOf, data, goals, graph, hardOf, levelNamed, levelOf, levels, lockOf, names, nodesOf,
  onWay, placeOf, solved, stepName, stepTitle, titleOf,
} from './levels.mjs';
import {boss, frame} from './menu.mjs';
import {note, now} from './store.mjs';
import {replaying, rows, spoken, text} from './timeline.mjs';
import {close, fromData, inProse, plain, t, upper} from './words.mjs';

const address = (level, path) => format({level: cellName(level), path});

// The lessons are beside the page in a checkout, and below it where docs/keep/site has written both. Elsewhere
// there is no link.
function lessonOf({Step, Dir}) {
  if (/\/docs\/play\/(index\.html)?$/.test(location.pathname)) return `../../${Dir}/${t('lesson.page')}`;
  return location.hostname.endsWith('.github.io')
    && t('lesson.page').replace('README', `lessons/0${Step}`).replace('.md', '.html');
}

// home is the address of the page for others: the public one, or that which the reader has, if others can
// reach it.
function home() {
  const mine = /^(localhost|127\.|10\.|192\.168\.|\[)/.test(location.hostname)
    || !location.protocol.startsWith('http');
  return data.Home || (mine ? '' : location.href.replace(/[?#].*/, ''));
}

// shared is what leads others to a level: a link, or the command in a clone.
export const shared = at => home() ? `${home()}#${at}` : `go run ./docs/play ${at}`;

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
  const {game} = now, {chapter, at} = now.place, path = game.name;
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
  const {level: l, id, beat} = now.game, lock = lockOf(l.Step), aimed = Boolean(goals()[id]),
    n = placeOf(l) < 0 ? 0 : chapterOf(l);
  const skip = e => { e.preventDefault(); choice()?.focus(); }, lesson = l.Step > 0 && lessonOf(lock);
  document.title = `${stepTitle(l.Step)}${t('comma')}${aimed ? titleOf(l)
    : t(`fault.${l.Fault}`)} – ${t('title')}`;
  frame(el('nav', {'aria-label': t('skip')}, el('a.skip', {href: '#', onclick: skip}, t('skip'))),
    el('main.play', {tabindex: '-1'},
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
      region('timeline', t('timeline')),
      el('div#source')));
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
  const {game} = now, {chapter} = now.place;
  game.keep();
  const played = game.run(), {records, seen, state} = played, before = seen.length > 1 ? seen.at(-2) : 0;
  const picture = part('picture'), secret = leads && !game.revealed, list = rows(records).filter(r => !secret
    || r.who !== '**');
  picture.show({cell: game.id, path: game.name, play: true, secret, rows: undefined}, moved);
  // On a phone, what is new is above the choices.
  if (!chapter && game.path.length > 0 && narrow()) scrollTo(0,
    picture.getBoundingClientRect().bottom + scrollY - innerHeight * .54);
  showChoices(played);
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
  const told = card ? [...part('outcome').querySelector('.told').children].map(e => e.textContent).join(' ')
    : notice(played);
  const news = spoken(list.filter(r => r.first >= before)).replace(/(^|\. )[\d.]+ms /g, '$1');
  say(`${news}. ${told || (state === End && !card ? t('choices.over') : '')}`);
}

const msLeft = us => us >= 1_000_000 ? `${(us / 1e6).toFixed(1)} s` : `${(us / 1e3).toFixed(1)} ms`;

function showNow({records, at}) {
  const {redis, inside} = records.at(-1) ?? {redis: [], inside: []};
  const keys = nodesOf(now.game.level).map((node, i) => {
    const k = redis[i], has = k?.token && !(k.until && k.until <= at), left = has && k.until ? k.until - at
      : 0;
    const owner = all.indexOf(k?.owner), width = !has ? 0 : k.until ? Math.min(100, left / 1e5) : 100;
    const whose = has ? rich(t('now.key', {owner: k.owner, token: k.token.replace(/[<>]/g, '')}))
      : t('now.free');
    return el('div', {class: `key ${has ? owner >= 0 ? `owner${owner}` : 'other' : 'free'}`},
      el('span.node', node),
      el('span.whose', whose),
      el('span.bar', {'aria-hidden': 'true'}, el('span', {style: `width:${width.toFixed(1)}%`})),
      el('span.left', !has ? '\u00a0' : k.until ? t('now.left', {time: msLeft(left)}) : t('now.noTtl')));
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
  if (leads && !game.revealed || at > 0 || state === End || n === 0) return '';
  const wrong = kindsIn(records), other = () => t('choices.other', {kind: t(`kind.${wrong.at(-1)}`)});
  if (wrong.length > kindsIn(records.slice(0, seen.at(-2))).length) return other();
  const late = found[0] > 0 && found[n] === 0 && found[Math.max(0, n - game.patience)] === 0;
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
    const key = n <= 10 && String(n % 10), kbd = el('kbd', {'aria-hidden': 'true'}, key || '');
    list.push(button([kbd, el('span.words', words)], act,
      {class: `choice ${cls}`, 'aria-keyshortcuts': key, 'aria-disabled': !act && 'true', ...props}));
  };
  if (game.toBet) {
    [...game.moments.map(m => m.text), t('bet.none')].forEach((text, i) => add(rich(text), 'bet', () => {
      game.bet = i;
      show();
      toChoices();
    }));
    return list;
  }
  if (state === End) return [el('p.over', t('choices.over'))];
  const idle = graph.idle(state), edges = graph.edges(state), open = edges.filter(o => o.to !== Unexplored);
  const offer = (o, cls) => {
    const who = whoOf(o), call = records.findLast(r => r.who === who && r.kind === 'call')?.text;
    const back = /^release /.test(o.text) && !isFault(o) && call !== 'Unlock'; // an attempt that was refused
    const what = back ? t('why.back', {who}) : el('code', o.text);
    const words = [...rich(upper(saying(l, o))), sends(o) && el('small', what)];
    add(words, cls, () => choose(o.edge), {'data-label': o.label});
  };
  names.forEach((who, i) => {
    open.filter(o => whoOf(o) === who).forEach(o => offer(o, `owner${i}`));
    const why = idle[i].replace('.', 'w');
    if (!edges.some(o => whoOf(o) === who)) add(t(`why.${why}`, {who}), `owner${i}`);
  });
  const others = o => !names.includes(whoOf(o)) && !(game.early && isFault(o));
  open.filter(others).forEach(o => offer(o, 'fault'));
  if (strikes(l) && !edges.filter(others).some(isFault)) {
    const struck = game.path.some(e => isFault(optionOf(e)));
    add(struck ? t('why.struck') : game.early ? t('why.early')
      : t('why.notNow', {when: t(`when.${whenOf(l.Fault)}`)}), 'fault');
  }
  const n = edges.filter(o => o.to === Unexplored && !(game.early && isFault(o))).length;
  return n > 0 ? [...list, el('p.beyond', t('why.unexplored', {n}))] : list;
}

function showChoices(played) {
  const {game} = now, ended = played.state === End, box = part('choices'), section = box.parentElement,
    told = notice(played);
  const over = !(leads && !game.revealed) && (game.along().at > 0 && !game.on || ended),
    had = document.activeElement;
  const focused = box.contains(had) || part('outcome').contains(had) && !over;
  const bet = game.toBet && t('bet', {question: game.question});
  section.querySelector('h2').textContent = bet || told || t('choices');
  section.classList.toggle('told', told !== '');
  section.classList.toggle('folded', over);
  fill(box, options(played));
  if (focused) (choice() ?? part('tools').querySelector('button'))?.focus({preventScroll: true});
  document.body.classList.toggle('choosing', !now.place.chapter && !over && !ended);
}

function showTools() {
  const {path, ahead} = now.game;
  const tool = (id, act, off, key) =>
    button(t(id), act, {id, 'aria-keyshortcuts': key, 'aria-disabled': off && 'true'});
  fill(part('tools'), path.length + ahead.length > 0 && [tool('undo', undo, path.length === 0, 'u'),
    tool('redo', redo, ahead.length === 0), tool('restart', () => goTo(0), path.length === 0)],
  tool('hint', hint, false, 'h'));
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
  box.replaceChildren();
  document.querySelectorAll('.choice.hinted').forEach(e => e.classList.remove('hinted'));
  if (game.hint === 0) return;
  if (at > 0) list.push(t('hint.won'));
  else if (game.ways === 0) list.push(t('hint.holds', {all: game.all}));
  else if (!way) list.push(t(game.aim.breaks ? 'hint.dead' : 'hint.deadSee', {n: game.lastChance}));
  else {
    const whole = [...game.path, ...way], {records, seen} = game.run(whole), n = game.path.length;
    const d = Math.max(n, game.decisive(whole, whole.length)), who = whoOf(optionOf(whole[d]));
    const written = placeOf(l) >= 0, stage = game.hint - written, next = optionOf(way[0]);
    const person = {F: t('hint.who.fault'), T: t('hint.who.time'), W: t('hint.who.late')}[who]
      ?? inProse(who);
    const row = spoken(rows(records.slice(0, seen[d])).slice(-1)).replace(/^[\d.]+ms /, '');
    if (written) list.push(t(`level.${game.id}.hint`));
    if (stage > 0) list.push(t('hint.who', {who: person}));
    if (stage > 1) list.push(d === n ? t('hint.when.now') : t(d - n === 1 ? 'hint.when.next' : 'hint.when',
      {n: d - n, row}));
    if (stage > 2) {
      list.push(t('hint.which', {text: saying(l, next)}));
      document.querySelector(`.choice[data-label="${next.label}"]`)?.classList.add('hinted');
    }
  }
  const more = at === 0 && way && game.hint < stages() && button(t('hint.more'), hint, {class: 'quiet'});
  box.append(el('div.hint', list.map(line => el('p', rich(line))), more));
}

// ---- the end

// reached tells of the goal: in how many moves, by which bet, why, and where the lock is that holds.
function reached({records}) {
  const {game} = now, {level: l, aim, moments, bet, beat} = game, {at, found} = game.along(),
    step = stepTitle(l.Step), told = [], more = [];
  const kind = goals()[game.id]?.Goal[0]
    ?? kindsIn(records.slice(0, game.run(game.path.slice(0, at)).records.length)).at(-1);
  const right = moments.length === 0 || moments[bet]?.right, star = at === game.best && game.back === 0
    && !game.shown && right;
  told.push(el('h2', star && '★ ', t(aim.breaks ? 'outcome.won' : 'outcome.saw',
    {step: aim.breaks ? step : upper(step), n: at, best: game.best}),
    game.back > 0 && [' ', el('small', t('outcome.taken', {n: game.back}))]));
  if (moments[bet]) {
    const were = moments.filter(m => m.right).map(m => m.text).join(t('comma'));
    told.push(el('p.bet', rich(t(right ? 'bet.right' : 'bet.wrong', {bet: moments[bet].text, right: were}))));
  }
  if (beat) told.push(el('p', t(`challenge.${at < beat ? 'beaten' : at === beat ? 'met' : 'missed'}`,
    {n: beat})));
  const reasons = aim.breaks && reasonsOf(l, kind), is = () => t(`kind.${kind}`);
  const why = () => reasons ? t('outcome.why', {kind: is(), why: fromData(reasons)}) : `${is()}${t('stop')}`;
  told.push(el('p.reason', rich(placeOf(l) >= 0 ? t(`level.${game.id}.why`) : upper(why()))));
  const there = aim.breaks && !now.place.chapter && fixOf(game, kind); // in a chapter, the next one tells it
  if (there) {
    const {level, path, helps} = there, step = upper(stepTitle(level.Step)), fix = t(`fix.${level.Step}`);
    told.push(el('p.fix', t(helps ? 'outcome.helps' : 'outcome.fix', {step, fix}), ' ',
      el('a#there', {href: address(level, path)}, t(path ? 'outcome.there' : 'outcome.thereAnew'))));
  }
  const d = game.decisive(game.path, at);
  if (!aim.breaks) more.push(el('p', t(l.Kinds === '' ? 'outcome.none' : 'outcome.seen',
    {all: game.all, ways: game.ways})));
  else if (d < 0) more.push(el('p', t('outcome.decidedStart')));
  else {
    const values = {n: d + 1, text: saying(l, optionOf(game.path[d])), violating: found[d],
      all: graph.all[game.run().states[d]]};
    more.push(el('p', rich(t('outcome.decided', values))));
  }
  if (game.shown) more.push(el('p', t('outcome.shown')));
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
  const {level: l, all} = now.game,
    told = [el('h2', '✓ ', t('outcome.held', {step: upper(stepTitle(l.Step))})),
    el('p', t('outcome.none', {all}))];
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
  const {game} = now, {level: l, aim} = game, {at} = game.along(), {chapter} = now.place,
    enter = el('kbd', {'aria-hidden': 'true'}, '↵'), list = [];
  if (at === 0 && game.ways > 0) {
    const n = game.lastChance;
    return [button(n === 0 ? t('restart') : t('outcome.back', {n}), () => goTo(n),
      {id: 'goback', class: 'primary'})];
  }
  const link = (to, text, id, cls = '') => el('a', {class: `button ${cls}`, id, href: to}, text,
    cls && enter), {href, text} = onward(l);
  if (chapter && now.place.at < beats().length) list.push(button([`${t('course.next')} ↓`, enter], nextBeat,
    {class: 'primary', id: 'next'}));
  else if (placeOf(l) >= 0 && chapterOf(l) === data.Chapters.length) list.push(link('#pairs',
    t('medal.pairs'), 'next', 'primary'), link(href, text, 'left'));
  else list.push(link(href, text, 'next', 'primary'));
  const again = () => { game.shown = true; goTo(game.best, aim.shortest(game.cell, [])); };
  if (at > game.best) list.push(button(t('outcome.showShortest'), again, {id: 'shortest'}));
  if (at > 0 && state !== End && !game.on) list.push(button(t('outcome.on'),
    () => { game.on = true; show(); choice()?.focus(); }, {id: 'on'}));
  if (chapter) list.push(link(address(l, game.name), t('outcome.whole'), 'whole'));
  if (at > 0 && aim.breaks && !game.shown && !data.Own) {
    const dare = shared(format({level: game.id, beat: at}).slice(1));
    const sends = (word, text, id) => button(t(word), e => send(text, e.currentTarget), {id});
    list.push(sends('share.challenge', dare, 'dare'),
      sends('share.result', t('share.text', {lock: t(`lock.${l.Step}`), n: at, link: dare}), 'result'));
  }
  return list;
}

function showOutcome(played) {
  const {game} = now, box = part('outcome'), {at} = game.along(), {state} = played, before = card;
  box.replaceChildren();
  card = '';
  if (at === 0 && state !== End) return;
  if (leads && !game.revealed) {
    return box.append(el('div.outcome.hidden-answer', el('p', t('outcome.hidden')),
      button(t('outcome.reveal'), reveal, {class: 'primary'})));
  }
  const {told, more} = at > 0 ? reached(played) : {told: game.ways > 0 ? missed() : held(), more: []};
  if (game.level.Bound >= 0) more.push(el('p', t('outcome.bound')));
  told[0].id = 'h-outcome';
  const is = at > 0 && game.aim.breaks ? 'won' : at > 0 || game.ways === 0 ? 'held' : 'missed';
  const shown = el('section', {class: `outcome ${is}`, tabindex: '-1', 'aria-labelledby': 'h-outcome'},
    el('div.told', told), el('div.buttons', ways(state)), el('div.more', more));
  box.append(shown);
  card = at > 0 ? `won ${at}` : 'over';
  if (card === before || before === null || game.path.length === 0) return;
  shown.focus({preventScroll: true});
  intoView(shown);
}

// onward is where it goes on after a level: to the next chapter, after the last to what is left or to the
// medal, and from one of the hard levels to the next of them.
function onward(l) {
  const left = onWay().map(levelOf).filter(o => !solved(o)), n = placeOf(l) < 0 ? 0 : chapterOf(l);
  const to = (level, path) =>
    ({href: address(level, path), text: t('outcome.next', {level: titleOf(level)})});
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
  const {chapter} = now.place;
  if (chapter ? !stacked() : !narrow()) {
    shown.closest('.side')?.scrollTo(0, 0);
    shown.scrollIntoView({block: 'nearest'});
    return;
  }
  const {top, bottom} = shown.getBoundingClientRect(), below = top - document.querySelector(chapter
    ? '.figure' : '.picture').offsetHeight - 8;
  const tools = chapter ? 0 : part('choices').parentElement.offsetHeight,
    down = Math.min(bottom + tools - innerHeight + 8, below);
  part('picture').scrollTop = part('picture').scrollHeight;
  scrollBy(0, chapter ? Math.max(down, Math.min(0, below)) : down);
}

export function reveal() {
  now.game.revealed = true;
  show();
}

// ---- its schedule, as letters and as rows

function showSchedule() {
  const {game} = now, {whole, path: {length: n}} = game, command = replaying(`${game.id}/${game.name}`);
  const letter = (text, i, label) => button(text, () => goTo(i), {
    class: `letter ${i === n ? 'here' : i > n ? 'ahead' : ''}`, 'aria-label': label, 'aria-current': i === n
      && i > 0 ? 'step' : undefined,
  });
  const letters = whole.map(optionOf).map((o, i) => letter(o.label, i + 1,
    plain(t('schedule.to', {label: o.label, n: i + 1, text: saying(game.level, o)}))));
  fill(part('schedule'),
    el('div.letters', letter('|', 0, '| ' + t('schedule.start')), letters),
    el('div.command', el('code#command', command), ' ', button(t('copy'), e => copy(command, e.currentTarget),
      {id: 'copy', class: 'quiet'})));
}

// listed are rows as a list, each with what comes after it.
export const listed = (list, props, of = () => ({})) => el('ol.rows', {tabindex: '0', ...props},
  list.map((r, i) => {
  const {after, cls = '', ...rest} = of(r);
  return el('li', {class: `${r.who === '**' || r.mark ? 'wrong' : ''} ${cls}`, ...rest},
    el('span.row', text(r, i === list.length - 1)), after);
}));

function showTimeline({seen}, list, before) {
  const {level: l, path} = now.game;
  if (list.length === 0) return fill(part('timeline'), el('p', t('timeline.empty')));
  fill(part('timeline'), listed(list, {}, r => {
    const {line} = r.of[0], [file, n] = line.split(':');
    return {
      cls: path.length > 0 && r.first >= before && !r.more ? 'new' : '',
      'data-choice': seen.findIndex(n => r.first < n),
      after: line && !r.more && button(line.replace('lock.go', ''), () => showSource(l.Step, line),
        {class: 'line', 'aria-label': t('timeline.line', {line: n, file})}),
    };
  }));
}

// showSource shows the files of a lock, and opens that of a line: lock.go:126.
function showSource(step, line) {
  const box = part('source'), src = name => (s, i) =>
    el('span', {class: `src ${line === `${name}:${i + 1}` ? 'hit' : ''}`},
    el('span.nr', String(i + 1).padStart(3)), `  ${s}`);
  const files = data.Files[step].map(({Name, Text}) => el('details', {open: line.startsWith(`${Name}:`)},
    el('summary', Name),
    el('pre', {tabindex: '0', 'aria-label': Name}, el('code', Text.split('\n').map(src(Name))))));
  fill(box, el('section.source', {'aria-labelledby': 'h-source'},
    el('h2#h-source', t('source', {step: stepTitle(step)})),
    el('p', step < 9 && !data.Own && rich(t('source.why', {arg: String(step)}))),
    files, button(t('source.close'), () => box.replaceChildren(), {class: 'quiet'})));
  const hit = box.querySelector('.hit'), pre = hit.closest('pre');
  pre.scrollTop = hit.offsetTop - pre.offsetTop - pre.clientHeight / 3;
  box.scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  pre.focus({preventScroll: true});
}
