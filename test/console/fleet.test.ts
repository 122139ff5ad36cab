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
import { groupHosts, groupingsOf, groupsMax } from '#console/fleet/groups.ts';
import { cornerOf, neighbour } from '#console/fleet/layout.ts';
import {
  aspectOfMap,
  fitScaleMax,
  fitted,
  middleOf,
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
  failure_domain: null,
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
  it.each([
    [0, 0],
    [0, 900],
    [390, 0],
    [40, 844],
    [3840, 2160],
  ])('has a picture in a window of %i to %i', (width, height) => {
    const map = fleetMap([{ hosts: [aHost(0, 4)] }], [], new Map(), aspectOfMap({ width, height }));
    const picture = drawPicture(map, palette, () => false);
    expect(picture.pixels).toHaveLength(picture.width * picture.height);
    expect(picture.width).toBeGreaterThan(0);
  });

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
    const map = fleetMap([{ hosts: [aHost(0, 4), aHost(1, 2, 'away')] }], dots, flawed, 2);
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
    const map = fleetMap([{ hosts }], dotsOf(10_000, 10), new Map(), 2);
    const { pixels, width, height } = drawPicture(map, palette, () => false);
    expect(pixels.filter((pixel) => pixel === palette.dots.enabled)).toHaveLength(100_000);
    // A tile is its dots, and a frame around them.
    const ground = pixels.filter((pixel) => pixel === palette.hosts.online);
    expect(ground).toHaveLength(10_000 * ((map.across + 2) * (map.down + 2) - 10));
    expect([width, height]).toEqual([map.width, map.height]);
  });

  it('draws what was not searched for faintly', () => {
    const map = fleetMap([{ hosts: [aHost(0, 1), aHost(1, 1)] }], dotsOf(2, 1), new Map(), 2);
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
      const map = fleetMap([{ hosts }], [], new Map(), size.width / size.height);
      const { scale } = fitted(map, size);
      const share = (map.width * map.height * scale ** 2) / (size.width * size.height);
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
  const map = fleetMap([{ hosts }], [], new Map(), 2);
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

describe('groups of the map', () => {
  const aggregates = [
    { name: 'rack2', availability_zone: 'az1', hosts: ['cmp3', 'cmp4'] },
    { name: 'rack1', availability_zone: 'az1', hosts: ['cmp0.example', 'cmp1'] },
    { name: 'gpus', availability_zone: null, hosts: ['cmp1', 'cmp5'] },
  ];
  const hosts = Array.from({ length: 7 }, (_, index) => aHost(index, 4));
  const groupsBy = (by: 'zone' | 'aggregate' | 'none') =>
    groupHosts(hosts, aggregates, by).map((each) => [
      each.name,
      each.hosts.map(({ hostname }) => hostname),
    ]);

  it('are zones, with the hosts of none at the end', () => {
    expect(groupsBy('zone')).toEqual([
      ['az1', ['cmp0', 'cmp1', 'cmp3', 'cmp4']],
      ['in no zone', ['cmp2', 'cmp5', 'cmp6']],
    ]);
  });

  it('are aggregates, with each host once', () => {
    expect(groupsBy('aggregate')).toEqual([
      ['gpus', ['cmp5']],
      ['gpus + rack1', ['cmp1']],
      ['rack1', ['cmp0']],
      ['rack2', ['cmp3', 'cmp4']],
      ['in no aggregate', ['cmp2', 'cmp6']],
    ]);
  });

  it('find a host by its whole name where Nova has the short one', () => {
    const whole = { ...aHost(3, 1), hostname: 'cmp3.example' };
    expect(groupHosts([whole], aggregates, 'aggregate').map(({ name }) => name)).toEqual(['rack2']);
  });

  it('are none where Nova shows no aggregates, and no zones where none has one', () => {
    expect(groupingsOf([])).toEqual(['none']);
    expect(groupingsOf(aggregates.slice(2))).toEqual(['aggregate', 'none']);
    expect(groupingsOf(aggregates)).toEqual(['zone', 'aggregate', 'none']);
    expect(groupsBy('none')).toEqual([[undefined, hosts.map(({ hostname }) => hostname)]]);
  });

  it('are a few dozen at most: the smaller ones are together', () => {
    const many = Array.from({ length: 100 }, (_, index) => aHost(index, 1));
    const racks = many.map(({ hostname }, index) => ({
      name: `rack${index < 10 ? 0 : index}`,
      availability_zone: null,
      hosts: [hostname],
    }));
    const groups = groupHosts(many, racks, 'aggregate');
    expect(groups).toHaveLength(groupsMax);
    expect(groups[0]).toMatchObject({ name: 'rack0' });
    expect(groups.at(-1)).toMatchObject({ name: `${91 - groupsMax + 1} smaller groups` });
    expect(groups.flatMap((each) => each.hosts)).toHaveLength(100);
  });

  it.each([1, 3, 24])('of 10,000 hosts in %i groups have each tile once, at its place', (count) => {
    const all = Array.from({ length: 10_000 }, (_, index) => aHost(index, 10));
    // The first is by far the largest, and none ends with its row.
    const zoneOf = (index: number) => (index % 3 === 0 ? (index * 7) % count : 0);
    const zones = Array.from({ length: count }, (_, zone) => ({
      name: `rack${zone}`,
      availability_zone: `az${zone}`,
      hosts: all.flatMap(({ hostname }, index) => (zoneOf(index) === zone ? [hostname] : [])),
    }));
    const map = fleetMap(groupHosts(all, zones, 'zone'), [], new Map(), 2.5);
    const size = { width: 1216, height: 480 };
    const view = fitted(map, size);
    const corners = new Set<string>();
    for (const index of map.tiles.keys()) {
      const { x, y } = cornerOf(map, index);
      corners.add(`${x} ${y}`);
      expect(tileAt(map, view, middleOf(map, view, index))).toBe(index);
    }
    expect(corners.size).toBe(10_000);
    // A device is about as large as in a map without groups.
    const plain = fitted(fleetMap([{ hosts: all }], [], new Map(), 2.5), size);
    expect(view.scale).toBeGreaterThan(0.6 * plain.scale);
    expect(map.labelHeight * view.scale).toBeGreaterThan(count <= 3 ? 10 : 3);
  });

  it('lead from one to the next by arrow keys', () => {
    const map = fleetMap(groupHosts(hosts, aggregates, 'zone'), [], new Map(), 0.5);
    const down = (index: number) => neighbour(map, index, 'ArrowDown');
    const up = (index: number) => neighbour(map, index, 'ArrowUp');
    let index = 0;
    const seen = [map.tiles[0]?.group];
    for (let next = down(0); next !== index; next = down(index)) {
      index = next;
      seen.push(map.tiles[index]?.group);
    }
    expect(new Set(seen)).toEqual(new Set(['az1', undefined]));
    for (let next = up(index); next !== index; next = up(index)) index = next;
    expect(index).toBe(0);
    expect(neighbour(map, 3, 'ArrowRight')).toBe(4);
    expect(neighbour(map, 6, 'ArrowRight')).toBe(6);
  });
});
