// What the page plays of each level, and of the bench, is what go run ./docs/explore replay prints, in both
// languages.
import {execFile, execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {promisify} from 'node:util';
import assert from 'node:assert/strict';
import {benchCell} from '../../play/page/bench.mjs';
import {End, Unexplored, load} from '../../play/page/data.mjs';
import {cellName, complete, data, graph, levels, use} from '../../play/page/levels.mjs';
import {rows, text} from '../../play/page/timeline.mjs';
import {speak} from '../../play/page/words.mjs';

const html = readFileSync('../../play/index.html', 'utf8'), part = id =>
  html.match(new RegExp(`id="${id}">(.*?)</script>`, 's'))[1];
use(await load(part('data')));
complete(await load(part('rest')));
const dir = mkdtempSync(join(tmpdir(), 'replay-')), explore = join(dir, 'explore');
after(() => rmSync(dir, {recursive: true}));
execFileSync('go', ['build', '-o', explore, '../explore'], {stdio: 'inherit'});

const run = promisify(execFile);
// replay breaks lines, also between two Chinese characters. On the page, the browser does.
const unbroken = text => text.replace(/\s+/g, '');
const list = (records, language) => {
  speak(language, JSON.parse(part('words')));
  return unbroken(rows(records).map((r, i, all) => text(r, i === all.length - 1)).join('\n'));
};

// told compares some schedules, with two replays at a time. replay goes on to the end of one that has not
// ended.
async function told(schedules, ended) {
  await Promise.all([0, 1].map(async worker => {
    for (const [i, {id, records}] of schedules.entries()) {
      if (i % 2 !== worker) continue;
      for (const [language, lang] of [['en', 'en'], ['zh-CN', 'zh']]) {
        const {stdout} = await run(explore, ['replay', id, '-lang', lang], {cwd: '../../..'});
        const shown = list(records, language), replayed = unbroken(stdout);
        assert.equal(ended ? replayed : replayed.slice(0, shown.length), shown, `${id} -lang ${lang}`);
      }
    }
  }));
}

test('every level tells what replay tells', async () => {
  const schedules = levels.filter(l => graph.cells.has(cellName(l))).map(l => {
    const cell = graph.cells.get(cellName(l)), {edges} = graph.follow(cell, l.ID.split('/')[2] ?? '');
    for (let {state} = graph.play(cell, edges), n = 0; state !== End && n < 60;
      state = graph.to[edges.at(-1)], n++) {
      edges.push(graph.edges(state).find(o => o.to !== Unexplored).edge); // and on to the end
    }
    return {id: `${cellName(l)}/${graph.name(edges)}`, records: graph.play(cell, edges).records};
  });
  assert.ok(schedules.length > 200);
  await told(schedules, true);
});

test('so does the bench, of each kind of each attack', async () => {
  const {Attacks, Locks} = data.Bench, kinds = new Map();
  for (const lock of Locks) for (const attack of Attacks) {
    const c = benchCell(attack, lock);
    if (c.bad > 0) kinds.set(c.first + attack, {id: `${c.name}/${c.path}`, records: c.records});
  }
  assert.ok(kinds.size > 10);
  await told([...kinds.values()], false);
});
