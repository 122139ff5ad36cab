// Device profiles, and a form for a new or changed one.

import { useState } from 'preact/hooks';
import type { OperatorProfile } from '#console/api/answers.ts';
import { profileList } from '#console/capacity/capacity.tsx';
import type { Action } from '#console/parts/dialog/action.ts';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { useLiveList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { addressOf } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import type { EditedProfile } from './draft.ts';
import { ProfileForm } from './profile-form.tsx';

/** What tenants see of a profile, and what only operators see. */
type Row = Pick<OperatorProfile, 'uuid' | 'name' | 'groups' | 'description' | 'created_at'> &
  Partial<OperatorProfile>;

/** Undefined where the form is closed. */
type Form = 'new' | EditedProfile | undefined;

export function ProfilesScreen() {
  const { isOperator } = useSession();
  const list = useLiveList<Row>(isOperator ? operatorList : profileList);
  const [form, setForm] = useState<Form>();
  const close = () => {
    setForm(undefined);
    list.refresh();
  };
  const columns = isOperator
    ? [...plainColumns, ...stateColumns, actions(list.refresh, setForm)]
    : plainColumns;
  return (
    <Screen
      title="Profiles"
      actions={
        isOperator && (
          <button
            type="button"
            class="primary"
            aria-expanded={form === 'new'}
            onClick={() => setForm(form === 'new' ? undefined : 'new')}
          >
            Create profile
          </button>
        )
      }
    >
      {/* Hidden, not removed: the form keeps its input while it is closed. */}
      <div hidden={form !== 'new'}>
        <Section title="New device profile">
          <ProfileForm onDone={close} />
        </Section>
      </div>
      {form && form !== 'new' && (
        <Section title={`Profile ${form.name}`}>
          <ProfileForm key={form.uuid} stored={form} onDone={close} />
        </Section>
      )}
      <LiveTable
        list={list}
        columns={columns}
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

const operatorList = {
  path: lists.profiles.path,
  collection: 'profiles',
  everyMs: profileList.everyMs,
} as const;

const plainColumns: readonly Column<Row>[] = [
  { title: 'Name', cell: ({ name }) => name, sortBy: ({ name }) => name },
  {
    title: 'Groups',
    cell: ({ groups, alternatives = [] }) => (
      <>
        <GroupList groups={groups} />
        {alternatives.map((each, index) => (
          <div key={`${index} ${JSON.stringify(each)}`}>
            or else
            <GroupList groups={each} />
          </div>
        ))}
      </>
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

function GroupList({ groups }: Pick<Row, 'groups'>) {
  return (
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
  );
}

const stateColumns: readonly Column<Row>[] = [
  {
    title: 'State',
    cell: ({ disabled }) => (disabled ? `disabled: ${disabled.reason}` : 'enabled'),
    sortBy: ({ disabled }) => (disabled ? 1 : 0),
  },
  {
    title: 'Seen by',
    cell: ({ projects }) => projects?.join(', ') ?? 'all projects',
  },
];

function actions(onAnswer: () => void, edit: (profile: EditedProfile) => void): Column<Row> {
  return {
    title: 'Action',
    cell: (profile) => (
      <div class="buttons">
        <button
          type="button"
          aria-label={`Edit profile ${profile.name}`}
          onClick={() => edit({ projects: null, revision: 1, ...profile })}
        >
          Edit
        </button>
        <ActionButton action={statusAction(profile)} isInRow onAnswer={onAnswer} />
        <ActionButton action={deleteAction(profile)} isInRow onAnswer={onAnswer} />
      </div>
    ),
  };
}

function statusAction({ uuid, name, disabled }: Row): Action {
  const path = `${lists.profiles.path}/${encodeURIComponent(uuid)}`;
  const object = `profile ${name}`;
  if (disabled) {
    return {
      verb: 'Enable',
      object,
      explains: 'Servers can be created with the profile again.',
      fields: [],
      request: () => ({ method: 'POST', path: `${path}/enable` }),
      done: () => `Profile ${name} is enabled.`,
    };
  }
  return {
    verb: 'Disable',
    object,
    explains:
      'No server is created, unshelved or evacuated with the profile; users see the reason. What servers have stays.',
    fields: ['required-reason'],
    request: ({ reason }) => ({ method: 'POST', path: `${path}/disable`, body: { reason } }),
    done: () => `Profile ${name} is disabled.`,
  };
}

function deleteAction({ uuid, name }: Row): Action {
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
