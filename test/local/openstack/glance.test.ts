import { expect, it } from 'vitest';
import { startGlance } from '#local/openstack/glance.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';

const loopback = { host: '127.0.0.1', port: 0 };

it('shows its versions without a token, and refuses everything else', async () => {
  const keystone = await startKeystone(loopback);
  const glance = await startGlance({ ...loopback, keystoneUrl: keystone.url });
  try {
    for (const [path, status] of [
      ['/', 300],
      ['/versions', 200],
    ] as const) {
      const answer = await fetch(`${glance.url}${path}`);
      expect([answer.status, await answer.json()]).toMatchObject([
        status,
        { versions: [{ status: 'CURRENT', links: [{ rel: 'self', href: `${glance.url}/v2/` }] }] },
      ]);
    }
    expect((await fetch(`${glance.url}/v2/images`)).status).toBe(401);
  } finally {
    await glance.stop();
    await keystone.stop();
  }
});
