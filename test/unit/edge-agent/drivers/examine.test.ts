// What the drivers tell of a host's hardware to the command self-test.

import { describe, expect, it } from 'vitest';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import { describeForm } from '#agent/drivers/nvidia/examine.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { divided, NicHost } from '#test/drivers/nic/host.ts';
import { address, NvmeHost } from '#test/drivers/nvme/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

describe('driver nvme', () => {
  const host = perTest(() => new NvmeHost());

  it('tells what a controller on the kernel driver can do', async () => {
    await host.start();
    host.kernel.reboot();
    const before = host.changes();
    expect(await host.driver?.examine?.()).toEqual([
      {
        address,
        outcome: 'seen',
        what: 'Its Sanitize supports crypto-erase, block-erase, overwrite; it can format.',
      },
      { address, outcome: 'seen', what: 'Its sanitize log says: never.' },
      { address, outcome: 'seen', what: 'It has boot partitions of 0 bytes.' },
    ]);
    expect(host.changes()).toEqual(before);
  });

  it('has not seen what a device on VFIO does not show', async () => {
    await host.start();
    expect(await host.driver?.examine?.()).toContainEqual({
      address,
      outcome: 'not seen',
      what: 'Its driver is vfio-pci; only the driver nvme shows what it can do.',
    });
  });

  it('tells that the tool prints nonsense, or cannot be started', async () => {
    await host.start();
    host.kernel.reboot();
    host.kernel.faults.set('id-ctrl', '{').set('version', new Error('ENOENT'));
    expect(await host.driver?.examine?.()).toContainEqual({
      address,
      outcome: 'failed',
      what: 'nvme id-ctrl printed what is not valid for it.',
    });
    expect(await host.driver?.examineTools?.()).toEqual([
      { outcome: 'not seen', what: '/usr/sbin/nvme cannot be used: ENOENT.' },
    ]);
  });

  it.each([
    ['nvme version 2.3 (git 2.3)\n', 'seen', 'nvme-cli is of version 2.3.'],
    [
      'nvme version 3.0-rc1 (git 3.0-rc1)\n',
      'not seen',
      'nvme-cli is of version 3.0, whose output is not known: what is not in the strict form is ' +
        'refused. Known versions: 2.3 to 2.16.',
    ],
    ['', 'not seen', '/usr/sbin/nvme cannot be used: /usr/sbin/nvme does not show its version.'],
  ])('says which version of nvme-cli prints %j', async (printed, outcome, what) => {
    await host.start();
    host.kernel.faults.set('version', printed);
    expect(await host.driver?.examineTools?.()).toEqual([{ outcome, what }]);
  });
});

describe('driver nic', () => {
  const host = perTest(() => new NicHost());

  it('runs ip for virtual functions, and devlink for firmware', async () => {
    await host.start(divided);
    const ip = { outcome: 'seen', what: 'ip of iproute2 is of version 6.1.0.' };
    expect(await host.driver.examineTools?.()).toEqual([ip]);
    const components = [{ name: 'fw', version: 'fw.mgmt' }];
    await host.start({ cards: [{ ...divided.cards[0], components }] });
    const devlink = { outcome: 'seen', what: 'devlink of iproute2 is of version 6.1.0.' };
    expect(await host.driver.examineTools?.()).toEqual([ip, devlink]);
  });
});

describe('the version of a program', () => {
  const releases = { first: '2.12', last: '2.25' };
  it.each([
    ['XRT Build Version    : 2.16.204 (HEAD)', '2.16.204', 'seen'],
    ['ip utility, iproute2-2.25.3', '2.25.3', 'seen'],
    ['ip utility, iproute2-2.26.0', '2.26.0', 'not seen'],
    ['v2.9', '2.9', 'not seen'],
  ])('is read from %j', async (stdout, version, outcome) => {
    const hardware = { exec: async () => ({ exitCode: 0, stdout, stderr: '' }) };
    const tool = { name: 'xbutil', program: 'xbutil', args: ['--version'], releases };
    const seen = await examineToolVersion(hardware as unknown as Hardware, tool);
    expect(seen.outcome).toBe(outcome);
    expect(seen.what).toContain(`xbutil is of version ${version}`);
  });
});

describe("the list of NVIDIA's types of vGPUs", () => {
  it.each([
    [
      'ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n1147  : NVIDIA L40S-1Q\n',
      '2 types, the number first',
    ],
    ['NVIDIA A40-2Q   558\n', '1 types, the name first'],
    ['ID    : vGPU Name\n', 'no type below its header'],
    ['', 'nothing'],
    ['ID    : vGPU Name\nsomething else\n', undefined],
  ])('%j has a form', (text, form) => {
    expect(describeForm(text)).toBe(form);
  });
});
