// Names and values of one thing.

import type { ComponentChildren } from 'preact';

interface PropertiesProps {
  readonly items: readonly (readonly [name: string, value: ComponentChildren])[];
}

export function Properties({ items }: PropertiesProps) {
  return (
    <dl class="properties">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span class="quiet">-</span>}</dd>
        </div>
      ))}
    </dl>
  );
}
