// Store: what is remembered, in the browser's storage, and what is open now.

// now is the opening, the game and the chapter that are open, or null, their address, and the width of the picture.
export const now = {opening: null, game: null, chapter: null, address: '', width: 0};

const store = 'redislock-play', ranks = ['new', 'seen', 'shown', 'holds', 'broken'];
export let progress = {};
try {
  const {levels, answers, language} = JSON.parse(localStorage.getItem(store)) ?? {};
  // What an older or a newer page has left there may say something else.
  const known = (map, values) => Object.fromEntries(Object.entries(map ?? {}).filter(([, value]) => values.includes(value)));
  progress = {levels: known(levels, ranks), answers: known(answers, ['a', 'b', 'c']), language: typeof language === 'string' ? language : undefined};
} catch { /* it is not kept */ }
export function keep() {
  try { localStorage.setItem(store, JSON.stringify(progress)); } catch { /* it is not kept */ }
}
export const stateOf = id => progress.levels?.[id] ?? 'new';
export function note(id, state) {
  if (ranks.indexOf(state) <= ranks.indexOf(stateOf(id))) return;
  if (stateOf(id) === 'shown' && state !== 'shown' && now.game?.shown) return;
  progress.levels = {...progress.levels, [id]: state};
  keep();
}

// answerOf is what the reader has answered to the question of a beat: a, b or c.
export const answerOf = beat => progress.answers?.[beat];
export function answers(beat, letter) {
  progress.answers = {...progress.answers, [beat]: letter};
  keep();
}
export function forget() {
  progress = {language: progress.language};
  keep();
}
