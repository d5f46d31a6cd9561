// Course: a chapter is read from top to bottom, in beats. Its picture stays in view, and
// plays what the beat tells: a schedule, up to the last of its choices that are named.

import {End} from './data.mjs';
import {diagram} from './diagram.mjs';
import {button, el, fill, leads, narrow, part, rich, say, still} from './dom.mjs';
import {controls, enter, gameOf, here, rule} from './level.mjs';
import {
  cellName, data, graph, levelAt, lockOf, names, nodesOf, solved, stepTitle, titleOf,
} from './levels.mjs';
import {boss, frame, sign} from './menu.mjs';
import {answerOf, answers, now} from './store.mjs';
import {rows, text} from './timeline.mjs';
import {fromData, plain, t, upper} from './words.mjs';

const rowTime = 450; // ms for each row of the picture

// showChapter opens a chapter at a beat, with the moves in its level. It reports whether there is such a place.
export function showChapter({chapter: n, at, path}) {
  const beats = data.Chapters.find(c => c.Step === n)?.Beats, open = beats?.[at - 1];
  if (!open) return false;
  const played = open.Level && path && graph.follow(graph.cells.get(open.Level), path);
  if (path && (!played || played.rest)) return false;
  const key = i => `${n}.${i + 1}`;
  now.game = null;
  now.chapter = {n, at: -1, shown: 0, timer: 0, beats: beats.map((b, i) => ({...b, key: key(i), ...(b.Show && scheduleOf(b.Show))}))};
  document.title = `${n}. ${t(`chapter.${n}.title`)} – ${t('title')}`;
  document.body.classList.remove('choosing');
  delete part('app').dataset.level;
  const step = (word, sign, move, id) => button(sign, move, {id, 'aria-label': t(word), title: t(word)});
  frame(el('main', {class: 'chapter', tabindex: '-1'},
    el('div', {class: 'beats'}, now.chapter.beats.map((b, i) => el('section', {class: `beat ${b.Level ? 'turn' : ''}`, 'data-beat': String(i), 'aria-labelledby': `b-${i}`},
      el(i ? 'h2' : 'h1', {id: `b-${i}`, tabindex: '-1'}, i ? rich(t(`chapter.${b.key}.head`)) : `${n}. ${t(`chapter.${n}.title`)}`),
      el('p', {}, rich(t(`chapter.${b.key}`))),
      b.Ask && question(b, i),
      b.Diff && el('pre', {class: 'fix', tabindex: '0', 'aria-label': t('course.fix')}, b.Diff.map(line => el('span', {class: {'+': 'add', '-': 'del'}[line[0]] ?? ''}, line, '\n'))),
      b.Level && turn(b)))),
    el('div', {class: 'figure'},
      el('div', {class: 'controls', role: 'group', 'aria-label': t('course.controls')}, step('course.back', '◀', () => move(-1), 'back'), step('course.play', '▶', replayBeat, 'play'), step('course.on', '▶|', () => move(1), 'on1'),
        el('input', {type: 'range', id: 'scrub', min: '0', max: '1', 'aria-label': t('course.scrub'), oninput: e => { stopPlaying(); now.chapter.shown = Number(e.target.value); draw(); }}),
        button([t('course.next'), ' ↓'], () => nextBeat(), {id: 'down', 'aria-keyshortcuts': 'Enter'})),
      el('p', {class: 'which', id: 'which'}),
      el('section', {class: 'picture', 'aria-label': t('picture')}, el('div', {id: 'picture', 'aria-hidden': 'true'}), el('p', {id: 'tells', class: 'visually-hidden'})))));
  scrollTo(0, 0);
  if (played) gameOf(levelAt(...partsOf(open.Level))).path = played.edges;
  if (at > 1) toBeat(at - 1);
  else read(0);
  document.querySelectorAll('.beat h1, .beat h2')[at - 1].focus({preventScroll: true});
  return true;
}

const partsOf = name => [Number(name.split('/')[0]), name.split('/')[1]];

// scheduleOf is what has happened in a schedule after its last choice that is named.
export function scheduleOf(name) {
  const path = name.split('/')[2], level = levelAt(...partsOf(name)), cell = graph.cells.get(cellName(level));
  const {edges} = graph.follow(cell, path), {records, at, state} = graph.play(cell, edges);
  return {level, records, list: rows(records, 6), end: at, over: state === End};
}

// question is one with three answers, which then plays what comes.
function question(b, i) {
  const answer = el('p', {class: 'answer'});
  const box = el('div', {class: 'ask', role: 'group', 'aria-label': plain(t(`chapter.${b.key}`))}, ['a', 'b', 'c'].map((letter, k) => button([el('kbd', {'aria-hidden': 'true'}, String(k + 1)), ' ', el('span', {}, rich(t(`chapter.${b.key}.${letter}`)))], () => {
    if (answerOf(b.key)) return;
    if (i !== now.chapter.at) toBeat(i); // a screen reader answers without a scroll
    answers(b.key, letter);
    tell();
    say(answer.textContent);
    play();
  })));
  const tell = () => {
    const given = answerOf(b.key);
    if (!given) return;
    for (const other of box.children) other.setAttribute('aria-disabled', 'true');
    box.children['abc'.indexOf(b.Ask)].classList.add('right');
    if (given !== b.Ask) box.children['abc'.indexOf(given)].classList.add('wrong');
    fill(answer, el('strong', {}, t(given === b.Ask ? 'course.right' : 'course.wrong')), ' ', rich(t(`chapter.${b.key}.answer`)));
  };
  tell();
  return [box, answer];
}

