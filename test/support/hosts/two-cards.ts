// A host with two GPUs, and servers with a vGPU of each.

import { expect } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { instanceOf } from '#test/support/builders.ts';
import { gpu, provider, type VgpuHost } from './vgpu-host.ts';

export const secondCard = { ...gpu, address: '0000:0f:00.0' };
export const secondProvider = providerUuid('cmp1_0000:0f:00.0_fake-1');

/** The release that a handle of the card waits for. */
export async function releaseOn(
  host: VgpuHost,
  uuid: typeof provider,
): Promise<string | undefined> {
  const stored = await host.deps.store.inventory.provider(uuid);
  return stored?.handles.find(({ release }) => release)?.release;
}

/** @returns the instance */
export async function bindOnBothCards(host: VgpuHost): Promise<string> {
  const group = { 'resources:VGPU': '1' };
  await host.world.createProfile('pair', group, group);
  const arqs = await host.world.createArqs('pair');
  host.counts.instances += 1;
  const instance = instanceOf(host.counts.instances);
  const target = { hostname: 'cmp1', instance_uuid: instance };
  const patch = Object.fromEntries(
    [provider, secondProvider].map((card, index) => [
      arqs[index],
      bindPatch({ ...target, device_rp_uuid: card }),
    ]),
  );
  const { status } = await host.world.asNova('PATCH', '/v2/accelerator_requests', patch);
  expect(status).toBe(202);
  await host.startBindOf(instance);
  await host.end('bind');
  expect(await host.stateOf(instance)).toBe('Bound');
  return instance;
}
