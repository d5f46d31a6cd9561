// Play: the page: its words, what it remembers, its addresses, and where it begins.

const app = document.getElementById('app');
const words = JSON.parse(document.getElementById('words').textContent);
// The lessons are beside the page in a checkout, and on GitHub for a page of GitHub Pages. Elsewhere there is no link.
const lessons = /\/docs\/play\/(index\.html)?$/.test(location.pathname) ? '../../'
  : location.hostname.endsWith('.github.io') ? `//github.com/${location.hostname.split('.')[0]}/${location.pathname.split('/')[1]}/blob/HEAD/` : '';
const leads = new URLSearchParams(location.search).has('lead');
const all = ['alice', 'bob', 'carol']; // carol tries the lock at the end, if a node is gone
const names = all.slice(0, 2);

// ---- words

let language = 'en';

function t(key, values = {}) {
  const text = words[language]?.[key] ?? words.en[key];
  if (text === undefined) throw new Error(`there is no word for ${key}`);
  return close(text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? ''));
}

// close takes the spaces away that Chinese does not have: between two of its characters, and
// beside its punctuation.
const close = text => text.replace(/(?<=[\p{sc=Han}，。：；、（）“”]) +(?=[\p{sc=Han}，。：；、（）“”])/gu, '');

// fromData is a text of the data, which is English, in the language of the page: as a whole,
// or in its parts.
function fromData(text) {
  const known = text => words[language][`data.${text}`];
  return known(text) ?? text.split('; ').map(part => known(part) ?? part).join(t('semicolon'));
}

// rich makes code of what stands between backquotes.
function rich(text) {
  return text.split('`').map((part, i) => i % 2 ? el('code', {}, part) : part);
}
const plain = text => close(text.replaceAll('`', ''));

// ---- elements

function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props ?? {})) {
    if (v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat().filter(c => c !== undefined && c !== null && c !== false));
  return e;
}

// fill replaces what is in an element.
const fill = (e, ...children) => e.replaceChildren(...children.flat().filter(c => c !== undefined && c !== null && c !== false));

const button = (text, onclick, props = {}) => el('button', {type: 'button', onclick, ...props}, text);

let said = 0;
function say(text) {
  // The same text twice is no change, and would not be said.
  document.getElementById('said').textContent = text + (said++ % 2 ? '\u00a0' : '');
}

// copy puts a text on the clipboard. A page that must not do that shows it, to be copied by hand.
async function copy(text, button) {
  document.getElementById('by-hand')?.remove();
  try {
    await navigator.clipboard.writeText(text);
    if (!button.textContent.startsWith('✓')) button.prepend('✓ ');
    say(t('copied', {text}));
  } catch {
    const area = el('textarea', {id: 'by-hand', readonly: true, rows: 3, 'aria-label': t('copyFailed')}, text);
    button.parentElement.append(area);
    area.focus();
    area.select();
  }
}