// turn is where a level is played. Its controls come when it is read.
function turn(b) {
  const l = levelAt(...partsOf(b.Level));
  b.level = l;
  return [el('h3', {}, boss(l), titleOf(l), ' ', solved(l) && sign(cellName(l))), el('p', {class: 'goal'}, rule(l)), b.slot = el('div', {class: 'slot'})];
}

// ---- reading

const sections = () => [...document.querySelectorAll('.beat')];

// read makes a beat the one that is read.
function read(i) {
  if (!now.chapter || i === now.chapter.at) return;
  const before = now.chapter.beats[now.chapter.at], b = now.chapter.beats[i];
  clearTimeout(now.chapter.timer);
  now.chapter.at = i;
  sections().forEach((s, k) => s.classList.toggle('read', k === i));
  if (before?.slot) { // nothing below it moves
    before.slot.style.minHeight = `${before.slot.offsetHeight}px`;
    before.slot.replaceChildren();
  }
  now.game = null;
  now.chapter.playing = Boolean(b.Level);
  document.querySelector('.figure').classList.toggle('playing', now.chapter.playing);
  part('down').hidden = i === now.chapter.beats.length - 1;
  part('which').textContent = `${upper(stepTitle(b.level.Step))}${t('colon')}${fromData(lockOf(b.level.Step).Lock)}`;
  now.width = part('picture').clientWidth;
  if (now.chapter.playing) {
    b.slot.style.minHeight = '';
    fill(b.slot, controls());
    part('tells').textContent = '';
    now.game = gameOf(b.level);
    here();
    return enter();
  }
  here();
  const same = before?.list && before.level === b.level && i > 0 && before === now.chapter.beats[i - 1] && before.list.length <= b.list.length;
  const unanswered = b.Ask && !answerOf(b.key) && now.chapter.beats[i - 1]?.level === b.level;
  now.chapter.shown = unanswered ? now.chapter.beats[i - 1].list.length : same ? before.list.length : 0;
  draw();
  if (!unanswered) play();
}

const beat = () => now.chapter.beats[now.chapter.at];

function stopPlaying() {
  clearTimeout(now.chapter.timer);
  now.chapter.timer = 0;
}

// play shows the rows of the beat one after the other.
function play() {
  stopPlaying();
  const {list} = beat();
  if (still() || leads) now.chapter.shown = list.length;
  draw();
  if (now.chapter.shown < list.length) now.chapter.timer = setTimeout(() => { now.chapter.shown++; play(); }, rowTime);
}

function replayBeat() {
  if (now.chapter.shown >= beat().list.length) now.chapter.shown = 0;
  play();
}

// move shows a row more, or less. After the last one comes the next beat.
function move(d) {
  stopPlaying();
  const to = now.chapter.shown + d;
  if (to > beat().list.length) return nextBeat();
  now.chapter.shown = Math.max(0, to);
  draw();
}

// pictureOf draws so many rows of a schedule.
export function pictureOf({level, list, records, end, over}, n, width) {
  const all = n >= list.length, some = all ? records : records.slice(0, list[n].first);
  return diagram({
    rows: list.slice(0, n), records: some, clients: names, nodes: nodesOf(level), width, resource: t('resource'), now: all ? end : some.at(-1)?.at ?? 0,
    ended: all && over, fresh: Infinity, moving: false, flash: all && records.at(-1)?.inside.length > 1,
  });
}

export function draw() {
  const b = beat(), n = now.chapter.shown, box = part('picture'), scrub = part('scrub');
  now.width = box.clientWidth;
  box.replaceChildren(...pictureOf(b, n, Math.max(260, Math.min(760, box.clientWidth - 18))));
  box.scrollTop = box.scrollHeight;
  scrub.max = String(b.list.length);
  scrub.value = String(n);
  if (n >= b.list.length) part('tells').textContent = b.list.map((r, i) => text(r, i === b.list.length - 1).trim().replace(/\s+/g, ' ')).join('. ');
}

// nextBeat scrolls to the next one.
export function nextBeat() {
  if (now.chapter.at + 1 < now.chapter.beats.length) toBeat(now.chapter.at + 1);
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
export const stacked = () => narrow() && getComputedStyle(document.querySelector('main.chapter')).display === 'flex';

// scrolled reads the beat that is in the middle of the window. A level is left only when hardly anything of it is in view.
export function scrolled() {
  if (!now.chapter || location.hash !== now.address) return; // the way back scrolls before it is taken
  const {top, bottom} = sections()[now.chapter.at].getBoundingClientRect();
  if (now.chapter.playing && top < innerHeight * .8 && bottom > offset() + 90) return;
  const line = stacked() ? offset() + (innerHeight - offset()) * .4 : innerHeight * .45;
  const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
  const i = atEnd ? now.chapter.beats.length - 1 : sections().findLastIndex(s => s.getBoundingClientRect().top < line);
  if (i >= 0) read(i);
}

// chapterKey does what a key means while a chapter is read, unless a level is played.
export function chapterKey(key, n, free) {
  if ((key === 'Enter' || key === ' ') && free && (!now.chapter.playing || !document.querySelector('#outcome .primary'))) nextBeat();
  else if (now.chapter.playing) return false;
  else if (key === 'ArrowRight') move(1);
  else if (key === 'ArrowLeft') move(-1);
  else if (n >= 1 && n <= 3 && beat().Ask) sections()[now.chapter.at].querySelectorAll('.ask button')[n - 1].click();
  else return false;
  return true;
}
