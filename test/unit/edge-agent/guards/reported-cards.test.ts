// The card at a device's address, as the report has it, also for drivers that do not ask the
// guards about theirs.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { DescribedDevice, Driver } from '#agent/drivers/contract/driver.ts';
import { createDescribeCards } from '#agent/process/describe-cards.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { confirmAddress, openConfirmations } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { aDevice } from '#test/support/reports.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const at = '0000:41:00.0';
const gpu = { vendor: '10de', product: '26b9', subsystem: '10de:1851', classCode: '030200' };
const ssd = { vendor: '144d', product: 'a80a', subsystem: '144d:aa0a', classCode: '010802' };
const host = perTest(aGuardedHost);
const state = () => join(host.proc.root, 'state');
const files = () => openStateFiles(state());

function place(fields: typeof gpu, driver = 'nvidia'): void {
  if (host.sysfs.list(`bus/pci/devices/${at}`)) host.tree.removeFunction(at);
  host.tree.addFunction({ address: at, driver, ...fields });
}

/** A driver of cards that stay on a vendor's driver of the host. */
function vendorDriver(given: Partial<DescribedDevice> = {}): Driver {
  const device = () => {
    const [vendor = '', product = ''] =
      host.sysfs
        .readAttribute(`bus/pci/devices/${at}/uevent`)
        ?.match(/PCI_ID=(.*)/)?.[1]
        ?.toLowerCase()
        .split(':') ?? [];
    return aDevice({ address: at, driver: 'vendor', provider_suffix: undefined, vendor, product });
  };
  return {
    name: 'vendor',
    discover: async () => ({ devices: { [at]: { ...device(), ...given } } }),
  };
}

/** What an agent finds that has just started. */
async function discoverAs(driver: Driver) {
  const confirmations = openConfirmations(files(), silentLog);
  const guards = await host.guards();
  const discover = createDiscovery({
    drivers: [driver],
    describeCards: createDescribeCards({ sysfs: host.sysfs, guards, confirmations }),
    clock: systemClock,
    log: silentLog,
  });
  return await discover();
}

async function find(driver: Driver) {
  const { devices, notOffered } = await discoverAs(driver);
  return {
    cards: devices.map(({ device }) => device.card),
    reasons: notOffered.map(({ reason }) => reason),
    digests: devices.map(({ digest }) => digest),
  };
}

const gpuCard = { identity: '10de:26b9 030200 10de:1851', since: expect.any(String) };
const ssdIdentity = '144d:a80a 010802 144d:aa0a';
const refusal = expect.stringMatching(/^is 144d:a80a of class 010802, and 10de:26b9 was offered/);

beforeEach(() => place(gpu));

describe('the card of a device', () => {
  it('is reported alike by each agent of the host, and refused if it is another one', async () => {
    const first = await find(vendorDriver());
    expect(first).toMatchObject({ cards: [gpuCard], reasons: [] });
    expect(await find(vendorDriver())).toEqual(first);
    place(ssd);
    expect(await find(vendorDriver())).toEqual({ cards: [], reasons: [refusal], digests: [] });
    place(gpu);
    expect(await find(vendorDriver())).toEqual(first);
  });

  it('is reported with its confirmation, also by an agent without state', async () => {
    await find(vendorDriver());
    place(ssd);
    const confirmed_at = new Date(Date.now() + 1_000).toISOString();
    await confirmAddress(files(), silentLog, at, { at: confirmed_at, identity: ssdIdentity });
    const confirmed = { identity: ssdIdentity, confirmed_at };
    expect((await find(vendorDriver())).cards).toMatchObject([confirmed]);
    rmSync(join(state(), 'offered.json'));
    expect((await find(vendorDriver())).cards).toMatchObject([confirmed]);
    // A confirmation of another card is none of this one.
    await confirmAddress(files(), silentLog, at, { at: confirmed_at, identity: gpuCard.identity });
    expect((await find(vendorDriver())).cards).toEqual([
      { identity: ssdIdentity, since: expect.any(String) },
    ]);
  });

  it('is named by its ids, or by a component that the agent writes', async () => {
    const components = [{ name: 'shell', version: '1' }];
    expect((await find(vendorDriver({ components }))).cards).toMatchObject([{ is_named: true }]);
    place(ssd);
    expect((await find(vendorDriver({ components }))).reasons).toEqual([]);
    const entry = { address: at, vendor_id: '144d', product_id: 'a80a' };
    host.tree.removeFunction(at);
    host.tree.addFunction({ address: at, driver: 'vfio-pci', ...ssd });
    const named = await host.pciDriver([{ ...entry, resource_class: 'CUSTOM_SSD' }]);
    expect((await find(named)).cards).toMatchObject([{ identity: ssdIdentity, is_named: true }]);
    const unnamed = await host.pciDriver([{ address: at, resource_class: 'CUSTOM_SSD' }]);
    await unnamed.discover();
    const since = expect.any(String);
    expect((await find(unnamed)).cards).toEqual([{ identity: ssdIdentity, since }]);
  });

  it('is absent if the function at the address is of another vendor', async () => {
    expect((await find(vendorDriver({ vendor: '0xABCD' }))).cards).toEqual([undefined]);
  });

  it('is not offered for the first time while that cannot be noted', async () => {
    mkdirSync(join(state(), 'offered.json.new'), { recursive: true });
    expect(await find(vendorDriver())).toMatchObject({
      cards: [],
      reasons: [expect.stringMatching(/^could not be noted as offered: EISDIR/)],
    });
    rmSync(join(state(), 'offered.json.new'), { recursive: true });
    const known = await find(vendorDriver());
    mkdirSync(join(state(), 'offered.json.new'));
    expect(await find(vendorDriver())).toEqual(known);
  });
});

