// Which part of the map is seen: pan, zoom, and the tile at a point.

import type { FleetMap } from './fleet-map.ts';

export interface View {
  /** The pixel of the picture at the left and at the top of the view. */
  readonly x: number;
  readonly y: number;
  /** Points of the screen for a pixel of the picture. */
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const scaleMax = 64;
const scaleMin = 0.5;
/** A device of a fleet of few hosts is no larger. */
export const fitScaleMax = 64;

type Grid = Pick<FleetMap, 'columns' | 'rows' | 'step' | 'tiles'>;

/** The whole map, in the middle. */
export function fitted({ columns, rows, step }: Grid, size: Size): View {
  const [width, height] = [columns * step.x, rows * step.y];
  const scale = Math.min(size.width / width, size.height / height, fitScaleMax);
  return { scale, x: (width - size.width / scale) / 2, y: (height - size.height / scale) / 2 };
}

/** Zooms around the point. */
export function zoomed(view: View, factor: number, at: { x: number; y: number }): View {
  const scale = Math.min(scaleMax, Math.max(scaleMin, view.scale * factor));
  return {
    scale,
    x: view.x + at.x / view.scale - at.x / scale,
    y: view.y + at.y / view.scale - at.y / scale,
  };
}

export function panned(view: View, right: number, down: number): View {
  return { ...view, x: view.x - right / view.scale, y: view.y - down / view.scale };
}

/** The index of the tile at a point of the view; undefined beside all tiles. */
export function tileAt(grid: Grid, view: View, at: { x: number; y: number }): number | undefined {
  const column = Math.floor((view.x + at.x / view.scale) / grid.step.x);
  const row = Math.floor((view.y + at.y / view.scale) / grid.step.y);
  if (column < 0 || column >= grid.columns || row < 0) return undefined;
  const index = row * grid.columns + column;
  return index < grid.tiles.length ? index : undefined;
}

/** The middle of a tile, in the view. */
export function middleOf({ columns, step }: Grid, view: View, index: number) {
  return {
    x: ((index % columns) * step.x + step.x / 2 - view.x) * view.scale,
    y: (Math.floor(index / columns) * step.y + step.y / 2 - view.y) * view.scale,
  };
}

/** The view, moved as little as shows the tile. */
export function revealing(grid: Grid, view: View, index: number, size: Size): View {
  const { columns, step } = grid;
  const into = (from: number, start: number, length: number, seen: number) =>
    Math.min(Math.max(from, start + length - seen), start);
  return {
    ...view,
    x: into(view.x, (index % columns) * step.x, step.x, size.width / view.scale),
    y: into(view.y, Math.floor(index / columns) * step.y, step.y, size.height / view.scale),
  };
}

/** The tile that an arrow key leads to. */
export function neighbour({ columns, tiles }: Grid, index: number, key: string): number {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key] ?? 0;
  const next = index + step;
  return next < 0 || next >= tiles.length ? index : next;
}
