// Partitions of driver pci: active while a server has their set, whatever happens to the agent or
// to the Fabric Manager. The jobs are those of the agent.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer } from '#agent/hardware/port.ts';
import { parseHost } from '#agent/record/host-record.ts';
import { FabricManager, partitionedHost } from '#test/drivers/pci/fabric-manager.ts';
import { partitions as fixture } from '#test/drivers/pci/fixture.ts';
import { type Job, type Offered, Trial } from '#test/drivers/trial.ts';
import { buildHost } from '#test/hosts/build-host.ts';

type Listed = ReturnType<FabricManager['list']>['partitionInfo'][number];

const all = { 0: [1, 3, 5, 7], 3: [1, 3], 5: [7, 5] };
let manager: FabricManager;
let trial: Trial;
/** The two units of the set of partition 5. */
let units: readonly Offered['work'][];

async function begin(): Promise<void> {
  manager = new FabricManager(all);
  trial = new Trial({ ...fixture, host: () => partitionedHost(manager) });
  await trial.start();
  const offered = await trial.offered();
  units = offered.map(({ work }) => work).filter(({ address }) => address === 'left');
}
beforeEach(begin);
afterEach(() => trial.remove());

/** Epochs of a claim and its release. */
const epochs = { prepare: 1, clean: 2 } as const;

function job(verb: Job['verb'], unit: number): Job {
  const work = units[unit];
  if (!work) throw new Error(`There is no unit ${unit}.`);
  return { id: `${verb} ${unit}`, verb, work, epoch: epochs[verb] };
}

const run = async (verb: Job['verb'], unit: number) => await trial.run(job(verb, unit));
const life = [
  ['prepare', 0],
  ['prepare', 1],
  ['clean', 0],
  ['clean', 1],
] as const;

describe('the partition of a set', () => {
  it('is activated once for all units, and deactivated after the last', async () => {
    expect(await run('prepare', 0)).toEqual({ status: 'SUCCEEDED' });
    expect(await run('prepare', 1)).toEqual({ status: 'SUCCEEDED' });
    expect(manager.changes).toEqual(['-a 5']);
    const first = { partition: 5, deactivated: false, units_held: 1 };
    expect(Object.values((await run('clean', 1)).evidence ?? {})).toEqual([first]);
    expect([...manager.active]).toEqual([5]);
    const last = { partition: 5, deactivated: true };
    expect(Object.values((await run('clean', 0)).evidence ?? {})).toEqual([last]);
    expect(manager.changes).toEqual(['-a 5', '-d 5']);
  });

  it.each(life.map((_, index) => index))(
    'is as its units need it after a power loss at any write of step %i',
    async (lost) => {
      for (let write = 0, isDead = true; isDead; write += 1) {
        trial.remove();
        await begin();
        for (const [index, [verb, unit]] of life.entries()) {
          if (index === lost) {
            isDead = await trial.runKilled(job(verb, unit), write);
            if (isDead) await trial.boot();
          }
          expect(await run(verb, unit), `write ${write}`).toMatchObject({ status: 'SUCCEEDED' });
          expect([...manager.active], `write ${write}`).toEqual(index < 3 ? [5] : []);
        }
      }
    },
  );

  it('is as its units need it after a death of the agent at any write of a release', async () => {
    for (let write = 0, isDead = true; isDead; write += 1) {
      trial.remove();
      await begin();
      await run('prepare', 0);
      await run('prepare', 1);
      await run('clean', 0);
      isDead = await trial.runKilled(job('clean', 1), write);
      await trial.start();
      expect(await run('clean', 1)).toMatchObject({ status: 'SUCCEEDED' });
      expect([...manager.active]).toEqual([]);
    }
  });

  it('is as a self-test expects it, which calls the driver alone', async () => {
    const { driver } = trial;
    const { work } = job('prepare', 0);
    for (const _ of [1, 2]) await driver.prepare?.(work);
    expect(await driver.find?.(work)).toEqual({ state: 'ready' });
    await driver.clean?.(work, () => {});
    expect(await driver.find?.(work)).toEqual({ state: 'absent' });
    expect(manager.changes).toEqual(['-a 5', '-d 5']);
  });

  it('stays active while a program has another unit open', async () => {
    await run('prepare', 0);
    const group = trial.faulty.sysfs.linkName('bus/pci/devices/0000:10:00.0/iommu_group');
    trial.proc.addProcess(31, { comm: 'qemu', open: [`/dev/vfio/${group}`] });
    const { status, reason } = await run('clean', 0);
    expect([status, reason]).toEqual(['FAILED', expect.stringContaining('0000:10:00.0 ')]);
    expect(manager.changes).toEqual(['-a 5']);
  });

  it('is asked for at the host of the Fabric Manager', async () => {
    const commands: (readonly string[])[] = [];
    const settings = { ...(fixture.settings as object), fabric_manager: { hostname: '10.0.0.2' } };
    const host = () => ({
      ...partitionedHost(manager),
      hardware: {
        exec: async (...[device, tool, args]: Parameters<FabricManager['exec']>) => {
          commands.push(args);
          return await manager.exec(device, tool, args);
        },
      },
    });
    trial.remove();
    trial = new Trial({ ...fixture, settings, host });
    await trial.start();
    await run('prepare', 0);
    expect(commands).toContainEqual(['--hostname', '10.0.0.2', '-a', '5']);
    expect(commands.filter(([first]) => first !== '--hostname')).toEqual([]);
  });
});

