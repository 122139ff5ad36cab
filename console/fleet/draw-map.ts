// A frame of the map: one enlarged picture, and the names of the hosts where there is room.

import { harmlessText } from '#console/parts/text.ts';
import { counted } from '#console/parts/time/time-text.ts';
import { cssColour, drawPicture, type FleetMap, type Palette, type Tile } from './fleet-map.ts';
import { cornerOf } from './layout.ts';
import type { Size, View } from './view.ts';

/** The least width of a tile that shows its name. */
const namedTileWidth = 84;
/** The name is in the gap below its tile. */
const namedScaleMin = 13;
/** The least width of dots that have space between them. */
const separateScaleMin = 6;
/** The least and the largest letters of a group's name. */
const groupTextMin = 10;
const groupTextMax = 14;

export function createBitmap(
  map: FleetMap,
  palette: Palette,
  isDimmed: (tile: Tile) => boolean,
): HTMLCanvasElement {
  const { width, height, pixels } = drawPicture(map, palette, isDimmed);
  const bitmap = document.createElement('canvas');
  bitmap.width = width;
  bitmap.height = height;
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
  bitmap.getContext('2d')?.putImageData(image, 0, 0);
  return bitmap;
}

interface Drawing {
  readonly map: FleetMap;
  readonly palette: Palette;
  readonly isDimmed: (tile: Tile) => boolean;
  readonly picture: HTMLCanvasElement;
  readonly view: View;
  readonly size: Size;
  readonly selectedIndex: number;
}

export function draw(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const { picture, view, size, selectedIndex } = drawing;
  const ratio = devicePixelRatio;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  // Dots that are smaller than a point of the screen are mixed, not left out.
  context.imageSmoothingEnabled = view.scale < 1;
  const [x, y] = [-view.x * view.scale, -view.y * view.scale];
  context.drawImage(picture, x, y, picture.width * view.scale, picture.height * view.scale);
  const { color } = getComputedStyle(canvas);
  context.fillStyle = color;
  context.strokeStyle = color;
  if (view.scale >= separateScaleMin) separateDots(context, drawing);
  if (drawing.map.step.x * view.scale >= namedTileWidth && view.scale >= namedScaleMin) {
    drawNames(context, drawing);
  }
  drawGroups(context, drawing);
  if (selectedIndex >= 0) frameTile(context, drawing);
}

/** The ground of a tile is seen between its dots. */
function separateDots(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { map, view, palette, isDimmed } = drawing;
  const width = Math.max(1, view.scale / 8);
  context.save();
  context.lineWidth = width;
  for (const { tile, x, y } of tilesInView(drawing)) {
    if (isDimmed(tile)) continue;
    context.strokeStyle = cssColour(palette.hosts[tile.state]);
    context.beginPath();
    for (const place of tile.dots.keys()) {
      const left = x + (1 + (place % map.across)) * view.scale;
      const top = y + (1 + Math.floor(place / map.across)) * view.scale;
      context.rect(left, top, view.scale, view.scale);
    }
    context.stroke();
  }
  context.restore();
}

function frameTile(context: CanvasRenderingContext2D, { map, view, selectedIndex }: Drawing): void {
  const { step } = map;
  const corner = cornerOf(map, selectedIndex);
  const left = (corner.x - view.x) * view.scale;
  const top = (corner.y - view.y) * view.scale;
  const [width, height] = [(step.x - 1) * view.scale, (step.y - 1) * view.scale];
  context.lineWidth = 3;
  context.strokeRect(left - 2, top - 2, width + 4, height + 4);
}

function drawNames(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { map, view } = drawing;
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'top';
  for (const { tile, x, y } of tilesInView(drawing)) {
    const below = y + (map.step.y - 1) * view.scale + 1;
    context.fillText(tile.hostname, x, below, (map.step.x - 1) * view.scale);
  }
}

/** The names of the groups, at the left of the view. */
function drawGroups(context: CanvasRenderingContext2D, { map, view, size }: Drawing): void {
  const height = map.labelHeight * view.scale;
  if (height < groupTextMin) return;
  context.font = `600 ${Math.min(height, groupTextMax)}px system-ui, sans-serif`;
  context.textBaseline = 'middle';
  for (const { name, count, top } of map.bands) {
    const y = (top - view.y) * view.scale + height / 2;
    if (name === undefined || y < 0 || y > size.height) continue;
    const left = Math.max(0, -view.x * view.scale);
    const text = `${harmlessText(name)}: ${counted(count, 'host')}`;
    context.fillText(text, left, y, Math.max(0, size.width - left));
  }
}

/** The tiles in view, each with its corner: few where there is room for names. */
function* tilesInView({ map, view, size }: Drawing) {
  const { bands, columns, labelHeight, step, tiles } = map;
  const firstColumn = Math.max(0, Math.floor(view.x / step.x));
  const lastColumn = Math.min(columns - 1, Math.floor((view.x + size.width / view.scale) / step.x));
  for (const { first, count, top } of bands) {
    const rows = Math.ceil(count / columns);
    const rowAt = (y: number) => Math.floor((y - top - labelHeight) / step.y);
    const lastRow = Math.min(rows - 1, rowAt(view.y + size.height / view.scale));
    for (let row = Math.max(0, rowAt(view.y)); row <= lastRow; row += 1) {
      for (let column = firstColumn; column <= lastColumn; column += 1) {
        const place = row * columns + column;
        const tile = place < count ? tiles[first + place] : undefined;
        const x = (column * step.x - view.x) * view.scale;
        const y = (top + labelHeight + row * step.y - view.y) * view.scale;
        if (tile) yield { tile, x, y };
      }
    }
  }
}
