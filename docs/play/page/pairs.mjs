// Pairs: of each chapter the lock that breaks and the one that does not, with the same events and one
// scrubber.

import {format} from './address.mjs';
import {leading, slider} from './board.mjs';
import {beats} from './course.mjs';
import {button, el, send} from './dom.mjs';
import {shared} from './level.mjs';
import {data, lockOf} from './levels.mjs';
import {frame} from './menu.mjs';
import {fromData, t} from './words.mjs';

// showPairs opens all pairs, or one. It reports whether there is such a one.
export function showPairs({pairs: n}) {
  const chapters = data.Chapters.filter(c => n === 0 || c.Step === n);
  if (chapters.length === 0) return false;
  frame('pairs', t('pairs.title'), [
    el('h1', {tabindex: '-1'}, t('pairs.title')), el('p.rule', t('pairs.lead')),
    n === 0 && [stairs(), el('p.rule', t('pairs.nine'))], chapters.map(c => card(c.Step)),
    n === 0 && [el('p', t('pairs.work')),
      el('p.start', el('a.button.primary', {href: '#build'}, t('pairs.build')))]]);
  scrollTo(0, 0);
  return true;
}

// stairs shows which lock holds against what: 0 is the first of all, and 9 is step 05's, with numbers.
const locks = () => [0, ...data.Chapters.map(c => c.Step)];
const holds = (lock, n) => lock === 9 ? n <= 5 || n === 9 : n <= lock;
const stairs = () => el('div.scroll', {tabindex: '0', role: 'group', 'aria-label': t('pairs.stairs')},
  el('table.matrix.stairs',
    el('thead', el('tr', el('th', {scope: 'col'}, t('pairs.stairs')),
      locks().map(lock => el('th', {scope: 'col'}, String(lock))))),
    el('tbody', data.Chapters.map(row => el('tr', el('th', {scope: 'row'}, t(`pairs.${row.Step}`)),
      locks().map(lock => holds(lock, row.Step) ? el('td.holds', '✓') : el('td.breaks', '✗')))))));

// card is a pair.
function card(n) {
  const all = beats(n), fixed = all.findIndex(b => b.Holds);
  const two = [all.slice(0, fixed).findLast(b => b.Breaks), all[fixed]];
  const boards = two.map(() => el('lock-board.pair-picture'));
  boards.forEach((board, i) => board.show({cell: two[i].cell, path: two[i].path}));
  const sentence = `${t(`pairs.${n}`)} ${t(`pairs.${n}.fix`)}`, link = shared(format({pairs: n}).slice(1)),
    lead = leading(boards);
  return el('section.pair', {'aria-labelledby': `pair-${n}`},
    el('h2', {id: `pair-${n}`}, `${n}. ${t(`pairs.${n}`)} `, el('span.good', t(`pairs.${n}.fix`))),
    el('div.sides', two.map(({level}, i) => el('figure', {class: i ? 'holds' : 'breaks'},
      el('figcaption', i ? '✓ ' : '✗ ', fromData(lockOf(level.Step).Lock)), boards[i]))),
    el('div.controls',
      button('▶', () => lead.play(0), {'aria-label': `${n}: ${t('course.play')}`}),
      slider(lead, {'aria-label': `${n}: ${t('course.scrub')}`}),
      el('a.button', {href: `#${n}`}, t('chapter', {n})),
      button(t('pairs.send'), e => send(`${sentence} ${link}`, e.currentTarget),
        {'aria-label': `${t('pairs.send')} ${n}`})));
}
