// Asks before an action, says what it does, and shows the API's answer. After a refusal what was
// typed is still there.

import { useEffect, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '#console/api/failure.ts';
import { Notice } from '#console/parts/notice.tsx';
import { useSession } from '#console/session/session.ts';
import type { Action, ActionValues } from './action.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';

interface ActionDialogProps {
  readonly action: Action;
  readonly onClose: () => void;
  /** After each answer: what the screen shows may have moved. */
  readonly onAnswer: () => void;
}

export function ActionDialog({ action, onClose, onAnswer }: ActionDialogProps) {
  const { api, say } = useSession();
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const { verb, object, explains, fields, hits, isFinal } = action;
  const sample = action.request({});

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const { method, path, body } = action.request(readForm(form));
    setBusy(true);
    setFailure(undefined);
    try {
      const answer = await api.ask(method, path, body === undefined ? {} : { body });
      say(action.done(answer));
      onClose();
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
    onAnswer();
  }

  return (
    <Dialog title={`${verb} ${object}?`} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>{explains}</p>
        {hits && <Hits {...hits} />}
        {fields.includes('required-reason') && (
          <Field label="Reason" name="reason" maxLength={1024} isRequired />
        )}
        {fields.includes('reason') && <Field label="Reason" name="reason" maxLength={1024} />}
        {fields.includes('until') && (
          <Field
            label="Until, in UTC"
            name="until"
            type="datetime-local"
            hint="Nothing is enabled by itself: after that time an incident says so."
          />
        )}
        {fields.includes('cleaned') && (
          <label class="check">
            <input type="checkbox" name="cleaned" /> I have cleaned or replaced the device
          </label>
        )}
        <p class="quiet">
          Request: <code>{`${sample.method} ${sample.path}`}</code>
        </p>
        {failure && <Notice tone="error">{checkValues(failure)}</Notice>}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isFinal ? 'danger' : 'primary'} disabled={isBusy}>
            {isBusy ? 'Asking...' : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The dialog does not wait for it: the API checks again. */
function Hits({ path, text }: NonNullable<Action['hits']>) {
  const { api } = useSession();
  const [sentence, setSentence] = useState('');
  useEffect(() => {
    const ending = new AbortController();
    api.ask<unknown>('GET', path, { signal: ending.signal }).then(
      (answer) => setSentence(text(answer)),
      () => setSentence(''),
    );
    return () => ending.abort();
  }, [path]);
  return sentence === '' ? null : <p role="status">{sentence}</p>;
}

function readForm(form: FormData): ActionValues {
  const reason = String(form.get('reason') ?? '').trim();
  const until = String(form.get('until') ?? '');
  return {
    ...(reason && { reason }),
    // The browser gives minutes, without a time zone.
    ...(until && { until: `${until.slice(0, 16)}:00Z` }),
    ...(form.get('cleaned') !== null && { isCleaned: true }),
  };
}

function checkValues({ kind, message }: ApiFailure): string {
  if (kind === 'signed-out') return 'The session had ended, and nothing was changed. Ask again.';
  if (kind === 'unreachable') return `${message} Look at the state before you ask again.`;
  return message;
}
