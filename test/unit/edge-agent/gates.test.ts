// Programs of an operator that judge a device between two tenants: only exit code 0 passes, and
// whatever a program does, the agent says what has happened and goes on. The programs are real.

import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { setUp } from '#agent/process/set-up.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { address, aGateHost, card, sleeping, startAndDie, uuid, work } from './gate-host.ts';

const host = perTest(aGateHost);

describe('a gate', () => {
  it('passes with exit code 0, and leaves evidence', async () => {
    host.write('echo two rows; echo remapped');
    expect(await host.pass()).toEqual({
      gate: 'gate',
      gate_exit_code: 0,
      gate_seconds: expect.any(Number),
      gate_output: 'two rows remapped',
      gate_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('gets the handle in its environment, no input, and nothing of the agent', async () => {
    host.write(
      `/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ > ${host.directory}/env`,
      'read line && exit 3',
    );
    process.env.CYBORG_AGENT_SECRET = 'secret';
    await expect(host.pass()).rejects.toThrow('exit code 1');
    delete process.env.CYBORG_AGENT_SECRET;
    expect(readFileSync(join(host.directory, 'env'), 'utf8').trim().split('\n').sort()).toEqual([
      'GATE_CARD=0000:3b:00.0',
      'GATE_DRIVER=cards',
      `GATE_HANDLE=${uuid}`,
      'GATE_MODEL=10de:2235',
      'GATE_PCI_ADDRESS=0000:3b:00.0',
      'GATE_RESOURCE_CLASS=PGPU',
      'LC_ALL=C',
      'PATH=/usr/bin:/bin:/usr/sbin:/sbin',
    ]);
  });

  it.each([
    ['another exit code', ['echo a row is pending; exit 7'], 'ended with exit code 7'],
    ['a signal', ['kill -9 $$'], 'was ended by a signal'],
    ['a flood', ['exec /usr/bin/yes'], 'printed more than 64 KiB and was killed'],
    [
      'a host.program that never ends',
      [`exec ${sleeping}`],
      'did not end within 1 s and was killed',
    ],
  ])('fails by %s, and the reason names it', async (_, lines, reason) => {
    host.write(...lines);
    await expect(host.pass(1)).rejects.toThrow(`The gate gate ${reason}`);
    expect(host.log.lines).toContainEqual(expect.objectContaining({ message: 'Gate failed' }));
  });

  it('has what it printed in the reason', async () => {
    host.write('echo a row is pending >&2; exit 1');
    await expect(host.pass()).rejects.toThrow(/It printed: a row is pending$/);
  });

  it('that prints nonsense leaves printable text of bounded length', async () => {
    host.write("printf '\\033[2J\\000\\377 ok\\n'; head -c 5000 /dev/zero | tr '\\0' x");
    const { gate_output: output } = await host.pass();
    expect(output).toMatch(/^\[2J ok x{100,}$/);
    expect(String(output).length).toBe(200);
  });

  it.each([
    ['in its group', `${sleeping} &`],
    ['that hold no pipe', `${sleeping} >/dev/null 2>&1 &`],
    ['outside its group', `/usr/bin/setsid ${sleeping} &`],
    ['without its environment', `/usr/bin/env -i ${sleeping} &`],
  ])('fails if it leaves processes %s, and they are ended', async (_, line) => {
    host.write(line, `echo $! > ${host.directory}/pid`, 'exit 0');
    await expect(host.pass()).rejects.toThrow('left processes behind');
    await eventually(() => host.isRunning('pid')).toBe(false);
  });

  it('that is killed at its limit takes with it what it has started', async () => {
    host.write(`/usr/bin/setsid ${sleeping} &`, `echo $! > ${host.directory}/pid`, 'wait');
    await expect(host.pass(1)).rejects.toThrow('did not end within 1 s');
    await eventually(() => host.isRunning('pid')).toBe(false);
  });

  it('ends what the last run left, where the agent was killed', async () => {
    const left = { ...work };
    host.write(`echo $$ > ${host.directory}/pid`, `exec ${sleeping}`);
    const first = host
      .pass(20, host.gatesOf({ PGPU: {} }, startAndDie))
      .catch((error: Error) => error.message);
    await eventually(() => host.isRunning('pid')).toBe(true);
    host.write('exit 0');
    const again = host.gatesOf({ PGPU: {} });
    const gate = again.gateFor('cards', 'PGPU');
    if (gate) expect(await again.pass(gate, card(), left)).toMatchObject({ gate_exit_code: 0 });
    expect(await first).toContain('was ended by a signal');
  });

  it('fails if it leaves the function on another driver', async () => {
    host.write(`ln -sfn ../../../drivers/nvidia ${host.driverLink}`);
    await expect(host.pass()).rejects.toThrow('left 0000:3b:00.0 on nvidia, not on vfio-pci');
    expect(readlinkSync(host.driverLink)).toContain('nvidia');
  });

  it.each([
    ['is missing', () => rmSync(host.program), 'does not exist'],
    ['is not executable', () => chmodSync(host.program, 0o600), 'is not executable'],
    ['its group can host.write', () => chmodSync(host.program, 0o770), 'must not be writable'],
    [
      'is a folder',
      () => {
        rmSync(host.program);
        mkdirSync(host.program);
      },
      'is not a regular file',
    ],
    [
      'is a link',
      () => {
        rmSync(host.program);
        symlinkSync('/bin/true', host.program);
      },
      'is not a regular file',
    ],
    [
      'is in a folder that others can host.write',
      () => chmodSync(host.directory, 0o777),
      'not be writable',
    ],
  ])('is not run where its host.program %s', async (_, change, reason) => {
    host.write('exit 0');
    const gates = host.gatesOf({ PGPU: {} });
    change();
    await expect(host.pass(20, gates)).rejects.toThrow(reason);
  });

  it('of the class has precedence over that of the driver; other devices have none', () => {
    const gates = host.gatesOf({
      PGPU: { time_limit_seconds: 1 },
      cards: { time_limit_seconds: 2 },
    });
    expect(gates.gateFor('cards', 'PGPU')?.time_limit_seconds).toBe(1);
    expect(gates.gateFor('cards', 'FPGA')?.time_limit_seconds).toBe(2);
    expect(gates.gateFor('constructor', 'toString')).toBeUndefined();
  });
});

describe('a device with a gate', () => {
  it('is reported with the time of both, also where its driver cleans nothing', async () => {
    const discover = (seconds?: number) =>
      createDiscovery({
        drivers: [
          { name: 'cards', discover: async () => ({ devices: { [address]: card(seconds) } }) },
        ],
        gates: host.gatesOf({ PGPU: { time_limit_seconds: 60 }, CUSTOM_PGPU: {} }),
        clock: systemClock,
        log: host.log,
      })();
    const secondsOf = ({ devices: [found] }: Awaited<ReturnType<typeof discover>>) =>
      found?.device.offers?.attach_handles.map(({ clean_seconds }) => clean_seconds);
    expect(secondsOf(await discover(150))).toEqual([210]);
    expect(secondsOf(await discover())).toEqual([60]);
    expect(host.log.lines).toContainEqual({ message: 'Gate of no device', gate: 'CUSTOM_PGPU' });
  });

  it('is reported as before while the gate has it on another driver', async () => {
    host.write(`while [ ! -e ${host.directory}/go ]; do sleep 0.05; done`);
    const gates = host.gatesOf({ PGPU: {} });
    let isBound = true;
    const discover = createDiscovery({
      drivers: [
        {
          name: 'cards',
          discover: async () =>
            isBound
              ? { devices: { [address]: card() } }
              : { devices: {}, notOffered: [{ address, reason: 'is bound to nvidia' }] },
        },
      ],
      gates,
      clock: systemClock,
      log: host.log,
    });
    const before = await discover();
    const passed = host.pass(20, gates);
    isBound = false;
    expect(gates.isHeld(address)).toBe(true);
    expect(await discover()).toEqual(before);
    // A gate that ends while a driver looks has had the device during the look.
    const during = discover();
    writeFileSync(join(host.directory, 'go'), '');
    await passed;
    expect(await during).toEqual(before);
    expect((await discover()).notOffered).toHaveLength(1);
  });

  it('is not set up while the gate has it', async () => {
    const applied: string[] = [];
    const change = (at: string) => ({
      address: at,
      what: 'driver',
      before: 'nvidia',
      after: 'vfio-pci',
      apply: async () => void applied.push(at),
    });
    const driver: Driver = {
      name: 'cards',
      discover: async () => ({ devices: {} }),
      plan: async () =>
        [change(address), change('0000:3c:00.0')].filter((each) => !applied.includes(each.address)),
    };
    await setUp(driver, host.log, (at) => at === address);
    expect(applied).toEqual(['0000:3c:00.0']);
  });
});
