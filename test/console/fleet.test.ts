import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Host } from '#console/api/answers.ts';
import {
  cssColour,
  type Dot,
  dotStates,
  drawPicture,
  fleetCounts,
  fleetMap,
  type Palette,
  packedColour,
} from '#console/fleet/fleet-map.ts';
import {
  fitScaleMax,
  fitted,
  middleOf,
  neighbour,
  panned,
  revealing,
  tileAt,
  zoomed,
} from '#console/fleet/view.ts';
import { hostStates } from '#core/domain/host/host-state.ts';

const aHost = (index: number, devices: number, state: Host['state'] = 'online'): Host => ({
  hostname: `cmp${index}`,
  state,
  state_since: null,
  agent_version: null,
  nova_versions: null,
  boot_id: null,
  last_report_at: null,
  failed_drivers: [],
  clock_ahead_seconds: null,
  devices,
  not_offered: 0,
  drained: null,
  paused: null,
});
const dotsOf = (hosts: number, each: number): Dot[] =>
  Array.from({ length: hosts * each }, (_, index) => ({
    uuid: `device-${index}`,
    hostname: `cmp${Math.floor(index / each)}`,
    status: 'enabled',
  }));

/** A colour of its own for each state. */
const colours = [...hostStates, ...dotStates].map((name, index) => [name, 0xff000001 + index]);
const palette = {
  hosts: Object.fromEntries(colours.slice(0, hostStates.length)),
  dots: Object.fromEntries(colours.slice(hostStates.length)),
} as Palette;

describe('the map of the fleet', () => {
  it('has a dot for each device, of the state that its incident names', () => {
    const dots: Dot[] = [
      { uuid: 'a', hostname: 'cmp0', status: 'enabled' },
      { uuid: 'b', hostname: 'cmp0', status: 'maintaining' },
      { uuid: 'c', hostname: 'cmp0', status: 'maintaining' },
      { uuid: 'd', hostname: 'cmp0', status: 'enabled' },
    ];
    const flawed = new Map([
      ['c', 'unhealthy'],
      ['d', 'quarantine'],
    ] as const);
    const map = fleetMap([aHost(0, 4), aHost(1, 2, 'away')], dots, flawed, 2);
    expect(map.tiles.map((tile) => tile.dots)).toEqual([
      ['enabled', 'disabled', 'unhealthy', 'quarantine'],
      ['unread', 'unread'],
    ]);
    expect(fleetCounts(map).hosts).toEqual(
      new Map([
        ['online', 1],
        ['away', 1],
      ]),
    );
  });

  it('draws each of 100,000 devices and 10,000 hosts once', () => {
    const hosts = Array.from({ length: 10_000 }, (_, index) => aHost(index, 10));
    const map = fleetMap(hosts, dotsOf(10_000, 10), new Map(), 2);
    const { pixels, width, height } = drawPicture(map, palette, () => false);
    expect(pixels.filter((pixel) => pixel === palette.dots.enabled)).toHaveLength(100_000);
    // A tile is its dots, and a frame around them.
    const ground = pixels.filter((pixel) => pixel === palette.hosts.online);
    expect(ground).toHaveLength(10_000 * ((map.across + 2) * (map.down + 2) - 10));
    expect([width, height]).toEqual([map.columns * map.step.x, map.rows * map.step.y]);
  });

  it('draws what was not searched for faintly', () => {
    const map = fleetMap([aHost(0, 1), aHost(1, 1)], dotsOf(2, 1), new Map(), 2);
    const { pixels } = drawPicture(map, palette, ({ hostname }) => hostname === 'cmp0');
    const faint = ((palette.dots.enabled & 0xffffff) | 0x2a000000) >>> 0;
    expect([...pixels].filter((pixel) => pixel === faint)).toHaveLength(1);
    expect([...pixels].filter((pixel) => pixel === palette.dots.enabled)).toHaveLength(1);
  });

  it.each([
    [1, 5],
    [5, 5],
    [60, 8],
    [10_000, 10],
  ])('of %i hosts fills most of its place, or has the largest dots', (count, devices) => {
    const hosts = Array.from({ length: count }, (_, index) => aHost(index, devices));
    for (const size of [
      { width: 1216, height: 480 },
      { width: 340, height: 506 },
    ]) {
      const map = fleetMap(hosts, [], new Map(), size.width / size.height);
      const { scale } = fitted(map, size);
      const share =
        (map.columns * map.step.x * map.rows * map.step.y * scale ** 2) /
        (size.width * size.height);
      expect(scale === fitScaleMax || share > 0.7).toBe(true);
    }
  });

  it('has the colours of the style sheet', () => {
    expect(packedColour('rgb(1, 2, 3)')).toBe(0xff030201);
    expect(packedColour('')).toBe(0xff000000);
    expect(cssColour(packedColour('rgb(1, 2, 3)'))).toBe('rgb(1, 2, 3)');
  });
});

