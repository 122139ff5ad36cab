// The map of the fleet: a tile for each host, with a dot for each of its devices. The map is a
// small picture, with one pixel for a dot, that the browser enlarges: to pan and to zoom costs the
// same for ten devices as for a hundred thousand.

import type { Host } from '#console/api/answers.ts';

/** `unread`: the host has the device, and its row has not been read yet. */
export const dotStates = ['enabled', 'disabled', 'unhealthy', 'quarantine', 'unread'] as const;
type DotState = (typeof dotStates)[number];

export function dotText(state: DotState): string {
  return state === 'unread' ? 'not read yet' : state;
}

export interface Dot {
  readonly uuid: string;
  readonly hostname: string;
  readonly status: 'enabled' | 'maintaining';
}

export interface Tile {
  readonly hostname: string;
  readonly state: Host['state'];
  readonly dots: readonly DotState[];
}

export interface FleetMap {
  readonly tiles: readonly Tile[];
  readonly columns: number;
  readonly rows: number;
  /** Dots in a row of a tile, and rows of dots. */
  readonly across: number;
  readonly down: number;
  /** Pixels from one tile to the next: the dots, a frame around them, and a gap. */
  readonly step: { readonly x: number; readonly y: number };
}

export type FlawedDevices = ReadonlyMap<string, 'unhealthy' | 'quarantine'>;

/** @param aspect width of the view for a height of one */
export function fleetMap(
  hosts: readonly Host[],
  dots: readonly Dot[],
  flawed: FlawedDevices,
  aspect: number,
): FleetMap {
  const byHost = Map.groupBy(dots, ({ hostname }) => hostname);
  const tiles = hosts.map(({ hostname, state, devices }): Tile => {
    const dots = byHost.get(hostname) ?? [];
    const states = dots.map((dot) => stateOf(dot, flawed));
    const unread = Math.max(0, devices - dots.length);
    return { hostname, state, dots: [...states, ...Array<DotState>(unread).fill('unread')] };
  });
  const most = tiles.reduce((max, tile) => Math.max(max, tile.dots.length), 1);
  return { tiles, ...largestLayout(tiles.length, most, aspect) };
}

type Layout = Omit<FleetMap, 'tiles'>;

/** A row of more dots than these cannot be counted by eye. */
const acrossMax = 16;

/** The layout whose dots are the largest in a view of that form, for one host as for many. */
function largestLayout(count: number, most: number, aspect: number): Layout {
  const sizeOf = ({ columns, rows, step }: Layout) =>
    Math.min(aspect / (columns * step.x), 1 / (rows * step.y));
  return Array.from({ length: Math.min(most, acrossMax) }, (_, index) => index + 1)
    .flatMap((across) => layouts(count, across, Math.ceil(most / across), aspect))
    .reduce((best, each) => (sizeOf(each) > sizeOf(best) ? each : best));
}

function layouts(count: number, across: number, down: number, aspect: number): Layout[] {
  const step = { x: across + 3, y: down + 3 };
  const wide = Math.sqrt((count * aspect * step.y) / step.x);
  return [Math.floor(wide), Math.ceil(wide)].map((about) => {
    const rows = Math.max(1, Math.ceil(count / Math.max(1, about)));
    // The last row is about as long as the others.
    return { columns: Math.max(1, Math.ceil(count / rows)), rows, across, down, step };
  });
}

function stateOf({ uuid, status }: Dot, flawed: FlawedDevices): DotState {
  return flawed.get(uuid) ?? (status === 'enabled' ? 'enabled' : 'disabled');
}

/** Colours as the numbers that a picture's memory has: alpha, blue, green, red. */
export interface Palette {
  readonly hosts: Readonly<Record<Host['state'], number>>;
  readonly dots: Readonly<Record<DotState, number>>;
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
}

/** @param isDimmed whether a tile is not among what was searched for */
export function drawPicture(
  { tiles, columns, rows, across, down, step }: FleetMap,
  palette: Palette,
  isDimmed: (tile: Tile) => boolean,
): Picture {
  const width = columns * step.x;
  const pixels = new Uint32Array(width * rows * step.y);
  for (const [index, tile] of tiles.entries()) {
    const left = (index % columns) * step.x;
    const top = Math.floor(index / columns) * step.y;
    const shade = isDimmed(tile) ? dimmed : (colour: number) => colour;
    const ground = shade(palette.hosts[tile.state]);
    for (let y = top; y < top + down + 2; y += 1) {
      pixels.fill(ground, y * width + left, y * width + left + across + 2);
    }
    for (const [place, state] of tile.dots.entries()) {
      const x = left + 1 + (place % across);
      const y = top + 1 + Math.floor(place / across);
      pixels[y * width + x] = shade(palette.dots[state]);
    }
  }
  return { width, height: rows * step.y, pixels };
}

/** A sixth of the opacity. */
function dimmed(colour: number): number {
  return ((colour & 0x00ffffff) | 0x2a000000) >>> 0;
}

/** `rgb(11, 87, 179)` as a number of a {@link Palette}. */
export function packedColour(text: string): number {
  const [red = 0, green = 0, blue = 0] = (text.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A number of a {@link Palette} as the text that a style has. */
export function cssColour(colour: number): string {
  const [red, green, blue] = [colour, colour >>> 8, colour >>> 16].map((each) => each & 0xff);
  return `rgb(${red}, ${green}, ${blue})`;
}

interface FleetCounts {
  readonly hosts: ReadonlyMap<Host['state'], number>;
  readonly dots: ReadonlyMap<DotState, number>;
}

export function fleetCounts({ tiles }: FleetMap): FleetCounts {
  const hosts = new Map<Host['state'], number>();
  const dots = new Map<DotState, number>();
  for (const tile of tiles) {
    hosts.set(tile.state, (hosts.get(tile.state) ?? 0) + 1);
    for (const state of tile.dots) dots.set(state, (dots.get(state) ?? 0) + 1);
  }
  return { hosts, dots };
}
