// The doctor names images that Glance no longer has, and the profiles and servers that need them.

import { beforeAll, expect, it } from 'vitest';
import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import { perform } from '#core/command-line/checks.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { imageChecks } from '#operate/doctor/images.ts';
import { aCaller, instanceOf } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const kept = '11111111-0000-4000-8000-000000000001';
const gone = '11111111-0000-4000-8000-000000000002';
const instance = instanceOf(1);
const world = perFile(startWorld);

beforeAll(async () => {
  const own = { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1)] };
  const region = { name: 'region0', kind: 'reconfigurable-region', ...own } as const;
  await world.report('cmp1', [aDevice({ offers: undefined, regions: [region] })]);
  await world.createProfile('kept', { 'resources:FPGA': '1', 'accel:bitstream_id': kept });
  await world.createProfile('gone', { 'resources:FPGA': '1', 'accel:bitstream_id': gone });
});

async function finding(isThere: (id: string) => boolean) {
  const { deps } = world;
  const findImage: typeof deps.clients.glance.findImage = async ({ value }) => {
    if (isThere(value)) return { id: value };
    throw new ImageUnusable(`Glance has no image ${value}.`, { isAbsent: true });
  };
  const [check] = imageChecks;
  if (!check) throw new TypeError('There is no check.');
  return perform(check, { deps: withClients(deps, { glance: { findImage } }) } as never);
}

it('passes while Glance has the image of each profile and server', async () => {
  expect(await finding(() => true)).toMatchObject({ ok: 'Glance has all 2' });
});

it('names the profile and the server of an image that was deleted', async () => {
  const [arq] = await createArqs(world.deps, aCaller(), 'gone');
  const target = {
    arqUuid: arq?.uuid as NonNullable<typeof arq>['uuid'],
    hostname: 'cmp1',
    providerUuid: providerUuid('cmp1_FakeDevice_region0'),
    instanceUuid: instance,
  };
  await bindArqs(world.deps, aCaller(), [target]);
  expect(await finding((id) => id === kept)).toMatchObject({
    wrong: `Glance has no image ${gone} (profile gone, server ${instance}).`,
    remedy: expect.stringContaining('shelve and unshelve'),
  });
});
