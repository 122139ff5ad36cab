// An agent without the list of what it offered, because it has lost its state or is new: the
// control plane says which cards sat at the addresses before.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type OfferedBefore, openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { discoverWith } from '#test/support/hosts/own-driver.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const at = '0000:41:00.0';
const ssd = { vendor: '144d', product: 'a80a', subsystem: '144d:aa0a', classCode: '010802' };
const gpuCard = { identity: '10de:26b9 030200 10de:1851', since: '2026-11-01T00:00:00.000Z' };
const entry = { address: at, device_type: 'SSD', bind_to: 'vfio-pci' };
const waits = expect.stringContaining(`${at} waits for the control plane to say which card was`);

const host = perTest(aGuardedHost);
const open = () => openOfferedBefore(openStateFiles(join(host.proc.root, 'state')), host.log);

/** What an agent of this process plans, and offers. */
async function look(entries: readonly object[], offeredBefore: OfferedBefore) {
  const guards = await host.guards(undefined, { offeredBefore, hasCloud: true });
  return await discoverWith(host, 'pci', { allow_list: entries }, { guards });
}

describe('a device on its driver', () => {
  it('stays there until the control plane has answered, over restarts', async () => {
    host.tree.addFunction({ address: at, ...ssd, driver: 'nvme' });
    const first = await open();
    expect((await look([entry], first)).plan).toEqual([waits]);
    const second = await open();
    expect([first.asksCards(), second.asksCards()]).toEqual([true, true]);
    expect((await look([entry], second)).plan).toEqual([waits]);
    await second.learnCards(new Map());
    expect((await look([entry], second)).plan).toEqual(['bind vfio-pci']);
    expect((await open()).asksCards()).toBe(false);
    expect((await look([entry], await open())).plan).toEqual(['bind vfio-pci']);
  });

  it('stays there for good if another card was offered at its address', async () => {
    host.tree.addFunction({ address: at, ...ssd, driver: 'nvme' });
    const offeredBefore = await open();
    await look([entry], offeredBefore);
    await offeredBefore.learnCards(new Map([[at, gpuCard]]));
    for (const each of [offeredBefore, await open()]) {
      const { offered, plan } = await look([entry], each);
      expect(offered).toEqual([]);
      expect(plan).toEqual([
        expect.stringContaining('is 144d:a80a of class 010802, and 10de:26b9 was offered here'),
      ]);
    }
  });

  it('stays there as a member of a pool, too', async () => {
    host.tree.addFunction({ address: at, ...ssd, driver: 'nvme' });
    const member = { ...entry, pool: 'ssds', resource_class: 'CUSTOM_SSD' };
    const offeredBefore = await open();
    expect((await look([member], offeredBefore)).plan).toEqual([waits]);
    await offeredBefore.learnCards(new Map([[at, gpuCard]]));
    const { offered, plan, reasons } = await look([member], offeredBefore);
    const refusal = expect.stringContaining('10de:26b9 was offered here');
    expect([offered, plan, reasons]).toEqual([[], [refusal], { [at]: refusal }]);
  });

  it.each([
    ['its entry names ids', { driver: 'nvme' }, { vendor_id: '144d', product_id: 'a80a' }, true],
    ['no driver has it', { driver: undefined }, {}, true],
    ['its agent has no control plane', { driver: 'nvme' }, {}, false],
  ])('is bound at once: %s', async (_why, fields, more, hasCloud) => {
    host.tree.addFunction({ address: at, ...ssd, ...fields });
    const guards = await host.guards(undefined, { offeredBefore: await open(), hasCloud });
    const settings = { allow_list: [{ ...entry, ...more }] };
    const { plan } = await discoverWith(host, 'pci', settings, { guards });
    expect(plan).toEqual(['bind vfio-pci']);
  });

  it('gets no virtual functions either', async () => {
    const nic = { vendor: '8086', product: '1572', classCode: '020000', driver: 'i40e' };
    host.tree.addFunction({ address: at, ...nic, sriovTotalvfs: 4 });
    host.tree.write(`${host.tree.pathOf(at)}/sriov_vf_device`, '154c\n');
    const allow = { address: at, virtual_functions: 2, device_type: 'NIC' };
    const { plan } = await look([allow], await open());
    expect(plan).toEqual([expect.stringContaining('waits for the control plane')]);
  });

  it('keeps asking where the answer could not be written', async () => {
    const files = openStateFiles(join(host.proc.root, 'state'));
    const full = { ...files, replace: () => Promise.reject(new Error('ENOSPC')) };
    const offeredBefore = await openOfferedBefore(full, host.log);
    await expect(offeredBefore.learnCards(new Map())).rejects.toThrow('ENOSPC');
    expect(offeredBefore.asksCards()).toBe(true);
  });
});

describe('an answer beside drivers that look', () => {
  it('is on disk with what they store, and its card stays', async () => {
    const offeredBefore = await open();
    const other = { ...gpuCard, identity: '144d:a80a 010802 144d:aa0a' };
    await Promise.all([
      offeredBefore.replace('nvme', [at, '0000:42:00.0']),
      offeredBefore.learnCards(new Map([[at, gpuCard]])),
      offeredBefore.keepCards(new Map([[at, { before: undefined, card: other }]])),
      offeredBefore.replace('pci', []),
      offeredBefore.replace('nic', ['0000:43:00.0']),
    ]);
    for (const each of [offeredBefore, await open()]) {
      expect(each.cardAt(at)).toEqual(gpuCard);
      expect(each.asksCards()).toBe(false);
      expect([each.has('0000:42:00.0'), each.has('0000:43:00.0')]).toEqual([true, true]);
    }
  });
});
