// Which part of the map is seen: pan, zoom, and the tile at a point.

import { cornerOf, indexAt, type Layout } from './layout.ts';

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

/** The whole map, in the middle. */
export function fitted({ width, height }: Layout, size: Size): View {
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
export function tileAt(
  layout: Layout,
  view: View,
  at: { x: number; y: number },
): number | undefined {
  return indexAt(layout, view.x + at.x / view.scale, view.y + at.y / view.scale);
}

/** The middle of a tile, in the view. */
export function middleOf(layout: Layout, view: View, index: number) {
  const { x, y } = cornerOf(layout, index);
  const { step } = layout;
  return {
    x: (x + step.x / 2 - view.x) * view.scale,
    y: (y + step.y / 2 - view.y) * view.scale,
  };
}

/** The view, moved as little as shows the tile. */
export function revealing(layout: Layout, view: View, index: number, size: Size): View {
  const { step } = layout;
  const { x, y } = cornerOf(layout, index);
  const into = (from: number, start: number, length: number, seen: number) =>
    Math.min(Math.max(from, start + length - seen), start);
  return {
    ...view,
    x: into(view.x, x, step.x, size.width / view.scale),
    y: into(view.y, y, step.y, size.height / view.scale),
  };
}

/**
 * The place of the map is as wide as the window, and as high as its style sheet says. A window
 * that is hidden or being resized may have no size.
 */
export function aspectOfMap(window: Size): number {
  const width = Math.max(1, Math.min(window.width, 1600) - 64);
  const height = Math.max(1, Math.min(0.6 * window.height, 640));
  return Math.round((10 * width) / height) / 10 || 0.1;
}
