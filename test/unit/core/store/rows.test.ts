import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import type { StatusChange } from '#core/domain/device/device.ts';
import type { HostProgram, HostRelease } from '#core/domain/host-work/host-work.ts';
import type { BindId, ReleaseId } from '#core/domain/ids.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { statusChange } from '#core/shapes/device.ts';
import { arqRow, instanceRow, toArq, toInstance } from '#core/store/rows/arq-rows.ts';
import { handleRow, toHandle } from '#core/store/rows/handle-rows.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import { jobRow, toJob, toProgram, toRelease, workRow } from '#core/store/rows/host-work-rows.ts';
import {
  attributeField,
  attributeValue,
  deployableRow,
  deviceRow,
  toDeployable,
  toDevice,
} from '#core/store/rows/inventory-rows.ts';
import { profileRow, toProfile } from '#core/store/rows/profile-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import {
  aBinding,
  aDeployable,
  anArq,
  aProviderUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const at = '2026-07-01T01:02:03.000Z';
const handle = aStoredHandle({ release: 'r' as ReleaseId, quarantine: 'EIO', restoredAt: at });
const binding = aBinding({
  state: 'BindFailed',
  jobUuid: 'j',
  bootId: 'b',
  requestId: 'req-1',
  failure: 'EIO',
  failureCause: 'host',
  resolvedAt: at,
  unusedSince: at,
});
const arq = anArq({
  state: 'Bound',
  updatedAt: at,
  failure: 'EIO',
  binding: {
    bindId: binding.bindId,
    instanceUuid: binding.instanceUuid,
    hostname: 'cmp1',
    providerUuid: aProviderUuid,
    attachment: { handleUuid: handle.uuid, type: 'MDEV', info: { asked_type: 'nvidia-1' } },
  },
});
const unboundArq = anArq({ state: 'Unbound' });
const device = aStoredDevice({
  stdBoardInfo: '{}',
  handleCount: 2,
  updatedAt: at,
  identity: '00-15.0',
  numaNode: 1,
  pcieRoot: '0000:00:01.0',
  firmware: '1.2',
  health: { state: 'unhealthy', reason: 'is stuck', since: at },
});
const deployable = aDeployable({
  parentProviderUuid: aProviderUuid,
  region: 'region0',
  regionKind: 'reconfigurable-region',
  bitstreamId: 'b',
  regionTypeUuid: 't',
  functionUuids: ['f'],
  reportedAttributes: { numa_node: '1', 'vendor.key': 'v' },
  unhealthy: 'is stuck',
  updatedAt: at,
});
const release: HostRelease = {
  kind: 'release',
  id: 'r' as ReleaseId,
  bindId: 'b' as BindId,
  reprovisionJob: 'j',
  isPart: true,
  hostname: 'cmp1',
  handles: [{ providerUuid: aProviderUuid, handleUuid: handle.uuid }],
  startedAt: at,
  requestId: 'req-1',
  quarantine: 'EIO',
  retryAt: at,
  retries: 2,
};
const program: HostProgram = {
  kind: 'program',
  id: release.id,
  hostname: 'cmp1',
  handles: release.handles,
  startedAt: at,
  imageId: 'i',
  providerUuid: aProviderUuid,
};
const job = { instances: ['i'], bootId: 'b', bootedHost: 'cmp1' };
const profile = {
  uuid: 'p' as Parameters<typeof profileRow>[0]['uuid'],
  name: 'fpga',
  description: '',
  groups: [{ 'resources:FPGA': '1' }],
  microversion: '2.0',
  createdAt: at,
};

const cases: [kind: string, value: unknown, row: Row, read: (row: Row) => unknown][] = [
  ['a bound ARQ', arq, arqRow(arq, at), toArq],
  ['an unbound ARQ', unboundArq, arqRow(unboundArq), toArq],
  ['an instance', binding, instanceRow(binding, at), toInstance],
  ['a job', job, jobRow('j', job), toJob],
  ['a release', release, workRow(release, at), toRelease],
  ['a program', program, workRow(program, at), toProgram],
  ['a device', device, deviceRow(device), toDevice],
  ['a deployable', deployable, deployableRow(deployable), toDeployable],
  ['an attach handle', handle, handleRow(handle), toHandle],
  ['a profile', profile, profileRow(profile), toProfile],
];

function stored(row: Row): Row {
  return unmarshall(marshall(row, { removeUndefinedValues: true }));
}

const namedByHost = new Set(['info', 'handle_info', 'reported_attributes']);

/** Names of attributes at every level, except inside what a host names. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    namedByHost.has(name) ? [name] : [name, ...namesIn(inner)],
  );
}

describe('the row', () => {
  it.each(cases)('of %s is read as it was written', (_kind, value, row, read) => {
    expect(read(stored(row))).toEqual(value);
  });

  it.each(cases)('of %s has snake_case attributes at every level', (_kind, _value, row) => {
    expect(namesIn(stored(row)).filter((name) => !/^[a-z_]+$/.test(name))).toEqual([]);
  });

  it('of a device has the fields of operators and conflicts', () => {
    const change: StatusChange = { status: 'maintaining', by: 'admin', at, requestId: 'req-1' };
    const row = {
      ...deviceRow(device),
      status: 'maintaining',
      status_change: toWire(statusChange, change),
      conflict_since: at,
    };
    const added = { status: 'maintaining', statusChange: change, conflictSince: at };
    expect(toDevice(stored(row))).toEqual({ ...device, ...added });
  });

  it('of a deployable has its added attributes and the last program', () => {
    const attribute = {
      uuid: 'a',
      deployableUuid: deployable.uuid,
      key: 'k',
      value: 'v',
      isReported: false,
      createdAt: at,
    };
    const note = { image: 'i', by: 'admin', at, state: 'started' } as const;
    const row = {
      ...deployableRow(deployable),
      program_note: note,
      [attributeField('a')]: attributeValue(attribute),
    };
    const added = { program: note, addedAttributes: [attribute] };
    expect(toDeployable(stored(row))).toEqual({ ...deployable, ...added });
  });

  it('of a claimed handle names its ARQ and its instance', () => {
    const row = { ...handleRow(handle), arq_uuid: 'a', instance_uuid: 'i' };
    expect(toHandle(stored(row)).claim).toEqual({ arqUuid: 'a', instanceUuid: 'i' });
  });

  it('of a host may be absent, or only a lease', () => {
    const empty = { hostname: 'cmp1', epoch: 0, sequence: -1, wanted: {}, refused: {} };
    expect(toHost('cmp1')).toMatchObject(empty);
    expect(toHost('cmp1', { lease_holder: 'one' })).toEqual(toHost('cmp1'));
  });
});

describe('an invalid row', () => {
  it('is refused with its key, the attribute and what is allowed', () => {
    const { arq_uuids, ...row } = instanceRow(binding);
    expect(() => toInstance(row)).toThrow(
      `Row INSTANCE#${binding.instanceUuid} is invalid: arq_uuids: Invalid input: expected array`,
    );
    expect(() => toHandle({ ...handleRow(handle), arq_uuid: 'a' })).toThrow('instance_uuid: ');
    expect(() => toArq({ ...arqRow(arq), state: 'Lost' })).toThrow('state: Invalid option');
  });
});