describe('a Fabric Manager', () => {
  const printed =
    (stdout: string, exitCode = 0) =>
    (): Answer => ({ exitCode, stdout, stderr: '' });
  const thrown = (code: string) => (): Answer => {
    throw new HardwareError(code, 'fmpm did not answer');
  };
  /** Its list with another partition 5, or with another partition 3. */
  const listing =
    (changed: Partial<Listed>, other: Partial<Listed> = {}) =>
    () => {
      const list = manager.list();
      const partitionInfo = list.partitionInfo.map((each) => {
        const changes: Record<number, Partial<Listed>> = { 3: other, 5: changed };
        return { ...each, ...changes[each.partitionId] };
      });
      return printed(JSON.stringify({ ...list, partitionInfo }))();
    };
  const gpus = (...addresses: string[]) => ({
    gpuInfo: addresses.map((pciBusId, index) => ({
      pciBusId,
      physicalId: 5 + 2 * index,
      uuid: '',
    })),
  });

  it.each<[string, () => Answer, string]>([
    ['is not installed', thrown('ENOENT'), 'ENOENT'],
    ['hangs', thrown('ETIMEDOUT'), 'ETIMEDOUT'],
    ['prints too much', thrown('EFBIG'), 'EFBIG'],
    [
      'is not reached',
      printed('Failed to connect to Fabric Manager instance.\n', 247),
      '-l failed with exit code 247: Failed to connect',
    ],
    ['prints control characters', printed('\u001b[31m\u0000no\n', 1), 'code 1:  [31m no'],
    ['prints nothing', printed(''), 'not valid'],
    ['prints another form', listing({ isActive: 7 }), 'not valid'],
  ])('that %s makes the pools unhealthy, and nothing is given away', async (_case, listed, why) => {
    manager.listed = listed;
    const { devices } = await trial.discover();
    expect(devices.map(({ device }) => device.health?.state)).toEqual(['unhealthy', 'unhealthy']);
    expect(devices[0]?.device.health?.reason).toContain(why);
    expect(await run('prepare', 0)).toMatchObject({ status: 'FAILED' });
    manager.listed = undefined;
    expect(manager.changes).toEqual([]);
    expect((await trial.discover()).devices[0]?.device).not.toHaveProperty('health');
  });

  it.each<[string, () => Answer, string]>([
    ['does not list', listing({ partitionId: 9 }), 'is not listed by'],
    ['lists twice', listing({}, { partitionId: 5 }), 'is listed twice by'],
    [
      'lists with another GPU',
      listing({ gpuInfo: [1, 7].map((physicalId) => ({ pciBusId: '', physicalId, uuid: '' })) }),
      'has the modules 1, 7 by the Fabric Manager, not 5, 7',
    ],
    ['counts otherwise', listing({ numGpus: 3 }), 'with GPUs that are not described'],
    [
      'lists with another address',
      listing(gpus('00000000:0F:00.0', '00000000:CC:00.0')),
      'has a GPU of another address',
    ],
  ])('that %s a partition: its set is not offered', async (_case, listed, why) => {
    manager.listed = listed;
    const { devices, notOffered } = await trial.discover();
    expect(devices.map(({ device }) => device.address)).not.toContain('left');
    const ofSet = notOffered.filter(({ address }) => /:(0f|10):/.test(address));
    expect(ofSet.map(({ reason }) => reason)).toEqual([
      expect.stringContaining(why),
      expect.stringContaining(why),
    ]);
    expect(await run('prepare', 0)).toMatchObject({ status: 'FAILED' });
    expect(manager.changes).toEqual([]);
  });

  it('that lists the addresses of the set is the right one', async () => {
    manager.listed = listing(gpus('00000000:10:00.0', '00000000:0F:00.0'));
    const { devices } = await trial.discover();
    expect(devices.map(({ device }) => device.address)).toEqual(['left', 'right']);
  });

  it('that does not do what it confirms fails the job', async () => {
    manager.isIdle = true;
    const idle = 'succeeded, and the partition is';
    expect((await run('prepare', 0)).reason).toContain(`-a 5 ${idle} not active`);
    manager.isIdle = false;
    expect(await run('prepare', 1)).toEqual({ status: 'SUCCEEDED' });
    manager.isIdle = true;
    expect((await run('clean', 1)).reason).toContain(`-d 5 ${idle} still active`);
  });

  it('that has given a GPU to another partition fails the job with its words', async () => {
    manager.active.add(0);
    const words = 'with exit code 249: Failed to activate partition. fmReturn: -7';
    expect((await run('prepare', 0)).reason).toContain(words);
  });

  it('is named by the version of its program, which was never recorded', async () => {
    expect(await trial.driver.examineTools?.()).toEqual([
      { outcome: 'not seen', what: expect.stringContaining('fmpm is of version 1.0.1, whose') },
    ]);
    expect(manager.changes).toEqual([]);
  });

  it('that has restarted without its partitions lets a set go', async () => {
    await run('prepare', 0);
    manager.active.clear();
    expect(await run('clean', 0)).toEqual({ status: 'SUCCEEDED' });
    expect(manager.changes).toEqual(['-a 5']);
  });
});

