// Levels fails if a page names a level or a schedule that docs/play/index.html does not have, or links to that file: GitHub
// shows its source. It follows the graph as the page does: node levels.mjs page.md ...
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';

const read = (file) => readFileSync(file, 'utf8');
const Graph = new Function(`${read('docs/play/page/data.mjs')}; return Graph`)();
const [, packed] = /id="data">(.*?)<\/script>/s.exec(read('docs/play/index.html'));
const graph = new Graph(JSON.parse(inflateRawSync(Buffer.from(packed, 'base64'))).Graph);

for (const page of process.argv.slice(2)) {
  const text = read(page);
  const wrong = (why) => { console.log(`${page}: ${why}`); process.exitCode = 1; };
  const commands = [...text.matchAll(/`go run \.\/docs\/play ([^/`]*\/[^/`]*)\/?([^`]*)`/g)];
  for (const [command, level, schedule] of commands) {
    const cell = graph.cells.get(level);
    if (!cell || graph.follow(cell, schedule).rest) wrong(`the page in the browser has nothing for ${command}`);
  }
  if (/^step|read\/faults\.md$/.test(page) && commands.length === 0) wrong('it leads to no level');
  if (/(\]\(|href=")[^)"]*play\/index\.html/.test(text)) wrong('link to docs/play/README.md, not to index.html');
}
