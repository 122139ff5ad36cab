// Bars of each day, one part for each series. The table below the chart has the same numbers.

import { shortId } from '#console/parts/text.ts';
import { numberText } from '#console/parts/time-text.ts';
import type { UsageChart } from './series.ts';

const height = 240;
const top = 10;
const bottom = 24;
const left = 56;
const dayWidthMin = 14;
const widthMin = 720;

interface Unit {
  readonly short: string;
  readonly long: string;
}

const usageUnit: Unit = { short: 'h', long: 'accelerator-hours' };

interface ChartProps {
  readonly chart: UsageChart;
  readonly title: string;
  readonly unit?: Unit;
}

export function Chart({ chart, title, unit = usageUnit }: ChartProps) {
  const { days, series } = chart;
  const sums = days.map((_, day) => series.reduce((sum, each) => sum + (each.hours[day] ?? 0), 0));
  const end = niceEnd(Math.max(...sums, 0));
  const width = Math.max(widthMin, left + days.length * dayWidthMin);
  const dayWidth = (width - left) / Math.max(1, days.length);
  const yOf = (hours: number) => top + (height - top - bottom) * (1 - hours / end);
  const each = Math.ceil(days.length / ((width - left) / 80));
  return (
    <figure class="chart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard. */}
      <section class="scroll" aria-label={`${title}, chart`} tabIndex={0}>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${title}. ${describeChart(chart, unit)}`}
        >
          {[0, end / 2, end].map((hours) => (
            <g key={hours}>
              <line class="grid" x1={left} x2={width} y1={yOf(hours)} y2={yOf(hours)} />
              <text x={left - 6} y={yOf(hours) + 4} text-anchor="end">
                {numberText(hours)}
              </text>
            </g>
          ))}
          {days.map((day, index) => (
            <g key={day}>
              <DayBar
                {...{ chart, index, yOf, unit }}
                x={left + index * dayWidth}
                width={dayWidth}
              />
              {index % each === 0 && (
                <text x={left + (index + 0.5) * dayWidth} y={height - 6} text-anchor="middle">
                  {day.slice(5)}
                </text>
              )}
            </g>
          ))}
        </svg>
      </section>
      <figcaption>
        <ul class="legend">
          {series.map(({ name, total }, index) => (
            <li key={name} title={name}>
              <span class={`mark series series-${index}`} aria-hidden="true" />
              {shortId(name)}: {numberText(total)} {unit.short}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

interface DayBarProps {
  readonly chart: UsageChart;
  readonly index: number;
  readonly unit: Unit;
  readonly x: number;
  readonly width: number;
  readonly yOf: (hours: number) => number;
}

function DayBar({ chart: { days, series }, index, unit, x, width, yOf }: DayBarProps) {
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
          >
            <title>{`${days[index]} ${name}: ${numberText(height)} ${unit.long}`}</title>
          </rect>
        );
      })}
    </>
  );
}

function describeChart({ days, series }: UsageChart, unit: Unit): string {
  const parts = series.map(({ name, total }) => `${name} ${numberText(total)} ${unit.long}`);
  return `${days[0] ?? ''} to ${days.at(-1) ?? ''}: ${parts.join(', ') || 'none'}.`;
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
function niceEnd(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 5, 10].find((each) => each * power >= most) ?? 10;
  return factor * power;
}
