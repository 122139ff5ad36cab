// The form of a device profile, new or stored, checked while it is typed.

import { useMemo, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '#console/api/failure.ts';
import { Field } from '#console/parts/dialog/field.tsx';
import { Notice } from '#console/parts/notice.tsx';
import { useSession } from '#console/session/session.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import {
  checkDraft,
  type Draft,
  type EditedProfile,
  emptyDraft,
  toDraft,
  toRequest,
} from './draft.ts';
import { GroupsEditor } from './groups-editor.tsx';
import { WouldItFit } from './would-it-fit.tsx';

interface ProfileFormProps {
  /** The profile that is changed; undefined for a new one. */
  readonly stored?: EditedProfile | undefined;
  readonly onDone: () => void;
}

export function ProfileForm({ stored, onDone }: ProfileFormProps) {
  const { api, say } = useSession();
  const [draft, setDraft] = useState<Draft>(stored ? toDraft(stored) : emptyDraft);
  const [isAsked, setAsked] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const problems = useMemo(() => checkDraft(draft), [draft]);
  const isValid = Object.keys(problems).length === 0;
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    setAsked(true);
    if (!isValid) return;
    setBusy(true);
    setFailure(undefined);
    try {
      if (stored) {
        const { uuid, projects, revision } = stored;
        const path = `${lists.profiles.path}/${encodeURIComponent(uuid)}`;
        await api.ask('PUT', path, { body: { ...toRequest(draft), projects }, revision });
      } else {
        // A list, which deployed Cyborg's clients send, too.
        await api.ask('POST', '/v2/device_profiles', { body: [toRequest(draft)] });
        setDraft(emptyDraft);
        setAsked(false);
      }
      say(`Profile ${draft.name} is ${stored ? 'changed' : 'created'}.`);
      onDone();
    } catch (error) {
      setFailure(asFailure(error));
    }
    setBusy(false);
  }

  const isNameTyped = isAsked || draft.name !== '';
  const areGroupsTyped =
    isAsked || draft.groups.some((group) => group.some(({ name }) => name !== ''));
  return (
    <form class="stack" noValidate onSubmit={submit}>
      <Field
        label="Name"
        name="name"
        value={draft.name}
        problem={isNameTyped ? problems.name : undefined}
        hint={
          stored
            ? 'Flavors with the earlier name keep working.'
            : 'A flavor names it by accel:device_profile.'
        }
        onInput={(name) => change({ name })}
        isRequired
      />
      <Field
        label="Description"
        name="description"
        value={draft.description}
        problem={problems.description}
        onInput={(description) => change({ description })}
      />
      <GroupsEditor groups={draft.groups} onChange={(groups) => change({ groups })} />
      {problems.groups && areGroupsTyped && (
        <p class="problem" role="status">
          {problems.groups}
        </p>
      )}
      {failure && <Notice tone="error">{describeFailure(failure)}</Notice>}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          {stored ? (isBusy ? 'Saving...' : 'Save') : isBusy ? 'Creating...' : 'Create'}
        </button>
      </div>
      {!problems.groups && <WouldItFit groups={toRequest(draft).groups} />}
    </form>
  );
}

function describeFailure({ kind, message }: ApiFailure): string {
  if (kind === 'signed-out') return 'The session had ended, and nothing was written. Try again.';
  return message;
}
