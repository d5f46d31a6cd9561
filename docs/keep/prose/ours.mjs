// Ours checks what no public tool knows: that the page in the browser has the levels and schedules that pages name, and that
// README's reasons to trust it have the figures of the pages that they name. With -w it writes these.
import { readFileSync, writeFileSync, readdirSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { Graph } from '../../play/page/data.mjs';

const read = (file) => readFileSync(file, 'utf8');
const wrong = (why) => { console.log(why); process.exitCode = 1; };

// It follows the graph as the page does.
const [, packed] = /id="data">(.*?)<\/script>/s.exec(read('docs/play/index.html'));
const graph = new Graph(JSON.parse(inflateRawSync(Buffer.from(packed, 'base64'))).Graph);
for (const page of process.argv.slice(2).filter((file) => file.endsWith('.md'))) {
  for (const [command, level, schedule] of read(page).matchAll(/`go run \.\/docs\/play ([^/`]*\/[^/`]*)\/?([^`]*)`/g)) {
    const cell = graph.cells.get(level);
    if (!cell || graph.follow(cell, schedule).rest) wrong(`${page}: the page in the browser has nothing for ${command}`);
  }
}

const number = (n) => Number(n).toLocaleString('en-US');
const one = (file, pattern) => { const found = read(file).match(pattern); if (!found) throw new Error(`${file}: no ${pattern}`); return found.slice(1); };
const count = (file, pattern) => [...read(file).matchAll(pattern)].length;
const last = readdirSync('.').filter((dir) => /^step\d\d_/.test(dir)).at(-1);
const stories = [last, 'docs/stories'].flatMap((dir) => readdirSync(dir).filter((file) => /^(\d|more_|rounds_).*_test\.go$/.test(file)).map((file) => count(`${dir}/${file}`, /^func Test/gm))).reduce((n, m) => n + m, 0);
const [schedules] = one('docs/read/faults.md', /^(\d+) schedules in all/m), faults = count('docs/read/faults.md', /^\| (?!\*\*|fault |nothing fails|-)[^|]+ \| [✓✗–]/gm);
const [changes, noticed, reasons] = one('docs/read/why/README.md', /\*\*Of (\d+) changes, (\d+) make a story fail, or the\s+lock panic or hang. The other (\d+)/);
const libraries = new Set(one('docs/read/libraries.md', /^\| \| (.*) \|$/m)[0].match(/keep\/libs\/[a-z]+/g)).size, servers = count('docs/read/server.md', /^\| (?:Redis|Valkey|KeyDB)/gm);
const wanted = {
  stories, steps: 8, schedules: number(schedules), faults, changes: number(changes), noticed: number(noticed), reasons, libraries, servers,
};
for (const file of ['README.md', 'README.zh-CN.md']) {
  const page = read(file), right = page.replace(/<!-- (\w+) -->[\d,]+/g, (all, name) => `<!-- ${name} -->${wanted[name] ?? '?'}`);
  if (right === page) continue;
  if (process.argv.includes('-w')) writeFileSync(file, right);
  else wrong(`${file}: figures are not those of the pages: node docs/keep/prose/ours.mjs -w`);
}
