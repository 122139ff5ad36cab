import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { confirmAddress } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import type { SysfsTree } from '#local/demo/sysfs-tree.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const [at, elsewhere] = ['0000:41:00.0', '0000:42:00.0'];
const gpu = { vendor: '10de', product: '26b9', subsystem: '10de:1851', classCode: '030200' };
const ssd = { vendor: '144d', product: 'a80a', subsystem: '144d:aa0a', classCode: '010802' };
const entry = { address: at, resource_class: 'PGPU', bind_to: 'vfio-pci' };
const reason = 'is 144d:a80a of class 010802, and 10de:26b9 was offered here';

const host = perTest(aGuardedHost);
type Fields = Partial<Parameters<SysfsTree['addFunction']>[0]>;

function place(fields: Fields, address = at): void {
  if (host.sysfs.list(`bus/pci/devices/${address}`)) host.tree.removeFunction(address);
  host.tree.addFunction({ address, driver: 'vfio-pci', ...fields });
}

/** What a new agent offers with these entries, why not, and what it would change. */
async function look(entries: readonly object[]) {
  const driver = await host.pciDriver(entries);
  const plan = await driver.plan?.();
  const { devices, notOffered = [] } = await driver.discover();
  return {
    offered: Object.keys(devices),
    reasons: Object.fromEntries(notOffered.map((each) => [each.address, each.reason])),
    plan: (plan ?? []).map((each) => ('refusal' in each ? each.refusal : `bind ${each.after}`)),
  };
}

/** A PCI Express capability with a Device Serial Number. */
function withSerial(number: number): Buffer {
  const config = Buffer.alloc(4096);
  config.writeUInt16LE(0x10de, 0);
  config.writeUInt16LE(0x26b9, 2);
  config.writeUInt32LE(0x00010003, 0x100);
  config.writeUInt32LE(number, 0x104);
  config.writeUInt32LE(0x00112233, 0x108);
  return config;
}

beforeEach(async () => {
  place(gpu);
  expect((await look([entry])).offered).toEqual([at]);
});

describe('a card at an address that the settings name', () => {
  it.each([
    ['by the address alone', {}],
    ['with a type', { device_type: 'GPU' }],
    ['with a pattern', { address: '*:41:00.*' }],
    ['with a vendor that may be any', { vendor_id: '*', product_id: '*' }],
  ])('is neither offered nor bound if another one was offered there: %s', async (_how, more) => {
    place({ ...ssd, driver: 'nvme' });
    place(gpu, elsewhere);
    const { offered, reasons, plan } = await look([{ ...entry, ...more }]);
    expect(offered).toEqual([]);
    expect(reasons[at]).toContain(reason);
    expect(plan).toEqual([expect.stringContaining(`${at} ${reason}`)]);
  });

  it('is refused at the moment of the change, too', async () => {
    place({ ...gpu, driver: undefined });
    const driver = await host.pciDriver([entry]);
    const [change] = (await driver.plan?.()) ?? [];
    place({ ...ssd, driver: 'nvme' });
    expect(change && 'apply' in change).toBe(true);
    if (change && 'apply' in change) await expect(change.apply()).rejects.toThrow(reason);
  });

  it.each([
    [
      'class',
      { classCode: '030000' },
      'is 10de:26b9 of class 030000, subsystem 10de:1851, and 10de:26b9 of class 030200',
    ],
    [
      'subsystem',
      { subsystem: '10de:9999' },
      'subsystem 10de:9999, and 10de:26b9 of class 030200, subsystem 10de:1851, was offered here',
    ],
  ])('of the same model is another one by its %s', async (_what, fields, text) => {
    place({ ...gpu, ...fields });
    expect((await look([entry])).reasons[at]).toContain(text);
  });

  it('of the same model is another one by its serial number', async () => {
    place({ ...gpu, config: withSerial(1) });
    expect((await look([entry])).offered).toEqual([at]);
    // A number that cannot be read for a moment is no other one.
    place(gpu);
    expect((await look([entry])).offered).toEqual([at]);
    place({ ...gpu, config: withSerial(2) });
    expect((await look([entry])).reasons[at]).toMatch(
      /^has the serial number \S+, and the one with \S+ was offered here: confirm it/,
    );
    const ids = { vendor_id: '10de', product_id: '26b9' };
    expect((await look([{ ...entry, ...ids }])).offered).toEqual([at]);
  });

  it('is offered when the entry names its ids', async () => {
    place({ ...ssd, driver: 'nvme' });
    const named = { ...entry, vendor_id: '144d', product_id: 'a80a' };
    const { offered, plan } = await look([named]);
    expect([offered, plan]).toEqual([[at], ['bind vfio-pci']]);
    // The old card is another one now.
    place(gpu);
    expect((await look([entry])).offered).toEqual([]);
  });

  it('is offered when an operator confirms what is there, and nothing else', async () => {
    place({ ...ssd, driver: 'nvme' });
    const files = openStateFiles(join(host.proc.root, 'state'));
    const now = new Date(Date.now() + 1_000).toISOString();
    const confirmed = (identity: string) =>
      confirmAddress(files, silentLog, at, { at: now, identity });
    await confirmed('10de:26b9 030200 10de:1851');
    expect((await look([entry])).offered).toEqual([]);
    await confirmed('144d:a80a 010802 144d:aa0a');
    expect((await look([entry])).offered).toEqual([at]);
    place(gpu);
    expect((await look([entry])).reasons[at]).toContain('and 144d:a80a was offered here');
  });

  it('is not let in by a confirmation that let in the card before', async () => {
    place({ ...gpu, config: withSerial(1) });
    await look([entry]);
    const files = openStateFiles(join(host.proc.root, 'state'));
    const now = new Date(Date.now() + 1_000).toISOString();
    await confirmAddress(files, silentLog, at, { at: now, identity: '10de:26b9 030200 10de:1851' });
    expect((await look([entry])).offered).toEqual([at]);
    place({ ...gpu, config: withSerial(2) });
    expect((await look([entry])).offered).toEqual([]);
  });

  it('is refused while confirmations cannot be read, and each agent says so once', async () => {
    mkdirSync(join(host.proc.root, 'state/confirmations.json'));
    const lines = () => host.log.lines.filter(({ message }) => message.includes('Confirmations'));
    expect((await look([entry])).offered).toEqual([at]);
    place({ ...ssd, driver: 'nvme' });
    expect((await look([entry])).reasons[at]).toContain(reason);
    const line = { message: 'Confirmations not read', reason: expect.stringContaining('EISDIR') };
    expect(lines()).toMatchObject([line, line]);
  });

  it('stays what it was over boots at which it is away, or in need of another entry', async () => {
    host.tree.removeFunction(at);
    expect((await look([entry])).offered).toEqual([]);
    place({ ...ssd, driver: 'nvme' });
    expect((await look([entry])).reasons[at]).toContain(reason);
    place(gpu);
    expect((await look([entry])).offered).toEqual([at]);
  });

  it('has virtual functions made only if it is the one that was offered', async () => {
    place({ ...ssd, driver: 'nvme', sriovTotalvfs: 4 });
    host.tree.write(`${host.tree.pathOf(at)}/sriov_vf_device`, 'a80b\n');
    const { plan } = await look([{ address: at, virtual_functions: 2 }]);
    expect(plan).toEqual([expect.stringContaining(reason)]);
  });
});

