// What the tests and the API reference of Cyborg 17.0.0 send, and what Cyborg answers. Where the
// answer is another one here, docs/api-differences.md names the difference.

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { arqPairs } from '#test/contract/cyborg/arqs.ts';
import { attributePairs, deployablePairs, devicePairs } from '#test/contract/cyborg/inventory.ts';
import {
  freshInstance,
  groups,
  instances,
  type Meeting,
  none,
  type Pair,
  type Request,
} from '#test/contract/cyborg/pair.ts';
import { profilePairs } from '#test/contract/cyborg/profiles.ts';
import { attribute, refusal, version } from '#test/contract/cyborg/shapes.ts';
import { anImage } from '#test/contract/image.ts';
import { aDevice, aGpu, aHandle, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const page = readFileSync(new URL('../../docs/api-differences.md', import.meta.url), 'utf8');

const versionPairs: readonly Pair[] = [
  ...[undefined, '2.0', 'latest', 'accelerator 2.0', 'accelerator latest'].map((asked) => ({
    name: `${asked ?? 'no'} microversion`,
    request: (): Request => ['GET', '/v2', asked === undefined ? {} : { microversion: asked }],
    status: 200,
    shape: version,
  })),
  ...['10', '2.4'].map((asked) => ({
    name: `microversion ${asked}`,
    request: (): Request => ['GET', '/v2', { microversion: asked }],
    status: 406,
    shape: refusal,
  })),
];

const pairs: Readonly<Record<string, readonly Pair[]>> = {
  'device profiles': profilePairs,
  'accelerator requests': arqPairs,
  devices: devicePairs,
  deployables: deployablePairs,
  attributes: attributePairs,
  versions: versionPairs,
};

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI,MDEV' } }));
let known: Meeting['known'];

beforeAll(async () => {
  const region = {
    name: 'region0',
    kind: 'reconfigurable-region' as const,
    resource_class: 'FPGA',
    traits: [],
    'region-type-uuid': none,
  };
  const fpgas = ['0000:01:00.0', '0000:02:00.0'].map((address, index) =>
    aDevice({
      address,
      provider_suffix: undefined,
      offers: undefined,
      regions: [{ ...region, attach_handles: [aHandle(100 + index)] }],
    }),
  );
  const report = aReport([aDevice({ handles: 64 }), ...fpgas, aGpu([{ vgpu_mark: '1' }])]);
  await applySettled(world.deps, 'cmp1', report, Date.now());
  await world.createProfile('pairs', ...groups);
  await world.createProfile('one', { 'resources:FPGA': '1' });
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
  const listed = async (path: string) => (await world.ask('GET', path)).json;
  const [found] = (await listed('/v2/devices?vendor=0xABCD')).devices;
  const all = (await listed('/v2/deployables')).deployables;
  const regions = all.filter(({ name }) => name.includes('region0')).map(({ uuid }) => uuid);
  const [one] = (await listed('/v2/device_profiles?name=one')).device_profiles;
  const other = all.find(({ uuid }) => !regions.includes(uuid));
  const made = await world.ask('POST', '/v2/attributes', {
    body: { deployable_id: other?.uuid, key: 'rc', value: 'FPGA' },
  });
  const at = { provider: providerUuid('cmp1_FakeDevice'), instance: instances.bound };
  known = {
    device: found.uuid,
    deployable: other?.uuid ?? '',
    regions,
    profile: one.uuid,
    attribute: made.json.uuid,
    deployableId: attribute.parse(made.json).deployable_id,
    bound: (await world.createBound('one', at))[0],
    image: await anImage(world.urls.glance),
  };
  await world.createBound('vgpu', {
    provider: providerUuid('cmp1_Gpu'),
    instance: instances.unresolved,
  });
});

const unbound = async () => (await world.createArqs('one'))[0];
/** An ARQ of an instance of its own. */
const bound = async () => {
  const instance = freshInstance();
  const at = { provider: providerUuid('cmp1_FakeDevice'), instance };
  return { instance, uuid: (await world.createBound('one', at))[0] };
};

for (const [resource, ofResource] of Object.entries(pairs)) {
  describe(resource, () => {
    it.each(ofResource)('$name: $status', async ({ request, status, shape, here }) => {
      const [method, path, ask] = await request({ world, known, unbound, bound });
      const answer = await world.ask(method, path, ask);
      expect(answer.status, answer.text).toBe(here?.[0] ?? status);
      if (here) expect(page).toContain(here[1]);
      if (shape && (!here || answer.status >= 400)) shape.parse(answer.json);
    });
  });
}

it('compares this many pairs', () => {
  const all = Object.values(pairs).flat();
  const differing = all.filter(({ here }) => here !== undefined);
  expect([all.length, differing.length]).toEqual([80, 10]);
});
