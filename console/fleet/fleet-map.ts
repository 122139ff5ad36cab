// The map of the fleet: a tile for each host, with a dot for each of its devices. The map is a
// small picture, with one pixel for a dot, that the browser enlarges: to pan and to zoom costs the
// same for ten devices as for a hundred thousand.

import type { Host } from '#console/api/answers.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HostGroup } from './groups.ts';
import { cornerOf, type Layout, largestLayout } from './layout.ts';

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
  /** Its zone or its aggregates, where the map is grouped by these. */
  readonly group?: string;
}

export interface FleetMap extends Layout {
  /** In the order of the bands. */
  readonly tiles: readonly Tile[];
}

export type FlawedDevices = ReadonlyMap<string, 'unhealthy' | 'quarantine'>;

/** @param aspect width of the view for a height of one */
export function fleetMap(
  groups: readonly HostGroup<Host>[],
  dots: readonly Dot[],
  flawed: FlawedDevices,
  aspect: number,
): FleetMap {
  const byHost = Map.groupBy(dots, ({ hostname }) => hostname);
  const hosts = groups.flatMap((each) => each.hosts);
  const tiles = hosts.map(({ hostname, state, devices, group }): Tile => {
    const dots = byHost.get(hostname) ?? [];
    const states = dots.map((dot) => stateOf(dot, flawed));
    const unread = Math.max(0, devices - dots.length);
    const all = [...states, ...Array<DotState>(unread).fill('unread')];
    return { hostname, state, dots: all, ...present({ group }) };
  });
  const most = tiles.reduce((max, tile) => Math.max(max, tile.dots.length), 1);
  return { tiles, ...largestLayout(groups, most, aspect) };
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
  map: FleetMap,
  palette: Palette,
  isDimmed: (tile: Tile) => boolean,
): Picture {
  const { tiles, width, height, across, down } = map;
  const pixels = new Uint32Array(width * height);
  for (const [index, tile] of tiles.entries()) {
    const { x: left, y: top } = cornerOf(map, index);
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
  return { width, height, pixels };
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
