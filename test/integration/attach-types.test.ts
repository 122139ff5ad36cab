// Which types of attach handles the hypervisor of a host takes: what its agent says replaces the
// deployment's setting, and this replaces what its release of Nova takes, for its binds and in
// Placement.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { allNotOffered } from '#core/domain/arq/attach-types.ts';
import type { Device } from '#core/domain/device/device.ts';
import { type DeviceUuid, derivedUuid, type InstanceUuid, providerUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { aCaller } from '#test/support/builders.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aDevice, aHandle, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const offering = (type: 'MDEV' | 'TEST_PCI') => ({
  resource_class: 'FPGA',
  traits: [],
  attach_handles: [1, 2].map((index) => {
    const { info } = aHandle(index, type);
    return { type, info: type === 'MDEV' ? { ...info, asked_type: 'fake-1' } : info };
  }),
});

const mdevs = aDevice({
  address: '0000:0d:00.0',
  provider_suffix: 'Mdevs',
  offers: offering('MDEV'),
  regions: [{ name: 'r0', kind: 'partition', ...offering('TEST_PCI') }],
});

const functions = aDevice({ provider_suffix: 'Functions', offers: offering('TEST_PCI') });
const providers = {
  mdevs: providerUuid(`${host}_Mdevs`),
  region: providerUuid(`${host}_Mdevs_r0`),
  functions: providerUuid(`${host}_Functions`),
};
type Name = keyof typeof providers;

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'PCI,TEST_PCI' } }));
let deps: ConsumerDeps;
let sequence = 0;

beforeAll(async () => {
  deps = world.deps;
  await world.createProfile('one', { 'resources:FPGA': '1' });
  await deps.clients.placement.createProvider({ uuid: derivedUuid('node'), name: host });
});

beforeEach(() => says(undefined, [mdevs, functions]));

/** A report of the host; a heartbeat if it describes no device. */
async function says(
  types: readonly string[] | undefined,
  devices: InventoryReport['devices'] = [],
  given: Partial<InventoryReport> = {},
  by = deps,
): Promise<void> {
  sequence += 1;
  const whole = aReport([mdevs, functions], { sequence, ...given });
  const named = types && { attach_types: [...types] };
  // A host may not report often.
  const nowMs = Date.now() + sequence * 10_000;
  // The host is asked for devices that no report has described.
  const own = { ...withClients(by, { jobs: { create: async () => {} } }), clock: () => nowMs };
  await applyReport(own, host, { ...whole, devices: [...devices], ...named }, nowMs);
}

/** `bound`, or why not. */
async function bind(name: Name, by = deps): Promise<string> {
  const caller = aCaller();
  const [arq] = await createArqs(by, caller, 'one');
  if (!arq) throw new Error('No ARQ was created.');
  const instanceUuid = derivedUuid('instance', arq.uuid) as InstanceUuid;
  const target = { hostname: host, providerUuid: providers[name], instanceUuid };
  try {
    await bindArqs(by, caller, [{ ...target, arqUuid: arq.uuid }]);
  } catch (error) {
    return (error as Error).message;
  }
  await deleteArqsOfInstance(by, caller, instanceUuid);
  return 'bound';
}

async function bindAll(by = deps): Promise<Record<Name, boolean>> {
  const ends = { mdevs: false, region: false, functions: false };
  for (const name of Object.keys(ends) as Name[]) ends[name] = (await bind(name, by)) === 'bound';
  return ends;
}

const onlyFunctions = { mdevs: false, region: true, functions: true };
const onlyMdevs = { mdevs: true, region: false, functions: false };

/** The units of each provider that Placement has reserved, after a sync. */
async function reserved(): Promise<Record<Name, number | undefined>> {
  for (const uuid of [providers.mdevs, providers.functions]) await syncProviders(deps, uuid, 1);
  const of = async (name: Name) => {
    const held = await deps.clients.placement.getInventories(providers[name]);
    return held?.inventories.FPGA?.reserved;
  };
  return { mdevs: await of('mdevs'), region: await of('region'), functions: await of('functions') };
}

async function deviceWithMdevs(): Promise<Device> {
  const { devices } = await deps.store.inventory.host(host);
  return devices.find(({ address }) => address === mdevs.address) as Device;
}

async function stored() {
  const { host: row, devices } = await deps.store.inventory.host(host);
  const present = devices.filter(({ isGone }) => !isGone);
  return { host: row.attachTypes, devices: present.map(({ hostAttachTypes }) => hostAttachTypes) };
}

