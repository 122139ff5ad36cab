import { describe, expect, it } from 'vitest';
import type { Components, Discovery, Driver, HostChange } from '#agent/drivers/contract/driver.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aClock, aDriver, aLog, aReportedDevice } from '#test/support/hosts/agent.ts';

const gpu = aReportedDevice({ address: '0000:3b:00.0' });
const nic = aReportedDevice({ address: '0000:17:00.0' });
const slot = {
  name: 'slot_0',
  kind: 'reconfigurable-region' as const,
  resource_class: 'FPGA',
  traits: [],
  attach_handles: [],
};

function discoveryOf(...drivers: Driver[]) {
  const log = aLog();
  const clock = aClock();
  return { log, clock, discover: createDiscovery({ drivers, clock, log }) };
}

const throwing: Driver = {
  name: 'throwing',
  discover: async () => {
    throw new Error('no such class');
  },
};

const hanging: Driver = { name: 'hanging', discover: () => new Promise(() => {}) };

describe('discovery', () => {
  it('gives the devices of all drivers, in the order of their addresses', async () => {
    const { discover } = discoveryOf(aDriver('one', gpu), aDriver('two', nic));
    const { devices, failedDrivers } = await discover();
    expect(devices.map(({ device }) => device.address)).toEqual(['0000:17:00.0', '0000:3b:00.0']);
    expect(failedDrivers).toEqual([]);
  });

  it('takes -1 of a driver as the NUMA node that Linux does not know', async () => {
    const { discover } = discoveryOf(aDriver('one', { ...gpu, numa_node: -1 }));
    const { devices, failedDrivers } = await discover();
    expect([devices.length, failedDrivers]).toEqual([1, []]);
  });

  it('names a driver that throws and keeps the devices of the others', async () => {
    const { discover } = discoveryOf(throwing, aDriver('one', gpu));
    const { devices, failedDrivers } = await discover();
    expect(devices).toHaveLength(1);
    expect(failedDrivers).toEqual(['throwing']);
  });

  it('reports a device as unhealthy on which an operation hangs, and no other', async () => {
    const drivers = [aDriver('one', gpu, { ...nic, firmware: '1.2' })];
    const since = '2026-07-01T00:00:00.000Z';
    const healthOf = (device: string) =>
      device === gpu.address
        ? ({ state: 'unhealthy', reason: 'is stuck', since } as const)
        : ({ state: 'healthy', reason: 'answers', since } as const);
    const discover = createDiscovery({ drivers, healthOf, clock: aClock(), log: aLog() });
    const { devices, failedDrivers } = await discover();
    expect(failedDrivers).toEqual([]);
    expect(devices.map(({ device }) => device.health)).toEqual([
      undefined,
      { state: 'unhealthy', reason: 'is stuck', since },
    ]);
  });

  it("names the other owner of a device, and says once why Nova's settings are not read", async () => {
    const owner = { name: 'Nova', by: '[pci] device_spec' };
    const ownerOf = ({ address }: ReportedDevice) => (address === gpu.address ? owner : undefined);
    const novaDevices = () => ({ ownerOf, fault: 'EACCES' });
    const drivers = [aDriver('one', gpu, nic)];
    const log = aLog();
    const plain = await createDiscovery({ drivers, clock: aClock(), log })();
    const discover = createDiscovery({ drivers, novaDevices, clock: aClock(), log });
    const { devices } = await discover();
    await discover();
    expect(devices.map(({ device }) => device.other_owner)).toEqual([undefined, owner]);
    // The control plane gets a new description of that device alone.
    const digests = plain.devices.map(({ digest }) => digest);
    expect(devices.map(({ digest }, index) => digest === digests[index])).toEqual([true, false]);
    const lines = log.lines.filter(({ message }) => message === "Nova's settings not read");
    expect(lines).toEqual([expect.objectContaining({ reason: 'EACCES' })]);
  });

  it('gives up on a driver that hangs after 30 seconds', async () => {
    const { discover, clock } = discoveryOf(hanging, aDriver('one', gpu));
    const found = discover();
    await clock.advance(30_000);
    expect((await found).failedDrivers).toEqual(['hanging']);
    expect((await found).devices).toHaveLength(1);
  });

  it('reports a device without its components after 30 seconds, and asks it no second time', async () => {
    let asked = 0;
    const unused = async (): Promise<never> => {
      throw new Error('No report programs anything.');
    };
    const components: Components = {
      check: unused,
      write: unused,
      activate: unused,
      list: (address) => {
        if (address !== gpu.address) return Promise.resolve([{ name: 'fw', version: '1.0' }]);
        asked += 1;
        return new Promise(() => {});
      },
    };
    const driver = { ...aDriver('one', gpu, nic), components };
    const { discover, clock, log } = discoveryOf(driver);
    const found = discover();
    await clock.advance(30_000);
    const shown = (await found).devices.map(({ device }) => device.components?.length);
    expect([shown, (await found).failedDrivers]).toEqual([[1, undefined], []]);
    expect(log.lines[0]).toMatchObject({
      message: 'Components not read',
      address: gpu.address,
      reason: 'its components have not answered within 30 s',
    });
    expect((await discover()).devices).toHaveLength(2);
    expect(asked).toBe(1);
  });

  it('does not wait for a set-up that hangs, and does not begin another', async () => {
    let [begun, end] = [0, (_: HostChange[]) => {}];
    const slow: Driver = {
      ...aDriver('slow', nic),
      plan: () => {
        begun += 1;
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    };
    const { discover, clock } = discoveryOf(slow, aDriver('one', gpu));
    for (const _ of [1, 2]) {
      const found = discover();
      await clock.advance(30_000);
      expect((await found).failedDrivers).toEqual(['slow']);
      expect((await found).devices).toHaveLength(1);
    }
    expect(begun).toBe(1);
    const found = discover();
    end([]);
    expect((await found).devices).toHaveLength(2);
  });

  it('does not ask a hanging driver again, and asks it when it has returned', async () => {
    // Prepare
    let asked = 0;
    let comeBack = (_: Discovery) => {};
    const slow: Driver = {
      name: 'slow',
      discover: () => {
        asked += 1;
        return new Promise((resolve) => {
          comeBack = resolve;
        });
      },
    };
    const { discover, clock } = discoveryOf(slow);

    // Act
    const first = discover();
    await clock.advance(30_000);
    await first;
    const second = await discover();
    comeBack({ devices: {} });
    await clock.advance(0);
    const third = discover();
    comeBack({ devices: {} });

    // Assess
    expect(second.failedDrivers).toEqual(['slow']);
    expect((await third).failedDrivers).toEqual([]);
    expect(asked).toBe(2);
  });

  it('tells what is not offered, and logs it once until it has been offered', async () => {
    let notOffered = [{ address: gpu.address, reason: 'is a bridge' }];
    const driver = { name: 'one', discover: async () => ({ devices: {}, notOffered }) };
    const { discover, log } = discoveryOf(driver);
    const refused = { address: gpu.address, driver: 'one', reason: 'is a bridge' };
    expect((await discover()).notOffered).toEqual([refused]);
    await discover();
    expect(log.lines).toEqual([{ message: 'Device not offered', ...refused }]);
    notOffered = [];
    await discover();
    notOffered = [refused];
    await discover();
    expect(log.lines).toHaveLength(2);
  });

  it('logs what a set-up lacks, and discovers all the same', async () => {
    const found = async () => ({ devices: { [gpu.address]: { ...gpu, driver: 'one' } } });
    const refusal = '0000:3b:00.0 is offered to guests';
    const change = { address: gpu.address, what: 'driver', before: 'none', after: 'vfio', refusal };
    const driver = { name: 'one', discover: found, plan: async () => [change] };
    const { discover, log } = discoveryOf(driver);
    expect((await discover()).devices).toHaveLength(1);
    const faults = [`The driver of ${gpu.address} is none, not vfio: ${refusal}.`];
    expect(log.lines).toEqual([{ message: 'Set-up incomplete', driver: 'one', faults }]);
  });

  it('asks a driver again that threw synchronously', async () => {
    const sudden: Driver = {
      name: 'sudden',
      discover: () => {
        throw new Error('no such class');
      },
    };
    const { discover, log } = discoveryOf(sudden);
    await discover();
    await discover();
    expect(log.lines.map(({ reason }) => reason)).toEqual(['no such class', 'no such class']);
  });

  it('assigns a device to the first driver that claims it', async () => {
    const { discover, log } = discoveryOf(aDriver('one', gpu), aDriver('two', gpu));
    const { devices } = await discover();
    expect(devices.map(({ device }) => device.driver)).toEqual(['one']);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ address: gpu.address, kept: 'one', driver: 'two' }),
    );
  });

  it.each<[string, Partial<ReportedDevice>, string]>([
    ['no vendor', { vendor: undefined } as object, 'vendor: '],
    ['null in place of regions', { regions: null } as object, 'regions: '],
    ['a number in place of offers', { offers: 7 } as object, 'offers: '],
    [
      'a million of traits',
      { offers: { traits: 'x'.repeat(1e6) } } as object,
      'most of them in offers',
    ],
    ['a product of 65 characters', { product: 'x'.repeat(65) }, 'product'],
    ['another address than its key', { address: '0000:99:00.0' }, 'its key is'],
    ['two regions of one name', { regions: [slot, { ...slot }] }, 'duplicate region name'],
    ['another driver', { driver: 'other' }, 'it names driver other'],
    ['fields that reports do not know', { colour: 'red' } as object, 'invalid fields: colour'],
    ['a NUMA node that no kernel has', { numa_node: -2 }, 'invalid fields: numa_node'],
    ['a type in lower case', { type: 'hpts' }, 'type: must be one of GPU'],
  ])('says that it does not offer a device with %s, and offers the others', async (...row) => {
    const [, wrong, fault] = row;
    const found = { ...gpu, driver: 'one', ...wrong };
    const other = { ...gpu, driver: 'one', type: 'HPTS', address: '0000:98:00.0' };
    let devices = { [gpu.address]: found, [other.address]: other };
    const { discover } = discoveryOf({ name: 'one', discover: async () => ({ devices }) });
    const read = await discover();
    expect(read.devices.map(({ device }) => device.type)).toEqual(['HPTS']);
    expect(read.failedDrivers).toEqual([]);
    expect(read.notOffered).toEqual([
      { address: gpu.address, driver: 'one', reason: expect.stringContaining(fault) as string },
    ]);
    // A device that was offered before stays as it is stored.
    devices = { [other.address]: { ...other, ...wrong, address: other.address } };
    const isValid = 'address' in wrong;
    expect((await discover()).failedDrivers).toEqual(isValid ? [] : ['one']);
  });
});

