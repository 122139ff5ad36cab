// A sentence that the user must not miss.

import type { ComponentChildren } from 'preact';

interface NoticeProps {
  readonly tone: 'error' | 'warning' | 'success' | 'information';
  readonly children: ComponentChildren;
  readonly action?: { readonly title: string; readonly run: () => void };
}

export function Notice({ tone, children, action }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <p>{children}</p>
      {action && (
        <button type="button" onClick={action.run}>
          {action.title}
        </button>
      )}
    </div>
  );
}