describe('a host that says nothing', () => {
  it('takes what the deployment takes', async () => {
    expect(await bindAll()).toEqual(onlyFunctions);
    expect(await bind('mdevs')).toMatch(
      / attaches as MDEV, which the hypervisor of host cmp1 does not take; it takes PCI, TEST_PCI\.$/,
    );
  });

  it('has all units reserved of a provider with another type, and of no other', async () => {
    expect(await reserved()).toEqual({ mdevs: 2, region: 0, functions: 0 });
    const rows = await compareHost(deps, host);
    expect(rows.filter(({ agrees }) => !agrees)).toEqual([]);
    const said = rows.map((row) => row.host).filter((words) => words.includes('cannot attach'));
    expect(said).toEqual([expect.stringContaining('cannot attach MDEV: takes PCI, TEST_PCI')]);
  });
});

describe("a host's own types", () => {
  it("replace the deployment's, with the devices of the report", async () => {
    await says(['MDEV'], [mdevs, functions]);
    expect(await bindAll()).toEqual(onlyMdevs);
    expect(await bind('functions')).toContain('does not take; it takes MDEV.');
    expect(await reserved()).toEqual({ mdevs: 0, region: 2, functions: 2 });
  });

  it('count from a report on that describes no device', async () => {
    await says(['MDEV']);
    expect(await bindAll()).toEqual(onlyMdevs);
    await says(['TEST_PCI', 'MDEV']);
    expect(await bindAll()).toEqual({ mdevs: true, region: true, functions: true });
    expect(await reserved()).toEqual({ mdevs: 0, region: 0, functions: 0 });
  });

  it('end with the first report that has none', async () => {
    await says(['MDEV']);
    await says(undefined);
    expect(await bindAll()).toEqual(onlyFunctions);
    expect(await stored()).toEqual({ host: undefined, devices: [undefined, undefined] });
    expect(await reserved()).toEqual({ mdevs: 2, region: 0, functions: 0 });
  });

  it('end with a description of the devices, too', async () => {
    await says(['MDEV']);
    await says(undefined, [mdevs, functions]);
    expect(await bindAll()).toEqual(onlyFunctions);
  });

  it('count for a device that the host reports later', async () => {
    await says(['MDEV']);
    const address = '0000:0e:00.0';
    const added = aDevice({ address, provider_suffix: 'Added', offers: offering('MDEV') });
    const { manifest } = aReport([mdevs, functions, added]);
    await says(['MDEV'], [added], { manifest });
    const uuid = providerUuid(`${host}_Added`);
    const { deployable } = (await deps.store.inventory.provider(uuid)) ?? {};
    expect(deployable?.hostAttachTypes).toEqual(['MDEV']);
  });

  it('are not those of a report that a newer one has overtaken', async () => {
    const late = { sequence: sequence + 1 };
    const changed = { ...mdevs, model: 'another' };
    const { manifest } = aReport([changed, functions]);
    sequence += 1;
    // The newer report names a device that only the late one describes.
    await says(['MDEV'], [], { manifest });
    await says(['TEST_PCI'], [changed], { manifest, ...late });
    expect((await stored()).host).toEqual(['MDEV']);
    const { devices } = await deps.store.inventory.host(host);
    expect(devices.map(({ model }) => model)).toContain('another');
    expect(await bindAll()).toEqual(onlyMdevs);
  });

  it('leave out types that the control plane does not know', async () => {
    await says(['VDPA', 'MDEV']);
    expect(await stored()).toMatchObject({ host: ['MDEV'] });
    await says(['VDPA']);
    expect(await bindAll()).toEqual({ mdevs: false, region: false, functions: false });
    expect(await bind('mdevs')).toContain('it takes none.');
  });

  it('leave alone what operators have set', async () => {
    const path = `/v2/devices/${(await deviceWithMdevs()).uuid}`;
    await world.ask('POST', `${path}/disable`);
    await says(['MDEV']);
    expect(await bind('mdevs')).toContain('is disabled');
    await world.ask('POST', `${path}/enable`);
    expect(await bind('mdevs')).toBe('bound');
  });

  it('are written once, however often they are reported', async () => {
    await says(['MDEV']);
    let copies = 0;
    const { inventory } = deps.store;
    const copyAttachTypes: typeof inventory.copyAttachTypes = (...given) => {
      copies += 1;
      return inventory.copyAttachTypes(...given);
    };
    const counting = withStore(deps, { inventory: { copyAttachTypes } });
    await says(['MDEV'], [], {}, counting);
    await says(['MDEV'], [mdevs, functions], {}, counting);
    expect(copies).toBe(0);
    await says(undefined, [], {}, counting);
    expect(copies).toBe(2);
  });
});

