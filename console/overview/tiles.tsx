// The numbers at the top of the overview, and bars of numbers. Each is a link.

import type { ComponentChildren } from 'preact';
import { numberText } from '#console/parts/time/time-text.ts';

interface TileProps {
  readonly title: string;
  readonly href: string;
  /** Undefined until it is known. */
  readonly value: number | string | undefined;
  readonly tone?: 'bad' | 'warning' | undefined;
  /** What the number is a part of, or what it consists of. */
  readonly children?: ComponentChildren;
}

export function Tile({ title, href, value, tone, children }: TileProps) {
  return (
    <li class="tile">
      <a href={href}>
        <span class="tile-title">{title}</span>
        <span class={`tile-value ${tone ?? ''}`}>
          {typeof value === 'number' ? numberText(value) : (value ?? '-')}
        </span>
      </a>
      <p class="quiet">{children}</p>
    </li>
  );
}

/** More bars than these are not shown. */
export const barsMax = 7;

interface Bar {
  readonly key: string;
  readonly title: ComponentChildren;
  readonly href: string;
  readonly value: number;
  readonly most: number;
  /** The value in words; without it the number. */
  readonly text?: string;
  readonly note?: ComponentChildren;
}

export function Bars({ name, bars }: { readonly name: string; readonly bars: readonly Bar[] }) {
  return (
    <ul class="bars" aria-label={name}>
      {bars.map(({ key, title, href, value, most, text = numberText(value), note }) => (
        <li key={key}>
          <span class="bar-title">
            <a href={href}>{title}</a>
            <strong>{text}</strong>
          </span>
          <meter
            min={0}
            max={Math.max(most, Number.EPSILON)}
            value={value}
            aria-label={`${key}: ${text}`}
          />
          {note && <span class="quiet">{note}</span>}
        </li>
      ))}
    </ul>
  );
}
