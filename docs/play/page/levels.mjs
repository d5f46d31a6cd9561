// Levels: the locks under their faults, as the data has them.

import {Graph} from './data.mjs';
import {stateOf} from './store.mjs';
import {t, upper} from './words.mjs';

export const all = ['alice', 'bob', 'carol']; // carol tries the lock at the end, if a node is gone
export const names = all.slice(0, 2);

export let data, graph, levels;
export function use(loaded) {
  data = loaded;
  graph = new Graph(data.Graph);
  levels = data.Levels;
}

// complete adds the rest: all cells, the bench, and the sources.
export function complete({Graph, ...rest}) {
  graph.join(Graph);
  Object.assign(data, {complete: true, ...rest});
}

export const levelOf = p => levelAt(p.Step, p.Fault);
export const onWay = () => data.Path.filter(levelOf); // those of the way that this page has
const goalIn = (list, l) => data.Own ? -1 : list.findIndex(p => p.Step === l.Step && p.Fault === l.Fault);
export const placeOf = l => goalIn(data.Path, l);
export const hardOf = l => data.Hard[goalIn(data.Hard, l)];
// goals are those of the way, and of the hard ones. Elsewhere it is anything that a lock must not allow.
export const goals = () => data.goals ??= data.Own ? {}
  : Object.fromEntries([...data.Path, ...data.Hard].map(p => [cellName(p), p]));
export const titleOf = l => placeOf(l) >= 0 ? t(`level.${cellName(l)}.goal`)
  : upper(t(`fault.${l.Fault}`)) + (hardOf(l) ? t('colon') + t(`kind.${hardOf(l).Goal}`) : '');
export const chapterOf = l => Math.max(1, l.Step);
export const solved = l => ['broken', 'holds'].includes(stateOf(cellName(l)));
export const stepName = n => n === 9 ? 'fencing' : String(n).padStart(2, '0');
export const cellName = l => `${String(l.Step).padStart(2, '0')}/${l.Fault}`;
export const levelAt = (step, fault) => levels.find(l => l.Step === step && l.Fault === fault);
export const levelNamed = cell => levels.find(l => cellName(l) === cell);
export const stepTitle = n => n === 0 ? t('step.before') : n === 9 ? t('step.fencing')
  : t('step', {step: stepName(n)});
export const lockOf = n => data.Locks.find(l => l.Step === n);
export const nodeOf = (l, n) => l.Nodes === 1 ? t('node.one') : t('node.many', {n});
export const nodesOf = l => Array.from({length: l.Nodes}, (_, i) => nodeOf(l, i + 1));

// scheduleOf is what happens on a path in a cell, of the levels or of the bench.
export function scheduleOf(name, path, bench) {
  const g = bench ? benchGraph() : graph, cell = g.cells.get(name), {edges, rest} = g.follow(cell, path);
  return {edges, rest, ...g.play(cell, edges)};
}
export const benchGraph = () => data.benchGraph ??= new Graph(data.Bench.Graph);

export const levelsOf = n => onWay().map(levelOf).filter(l => chapterOf(l) === n);
export const completed = n => levelsOf(n).length > 0 && levelsOf(n).every(solved);
