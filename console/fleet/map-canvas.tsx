// Draws the map and moves in it, by the pointer and by keys. A frame is one enlarged picture, and
// the names of the hosts where there is room for them.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { numberText } from '#console/parts/time-text.ts';
import { drawPicture, type FleetMap, type Palette, type Tile } from './fleet-map.ts';
import {
  fitted,
  middleOf,
  neighbour,
  panned,
  revealing,
  type Size,
  tileAt,
  type View,
  zoomed,
} from './view.ts';

interface MapCanvasProps {
  readonly map: FleetMap;
  readonly palette: Palette;
  readonly isDimmed: (tile: Tile) => boolean;
  readonly selected: string | undefined;
  readonly onSelect: (hostname: string) => void;
  readonly onOpen: (hostname: string) => void;
}

const zoomStep = 1.5;
/** Names are drawn in tiles that are at least so wide. */
const namedTileWidth = 84;
/** Dots that are at least so wide have lines between them. */
const gridScaleMin = 6;
/** A pointer that moves less has clicked. */
const clickDistanceMax = 4;

export function MapCanvas(props: MapCanvasProps) {
  const { map, palette, isDimmed, selected, onSelect, onOpen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(canvas);
  const [chosenView, setView] = useState<View>();
  const view = chosenView ?? fitted(map, size);
  const picture = useMemo(() => createBitmap(map, palette, isDimmed), [map, palette, isDimmed]);
  const selectedIndex = useMemo(
    () => map.tiles.findIndex(({ hostname }) => hostname === selected),
    [map, selected],
  );

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (canvas.current) draw(canvas.current, { map, picture, view, size, selectedIndex });
    });
    return () => cancelAnimationFrame(frame);
  }, [map, picture, view, size, selectedIndex]);

  // A host that was found by its name is shown.
  useEffect(() => {
    if (selectedIndex >= 0 && size.width > 0) {
      setView((before) => before && revealing(map, before, selectedIndex, size));
    }
  }, [selectedIndex]);

  const zoom = (factor: number, at: { x: number; y: number }) => setView(zoomed(view, factor, at));
  /** Into the middle of the view, or of the host that was chosen. */
  const zoomInto = (factor: number) => {
    const middle = { x: size.width / 2, y: size.height / 2 };
    if (selectedIndex < 0) zoom(factor, middle);
    else {
      const closer = zoomed(view, factor, middleOf(map, view, selectedIndex));
      setView(revealing(map, closer, selectedIndex, size));
    }
  };
  const latestZoom = useRef(zoom);
  latestZoom.current = zoom;
  useEffect(() => {
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      latestZoom.current(1.0015 ** -event.deltaY, { x: event.offsetX, y: event.offsetY });
    };
    canvas.current?.addEventListener('wheel', onWheel, { passive: false });
    return () => canvas.current?.removeEventListener('wheel', onWheel);
  }, []);

  const select = (index: number | undefined) => {
    const tile = index === undefined ? undefined : map.tiles[index];
    if (tile) onSelect(tile.hostname);
  };
  const drag = useDrag(
    (right, down) => setView((before) => panned(before ?? view, right, down)),
    (at) => select(tileAt(map, view, at)),
  );

  function onKeyDown(event: KeyboardEvent) {
    if (event.key.startsWith('Arrow')) {
      select(selectedIndex < 0 ? 0 : neighbour(map, selectedIndex, event.key));
    } else if (event.key === 'Enter' && selected !== undefined) onOpen(selected);
    else if (event.key === '+' || event.key === '=') zoomInto(zoomStep);
    else if (event.key === '-') zoomInto(1 / zoomStep);
    else if (event.key === '0') setView(undefined);
    else return;
    event.preventDefault();
  }

  return (
    <div class="map">
      <fieldset class="buttons" aria-label="Zoom">
        <button type="button" onClick={() => zoomInto(zoomStep)}>
          Zoom in
        </button>
        <button type="button" onClick={() => zoomInto(1 / zoomStep)}>
          Zoom out
        </button>
        <button type="button" onClick={() => setView(undefined)}>
          Show all
        </button>
      </fieldset>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: keys move in the map. */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="map"
        aria-label={`Map of ${numberText(map.tiles.length)} hosts. Arrow keys choose a host, Enter opens it, plus and minus zoom. The screen Hosts lists the same hosts.`}
        onKeyDown={onKeyDown}
        onDblClick={() => selected !== undefined && onOpen(selected)}
        {...drag}
      />
    </div>
  );
}

