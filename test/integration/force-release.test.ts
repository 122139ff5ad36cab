// An admin frees one device: handles in quarantine on other devices stay there. The host's jobs
// are recorded; everything else is real.

import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument } from '#core/contracts/jobs/job-document.ts';
import { type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { deviceKey } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { withClients } from '#test/support/deps.ts';
import { aGpu } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const minuteMs = 60_000;
const addresses = ['0000:0e:00.0', '0000:0f:00.0'] as const;
const providers = addresses.map((address) => providerUuid(`cmp1_${address}`));
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const [first, second] = providers as [ProviderUuid, ProviderUuid];

const asked: JobDocument[] = [];
const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'MDEV' } }));
let deps: ConsumerDeps;

const gpuAt = (address: string) =>
  aGpu([{ asked_type: 'fake-1', vgpu_mark: address }], { address, provider_suffix: undefined });

beforeAll(async () => {
  const jobs = {
    create: async (_id: string, document: JobDocument) => void asked.push(document),
    cancel: async () => {},
    executionStatus: async () => undefined,
  };
  deps = withClients(world.deps, { jobs });
  await world.report('cmp1', addresses.map(gpuAt), {}, deps);
  await world.createProfile('two', { 'resources:VGPU': '1' }, { 'resources:VGPU': '1' });
});

async function bindOneOfEach(): Promise<void> {
  const target = { hostname: 'cmp1', instance_uuid: instance };
  const patch = (await world.createArqs('two')).map((arq, index) => [
    arq,
    bindPatch({ ...target, device_rp_uuid: providers[index] ?? '' }),
  ]);
  const bound = await world.asNova('PATCH', '/v2/accelerator_requests', Object.fromEntries(patch));
  expect(bound.status).toBe(202);
}

async function handleOf(provider: ProviderUuid) {
  return (await deps.store.inventory.provider(provider))?.handles[0];
}

function force(address: string, word: object = { cleaned: true }) {
  const path = `/v2/devices/${deviceUuid('cmp1', address)}/force_release`;
  return world.ask('POST', path, { body: { reason: 'looked at it', ...word } });
}

async function inQuarantine(): Promise<string> {
  await bindOneOfEach();
  await world.deleteArqsOf(instance);
  const release = (await handleOf(first))?.release ?? '';
  await startRelease(deps, release);
  await sweep({ ...deps, clock: () => Date.now() + 10 * minuteMs });
  asked.length = 0;
  expect(await handleOf(first)).toMatchObject({ release, quarantine: expect.any(String) });
  return release;
}

it('a cleaned device is freed by force, and no other device of the same instance', async () => {
  const release = await inQuarantine();
  const freed = await force(addresses[0]);
  expect([freed.status, freed.json.attach_handles]).toEqual([200, [(await handleOf(first))?.uuid]]);
  expect(await handleOf(first)).not.toHaveProperty('quarantine');
  expect(await handleOf(second)).toMatchObject({ release, quarantine: expect.any(String) });

  const last = await force(addresses[1]);
  expect(last.json.attach_handles).toEqual([(await handleOf(second))?.uuid]);
  expect(await handleOf(second)).not.toHaveProperty('release');
  expect(await deps.store.releases.awaited(release)).toBeUndefined();
  expect(asked).toEqual([]);
  const { documents } = createDocuments();
  const { Item } = await documents.send(
    new GetCommand({
      TableName: tableName(deps.settings.stage, 'inventory'),
      Key: deviceKey('cmp1', deviceUuid('cmp1', addresses[0])),
    }),
  );
  expect(Item?.forced).toMatchObject({ is_cleaned: true, reason: 'looked at it' });
});

it('a device is cleaned by its host before it is freed by force', async () => {
  const old = await inQuarantine();
  const forced = await force(addresses[0], {});
  const uuid = (await handleOf(first))?.uuid;
  expect([forced.status, forced.json.attach_handles, forced.json.cleaning]).toEqual([
    202,
    [],
    [uuid],
  ]);
  const held = await handleOf(first);
  expect(held).toMatchObject({ quarantine: expect.any(String) });
  expect(held?.release).not.toBe(old);
  expect(await handleOf(second)).toMatchObject({ release: old });
  // A second request before the host has answered starts no second job.
  expect((await force(addresses[0], {})).json.cleaning).toEqual([uuid]);
  expect((await handleOf(first))?.release).toBe(held?.release);

  await startRelease(deps, held?.release ?? '');
  expect(asked).toMatchObject([
    { action: 'release', steps: [{ kind: 'clean', handle: { uuid }, address: addresses[0] }] },
  ]);
  const release = await deps.store.releases.awaited(held?.release ?? '');
  if (!release) throw new Error('The release is missing.');
  await deps.store.releases.confirm(release, makeChangeNote(deps));
  expect(await handleOf(first)).not.toHaveProperty('quarantine');

  // The host has still not cleaned up the other device.
  expect((await force(addresses[1], {})).status).toBe(202);
  expect(await deps.store.releases.awaited(old)).toBeUndefined();
  expect((await force(addresses[1])).json.attach_handles).toHaveLength(1);
});

it('a device whose host is away is freed only if the request says that it was cleaned', async () => {
  const release = await inQuarantine();
  const { host } = await deps.store.inventory.host('cmp1');
  const at = new Date(Date.now() - 10 * minuteMs).toISOString();
  await deps.store.inventory.putPresence('cmp1', { isConnected: false, at }, host.presence);
  const { inventory } = deps.store;
  const long = new Date(Date.now() - 60 * minuteMs).toISOString();
  await inventory.takeLease('cmp1', 'test', long, long);
  await inventory.putReport({ ...host, lastReportAt: long }, 'test');
  const refused = await force(addresses[0], {});
  expect(refused).toMatchObject({
    status: 409,
    json: { error: expect.stringContaining('the agent of host cmp1 is not connected') },
  });
  expect(refused.json.error).toContain('{"cleaned": true}');
  expect(await handleOf(first)).toMatchObject({ release, quarantine: expect.any(String) });
  expect((await force(addresses[0])).status).toBe(200);
  expect((await force(addresses[1], { cleaned: 'yes' })).status).toBe(400);
});
