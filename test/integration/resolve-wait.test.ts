// The list of an instance's ARQs that nova-compute asks for just before it waits for events.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  bind,
  bootAfresh,
  end,
  remove,
  startBindOf,
  startVgpuHostWith,
  stateOf,
  world,
} from '#test/support/vgpu-host.ts';

beforeAll(() => startVgpuHostWith({ CYBORG_RESOLVE_WAIT_SECONDS: '25' }));
afterAll(() => world.stop());
beforeEach(bootAfresh);

const listOf = (instance: string, more = '') =>
  world.ask('GET', `/v2/accelerator_requests?instance=${instance}${more}`, { token: 'demo-token' });

it('waits for Nova until the bind is Bound', async () => {
  const { instance } = await bind();
  const listed = stateOf(instance);
  await startBindOf(instance);
  await end('bind');
  expect(await listed).toBe('Bound');
});

it('waits for Nova until the bind has failed, and is a 409 then', async () => {
  const { instance } = await bind();
  const listed = stateOf(instance);
  await startBindOf(instance);
  await end('bind', 'failed', { reason: 'no space left' });
  expect(await listed).toBe(409);
});

it('waits for any caller that asks for resolved ARQs', async () => {
  const { instance } = await bind();
  const listed = listOf(instance, '&bind_state=resolved');
  await startBindOf(instance);
  await end('bind');
  const { status, json } = await listed;
  expect([status, json.arqs[0].state]).toEqual([200, 'Bound']);
});

it('ends its wait when the ARQs are deleted meanwhile', async () => {
  const { instance } = await bind();
  const listed = listOf(instance, '&bind_state=resolved');
  await remove(instance);
  expect((await listed).json.arqs).toEqual([]);
});

it('shows a bind on its way to a caller without a service token at once', async () => {
  const { instance } = await bind();
  expect((await listOf(instance)).json.arqs[0].state).toBe('BindStarted');
});
