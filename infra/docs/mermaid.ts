// Drawings in Mermaid as our documents have them: sequences, states and flows. In each, a node is
// a column and an arrow is a row, so that one layout draws all three.

import { escaped } from './escaped.ts';

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly isDashed?: boolean;
}
/** A text over some columns; without columns, over all of them. */
interface Note {
  readonly over: readonly string[];
  readonly text: string;
}
interface Drawing {
  /** The nodes by their ids. */
  readonly names: Map<string, string>;
  readonly rows: (Arrow | Note)[];
}

const columnWidth = 100;
const charactersPerColumn = 17;
const lineHeight = 14;
const headHeight = 3.5 * lineHeight;

export class DrawingInvalid extends Error {
  override readonly name = 'DrawingInvalid';
}

/** @throws DrawingInvalid for a line that has another form */
export function mermaidToSvg(lines: readonly string[]): string {
  const [kind = '', ...rest] = lines.map((line) => line.trim()).filter((line) => line !== '');
  const drawing: Drawing = { names: new Map(), rows: [] };
  const readLine = readers[kind];
  if (!readLine) throw new DrawingInvalid(`No drawing: ${kind}`);
  const outer: string[] = [];
  for (const line of rest) {
    if (!readLine(line, drawing, outer)) throw new DrawingInvalid(`Not read: ${line}`);
  }
  return svgOf(drawing);
}

/** @param outer ids of the states that hold this line @returns whether it has read the line */
type ReadLine = (line: string, drawing: Drawing, outer: string[]) => boolean;

const readers: Readonly<Record<string, ReadLine>> = {
  sequenceDiagram: (line, { names, rows }) => {
    const [, id, name] = /^participant (\w+) as (.+)$/.exec(line) ?? [];
    if (id && name) return Boolean(names.set(id, name));
    const [, over, note] = /^Note over ([\w,]+): (.+)$/.exec(line) ?? [];
    if (over && note) return rows.push({ over: over.split(','), text: note }) > 0;
    const [, condition] = /^opt (.+)$/.exec(line) ?? [];
    if (condition) return rows.push({ over: [], text: `If ${condition}:` }) > 0;
    const [, from, kind, to, text] = /^(\w+)(--?)>>(\w+): (.+)$/.exec(line) ?? [];
    if (!from || !to || !text) return line === 'end';
    return rows.push({ from, to, text, isDashed: kind === '--' }) > 0;
  },
  'stateDiagram-v2': (line, drawing, outer) => {
    const [, state] = /^state (\w+) \{$/.exec(line) ?? [];
    if (state) return outer.push(state) > 0;
    if (line === '}') return outer.pop() !== undefined;
    const [, from, to, text = ''] = /^(\S+) --> ([^:]+?)(?:: (.+))?$/.exec(line) ?? [];
    if (!from || !to) return false;
    // The beginning of an inner drawing is the state that holds it.
    const idOf = (id: string) => (id === '[*]' ? (outer.at(-1) ?? id) : id);
    return addArrow(drawing, { from: idOf(from), to: idOf(to), text });
  },
  'flowchart LR': (line, drawing) => {
    const [, id, name] = /^(\w+)\["(.+)"\]$/.exec(line) ?? [];
    if (id && name) return Boolean(drawing.names.set(id, name));
    const [, from, text, to] = /^(\w+) -->\|(.+)\| (\w+)$/.exec(line) ?? [];
    return from && text && to ? addArrow(drawing, { from, to, text }) : false;
  },
};

/** Nodes that have no name of their own have their ids. */
function addArrow({ names, rows }: Drawing, arrow: Arrow): boolean {
  for (const id of [arrow.from, arrow.to]) {
    if (!names.has(id)) names.set(id, id === '[*]' ? '●' : id);
  }
  return rows.push(arrow) > 0;
}

function svgOf({ names, rows }: Drawing): string {
  const ids = [...names.keys()];
  const middleOf = (id: string) => (ids.indexOf(id) + 0.5) * columnWidth;
  const parts: string[] = [];
  let top = headHeight + lineHeight;
  for (const row of rows) {
    const ends = 'over' in row ? row.over : [row.from, row.to];
    const middles = (ends.length > 0 ? ends : ids).map(middleOf);
    const [left, right] = [Math.min(...middles), Math.max(...middles)];
    const columns = Math.max(1, (right - left) / columnWidth);
    const lines = wrapped(row.text, columns * charactersPerColumn);
    // A loop has its text beside it.
    const isLoop = !('over' in row) && left === right;
    const at = isLoop ? left + columnWidth / 2 : (left + right) / 2;
    parts.push(textAt(at, top, lines, 'over' in row ? 'note' : 'label'));
    top += lines.length * lineHeight;
    if (!('over' in row)) parts.push(arrowAt(row, middleOf(row.from), middleOf(row.to), top));
    top += 1.4 * lineHeight;
  }
  const [width, height] = [ids.length * columnWidth, top];
  const lifelines = ids.map((id) => {
    const x = middleOf(id);
    return `<line class="life" x1="${x}" x2="${x}" y1="${headHeight}" y2="${height}"/>`;
  });
  const heads = [...names].map(([id, name]) =>
    textAt(middleOf(id), lineHeight, wrapped(name, charactersPerColumn - 3), 'head'),
  );
  const inWords = rows.map((row) => inWordsOf(row, names)).join('; ');
  return `<div class="table"><svg class="drawing" role="img" aria-label="${escaped(inWords)}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${[...lifelines, ...heads, ...parts].join('')}</svg></div>`;
}

function inWordsOf(row: Arrow | Note, names: ReadonlyMap<string, string>): string {
  if ('over' in row) return row.text;
  return `${names.get(row.from)} to ${names.get(row.to)}: ${row.text}`;
}

/** Breaks after spaces and hyphens. */
function wrapped(text: string, widest: number): string[] {
  const lines = [''];
  for (const word of text.split(/(?<=[ -])/)) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && `${line}${word}`.trim().length > widest) lines.push(word);
    else lines[lines.length - 1] = `${line}${word}`;
  }
  return lines.map((line) => line.trim());
}

function textAt(x: number, top: number, lines: readonly string[], kind: string): string {
  const spans = lines.map(
    (line, at) => `<tspan x="${x}" y="${top + at * lineHeight}">${escaped(line)}</tspan>`,
  );
  return `<text class="${kind}" text-anchor="middle">${spans.join('')}</text>`;
}

function arrowAt({ isDashed }: Arrow, from: number, to: number, y: number): string {
  const dash = isDashed ? ' stroke-dasharray="4 3"' : '';
  const path = from === to ? `M${from} ${y - 8}h24v8h-24` : `M${from} ${y}H${to}`;
  // The head of a loop points back at its column.
  const back = from < to ? -7 : 7;
  return `<path class="arrow"${dash} d="${path}"/><path class="tip" d="M${to} ${y}l${back} -4v8z"/>`;
}
