// The way back: statements that bring Cyborg's tables from the time of the import to what servers
// have now. Pure. Cyborg's rows are found by their uuids and ids in the same tables.

import type { Arq } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { isWithheld } from '#core/domain/device/handle-state.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { hasAlternatives } from '#core/domain/profile/alternatives.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { handleUuid } from '#core/domain/report/device-plan.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { parseHandle } from './cyborg-handles.ts';
import type { CyborgDevice, CyborgTables } from './cyborg-tables.ts';
import { describeUnclean, type UncleanState, uncleanState } from './device-states.ts';

interface ReturnedState {
  readonly profiles: readonly DeviceProfile[];
  /** Bound ARQs. */
  readonly arqs: readonly Arq[];
  /** All attach handles of devices on Cyborg's hosts. */
  readonly handles: readonly AttachHandle[];
}

interface ReturnPlan {
  readonly statements: readonly string[];
  /** Sentences about what Cyborg's tables cannot have. */
  readonly refused: readonly string[];
  /** Sentences about what Cyborg must not give away yet. */
  readonly warnings: readonly string[];
  readonly counts: Readonly<Record<'ended' | 'added' | 'kept' | 'profiles', number>>;
}

export function planReturn(tables: CyborgTables, state: ReturnedState): ReturnPlan {
  const { profiles, arqs } = state;
  const imported = new Map(tables.arqs.map((each) => [each.uuid.toLowerCase(), each]));
  const held = new Set(arqs.map(({ uuid }) => uuid as string));
  const ended = tables.arqs.filter(({ uuid }) => !held.has(uuid.toLowerCase()));
  const added = arqs.filter(({ uuid }) => !imported.has(uuid));
  const newProfiles = profiles.filter(
    ({ uuid }) => !tables.profiles.some((each) => same(each.uuid, uuid)),
  );
  const gone = tables.profiles.filter(
    ({ uuid }) => !profiles.some((each) => same(each.uuid, uuid)),
  );
  const handles = mapHandles(tables);
  const refused: string[] = [];
  const inserts = added.flatMap((arq) => {
    const { binding } = arq;
    const handle = binding?.attachment && handles.get(binding.attachment.handleUuid);
    if (binding && handle) return insertArq(arq, binding, handle);
    const at = binding?.attachment ? pciFunction(binding.attachment) : undefined;
    refused.push(
      `ARQ ${arq.uuid} of server ${binding?.instanceUuid ?? 'none'} has an attach handle that Cyborg does not know (${at ?? 'no address'}).`,
    );
    return [];
  });
  const unclean = findUnclean(state.handles, handles);
  // First what ended: a handle may have another server since then.
  const statements = [
    ...newProfiles.map(insertProfile),
    ...ended.flatMap(({ uuid, attach_handle_id: id }) => [
      `DELETE FROM extended_accelerator_requests WHERE uuid = ${text(uuid)};`,
      ...(id === undefined ? [] : [`UPDATE attach_handles SET in_use = 0 WHERE id = ${id};`]),
    ]),
    ...inserts,
    ...unclean.map(({ id }) => `UPDATE attach_handles SET in_use = 1 WHERE id = ${id};`),
    ...(tables.hasDeviceState ? stateStatements(tables, state.handles, handles) : []),
    ...gone.map(
      ({ id }) =>
        `DELETE FROM device_profiles WHERE id = ${id} AND id NOT IN (SELECT device_profile_id FROM extended_accelerator_requests);`,
    ),
  ];
  return {
    statements: ['START TRANSACTION;', ...statements, 'COMMIT;'],
    refused,
    warnings: [
      ...unclean.map(
        ({ id, state: left }) =>
          `Attach handle ${id} of Cyborg is not clean (${left}): it stays marked as in use, so that Cyborg gives it to no server. Clean the device, then set attach_handles.in_use to 0.`,
      ),
      ...newProfiles
        .filter(hasAlternatives)
        .map(
          ({ name }) =>
            `Device profile ${name} has alternatives, which Cyborg does not know: it gives the first groups only.`,
        ),
    ],
    counts: {
      ended: ended.length,
      added: added.length - refused.length,
      kept: tables.arqs.length - ended.length,
      profiles: newProfiles.length + gone.length,
    },
  };
}

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

interface KnownHandle {
  readonly id: number;
  readonly deployableId: number;
}

