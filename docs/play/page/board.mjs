// Board: a cell, a path in it, and how many of its rows, as a picture that plays.
//
//	<lock-board cell="03/slow" path="aAFba" rows="4">
//
// Opening, chapter, level, bench and pair are made of it. With play, the reader chooses: what the last choice
// did is new. With secret, it does not say what is wrong; with bench, the cell is one of the bench.

import {End} from './data.mjs';
import {diagram} from './diagram.mjs';
import {button, el, still} from './dom.mjs';
import {all, levelNamed, names, nodesOf, scheduleOf} from './levels.mjs';
import {rows, spoken} from './timeline.mjs';
import {t} from './words.mjs';

const rowTime = 450; // ms for each row

class Board extends (globalThis.HTMLElement ?? Object) {
  list = []; // the rows of the path

  // n is how many of them are shown.
  get n() { return Math.min(this.list.length, this.getAttribute('rows') ?? Infinity); }

  connectedCallback() {
    if (!this.ariaHidden) this.tabIndex = 0;
    this.setAttribute('role', 'img');
    this.width = this.clientWidth;
    this.sizes = new ResizeObserver(() => this.clientWidth === this.width || this.draw());
    this.sizes.observe(this);
    this.show({});
  }

  disconnectedCallback() {
    clearTimeout(this.timer);
    this.sizes.disconnect();
  }

  // show changes what is seen. moved says that a choice has just been made.
  show(attributes, moved = false) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === false) this.removeAttribute(name);
      else this.setAttribute(name, value === true ? '' : value);
    }
    const cell = this.getAttribute('cell'), secret = this.hasAttribute('secret');
    this.played = cell ? scheduleOf(cell, this.getAttribute('path') ?? '', this.hasAttribute('bench'))
      : {records: [], seen: []};
    this.list = rows(this.played.records, 6).filter(r => !secret || r.who !== '**');
    this.rows(this.getAttribute('rows') ?? this.list.length, moved);
  }

  // rows shows so many of them.
  rows(n, moving = false) {
    clearTimeout(this.timer);
    this.playing = false;
    if (Number(n) < this.list.length || this.hasAttribute('rows')) this.setAttribute('rows', Math.max(0, n));
    this.draw(moving && !still());
    this.dispatchEvent(new Event('rows'));
  }

  // play shows them one after the other.
  play(n = this.n < this.list.length ? this.n : 0) {
    const all = this.list.length, to = still() ? all : Math.min(n, all);
    this.setAttribute('rows', to);
    this.rows(to, true);
    this.playing = to < all;
    if (this.playing) this.timer = setTimeout(() => this.play(n + 1), rowTime);
    else this.dispatchEvent(new Event('over'));
  }

  draw(moving = false) {
    this.width = this.clientWidth;
    const cell = this.getAttribute('cell'), {list, n} = this, {records, seen, at, state} = this.played;
    if (!this.isConnected || !cell) return this.replaceChildren();
    const whole = n === list.length, some = whole ? records : records.slice(0, list[n].first);
    const chosen = this.hasAttribute('play'), before = seen.at(-2), two = r => r?.inside.length > 1;
    this.shown = some;
    const fresh = chosen ? records[before ?? records.length]?.at : moving ? list[n - 1]?.at : undefined;
    this.replaceChildren(...diagram({
      rows: list.slice(0, n), records: some, moving, fresh: fresh ?? Infinity,
      clients: all.filter(who => names.includes(who) || records.some(r => r.who === who)),
      nodes: nodesOf(levelNamed(cell) ?? {Nodes: 1}), resource: t(this.getAttribute('room') ?? 'resource'),
      width: Math.max(250, Math.min(760, this.width - 18)), now: whole ? at : some.at(-1)?.at ?? 0,
      ended: whole && state === End, flash: moving && whole && two(records.at(-1))
        && !(chosen && two(records[before - 1])),
    }));
    this.scrollTop = this.scrollHeight;
    this.setAttribute('aria-label', spoken(list.slice(0, n)) || t('timeline.empty'));
  }
}
globalThis.customElements?.define('lock-board', Board);

// slider moves through the rows of a board.
export function slider(board, props) {
  const input = el('input', {type: 'range', min: '0', oninput: () => board.rows(input.value), ...props});
  board.addEventListener('rows', () => Object.assign(input, {max: board.list.length, value: board.n}));
  return input;
}

// controls go back, play and go on, by its rows or as move says.
export function controls(board, move = d => board.rows(board.n + d), ...more) {
  const step = (word, sign, act, id) => button(sign, act, {id, 'aria-label': t(word), title: t(word)});
  return el('div.controls', {role: 'group', 'aria-label': t('course.controls')},
    step('course.back', '◀', () => move(-1), 'back'), step('course.play', '▶', () => board.play(), 'play'),
    step('course.on', '▶|', () => move(1), 'on1'),
    slider(board, {id: 'scrub', 'aria-label': t('course.scrub')}), more);
}

// leading is the one of two boards with more rows: the other one follows it.
export function leading(boards) {
  const [lead, other] = boards.toSorted((a, b) => b.list.length - a.list.length);
  lead.addEventListener('rows', () => other?.rows(lead.n));
  return lead;
}
