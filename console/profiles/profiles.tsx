// Device profiles, and a form for a new one.

import { useState } from 'preact/hooks';
import type { Profile } from '#console/api/answers.ts';
import { profileList } from '#console/capacity/capacity.tsx';
import type { Action } from '#console/parts/dialog/action.ts';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { useLiveList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';
import { addressOf } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { ProfileForm } from './profile-form.tsx';

export function ProfilesScreen() {
  const { isOperator } = useSession();
  const list = useLiveList<Profile>(profileList);
  const [isOpen, setOpen] = useState(false);
  const columns = [...plainColumns, ...(isOperator ? [deletion(list.refresh)] : [])];
  return (
    <Screen
      title="Profiles"
      actions={
        isOperator && (
          <button
            type="button"
            class="primary"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            Create profile
          </button>
        )
      }
    >
      {/* Hidden, not removed: the form keeps its input while it is closed. */}
      <div hidden={!isOpen}>
        <Section title="New device profile">
          <ProfileForm
            onCreated={() => {
              setOpen(false);
              list.refresh();
            }}
          />
        </Section>
      </div>
      <LiveTable
        {...{ list, columns }}
        row="profile"
        name="Device profiles"
        rows={list.rows}
        keyOf={({ uuid }) => uuid}
        order={{ column: 'Name', isDescending: false }}
        empty="There are no device profiles."
      />
    </Screen>
  );
}

const plainColumns: readonly Column<Profile>[] = [
  { title: 'Name', cell: ({ name }) => name, sortBy: ({ name }) => name },
  {
    title: 'Groups',
    cell: ({ groups }) => (
      <ol class="plain">
        {groups.map((group, index) => (
          <li key={`${index} ${JSON.stringify(group)}`}>
            {Object.entries(group).map(([key, value]) => (
              <div key={key}>
                <code>{`${key}=${value}`}</code>
              </div>
            ))}
          </li>
        ))}
      </ol>
    ),
  },
  { title: 'Description', cell: ({ description }) => description },
  {
    title: 'Created, UTC',
    cell: (profile) => <Time at={profile.created_at} />,
    sortBy: (profile) => profile.created_at,
  },
  {
    title: 'Would it fit?',
    cell: ({ name }) => (
      <a
        href={addressOf('capacity', undefined, { profile: name })}
        aria-label={`Capacity for ${name}`}
      >
        Capacity
      </a>
    ),
  },
];

function deletion(onAnswer: () => void): Column<Profile> {
  return {
    title: 'Action',
    cell: (profile) => <ActionButton action={deleteAction(profile)} isInRow {...{ onAnswer }} />,
  };
}

function deleteAction({ uuid, name }: Profile): Action {
  return {
    verb: 'Delete',
    object: `profile ${name}`,
    explains:
      'Servers whose flavor names the profile can no longer be created. A profile that accelerator requests use is not deleted.',
    fields: [],
    isFinal: true,
    request: () => ({ method: 'DELETE', path: `/v2/device_profiles/${encodeURIComponent(uuid)}` }),
    done: () => `Profile ${name} is deleted.`,
  };
}