/** Our uuid of each attach handle of Cyborg. */
function mapHandles({ handles, deployables }: CyborgTables): Map<string, KnownHandle> {
  const byPlace = new Map<string, KnownHandle>();
  for (const row of handles) {
    const provider = deployables.find(({ id }) => id === row.deployable_id)?.rp_uuid;
    const read = parseHandle(row);
    if (provider === undefined || typeof read === 'string') continue;
    const uuid = handleUuid(provider.toLowerCase() as ProviderUuid, read);
    byPlace.set(uuid, { id: row.id, deployableId: row.deployable_id });
  }
  return byPlace;
}

interface UncleanHandle extends KnownHandle {
  readonly state: UncleanState;
}

/** Handles of Cyborg without a server that their host has not cleaned since the last one. */
function findUnclean(
  ours: readonly AttachHandle[],
  known: ReadonlyMap<string, KnownHandle>,
): readonly UncleanHandle[] {
  return ours.flatMap((handle) => {
    const row = known.get(handle.uuid);
    const state = uncleanState(handle);
    return row && state ? [{ ...row, state }] : [];
  });
}

/** Cyborg's own rule for a device whose state it does not know. */
const usualState =
  "IF(id IN (SELECT device_id FROM deployables WHERE id IN (SELECT deployable_id FROM attach_handles WHERE in_use = 1)), 'allocated', 'available')";

/** The states of the devices; they follow the statements that change `in_use`. */
function stateStatements(
  { devices, deployables }: CyborgTables,
  ours: readonly AttachHandle[],
  known: ReadonlyMap<string, KnownHandle>,
): string[] {
  const deviceOf = new Map(deployables.map((each) => [each.id, each.device_id]));
  const ofDevice = Map.groupBy(ours, ({ uuid }) =>
    deviceOf.get(known.get(uuid)?.deployableId ?? -1),
  );
  const byState = Map.groupBy(devices, (each) => stateAfter(each, ofDevice.get(each.id) ?? []));
  return [...byState].flatMap(([state, rows]) => {
    if (state === undefined) return [];
    const value = state === 'usual' ? usualState : text(state);
    const ids = rows.map(({ id }) => id).join(', ');
    return `UPDATE devices SET device_state = ${value} WHERE id IN (${ids});`;
  });
}

/** Undefined where the device stays in the state that Cyborg gave it. */
function stateAfter(
  { device_state: before }: CyborgDevice,
  handles: readonly AttachHandle[],
): 'usual' | UncleanState | undefined {
  if (handles.some(({ claim, release }) => claim && release === undefined)) return 'usual';
  const left = handles.flatMap((each) => uncleanState(each) ?? []);
  if (left.length > 0) return left.includes('error') ? 'error' : 'pending_cleaning';
  const isClean = handles.length > 0 && !handles.some(isWithheld);
  return describeUnclean(before) === undefined || isClean ? 'usual' : undefined;
}

function insertProfile({ uuid, name, description, groups, createdAt }: DeviceProfile): string {
  const values = [
    text(time(createdAt)),
    text(uuid),
    text(name),
    text(JSON.stringify({ groups })),
    description === undefined ? 'NULL' : text(description),
  ];
  return `INSERT INTO device_profiles (created_at, uuid, name, profile_json, description) VALUES (${values.join(', ')});`;
}

function insertArq(
  arq: Arq,
  binding: NonNullable<Arq['binding']>,
  { id, deployableId }: KnownHandle,
): string[] {
  const columns = {
    created_at: text(time(arq.createdAt)),
    uuid: text(arq.uuid),
    project_id: text(arq.projectId),
    state: text('Bound'),
    device_profile_group_id: String(arq.groupId),
    hostname: text(binding.hostname),
    device_rp_uuid: text(binding.providerUuid),
    instance_uuid: text(binding.instanceUuid),
    attach_handle_id: String(id),
    deployable_id: String(deployableId),
    substate: text('Initial'),
  };
  const names = Object.keys(columns).join(', ');
  const values = Object.values(columns).join(', ');
  return [
    `INSERT INTO extended_accelerator_requests (${names}, device_profile_id) SELECT ${values}, id FROM device_profiles WHERE name = ${text(arq.deviceProfileName)};`,
    `UPDATE attach_handles SET in_use = 1 WHERE id = ${id};`,
  ];
}

/** MySQL's form of a time in UTC. */
function time(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** Hexadecimal digits: safe for any text, however the server reads backslashes. */
function text(value: string): string {
  const plain = /^[A-Za-z0-9 :._-]*$/.test(value);
  return plain ? `'${value}'` : `CONVERT(X'${Buffer.from(value).toString('hex')}' USING utf8mb4)`;
}
