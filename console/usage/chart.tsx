// Bars of each day, one part for each series. The day below the pointer has its numbers beside it,
// and the table below the chart has them all.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { shortId } from '#console/parts/text.ts';
import { numberText } from '#console/parts/time/time-text.ts';
import { niceEnd, type UsageChart } from './series.ts';

const height = 240;
const top = 12;
const bottom = 24;
const left = 48;
/** A chart of more days than fit scrolls. */
const dayWidthMin = 4;
/** Room for the text of a day. */
const labelWidth = 96;

interface Unit {
  readonly short: string;
  readonly long: string;
  /** There are no halves of it. */
  readonly isWhole?: boolean;
}

const usageUnit: Unit = { short: 'h', long: 'accelerator-hours' };

interface ChartProps {
  readonly chart: UsageChart;
  readonly title: string;
  readonly unit?: Unit;
  /** The name of a series; shortened without it. */
  readonly nameOf?: (name: string) => ComponentChildren;
}

export function Chart({ chart, title, unit = usageUnit, nameOf = shortId }: ChartProps) {
  const { days, series } = chart;
  const frame = useRef<HTMLElement>(null);
  const seen = useWidth(frame);
  const [pointed, setPointed] = useState<number>();
  const sums = days.map((_, day) => series.reduce((sum, each) => sum + (each.hours[day] ?? 0), 0));
  const end = niceEnd(Math.max(...sums, 0));
  const width = Math.max(seen, left + days.length * dayWidthMin);
  const dayWidth = (width - left) / Math.max(1, days.length);
  const yOf = (hours: number) => top + (height - top - bottom) * (1 - hours / end);
  const each = Math.ceil((days.length * labelWidth) / Math.max(1, width - left));
  const ticks = [0, end / 2, end].filter((tick) => !unit.isWhole || Number.isInteger(tick));
  const point = ({ offsetX }: PointerEvent) => {
    const day = Math.floor((offsetX - left) / dayWidth);
    setPointed(day >= 0 && day < days.length ? day : undefined);
  };
  return (
    <figure class="chart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard. */}
      <section ref={frame} class="scroll tip-frame" aria-label={`${title}, chart`} tabIndex={0}>
        {seen > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${title}. ${describeChart(chart, unit)}`}
            onPointerMove={point}
            onPointerDown={point}
            onPointerLeave={() => setPointed(undefined)}
          >
            {pointed !== undefined && (
              <rect
                class="pointed"
                x={left + pointed * dayWidth}
                y={top}
                width={dayWidth}
                height={height - top - bottom}
              />
            )}
            {ticks.map((hours) => (
              <g key={hours}>
                <line
                  class={hours === 0 ? 'axis' : 'grid'}
                  x1={left}
                  x2={width}
                  y1={yOf(hours)}
                  y2={yOf(hours)}
                />
                <text x={left - 8} y={yOf(hours) + 4} text-anchor="end">
                  {numberText(hours)}
                </text>
              </g>
            ))}
            {days.map((day, index) => (
              <g key={day}>
                <DayBar
                  chart={chart}
                  index={index}
                  yOf={yOf}
                  x={left + index * dayWidth}
                  width={dayWidth}
                />
                {index % each === 0 && (
                  <text x={left + index * dayWidth} y={height - 6}>
                    {day.slice(5)}
                  </text>
                )}
              </g>
            ))}
          </svg>
        )}
        {pointed !== undefined && (
          <div class="tip" style={tipPlace(left + (pointed + 0.5) * dayWidth, width)}>
            <strong>{days[pointed]}</strong>
            {series.map(({ name, hours }, place) => (
              <div key={name}>
                <span class={`mark series series-${place}`} aria-hidden="true" />
                {nameOf(name)}: {numberText(hours[pointed] ?? 0)} {unit.short}
              </div>
            ))}
          </div>
        )}
      </section>
      <figcaption>
        <ul class="legend">
          {series.map(({ name, total }, index) => (
            <li key={name} title={name}>
              <span class={`mark series series-${index}`} aria-hidden="true" />
              {nameOf(name)}: {numberText(total)} {unit.short}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** At the side of the point where there is more room. */
function tipPlace(x: number, width: number) {
  const side = x < width / 2 ? { left: `${x + 8}px` } : { right: `${width - x + 8}px` };
  return { top: `${top}px`, ...side };
}

/** Undefined room is none: nothing is drawn before its size is known. */
function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    if (frame.current) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface DayBarProps {
  readonly chart: UsageChart;
  readonly index: number;
  readonly x: number;
  readonly width: number;
  readonly yOf: (hours: number) => number;
}

function DayBar({ chart: { series }, index, x, width, yOf }: DayBarProps) {
  let below = 0;
  return (
    <>
      {series.map(({ name, hours }, place) => {
        const height = hours[index] ?? 0;
        if (height === 0) return null;
        const [from, to] = [below, below + height];
        below = to;
        return (
          <rect
            key={name}
            class={`series series-${place}`}
            x={x + width * 0.1}
            width={width * 0.8}
            y={yOf(to)}
            height={yOf(from) - yOf(to)}
          />
        );
      })}
    </>
  );
}

function describeChart({ days, series }: UsageChart, unit: Unit): string {
  const parts = series.map(({ name, total }) => `${name} ${numberText(total)} ${unit.long}`);
  return `${days[0] ?? ''} to ${days.at(-1) ?? ''}: ${parts.join(', ') || 'none'}.`;
}
