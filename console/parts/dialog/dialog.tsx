// A modal dialog of the browser: it keeps the focus, and Escape closes it.

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Without it the dialog cannot be closed by Escape. */
  readonly onClose?: () => void;
}

export function Dialog({ title, children, onClose }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  // The clean-up of an effect waits for a paint. A key that is pressed before it would go to no
  // element.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // Outside an open dialog nothing takes the focus, and the dialog leaves the page after this.
      if (opener instanceof HTMLElement) queueMicrotask(() => opener.focus());
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // A browser closes a dialog at the second Escape in a row, whatever the first was answered.
      onClose={() => (onClose ? onClose() : dialog.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
