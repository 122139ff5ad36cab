// Virtual functions with a type of vGPU beside servers that libvirt knows, running or stopped.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createNvidiaDriver } from '#agent/drivers/nvidia/index.ts';
import { nvidiaSettings } from '#agent/drivers/nvidia/settings.ts';
import { setUp } from '#agent/process/set-up.ts';
import { VendorVgpuKernel } from '#test/drivers/nvidia/kernel.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const card = '0000:41:00.0';
const other = '0000:42:00.0';
const [first, second] = ['0000:41:00.1', '0000:41:00.2'] as const;
const types = { 1147: ['NVIDIA L40S-2Q', 2] } as const;
const belongs = 'belongs to a server: the domain instance-0000001f of libvirt has it';

const host = perTest(aGuardedHost);
let kernel: VendorVgpuKernel;
const directory = directoryPerTest();
let bootId: string;

beforeEach(() => {
  kernel = new VendorVgpuKernel(host.tree);
  bootId = 'boot-1';
  kernel.addCard(card, { memory: 4, types }, 4);
  kernel.enable(card);
});

/** Starts the agent: set-up and discovery. */
async function start(of = card) {
  const cards = [{ addresses: of, vgpu_type: 'nvidia-1147' }];
  const hardware = { ...host.hardware, ...kernel.hardware() };
  const context = await host.context({ directory, bootId, hardware });
  const settings = nvidiaSettings.parse({ cards, attach_unmanaged: true });
  const driver = createNvidiaDriver(settings, context);
  const { left } = await setUp(driver, host.log);
  const { devices, notOffered = [] } = await driver.discover();
  const handles = devices[of]?.offers?.attach_handles ?? [];
  return {
    left,
    reasons: notOffered.map(({ reason }) => reason),
    offered: handles.map(({ info }) => `0000:${info.bus}:${info.device}.${info.function}`),
  };
}

it('a card that is new to the agent is left to a server that has a function of it', async () => {
  host.domains.define('instance-0000001f', [second]);
  const reason = `has the virtual function ${second}, which ${belongs}`;
  const { left, ...found } = await start();
  expect(found).toEqual({ offered: [], reasons: [reason] });
  expect(left).toEqual([expect.stringContaining(`${card} ${reason}`)]);
  expect(kernel.types()).toEqual({});
  host.domains.undefine('instance-0000001f');
  expect(await start()).toEqual({ left: [], offered: [first, second], reasons: [] });
});

it('a card that is new to the agent waits for definitions that can be read', async () => {
  host.domains.write('a.xml', '<domain>');
  const unknown = "may be in use: libvirt's definition a.xml ends within domain";
  const { reasons, offered } = await start();
  expect(reasons).toEqual([`has the virtual function ${first}, which ${unknown}`]);
  expect(offered).toEqual([]);
  expect(kernel.types()).toEqual({});
});

it('functions that were offered before have their type again after a boot', async () => {
  const before = await start();
  expect(before.offered).toEqual([first, second]);
  // Guests of this service, and a definition that cannot be read.
  host.domains.define('instance-00000020', [first, second]).write('a.xml', '<domain>');
  kernel.boot();
  bootId = 'boot-2';
  expect(await start()).toEqual(before);
  expect(kernel.types()).toEqual({ [first]: '1147', [second]: '1147' });
});

it('of a card that was offered before, the function of a server alone is left out', async () => {
  kernel.addCard(other, { memory: 8, types }, 4);
  kernel.enable(other);
  const functions = [1, 2, 3, 4].map((number) => `0000:42:00.${number}`);
  const [own = '', ...rest] = functions;
  const offered = { [own]: { card: other, type: 'nvidia-1147' } };
  const kept = { boot_id: 'boot-0', types: {}, names: {}, offered };
  writeFileSync(join(directory, 'vgpu-types.json'), JSON.stringify(kept));
  host.domains.define('instance-0000001f', ['0000:42:00.3']);
  const left = functions.filter((address) => address !== '0000:42:00.3');
  expect(await start(other)).toEqual({ left: [], offered: left, reasons: [] });
  expect(kernel.types()).not.toHaveProperty('0000:42:00.3');
  host.domains.undefine('instance-0000001f');
  expect((await start(other)).offered).toEqual([own, ...rest]);
});
