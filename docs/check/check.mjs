// Check reads every Markdown page of the repository: links and anchors by remark-validate-links, diagrams by mermaid's own parser.
//
//	npm ci && npm test
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { JSDOM } from 'jsdom';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');

const pages = readdirSync(root, { recursive: true })
  .filter((file) => file.endsWith('.md') && !file.split(path.sep).some((part) => part === 'node_modules' || part.startsWith('.') && part !== '.github'))
  .sort();

// mermaid sanitizes labels, and for that wants a document when it is loaded.
const { window } = new JSDOM('');
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import('mermaid');

let diagrams = 0;
let failed = false;
for (const page of pages) {
  const text = readFileSync(path.join(root, page), 'utf8');
  for (const block of text.matchAll(/^```mermaid\n(.*?)^```$/gms)) {
    diagrams++;
    try {
      await mermaid.parse(block[1]);
    } catch (error) {
      failed = true;
      console.error(`${page}:${text.slice(0, block.index).split('\n').length}: ${error.message}`);
    }
  }
}
console.log(`${diagrams} diagrams parsed`);

try {
  execFileSync(process.execPath, [path.join(here, 'node_modules', 'remark-cli', 'cli.js'), '--frail', '--quiet', '--rc-path', path.join(here, 'remarkrc.json'), ...pages], { cwd: root, stdio: 'inherit' });
  console.log(`${pages.length} pages: links and anchors lead somewhere`);
} catch {
  failed = true;
}
process.exit(failed ? 1 : 0);
