// Pairs: of each chapter the lock that breaks and the one that does not, with the same events and one scrubber.

import {format} from './address.mjs';
import {pictureOf, scheduleOf} from './course.mjs';
import {button, el, part, send, still} from './dom.mjs';
import {shared} from './level.mjs';
import {data, lockOf} from './levels.mjs';
import {frame} from './menu.mjs';
import {rows, text} from './timeline.mjs';
import {fromData, t} from './words.mjs';

// showPairs opens all pairs, or one. It reports whether there is such a one.
export function showPairs({pairs: n}) {
  const chapters = data.Chapters.filter(c => n === 0 || c.Step === n), cards = chapters.map(card);
  if (cards.length === 0) return false;
  delete part('app').dataset.level;
  document.body.classList.remove('choosing');
  document.title = `${t('pairs.title')} – ${t('title')}`;
  frame(el('main', {class: 'pairs', tabindex: '-1'},
    el('h1', {tabindex: '-1'}, t('pairs.title')), el('p', {class: 'rule'}, t('pairs.lead')), n === 0 && stairs(), cards.map(c => c.section)));
  new ResizeObserver((_, o) => cards[0].section.isConnected ? cards.forEach(c => c.draw()) : o.disconnect()).observe(part('app'));
  scrollTo(0, 0);
  return true;
}

// stairs shows which lock holds against what. That of chapter 9 is step 05's, with numbers.
const holds = (lock, n) => lock === 9 ? n <= 5 || n === 9 : n <= lock;
const stairs = () => el('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': t('pairs.stairs')}, el('table', {class: 'matrix stairs'},
  el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, t('pairs.stairs')), data.Chapters.map(c => el('th', {scope: 'col'}, String(c.Step))))),
  el('tbody', {}, data.Chapters.map(row => el('tr', {}, el('th', {scope: 'row'}, t(`pairs.${row.Step}`)),
    data.Chapters.map(c => el('td', {class: holds(c.Step, row.Step) ? 'holds' : 'breaks'}, holds(c.Step, row.Step) ? '✓' : '✗')))))));

function card({Step: n, Beats}) {
  const sides = [Beats.findLast(b => b.Breaks && b.Show), Beats.find(b => b.Holds)].map(b => scheduleOf(b.Show)), all = Math.max(...sides.map(s => s.list.length));
  let shown = all, timer = 0;
  const pictures = sides.map(() => el('div', {class: 'pair-picture', tabindex: '0', role: 'img'}));
  const scrub = el('input', {type: 'range', min: '0', max: String(all), 'aria-label': `${n}: ${t('course.scrub')}`, oninput: () => show(Number(scrub.value))});
  const draw = () => sides.forEach((side, i) => {
    const k = Math.min(shown, side.list.length), box = pictures[i];
    box.replaceChildren(...pictureOf(side, k, Math.max(250, box.clientWidth - 8)));
    box.scrollTop = box.scrollHeight;
    box.setAttribute('aria-label', rows(side.records).slice(0, k).map((r, i) => text(r, i === k - 1).trim().replace(/\s+/g, ' ')).join('. ') || t('timeline.empty'));
  });
  const show = to => {
    clearTimeout(timer);
    shown = to;
    scrub.value = String(to);
    draw();
  };
  const play = from => {
    show(from);
    if (from < all && pictures[0].isConnected) timer = setTimeout(play, 420, from + 1);
  };
  scrub.value = String(all);
  const sentence = `${t(`pairs.${n}`)} ${t(`pairs.${n}.fix`)}`, link = shared(format({pairs: n}).slice(1));
  return {draw, section: el('section', {class: 'pair', 'aria-labelledby': `pair-${n}`},
    el('h2', {id: `pair-${n}`}, `${n}. ${t(`pairs.${n}`)} `, el('span', {class: 'good'}, t(`pairs.${n}.fix`))),
    el('div', {class: 'sides'}, sides.map((s, i) => el('figure', {class: i ? 'holds' : 'breaks'}, el('figcaption', {}, i ? '✓ ' : '✗ ', fromData(lockOf(s.level.Step).Lock)), pictures[i]))),
    el('div', {class: 'controls'}, button('▶', () => play(still() ? all : 0), {'aria-label': `${n}: ${t('course.play')}`}), scrub,
      el('a', {class: 'button', href: `#${n}`}, t('chapter', {n})), button(t('pairs.send'), e => send(`${sentence} ${link}`, e.currentTarget), {'aria-label': `${t('pairs.send')} ${n}`})))};
}
