// The way back: SQL for Cyborg's tables.

import { describe, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { ArqUuid, BindId, InstanceUuid, ProviderUuid, ReleaseId } from '#core/domain/ids.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { handleUuid } from '#core/domain/report/device-plan.ts';
import { readTables } from '#operate/import/cyborg-tables.ts';
import { planReturn } from '#operate/import/plan-return.ts';
import {
  aCyborg,
  arqOf,
  cyborgHost,
  cyborgProvider,
  serverOf,
  xmlOf,
} from '#test/support/cyborg-tables.ts';

const tables = readTables(xmlOf(aCyborg()));
const provider = cyborgProvider as ProviderUuid;
const now = '2026-07-01T01:02:03.456Z';

function anArq(id: number, handle: number): Arq {
  const info = { domain: '0000', bus: '0c', device: '0', function: String(handle) };
  return {
    uuid: arqOf(id) as ArqUuid,
    state: 'Bound',
    deviceProfileName: 'fpga',
    groupId: 0,
    group: {},
    projectId: 'demo',
    createdAt: now,
    binding: {
      bindId: 'b' as BindId,
      instanceUuid: serverOf(id) as InstanceUuid,
      hostname: cyborgHost,
      providerUuid: provider,
      attachment: {
        handleUuid: handleUuid(provider, { type: 'TEST_PCI', info }),
        type: 'TEST_PCI',
        info,
      },
    },
  };
}

const profile: DeviceProfile = {
  uuid: tables.profiles[0]?.uuid as DeviceProfile['uuid'],
  name: 'fpga',
  groups: [],
  revision: 1,
  microversion: '2.0',
  createdAt: now,
};

it('changes nothing while servers have what they had', () => {
  const state = { handles: [], profiles: [profile], arqs: [anArq(1, 1), anArq(2, 2)] };
  const { statements, counts } = planReturn(tables, state);
  expect(statements).toEqual(['START TRANSACTION;', 'COMMIT;']);
  expect(counts).toEqual({ kept: 2, ended: 0, added: 0, profiles: 0 });
});

it('frees the handle of an ended ARQ before another ARQ gets it', () => {
  const state = { handles: [], profiles: [profile], arqs: [anArq(2, 2), anArq(3, 1)] };
  const { statements } = planReturn(tables, state);
  expect(statements.slice(1, -1)).toEqual([
    `DELETE FROM extended_accelerator_requests WHERE uuid = '${arqOf(1)}';`,
    'UPDATE attach_handles SET in_use = 0 WHERE id = 1;',
    expect.stringMatching(
      /^INSERT INTO extended_accelerator_requests \(created_at, .*SELECT '2026-07-01 01:02:03', .*'Bound'.* FROM device_profiles WHERE name = 'fpga';$/,
    ),
    'UPDATE attach_handles SET in_use = 1 WHERE id = 1;',
  ]);
});

it('writes any text of a profile as digits', () => {
  const added = { ...profile, uuid: arqOf(9) as never, name: 'new', description: `'; DROP \\` };
  const { statements } = planReturn(tables, { handles: [], profiles: [profile, added], arqs: [] });
  const hex = Buffer.from(`'; DROP \\`).toString('hex');
  expect(statements[1]).toContain(`CONVERT(X'${hex}' USING utf8mb4)`);
  expect(statements.join('\n')).not.toContain('DROP');
});

it('deletes a profile that is gone, unless an ARQ names it', () => {
  const { statements } = planReturn(tables, { handles: [], profiles: [], arqs: [] });
  expect(statements.at(-2)).toBe(
    'DELETE FROM device_profiles WHERE id = 1 AND id NOT IN (SELECT device_profile_id FROM extended_accelerator_requests);',
  );
});

it('names a server whose handle Cyborg does not know', () => {
  const { refused } = planReturn(tables, { handles: [], profiles: [profile], arqs: [anArq(3, 7)] });
  expect(refused).toEqual([expect.stringContaining(serverOf(3))]);
});

describe('states of devices', () => {
  const usual = (ids: string) =>
    `UPDATE devices SET device_state = IF(id IN (SELECT device_id FROM deployables WHERE id IN (SELECT deployable_id FROM attach_handles WHERE in_use = 1)), 'allocated', 'available') WHERE id IN (${ids});`;
  const inUse = (id: number) => `UPDATE attach_handles SET in_use = 1 WHERE id = ${id};`;
  const clean = aHandle(3);
  const cleaning = { ...aHandle(3), release: 'r' as ReleaseId };
  const quarantined = { ...cleaning, quarantine: 'it failed' };
  const imported = { ...aHandle(3), restoredAt: now, quarantine: 'Cyborg had not cleaned it' };
  const used = { ...aHandle(4), claim: { arqUuid: arqOf(4), instanceUuid: serverOf(4) } as never };

  function statementsFor(state: string | null, handles: readonly AttachHandle[]) {
    const of = readTables(xmlOf(aCyborg({ servers: 0, state })));
    return planReturn(of, { profiles: [profile], arqs: [], handles });
  }

  it.each<[string, string | null, readonly AttachHandle[], readonly string[]]>([
    ['follow from the handles', 'available', [clean], [usual('1')]],
    ['follow from the handles, where Cyborg has none', null, [clean], [usual('1')]],
    ['follow from the handles of a device of which nothing is stored', null, [], [usual('1')]],
    [
      'are pending_cleaning while a handle is being cleaned',
      'available',
      [cleaning],
      [inUse(3), "UPDATE devices SET device_state = 'pending_cleaning' WHERE id IN (1);"],
    ],
    [
      'are error after a cleaning that failed',
      'available',
      [cleaning, quarantined],
      [inUse(3), inUse(3), "UPDATE devices SET device_state = 'error' WHERE id IN (1);"],
    ],
    [
      'are those of a server that has another handle',
      'available',
      [quarantined, used],
      [inUse(3), usual('1')],
    ],
    ['stay while nothing has cleaned the device since', 'cleaning', [imported], []],
    ['stay where the device is not stored', 'error', [], []],
    ['are usual after the device was cleaned here', 'error', [clean], [usual('1')]],
  ])('%s', (_, state, handles, expected) => {
    expect(statementsFor(state, handles).statements.slice(1, -1)).toEqual(expected);
  });

  it('are not mentioned to a database without them, and what is not clean stays in use', () => {
    const { statements, warnings } = planReturn(readTables(xmlOf(aCyborg({ servers: 0 }))), {
      profiles: [profile],
      arqs: [],
      handles: [cleaning],
    });
    expect(statements.slice(1, -1)).toEqual([inUse(3)]);
    expect(warnings).toEqual([
      expect.stringContaining('Attach handle 3 of Cyborg is not clean (pending_cleaning)'),
    ]);
  });

  it('follow the statements that free handles', () => {
    const of = readTables(xmlOf(aCyborg({ servers: 1, state: 'allocated' })));
    const { statements } = planReturn(of, { profiles: [profile], arqs: [], handles: [clean] });
    expect(statements.slice(2, -1)).toEqual([
      'UPDATE attach_handles SET in_use = 0 WHERE id = 1;',
      usual('1'),
    ]);
  });
});

function aHandle(id: number): AttachHandle {
  const info = { domain: '0000', bus: '0c', device: '0', function: String(id) };
  const place = { type: 'TEST_PCI', info } as const;
  const uuid = handleUuid(provider, place);
  return { uuid, providerUuid: provider, ...place, epoch: 1, isGone: false };
}
