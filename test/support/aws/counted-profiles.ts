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
  // With a service token it leaves no record, whose write is no part of a server's cost.
  const ask = { body, serviceToken: 'nova-token' };
  expect((await world.ask('POST', '/v2/device_profiles', ask)).status).toBe(201);
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
