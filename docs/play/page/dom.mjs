// Dom: what views are made of.

import {t} from './words.mjs';

export const leads = new URLSearchParams(globalThis.location?.search).has('lead'); // presenter mode
export const part = id => document.getElementById(id);
export const narrow = () => matchMedia('(max-width: 860px)').matches;
export const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

// rich makes code of what stands between backquotes.
export const rich = text => text.split('`').map((part, i) => i % 2 ? el('code', part) : part);

// el makes an element: el('p.start#first', {title: 'x'}, children), where the second may be a child as well.
export function el(name, props, ...children) {
  const [tag, ...marks] = name.split(/(?=[.#])/), e = document.createElement(tag),
    given = props?.constructor === Object;
  for (const mark of marks) mark[0] === '.' ? e.classList.add(mark.slice(1)) : e.id = mark.slice(1);
  for (const [k, v] of Object.entries(given ? props : {})) {
    if (v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v !== true || k.startsWith('aria-') ? v : '');
  }
  fill(e, given ? [] : props, ...children);
  return e;
}

// fill replaces what is in an element.
export const fill = (e, ...children) =>
  e.replaceChildren(...children.flat().filter(c => c !== undefined && c !== null && c !== false));

export const button = (text, onclick, props) => el('button', {type: 'button', onclick, ...props}, text);
export const kbd = key => el('kbd', {'aria-hidden': true}, key);
export const copies = (text, id) => button(t('copy'), e => copy(text, e.currentTarget), {id, class: 'quiet'});

let said = 0;
export function say(text) {
  // The same text twice is no change, and would not be said.
  part('said').textContent = text + (said++ % 2 ? '\u00a0' : '');
}

// send hands a text to others: by the device's own sheet where there is one, otherwise by the clipboard.
export const send = (text, button) => navigator.share ? navigator.share({text}).catch(() => {})
  : copy(text, button);

// copy puts a text on the clipboard. A page that must not do that shows it, to be copied by hand.
async function copy(text, button) {
  part('by-hand')?.remove();
  try {
    await navigator.clipboard.writeText(text);
    if (!button.textContent.startsWith('✓')) button.prepend('✓ ');
    say(t('copied', {text}));
  } catch {
    const area = el('textarea#by-hand', {readonly: true, rows: 3, 'aria-label': t('copyFailed')}, text);
    button.parentElement.append(area);
    area.focus();
    area.select();
  }
}
