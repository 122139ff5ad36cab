// The agent's helper refuses whatever is not one of its calls, before it asks the kernel. The
// calls themselves are made by the suite on a real kernel.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const directory = directoryPerFile();
const helper = join(directory, 'helper');

describe.skipIf(!hasCompiler)('the helper, where there is a C compiler', () => {
  beforeAll(() => {
    const built = spawnSync(process.execPath, ['infra/bundle/build-helper.ts', helper]);
    expect(built.status, String(built.stderr)).toBe(0);
  });

  const run = (...args: string[]) => {
    const { status, stderr } = spawnSync(helper, args, { encoding: 'utf8' });
    return { status, stderr };
  };

  it.each([
    [],
    ['--help'],
    ['dfl-reset'],
    ['dfl-program', '/dev/dfl-fme.0', '0'],
    ['dfl-program', '/dev/dfl-fme.0', '0', 'image', '-1'],
    ['dfl-program', '/dev/dfl-fme.0', '0', 'image', '1', 'more'],
    ['dfl-release', '/dev/dfl-fme.0', '-1'],
    ['dfl-release', '/dev/dfl-fme.0', '64'],
    ['dfl-assign', '/dev/dfl-fme.0', '0x1'],
    ['dfl-assign', '/dev/dfl-fme.0', '0', 'more'],
    ['pci-read', '0000:01:00.0'],
    ['disk-claim'],
    ['disk-claim', '/dev/nvme0n1', '/dev/nvme1n1'],
    ['pci-read', '../../0000:01:00.0', '4'],
    ['pci-read', '0000:01:00.0', '3'],
    ['pci-read', '0000:01:00.0', '4096'],
  ])('names its calls for %j', (...args) => {
    expect(run(...args)).toEqual({ status: 2, stderr: expect.stringContaining('dfl-program FME') });
  });

  it.each([
    ['/dev/null', 'Invalid argument'],
    ['/dev/dfl-port.', 'Invalid argument'],
    ['/dev/dfl-port.0/../null', 'Invalid argument'],
    ['/dev/dfl-fme.0', 'Invalid argument'],
    ['/dev/dfl-port.99', 'Invalid argument'],
    ['/dev/dfl-port.42', 'No such file or directory'],
  ])('opens no other device: %s', (device, reason) => {
    const stderr = `helper: ${device}: ${reason}\n`;
    expect(run('dfl-reset', device)).toEqual({ status: 1, stderr });
  });

  it.each([
    ['/dev/null', 'Invalid argument'],
    ['/dev/', 'Invalid argument'],
    ['/dev/disk/by-id/x', 'Invalid argument'],
    ['/dev/../etc/passwd', 'Invalid argument'],
    ['nvme0n1', 'Invalid argument'],
    ['/dev/nvme99n1', 'No such file or directory'],
  ])('claims no other than a disk: %s', (device, reason) => {
    const stderr = `helper: ${device}: ${reason}\n`;
    expect(run('disk-claim', device)).toEqual({ status: 1, stderr });
  });
});
