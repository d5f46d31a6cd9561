// What of the page needs no browser: node --test docs/play/page/page.test.mjs
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import assert from 'node:assert/strict';
import {format, parse} from './address.mjs';
import {benchCell} from './bench.mjs';
import {End, Unexplored, load} from './data.mjs';
import {Game} from './game.mjs';
import {cellName, complete, data, goals, graph, levelOf, levels, onWay, placeOf, use} from './levels.mjs';
import {speak} from './words.mjs';

const html = readFileSync(new URL('../index.html', import.meta.url), 'utf8'), part = id =>
  html.match(new RegExp(`id="${id}">(.*?)</script>`, 's'))[1];
speak('en', JSON.parse(part('words')));
use(await load(part('data')));
complete(await load(part('rest')));

test('an address is what is seen', () => {
  const level = (level, path, beat) => ({level, path, beat});
  const chapter = (chapter, at, path) => ({chapter, at, path});
  for (const [text, at] of Object.entries({
    '': {}, menu: {menu: true}, pairs: {pairs: 0}, 'pairs.4': {pairs: 4},
    start: {opening: 1, path: ''}, 'start.2/ab': {opening: 2, path: 'ab'},
    4: chapter(4, 1, ''), 4.6: chapter(4, 6, ''), '4.8/aA': chapter(4, 8, 'aA'),
    build: {bench: ''}, 'build/121200': {bench: '121200'}, '05/pause/': level('05/pause', '', 0),
    '05/pause/aFb?beat=12': level('05/pause', 'aFb', 12), '03/slow?beat=5': level('03/slow', '', 5),
  })) {
    assert.deepEqual(parse(text), at);
    assert.equal(format(at), `#${text}`);
  }
  assert.deepEqual(parse('go run ./docs/explore replay 05/pause/aF'), level('05/pause', 'aF', 0)); // pasted
  for (const text of ['10', '4.6.1', 'builds', '<b>', '__proto__']) assert.equal(parse(text), null, text);
});

test('a name leads to its schedule, and back', () => {
  for (const l of levels.filter(l => l.ID && graph.cells.has(cellName(l)))) {
    const {edges, rest} = graph.follow(graph.cells.get(cellName(l)), l.ID.split('/')[2]);
    assert.equal(rest, '');
    assert.equal(`${cellName(l)}/${graph.name(edges)}`, l.ID);
    const {records} = graph.play(graph.cells.get(cellName(l)), edges);
    assert.match(l.Kinds, new RegExp(records.findLast(r => r.kind === 'verdict').text[0]), l.ID);
  }
});

test('the shortest way reaches its goal, and no earlier choice does', () => {
  for (const [id, {Goal, After}] of Object.entries(goals())) {
    const aim = graph.aim(Goal, After), cell = graph.cells.get(id), way = aim.shortest(cell, []);
    assert.equal(aim.along(cell, way).at, way.length, id);
    assert.equal(aim.along(cell, []).steps[0], way.length, id);
  }
});

// A reader who presses buttons at random, undoes whenever the page says that it is too late, and makes no
// mistake twice, should not get far where there is a bet: a bet and an undo are clicks like the others.
test('the levels are not won by clicking', t => {
  let seed = 1;
  const random = n => { seed = (seed * 48271) % 2147483647; return seed % n; };
  const clicksOf = ({cell, aim, moments}) => {
    if (moments.length > 0 && !moments[random(moments.length)].right) return Infinity;
    const path = [], tried = [new Set()];
    for (let clicks = +(moments.length > 0); clicks <= 80; clicks++) {
      const n = path.length, state = n ? graph.to[path.at(-1)] : cell.State;
      const {found, at} = aim.along(cell, path);
      if (at) return clicks;
      const late = n > 0 && (state === End || found[n] === 0);
      const open = o => o.to !== Unexplored && !tried[n].has(o.edge);
      const left = state === End ? [] : graph.edges(state).filter(open);
      if (n > 0 && (late || left.length === 0)) path.pop(), tried.pop();
      else if (left.length > 0) {
        const {edge} = left[random(left.length)];
        tried[n].add(edge);
        path.push(edge);
        tried.push(new Set());
      } else tried[0].clear();
    }
    return Infinity;
  };
  onWay().map(levelOf).forEach(level => {
    const game = new Game(level), games = Array.from({length: 400}, () => clicksOf(game));
    const won = clicks => games.filter(n => n <= clicks).length / games.length;
    const share = clicks => `${Math.round(100 * won(clicks))} % in ${clicks}`;
    t.diagnostic(`${cellName(level)}: ${[20, 40, 80].map(share).join(', ')}`);
    if (placeOf(level) >= 2) assert.ok(won(40) <= .5, cellName(level));
  });
});

test('every attack of the bench ends with its verdict', () => {
  const {Attacks, Locks, Cells} = data.Bench, broken = new Set();
  assert.equal(Cells.length, Locks.length * Attacks.length);
  Locks.forEach((lock, i) => Attacks.forEach((attack, n) => {
    const {kinds, bad, records} = benchCell(attack, lock), name = `${lock}/${attack}`;
    assert.equal(kinds, Cells[i * Attacks.length + n].Kinds, name);
    if (bad === 0) return assert.equal(records.length, 0, name);
    assert.equal(records.at(-1).kind, 'verdict', name);
    assert.ok(kinds.includes(records.at(-1).text[0]), name);
    broken.add(attack);
  }));
  assert.equal(broken.size, Attacks.length);
});