describe('drivers that name cards by addresses', () => {
  const other = { vendor: '8086', product: '0b60', classCode: '010802', subsystem: '8086:0001' };
  const driverOf = (name: string) => {
    const module = ownDrivers.find((each) => each.name === name);
    if (!module) throw new Error(name);
    return module;
  };

  it.each([
    ['nvme', { devices: [at], clean: 'none', data_may_stay: true }, ssd, other],
    [
      'nic',
      { cards: [{ addresses: [at], virtual_functions: false, clean: 'none' }] },
      { vendor: '15b3', product: '1021', classCode: '020000' },
      { vendor: '8086', product: '1592', classCode: '020000' },
    ],
    [
      'qat',
      { cards: [{ addresses: [at], virtual_functions: false }] },
      { vendor: '8086', product: '4940', classCode: '0b4000' },
      { vendor: '8086', product: '4944', classCode: '0b4000' },
    ],
    [
      'ai_chip',
      { devices: [{ addresses: [at] }] },
      { vendor: '1da3', product: '1020', classCode: '120000' },
      { vendor: '1da3', product: '1060', classCode: '120000' },
    ],
    [
      'nvidia_gpu',
      { cards: [{ addresses: [at] }] },
      gpu,
      { vendor: '10de', product: '2330', classCode: '030200' },
    ],
  ])('%s does not offer another card of its kind', async (name, settings, before, after) => {
    // At an address where nothing was offered before.
    const address = elsewhere;
    const given = JSON.parse(JSON.stringify(settings).replaceAll(at, address)) as unknown;
    const discover = async () => {
      const configured = driverOf(name).configure(given);
      if ('faults' in configured) throw new Error(JSON.stringify(configured.faults));
      const { devices, notOffered } = await configured.create(await host.context()).discover();
      return { devices: Object.keys(devices), notOffered };
    };
    place(before, address);
    expect(await discover()).toMatchObject({ devices: [address] });
    place(after, address);
    expect(await discover()).toMatchObject({
      devices: [],
      notOffered: [{ address, reason: expect.stringContaining('was offered here: confirm it by') }],
    });
  });
});
