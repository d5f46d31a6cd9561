// Menu: where the page begins, and the frame of all views.

import {button, el, leads, part, rich, say} from './dom.mjs';
import {
  cellName, chapterOf, completed, data, graph, hardOf, levelAt, levelOf, levels, levelsOf, lockOf,
  onWay, placeOf, solved, stepName, stepTitle, titleOf,
} from './levels.mjs';
import {forget, keep, now, progress, stateOf} from './store.mjs';
import {fromData, language, speak, t, upper, words} from './words.mjs';

export function frame(...children) {
  const languages = Object.keys(words);
  const select = languages.length > 1 && el('select', {
    id: 'language', 'aria-label': t('languages'), onchange: e => setLanguage(e.target.value),
  }, languages.map(l => el('option', {value: l, lang: l, selected: l === language}, words[l].language)));
  const entered = document.querySelector('main');
  part('app').replaceChildren(
    el('header', {class: 'top'}, el('a', {href: '#menu', class: 'brand'}, el('span', {class: 'mark', 'aria-hidden': 'true'}), t('title')), el('span', {class: 'space'}), !data.Own && !/^#?(start.*|menu)?$/.test(location.hash) && bar(), select, button(t('help'), help, {id: 'help', 'aria-keyshortcuts': '?'})),
    ...children,
  );
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
  const key = (k, word) => el('tr', {}, el('th', {scope: 'row'}, k.split(' ').map(k => k === '…' ? ' … ' : el('kbd', {}, k))), el('td', {}, t(word)));
  const dialog = el('dialog', {'aria-labelledby': 'help-title', onclose: () => dialog.remove()},
    el('h2', {id: 'help-title'}, t('help.title')), el('p', {}, t('help.body')),
    el('h3', {}, t('help.keys')),
    el('table', {class: 'keys'}, el('tbody', {}, key('1 … 9', 'help.key.choose'), key('u', 'help.key.undo'), key('↵', 'help.key.next'), key('← →', 'help.key.move'), key('h', 'help.key.hint'), leads && key('r', 'help.key.reveal'), key('?', 'help.key.help'))),
    el('h3', {}, t('help.words')), el('dl', {class: 'words'}, ['inside', 'holder', 'resource', 'reads', 'ttl', 'token', 'node'].flatMap(word => [el('dt', {}, t(`word.${word}`)), el('dd', {}, t(`word.${word}.is`))])),
    el('h3', {}, t('help.picture')), el('p', {}, t('help.pictureBody')),
    el('h3', {}, t('help.lead')), el('p', {}, t('help.leadBody')),
    button(t('help.close'), () => dialog.close(), {class: 'primary', autofocus: true}));
  document.body.append(dialog);
  dialog.showModal();
}

// bar leads to each chapter and to the bench, and says where the reader is and has been.
const bar = () => el('nav', {class: 'chapters', 'aria-label': t('chapters')}, data.Chapters.map(({Step: n}) => el('a', {
  href: `#${n}`, class: completed(n) ? 'done' : '', 'aria-current': now.place.chapter === n ? 'page' : undefined, 'aria-label': `${t('chapter', {n})}${t('colon')}${t(`chapter.${n}.title`)}`,
}, String(n))), el('a', {href: '#build', 'aria-current': location.hash.startsWith('#build') ? 'page' : undefined}, t('bench.short')));

// isDone reports whether the whole way has been solved.
export const isDone = () => !data.Own && onWay().map(levelOf).every(solved);

export function showMenu(problem = '') {
  document.title = t('title');
  const way = onWay().map(levelOf), next = way.find(l => !solved(l)), playable = levels.filter(l => graph.cells.has(cellName(l)));
  const clear = button(t('menu.clear'), () => {
    if (clear.dataset.sure) {
      forget();
      showMenu();
      say(t('menu.cleared'));
    }
    clear.dataset.sure = 'yes';
    clear.textContent = t('menu.clearSure');
  }, {id: 'clear', class: 'quiet'});
  const medal = isDone();
  frame(el('main', {class: 'menu', tabindex: '-1'},
    el('p', {class: 'problem', role: 'alert'}, rich(problem)),
    el('section', {class: 'hero'}, el('h1', {tabindex: '-1'}, t('title')), el('p', {class: 'intro'}, t('menu.lead')),
      next && el('p', {class: 'start'}, el('a', {class: 'button primary', id: 'start', href: `#${chapterOf(next)}`}, t(way.some(solved) ? 'menu.goOn' : 'menu.start')), ' ', el('span', {id: 'way'}, t('menu.way', {solved: way.filter(solved).length, all: way.length})))),
    medal && el('section', {class: 'medal', 'aria-labelledby': 'medal'}, el('h2', {id: 'medal'}, el('span', {'aria-hidden': 'true'}, '🏅 '), t('medal', {all: way.length})), el('p', {class: 'start'}, el('a', {class: 'button primary', href: '#pairs'}, t('medal.pairs'))), el('p', {}, t('medal.lead', {n: data.Hard.length})),
      el('ol', {class: 'hard'}, data.Hard.map(levelOf).filter(Boolean).map(l => el('li', {}, el('a', {class: 'level', href: `#${cellName(l)}/`}, el('span', {}, `${upper(stepTitle(l.Step))}${t('colon')}`, titleOf(l), ' ', el('small', {}, t('medal.best', {n: graph.aim(hardOf(l).Goal).steps[1][graph.cells.get(cellName(l)).State]}))), sign(cellName(l))))))),
    !data.Own && el('section', {'aria-labelledby': 'path'}, el('h2', {id: 'path'}, t('menu.path')),
      el('ol', {class: 'path'}, data.Chapters.map(({Step: n}) => el('li', {}, el('a', {class: 'level', href: `#${n}`}, el('span', {}, el('strong', {}, `${n}. ${t(`chapter.${n}.title`)}`), ' ', el('small', {}, fromData(lockOf(n).Lock))), el('span', {class: `sign ${completed(n) ? 'holds' : ''}`}, completed(n) ? '✓' : t('menu.levels', {solved: levelsOf(n).filter(solved).length, all: levelsOf(n).length})))))),
      el('p', {class: 'start'}, el('a', {class: 'button', id: 'bench', href: '#build'}, t('menu.bench')), ' ', el('span', {}, t('menu.benchLead')), el('a', {class: 'button', href: '#pairs'}, t('pairs.short')))),
    el('section', {'aria-labelledby': 'all'}, el('details', {open: data.Own}, el('summary', {}, el('h2', {id: 'all'}, t('menu.all'))), el('p', {}, t('menu.allLead')), matrix())),
    el('footer', {}, el('span', {id: 'progress'}, t('menu.progress', {solved: levels.filter(solved).length, all: playable.length})), ' ', clear)));
}

export const sign = id => el('span', {class: `sign ${stateOf(id)}`}, t(`sign.${stateOf(id)}`));

export const boss = l => data.Path[placeOf(l)]?.Boss && el('span', {class: 'boss'}, t('boss'));

function matrix() {
  const steps = [...new Set(levels.map(l => l.Step))].filter(n => n > 0).sort((a, b) => a - b), faults = [...new Set(levels.map(l => l.Fault))];
  return el('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'all'}, el('table', {class: 'matrix'},
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, t('menu.fault')), steps.map(n => el('th', {scope: 'col'}, n === 9 ? t('step.fencing') : stepName(n))))),
    el('tbody', {}, faults.map(f => el('tr', {}, el('th', {scope: 'row'}, t(`fault.${f}`)), steps.map(n => {
      const l = levelAt(n, f);
      if (!l) return el('td', {title: t('menu.absent')}, '–');
      const id = cellName(l);
      if (!graph.cells.has(id)) return el('td', {title: t('menu.random')}, '–');
      const state = stateOf(id);
      return el('td', {}, el('a', {href: `#${id}/`, class: `cell ${state}`, 'aria-label': t('menu.level', {step: stepTitle(n), fault: t(`fault.${f}`), state: t(`state.${state}`)})}, {new: '·', seen: '…', shown: '?', broken: '✗', holds: '✓'}[state]));
    }))))));
}

