// FPGAs with functions: images from Glance, and profiles that require a function.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { traitPart } from '#core/domain/placement/traits.ts';
import { aFunction, aGbs, fakeInterface } from '#local/demo/gbs.ts';
import { ownProvider } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  assertHas,
  assertNeverActive,
  build,
  create,
  offer,
  putImage,
  removeCleanly,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const region = `CUSTOM_FPGA_ABCD_REGION_${traitPart(fakeInterface)}`;
/** A region of an FPGA, with any content. */
export const regionGroup = { 'resources:FPGA': '1', [`trait:${region}`]: 'required' };
const functionTrait = `CUSTOM_FPGA_ABCD_FUNCTION_${traitPart(aFunction)}`;

export const images: readonly Scenario[] = [
  {
    name: 'a server gets an FPGA with the function of its profile, from an image in Glance',
    run: async (stage) => {
      await upload(stage, 'hello.gbs', { 'accel:function_id': aFunction });
      await offer(stage, 'hello', [{ ...regionGroup, 'accel:function_id': aFunction }]);
      const built = await build(stage, 'hello');
      await assertHas(stage, built, 1);
      const traits = `${ownProvider(stage, '0000:0d:00.0_region0')}/traits`;
      await eventually(
        async () => (await stage.admin.placement.ask('GET', traits)).body.traits,
        (found) => found.includes(functionTrait),
      );
      await removeCleanly(stage, built.id);
      return `ACTIVE after ${built.seconds.toFixed(1)} s`;
    },
  },
  {
    name: 'a profile of class, product and function has one candidate in Placement',
    run: async (stage) => {
      const wanted = ['CUSTOM_FPGA_ABCD_F01A', functionTrait];
      const query = `resources1=FPGA:1&required1=${wanted.join(',')}`;
      const { placement } = stage.admin;
      const { body } = await placement.ask('GET', `/allocation_candidates?${query}`);
      const found = body.allocation_requests.flatMap(({ allocations }) => Object.keys(allocations));
      const own = ownProvider(stage, '0000:0d:00.0_region0').split('/').at(-1);
      assert.deepEqual(found, [own]);
      const traits = Object.fromEntries(wanted.map((each) => [`trait:${each}`, 'required']));
      await offer(stage, 'by-function', [{ 'resources:FPGA': '1', ...traits }]);
      const built = await build(stage, 'by-function');
      const [arq] = await assertHas(stage, built, 1);
      assert.equal(arq?.device_rp_uuid, own);
      await removeCleanly(stage, built.id);
      return `${query.replaceAll(',', ' ')}: ${own}`;
    },
  },
  {
    name: 'an image that Glance returns changed fails the bind, and no region is programmed',
    run: async (stage) => {
      const id = await upload(stage, 'damaged.gbs', {});
      const file = join(stage.cloud.plan.directory, 'images/store', id);
      const data = readFileSync(file);
      writeFileSync(file, data.fill('x', data.length - 4));
      return failsWith(stage, id, 'damaged', /is not what Glance took/);
    },
  },
  {
    name: 'an image that was deleted fails the bind',
    run: async (stage) => {
      const id = await upload(stage, 'deleted.gbs', {});
      await stage.admin.glance.ask('DELETE', `/v2/images/${id}`);
      return failsWith(stage, id, 'image-deleted', /Glance has no image/);
    },
  },
];

function upload(stage: Stage, name: string, properties: object): Promise<string> {
  return putImage(stage, name, new Uint8Array(aGbs({ bitstream: name })), properties);
}

async function failsWith(
  stage: Stage,
  image: string,
  flavor: string,
  reason: RegExp,
): Promise<string> {
  await offer(stage, flavor, [{ ...regionGroup, 'accel:bitstream_id': image }]);
  const id = await create(stage, flavor);
  await assertNeverActive(stage, id);
  await removeCleanly(stage, id);
  const log = readFileSync(join(stage.layout.logDirectory, 'consumers.log'), 'utf8');
  const line = log.split('\n').findLast((each) => reason.test(each));
  assert.ok(line, `no line of the log says ${reason}`);
  const [said] = /[^"]*$/.exec(line.slice(0, line.search(reason))) ?? [''];
  return `${said}${line.slice(line.search(reason)).split('"')[0]}`;
}
