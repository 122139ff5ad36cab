// A server's own image names what its FPGA holds, where the profile leaves it open. Nova does not
// pass the image; the specification of the interaction with Nova has it.

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);

beforeEach(() => cmp1.bootAfresh());

const owner = idOf('project', 'demo');

/** The image of a server, of the project that asks unless another is named. */
const serverImage = (properties: Record<string, string>) =>
  cmp1.anImage({ visibility: 'private', owner, ...properties }, Buffer.from('a disk'));

const uuidOf = ({ uuid }: { uuid: string }) => uuid;

async function post(image_uuid: unknown, group: Record<string, string> = {}) {
  const name = `p-${randomUUID()}`;
  await cmp1.world.createProfile(name, { 'resources:FPGA': '1', ...group });
  return cmp1.world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: name,
    image_uuid,
  });
}

describe("a server's image", () => {
  it('names the bitstream that its FPGA is programmed with', async () => {
    const bitstream = await cmp1.anImage({}, aGbs());
    const image = await serverImage({ 'accel:bitstream_id': bitstream });
    const { status, json } = await post(image);
    expect(status).toBe(201);
    const { instance } = await cmp1.bindArqs(json.arqs.map(uuidOf));
    await cmp1.startBindOf(instance);
    expect(cmp1.theStep()).toMatchObject({ region: 'region0', image: { id: bitstream } });
  });

  it('names a function, which a trusted image must have', async () => {
    const mark = randomUUID();
    const bitstream = await cmp1.anImage({ 'accel:function_id': mark }, aGbs());
    const { json } = await post(await serverImage({ 'accel:function_id': mark }));
    const { instance } = await cmp1.bindArqs(json.arqs.map(uuidOf));
    await cmp1.startBindOf(instance);
    expect(cmp1.theStep().image.id).toBe(bitstream);
  });

  it('changes nothing where the profile names an image itself', async () => {
    const bitstream = await cmp1.anImage({}, aGbs());
    const { json } = await post(randomUUID(), { 'accel:bitstream_id': bitstream });
    const { instance } = await cmp1.bindArqs(json.arqs.map(uuidOf));
    await cmp1.startBindOf(instance);
    expect(cmp1.theStep().image.id).toBe(bitstream);
  });

  it.each<[string, () => Promise<string>, number, string]>([
    ['a name in place of its uuid', async () => 'cirros', 400, 'image_uuid'],
    ['the uuid of no image', async () => randomUUID(), 404, 'Glance has no image'],
    [
      "another project's image",
      () => serverImage({ owner: 'another', visibility: 'shared', 'accel:function_id': 'f' }),
      404,
      'Glance has no image',
    ],
    [
      'an image with two properties',
      () => serverImage({ 'accel:function_id': 'f', 'accel:bitstream_id': randomUUID() }),
      409,
      'at most one is allowed',
    ],
    [
      'an image with a property that is not valid',
      () => serverImage({ 'accel:bitstream_id': '../etc/passwd' }),
      409,
      'is not a valid value of accel:bitstream_id',
    ],
    [
      'an image that names a bitstream of a tenant',
      async () =>
        serverImage({
          'accel:bitstream_id': await cmp1.anImage({ visibility: 'community', owner }, aGbs()),
        }),
      409,
      "is neither public nor of the service's own project",
    ],
    [
      'an image that names a private bitstream of the service',
      async () =>
        serverImage({
          'accel:bitstream_id': await cmp1.anImage(
            { visibility: 'private', owner: idOf('project', 'service') },
            aGbs(),
          ),
        }),
      404,
      'Glance has no image',
    ],
    [
      'an image that names a function of a private bitstream of the service',
      async () => {
        const mark = randomUUID();
        const published = { visibility: 'private', owner: idOf('project', 'service') };
        await cmp1.anImage({ ...published, 'accel:function_id': mark }, aGbs());
        return serverImage({ 'accel:function_id': mark });
      },
      404,
      'Glance has no image',
    ],
  ])('is refused: %s', async (_, image, status, sentence) => {
    const answer = await post(await image());
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(sentence)]);
  });
});
