// A button that asks for an action, by a dialog.

import { useState } from 'preact/hooks';
import type { Action } from './action.ts';
import { ActionDialog } from './action-dialog.tsx';

interface ActionButtonProps {
  readonly action: Action;
  readonly onAnswer: () => void;
  /** The same button is in each row: its accessible name has the object, too. */
  readonly isInRow?: boolean;
}

export function ActionButton({ action, onAnswer, isInRow = false }: ActionButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const { verb, object, isFinal } = action;
  return (
    <>
      <button
        type="button"
        class={isFinal ? 'danger-outline' : undefined}
        aria-label={isInRow ? `${verb} ${object}` : undefined}
        onClick={() => setOpen(true)}
      >
        {verb}
      </button>
      {isOpen && (
        <ActionDialog action={action} onAnswer={onAnswer} onClose={() => setOpen(false)} />
      )}
    </>
  );
}
