// Play: the addresses of the page, its keys, and its beginning.

import {parse} from './address.mjs';
import {showBench} from './bench.mjs';
import {chapterKey, draw, scrolled, showChapter} from './course.mjs';
import {load} from './data.mjs';
import {el, fill, leads, part} from './dom.mjs';
import {along, arrived, hint, newGame, redo, reveal, run, showPicture, undo} from './level.mjs';
import {cellName, data, graph, levels, use} from './levels.mjs';
import {help, showMenu} from './menu.mjs';
import {drawOpening, isNew, showOpening, undoDelivery} from './opening.mjs';
import {showPairs} from './pairs.mjs';
import {now, progress} from './store.mjs';
import {language, speak, t} from './words.mjs';

// ---- what the address says

// open shows what the address says.
function open() {
  let text = '';
  try { text = decodeURIComponent(location.hash.slice(1)).trim(); } catch { text = location.hash; }
  const to = parse(text), game = now.game;
  clearTimeout(now.chapter?.timer);
  now.chapter = now.game = now.opening = null;
  if (to?.opening && !data.Own && showOpening(to) || to && !text && isNew() && showOpening({opening: 1, path: ''})) return;
  if (to?.menu) return showMenu();
  if (to?.pairs !== undefined && !data.Own && showPairs(to)) return;
  if (to?.bench !== undefined && data.Bench && showBench(to.bench)) return;
  if (to?.chapter && !data.Own && showChapter(to)) return;
  if (to?.level && openLevel(to, game)) return;
  const {level} = to ?? {}, waits = levels.some(l => cellName(l) === level) && !graph.cells.has(level);
  showMenu(text && t(waits ? 'menu.waits' : 'menu.noSchedule', {name: text.slice(0, 80)}));
}

// openLevel opens a level with the moves made in it. It reports whether there are such.
function openLevel({level: id, path, beat}, open) {
  const level = levels.find(l => cellName(l) === id), cell = graph.cells.get(id), {edges, rest} = level && cell ? graph.follow(cell, path) : {rest: id};
  if (rest) return false;
  now.game = open?.level === level ? open : newGame(level);
  now.game.beat = beat >= along([]).steps[0] ? beat : 0; // nobody can have needed less
  now.game.path = edges;
  now.game.ahead = [];
  arrived();
  return true;
}

// ---- keys

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
  if (e.key === '?') return help();
  if (document.querySelector('dialog')) return;
  const free = !e.target.closest?.('a, button, summary'), n = e.key === '0' ? 10 : Number(e.key);
  if (now.chapter && chapterKey(e.key, n, free)) return e.preventDefault();
  if (now.opening && n >= 1) document.querySelector(`.stage [aria-keyshortcuts="${n}"]`)?.click();
  else if (now.opening && e.key === 'u' && now.opening.path.length > 0) undoDelivery();
  if (!now.game) return;
  if (n >= 1 && n <= 10) {
    document.querySelector(`#choices [aria-keyshortcuts="${n % 10}"]`)?.click();
  } else if (e.key === 'u' || e.key === 'ArrowLeft') undo();
  else if (e.key === 'ArrowRight') redo();
  else if (e.key === 'h') hint();
  else if (e.key === 'Enter' && free && document.querySelector('#outcome .primary')) document.querySelector('#outcome .primary').click();
  else if (e.key === 'r' && leads) reveal();
  else return;
  e.preventDefault();
});

addEventListener('hashchange', open);
addEventListener('scroll', scrolled, {passive: true});
new ResizeObserver(() => {
  const box = part('picture');
  if (!box || box.clientWidth === now.width) return;
  if (now.opening) return drawOpening();
  if (now.chapter && !now.chapter.playing) return draw();
  if (!now.game) return;
  showPicture(run());
}).observe(document.body);

// ---- begin

const words = JSON.parse(part('words').textContent), spoken = wanted => Object.keys(words).find(l => l === wanted) ?? Object.keys(words).find(l => wanted?.split('-')[0] === l.split('-')[0]);
speak([new URLSearchParams(location.search).get('lang'), progress.language, ...navigator.languages].map(spoken).find(Boolean) ?? 'en', words);
document.documentElement.lang = language;
document.body.classList.toggle('lead', leads);
fill(part('app'), el('p', {class: 'loading'}, t('loading')));
try {
  use(await load(part('data').textContent));
  open();
} catch (error) {
  fill(part('app'), el('p', {class: 'problem', role: 'alert'}, t('failed', {error: error.message})));
  throw error;
}
