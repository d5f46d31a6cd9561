// Course: a chapter is read from top to bottom, in beats. Its picture stays in view, and
// plays what the beat tells: a schedule, up to the last of its choices that are named.

let chapter = null; // {n, beats, at: the beat that is read, shown: how many rows of its schedule, playing: whether it is a level}

const rowTime = 450; // ms for each row of the picture

function leaveChapter() {
  clearTimeout(chapter?.timer);
  chapter = null;
}

function showChapter(n, level) {
  const {Step, Beats} = data.Chapters.find(c => c.Step === n) ?? {};
  if (!Step) return showMenu(t('menu.noSchedule', {name: String(n)}));
  const key = i => `${n}.${i + 1}`;
  game = null;
  chapter = {n, at: -1, shown: 0, timer: 0, beats: Beats.map((b, i) => ({...b, key: key(i), ...(b.Show && scheduleOf(b.Show))}))};
  document.title = `${n}. ${t(`chapter.${n}.title`)} – ${t('title')}`;
  document.body.classList.remove('choosing');
  delete app.dataset.level;
  const step = (word, sign, move, id) => button(sign, move, {id, 'aria-label': t(word), title: t(word)});
  frame(el('main', {class: 'chapter', tabindex: '-1'},
    el('div', {class: 'beats'}, chapter.beats.map((b, i) => el('section', {class: `beat ${b.Level ? 'turn' : ''}`, 'data-beat': String(i), 'aria-labelledby': `b-${i}`},
      el(i ? 'h2' : 'h1', {id: `b-${i}`, tabindex: '-1'}, i ? t(`chapter.${b.key}.head`) : `${n}. ${t(`chapter.${n}.title`)}`),
      el('p', {}, rich(t(`chapter.${b.key}`))),
      b.Ask && question(b),
      b.Diff && el('pre', {class: 'fix', tabindex: '0', 'aria-label': t('course.fix')}, b.Diff.map(line => el('span', {class: {'+': 'add', '-': 'del'}[line[0]] ?? ''}, line, '\n'))),
      b.Level && turn(b)))),
    el('div', {class: 'figure'},
      el('div', {class: 'controls', role: 'group', 'aria-label': t('course.controls')}, step('course.back', '◀', () => move(-1), 'back'), step('course.play', '▶', replayBeat, 'play'), step('course.on', '▶|', () => move(1), 'on1'),
        el('input', {type: 'range', id: 'scrub', min: '0', max: '1', 'aria-label': t('course.scrub'), oninput: e => { stopPlaying(); chapter.shown = Number(e.target.value); draw(); }}),
        button([t('course.next'), ' ↓'], () => nextBeat(), {id: 'down', 'aria-keyshortcuts': 'Enter'})),
      el('p', {class: 'which', id: 'which'}),
      el('section', {class: 'picture', 'aria-label': t('picture')}, el('div', {id: 'picture', 'aria-hidden': 'true'}), el('p', {id: 'tells', class: 'visually-hidden'})))));
  scrollTo(0, 0);
  const first = chapter.beats.findIndex(b => b.Level === level);
  if (first >= 0) toBeat(first);
  else read(0);
  document.querySelector('h1').focus({preventScroll: true});
}

// scheduleOf is what has happened in a schedule after its last choice that is named.
function scheduleOf(name) {
  const [step, fault, path] = name.split('/'), level = levelAt(Number(step), fault), cell = graph.cells.get(cellName(level));
  const {edges} = graph.follow(cell, path), {records, at, state} = graph.play(cell, edges);
  return {level, records, list: rows(records), end: at, over: state === End};
}

// question is one with three answers, which then plays what comes.
function question(b) {
  const answer = el('p', {class: 'answer'});
  const box = el('div', {class: 'ask', role: 'group', 'aria-label': plain(t(`chapter.${b.key}`))}, ['a', 'b', 'c'].map((letter, i) => button([el('kbd', {'aria-hidden': 'true'}, String(i + 1)), ' ', el('span', {}, rich(t(`chapter.${b.key}.${letter}`)))], e => {
    if (b.answered) return;
    b.answered = letter;
    for (const other of box.children) other.setAttribute('aria-disabled', 'true');
    box.children['abc'.indexOf(b.Ask)].classList.add('right');
    if (letter !== b.Ask) e.currentTarget.classList.add('wrong');
    fill(answer, el('strong', {}, t(letter === b.Ask ? 'course.right' : 'course.wrong')), ' ', rich(t(`chapter.${b.key}.answer`)));
    say(answer.textContent);
    play();
  })));
  return [box, answer];
}

// turn is where a level is played. Its controls come when it is read.
function turn(b) {
  const l = levelAt(Number(b.Level.split('/')[0]), b.Level.split('/')[1]);
  b.level = l;
  return [el('h3', {}, boss(l), titleOf(l), ' ', solved(l) && sign(cellName(l))), el('p', {class: 'goal'}, rule(l)), b.slot = el('div', {class: 'slot'})];
}

