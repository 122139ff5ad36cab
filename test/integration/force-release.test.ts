// An admin has looked at one device: what is in quarantine on others stays there. The host's jobs go
// nowhere; everything else is real.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { deviceUuid } from '#core/domain/device-plan.ts';
import { type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/apply-report.ts';
import { startRelease } from '#core/operations/start-release.ts';
import { sweep } from '#core/operations/sweep.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { startWorld, type World } from '#test/support/world.ts';

const minuteMs = 60_000;
const addresses = ['0000:0e:00.0', '0000:0f:00.0'] as const;
const providers = addresses.map((address) => providerUuid(`cmp1_${address}`));
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const [first, second] = providers as [ProviderUuid, ProviderUuid];

let world: World;
let deps: ConsumerDeps;

const gpuAt = (address: string) =>
  aDevice({
    address,
    type: 'GPU',
    provider_suffix: undefined,
    offers: {
      resource_class: 'VGPU',
      traits: [],
      attach_handles: [{ type: 'MDEV', info: { asked_type: 'fake-1', vgpu_mark: address } }],
    },
  });

beforeAll(async () => {
  world = await startWorld({ settings: { CYBORG_ATTACH_TYPES: 'MDEV' } });
  const jobs = {
    create: async () => {},
    cancel: async () => {},
    executionStatus: async () => undefined,
  };
  deps = { ...world.deps, clients: { ...world.deps.clients, jobs } };
  await applyReport(deps, 'cmp1', aReport(addresses.map(gpuAt)), Date.now());
  await world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'two', groups: [{ 'resources:VGPU': '1' }, { 'resources:VGPU': '1' }] }],
  });
});
afterAll(() => world.stop());

async function bindOneOfEach(): Promise<void> {
  const { json } = await world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: 'two',
  });
  const patch = json.arqs.map(({ uuid }, index) => [
    uuid,
    [
      { op: 'add', path: '/hostname', value: 'cmp1' },
      { op: 'add', path: '/device_rp_uuid', value: providers[index] },
      { op: 'add', path: '/instance_uuid', value: instance },
    ],
  ]);
  const bound = await world.asNova('PATCH', '/v2/accelerator_requests', Object.fromEntries(patch));
  expect(bound.status).toBe(202);
}

async function handleOf(provider: ProviderUuid) {
  return (await deps.store.inventory.provider(provider))?.handles[0];
}

function force(address: string) {
  const path = `/v2/devices/${deviceUuid('cmp1', address)}/force_release`;
  return world.ask('POST', path, { body: { reason: 'looked at it' } });
}

it('a device is freed by force, and no other that the same instance had', async () => {
  await bindOneOfEach();
  await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  const release = (await handleOf(first))?.release ?? '';
  await startRelease(deps, release);
  await sweep({ ...deps, clock: () => Date.now() + 10 * minuteMs });
  expect(await handleOf(first)).toMatchObject({ release, quarantine: expect.any(String) });

  const freed = await force(addresses[0]);
  expect(freed.json.attach_handles).toEqual([(await handleOf(first))?.uuid]);
  expect(await handleOf(first)).not.toHaveProperty('quarantine');
  expect(await handleOf(second)).toMatchObject({ release, quarantine: expect.any(String) });

  const last = await force(addresses[1]);
  expect(last.json.attach_handles).toEqual([(await handleOf(second))?.uuid]);
  expect(await handleOf(second)).not.toHaveProperty('release');
  expect(await deps.store.releases.byId(release)).toBeUndefined();
});