describe('the cards of a pool', () => {
  const next = '0000:42:00.0';
  const virtual = '0000:42:00.4';
  const find = async (entries: readonly object[]) => {
    const pci = await host.pciDriver(entries.map((each) => ({ ...each, pool: 'gpus' })));
    await pci.discover();
    return (await discoverAs(pci)).devices.map(({ device: { address, card, unit_cards } }) => ({
      address,
      card,
      units: Object.keys(unit_cards ?? {}),
      first: unit_cards?.[at],
    }));
  };

  it('are those of its units, with confirmations and without a card of its own', async () => {
    host.tree.addFunction({ address: next, driver: 'vfio-pci', ...gpu });
    const pool = [
      { address: at, device_type: 'GPU' },
      { address: next, device_type: 'GPU' },
    ];
    const units = [at, next];
    const found = { address: 'gpus', card: undefined, units };
    place(gpu, 'vfio-pci');
    expect(await find(pool)).toEqual([{ ...found, first: gpuCard }]);
    const identity = gpuCard.identity.replace('1851', '1852');
    place({ ...gpu, subsystem: '10de:1852' }, 'vfio-pci');
    expect(await find(pool)).toMatchObject([{ units: [next] }]);
    const confirmed_at = new Date(Date.now() + 1_000).toISOString();
    await confirmAddress(files(), silentLog, at, { at: confirmed_at, identity });
    expect(await find(pool)).toMatchObject([{ units, first: { identity, confirmed_at } }]);
  });

  it('are those of the physical functions, where it offers virtual ones', async () => {
    host.tree.addFunction({ address: next, driver: 'nvidia', ...gpu });
    host.tree.addFunction({ address: virtual, driver: 'vfio-pci', ...gpu, physicalFunction: next });
    const [pool] = await find([{ address: next, device_type: 'GPU', virtual_functions: true }]);
    expect(pool?.units).toEqual([next]);
  });

  it('are found without reading what the functions of the pool are', async () => {
    host.tree.addFunction({ address: next, driver: 'nvidia', ...gpu });
    host.tree.addFunction({ address: virtual, driver: 'vfio-pci', ...gpu, physicalFunction: next });
    const entry = { address: next, device_type: 'GPU', virtual_functions: true, pool: 'gpus' };
    const pci = await host.pciDriver([entry]);
    const devices = Object.values((await pci.discover()).devices);
    const read: string[] = [];
    const readAttribute = (path: string) => {
      read.push(path);
      return host.sysfs.readAttribute(path);
    };
    const confirmations = openConfirmations(files(), silentLog);
    const guards = await host.guards();
    const sysfs = { ...host.sysfs, readAttribute };
    const { cards } = await createDescribeCards({ sysfs, guards, confirmations })(devices);
    expect(Object.keys(cards.get('gpus')?.unit_cards ?? {})).toEqual([next]);
    expect(read.filter((path) => path.includes(virtual))).toEqual([]);
  });
});
