// Glossary fails unless both editions of docs/read/glossary have the same words, and each page that is named as one that teaches a term
// has it in its text.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const folder = 'docs/read';
const notTaught = /^(`{3,}).*\n[^]*?^\1$|<!-- questions:[^]*?<!-- \/questions -->|<!--[^]*?-->|<\/?[a-z][^>\n]*>|\]\([^)]*\)/gm;
const wrong = (row, why) => { console.log(`${folder}/glossary: ${row}: ${why}`); process.exitCode = 1; };

// text returns what a page says: no code, pictures, questions or targets of links.
function text(target) {
  const file = path.join(folder, target.replace(/#.*/, ''));
  const page = readFileSync(file.endsWith('.md') ? file : `${file}/README.md`, 'utf8');
  return page.replace(notTaught, ' ').replace(/\s+/g, ' ');
}
// rows returns the cells of the rows of an edition, and fails where a page of its language that teaches a term lacks it.
function rows(file, page, start) {
  const list = [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/^\| (.*) \| (.*) \| (.*) \| (\[.*) \|$/gm)].map((row) => row.slice(1));
  for (const [row, , , links] of list) {
    const terms = row.replaceAll('`', '').replace(/（.*?）/g, '').split(/, |、/).map((term) => term.replace(/^(a|the) /, ''));
    const targets = [...links.matchAll(/\]\((.*?)\)/g)].map(([, target]) => target).filter((target) => page.test(target));
    const has = (target, term) => new RegExp(start + term, 'i').test(text(target));
    for (const term of terms) if (!targets.some((target) => has(target, term))) wrong(row, `no "${term}" in ${targets}`);
    for (const target of targets) if (targets.length > 1 && !terms.some((term) => has(target, term))) wrong(row, `${target} has none of these terms`);
  }
  return list;
}
const english = rows('glossary.md', /./, '\\b');
const chinese = rows('glossary.zh-CN.md', /zh-CN/, '');
for (let i = 0; i < Math.max(english.length, chinese.length); i++) {
  const [term, , word] = english[i] ?? [], [theirs, of] = chinese[i] ?? [];
  if (term !== of || word !== theirs) wrong(term ?? theirs, `the editions differ in row ${i + 1}: ${term}, ${word}; ${of}, ${theirs}`);
}
