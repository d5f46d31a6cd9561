// Data: the graph of all schedules, as docs/explore writes it (docs/keep/explore/graph.go).
// There is no lock in here: what can be chosen, and what follows, stands in the graph.

export const End = -1, Unexplored = -2;

// What a record, and a key in it, have where the data says nothing.
const noRecord = {who: '', node: 0, reply: '', mark: '', line: ''}, noKey = {token: '', owner: ''};

// load unpacks data of the page: what it needs first, or the rest.
export async function load(base64) {
  const packed = atob(base64.trim()), bytes = new Uint8Array(packed.length);
  // Uint8Array.from takes four times as long
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).json();
}

export class Graph {
  constructor(p) {
    this.cells = new Map(p.Cells.map(c => [c.Name, c]));
    this.p = {};
    this.join(p);
  }

  // knows reports whether a cell can be played: its states are there.
  knows(name) { return this.cells.get(name)?.State < this.p.States.length; }

  // join adds the rest of a graph: no number in what is there already becomes another.
  join(more) {
    const {p} = this;
    for (const [name, list] of Object.entries(more)) p[name] = (p[name] ?? []).concat(list);
    this.options = p.Options.map(o => ({label: o.Label, text: o.Text, line: o.Line}));
    // The edges of state i are first[i] to first[i+1]-1.
    const n = p.States.length;
    this.first = new Int32Array(n + 1);
    this.to = new Int32Array(p.Edges.length).fill(Unexplored);
    this.option = new Int32Array(p.Edges.length);
    this.all = new Float64Array(n); // schedules that begin here
    for (let i = 0, e = 0, to = 0; i < n; i++) {
      this.first[i] = e;
      for (const option of p.Shapes[p.States[i]].Options) {
        this.option[e] = option;
        if (p.Edges[e] > 0) {
          const back = p.To[to++];
          this.to[e] = back === 0 ? End : i - back;
          this.all[i] += back === 0 ? 1 : this.all[i - back];
        }
        e++;
      }
      this.first[i + 1] = e;
    }
    this.aims = {};
  }

  // aim is what there is to find: see Aim. With the goal '' it is any violation.
  aim(goal, after = '') { return this.aims[`${goal}|${after}`] ??= new Aim(this, goal, after); }

  // idle says for each client why it has no option.
  idle(state) { return this.p.Shapes[this.p.States[state]].Idle; }

  // edges are the options of a state.
  edges(state) {
    const list = [];
    for (let e = this.first[state]; e < this.first[state + 1]; e++) {
      list.push({edge: e, to: this.to[e], ...this.options[this.option[e]]});
    }
    return list;
  }

  // play follows edges from the beginning of a cell. It returns the states in which they were chosen, what
  // has happened, how much of it after each choice (and before the first), when the next choice is, and the
  // state in which it is: End is the end.
  play(cell, edges) {
    const states = [], records = [], seen = [];
    let before = {redis: [], inside: []};
    const tell = (run, at) => {
      for (const i of this.p.Runs[run].slice(1)) {
        const r = {...noRecord, ...this.p.Records[i]};
        at = r.at += at;
        r.redis = r.redis
          ? r.redis.map(k => ({...noKey, ...k, until: k.until ? k.until + r.at - (k.until > 0 ? 1 : 0) : 0}))
          : before.redis;
        r.inside ??= before.inside;
        records.push(before = r);
      }
      seen.push(records.length);
    };
    tell(cell.Run, 0);
    let at = this.p.Runs[cell.Run][0], state = cell.State;
    for (const e of edges) {
      states.push(state);
      const run = this.p.Edges[e] - 1;
      tell(run, at);
      at += this.p.Runs[run][0];
      state = this.to[e];
    }
    if (state === End && records.length > 0) at = before.at;
    return {states, records, seen, at, state};
  }

