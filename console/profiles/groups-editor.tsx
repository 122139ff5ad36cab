// The groups of a device profile: each asks for accelerators of one class, with traits and
// settings.

import { useId } from 'preact/hooks';
import { standardClasses } from '#core/shapes/vocabulary/placement-names.ts';
import { type Entry, type EntryKind, entryKinds, firstValues } from './draft.ts';

type Group = readonly Entry[];

interface GroupsEditorProps {
  readonly groups: readonly Group[];
  readonly onChange: (groups: readonly Group[]) => void;
}

export function GroupsEditor({ groups, onChange }: GroupsEditorProps) {
  const without = (index: number) => groups.filter((_, each) => each !== index);
  return (
    <>
      {groups.map((group, index) => (
        // Groups have no name but their place.
        <fieldset key={index} class="stack">
          <legend>Group {index}</legend>
          <Entries group={group} onChange={(changed) => onChange(groups.with(index, changed))} />
          {groups.length > 1 && (
            <button type="button" onClick={() => onChange(without(index))}>
              Remove group {index}
            </button>
          )}
        </fieldset>
      ))}
      <button
        type="button"
        onClick={() => onChange([...groups, [{ kind: 'resources', name: '', value: '1' }]])}
      >
        Add a group
      </button>
    </>
  );
}

interface EntriesProps {
  readonly group: Group;
  readonly onChange: (group: Group) => void;
}

function Entries({ group, onChange }: EntriesProps) {
  const set = (index: number, part: Partial<Entry>) => {
    const entry = group[index];
    if (entry) onChange(group.with(index, { ...entry, ...part }));
  };
  return (
    <>
      {group.map((entry, index) => (
        <EntryRow
          key={index}
          entry={entry}
          onChange={(part) => set(index, part)}
          onRemove={() => onChange(group.filter((_, each) => each !== index))}
        />
      ))}
      <button
        type="button"
        onClick={() => onChange([...group, { kind: 'trait', name: '', value: 'required' }])}
      >
        Add a line
      </button>
    </>
  );
}

interface EntryRowProps {
  readonly entry: Entry;
  readonly onChange: (part: Partial<Entry>) => void;
  readonly onRemove: () => void;
}

function EntryRow({ entry: { kind, name, value }, onChange, onRemove }: EntryRowProps) {
  const id = useId();
  return (
    <div class="entry">
      <select
        aria-label="Kind"
        value={kind}
        onChange={(event) => {
          const next = event.currentTarget.value as EntryKind;
          onChange({ kind: next, value: firstValues[next] });
        }}
      >
        {entryKinds.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <input
        aria-label="Key"
        list={kind === 'resources' ? id : undefined}
        placeholder={placeholders[kind]}
        value={name}
        onInput={(event) => onChange({ name: event.currentTarget.value })}
      />
      {kind === 'resources' && (
        <datalist id={id}>
          {standardClasses.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {kind === 'trait' ? (
        <select
          aria-label="Value"
          value={value}
          onChange={(event) => onChange({ value: event.currentTarget.value })}
        >
          <option value="required">required</option>
          <option value="forbidden">forbidden</option>
        </select>
      ) : (
        <input
          aria-label="Value"
          value={value}
          onInput={(event) => onChange({ value: event.currentTarget.value })}
        />
      )}
      <button type="button" aria-label={`Remove ${kind}:${name}`} onClick={onRemove}>
        Remove
      </button>
    </div>
  );
}

const placeholders: Readonly<Record<EntryKind, string>> = {
  resources: 'FPGA',
  trait: 'CUSTOM_NAME',
  accel: 'function_name',
};
