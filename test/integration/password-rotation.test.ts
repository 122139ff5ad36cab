// The service user's password is rotated in Secrets Manager and Keystone while servers boot and
// are deleted; see docs/adr/0031-password-rotation.md.

import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { password as first, idOf } from '#local/openstack/keystone/catalog.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { serveSecret } from '#test/support/http-server.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

/** The versions of the secret by their stages, as in Secrets Manager. */
const secret: Record<string, string> = { AWSCURRENT: first };
let reads = 0;
const secrets = perFile(() =>
  serveSecret((stage) => {
    reads += 1;
    return secret[stage];
  }),
);

const world = perFile(() =>
  startWorld({
    consumers: true,
    settings: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
      CYBORG_OS_PASSWORD: '',
      CYBORG_OS_PASSWORD_SECRET: 'cyborg/keystone-password',
    },
  }),
);

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [aDevice({ handles: 64 })]);
  const { status, text } = await world.createProfile('fpga', { 'resources:FPGA': '1' });
  expect([status, text]).toEqual([201, expect.any(String)]);
});

/** A token that no function has seen, so that it is validated by our own. */
async function freshToken(name: string): Promise<string> {
  const domain = { name: 'Default' };
  const user = { name, domain, password: first };
  const response = await fetch(`${world.urls.keystone}/auth/tokens`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      auth: {
        identity: { methods: ['password'], password: { user } },
        scope: { project: { name: name === 'nova' ? 'service' : 'demo', domain } },
      },
    }),
  });
  expect(response.status).toBe(201);
  return response.headers.get('x-subject-token') ?? '';
}

const statuses: number[] = [];

async function bootAndDelete(): Promise<void> {
  const instance = crypto.randomUUID();
  const ask = async (method: string, path: string, body?: unknown) => {
    const [token, serviceToken] = [await freshToken('demo'), await freshToken('nova')];
    const answer = await world.ask(method, path, { token, serviceToken, body });
    statuses.push(answer.status);
    return answer;
  };
  const { json } = await ask('POST', '/v2/accelerator_requests', { device_profile_name: 'fpga' });
  const patch = bindPatch({
    hostname: 'cmp1',
    device_rp_uuid: providerUuid('cmp1_FakeDevice'),
    instance_uuid: instance,
  });
  await ask('PATCH', '/v2/accelerator_requests', { [json.arqs[0].uuid]: patch });
  const listed = await ask('GET', `/v2/accelerator_requests?instance=${instance}`);
  expect(listed.json.arqs[0].state).toBe('Bound');
  await ask('DELETE', `/v2/accelerator_requests?instance=${instance}`);
}

async function rotate(next: string): Promise<void> {
  const original = secret.AWSCURRENT ?? '';
  secret.AWSPENDING = next;
  const changed = await fetch(`${world.urls.keystone}/users/${idOf('user', 'cyborg')}/password`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user: { password: next, original_password: original } }),
  });
  expect(changed.status).toBe(204);
  // Servers boot between the two steps of the operator, too.
  await bootAndDelete();
  secret.AWSCURRENT = next;
  delete secret.AWSPENDING;
}

it('loses no bind while servers boot', async () => {
  await bootAndDelete();
  expect(statuses).toEqual([201, 202, 200, 204]);
  let isRotating = true;
  const boots = Array.from({ length: 3 }, async () => {
    while (isRotating) await bootAndDelete();
  });
  const rotations = async () => {
    for (const next of ['second', 'third']) await rotate(next);
  };
  await rotations().finally(() => {
    isRotating = false;
    return Promise.allSettled(boots);
  });
  await Promise.all(boots);
  expect(statuses.length).toBeGreaterThan(20);
  expect([...new Set(statuses)].sort()).toEqual([200, 201, 202, 204]);
  // The services that consumers speak to know the last password, too.
  await eventually(() =>
    world.deps.clients.placement.getProvider(providerUuid('cmp1_FakeDevice')),
  ).toBeDefined();
});

it('reads the secret as often as it is needed, not at each request', () => {
  expect(reads).toBeLessThan(statuses.length / 2);
});

it('is an outage without a next version, until the secret has it', async () => {
  const keystone = `${world.urls.keystone}/users/${idOf('user', 'cyborg')}/password`;
  await fetch(keystone, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user: { password: 'unknown', original_password: 'third' } }),
  });
  const ask = { token: await freshToken('demo') };
  const { status, text } = await world.ask('GET', '/v2/device_profiles', ask);
  expect([status, text]).toEqual([503, expect.stringContaining('identity cannot be asked')]);
  expect(text).not.toContain('third');
});
