// Check reads every Markdown page of the repository: remark-validate-links follows links and anchors.
//
//	npm ci && npm test
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..', '..');

const pages = readdirSync(root, { recursive: true })
  .filter((file) => file.endsWith('.md') && !file.split(path.sep).some((part) => part === 'node_modules' || part.startsWith('.') && part !== '.github'))
  .sort();

execFileSync(process.execPath, [path.join(here, 'node_modules', 'remark-cli', 'cli.js'), '--frail', '--quiet', '--rc-path', path.join(here, 'remarkrc.json'), ...pages], { cwd: root, stdio: 'inherit' });
console.log(`${pages.length} pages: links and anchors lead somewhere`);
