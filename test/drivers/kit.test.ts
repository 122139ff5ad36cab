// The kit fails drivers that do not keep the contract.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { noGuards } from '#test/support/hosts/guarded-host.ts';
import type { DriverFixture } from './fixture.ts';
import { ownFixtures } from './fixtures.ts';
import { runCheck } from './kit/check.ts';
import { guardChecks } from './kit/guard-checks.ts';
import { checksOf } from './kit/kit.ts';
import { ahead, fixture as mdev } from './mdev/fixture.ts';

/** Driver mdev with a fault. */
function broken(
  change: (driver: Driver, context: DriverContext) => Partial<Driver>,
  fixture: DriverFixture = mdev,
) {
  const configured = mdev.module.configure(fixture.settings);
  if ('faults' in configured) throw new Error('settings');
  const create = (context: DriverContext) => {
    const driver = configured.create(context);
    return { ...driver, ...change(driver, context) };
  };
  const module = { name: 'mdev', configure: () => ({ name: 'mdev', create }) };
  return { ...fixture, module } satisfies DriverFixture;
}

async function failuresOf(fixture: DriverFixture, titles: RegExp): Promise<string[]> {
  const failed: string[] = [];
  for (const check of (await checksOf(fixture)).filter(({ title }) => titles.test(title))) {
    await runCheck(fixture, check).catch(() => failed.push(check.title));
  }
  return failed;
}

let calls = 0;

describe('a driver fails the kit', () => {
  it.each<[string, RegExp, Parameters<typeof broken>[0]]>([
    [
      'whose answer changes without a cause',
      /twice the same/,
      (driver) => ({
        discover: async () => {
          const { devices } = await driver.discover();
          const [[address, device] = ['', undefined]] = Object.entries(devices);
          calls += 1;
          return device
            ? { devices: { [address]: { ...device, model: `${calls}` } } }
            : { devices };
        },
      }),
    ],
    [
      'that writes while it looks',
      /changes nothing/,
      (driver, { hardware }) => ({
        discover: async () => {
          await hardware.writeText('x', 'bus/pci/devices/0000:3b:00.0/driver_override', 'x');
          return driver.discover();
        },
      }),
    ],
    [
      'that throws if one file cannot be read',
      /fault in bus.*numa_node/,
      (driver, { sysfs }) => ({
        discover: async () => {
          sysfs.readAttribute('bus/pci/devices/0000:3b:00.0/numa_node');
          return driver.discover();
        },
      }),
    ],
    ['that removes nothing', /^clean removes/, () => ({ clean: async () => ({ removed: true }) })],
    [
      'that finds what is not there',
      /^prepare makes one/,
      () => ({ find: async () => ({ state: 'ready' }) as const }),
    ],
    [
      'that does not recognize the object of another program',
      /another program/,
      () => ({ find: async () => ({ state: 'absent' }) as const }),
    ],
    [
      'that hides the error of the kernel',
      /^prepare that is refused with EBUSY/,
      (driver) => ({
        prepare: async (handle) => (await driver.prepare?.(handle).catch(() => ({}))) ?? {},
      }),
    ],
  ])('%s', async (_name, titles, change) => {
    expect(await failuresOf(mdev, titles)).toEqual([]);
    expect(await failuresOf(broken(change), titles)).not.toEqual([]);
  });
});

describe('a driver that plans fails the kit', () => {
  const change = { address: '0000:3b:00.0', what: 'driver', before: 'none', after: 'vfio-pci' };

  it.each<[string, RegExp, Parameters<typeof broken>[0]]>([
    [
      'whose plan applies',
      /^plan changes nothing/,
      (driver) => ({
        plan: async () => {
          const changes = (await driver.plan?.()) ?? [];
          for (const each of changes) if ('apply' in each) await each.apply();
          return changes;
        },
      }),
    ],
    [
      'whose plan does not say from what',
      /^plan says/,
      () => ({ plan: async () => [{ ...change, before: '', apply: async () => {} }] }),
    ],
    [
      'that gives an mdev a uuid of its own',
      /the control plane takes/,
      (driver) => ({
        discover: async () => {
          const { devices } = structuredClone(await driver.discover());
          for (const { offers } of Object.values(devices)) {
            for (const handle of offers?.attach_handles ?? []) handle.uuid = randomUUID();
          }
          return { devices };
        },
      }),
    ],
    [
      'that plans what it has applied',
      /^a second set-up/,
      (_driver, { hardware }) => ({
        plan: async () => {
          const file = 'class/mdev_bus/0000:3b:00.0/mdev_supported_types/nvidia-1/create';
          const apply = () => hardware.writeText(change.address, file, randomUUID());
          return [{ ...change, apply }];
        },
      }),
    ],
    [
      'that does not finish what another agent has begun',
      /killed at any write/,
      (driver, { sysfs }) => ({
        plan: async () =>
          (sysfs.list('bus/mdev/devices') ?? []).length > 0 ? [] : ((await driver.plan?.()) ?? []),
      }),
    ],
  ])('%s', async (_name, titles, change) => {
    expect(await failuresOf(ahead, titles)).toEqual([]);
    expect(await failuresOf(broken(change, ahead), titles)).not.toEqual([]);
  });
});

const guarded = (await ownFixtures()).filter(({ title }) => !title.startsWith('fake'));

describe('a driver that asks no guards fails the kit', () => {
  const failuresWithout = async ({ module, settings, ...others }: DriverFixture) => {
    const configured = module.configure(settings);
    if ('faults' in configured) throw new Error('settings');
    const create = (context: DriverContext) => configured.create({ ...context, guards: noGuards });
    const unguarded = { ...module, configure: () => ({ name: module.name, create }) };
    return await failuresOf(
      { ...others, settings, module: unguarded },
      /does not offer a function/,
    );
  };

  it.each(guarded)('$title', async ({ fixture }) => {
    expect(await failuresWithout(fixture)).not.toEqual([]);
  });

  it('in each way that the host can use a GPU', async () => {
    const fixture = guarded.find(({ title }) => title === 'pci')?.fixture;
    const failed = fixture ? await failuresWithout(fixture) : [];
    expect(failed).toEqual(guardChecks.map(({ title }) => title));
  });
});
