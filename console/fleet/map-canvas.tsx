// The map on the screen: the pointer and keys move in it, and what is below the pointer is named.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { harmlessText } from '#console/parts/text.ts';
import { numberText } from '#console/parts/time/time-text.ts';
import { createBitmap, draw } from './draw-map.ts';
import { dotStates, dotText, type FleetMap, type Palette, type Tile } from './fleet-map.ts';
import { neighbour } from './layout.ts';
import {
  fitScaleMax,
  fitted,
  middleOf,
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
      if (canvas.current)
        draw(canvas.current, { map, palette, isDimmed, picture, view, size, selectedIndex });
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
  const [pointed, setPointed] = useState<number>();
  const drag = useDrag({
    onMove: (right, down) => setView((before) => panned(before ?? view, right, down)),
    onClick: (at) => select(tileAt(map, view, at)),
    onHover: (at) => setPointed(at && tileAt(map, view, at)),
  });

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
    <div class="map tip-frame">
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
        style={{ maxHeight: `${Math.ceil(map.height * fitScaleMax)}px` }}
        {...drag}
      />
      {pointed !== undefined && <TileTip map={map} view={view} size={size} index={pointed} />}
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

interface TileTipProps {
  readonly map: FleetMap;
  readonly view: View;
  readonly size: Size;
  readonly index: number;
}

/** Beside the tile, at the side where there is more room. */
function TileTip({ map, view, size, index }: TileTipProps) {
  const tile = map.tiles[index];
  if (!tile) return null;
  const { x, y } = middleOf(map, view, index);
  const half = { x: (map.step.x / 2) * view.scale, y: (map.step.y / 2) * view.scale };
  const place = {
    ...(x < size.width / 2
      ? { left: `${x + half.x}px` }
      : { right: `${size.width - x + half.x}px` }),
    ...(y < size.height / 2
      ? { bottom: `${size.height - y - half.y}px` }
      : { bottom: `${size.height - y}px` }),
  };
  return (
    <div class="tip" style={place}>
      <strong>{tile.hostname}</strong>, {tile.state}
      {tile.group !== undefined && <div>{harmlessText(tile.group)}</div>}
      {dotStates.map((state) => {
        const count = tile.dots.filter((each) => each === state).length;
        return count > 0 && <div key={state}>{`${numberText(count)} ${dotText(state)}`}</div>;
      })}
    </div>
  );
}

interface Moves {
  readonly onMove: (right: number, down: number) => void;
  readonly onClick: (at: { x: number; y: number }) => void;
  /** Without a place once the pointer has left, or drags. */
  readonly onHover: (at?: { x: number; y: number }) => void;
}

function useDrag({ onMove, onClick, onHover }: Moves) {
  const from = useRef<{ x: number; y: number; distance: number } | undefined>(undefined);
  return {
    onPointerDown: (event: PointerEvent) => {
      from.current = { x: event.clientX, y: event.clientY, distance: 0 };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const { current } = from;
      onHover(current ? undefined : { x: event.offsetX, y: event.offsetY });
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
    onPointerLeave: () => onHover(),
    onPointerCancel: () => {
      from.current = undefined;
    },
  };
}
