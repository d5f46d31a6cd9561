// Address: what the part after # says. Everything that can be seen is in it, and what it says is what is
// seen.

import {now} from './store.mjs';

// go writes into the address what is open.
export function go(place) {
  now.place = place;
  history.replaceState(null, '', format(place));
}

// parse reads an address: {} is where the page begins, null what no page has.
//
//	4.6/aAF                 {chapter: 4, at: 6, path: 'aAF'}     a beat, and the moves in its level
//	start.2/ab              {opening: 2, path: 'ab'}             an act of the opening, and its moves
//	pairs.4                 {pairs: 4}                       a lock that breaks, next to the next; 0 is all
//	build/121200            {bench: '121200'}
//	05/pause/aFbBA?beat=6   {level: '05/pause', path: 'aFbBA', beat: 6}
export function parse(text) {
  if (text === '') return {};
  let found = text.match(/^([1-9])(?:\.(\d{1,2}))?(?:\/(\w*))?$/);
  if (found) return {chapter: Number(found[1]), at: Number(found[2] ?? 1), path: found[3] ?? ''};
  found = text.match(/^start(?:\.(\d))?(?:\/(\w*))?$/);
  if (found) return {opening: Number(found[1] ?? 1), path: found[2] ?? ''};
  if (text === 'menu') return {menu: true};
  found = text.match(/^pairs(?:\.(\d))?$/);
  if (found) return {pairs: Number(found[1] ?? 0)};
  found = text.match(/^build(?:\/(\w*))?$/);
  if (found) return {bench: found[1] ?? ''};
  found = text.match(/(\d\d\/[\w-]+)(?:\/([\w-]*))?(?:\?beat=(\d{1,2}))?$/); // of a whole command, the end
  return found && {level: found[1], path: found[2] ?? '', beat: Number(found[3] ?? 0)};
}

// format is the other way round.
export function format({chapter, at = 1, opening, menu, pairs, bench, level, path = '', beat = 0}) {
  if (opening) return `#start${opening > 1 ? `.${opening}` : ''}${path && `/${path}`}`;
  if (menu) return '#menu';
  if (pairs !== undefined) return `#pairs${pairs ? `.${pairs}` : ''}`;
  if (chapter) return `#${chapter}${at > 1 ? `.${at}` : ''}${path && `/${path}`}`;
  if (bench !== undefined) return `#build${bench && `/${bench}`}`;
  return level ? `#${level}${path || !beat ? `/${path}` : ''}${beat ? `?beat=${beat}` : ''}` : '#';
}
