// Menu: where the page begins, and the frame of all views.

import {button, el, fill, leads, part, rich, say, send} from './dom.mjs';
import {Game} from './game.mjs';
import {shared} from './level.mjs';
import {cellName, chapterOf, completed, data, graph, levelAt, levelOf, levels, levelsOf, lockOf, onWay,
  placeOf, solved, stepName, stepTitle, titleOf} from './levels.mjs';
import {forget, keep, now, progress, stateOf} from './store.mjs';
import {fromData, language, speak, t, upper, words} from './words.mjs';

// frame shows a view, with the bar above it, and what is between the two.
export function frame(name, title, children, between) {
  const entered = document.querySelector('main'), choose = e => setLanguage(e.target.value);
  const option = l => el('option', {value: l, lang: l, selected: l === language}, words[l].language);
  document.title = title ? `${title} – ${t('title')}` : t('title');
  fill(part('app'),
    el('header.top', el('a.brand', {href: '#menu'}, el('span.mark', {'aria-hidden': true}), t('title')),
      el('span.space'), !data.Own && !/^#?(start.*|menu)?$/.test(location.hash) && bar(),
      el('select#language', {'aria-label': t('languages'), onchange: choose}, Object.keys(words).map(option)),
      button(t('help'), help, {id: 'help', 'aria-keyshortcuts': '?'})),
    between, el(`main.${name}`, {tabindex: '-1'}, ...children));
  if (entered) document.querySelector('h1').focus({preventScroll: true});
}

function setLanguage(l) {
  speak(l);
  document.documentElement.lang = l;
  progress.language = l;
  keep();
  const here = new URL(location);
  if (here.searchParams.has('lang')) {
    here.searchParams.set('lang', l); // otherwise it would be the other language again, loaded again
    history.replaceState(null, '', here);
  }
  dispatchEvent(new Event('hashchange')); // the same, in the other language
}

export function help() {
  const old = document.querySelector('dialog');
  if (old) return old.close();
  const kbd = k => k === '…' ? ' … ' : el('kbd', k);
  const keys = {'1 … 9': 'choose', u: 'undo', '↵': 'next', '← →': 'move', h: 'hint',
    ...leads && {r: 'reveal'}, '?': 'help'};
  const terms = ['inside', 'holder', 'resource', 'reads', 'ttl', 'token', 'node'];
  const dialog = el('dialog', {'aria-labelledby': 'help-title', onclose: () => dialog.remove()},
    el('h2#help-title', t('help.title')), el('p', t('help.body')),
    el('h3', t('help.keys')), el('table.keys', el('tbody', Object.entries(keys).map(([press, word]) =>
      el('tr', el('th', {scope: 'row'}, press.split(' ').map(kbd)), el('td', t(`help.key.${word}`)))))),
    el('h3', t('help.words')),
    el('dl.words', terms.flatMap(term => [el('dt', t(`word.${term}`)), el('dd', t(`word.${term}.is`))])),
    el('h3', t('help.picture')), el('p', t('help.pictureBody')),
    el('h3', t('help.lead')), el('p', t('help.leadBody')),
    button(t('help.close'), () => dialog.close(), {class: 'primary', autofocus: true}));
  document.body.append(dialog);
  dialog.showModal();
  dialog.scrollTop = 0; // the button that closes it has the focus, at its end
}

// bar leads to each chapter and to the bench, and says where the reader is and has been.
function bar() {
  const link = (href, name, here, props) => el('a', {href, 'aria-current': here && 'page', ...props}, name);
  const chapters = data.Chapters.map(({Step: n}) => link(`#${n}`, String(n), now.place.chapter === n,
    {class: completed(n) && 'done', 'aria-label': t('chapter', {n}) + t('colon') + t(`chapter.${n}.title`)}));
  return el('nav.chapters', {'aria-label': t('chapters')}, chapters,
    link('#build', t('bench.short'), location.hash.startsWith('#build')));
}

// placeIn is the address of a level in its chapter.
const placeIn = l => `#${chapterOf(l)}.${1 + data.Chapters.find(c => c.Step === chapterOf(l))
  .Beats.findIndex(b => b.Level === cellName(l))}`;

// isDone reports whether the whole way has been solved.
export const isDone = () => !data.Own && onWay().map(levelOf).every(solved);