describe('settings', () => {
  const [a, b, c] = ['0000:05:00.0', '0000:06:00.0', '0000:07:00.0'] as const;
  const entry = { vendor_id: '10de', resource_class: 'PGPU', pool: 'p' };
  const pci = ownDrivers.find(({ name }) => name === 'pci');
  const configure = (settings: object) => pci?.configure({ allow_list: [entry], ...settings });
  const set = (functions: readonly string[], partition: object) => ({ functions, partition });
  const pools = (...sets: object[]) => ({ pools: [{ name: 'p', sets }] });

  it.each<[string, object, string]>([
    ['no modules', pools(set([a, b], { id: 1 })), 'must list module ids'],
    ['a name for an id', pools(set([a, b], { id: 'x', modules: [1] })), 'must be a whole number'],
    ['an unknown key', pools({ functions: [a, b], partitions: 1 }), 'unknown key'],
    [
      'a module in two sets',
      pools(
        set([a, b], { id: 1, modules: [1, 2] }),
        set([c, '0000:08:00.0'], { id: 2, modules: [2, 3] }),
      ),
      'must not name a partition or a module twice',
    ],
    ['a path that goes up', { fabric_manager: { tool: '/usr/../fmpm' } }, 'must not go up'],
    ['an option as name', { fabric_manager: { hostname: '--help' } }, 'must be a name'],
  ])('with %s are refused', (_case, settings, sentence) => {
    expect(JSON.stringify(configure(settings))).toContain(sentence);
  });

  const gpu = (address: string) =>
    `${address} 10de:2330 030200 rev a1 subsystem 10de:16c1 driver vfio-pci group ${address.slice(6, 7)} node 0 resets flr`;

  it.each<[string, string, object, readonly number[], string]>([
    ['an NVSwitch', gpu(c).replace('030200', '068000'), {}, [1, 2], 'keeps the NVSwitches'],
    ['a reset', gpu(c), { clean: 'reset' }, [1, 2, 3], 'cannot be cleaned by reset'],
    ['a module too few', gpu(c), {}, [1, 2], 'which has 2 modules and 3 GPUs'],
  ])('with %s offer no set', async (_case, line, more, modules, why) => {
    const host = buildHost(parseHost(`${[gpu(a), gpu(b), line].join('\n')}\n`));
    try {
      const allow_list = [{ ...entry, device_type: 'GPU', ...more }];
      const configured = configure({ allow_list, ...pools(set([a, b, c], { id: 1, modules })) });
      if (!configured || 'faults' in configured) throw new Error(JSON.stringify(configured));
      const list = new FabricManager({ 1: modules });
      const hardware = { ...host.hardware, exec: list.exec };
      const driver = configured.create(await host.context({ hardware }));
      const { devices, notOffered = [] } = await driver.discover();
      expect(devices).toEqual({});
      expect(notOffered.map(({ reason }) => reason)).toEqual(
        [a, b, c].map(() => expect.stringContaining(why)),
      );
    } finally {
      host.remove();
    }
  });
});
