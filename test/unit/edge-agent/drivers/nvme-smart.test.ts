import { describe, expect, it } from 'vitest';
import { readOutput, smartOutput } from '#agent/drivers/nvme/output.ts';
import { address, NvmeHost } from '#test/drivers/nvme/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(() => new NvmeHost());
const healthOf = async () => (await host.discover())[address]?.health;

describe('SMART logs of NVMe devices', () => {
  it.each([
    [0x08, 'unhealthy', 'has a medium that is read-only, by its SMART log'],
    [0x04, 'unhealthy', 'has lost reliability by errors of its medium, by its SMART log'],
    [0x10, 'unhealthy', 'has a volatile memory whose backup has failed, by its SMART log'],
    [0x20, 'degraded', 'has a persistent memory region that is unreliable, by its SMART log'],
    [0x01, 'degraded', 'has less spare capacity than its threshold, by its SMART log'],
    [0x02, 'degraded', 'has a temperature beyond its threshold, by its SMART log'],
    [0x05, 'unhealthy', 'has lost reliability by errors of its medium, by its SMART log'],
  ])('are read before the device is on VFIO: warning %i', async (warning, state, reason) => {
    host.device.warning = warning;
    const { [address]: device } = await host.start();
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
    expect(device?.health).toMatchObject({ state, reason });
    expect(device?.offers).toBeDefined();
  });

  it('say nothing of a device without a warning, or with one of a later specification', async () => {
    host.device.warning = 0x40;
    expect((await host.start())[address]).not.toHaveProperty('health');
  });

  it('are read after each cleaning, and not while a server has the device', async () => {
    await host.start();
    host.device.warning = 0x04;
    expect(await healthOf()).toBeUndefined();
    expect(host.kernel.ran).toEqual([]);
    const before = host.driver.signature?.();
    await host.clean();
    // The agent looks at once, before the next server has the device.
    expect(host.driver.signature?.()).not.toBe(before);
    const health = await healthOf();
    expect(health?.state).toBe('unhealthy');
    // The next reading of the same warning does not change since when it is so.
    host.nowMs += 60_000;
    await host.clean();
    expect(await healthOf()).toEqual(health);
    host.device.warning = 0;
    await host.clean();
    expect(await healthOf()).toBeUndefined();
  });

  it('outlast a restart of the agent, and end with the device', async () => {
    host.device.warning = 0x08;
    await host.start();
    expect((await host.start())[address]?.health?.state).toBe('unhealthy');
    host.kernel.ran.length = 0;
    Object.assign(host.device, { serial: 'another', warning: 0 });
    host.kernel.reboot();
    expect((await host.start())[address]).not.toHaveProperty('health');
  });

  it.each([
    ['fails', { exitCode: 1, stderr: 'NVMe status: INVALID_LOG_PAGE(0x109)' }],
    ['prints anything else', '{"critical_warning": 256}'],
    ['prints no JSON', 'Smart Log for NVME device'],
    ['cannot be run', new Error('nvme has not ended within 5 s')],
  ])('are no reason to keep a clean device back: the tool %s', async (_what, fault) => {
    host.kernel.faults.set('smart-log', fault);
    expect((await host.start())[address]).not.toHaveProperty('health');
    expect(await host.clean()).toMatchObject({ cleaned_by: 'sanitise crypto-erase' });
    expect(host.host.log.lines).toContainEqual(
      expect.objectContaining({ message: 'SMART log not read', address }),
    );
  });
});

describe('the critical warning', () => {
  const bits = { available_spare: 0, temp_threshold: 0, reliability_degraded: 1, ro: 0 };

  it.each([
    ['a number', 4],
    ['an object, as in 2.11 and 2.12', { value: 4, ...bits }],
    ['a text', '4'],
    ['a hexadecimal text', '0x04'],
  ])('is read as %s', (_form, critical_warning) => {
    const answer = { stdout: JSON.stringify({ critical_warning, temperature: 324 }), exitCode: 0 };
    for (const version of [undefined, '2.3', '2.11', '2.12', '3.0']) {
      expect(readOutput(smartOutput, answer, version)).toEqual({ critical_warning: 4 });
    }
  });

  it.each(['', 'four', '-4', '256', 256, -1, 4.5, null, {}, { value: '4' }, [4]])(
    'is not read as %j',
    (critical_warning) => {
      const answer = { stdout: JSON.stringify({ critical_warning }), exitCode: 0 };
      expect(readOutput(smartOutput, answer, '2.11')).toBeUndefined();
    },
  );

  it('is not read from an answer that failed', () => {
    const stdout = '{"critical_warning":0}';
    expect(readOutput(smartOutput, { stdout, exitCode: 1 }, '2.11')).toBeUndefined();
  });
});
