// Names and values of one thing.

import type { ComponentChildren } from 'preact';
import type { Title } from '#core/contracts/api/lists/titles.ts';
import { None } from './status.tsx';
import { isTime, titleText } from './text.ts';
import { Time } from './time/time.tsx';

interface PropertiesProps {
  readonly items: readonly (readonly [name: string, value: ComponentChildren])[];
}

export function Properties({ items }: PropertiesProps) {
  return (
    <dl class="properties">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === '' ? <None /> : (value ?? <None />)}</dd>
        </div>
      ))}
    </dl>
  );
}

type Plain = string | number | null | undefined;

/** A cell for each field; for text and numbers it may be left out. */
type Cells<Row, Name extends keyof Row> = {
  readonly [Each in Name as Row[Each] extends Plain ? Each : never]?: ComponentChildren;
} & {
  readonly [Each in Name as Row[Each] extends Plain ? never : Each]: ComponentChildren;
};

/** A property for each field that has a title, in their order. */
export function fieldItems<Row, Name extends keyof Row & string>(
  titles: Readonly<Record<Name, Title>>,
  row: Row,
  cells: Cells<Row, NoInfer<Name>>,
): PropertiesProps['items'] {
  const values: Partial<Record<string, ComponentChildren>> = cells;
  return (Object.keys(titles) as Name[]).map((name) => {
    const title = titleText(name, titles[name]);
    if (isTime(name)) {
      return [title, <Time key={name} at={row[name] as string | null} />];
    }
    return [title, name in values ? values[name] : (row[name] as ComponentChildren)];
  });
}
