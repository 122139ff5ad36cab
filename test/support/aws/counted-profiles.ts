// Profiles and images of the workloads that test/integration/counted-units.test.ts counts.

import { expect } from 'vitest';
import { aGbs } from '#test/support/hosts/gbs.ts';
import type { World } from '#test/support/world.ts';

export async function profileFor(
  world: World,
  name: string,
  groups: Readonly<Record<string, string>>,
): Promise<void> {
  const body = [{ name, groups: [groups] }];
  expect((await world.ask('POST', '/v2/device_profiles', { body })).status).toBe(201);
}

/** @returns its id */
export async function anImage(world: World, bitstream: string): Promise<string> {
  const headers = { 'X-Auth-Token': 'admin-token' };
  const images = `${world.urls.glance}/v2/images`;
  const body = JSON.stringify({ name: `${bitstream}.gbs` });
  const { id } = (await (await fetch(images, { method: 'POST', headers, body })).json()) as {
    id: string;
  };
  const data = new Uint8Array(aGbs({ bitstream }));
  await fetch(`${images}/${id}/file`, { method: 'PUT', headers, body: data });
  return id;
}

const serverImages: string[] = [];

/**
 * The image that the first or second server of profile `fpga-1` or `fpga-2` needs. Both profiles
 * are created before the second server, whose units are counted.
 */
export async function imageOfServer(world: World, time: number): Promise<string> {
  for (let number = serverImages.length + 1; number <= 2; number += 1) {
    const image = await anImage(world, `bitstream ${number}`);
    const group = { 'resources:FPGA': '1', 'accel:bitstream_id': image };
    await profileFor(world, `fpga-${number}`, group);
    serverImages.push(image);
  }
  return serverImages[time - 1] ?? '';
}
