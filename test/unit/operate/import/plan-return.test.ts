// The way back: SQL for Cyborg's tables.

import { expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { ArqUuid, BindId, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
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
    ...{ uuid: arqOf(id) as ArqUuid, state: 'Bound', deviceProfileName: 'fpga', groupId: 0 },
    ...{ group: {}, projectId: 'demo', createdAt: now },
    binding: {
      ...{ bindId: 'b' as BindId, instanceUuid: serverOf(id) as InstanceUuid },
      ...{ hostname: cyborgHost, providerUuid: provider },
      attachment: {
        handleUuid: handleUuid(provider, { type: 'TEST_PCI', info }),
        ...{ type: 'TEST_PCI', info },
      },
    },
  };
}

const profile: DeviceProfile = {
  uuid: tables.profiles[0]?.uuid as DeviceProfile['uuid'],
  ...{ name: 'fpga', groups: [], microversion: '2.0', createdAt: now },
};

it('changes nothing while servers have what they had', () => {
  const state = { profiles: [profile], arqs: [anArq(1, 1), anArq(2, 2)] };
  const { statements, counts } = planReturn(tables, state);
  expect(statements).toEqual(['START TRANSACTION;', 'COMMIT;']);
  expect(counts).toEqual({ kept: 2, ended: 0, added: 0, profiles: 0 });
});

it('frees the handle of an ended ARQ before another ARQ gets it', () => {
  const state = { profiles: [profile], arqs: [anArq(2, 2), anArq(3, 1)] };
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
  const { statements } = planReturn(tables, { profiles: [profile, added], arqs: [] });
  const hex = Buffer.from(`'; DROP \\`).toString('hex');
  expect(statements[1]).toContain(`CONVERT(X'${hex}' USING utf8mb4)`);
  expect(statements.join('\n')).not.toContain('DROP');
});

it('deletes a profile that is gone, unless an ARQ names it', () => {
  const { statements } = planReturn(tables, { profiles: [], arqs: [] });
  expect(statements.at(-2)).toBe(
    'DELETE FROM device_profiles WHERE id = 1 AND id NOT IN (SELECT device_profile_id FROM extended_accelerator_requests);',
  );
});

it('names a server whose handle Cyborg does not know', () => {
  const { refused } = planReturn(tables, { profiles: [profile], arqs: [anArq(3, 7)] });
  expect(refused).toEqual([expect.stringContaining(serverOf(3))]);
});