// home is the address of the page for others: the public one, or that which the reader has, if others can reach it.
const home = () => data.Home || (location.protocol.startsWith('http') && !/^(localhost|127\.|10\.|192\.168\.|\[)/.test(location.hostname) ? location.href.replace(/[?#].*/, '') : '');

// shared is what leads others to a level: a link, or the command in a clone.
const shared = at => home() ? `${home()}#${at}` : `go run ./docs/play ${at}`;

// ---- progress

const store = 'redislock-play', ranks = ['new', 'seen', 'shown', 'holds', 'broken'];
let progress = {};
try {
  const {levels, language} = JSON.parse(localStorage.getItem(store)) ?? {};
  // What an older or a newer page has left there may say something else.
  progress = {levels: Object.fromEntries(Object.entries(levels ?? {}).filter(([, state]) => ranks.includes(state))), language: typeof language === 'string' ? language : undefined};
} catch { /* it is not kept */ }
function keep() {
  try { localStorage.setItem(store, JSON.stringify(progress)); } catch { /* it is not kept */ }
}
const stateOf = id => progress.levels?.[id] ?? 'new';
function note(id, state) {
  if (ranks.indexOf(state) <= ranks.indexOf(stateOf(id))) return;
  if (stateOf(id) === 'shown' && state !== 'shown' && game?.shown) return;
  progress.levels = {...progress.levels, [id]: state};
  keep();
}

// ---- levels

let data, graph, levels;
const levelOf = p => levelAt(p.Step, p.Fault);
const onWay = () => data.Path.filter(levelOf); // those of the way that this page has
const placeOf = l => data.Own ? -1 : data.Path.findIndex(p => p.Step === l.Step && p.Fault === l.Fault);
const hardOf = l => data.Own ? undefined : data.Hard.find(p => p.Step === l.Step && p.Fault === l.Fault);
// goals are those of the way, and of the hard ones. Elsewhere it is anything that a lock must not allow.
const goals = () => data.goals ??= data.Own ? {} : Object.fromEntries([...data.Path, ...data.Hard].map(p => [cellName(p), p]));
const titleOf = l => placeOf(l) >= 0 ? t(`level.${cellName(l)}.goal`) : upper(t(`fault.${l.Fault}`)) + (hardOf(l) ? t('colon') + t(`kind.${hardOf(l).Goal}`) : '');
const chapterOf = l => Math.max(1, l.Step);
const solved = l => ['broken', 'holds'].includes(stateOf(cellName(l)));
const stepName = n => n === 9 ? 'fencing' : String(n).padStart(2, '0');
const cellName = l => `${String(l.Step).padStart(2, '0')}/${l.Fault}`;
const levelAt = (step, fault) => levels.find(l => l.Step === step && l.Fault === fault);
const stepTitle = n => n === 0 ? t('step.before') : n === 9 ? t('step.fencing') : t('step', {step: stepName(n)});
const lockOf = n => data.Locks.find(l => l.Step === n);
const nodesOf = l => l.Nodes === 1 ? [t('node.one')] : Array.from({length: l.Nodes}, (_, i) => t('node.many', {n: i + 1}));

// ---- what the address says

function open() {
  let hash = '';
  try { hash = decodeURIComponent(location.hash.slice(1)); } catch { hash = location.hash; }
  leaveChapter();
  const [n, ...level] = hash.split('/');
  if (hash.startsWith('build')) return showBench(hash);
  if (/^[1-9]$/.test(n) && !data.Own) return showChapter(Number(n), level.join('/'));
  const problem = hash === '' ? '' : openSchedule(hash);
  if (hash !== '' && !problem) return;
  game = null;
  showMenu(problem);
}

// openSchedule opens a name as replay reads it. It returns what is wrong with it.
function openSchedule(text) {
  const [, name, beat] = text.trim().match(/^(.*?)(?:\?beat=(\d{1,2}))?$/s), id = name.match(/\d\d\/[\w-]+(\/[\w-]*)*$/)?.[0] ?? name;
  const part = id.split('/'), level = levelAt(Number(part[0]), part[1]);
  if (!level || part.length > 3) return t('menu.noSchedule', {name: name.slice(0, 80)});
  if (!graph.cells.has(cellName(level))) return t('menu.random');
  const {edges, rest} = graph.follow(graph.cells.get(cellName(level)), part[2] ?? '');
  if (rest !== '') return t('menu.noSchedule', {name: name.slice(0, 80)});
  if (game?.level !== level) game = newGame(level);
  if (Number(beat) >= along([]).steps[0]) game.beat = Number(beat); // nobody can have needed less
  game.path = edges;
  game.ahead = [];
  app.replaceChildren();
  arrived();
  return '';
}

// ---- the frame of all views

function frame(...children) {
  const languages = Object.keys(words);
  const select = languages.length > 1 && el('select', {
    id: 'language', 'aria-label': t('languages'), onchange: e => { setLanguage(e.target.value); app.replaceChildren(); const at = chapter?.at ?? 0; open(); if (at > 0) toBeat(at); },
  }, languages.map(l => el('option', {value: l, lang: l, selected: l === language}, words[l].language)));
  app.replaceChildren(
    el('header', {class: 'top'}, el('a', {href: '#', class: 'brand'}, el('span', {class: 'mark', 'aria-hidden': 'true'}), t('title')), el('span', {class: 'space'}), !data.Own && bar(), select, button(t('help'), help, {id: 'help', 'aria-keyshortcuts': '?'})),
    ...children,
  );
}

function setLanguage(l) {
  language = l;
  document.documentElement.lang = l;
  progress.language = l;
  keep();
  const here = new URL(location);
  if (!here.searchParams.has('lang')) return;
  here.searchParams.set('lang', l); // else it would be the other language again, loaded again
  history.replaceState(null, '', here);
}

function help() {
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

// ---- the menu

// bar leads to each chapter and to the bench, and says where the reader is and has been.
const bar = () => el('nav', {class: 'chapters', 'aria-label': t('chapters')}, data.Chapters.map(({Step: n}) => el('a', {
  href: `#${n}`, class: completed(n) ? 'done' : '', 'aria-current': chapter?.n === n ? 'page' : undefined, 'aria-label': `${t('chapter', {n})}${t('colon')}${t(`chapter.${n}.title`)}`,
}, String(n))), el('a', {href: '#build', 'aria-current': location.hash.startsWith('#build') ? 'page' : undefined}, t('bench.short')));

const levelsOf = n => onWay().map(levelOf).filter(l => chapterOf(l) === n);
const completed = n => levelsOf(n).length > 0 && levelsOf(n).every(solved);

function showMenu(problem = '') {
  document.title = t('title');
  document.body.classList.remove('choosing');
  delete app.dataset.level;
  const way = onWay().map(levelOf), next = way.find(l => !solved(l)), playable = levels.filter(l => graph.cells.has(cellName(l)));
  const clear = button(t('menu.clear'), () => {
    if (clear.dataset.sure) {
      progress = {language: progress.language};
      keep();
      showMenu();
      say(t('menu.cleared'));
    }
    clear.dataset.sure = 'yes';
    clear.textContent = t('menu.clearSure');
  }, {id: 'clear', class: 'quiet'});
  const medal = !data.Own && !next;
  frame(el('main', {class: 'menu', tabindex: '-1'},
    el('p', {class: 'problem', role: 'alert'}, rich(problem)),
    el('section', {class: 'hero'}, el('h1', {}, t('title')), el('p', {class: 'intro'}, t('menu.lead')),
      next && el('p', {class: 'start'}, el('a', {class: 'button primary', id: 'start', href: `#${chapterOf(next)}`}, t(way.some(solved) ? 'menu.goOn' : 'menu.start')), ' ', el('span', {id: 'way'}, t('menu.way', {solved: way.filter(solved).length, all: way.length})))),
    medal && el('section', {class: 'medal', 'aria-labelledby': 'medal'}, el('h2', {id: 'medal'}, el('span', {'aria-hidden': 'true'}, '🏅 '), t('medal', {all: way.length})), el('p', {}, t('medal.lead', {n: data.Hard.length})),
      el('ol', {class: 'hard'}, data.Hard.map(levelOf).filter(Boolean).map(l => el('li', {}, el('a', {class: 'level', href: `#${cellName(l)}/`}, el('span', {}, `${upper(stepTitle(l.Step))}${t('colon')}`, titleOf(l), ' ', el('small', {}, t('medal.best', {n: graph.aim(hardOf(l).Goal).steps[1][graph.cells.get(cellName(l)).State]}))), sign(cellName(l))))))),
    !data.Own && el('section', {'aria-labelledby': 'path'}, el('h2', {id: 'path'}, t('menu.path')),
      el('ol', {class: 'path'}, data.Chapters.map(({Step: n}) => el('li', {}, el('a', {class: 'level', href: `#${n}`}, el('span', {}, el('strong', {}, `${n}. ${t(`chapter.${n}.title`)}`), ' ', el('small', {}, fromData(lockOf(n).Lock))), el('span', {class: `sign ${completed(n) ? 'holds' : ''}`}, completed(n) ? '✓' : t('menu.levels', {solved: levelsOf(n).filter(solved).length, all: levelsOf(n).length})))))),
      el('p', {class: 'start'}, el('a', {class: 'button', id: 'bench', href: '#build'}, t('menu.bench')), ' ', el('span', {}, t('menu.benchLead')))),
    el('section', {'aria-labelledby': 'all'}, el('details', {open: data.Own}, el('summary', {}, el('h2', {id: 'all'}, t('menu.all'))), el('p', {}, t('menu.allLead')), matrix())),
    el('footer', {}, el('span', {id: 'progress'}, t('menu.progress', {solved: levels.filter(solved).length, all: playable.length})), ' ', clear)));
}

const sign = id => el('span', {class: `sign ${stateOf(id)}`}, t(`sign.${stateOf(id)}`));

const boss = l => data.Path[placeOf(l)]?.Boss && el('span', {class: 'boss'}, t('boss'));

// upper begins a sentence, if it does not begin with a name of a lane.
const upper = s => names.some(n => s.startsWith(n)) ? s : s[0].toUpperCase() + s.slice(1);
// inProse is a client's name in a sentence.
const inProse = who => language === 'en' ? who[0].toUpperCase() + who.slice(1) : who;

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

// ---- keys

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
  if (e.key === '?') return help();
  if (document.querySelector('dialog')) return;
  const free = !e.target.closest?.('a, button, summary'), n = e.key === '0' ? 10 : Number(e.key);
  if (chapter && chapterKey(e.key, n, free)) return e.preventDefault();
  if (!game) return;
  if (n >= 1 && n <= 10) {
    if (options[n - 1]) choose(options[n - 1].edge);
  } else if (e.key === 'u' || e.key === 'ArrowLeft') undo();
  else if (e.key === 'ArrowRight') redo();
  else if (e.key === 'h') hint();
  else if (e.key === 'Enter' && free && document.querySelector('#outcome .primary')) document.querySelector('#outcome .primary').click();
  else if (e.key === 'r' && leads) reveal();
  else return;
  e.preventDefault();
});

addEventListener('hashchange', open);
new ResizeObserver(() => {
  const box = part('picture');
  if (!box || box.clientWidth === drawnWidth) return;
  if (chapter && !chapter.playing) return draw();
  if (!game) return;
  const played = run();
  showPicture(played, rows(played.records).filter(r => !leads || game.revealed || r.who !== '**'));
}).observe(document.body);

// ---- begin

document.body.classList.toggle('lead', leads);
const spoken = wanted => Object.keys(words).find(l => l === wanted) ?? Object.keys(words).find(l => wanted?.split('-')[0] === l.split('-')[0]);
language = [new URLSearchParams(location.search).get('lang'), progress.language, ...navigator.languages].map(spoken).find(Boolean) ?? 'en';
document.documentElement.lang = language;
fill(app, el('p', {class: 'loading'}, t('loading')));
try {
  data = await load(document.getElementById('data').textContent);
  graph = data.graph, levels = data.Levels;
  open();
} catch (error) {
  app.replaceChildren(el('p', {class: 'problem', role: 'alert'}, t('failed', {error: error.message})));
  throw error;
}
