// Store: what is remembered, in the browser's storage, and what is open now.

// now is what the address says, and the game that is open, or null.
export const now = {place: {}, game: null};

const store = 'redislock-play', ranks = ['new', 'seen', 'shown', 'holds', 'broken'];
export let progress = {};
try {
  const {levels, answers, games, bench, language} = JSON.parse(localStorage.getItem(store)) ?? {};
  // What an older or a newer page has left there may say something else.
  const known = (map, is) => Object.fromEntries(Object.entries(map ?? {}).filter(([, v]) => is.includes(v)));
  progress = {
    levels: known(levels, ranks), answers: known(answers, ['a', 'b', 'c']),
    games: Object(games), bench: Object(bench), // both are read with care
    language: typeof language === 'string' ? language : undefined,
  };
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
