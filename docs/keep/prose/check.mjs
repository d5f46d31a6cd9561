// Check runs public tools over what people read, and fails if one of them finds something:
//
//	npm ci && npm test
//
// Authors edit the rules, not this file: words and lengths in styles (vale), headings and blocks in
// pages.markdownlint-cli2.jsonc, links in package.json. Around <!-- autocorrect-disable -->, Chinese has other spaces.
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..', '..');
const vale = 'github.com/vale-cli/vale/v3/cmd/vale@v3.21.0';

// all returns the files that are there: those of git, or without a repository all that are not hidden or installed.
function all() {
  try {
    return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  } catch {
    return readdirSync(root, { recursive: true }).filter((file) => !/(^|\/)(node_modules|mylock|\.(?!github))/.test(file));
  }
}
const files = all().filter((file) => !file.includes('testdata/'));
const pages = files.filter((file) => file.endsWith('.md'));
const chinese = files.filter((file) => /\.zh-CN\.md$|zh-CN\/.*\.md$|internal\/(trace|picture)\/zh-CN\.json$/.test(file));
// Step 08 has the stories of all steps; test names of the tour are in Chinese.
const english = files.filter((file) => /\.(md|go|tmpl)$|words\/en(\.\w+)?\.json$/.test(file) &&
  !/^step0[1-7]\w+\/(\d|more|lab)\w*_test\.go$|[Cc]hinese/.test(file));
const script = (name) => path.join(here, 'node_modules', name);

const runs = [
  ['links and anchors', 'node', [script('remark-cli/cli.js'), '--frail', '--quiet', '--rc-path', path.join(here, 'package.json'), ...pages]],
  ['levels of the page in the browser, figures of README', 'node', [path.join(here, 'ours.mjs'), ...pages]],
  ['headings and blocks', 'node', [script('markdownlint-cli2/markdownlint-cli2-bin.mjs'), '--config', path.join(here, 'pages.markdownlint-cli2.jsonc'), ...pages]],
  ['Chinese spacing', 'node', [script('autocorrect-node/cli.js'), '--lint', ...chinese]],
  ['words and lengths', 'go', ['run', vale, '--config', path.join(here, 'vale.ini'), '--output', 'line', ...english]],
];
let failed = false;
await Promise.all(runs.map(([what, command, args]) => promisify(execFile)(command, args, { cwd: root, maxBuffer: 1e8 }).catch(({ stdout, stderr }) => {
  failed = true;
  console.log(`${what}:\n${stdout}${stderr}`.replace(/\x1b\[[0-9;]*m/g, ''));
})));
console.log(failed ? 'something above is to be mended' : `${pages.length} pages and ${english.filter((file) => !file.endsWith('.md')).length} other files: words, form and links are right`);
process.exitCode = failed ? 1 : 0;