describe('the view of the map', () => {
  const hosts = Array.from({ length: 50 }, (_, index) => aHost(index, 4));
  const map = fleetMap(hosts, [], new Map(), 2);
  const size = { width: 800, height: 400 };
  const point = fc.record({
    x: fc.integer({ min: 0, max: 800 }),
    y: fc.integer({ min: 0, max: 400 }),
  });

  it('shows the whole map in its middle', () => {
    const view = fitted(map, size);
    const right = (map.columns * map.step.x - view.x) * view.scale;
    expect(-view.x * view.scale).toBeCloseTo(size.width - right);
    expect(right).toBeLessThanOrEqual(size.width + 1e-6);
    expect(tileAt(map, view, { x: 400, y: 200 })).toBeDefined();
    expect(tileAt(map, view, { x: -900, y: 200 })).toBeUndefined();
  });

  it('keeps what is below the pointer while it zooms', () => {
    fc.assert(
      fc.property(point, fc.double({ min: 0.1, max: 10, noNaN: true }), (at, factor) => {
        const view = fitted(map, size);
        const next = zoomed(view, factor, at);
        expect(next.x + at.x / next.scale).toBeCloseTo(view.x + at.x / view.scale);
        expect(next.y + at.y / next.scale).toBeCloseTo(view.y + at.y / view.scale);
      }),
    );
  });

  it('pans by what the pointer moved', () => {
    const view = panned({ x: 10, y: 10, scale: 2 }, 4, -6);
    expect(view).toEqual({ x: 8, y: 13, scale: 2 });
  });

  it('finds each tile at its middle', () => {
    const view = fitted(map, size);
    for (const index of map.tiles.keys()) {
      expect(tileAt(map, view, middleOf(map, view, index))).toBe(index);
    }
  });

  it('shows any tile whole, and moves no more than that needs', () => {
    const close = { x: 0, y: 0, scale: 20 };
    for (const index of map.tiles.keys()) {
      const view = revealing(map, close, index, size);
      const left = ((index % map.columns) * map.step.x - view.x) * view.scale;
      const top = (Math.floor(index / map.columns) * map.step.y - view.y) * view.scale;
      expect(left).toBeGreaterThanOrEqual(-1e-6);
      expect(left + map.step.x * view.scale).toBeLessThanOrEqual(size.width + 1e-6);
      expect(top).toBeGreaterThanOrEqual(-1e-6);
      expect(top + map.step.y * view.scale).toBeLessThanOrEqual(size.height + 1e-6);
    }
    expect(revealing(map, close, 0, size)).toEqual(close);
  });

  it('arrow keys lead to the neighbours, and not out of the map', () => {
    expect(neighbour(map, 0, 'ArrowRight')).toBe(1);
    expect(neighbour(map, 0, 'ArrowDown')).toBe(map.columns);
    expect(neighbour(map, 0, 'ArrowLeft')).toBe(0);
    expect(neighbour(map, 49, 'ArrowRight')).toBe(49);
    expect(neighbour(map, 20, 'a')).toBe(20);
  });
});
