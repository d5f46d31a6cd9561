// Glossary fails if an English page that docs/read/glossary.md names as the one that teaches a term does not have the term in its text.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const glossary = 'docs/read/glossary.md';
const notTaught = /^(`{3,}).*\n[^]*?^\1$|<!-- questions:[^]*?<!-- \/questions -->|<!--[^]*?-->|<\/?[a-z][^>\n]*>|\]\([^)]*\)/gm;

// text returns what a page says: no code, pictures, questions or targets of links.
function text(target) {
  const file = path.join(path.dirname(glossary), target.replace(/#.*/, ''));
  const page = readFileSync(file.endsWith('.md') ? file : `${file}/README.md`, 'utf8');
  return page.replace(notTaught, ' ').replace(/\s+/g, ' ');
}
for (const [, row, links] of readFileSync(glossary, 'utf8').matchAll(/^\| (.*?) \|.*\| (\[.*?) \| \[.*? \|$/gm)) {
  const terms = row.replaceAll('`', '').split(', ').map((term) => term.replace(/^(a|the) /, ''));
  const targets = [...links.matchAll(/\]\((.*?)\)/g)].map(([, target]) => target);
  const has = (target, term) => new RegExp(`\\b${term}`, 'i').test(text(target));
  const wrong = (why) => { console.log(`${glossary}: ${row}: ${why}`); process.exitCode = 1; };
  for (const term of terms) if (!targets.some((target) => has(target, term))) wrong(`no "${term}" in ${targets}`);
  for (const target of targets) if (targets.length > 1 && !terms.some((term) => has(target, term))) wrong(`${target} has none of these terms`);
}
