// Words: what the page says, in the language of the reader.

import {names} from './levels.mjs';

export let words = {}; // by language
export let language = 'en';

// speak chooses a language. have are the words of the page.
export function speak(to, have = words) {
  words = have;
  language = to;
}

export function t(key, values = {}) {
  const text = words[language]?.[key] ?? words.en[key];
  if (text === undefined) throw new Error(`there is no word for ${key}`);
  return close(text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? ''));
}

// close takes the spaces away that Chinese does not have: between two of its characters, and
// beside its punctuation.
export const close = text => text.replace(/(?<=[\p{sc=Han}，。：；、（）“”]) +(?=[\p{sc=Han}，。：；、（）“”])/gu, '');

// fromData is a text of the data, which is English, in the language of the page: as a whole,
// or in its parts.
export function fromData(text) {
  const known = text => words[language][`data.${text}`];
  return known(text) ?? text.split('; ').map(part => known(part) ?? part).join(t('semicolon'));
}

export const plain = text => close(text.replaceAll('`', ''));

// upper begins a sentence, if it does not begin with a name of a lane.
export const upper = s => names.some(n => s.startsWith(n)) ? s : s[0].toUpperCase() + s.slice(1);
// inProse is a client's name in a sentence.
export const inProse = who => language === 'en' ? who[0].toUpperCase() + who.slice(1) : who;
