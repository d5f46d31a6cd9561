// Site: a picture of a lesson becomes a board that plays, and so do the two of a card, with one scrubber.

import {controls, leading} from '../../play/page/board.mjs';
import {el, part} from '../../play/page/dom.mjs';
import {use} from '../../play/page/levels.mjs';
import {speak} from '../../play/page/words.mjs';

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
const lead = leading(boards);
document.querySelector('.plays').append(controls(lead));
lead.rows(lead.list.length);
