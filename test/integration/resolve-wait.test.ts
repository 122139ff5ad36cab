// The list of an instance's ARQs that nova-compute asks for just before it waits for events.

import { beforeEach, expect, it } from 'vitest';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(() => startVgpuHost({ CYBORG_RESOLVE_WAIT_SECONDS: '25' }));

beforeEach(() => cmp1.bootAfresh());

const listOf = (instance: string, more = '') =>
  cmp1.world.ask('GET', `/v2/accelerator_requests?instance=${instance}${more}`, {
    token: 'demo-token',
  });

it('waits for Nova until the bind is Bound, so that Nova needs no event', async () => {
  const { instance } = await cmp1.bind();
  const listed = cmp1.listedForNova(instance);
  await cmp1.startBindOf(instance);
  await cmp1.end('bind');
  expect(await listed).toBe('Bound');
  expect((await cmp1.deps.store.arqs.binding(instance))?.isAwaited).toBe(false);
  expect(await cmp1.deps.store.bindings.awaitEvent(instance as InstanceUuid)).toBe(false);
});

it('waits for Nova until the bind has failed, and then returns 409', async () => {
  const { instance } = await cmp1.bind();
  const listed = cmp1.listedForNova(instance);
  await cmp1.startBindOf(instance);
  await cmp1.end('bind', 'failed', { reason: 'no space left' });
  expect(await listed).toBe(409);
});

it('waits for any caller that asks for resolved ARQs', async () => {
  const { instance } = await cmp1.bind();
  const listed = listOf(instance, '&bind_state=resolved');
  await cmp1.startBindOf(instance);
  await cmp1.end('bind');
  const { status, json } = await listed;
  expect([status, json.arqs[0].state]).toEqual([200, 'Bound']);
});

it('stops waiting when the ARQs are deleted', async () => {
  const { instance } = await cmp1.bind();
  const listed = listOf(instance, '&bind_state=resolved');
  await cmp1.remove(instance);
  expect((await listed).json.arqs).toEqual([]);
});

it('shows a started bind at once to a caller without a service token', async () => {
  const { instance } = await cmp1.bind();
  expect((await listOf(instance)).json.arqs[0].state).toBe('BindStarted');
});

it('notes whether a caller may wait for the event', async () => {
  const { instance } = await cmp1.bind();
  const isAwaited = async () => (await cmp1.deps.store.arqs.binding(instance))?.isAwaited;
  expect(await isAwaited()).toBe(false);
  await listOf(instance);
  expect(await isAwaited()).toBe(true);
});

it('waits for Nova until a rebooted host has the device again', async () => {
  const { instance } = await cmp1.bound();
  await cmp1.boot();
  const listed = cmp1.listedForNova(instance);
  expect(await cmp1.stateOf(instance)).toBe('provisioning');
  await cmp1.end('reprovision');
  expect(await listed).toBe('Bound');
});

it('waits for Nova until the agent of a lost connection is back', async () => {
  const { instance } = await cmp1.bound();
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  // Later than the report and the bind, by more than a report may take.
  await cmp1.setPresence({ isConnected: false, version: 8, at: at(20) });
  const listed = cmp1.listedForNova(instance);
  expect(await cmp1.stateOf(instance)).toBe('unknown');
  await cmp1.setPresence({ isConnected: true, version: 9, at: at(21) });
  expect(await cmp1.stateOf(instance)).toBe('unknown');
  await cmp1.report(undefined, {}, cmp1.deps, 22_000);
  expect(await listed).toBe('Bound');
});