it('says that it does not offer a device whose key is that of a prototype', async () => {
  const devices = JSON.parse('{"__proto__":{"address":"__proto__"}}');
  const found = { ...devices, [gpu.address]: { ...gpu, driver: 'one' } };
  const { discover } = discoveryOf({ name: 'one', discover: async () => ({ devices: found }) });
  const read = await discover();
  expect(read.devices.map(({ device }) => device.address)).toEqual([gpu.address]);
  expect(read.notOffered).toMatchObject([
    { address: '__proto__', reason: expect.stringContaining('invalid description: ') },
  ]);
});

describe('a description without regions', () => {
  it('is one of a device that has none, also for gates', async () => {
    const { regions: _, ...described } = gpu;
    const driver = {
      name: 'a_driver',
      discover: async () => ({ devices: { [gpu.address]: described } }),
    };
    const gates = {
      describe: (device: ReportedDevice) => ({ ...device, regions: device.regions.slice() }),
      isHeld: () => false,
      wasHeld: () => false,
      withoutDevice: () => [],
    };
    const discover = createDiscovery({
      drivers: [driver as unknown as Driver, aDriver('two', nic)],
      gates,
      clock: aClock(),
      log: aLog(),
    });
    const { devices, notOffered } = await discover();
    expect(devices.map(({ device }) => device.regions)).toEqual([[], []]);
    expect(notOffered).toEqual([]);
  });
});