export function showMenu(problem = '') {
  const way = onWay().map(levelOf), next = way.find(l => !solved(l));
  const playable = levels.filter(l => graph.cells.has(cellName(l)));
  const clear = button(t('menu.clear'), () => {
    if (clear.dataset.sure) {
      forget();
      showMenu();
      say(t('menu.cleared'));
    }
    clear.dataset.sure = 'yes';
    clear.textContent = t('menu.clearSure');
  }, {id: 'clear', class: 'quiet'});
  const link = (href, text, cls, id) => el('a', {href, class: `button ${cls ?? ''}`, id}, text),
    done = way.filter(solved).length;
  const hard = l => el('li', el('a.level', {href: `#${cellName(l)}/`}, el('span', upper(stepTitle(l.Step)),
    t('colon'), titleOf(l), ' ', el('small', t('medal.best', {n: new Game(l).best}))), sign(cellName(l))));
  const chapter = ({Step: n, Beats}) => el('li', el('a', {href: `#${n}`,
    class: `level ${completed(n) ? 'done' : ''}`},
    el('span', el('strong', `${n}. ${t(`chapter.${n}.title`)}`), ' ', el('small', fromData(lockOf(n).Lock))),
    completed(n) ? el('span.sign.holds', '✓') : el('span.sign', t('menu.levels',
      {solved: levelsOf(n).filter(solved).length, all: levelsOf(n).length})),
    thumb(Beats.findLast(b => b.Breaks).Show)));
  // What is sent is a row of squares: which levels are solved, not how.
  const sent = () => `${t('title')}: ${done}/${way.length}\n${data.Chapters.map(({Step: n}) =>
    levelsOf(n).map(l => solved(l) ? '🟩' : '⬜').join('')).join(' ')}\n${shared('')}`;
  const share = done > 0 && button(t('pairs.send'), e => send(sent(), e.currentTarget), {id: 'share'});
  frame('menu', '', [
    el('p.problem', {role: 'alert'}, rich(problem)),
    el('section.hero', el('h1', {tabindex: '-1'}, t('title')), el('p.intro', t('menu.lead')),
      next && el('p.start',
        link(done ? placeIn(next) : '#1', t(done ? 'menu.goOn' : 'menu.start'), 'primary', 'start'), ' ',
        el('span#way', t('menu.way', {solved: done, all: way.length})), share)),
    isDone() && el('section.medal', {'aria-labelledby': 'medal'},
      el('h2#medal', el('span', {'aria-hidden': true}, '★ '), t('medal', {all: way.length})),
      el('p.start', link('#pairs', t('medal.pairs'), 'primary'), share),
      el('p', t('medal.lead', {n: data.Hard.length})),
      el('ol.hard', data.Hard.map(levelOf).filter(Boolean).map(hard))),
    !data.Own && el('section', {'aria-labelledby': 'path'}, el('h2#path', t('menu.path')),
      el('ol.path', data.Chapters.map(chapter)),
      el('p.start', link('#build', t('menu.bench'), '', 'bench'), ' ', el('span', t('menu.benchLead')),
        link('#pairs', t('pairs.short')))),
    el('section', {'aria-labelledby': 'all'}, el('details', {open: data.Own},
      el('summary', el('h2#all', t('menu.all'))), el('p', t('menu.allLead')), matrix())),
    el('footer', el('span#progress', t('menu.progress', {solved: levels.filter(solved).length,
      all: playable.length})), ' ', clear),
  ]);
}

// thumb is a small picture of a schedule.
function thumb(show) {
  const [step, fault, path] = show.split('/'), board = el('lock-board', {'aria-hidden': 'true'});
  board.show({cell: `${step}/${fault}`, path});
  return el('div.thumb', board);
}

export const sign = id => el('span', {class: `sign ${stateOf(id)}`}, t(`sign.${stateOf(id)}`));

export const boss = l => data.Path[placeOf(l)]?.Boss && el('span.boss', t('boss'));

function matrix() {
  const steps = [...new Set(levels.map(l => l.Step))].filter(n => n > 0).sort((a, b) => a - b);
  const head = n => el('th', {scope: 'col'}, n === 9 ? t('step.fencing') : stepName(n));
  const cell = l => {
    const id = l && cellName(l), state = stateOf(id);
    if (!graph.cells.has(id)) return el('td', {title: t(l ? 'menu.random' : 'menu.absent')}, '–');
    const values = {step: stepTitle(l.Step), fault: t(`fault.${l.Fault}`), state: t(`state.${state}`)};
    return el('td', el('a', {href: `#${id}/`, class: `cell ${state}`, 'aria-label': t('menu.level', values)},
      {new: '·', seen: '…', shown: '?', broken: '✗', holds: '✓'}[state]));
  };
  const row = fault => el('tr', el('th', {scope: 'row'}, t(`fault.${fault}`)),
    steps.map(n => cell(levelAt(n, fault))));
  return el('div.scroll', {tabindex: '0', role: 'group', 'aria-labelledby': 'all'}, el('table.matrix',
    el('thead', el('tr', el('th', {scope: 'col'}, t('menu.fault')), steps.map(head))),
    el('tbody', [...new Set(levels.map(l => l.Fault))].map(row))));
}