describe('the release of Nova on the host', () => {
  const everything = { mdevs: true, region: true, functions: true };
  let open: ConsumerDeps;

  beforeAll(() => {
    open = { ...deps, settings: { ...deps.settings, attachTypes: undefined } };
  });

  /** Why the host does not offer its mdevs; undefined: it does. The list of hosts counts them. */
  async function refusal(by = open): Promise<string | undefined> {
    const inventory = await deps.store.inventory.host(host);
    const all = allNotOffered(inventory, by.settings.attachTypes);
    expect(inventory.summary?.notOffered).toBe(all.length);
    return all.find(({ address }) => address === mdevs.address)?.reason;
  }

  it('leaves what any Nova takes where it was never found', async () => {
    await says(undefined, [], {}, open);
    expect(await bindAll(open)).toEqual(onlyFunctions);
    expect(await refusal()).toContain('was not found; the agent');
  });

  it.each([
    [['34.0.0'], everything, undefined],
    [['34.0.0', '35.1.0'], everything, undefined],
    [['33.0.0', '34.0.0'], onlyFunctions, 'the host has Nova 33.0.0 and 34.0.0, and 34 or later'],
    [['26.2.2'], onlyFunctions, 'which the hypervisor does not take: the host has Nova 26.2.2, '],
  ])('%j decides where nothing is set', async (versions, bound, reason) => {
    await says(undefined, [], { nova_versions: versions }, open);
    expect(await bindAll(open)).toEqual(bound);
    if (reason) expect(await refusal()).toContain(reason);
    else expect(await refusal()).toBeUndefined();
  });

  it('stays what it was while none is found', async () => {
    await says(undefined, [], { nova_versions: ['34.0.0'] }, open);
    await says(undefined, [], { nova_versions: [] }, open);
    await says(undefined, [], {}, open);
    expect(await bindAll(open)).toEqual(everything);
    expect((await deps.store.inventory.host(host)).host.novaVersions).toEqual(['34.0.0']);
  });

  it('is overruled by the types of the deployment, and by those of the host', async () => {
    await says(undefined, [], { nova_versions: ['34.0.0'] });
    expect(await bindAll()).toEqual(onlyFunctions);
    expect(await refusal(deps)).toContain("the deployment's attachTypes leave it out");
    await says(['TEST_PCI'], [], { nova_versions: ['34.0.0'] }, open);
    expect(await bindAll(open)).toEqual(onlyFunctions);
    expect(await refusal()).toContain("the agent's attach_types leave it out");
  });
});

describe('a change of the types', () => {
  it('is finished by the next report after the consumer died half-way', async () => {
    const { inventory } = deps.store;
    let copied: DeviceUuid | undefined;
    const copyAttachTypes = async (...given: Parameters<typeof inventory.copyAttachTypes>) => {
      const [{ uuid }] = given as readonly [Device, ...unknown[]];
      copied ??= uuid;
      if (copied !== uuid) throw new Error('killed');
      return inventory.copyAttachTypes(...given);
    };
    await expect(
      says(['MDEV'], [], {}, withStore(deps, { inventory: { copyAttachTypes } })),
    ).rejects.toThrow();
    expect((await stored()).devices.filter((types) => types !== undefined)).toHaveLength(1);
    // The host has removed its list again, and the row of the host never had it.
    expect((await stored()).host).toBeUndefined();
    await says(undefined);
    expect((await stored()).devices).toEqual([undefined, undefined]);
    expect(await bindAll()).toEqual(onlyFunctions);
  });

  it('is delivered again when rows of the device are deleted meanwhile', async () => {
    const copyAttachTypes = async () => false;
    await expect(
      says(['MDEV'], [], {}, withStore(deps, { inventory: { copyAttachTypes } })),
    ).rejects.toThrow(RetryLater);
    await says(['MDEV']);
    expect(await bindAll()).toEqual(onlyMdevs);
  });

  it('changes no row of a device while one of its rows is missing', async () => {
    const { inventory } = deps.store;
    const device = await deviceWithMdevs();
    const providers = await inventory.providers(device.providers);
    const present = providers.map(({ deployable }) => deployable);
    const missing = { ...present[0], providerUuid: providerUuid('cmp1_Missing') };
    const given = [...present, missing] as typeof present;
    expect(await inventory.copyAttachTypes(device, given, ['MDEV'])).toBe(false);
    expect((await stored()).devices).toEqual([undefined, undefined]);
    expect(await inventory.provider(missing.providerUuid)).toBeUndefined();
  });
});
