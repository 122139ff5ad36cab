// The frame of a screen: its heading, its actions, and a section of it.

import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';

interface ScreenProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Screen({ title, actions, children }: ScreenProps) {
  useEffect(() => {
    document.title = `${title} - Accelerators`;
  }, [title]);
  return (
    <>
      <header class="screen-head">
        <h1 tabIndex={-1}>{title}</h1>
        {actions && <div class="buttons">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

export function Section({ title, children }: SectionProps) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
