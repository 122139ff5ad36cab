// The colours of the map, which map.css gives to the marks of its legend; read again when the
// theme changes.

import { useEffect, useRef, useState } from 'preact/hooks';
import { hostStates } from '#core/domain/host/host-state.ts';
import { dotStates, type Palette, packedColour } from './fleet-map.ts';

export function usePalette() {
  const legend = useRef<HTMLDivElement>(null);
  const [palette, setPalette] = useState<Palette>();
  useEffect(() => {
    const read = () => legend.current && setPalette(readPalette(legend.current));
    read();
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', read);
    const chosen = new MutationObserver(read);
    chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      system.removeEventListener('change', read);
      chosen.disconnect();
    };
  }, []);
  return { legend, palette };
}

function readPalette(legend: HTMLElement): Palette {
  const colourOf = (selector: string) => {
    const mark = legend.querySelector(selector);
    return packedColour(mark ? getComputedStyle(mark).backgroundColor : '');
  };
  const entries = <Name extends string>(names: readonly Name[], attribute: string) =>
    Object.fromEntries(names.map((name) => [name, colourOf(`[${attribute}="${name}"]`)])) as Record<
      Name,
      number
    >;
  return { hosts: entries(hostStates, 'data-host'), dots: entries(dotStates, 'data-dot') };
}