  // follow finds the edges that the name of a schedule means, as docs/explore does: the longest label with
  // which the rest of the name begins.
  follow(cell, name) {
    const edges = [], longer = (a, b) => b.label.length - a.label.length;
    for (let state = cell.State; name !== '' && state >= 0;) {
      const [best] = this.edges(state).filter(o => name.startsWith(o.label)).sort(longer);
      if (!best || best.to === Unexplored) break;
      edges.push(best.edge);
      name = name.slice(best.label.length);
      state = best.to;
    }
    return {edges, rest: name};
  }

  // name is the name of a schedule.
  name(edges) { return edges.map(e => this.options[this.option[e]].label).join(''); }
}

// told is a record in a line, as the goals of levels name it.
export const told = r => r.kind === 'verdict' ? r.text
  : `${r.who ?? ''} ${r.text}${r.reply ? ` -> ${r.reply}` : ''}`;

// An Aim is what there is to find: a violation, or another record in which goal is. With
// after, it counts only once that was there: a record, or F, the fault.
class Aim {
  constructor(graph, goal, after = '') {
    const p = graph.p, n = p.States.length, has = text =>
      p.Runs.map(run => run.slice(1).some(r => p.Records[r] && text(p.Records[r])));
    this.graph = graph;
    this.breaks = goal === '' || /^[A-Z](:|$)/.test(goal);
    this.shows = has(r =>
      this.breaks ? r.kind === 'verdict' && r.text.startsWith(goal) : told(r).includes(goal));
    this.arms = after === 'F' || after === '' ? [] : has(r => told(r).includes(after));
    this.after = after;
    const of = value => [0, 1].map(() => new Float64Array(n).fill(value)); // by what armed says
    this.found = of(0); // schedules that begin here, and show it
    this.steps = of(Infinity); // choices to it, at least
    for (let i = 0; i < n; i++) {
      for (let e = graph.first[i]; e < graph.first[i + 1]; e++) {
        for (const armed of graph.to[e] === Unexplored ? [] : [0, 1]) {
          const [found, steps] = this.from(e, armed);
          this.found[armed][i] += found;
          this.steps[armed][i] = Math.min(this.steps[armed][i], steps);
        }
      }
    }
  }

  // from is how many schedules that go on with an edge show it, and how many choices away it is.
  from(edge, before) {
    const {all, p, to} = this.graph, state = to[edge], armed = this.armed(edge, before);
    if (armed && this.shows[p.Edges[edge] - 1]) return [state === End ? 1 : all[state], 1];
    return state === End ? [0, Infinity] : [this.found[armed][state], 1 + this.steps[armed][state]];
  }

  // armed is 1 if what must come first has come, with an edge or before it.
  armed(edge, before) {
    const {options, option, p} = this.graph;
    if (before || this.after === '') return 1;
    return +(this.after === 'F' ? options[option[edge]].label[0] === 'F' : this.arms[p.Edges[edge] - 1]);
  }

  // along follows a path from a cell. It returns for the beginning, and after each edge, how many schedules
  // show it and how many choices away it is; and the number of the edge that shows it, or 0.
  along(cell, path) {
    let armed = +(this.after === ''), state = cell.State, at = 0;
    const found = [this.found[armed][state]], steps = [this.steps[armed][state]];
    path.forEach((edge, i) => {
      armed = this.armed(edge, armed);
      state = this.graph.to[edge];
      if (armed && this.shows[this.graph.p.Edges[edge] - 1]) at ||= i + 1;
      found.push(state < 0 ? 0 : this.found[armed][state]);
      steps.push(state < 0 ? Infinity : this.steps[armed][state]);
    });
    return {found, steps, at, armed};
  }

  // shortest are the edges from the end of a path to it, null if it is out of reach.
  shortest(cell, path) {
    let {armed, steps} = this.along(cell, path);
    let state = path.length > 0 ? this.graph.to[path.at(-1)] : cell.State;
    if (steps.at(-1) === Infinity) return null;
    const edges = [];
    for (let left = steps.at(-1); left > 0; left--) {
      const {edge, to} = this.graph.edges(state).find(o =>
        o.to !== Unexplored && this.from(o.edge, armed)[1] === left);
      edges.push(edge);
      armed = this.armed(edge, armed);
      state = to;
    }
    return edges;
  }
}