function useSize(canvas: { readonly current: HTMLCanvasElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  return size;
}

function useDrag(
  onMove: (right: number, down: number) => void,
  onClick: (at: { x: number; y: number }) => void,
) {
  const from = useRef<{ x: number; y: number; distance: number } | undefined>(undefined);
  return {
    onPointerDown: (event: PointerEvent) => {
      from.current = { x: event.clientX, y: event.clientY, distance: 0 };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const { current } = from;
      if (!current) return;
      const [right, down] = [event.clientX - current.x, event.clientY - current.y];
      const distance = current.distance + Math.abs(right) + Math.abs(down);
      from.current = { x: event.clientX, y: event.clientY, distance };
      if (distance > clickDistanceMax) onMove(right, down);
    },
    onPointerUp: (event: PointerEvent) => {
      const isClick = from.current && from.current.distance <= clickDistanceMax;
      from.current = undefined;
      if (isClick) onClick({ x: event.offsetX, y: event.offsetY });
    },
    onPointerCancel: () => {
      from.current = undefined;
    },
  };
}

function createBitmap(
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
  readonly picture: HTMLCanvasElement;
  readonly view: View;
  readonly size: Size;
  readonly selectedIndex: number;
}

function draw(canvas: HTMLCanvasElement, drawing: Drawing): void {
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
  if (view.scale >= gridScaleMin) drawGrid(context, canvas, drawing);
  if (drawing.map.step * view.scale >= namedTileWidth) drawNames(context, drawing);
  if (selectedIndex >= 0) frameTile(context, drawing);
}

function drawGrid(
  context: CanvasRenderingContext2D,
  canvas: HTMLCanvasElement,
  { view, size }: Drawing,
): void {
  context.save();
  context.strokeStyle = getComputedStyle(canvas).backgroundColor;
  context.lineWidth = Math.max(1, view.scale / 10);
  context.beginPath();
  for (let at = Math.ceil(view.x); (at - view.x) * view.scale < size.width; at += 1) {
    context.moveTo((at - view.x) * view.scale, 0);
    context.lineTo((at - view.x) * view.scale, size.height);
  }
  for (let at = Math.ceil(view.y); (at - view.y) * view.scale < size.height; at += 1) {
    context.moveTo(0, (at - view.y) * view.scale);
    context.lineTo(size.width, (at - view.y) * view.scale);
  }
  context.stroke();
  context.restore();
}

function frameTile(context: CanvasRenderingContext2D, { map, view, selectedIndex }: Drawing): void {
  const { columns, step } = map;
  const left = ((selectedIndex % columns) * step - view.x) * view.scale;
  const top = (Math.floor(selectedIndex / columns) * step - view.y) * view.scale;
  const width = (step - 1) * view.scale;
  context.lineWidth = 3;
  context.strokeRect(left - 2, top - 2, width + 4, width + 4);
}

/** Only of the tiles in view, which are few where there is room for names. */
function drawNames(context: CanvasRenderingContext2D, { map, view, size }: Drawing): void {
  const { columns, rows, step, tiles } = map;
  const width = step * view.scale;
  const firstRow = Math.max(0, Math.floor(view.y / step));
  const lastRow = Math.min(rows - 1, Math.floor((view.y + size.height / view.scale) / step));
  const firstColumn = Math.max(0, Math.floor(view.x / step));
  const lastColumn = Math.min(columns - 1, Math.floor((view.x + size.width / view.scale) / step));
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'bottom';
  for (let row = firstRow; row <= lastRow; row += 1) {
    for (let column = firstColumn; column <= lastColumn; column += 1) {
      const tile = tiles[row * columns + column];
      if (!tile) continue;
      const x = (column * step - view.x) * view.scale;
      const y = ((row + 1) * step - view.y) * view.scale;
      context.fillText(tile.hostname, x, y, width - view.scale);
    }
  }
}
