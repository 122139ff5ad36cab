// Where the tiles of the map are, in pixels of its picture: a band of rows for each group.

export interface Band {
  readonly name?: string;
  /** The indexes of its tiles. */
  readonly first: number;
  readonly count: number;
  /** Where its name is, and below that its tiles. */
  readonly top: number;
}

export interface Layout {
  readonly bands: readonly Band[];
  readonly columns: number;
  readonly width: number;
  readonly height: number;
  /** The room that the name of a band has. */
  readonly labelHeight: number;
  /** Dots in a row of a tile, and rows of dots. */
  readonly across: number;
  readonly down: number;
  /** Pixels from one tile to the next: the dots, a frame around them, and a gap. */
  readonly step: { readonly x: number; readonly y: number };
}

interface Group {
  readonly name?: string;
  readonly hosts: readonly unknown[];
}

/** A row of more dots than these cannot be counted by eye. */
const acrossMax = 16;
/** Names are a line of text in a map of few groups, and take a fifth of one of many. */
const linesOfMap = 34;
const leastRowsPerName = 4;
/** Each group ends with a row that may be short, so a wider map may have larger dots. */
const widenings = [1, 1.15, 1.3, 1.5, 1.75, 2, 2.5, 3];

/** The layout whose dots are the largest in a view of that form, for one host as for many. */
export function largestLayout(groups: readonly Group[], most: number, aspect: number): Layout {
  const sizeOf = ({ width, height }: Layout) => Math.min(aspect / width, 1 / height);
  return Array.from({ length: Math.min(most, acrossMax) }, (_, index) => index + 1)
    .flatMap((across) => layouts(groups, across, Math.ceil(most / across), aspect))
    .reduce((best, each) => (sizeOf(each) > sizeOf(best) ? each : best));
}

function layouts(groups: readonly Group[], across: number, down: number, aspect: number): Layout[] {
  const step = { x: across + 3, y: down + 3 };
  const counts = groups.map(({ hosts }) => hosts.length);
  const count = counts.reduce((sum, each) => sum + each, 0);
  const largest = Math.max(1, ...counts);
  const wide = Math.sqrt((count * aspect * step.y) / step.x);
  const widths = new Set(
    widenings.flatMap((factor) => [Math.floor(wide * factor), Math.ceil(wide * factor)]),
  );
  return [...widths].map((about) => {
    const rows = Math.max(1, Math.ceil(largest / Math.max(1, about)));
    // The last row of the largest group is about as long as the others.
    const columns = Math.max(1, Math.ceil(largest / rows));
    return { ...placeBands(groups, columns, step), columns, across, down, step };
  });
}

function placeBands(groups: readonly Group[], columns: number, step: Layout['step']) {
  const rowsOf = ({ hosts }: Group) => Math.max(1, Math.ceil(hosts.length / columns));
  const tilesHeight = groups.reduce((sum, group) => sum + rowsOf(group), 0) * step.y;
  const isNamed = groups.some(({ name }) => name !== undefined);
  const lines = Math.max(linesOfMap, leastRowsPerName * groups.length);
  const labelHeight = isNamed ? Math.ceil(tilesHeight / lines) : 0;
  const bands: Band[] = [];
  let [first, top] = [0, 0];
  for (const group of groups) {
    const { name, hosts } = group;
    bands.push({ ...(name !== undefined && { name }), first, count: hosts.length, top });
    first += hosts.length;
    top += labelHeight + rowsOf(group) * step.y;
  }
  return { bands, labelHeight, width: columns * step.x, height: top };
}

export function bandOf({ bands }: Layout, index: number): Band | undefined {
  return bands.findLast(({ first }) => first <= index);
}

/** The corner of a tile at the left and at the top. */
export function cornerOf(layout: Layout, index: number): { x: number; y: number } {
  const { columns, labelHeight, step } = layout;
  const { first, top } = bandOf(layout, index) ?? { first: 0, top: 0 };
  const place = index - first;
  return {
    x: (place % columns) * step.x,
    y: top + labelHeight + Math.floor(place / columns) * step.y,
  };
}

/** The index of the tile at a pixel; undefined beside all tiles. */
export function indexAt(layout: Layout, x: number, y: number): number | undefined {
  const { bands, columns, labelHeight, step } = layout;
  const column = Math.floor(x / step.x);
  const band = bands.findLast(({ top }) => top + labelHeight <= y);
  if (!band || column < 0 || column >= columns) return undefined;
  const place = Math.floor((y - band.top - labelHeight) / step.y) * columns + column;
  return place < band.count ? band.first + place : undefined;
}

/** The tile that an arrow key leads to. */
export function neighbour(layout: Layout, index: number, key: string): number {
  const { columns, bands } = layout;
  const band = bandOf(layout, index);
  if (!band) return index;
  const place = index - band.first;
  const column = place % columns;
  const at = bands.indexOf(band);
  const within = ({ first, count }: Band, each: number) => first + Math.min(each, count - 1);
  switch (key) {
    case 'ArrowLeft':
      return Math.max(0, index - 1);
    case 'ArrowRight': {
      const end = bands.reduce((sum, { count }) => sum + count, 0);
      return Math.min(end - 1, index + 1);
    }
    case 'ArrowDown': {
      const isLast = Math.floor(place / columns) === Math.floor((band.count - 1) / columns);
      if (!isLast) return within(band, place + columns);
      const below = bands[at + 1];
      return below ? within(below, column) : index;
    }
    case 'ArrowUp': {
      if (place >= columns) return index - columns;
      const above = bands[at - 1];
      if (!above) return index;
      return within(above, Math.floor((above.count - 1) / columns) * columns + column);
    }
    default:
      return index;
  }
}
