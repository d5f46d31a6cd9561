// Site: a picture of a lesson becomes a board that plays, and so do the two of a card, with one scrubber.

import {slider} from '../../play/page/board.mjs';
import {button, el, part} from '../../play/page/dom.mjs';
import {use} from '../../play/page/levels.mjs';
import {speak, t} from '../../play/page/words.mjs';

const {Language, Words, ...data} = JSON.parse(part('data').textContent);
speak(Language, {en: {}, [Language]: Words});
use(data);

const boards = [...document.querySelectorAll('[data-schedule]')].map(picture => {
  const [step, fault, path] = picture.dataset.schedule.split('/'), board = el('lock-board');
  board.show({class: picture.className, cell: `${step}/${fault}`, path});
  picture.replaceWith(board);
  board.style.minHeight = `${board.offsetHeight}px`; // nothing below it moves while it plays
  return board;
});
const [lead, other] = boards.toSorted((a, b) => b.list.length - a.list.length);
lead.addEventListener('rows', () => other?.rows(lead.n));
const step = (word, sign, act) => button(sign, act, {'aria-label': t(word), title: t(word)});
const controls = {role: 'group', 'aria-label': t('course.controls')};
document.querySelector('.plays').append(el('div.controls', controls,
  step('course.back', '◀', () => lead.rows(lead.n - 1)), step('course.play', '▶', () => lead.play()),
  step('course.on', '▶|', () => lead.rows(lead.n + 1)), slider(lead, {'aria-label': t('course.scrub')})));
lead.rows(lead.list.length);