describe('components of a device', () => {
  it('are left out if they are not a list of components, and the device stays', async () => {
    const unused = async (): Promise<never> => {
      throw new Error('No report programs anything.');
    };
    const list = async () => [{ name: 'fw', version: { major: 1 } }] as never;
    const components = { check: unused, write: unused, activate: unused, list };
    const { discover, log } = discoveryOf({ ...aDriver('one', gpu), components });
    expect((await discover()).devices.map(({ device }) => device.components)).toEqual([undefined]);
    expect(log.lines[0]?.reason).toContain('its components are invalid: 0.version: ');
  });
});

describe('a driver', () => {
  it('is asked once at a time, and once for all that asked meanwhile', async () => {
    const answers: ((found: Discovery) => void)[] = [];
    const driver: Driver = {
      name: 'one',
      discover: () => new Promise((resolve) => answers.push(resolve)),
    };
    const { discover, clock } = discoveryOf(driver);

    // Act
    const first = discover();
    await clock.advance(0);
    const later = [discover(), discover()];
    await clock.advance(0);
    const askedAtOnce = answers.length;
    answers[0]?.({ devices: {} });
    await clock.advance(0);
    answers[1]?.({ devices: { [gpu.address]: { ...gpu, driver: 'one' } } });

    // Assess
    expect(askedAtOnce).toBe(1);
    expect((await first).devices).toHaveLength(0);
    expect((await Promise.all(later)).map(({ devices }) => devices.length)).toEqual([1, 1]);
    expect(answers).toHaveLength(2);
  });
});
