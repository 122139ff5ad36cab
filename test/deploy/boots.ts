// Servers that boot and are deleted, one after the other, while something happens to the stack.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { demoHostname } from '#local/demo/demo-host.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { password } from '#local/openstack/keystone/catalog.ts';
import { urlOf } from '#local/process/layout.ts';
import type { Stage } from './stage.ts';

const profile = 'boots';
const parallel = 2;

interface Arq {
  readonly uuid: string;
  readonly state: string;
}

/** Makes their device profile, once. */
export async function prepareBoots({ api }: Stage): Promise<void> {
  const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
  await api.post('/device_profiles', 'admin-token', [{ name: profile, groups }]);
}

/**
 * Boots servers until the work ends, and at least one after it.
 *
 * @returns how many have booted
 * @throws Error of the work, or of the first call of Nova's that fails
 */
export async function bootDuring(stage: Stage, work: () => Promise<unknown>): Promise<number> {
  const { deployables } = await stage.api.get<{
    deployables: { name: string; rp_uuid: string }[];
  }>('/deployables', 'manager-token');
  const provider = deployables.find(({ name }) => name === `${demoHostname}_FakeDevice`)?.rp_uuid;
  assert.ok(provider, 'The demo host has no FPGA.');
  let booted = 0;
  let isOver = false;
  const boots = Array.from({ length: parallel }, async () => {
    for (let isLast = false; !isLast; ) {
      isLast = isOver;
      await bootAndDelete(stage, provider);
      booted += 1;
      noteProgress();
    }
  });
  const done = Promise.allSettled(boots);
  try {
    await work();
  } finally {
    isOver = true;
    await done;
  }
  await Promise.all(boots);
  return booted;
}

/**
 * Nova's calls, in their order, with a token that no function has seen: so the functions ask
 * Keystone, with a token of their own.
 */
async function bootAndDelete({ api, layout }: Stage, provider: string): Promise<void> {
  const instance = randomUUID();
  const token = await freshToken(`${urlOf(layout, 'keystone')}/v3`);
  const { arqs } = await api.post<{ arqs: Arq[] }>('/accelerator_requests', token, {
    device_profile_name: profile,
  });
  const target = { hostname: demoHostname, device_rp_uuid: provider, instance_uuid: instance };
  const patch = Object.entries(target).map(([name, value]) => {
    return { op: 'add', path: `/${name}`, value };
  });
  const body = Object.fromEntries(arqs.map(({ uuid }) => [uuid, patch]));
  await api.patch('/accelerator_requests', token, body);
  const listed = await api.get<{ arqs: Arq[] }>(
    `/accelerator_requests?instance=${instance}&bind_state=resolved`,
    token,
  );
  assert.deepEqual(
    listed.arqs.map(({ state }) => state),
    ['Bound'],
  );
  await api.delete(`/accelerator_requests?instance=${instance}`, token);
}

async function freshToken(keystone: string): Promise<string> {
  const domain = { name: 'Default' };
  const user = { name: 'demo', domain, password };
  const response = await fetch(`${keystone}/auth/tokens`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      auth: {
        identity: { methods: ['password'], password: { user } },
        scope: { project: { name: 'demo', domain } },
      },
    }),
  });
  assert.equal(response.status, 201);
  return response.headers.get('x-subject-token') ?? '';
}
