// Ours checks what no public tool knows: that the page in the browser has the levels and schedules that pages name, and that
// README's reasons to trust it have the figures of the tables that they name, and an interview page lists its questions. With -w it
// writes these. And that nothing is lost, or said twice.
import { existsSync, readFileSync, writeFileSync, readdirSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { slug } from 'github-slugger';
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
const [schedules] = one('docs/explore/README.md', /^(\d+) schedules in all/m), faults = count('docs/explore/README.md', /^\| (?!\*\*|fault |nothing fails|-)[^|]+ \| [✓✗–]/gm);
const lines = [...read('docs/read/how-we-know.md').matchAll(/^\| 0\d \| (\d+) \| .*\| (\d+) \|$/gm)], sum = (i) => lines.reduce((n, row) => n + Number(row[i]), 0);
const changes = sum(1), reasons = sum(2), noticed = changes - reasons;
const libraries = new Set(one('docs/read/libraries.md', /^\| \| (.*) \|$/m)[0].match(/keep\/libs\/[a-z]+/g)).size, servers = count('docs/read/server.md', /^\| (?:Redis|Valkey|KeyDB)/gm);
const corpus = 'docs/tour/testdata/attempts', attempts = readdirSync(corpus).reduce((n, file) => n + count(`${corpus}/${file}`, /^-- /gm), 0);
// The alerts of production ask for what its recipe counts.
const recipe = read('docs/stories/more_7_wait_test.go');
for (const file of ['docs/read/production.md', 'docs/read/production.zh-CN.md'])
  for (const [, metric, result] of read(file).matchAll(/(redis_lock_\w+)(?:\{result="(\w+)"\})?/g))
    if (![metric, result ?? metric].every((name) => recipe.includes(`"${name}"`))) wrong(`${file}: the recipe counts no ${metric} ${result ?? ''}`);
// What the sources of the course describe (systems 1 to 20, failures F1 to F11, rules R1 to R6) is taught on a page and shown by a test.
const tsv = 'docs/internal/course/testdata/coverage.tsv', rows = read(tsv).trim().split('\n').slice(1).map((row) => row.split('\t'));
for (const [id, what, , pages, tests] of rows) {
  const missing = [...pages.split(' ').map((page) => page.split('#')).filter(([page, heading]) => page !== '-' &&
    !(existsSync(page) && (!heading || read(page).match(/^#+ .*/gm).some((line) => slug(line.replace(/^#+ /, '')) === heading)))),
  ...tests.split(' ').map((test) => test.split('#')).filter(([file, test]) => file !== '-' && !(existsSync(file) && read(file).includes(`func ${test}(`)))];
  if (missing.length) wrong(`${tsv}: ${id}, ${what}: there is no ${missing.map((all) => all.join('#')).join(', ')}`);
}
for (const [kind, last] of [['', 20], ['F', 11], ['R', 6]])
  for (let n = 1; n <= last; n++) if (!rows.some(([id]) => id.split(',').includes(kind + n))) wrong(`${tsv} has no ${kind}${n}`);
// The glossary is in the order of pinyin, of which the first sound of 重 is not the one meant.
const sounds = [...read('docs/read/glossary.zh-CN.md').matchAll(/^\| ([\u4e00-\u9fff]+)/gm)].slice(1).map(([, term]) => term.replace(/^重/, '虫'));
sounds.forEach((term, i) => { if (term.localeCompare(sounds[i - 1] ?? term, 'zh') < 0) wrong(`docs/read/glossary.zh-CN.md: by pinyin, ${term} is before ${sounds[i - 1]}`); });
const wanted = {
  stories, steps: 8, schedules: number(schedules), faults, changes: number(changes), noticed: number(noticed), reasons, libraries, servers, attempts,
};
const interview = readdirSync('docs/read/interview').map((page) => `docs/read/interview/${page}`);
for (const file of ['README.md', 'README.zh-CN.md', 'docs/read/how-we-know.md', 'docs/read/how-we-know.zh-CN.md', ...interview]) {
  const page = read(file), right = page.replace(/<!-- (\w+) -->[\d,]+/g, (all, name) => `<!-- ${name} -->${wanted[name] ?? '?'}`)
    .replace(/(?<=<!-- table: questions -->\n)[^]*?(?=<!-- \/table)/, () => page.match(/^### .*/gm).map((line) => `${file.includes('.zh-CN') ? '- ' : ''}[${line.slice(4)}](#${slug(line.slice(4))})`).join(file.includes('.zh-CN') ? '\n' : ' · ') + '\n');
  if (right === page) continue;
  if (process.argv.includes('-w')) writeFileSync(file, right);
  else wrong(`${file}: figures or questions are not those of the pages: node docs/keep/prose/ours.mjs -w`);
}

// One fact stands in one place, elsewhere is a link: no two pages of a language have more than twenty equal words in a row (of Chinese,
// forty characters). What is pasted or made by a program, code, rows of figures and quotations are left out.
const first = new Map();
for (const page of process.argv.slice(2).filter((file) => file.endsWith('.md') && !file.includes('/hints/'))) {
  const text = read(page).replace(/^<!-- table[^]*?^<!-- \/table -->|^ *(```+)[^]*?^ *\1$|^(English \||\[English).*|“[^”]*”|"[^"\n]*\n?[^"\n]*"/gm, ' ¦ ').replace(/<[^>]*>|\]\([^)]*\)/g, ' ');
  const isChinese = page.includes('.zh-CN.'), most = isChinese ? 40 : 20, words = text.toLowerCase().match(/[\u4e00-\u9fff]|[a-z0-9']+|¦/g) ?? [];
  for (let i = 0; i + most < words.length; i++) {
    const block = words.slice(i, i + most + 1).join(' '), other = first.get(block) ?? page;
    if (block.includes('¦')) continue;
    first.set(block, other);
    if (other !== page) { wrong(`${page} has this from ${other}: say it once, and link to it: ${block}`); i += most; }
  }
}
