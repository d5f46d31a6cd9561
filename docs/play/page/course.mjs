// Course: a chapter is read from top to bottom, in beats. Its picture stays in view, and plays what the beat
// tells: a schedule, up to the last of its choices that are named.

import {format, go} from './address.mjs';
import {controls as plays} from './board.mjs';
import {button, el, fill, kbd, leads, narrow, part, rich, say} from './dom.mjs';
import {gameOf} from './game.mjs';
import {controls, enter, rule} from './level.mjs';
import {data, graph, levelNamed, lockOf, names, scheduleOf, solved, titleOf} from './levels.mjs';
import {boss, frame, sign} from './menu.mjs';
import {answerOf, answers, now} from './store.mjs';
import {rows} from './timeline.mjs';
import {fromData, plain, t} from './words.mjs';

// beats are those of a chapter, each with the cell and the path that it shows, or the level that is played.
export function beats(n = now.place.chapter) {
  return (data.Chapters.find(c => c.Step === n)?.Beats ?? []).map((b, i) => {
    const [step, fault, path] = (b.Show ?? b.Level).split('/'), cell = `${step}/${fault}`;
    return {...b, key: `${n}.${i + 1}`, cell, path, level: levelNamed(cell)};
  });
}
const at = () => now.place.at - 1, beat = () => beats()[at()];

// showChapter opens a chapter at a beat, with the moves in its level. It reports whether there is such one.
export function showChapter({chapter: n, at, path}) {
  const all = beats(n), open = all[at - 1];
  if (!open || path && (!open.Level || graph.follow(graph.cells.get(open.cell), path).rest)) return false;
  if (path) gameOf(open.level, path).keep();
  now.place = {chapter: n, at: 0};
  const board = el('lock-board#picture'), strip = el('div.strip', {'aria-hidden': true});
  const down = button([t('course.next'), ' ↓'], nextBeat, {id: 'down', 'aria-keyshortcuts': 'Enter'});
  board.addEventListener('rows', () => fill(strip, inRoom(board.shown)));
  frame('chapter', titleOfChapter(n), [
    el('div.beats', all.map(section)),
    el('div.figure', plays(board, move, down), el('p.which#which'), strip,
      el('section.picture', {'aria-label': t('picture')}, board))]);
  scrollTo(0, 0);
  if (at > 1) toBeat(at - 1);
  else read(0);
  document.querySelectorAll('.beat h1, .beat h2')[at - 1].focus({preventScroll: true});
  return true;
}

// inRoom shows the room of the opening after some records: who is in it, who holds the key, and the number
// that each of them adds one to.
function inRoom(records = []) {
  const {inside = [], redis = []} = records.at(-1) ?? {};
  const owner = names.find(name => redis.filter(k => k.owner === name).length * 2 > redis.length);
  const writes = records.filter(r => /writes \d/.test(r.text) && !/refused/.test(r.text)),
    number = writes.at(-1)?.text.match(/writes (\d+)/)[1] ?? 0, lost = number < writes.length;
  const gone = name => records.some(r => r.who === name && /^dies/.test(r.text)) ? 'gone' : '';
  const people = where => names.filter(name => inside.includes(name) === where).map(name => el('span',
    {class: `dot owner${names.indexOf(name)} ${gone(name)}`}, name[0].toUpperCase()));
  const room = `room ${inside.length > 1 ? 'two' : ''} owner${names.indexOf(owner)}`;
  return [...people(false), el('span', {class: room}, people(true)), el('span', {class: lost && 'lost'},
    t('strip.number'), ' ', el('b', String(number)), lost && t('strip.lost', {n: writes.length}))];
}

const titleOfChapter = n => `${n}. ${t(`chapter.${n}.title`)}`;

function section(b, i) {
  const title = i ? rich(t(`chapter.${b.key}.head`)) : titleOfChapter(now.place.chapter);
  const line = text => el('span', {class: {'+': 'add', '-': 'del'}[text[0]]}, text, '\n');
  return el('section', {class: `beat ${b.Level ? 'turn' : ''}`, 'data-beat': String(i),
    'aria-labelledby': `b-${i}`},
    el(i ? 'h2' : 'h1', {id: `b-${i}`, tabindex: '-1'}, title),
    el('p', rich(t(`chapter.${b.key}`))), b.Ask && question(b, i),
    b.Diff && el('pre.fix', {tabindex: '0', 'aria-label': t('course.fix')}, b.Diff.map(line)),
    b.Level && [el('h3', boss(b.level), titleOf(b.level), ' ', solved(b.level) && sign(b.cell)),
      el('p.goal', rule(b.level)), el('div.slot')]); // for the controls, when it is read
}

