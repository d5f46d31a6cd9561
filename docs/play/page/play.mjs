// Play: the page. It shows a state of the graph, offers what can be chosen there, and
// remembers what was.

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

// home is the address of the page for others.
const home = location.href.replace(/[?#].*/, '');

// ---- progress

const store = 'redislock-play';
let progress = {};
try { progress = JSON.parse(localStorage.getItem(store)) ?? {}; } catch { /* it is not kept */ }
function keep() {
  try { localStorage.setItem(store, JSON.stringify(progress)); } catch { /* it is not kept */ }
}
const stateOf = id => progress.levels?.[id] ?? 'new';
function note(id, state) {
  const rank = ['new', 'seen', 'shown', 'holds', 'broken'];
  if (rank.indexOf(state) <= rank.indexOf(stateOf(id))) return;
  if (stateOf(id) === 'shown' && state !== 'shown' && game?.shown) return;
  progress.levels = {...progress.levels, [id]: state};
  keep();
}

// ---- levels

let data, graph, levels;
const levelOf = p => levelAt(p.Step, p.Fault);
const onWay = () => data.Path.filter(levelOf); // those of the way that this page has
const placeOf = l => data.Own ? -1 : data.Path.findIndex(p => p.Step === l.Step && p.Fault === l.Fault);
const goalOf = l => data.Path[placeOf(l)]?.Goal ?? ''; // '' is anything that a lock must not allow
const titleOf = l => placeOf(l) < 0 ? upper(t(`fault.${l.Fault}`)) : t(`level.${cellName(l)}.goal`);
const solved = l => ['broken', 'holds'].includes(stateOf(cellName(l)));
const stepName = n => n === 9 ? 'fencing' : String(n).padStart(2, '0');
const cellName = l => `${String(l.Step).padStart(2, '0')}/${l.Fault}`;
const levelAt = (step, fault) => levels.find(l => l.Step === step && l.Fault === fault);
const stepTitle = n => n === 0 ? t('step.before') : n === 9 ? t('step.fencing') : t('step', {step: stepName(n)});
const lockOf = n => data.Locks.find(l => l.Step === n);
const nodesOf = l => l.Nodes === 1 ? [t('node.one')] : Array.from({length: l.Nodes}, (_, i) => t('node.many', {n: i + 1}));

const when = {
  'crash-acquire': 'acquiring', 'crash-hold': 'holding', 'crash-waits': 'holding', 'crash-release': 'releasing', slow: 'busy', pause: 'busy', 'pause-waits': 'busy',
  resent: 'inFlight', 'resent-waits': 'inFlight', unsent: 'inFlight', 'nested-resent': 'inFlight', deadline: 'inFlight', 'late-set': 'inFlight', 'slow-answer': 'inFlight',
  'late-reply': 'inFlight', 'late-write': 'write', 'slow-answers': 'holding', 'renewal-once': 'holding', 'renewal-all': 'holding', dead: 'holding', healed: 'holding',
  healing: 'holding', stolen: 'holdingReleasing', deleted: 'holdingReleasing',
};

// who does what an option stands for: a client, or F, T, W.
const whoOf = label => names.find(n => n[0] === label[0].toLowerCase() && label[0] !== 'F') ?? label[0];

// saying is an option in words. Of a command it has the name.
function saying(level, o) {
  const who = whoOf(o.label), first = o.label[0], command = o.text.split(' ')[0];
  if (first === 'F') return striking(level, command);
  if (first === 'T') return t('do.T');
  if (first === 'W') return t(`do.W.${level.Fault}`);
  if (first === first.toUpperCase()) return t(`do.${o.text}`, {who});
  const node = level.Nodes === 1 ? t('node.one') : t('node.many', {n: o.label[1]});
  return t(o.label.includes('_') ? 'do.overtakes' : 'do.command', {who, command, node});
}

const striking = (level, command) => t(`strike.${level.Fault}`, {command, node: level.Nodes === 1 ? t('node.one') : t('node.many', {n: 1})});

// Before anything has reached Redis, these faults change nothing that matters.
const needACommand = ['slow', 'pause', 'pause-waits', 'failover', 'restart', 'restart-waits', 'restart-late', 'clock'];

// sends reports whether an option has a command of its own to show.
const sends = o => o.text.includes(' ') && (o.label[0] === 'F' || o.label[0] !== o.label[0].toUpperCase());

// ---- a game

let game = null;

function newGame(level) {
  return {level, cell: graph.cells.get(cellName(level)), aim: graph.aim(goalOf(level)), path: [], ahead: [], tried: [], prediction: asks(level) ? undefined : '', hint: 0, shown: false, revealed: false, compare: 0, on: false};
}

// asks reports whether a level begins with a prediction: not the first two, and not before
// the player has seen anything move.
const asks = level => Boolean(progress.levels) && ![0, 1].includes(placeOf(level));

const run = (path = game.path) => graph.play(game.cell, path);
const address = (level, path) => `#${cellName(level)}/${graph.name(path)}`;
const challenge = n => n ? `?beat=${n}` : ''; // behind a level: somebody broke it in n moves

// kindsIn are the letters of the violations in records.
const kindsIn = records => records.filter(r => r.kind === 'verdict').map(r => r.text[0]);

// breaksAt is the number of the choice that reaches the goal, 0 if none does.
const breaksAt = path => path.findIndex(e => game.aim.wrong(e)) + 1;

// lastChance is the number of choices after which a schedule could still break the lock.
function lastChance(states) {
  for (let i = states.length - 1; i >= 0; i--) if (game.aim.violating[states[i]] > 0) return i;
  return -1;
}

// decisive is the index of the choice before which the lock could still hold, and after
// which it could not; -1 if it never could.
function decisive(states, until) {
  for (let i = until - 1; i >= 0; i--) if (game.aim.violating[states[i]] < graph.all[states[i]]) return i;
  return -1;
}

function remember() {
  const name = graph.name(game.path);
  if (name === '' || game.tried.some(b => b.name.startsWith(name))) return;
  game.tried = game.tried.filter(b => !name.startsWith(b.name));
  game.tried.push({name, path: [...game.path]});
  game.tried.sort((a, b) => a.name < b.name ? -1 : 1);
}

function choose(edge) {
  if (game.ahead[0] === edge) game.ahead.shift();
  else game.ahead = [];
  moved = !still();
  game.path.push(edge);
  arrived();
}

// goTo goes to the state after n choices of a path.
function goTo(path, n) {
  game.ahead = path.slice(n);
  game.path = path.slice(0, n);
  arrived();
}

const whole = () => [...game.path, ...game.ahead];
const undo = () => game.path.length > 0 && goTo(whole(), game.path.length - 1);
const redo = () => game.ahead.length > 0 && goTo(whole(), game.path.length + 1);

function arrived() {
  game.hint = 0;
  remember();
  history.replaceState(null, '', address(game.level, game.path) + challenge(game.beat));
  const {state} = run(), broken = breaksAt(game.path) > 0, id = cellName(game.level);
  if (broken) note(id, game.shown ? 'shown' : 'broken');
  else if (state === End) {
    note(id, game.aim.violating[game.cell.State] === 0 ? 'holds' : 'seen');
  }
  game.revealed = game.revealed && (broken || state === End);
  show();
}

// ---- what the address says

function open() {
  const hash = decodeURIComponent(location.hash.slice(1));
  if (hash === '') {
    game = null;
    return showMenu();
  }
  if (data.Bench && /^build\b/.test(hash)) return showBench(hash);
  const problem = openSchedule(hash);
  if (problem) {
    game = null;
    showMenu(problem);
  }
}

// openSchedule opens a name as replay reads it. It returns what is wrong with it.
function openSchedule(text) {
  const [, name, beat] = text.trim().match(/^(.*?)(?:\?beat=(\d{1,2}))?$/s), id = name.match(/\d\d\/[\w-]+(\/[\w-]*)*$/)?.[0] ?? name;
  const part = id.split('/'), level = levelAt(Number(part[0]), part[1]);
  if (!level || part.length > 3) return t('menu.noSchedule', {name: name.slice(0, 80)});
  if (!graph.cells.has(cellName(level))) return t('menu.random');
  const {edges, rest} = graph.follow(graph.cells.get(cellName(level)), part[2] ?? '');
  if (rest !== '') return t('menu.noSchedule', {name: name.slice(0, 80)});
  if (game?.level !== level) {
    game = newGame(level);
    if (edges.length > 0) game.prediction = '';
  }
  if (Number(beat)) {
    game.beat = Number(beat);
    game.prediction = ''; // that it breaks, the challenge has said
  }
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
    id: 'language', 'aria-label': t('languages'), onchange: e => { setLanguage(e.target.value); app.replaceChildren(); game ? show() : open(); },
  }, languages.map(l => el('option', {value: l, lang: l, selected: l === language}, words[l].language)));
  app.replaceChildren(
    el('header', {class: 'top'}, el('a', {href: '#', class: 'brand'}, el('span', {class: 'mark', 'aria-hidden': 'true'}), t('title')), el('span', {class: 'space'}), select, button(t('help'), help, {id: 'help', 'aria-keyshortcuts': '?'})),
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

function showMenu(problem = '') {
  document.title = t('title');
  document.body.classList.remove('predicting', 'choosing');
  const way = onWay().map(levelOf), next = way.find(l => !solved(l)), playable = levels.filter(l => graph.cells.has(cellName(l)));
  const said = el('p', {class: 'problem', role: 'alert'}, rich(problem));
  const paste = el('input', {id: 'paste', type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: '05/pause/aFbBA', 'aria-describedby': 'paste-hint'});
  const submit = e => {
    e.preventDefault();
    const wrong = openSchedule(paste.value);
    said.replaceChildren(...rich(wrong));
  };
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
  frame(el('main', {class: 'menu', tabindex: '-1'},
    el('section', {class: 'hero'}, el('h1', {}, t('title')), el('p', {class: 'intro'}, t('menu.lead')),
      next && el('p', {class: 'start'}, el('a', {class: 'button primary', id: 'start', href: `#${cellName(next)}/`}, t(way.some(solved) ? 'menu.goOn' : 'menu.start')), ' ', el('span', {id: 'way'}, t('menu.way', {solved: way.filter(solved).length, all: way.length})))),
    el('section', {'aria-labelledby': 'path'}, el('h2', {id: 'path'}, t('menu.path')), 
      el('ol', {class: 'path'}, data.Locks.filter(lock => data.Path.some(p => p.Step === lock.Step)).map(lock => el('li', {},
        el('h3', {}, el('span', {class: 'step'}, stepTitle(lock.Step)), ' ', el('span', {class: 'lock'}, fromData(lock.Lock))),
        way.filter(l => l.Step === lock.Step).map(l => pathLink(l, way.indexOf(l) + 1)))))),
    el('section', {'aria-labelledby': 'all'}, el('details', {open: data.Own}, el('summary', {}, el('h2', {id: 'all'}, t('menu.all'))), el('p', {}, t('menu.allLead')), matrix())),
    el('section', {class: 'open'}, el('form', {onsubmit: submit}, el('label', {for: 'paste'}, t('menu.paste')), ' ', paste, ' ', el('button', {type: 'submit'}, t('menu.open')),
      el('small', {id: 'paste-hint'}, t('menu.pasteHint')), said)),
    el('footer', {}, el('span', {id: 'progress'}, t('menu.progress', {solved: levels.filter(solved).length, all: playable.length})), ' ', clear)));
}

const sign = id => el('span', {class: `sign ${stateOf(id)}`}, t(`sign.${stateOf(id)}`));

function pathLink(l, n) {
  const id = cellName(l);
  return el('a', {class: 'level', href: `#${id}/`}, el('span', {}, `${n}. `, boss(l), titleOf(l)), sign(id));
}

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

// ---- a level

function skeleton() {
  const l = game.level, lock = lockOf(l.Step), none = !['F', 'Fa'].some(() => words.en[`strike.${l.Fault}`]);
  const place = placeOf(l), taught = place >= 0;
  document.title = `${stepTitle(l.Step)}${t('comma')}${taught ? titleOf(l) : t(`fault.${l.Fault}`)} – ${t('title')}`;
  const region = (name, heading, props = {}) => el('section', {class: name, 'aria-labelledby': `h-${name}`, ...props}, el('h2', {id: `h-${name}`}, heading), el('div', {id: name}));
  frame(el('nav', {'aria-label': t('skip')}, el('a', {class: 'skip', href: '#', onclick: e => { e.preventDefault(); document.querySelector('#choices button:not([aria-disabled])')?.focus(); }}, t('skip'))),
    el('main', {class: 'play', tabindex: '-1'},
      el('div', {class: 'title'},
        el('p', {class: 'crumbs'}, el('a', {href: '#'}, '← ', t('back')), taught && el('strong', {id: 'place'}, t('place', {n: place + 1, all: data.Path.length})), el('span', {}, data.Own ? t('own', {step: stepName(l.Step)}) : stepTitle(l.Step)), el('span', {class: 'what'}, fromData(lock.Lock)), lessons && l.Step > 0 && el('a', {href: `${lessons}${lock.Dir}/${t('lesson.page')}`}, t('lesson'))),
        el('h1', {tabindex: '-1'}, boss(l), titleOf(l)),
        el('p', {class: 'goal'}, taught ? rich(t(`level.${cellName(l)}.new`)) : t(l.Step === 9 ? 'goal.fencing' : 'goal'), ' ', el('span', {class: 'rule'}, none ? t('goal.rule.none') : t('goal.rule', {fault: plain(striking(l, t('goal.command')))}))),
        game.beat && el('p', {id: 'challenge'}, t('challenge', {n: game.beat}))),
      el('div', {class: 'board'},
        el('div', {class: 'scene'}, region('now', t('now')), coached() && el('p', {id: 'coach', class: 'coach'}), region('picture', t('picture'), {'aria-hidden': 'true'})),
        el('div', {class: 'side'}, el('div', {id: 'outcome'}), region('predict', t('predict')), region('choices', t('choices')), region('code', t('code')), region('schedule', t('schedule')))),
      region('timeline', t('timeline')),
      el('div', {id: 'compare'}), el('div', {id: 'source'})));
  part('choices').before(coached() ? el('p', {id: 'coach-choice', class: 'coach'}, t('coach.choice')) : '');
  part('choices').after(el('div', {id: 'tools', class: 'tools'}), el('div', {id: 'hints'}));
  drawnWidth = 0;
  card = '';
}

// coached is the first level, where marks say what the lanes are, what a choice does, and
// what it means to be inside.
const coached = () => placeOf(game.level) === 0;

const part = id => document.getElementById(id);
let options = [], drawnWidth = 0, fresh = 0, card = '', moved = false;

function show() {
  const shown = cellName(game.level) + challenge(game.beat) + language;
  if (!part('choices') || app.dataset.level !== shown) {
    const entered = app.dataset.level !== undefined;
    app.dataset.level = shown;
    skeleton();
    fresh = 0;
    scrollTo(0, 0);
    if (entered) document.querySelector('h1').focus({preventScroll: true});
  }
  const played = run(), {states, records, seen, state, at} = played;
  document.body.classList.toggle('predicting', game.prediction === undefined);
  const hidden = leads && !game.revealed; // what is wrong, the room says
  const list = rows(records).filter(r => !hidden || r.who !== '**'), total = seen.length;
  const before = total > 1 ? seen[total - 2] : 0;
  fresh = total > 1 && before < records.length ? records[before].at : 0;
  const {inside} = records.at(-1) ?? {inside: []};
  document.querySelector('.scene').classList.toggle('begins', game.path.length === 0);
  if (coached()) fill(part('coach'), inside.length > 0 ? t('coach.inside', {who: inProse(inside[0])}) : t('coach.lanes'));
  showNow(played);
  showPicture(played, list);
  showPrediction();
  showChoices(played);
  showTools(played);
  showCode(played);
  showHints(played);
  showOutcome(played);
  showSchedule(played);
  showTimeline(played, list, before);
  showCompare();
  const news = list.filter(r => r.first >= before).map(r => text(r, true).trim().replace(/^[\d.]+ms +/, '').replace(/\s+/g, ' '));
  if (game.path.length > 0) say(`${news.join('. ')}. ${card ? part('outcome').querySelector('.told').textContent : notice(played) || (state === End ? t('choices.over') : '')}`);
}

const msLeft = us => us >= 1_000_000 ? `${(us / 1e6).toFixed(1)} s` : `${(us / 1e3).toFixed(1)} ms`;

function showNow({records, at, state}) {
  const l = game.level, last = records.at(-1) ?? {redis: [], inside: []};
  const keys = nodesOf(l).map((node, i) => {
    const k = last.redis[i];
    const has = k?.token && !(k.until && k.until <= at);
    const left = has && k.until ? k.until - at : 0, part = has ? k.until ? Math.min(1, left / 10e6) : 1 : 0;
    const owner = all.indexOf(k?.owner);
    return el('div', {class: `key ${has ? owner >= 0 ? `owner${owner}` : 'other' : 'free'}`},
      el('span', {class: 'node'}, node),
      el('span', {class: 'whose'}, has ? rich(t('now.key', {owner: k.owner, token: k.token.replace(/[<>]/g, '')})) : t('now.free')),
      el('span', {class: 'bar', 'aria-hidden': 'true'}, el('span', {style: `width:${(part * 100).toFixed(1)}%`})),
      el('span', {class: 'left'}, has ? k.until ? t('now.left', {time: msLeft(left)}) : t('now.noTtl') : '\u00a0'));
  });
  const inside = last.inside;
  part('now').replaceChildren(
    el('div', {class: 'keys'}, keys),
    el('div', {class: `inside ${inside.length > 1 ? 'two' : ''}`}, el('span', {class: 'node'}, t('now.inside')),
      inside.length === 0 ? el('span', {class: 'nobody'}, t('now.nobody')) : inside.map(n => el('span', {class: `chip owner${all.indexOf(n)}`}, n)), inside.length > 1 && el('strong', {}, t('now.two'))),
    el('div', {class: 'time'}, t('now.time', {time: clock(at)})));
}

function showPicture({records, seen, at, state}, list) {
  const box = part('picture'), width = Math.max(300, Math.min(760, box.clientWidth - 18));
  drawnWidth = box.clientWidth;
  box.replaceChildren(...diagram({rows: list, records, clients: all.filter(n => names.includes(n) || records.some(r => r.who === n)), nodes: nodesOf(game.level), width, resource: t('resource'), now: at, ended: state === End, fresh: game.path.length > 0 ? fresh : Infinity, moving: moved, flash: moved && records.at(-1)?.inside.length > 1 && !(records[seen.at(-2) - 1]?.inside.length > 1)}));
  moved = false;
  box.scrollTop = box.scrollHeight;
  if (game.path.length > 0 && narrow()) { // what is new stands above the choices
    scrollTo(0, box.getBoundingClientRect().bottom + scrollY - innerHeight * .54);
  }
}

function showPrediction() {
  const section = part('predict').parentElement, open = game.prediction === undefined;
  section.classList.toggle('open', open);
  section.querySelector('h2').hidden = !open;
  if (!open) {
    fill(part('predict'), game.prediction !== '' && el('p', {class: 'was'}, t('predict.was', {prediction: predicted()})));
    return;
  }
  const pick = p => () => {
    game.prediction = p;
    show();
    document.querySelector('#choices button:not([aria-disabled])')?.focus({preventScroll: true});
  };
  const choice = (n, p, word) => button([el('kbd', {'aria-hidden': 'true'}, String(n % 10)), ' ', el('span', {}, word)], pick(p), {class: 'prediction', 'data-predict': p});
  part('predict').replaceChildren(el('div', {class: 'predictions'},
    ['holds', 'breaks', 'unsure'].map((p, i) => choice(i + 1, p, t(`predict.${p}`)))));
}

const predicted = () => t(`predict.${game.prediction}`).toLowerCase();

// notice is what stands above the choices when there is more to say than that.
function notice({states, state, records}) {
  const {aim} = game, root = game.cell.State;
  if (leads && !game.revealed || breaksAt(game.path) > 0 || state === End || game.path.length === 0) return '';
  if (aim.violating[root] > 0 && aim.violating[state] === 0) return t('choices.dead');
  const found = kindsIn(records);
  if (found.length > 0) return t('choices.other', {kind: t(`kind.${found.at(-1)}`)});
  if (aim.violating[state] === graph.all[state] && aim.violating[root] < graph.all[root]) return t('choices.sure');
  return '';
}

function showChoices(played) {
  const {state} = played, box = part('choices'), section = box.parentElement, l = game.level, told = notice(played);
  section.querySelector('h2').textContent = told || t('choices');
  section.classList.toggle('told', told !== '');
  const over = !(leads && !game.revealed) && (breaksAt(game.path) > 0 && !game.on || state === End);
  section.classList.toggle('folded', over);
  const had = part('outcome').contains(document.activeElement) && !over ? 0 : box.contains(document.activeElement) ? [...box.querySelectorAll('button')].indexOf(document.activeElement) : -1;
  options = [];
  const list = [], unexplored = [];
  if (state === End) list.push(el('p', {class: 'over'}, t('choices.over')));
  else if (game.prediction !== undefined) {
    const idle = graph.idle(state), edges = graph.edges(state);
    const add = (o, cls) => {
      const words = saying(l, o), off = o.to === Unexplored;
      if (!off) options.push(o);
      const n = options.length;
      (off ? unexplored : list).push(button([el('kbd', {'aria-hidden': 'true'}, off ? '' : n < 10 ? String(n) : n === 10 ? '0' : ''), el('span', {class: 'words'}, rich(upper(words)), off ? el('small', {}, t('why.unexplored')) : sends(o) && el('small', {}, el('code', {}, o.text)))],
        off ? undefined : () => choose(o.edge), {class: `choice ${cls}`, 'data-label': o.label, 'aria-disabled': off ? 'true' : undefined, 'aria-keyshortcuts': !off && n <= 10 ? String(n % 10) : undefined}));
    };
    const never = (words, cls) => list.push(button([el('kbd', {'aria-hidden': 'true'}, ''), el('span', {class: 'words'}, words)], undefined, {class: `choice ${cls}`, 'aria-disabled': 'true'}));
    names.forEach((name, i) => {
      const own = edges.filter(o => whoOf(o.label) === name);
      own.forEach(o => add(o, `owner${i}`));
      if (own.length === 0) never(t(`why.${idle[i] === '.' ? 'w' : idle[i]}`, {who: name}), `owner${i}`);
    });
    const early = game.path.length === 0 && needACommand.includes(l.Fault), others = edges.filter(o => !names.includes(whoOf(o.label)) && !(early && o.label[0] === 'F'));
    others.forEach(o => add(o, 'fault'));
    if (words.en[`strike.${l.Fault}`] && !others.some(o => o.label[0] === 'F')) {
      const struck = game.path.some(e => graph.options[graph.option[e]].label[0] === 'F');
      never(struck ? t('why.struck') : early ? t('why.early') : t('why.notNow', {when: t(`when.${when[l.Fault] ?? 'anybody'}`)}), 'fault');
    }
  }
  box.replaceChildren(...list, ...unexplored);
  if (had >= 0) (box.querySelectorAll('button:not([aria-disabled])')[0] ?? part('tools').querySelector('button'))?.focus({preventScroll: true});
  document.body.classList.toggle('choosing', !over && state !== End && game.prediction !== undefined);
}

function showTools({state}) {
  part('tools').replaceChildren(
    button(t('undo'), undo, {id: 'undo', 'aria-keyshortcuts': 'u', 'aria-disabled': game.path.length === 0 ? 'true' : undefined}),
    button(t('redo'), redo, {id: 'redo', 'aria-disabled': game.ahead.length === 0 ? 'true' : undefined}),
    button(t('restart'), () => goTo(whole(), 0), {id: 'restart', 'aria-disabled': game.path.length === 0 ? 'true' : undefined}),
    button(t('hint'), hint, {id: 'hint', 'aria-keyshortcuts': 'h'}));
}

function hint() {
  if (game.hint < 3) game.hint++;
  const {state} = run();
  if (game.hint === 3 && state !== End && game.aim.steps[state] < Infinity && breaksAt(game.path) === 0) {
    game.shown = true;
    note(cellName(game.level), 'shown');
  }
  show();
  say(part('hints').textContent);
}

function showHints(played) {
  const box = part('hints');
  box.replaceChildren();
  document.querySelectorAll('.choice.hinted').forEach(e => e.classList.remove('hinted'));
  if (game.hint === 0) return;
  const {states, state} = played, l = game.level, list = [];
  const root = game.cell.State, chance = lastChance(states);
  if (breaksAt(game.path) > 0) list.push(t('hint.won'));
  else if (game.aim.violating[root] === 0) list.push(t('hint.holds', {all: graph.all[root]}));
  else if (state === End || game.aim.violating[state] === 0) list.push(t('hint.dead', {n: chance}));
  else {
    const way = game.aim.shortest(state), {states: along, records, seen} = graph.play(game.cell, [...game.path, ...way]);
    const n = game.path.length, d = Math.max(n, decisive(along, along.length)), o = graph.options[graph.option[[...game.path, ...way][d]]];
    const who = whoOf(o.label);
    list.push(t('hint.who', {who: {F: t('hint.who.fault'), T: t('hint.who.time'), W: t('hint.who.late')}[who] ?? inProse(who)}));
    if (game.hint > 1) {
      const rowsBefore = rows(records.slice(0, seen[d]));
      if (d === n) list.push(t('hint.when.now'));
      else list.push(t(d - n === 1 ? 'hint.when.next' : 'hint.when', {n: d - n, row: rowsBefore.length ? text(rowsBefore.at(-1), true).trim().replace(/^[\d.]+ms +/, '').replace(/\s+/g, ' ') : ''}));
    }
    if (game.hint > 2) {
      const next = graph.options[graph.option[way[0]]];
      list.push(t('hint.which', {text: saying(l, next)}));
      document.querySelector(`.choice[data-label="${next.label}"]`)?.classList.add('hinted');
    }
  }
  box.append(el('div', {class: 'hint'}, list.map(line => el('p', {}, rich(line))), game.hint < 3 && list.length === game.hint && breaksAt(game.path) === 0 && game.aim.violating[root] > 0 && state !== End && game.aim.violating[state] > 0 ? button(t('hint.more'), hint, {class: 'quiet'}) : ''));
}

function showOutcome({states, state, records}) {
  const box = part('outcome'), l = game.level, {aim} = game, at = breaksAt(game.path), root = game.cell.State, all = graph.all[root], violating = aim.violating[root];
  box.replaceChildren();
  const before = card;
  card = '';
  if (at === 0 && state !== End) return;
  if (leads && !game.revealed) {
    box.append(el('div', {class: 'outcome hidden-answer'}, el('p', {}, t('outcome.hidden')), button(t('outcome.reveal'), reveal, {class: 'primary'})));
    return;
  }
  const told = [], more = [], buttons = [], step = stepTitle(l.Step), taught = placeOf(l) >= 0;
  const why = taught ? t(`level.${cellName(l)}.why`) : '';
  if (at > 0) {
    const shortest = aim.steps[root], found = [...new Set(kindsIn(records.slice(0, run(game.path.slice(0, at)).records.length)))], kind = goalOf(l) || found.at(-1);
    told.push(el('h2', {}, t('outcome.won', {step, n: at, best: shortest})));
    if (game.beat) told.push(el('p', {}, t(at < game.beat ? 'challenge.beaten' : at === game.beat ? 'challenge.met' : 'challenge.missed', {n: game.beat})));
    const reasons = reasonsOf(l, kind);
    told.push(el('p', {class: 'reason'}, rich(why || upper(reasons ? t('outcome.why', {kind: t(`kind.${kind}`), why: fromData(reasons)}) : `${t(`kind.${kind}`)}${t('stop')}`))));
    const there = fixOf(l, kind);
    if (there) told.push(el('p', {class: 'fix'}, t(there.helps ? 'outcome.helps' : 'outcome.fix', {step: upper(stepTitle(there.level.Step)), fix: t(`fix.${there.level.Step}`)}), ' ', el('a', {id: 'there', href: address(there.level, there.edges)}, t(there.edges.length > 0 ? 'outcome.there' : 'outcome.thereAnew'))));
    const d = decisive(states, at);
    more.push(el('p', {}, rich(d < 0 ? t('outcome.decidedStart') : t('outcome.decided', {n: d + 1, text: saying(l, graph.options[graph.option[game.path[d]]]), violating: aim.violating[states[d]], all: graph.all[states[d]]}))));
    if (game.shown) more.push(el('p', {}, t('outcome.shown')));
    if (at > shortest) buttons.push(button(t('outcome.showShortest'), () => { game.shown = true; goTo(aim.shortest(root), shortest); }, {id: 'shortest'}));
  } else if (violating > 0) {
    const chance = lastChance(states);
    told.push(el('h2', {}, t('outcome.missed')), el('p', {}, close(`${t('outcome.some', {violating, all})} ${t('outcome.goBack', {n: chance + 1})}`)));
    buttons.push(button(chance === 0 ? t('restart') : t('outcome.back', {n: chance}), () => goTo(whole(), chance), {id: 'goback', class: 'primary'}));
  } else {
    told.push(el('h2', {}, '✓ ', t('outcome.held', {step: upper(step)})), el('p', {}, t('outcome.none', {all})));
    const broken = levels.findLast(o => o.Fault === l.Fault && o.Step < l.Step && (l.Step < 9 || o.Step <= 5) && o.Kinds !== ''); // fencing has the lock of step 05
    if (why) told.push(el('p', {class: 'reason'}, rich(why)));
    else if (broken && !data.Own) {
      const fixer = l.Step === 9 && broken.Step === 5 ? 9 : broken.Step + 1;
      told.push(el('p', {class: 'reason'}, t('outcome.fixed', {before: stepTitle(broken.Step), step: stepTitle(fixer), fix: t(`fix.${fixer}`)})));
    }
  }
  if (l.Bound >= 0) more.push(el('p', {}, t('outcome.bound')));
  if (game.prediction && (at > 0 || violating === 0)) {
    const right = game.prediction === (violating > 0 ? 'breaks' : 'holds');
    more.push(el('p', {}, t(`outcome.${game.prediction === 'unsure' ? 'unsure' : right ? 'right' : 'wrong'}`, {prediction: predicted()})));
  }
  if (at > 0 || violating === 0) {
    const next = nextLevel(l), n = next ? placeOf(next) : -1;
    if (next) buttons.unshift(el('a', {class: 'button primary', id: 'next', href: `#${cellName(next)}/`}, n < 0 ? t('outcome.nextOff', {level: titleOf(next)}) : t('outcome.next', {n: n + 1, all: data.Path.length, level: titleOf(next)}), el('kbd', {'aria-hidden': 'true'}, '↵')));
    else more.unshift(el('p', {}, t('outcome.end')));
    if (at > 0 && state !== End && !game.on) buttons.push(button(t('outcome.on'), () => { game.on = true; show(); document.querySelector('#choices button:not([aria-disabled])')?.focus(); }, {id: 'on'}));
    if (at > 0 && !game.shown && !data.Own) {
      const link = `${home}#${cellName(l)}${challenge(at)}`;
      const copies = (id, word, text) => buttons.push(button(t(word), e => copy(text, e.currentTarget), {id}));
      copies('dare', 'share.challenge', link);
      copies('result', 'share.result', t('share.text', {lock: t(`lock.${l.Step}`), n: at, link}));
    }
    buttons.push(button(t('outcome.compare'), () => { game.compare = fixedOf(l); show(); part('compare').scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'}); }, {id: 'comparing'}));
  }
  const shown = el('section', {class: `outcome ${at > 0 ? 'won' : violating > 0 ? 'missed' : 'held'}`, tabindex: '-1', 'aria-labelledby': 'h-outcome'}, el('div', {class: 'told'}, told), el('div', {class: 'buttons'}, buttons), el('div', {class: 'more'}, more));
  shown.querySelector('h2').id = 'h-outcome';
  box.append(shown);
  card = at > 0 ? `won ${at}` : 'over';
  if (card === before || game.path.length === 0) return;
  shown.focus({preventScroll: true});
  intoView(shown);
}

// intoView shows a card: beside the picture, or below as much of it as fits.
function intoView(shown) {
  if (!narrow()) {
    shown.closest('.side').scrollTop = 0;
    shown.scrollIntoView({block: 'nearest'});
    return;
  }
  const {top, bottom} = shown.getBoundingClientRect(), tools = part('choices').parentElement.offsetHeight;
  scrollBy(0, Math.min(bottom + tools - innerHeight + 8, top - 8));
}

// A reason has parts, each for some kinds of violation: the others are for what is inside.
const partOf = [
  ['D', /^DEL asks|between GET and DEL$|^the DEL is sent again/], ['K', /no ttl|^a resent SETNX/], ['N', /^a release that/], ['B', /^the owner's second/], ['U', /only one node/],
];

// reasonsOf is why a lock shows a violation of a kind under a fault, as far as the data says it.
function reasonsOf(l, kind) {
  return l.Why.split('; ').filter(part => (partOf.find(([, text]) => text.test(part))?.[0] ?? 'XLT').includes(kind)).join('; ');
}

// fixOf is the next lock that does not fail in this way: under this fault it never does, or
// not in the schedule that was played.
function fixOf(l, kind) {
  if (data.Own) return undefined;
  if (l.Step === 0) return {level: levelAt(1, l.Fault), edges: beside(levelAt(1, l.Fault), game.path).edges};
  for (const level of levels.filter(o => o.Fault === l.Fault && o.Step > l.Step && graph.cells.has(cellName(o)))) {
    const there = beside(level, game.path), whole = there.edges.length === game.path.length;
    if (level.Step === 9 ? level.Kinds === '' : !level.Kinds.includes(kind) || whole && !kindsIn(there.records).includes(kind)) return {level, edges: there.edges};
  }
  const many = l.Step === 7 && levelAt(8, l.Fault); // a fault of one node does less harm there
  return many && graph.cells.has(cellName(many)) ? {level: many, edges: [], helps: true} : undefined;
}

const narrow = () => matchMedia('(max-width: 860px)').matches;
const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

function reveal() {
  game.revealed = true;
  show();
}

// nextLevel is the next of the way that was not solved: after this one, or where its lock is.
function nextLevel(l) {
  const way = onWay().map(levelOf), at = way.indexOf(l), i = at < 0 ? way.findIndex(o => o.Step >= l.Step) : at + 1;
  return [...way.slice(i), ...way.slice(0, i)].find(o => o !== l && !solved(o));
}

// fixedOf is the lock to compare with: the next one that holds under this fault, or the next.
function fixedOf(l) {
  const others = levels.filter(o => o.Fault === l.Fault && o.Step !== l.Step && graph.cells.has(cellName(o)));
  return (others.find(o => o.Step > l.Step && o.Kinds === '') ?? others.find(o => o.Step > l.Step) ?? others.at(-1))?.Step ?? 0;
}

function showSchedule({states}) {
  const l = game.level, box = part('schedule'), path = whole(), id = cellName(l) + '/' + graph.name(game.path);
  const command = `go run ./docs/explore replay ${id}`;
  const labels = path.map((e, i) => button(graph.options[graph.option[e]].label, () => goTo(path, i + 1), {
    class: `letter ${i + 1 === game.path.length ? 'here' : i + 1 > game.path.length ? 'ahead' : ''}`,
    'aria-label': plain(t('schedule.to', {label: graph.options[graph.option[e]].label, n: i + 1, text: saying(l, graph.options[graph.option[e]])})), 'aria-current': i + 1 === game.path.length ? 'step' : undefined,
  }));
  const others = game.tried.filter(b => b.name !== graph.name(path));
  let last = graph.name(path);
  fill(box,
    el('div', {class: 'letters'}, button('|', () => goTo(path, 0), {class: `letter ${game.path.length === 0 ? 'here' : ''}`, 'aria-label': '| ' + t('schedule.start')}), labels),
    el('div', {class: 'command'}, el('code', {id: 'command'}, command), ' ', button(t('copy'), e => copy(command, e.currentTarget), {id: 'copy', class: 'quiet'})),
    others.length > 0 && el('h3', {}, t('branches')),
    others.length > 0 && el('ul', {class: 'branches'}, others.map(b => {
      let same = 0; // so many choices are those of the branch above
      while (same < b.path.length && graph.name(b.path.slice(0, same + 1)) === last.slice(0, graph.name(b.path.slice(0, same + 1)).length)) same++;
      last = b.name;
      const end = run(b.path).state === End, state = breaksAt(b.path) > 0 ? 'broken' : end ? 'over' : 'open.state';
      return el('li', {}, button([el('span', {class: 'trunk', 'aria-hidden': 'true'}, graph.name(b.path.slice(0, same))), graph.name(b.path.slice(same)), ' ', el('span', {class: `state ${state}`}, `${{broken: '✗', over: '–'}[state] ?? '…'} ${t(`branches.${state}`)}`)],
        () => goTo(b.path, b.path.length), {class: 'branch', 'aria-label': t('branches.open', {name: b.name, state: t(`branches.${state}`)})}));
    })));
}

function showTimeline({state, seen}, list, before) {
  const l = game.level, box = part('timeline');
  if (list.length === 0) return box.replaceChildren(el('p', {}, t('timeline.empty')));
  const choiceOf = i => seen.findIndex(n => i < n);
  box.replaceChildren(el('ol', {class: 'rows', tabindex: '0'}, list.map((r, i) => {
    const line = r.of[0].line, wrong = r.who === '**' || r.mark;
    return el('li', {class: `${wrong ? 'wrong' : ''} ${game.path.length > 0 && r.first >= before && !r.more ? 'new' : ''}`, 'data-choice': choiceOf(r.first)},
      el('span', {class: 'row'}, text(r, i === list.length - 1)),
      line && !r.more && button(line.replace('lock.go', ''), () => showSource(l.Step, line), {class: 'line', 'aria-label': t('timeline.line', {line: line.split(':')[1], file: line.split(':')[0]})}));
  })));
}

// showSource shows the files of a lock, and opens that of a line: lock.go:126.
function showSource(step, line) {
  const lock = lockOf(step), box = part('source');
  const files = lock.Files.map(({Name, Text}) => el('details', {open: line.startsWith(Name + ':')}, el('summary', {}, Name),
    el('pre', {tabindex: '0', 'aria-label': Name}, el('code', {}, Text.split('\n').map((s, i) => el('span', {class: `src ${line === `${Name}:${i + 1}` ? 'hit' : ''}`}, el('span', {class: 'nr'}, String(i + 1).padStart(3)), '  ' + s))))));
  box.replaceChildren(el('section', {class: 'source', 'aria-labelledby': 'h-source'}, el('h2', {id: 'h-source'}, t('source', {step: stepTitle(step)})),
    el('p', {}, step < 9 && !data.Own && rich(t('source.why', {arg: String(step)}))),
    lock.Why && el('p', {}, rich(t('source.whyLine', {arg: String(step), line: line.replace('lock.go:', '')}))),
    files, button(t('source.close'), () => box.replaceChildren(), {class: 'quiet'})));
  const hit = box.querySelector('.hit'), pre = hit.closest('pre');
  pre.scrollTop = hit.offsetTop - pre.offsetTop - pre.clientHeight / 3;
  box.scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'nearest'});
  pre.focus({preventScroll: true});
}

// ---- old beside fixed

// beside plays a schedule on another lock, as far as it makes sense: until a label is not
// there, or a call of one of them is over and that of the other is not.
function beside(level, path) {
  const cell = graph.cells.get(cellName(level)), mine = run(path), edges = [];
  const returns = (records, from, to) => records.slice(from, to).filter(r => r.kind === 'return').map(r => r.who).join();
  let why = 'over';
  for (let i = 0; i < path.length; i++) {
    const now = graph.play(cell, edges);
    if (now.state === End) break;
    const label = graph.options[graph.option[path[i]]].label;
    const o = graph.edges(now.state).find(o => o.label === label && o.to !== Unexplored);
    if (!o) { why = 'commands'; break; }
    edges.push(o.edge);
    const then = graph.play(cell, edges);
    if (then.state !== End && i + 1 < path.length && returns(mine.records, mine.seen[i], mine.seen[i + 1]) !== returns(then.records, then.seen[i], then.seen[i + 1])) { why = 'commands'; break; }
    if (i === path.length - 1 && then.state !== End) why = 'same';
  }
  return {edges, why, ...graph.play(cell, edges)};
}

// comes are the rows that tell what came of the commands, and what was wrong with one: two
// locks say the same in other commands.
const comes = rows => rows.map((r, i) => ({i, what: `${r.who}|${r.text}|${r.reply}|${r.mark}`, kind: r.of[0].kind, mark: r.mark})).filter(r => r.kind !== 'command' || r.mark);

function showCompare() {
  const box = part('compare'), l = game.level;
  if (!game.compare) return box.replaceChildren();
  const others = levels.filter(o => o.Fault === l.Fault && o.Step !== l.Step && graph.cells.has(cellName(o)));
  if (others.length === 0) return box.replaceChildren(el('p', {}, t('compare.none')));
  const other = others.find(o => o.Step === game.compare) ?? others[0];
  const theirs = beside(other, game.path), a = rows(run().records), b = rows(theirs.records);
  const ours = comes(a), came = comes(b);
  let n = 0;
  while (n < Math.min(ours.length, came.length) && ours[n].what === came[n].what) n++;
  const column = (level, list, differs, records, foot) => el('div', {class: 'column'}, el('h3', {}, stepTitle(level.Step), ' ', el('span', {class: 'what'}, fromData(lockOf(level.Step).Lock))),
    el('ol', {class: 'rows', tabindex: '0'}, list.map((r, i) => el('li', {class: `${r.who === '**' || r.mark ? 'wrong' : ''} ${i === differs ? 'differs' : ''}`}, i === differs && el('span', {class: 'flag'}, '▶ ', t('compare.mark')), el('span', {class: 'row'}, text(r, i === list.length - 1))))),
    el('p', {class: 'verdict'}, kindsIn(records).length > 0 ? '✗ ' + [...new Set(kindsIn(records))].map(k => t(`kind.${k}`)).join(t('semicolon')) : '✓ ' + t('compare.holds')), foot);
  const select = el('select', {id: 'beside', onchange: e => { game.compare = Number(e.target.value); showCompare(); }}, others.map(o => el('option', {value: o.Step, selected: o === other}, stepTitle(o.Step))));
  const takeOver = el('a', {class: 'button primary', href: address(other, theirs.edges)}, t('compare.takeOver', {step: stepTitle(other.Step)}));
  box.replaceChildren(el('section', {class: 'compare', 'aria-labelledby': 'h-compare'}, el('h2', {id: 'h-compare'}, t('compare')),
    el('p', {}, el('label', {for: 'beside'}, t('compare.with')), ' ', select, ' ', ours[n] || came[n] ? t('compare.differs') : t('compare.same')),
    el('div', {class: 'columns'}, column(l, a, ours[n]?.i, run().records), column(other, b, came[n]?.i, theirs.records, el('div', {}, el('p', {}, theirs.why === 'commands' ? t('compare.commands') : theirs.why === 'over' || theirs.state === End ? t('compare.over') : ''), takeOver))),
    button(t('compare.close'), () => { game.compare = 0; showCompare(); }, {class: 'quiet'})));
}

// ---- keys

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
  if (e.key === '?') return help();
  if (!game || document.querySelector('dialog')) return;
  const n = e.key === '0' ? 10 : Number(e.key);
  if (n >= 1 && n <= 10) {
    if (game.prediction === undefined) document.querySelectorAll('.prediction')[n - 1]?.click();
    else if (options[n - 1]) choose(options[n - 1].edge);
  } else if (e.key === 'u' || e.key === 'ArrowLeft') undo();
  else if (e.key === 'ArrowRight') redo();
  else if (e.key === 'h') hint();
  else if (e.key === 'Enter' && !e.target.closest?.('a, button, summary') && document.querySelector('#outcome .primary')) document.querySelector('#outcome .primary').click();
  else if (e.key === 'r' && leads) reveal();
  else return;
  e.preventDefault();
});

addEventListener('hashchange', open);
new ResizeObserver(() => {
  const box = game && part('picture');
  if (box && box.clientWidth !== drawnWidth) {
    const played = run();
    showPicture(played, rows(played.records).filter(r => !leads || game.revealed || r.who !== '**'));
  }
}).observe(document.body);

// ---- begin

document.body.classList.toggle('lead', leads);
const spoken = wanted => Object.keys(words).find(l => l === wanted) ?? Object.keys(words).find(l => wanted?.split('-')[0] === l.split('-')[0]);
language = [new URLSearchParams(location.search).get('lang'), progress.language, ...navigator.languages].map(spoken).find(Boolean) ?? 'en';
document.documentElement.lang = language;
app.append(el('p', {class: 'loading'}, t('loading')));
try {
  data = await load(document.getElementById('data').textContent);
  graph = data.graph, levels = data.Levels;
  open();
} catch (error) {
  app.replaceChildren(el('p', {class: 'problem', role: 'alert'}, t('failed', {error: error.message})));
  throw error;
}
