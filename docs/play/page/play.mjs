// Play: the addresses of the page, its keys, and its beginning.

import {parse} from './address.mjs';
import {showBench} from './bench.mjs';
import {beats, chapterKey, scrolled, showChapter} from './course.mjs';
import {load} from './data.mjs';
import {el, fill, leads, part} from './dom.mjs';
import {hint, openLevel, redo, reveal, undo} from './level.mjs';
import {cellName, data, graph, levels, complete, use} from './levels.mjs';
import {help, isDone, showMenu} from './menu.mjs';
import {isNew, showOpening, undoDelivery} from './opening.mjs';
import {showPairs} from './pairs.mjs';
import {now, progress} from './store.mjs';
import {language, speak, t} from './words.mjs';

// ---- what the address says

// open shows what the address says.
function open() {
  let text = '';
  try { text = decodeURIComponent(location.hash.slice(1)).trim(); } catch { text = location.hash; }
  const to = parse(text), course = to && !data.Own, shown = to?.chapter ? beats(to.chapter).map(b => b.cell)
    : [];
  const some = course && to.bench === undefined && !to.level && !isDone();
  const early = some && shown.every(cell => graph.knows(cell));
  if (!early && !data.complete) return rest().then(open);
  now.place = {};
  now.game = null;
  document.body.classList.remove('choosing');
  if (course && to.opening && showOpening(to) || course && !text && isNew()
    && showOpening({opening: 1, path: ''})) return;
  if (to?.menu) return showMenu();
  if (course && to.pairs !== undefined && showPairs(to) || course && to.chapter && showChapter(to)) return;
  if (to?.bench !== undefined && data.Bench && showBench(to.bench) || to?.level && openLevel(to)) return;
  const {level} = to ?? {}, waits = levels.some(l => cellName(l) === level) && !graph.cells.has(level);
  showMenu(text && t(waits ? 'menu.waits' : 'menu.noSchedule', {name: text.slice(0, 80)}));
}

// rest loads what the page does not need first.
let loading;
const rest = () => loading ??= load(part('rest').textContent).then(complete);

// ---- keys

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
  if (e.key === '?') return help();
  if (document.querySelector('dialog')) return;
  const free = !e.target.closest?.('a, button, summary'), n = e.key === '0' ? 10 : Number(e.key),
    {chapter, opening} = now.place;
  if (chapter && chapterKey(e.key, n, free)) return e.preventDefault();
  if (!now.game) return;
  const primary = document.querySelector('#outcome .primary');
  const named = document.querySelector(`:is(#choices, .stage) [aria-keyshortcuts="${n % 10}"]`);
  if (n >= 1 && n <= 10) named?.click();
  else if (opening) return e.key === 'u' && undoDelivery();
  else if (e.key === 'u' || e.key === 'ArrowLeft') undo();
  else if (e.key === 'ArrowRight') redo();
  else if (e.key === 'h') hint();
  else if (e.key === 'Enter' && free && primary) primary.click();
  else if (e.key === 'r' && leads) reveal();
  else return;
  e.preventDefault();
});

addEventListener('scroll', scrolled, {passive: true});

// ---- begin

const words = JSON.parse(part('words').textContent), have = Object.keys(words);
const alike = (a, b) => a?.split('-')[0] === b.split('-')[0];
const spoken = wanted => have.find(l => l === wanted) ?? have.find(l => alike(wanted, l));
speak([new URLSearchParams(location.search).get('lang'), progress.language,
  ...navigator.languages].map(spoken).find(Boolean) ?? 'en', words);
document.documentElement.lang = language;
document.body.classList.toggle('lead', leads);
fill(part('app'), el('p.loading', t('loading')));
try {
  use(await load(part('data').textContent));
  addEventListener('hashchange', open);
  await open();
  setTimeout(rest, 100); // after the first picture
} catch (error) {
  fill(part('app'), el('p.problem', {role: 'alert'}, t('failed', {error: error.message})));
  throw error;
}