// question is one with three answers, which then plays what comes.
function question(b, i) {
  const answer = el('p.answer');
  const buttons = ['a', 'b', 'c'].map((letter, k) =>
    button([kbd(String(k + 1)), ' ', el('span', rich(t(`chapter.${b.key}.${letter}`)))], () => {
      if (answerOf(b.key)) return;
      if (i !== at()) toBeat(i); // a screen reader answers without a scroll
      answers(b.key, letter);
      tell();
      say(answer.textContent);
      play();
    }));
  const of = letter => buttons['abc'.indexOf(letter)].classList;
  const tell = () => {
    const given = answerOf(b.key), verdict = t(given === b.Ask ? 'course.right' : 'course.wrong');
    if (!given) return;
    buttons.forEach(other => other.setAttribute('aria-disabled', 'true'));
    if (given !== b.Ask) of(given).add('wrong');
    of(b.Ask).add('right');
    fill(answer, el('strong', verdict), ' ', rich(t(`chapter.${b.key}.answer`)));
  };
  tell();
  return [el('div.ask', {role: 'group', 'aria-label': plain(t(`chapter.${b.key}`))}, buttons), answer];
}

// ---- reading

const sections = () => [...document.querySelectorAll('.beat')];
const rowsOf = ({cell, path}) => rows(scheduleOf(cell, path).records, 6).length;

// read makes a beat the one that is read.
function read(i) {
  if (i === at()) return;
  const all = beats(), [before, b, last] = [all[at()], all[i], all[i - 1]], board = part('picture');
  const left = sections()[at()]?.querySelector('.slot'), slot = sections()[i].querySelector('.slot');
  sections().forEach((s, k) => s.classList.toggle('read', k === i));
  if (left) { // nothing below it moves
    left.style.minHeight = `${left.offsetHeight}px`;
    left.replaceChildren();
  }
  now.game = b.Level ? gameOf(b.level) : null;
  document.querySelector('.figure').classList.toggle('playing', now.game !== null);
  part('down').hidden = i === all.length - 1;
  const {Step} = b.level, which = t(Step === now.place.chapter ? 'which.new' : 'which.old');
  part('which').textContent = which + t('colon') + fromData(lockOf(Step).Lock);
  go({chapter: now.place.chapter, at: i + 1, path: now.game?.name});
  if (now.game) {
    slot.style.minHeight = '';
    fill(slot, controls());
    return enter();
  }
  const goesOn = last?.Show && !last.Level && last.cell === b.cell, waits = b.Ask && !answerOf(b.key);
  const shown = goesOn && (waits || before === last && rowsOf(last) <= rowsOf(b)) ? rowsOf(last) : 0;
  board.show({cell: b.cell, path: b.path, rows: shown, play: false, secret: false});
  if (!waits) play();
}

// play shows the rows of the beat one after the other.
function play() {
  const board = part('picture');
  if (leads) board.rows(board.list.length);
  else board.play(board.n);
}

// move shows a row more, or less. After the last one comes the next beat.
function move(d) {
  const board = part('picture'), to = board.n + d;
  if (to > board.list.length) nextBeat();
  else board.rows(to);
}

// nextBeat scrolls to the next one.
export function nextBeat() {
  if (now.place.at < sections().length) toBeat(now.place.at);
}

function toBeat(i) {
  const section = sections()[i];
  read(i); // first: the picture above it may become higher
  scrollTo({top: section.getBoundingClientRect().top + scrollY - offset(), behavior: 'instant'});
  section.querySelector('h1, h2').focus({preventScroll: true});
}

// offset is how far below the top of the window a beat begins: on a phone the picture is above it.
const offset = () => stacked() ? document.querySelector('.figure').offsetHeight + 20 : innerHeight * .22;

// stacked reports whether the picture is above the text: in a low window it is next to it.
export const stacked = () => narrow()
  && getComputedStyle(document.querySelector('main.chapter')).display === 'flex';

// scrolled reads the beat that is in the middle of the window. A level is left only when hardly anything of
// it is in view.
export function scrolled() {
  // the way back scrolls before it is taken
  if (!now.place.chapter || location.hash !== format(now.place)) return;
  const {top, bottom} = sections()[at()].getBoundingClientRect();
  const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
  if (!atEnd && now.game && top < innerHeight * .8 && bottom > offset() + 90) return;
  const line = stacked() ? offset() + (innerHeight - offset()) * .4 : innerHeight * .45;
  const i = sections().findLastIndex(s => atEnd || s.getBoundingClientRect().top < line);
  if (i >= 0) read(i);
}

// chapterKey does what a key means while a chapter is read, unless a level is played.
export function chapterKey(key, n, free) {
  const primary = now.game && document.querySelector('#outcome .primary');
  if ((key === 'Enter' || key === ' ') && free && !primary) nextBeat();
  else if (now.game) return false;
  else if (key === 'ArrowRight') move(1);
  else if (key === 'ArrowLeft') move(-1);
  else if (n >= 1 && n <= 3 && beat().Ask) sections()[at()].querySelectorAll('.ask button')[n - 1].click();
  else return false;
  return true;
}