// ---- reading

const sections = () => [...document.querySelectorAll('.beat')];

// read makes a beat the one that is read.
function read(i) {
  if (!chapter || i === chapter.at) return;
  const before = chapter.beats[chapter.at], b = chapter.beats[i];
  clearTimeout(chapter.timer);
  chapter.at = i;
  sections().forEach((s, k) => s.classList.toggle('read', k === i));
  if (before?.slot) { // nothing below it moves
    before.slot.style.minHeight = `${before.slot.offsetHeight}px`;
    before.slot.replaceChildren();
    before.game = game;
    game = null;
  }
  chapter.playing = Boolean(b.Level);
  document.querySelector('.figure').classList.toggle('playing', chapter.playing);
  part('down').hidden = i === chapter.beats.length - 1;
  part('which').textContent = `${upper(stepTitle(b.level.Step))}${t('colon')}${fromData(lockOf(b.level.Step).Lock)}`;
  drawnWidth = part('picture').clientWidth;
  if (chapter.playing) {
    b.slot.style.minHeight = '';
    fill(b.slot, controls());
    part('tells').textContent = '';
    game = b.game ?? newGame(b.level);
    fresh = 0, card = '';
    return show();
  }
  const same = before?.list && before.level === b.level && i > 0 && before === chapter.beats[i - 1] && before.list.length <= b.list.length;
  const unanswered = b.Ask && !b.answered && chapter.beats[i - 1]?.level === b.level;
  chapter.shown = unanswered ? chapter.beats[i - 1].list.length : same ? before.list.length : 0;
  draw();
  if (!unanswered) play();
}

const beat = () => chapter.beats[chapter.at];

function stopPlaying() {
  clearTimeout(chapter.timer);
  chapter.timer = 0;
}

// play shows the rows of the beat one after the other.
function play() {
  stopPlaying();
  const {list} = beat();
  if (still() || leads) chapter.shown = list.length;
  draw();
  if (chapter.shown < list.length) chapter.timer = setTimeout(() => { chapter.shown++; play(); }, rowTime);
}

function replayBeat() {
  if (chapter.shown >= beat().list.length) chapter.shown = 0;
  play();
}

// move shows a row more, or less. After the last one comes the next beat.
function move(d) {
  stopPlaying();
  const to = chapter.shown + d;
  if (to > beat().list.length) return nextBeat();
  chapter.shown = Math.max(0, to);
  draw();
}

function draw() {
  const b = beat(), n = chapter.shown, list = b.list.slice(0, n), all = n >= b.list.length, box = part('picture');
  const records = all ? b.records : b.records.slice(0, b.list[n].first), width = Math.max(300, Math.min(760, box.clientWidth - 18));
  drawnWidth = box.clientWidth;
  box.replaceChildren(...diagram({rows: list, records, clients: names, nodes: nodesOf(b.level), width, resource: t('resource'), now: all ? b.end : records.at(-1)?.at ?? 0, ended: all && b.over, fresh: Infinity, moving: false, flash: all && records.at(-1)?.inside.length > 1}));
  box.scrollTop = box.scrollHeight;
  const scrub = part('scrub');
  scrub.max = String(b.list.length);
  scrub.value = String(n);
  if (all) part('tells').textContent = list.map((r, i) => text(r, i === list.length - 1).trim().replace(/\s+/g, ' ')).join('. ');
}

// nextBeat scrolls to the next one.
function nextBeat() {
  if (chapter.at + 1 < chapter.beats.length) toBeat(chapter.at + 1);
}

function toBeat(i) {
  const section = sections()[i];
  read(i); // first: the picture above it may become higher
  scrollTo({top: section.getBoundingClientRect().top + scrollY - offset(), behavior: 'instant'});
  section.querySelector('h1, h2').focus({preventScroll: true});
}

// offset is how far below the top of the window a beat begins: on a phone the picture is above it.
const offset = () => narrow() ? document.querySelector('.figure').getBoundingClientRect().height + 20 : innerHeight * .22;

addEventListener('scroll', () => {
  if (!chapter) return;
  const line = narrow() ? offset() + (innerHeight - offset()) * .4 : innerHeight * .45;
  const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
  const i = atEnd ? chapter.beats.length - 1 : sections().findLastIndex(s => s.getBoundingClientRect().top < line);
  if (i >= 0) read(i);
}, {passive: true});

// chapterKey does what a key means while a chapter is read, unless a level is played.
function chapterKey(key, n, free) {
  if (key === 'Enter' && free && (!chapter.playing || !document.querySelector('#outcome .primary'))) nextBeat();
  else if (chapter.playing) return false;
  else if (key === 'ArrowRight') move(1);
  else if (key === 'ArrowLeft') move(-1);
  else if (n >= 1 && n <= 3 && beat().Ask) sections()[chapter.at].querySelectorAll('.ask button')[n - 1].click();
  else return false;
  return true;
}
