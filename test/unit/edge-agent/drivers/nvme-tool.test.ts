import { describe, expect, it } from 'vitest';
import {
  bootPartitionBytes,
  identify,
  listNamespaces,
  readFirmwareSlots,
  readSanitizeLog,
} from '#agent/drivers/nvme/tool.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';

/** A tool that answers everything alike, but for its version. */
function aTool(answer: Partial<Answer>, version = 'nvme version 2.16') {
  const ran: string[][] = [];
  const hardware = {
    exec: async (_device: string, tool: string, args: readonly string[]) => {
      ran.push([tool, ...args]);
      if (args[0] === 'version') return { exitCode: 0, stdout: version, stderr: '' };
      return { exitCode: 0, stdout: '', stderr: '', ...answer };
    },
  } as unknown as Hardware;
  const deps = { hardware, address: '0000:c1:00.0', tool: '/usr/sbin/nvme', controller: 'nvme3' };
  return { deps, ran };
}

const printing = (given: unknown, version?: string) =>
  aTool({ stdout: JSON.stringify(given) }, version).deps;

const sanitizeLog = { sprog: 0x8000, sstat: { global_erased: 0, status: '(1) done' } };

describe('the sanitize log', () => {
  it.each([
    ['another controller', { nvme0: { ...sanitizeLog, cdw10_info: 4 } }],
    ['no status', { nvme3: { sprog: 0, sstat: { global_erased: 0 }, cdw10_info: 0 } }],
    ['a progress beyond its bits', { nvme3: { ...sanitizeLog, sprog: 0x10000, cdw10_info: 0 } }],
    ['a list', []],
  ])('with %s is refused', async (_what, given) => {
    await expect(readSanitizeLog(printing(given))).rejects.toThrow(
      'nvme sanitize-log printed what is not valid for it.',
    );
  });

  it('with an unknown status is refused', async () => {
    const sstat = { global_erased: 0, status: '(5) Media Verification' };
    const log = { nvme3: { ...sanitizeLog, sstat, cdw10_info: 4 } };
    await expect(readSanitizeLog(printing(log))).rejects.toThrow(
      'The sanitize log has the unknown status 5.',
    );
  });
});

describe('a release that prints something else', () => {
  const underText = { global_erased: 0, 'Sanitize in Progress.': '(2) Sanitize in Progress.' };
  const log = (sstat: object) => ({ nvme3: { ...sanitizeLog, sstat, cdw10_info: 4 } });
  const read = (version: string, sstat: object) =>
    readSanitizeLog(printing(log(sstat), `nvme version ${version} (git ${version})`));

  it('is understood if it was recorded so', async () => {
    expect(await read('2.8', underText)).toMatchObject({ state: 'running' });
  });

  it.each(['2.6', '2.9', '2.16', '3.0', '1.16'])('is refused as %s', async (version) => {
    await expect(read(version, underText)).rejects.toThrow('printed what is not valid for it.');
  });

  it('is refused if two texts may be its status', async () => {
    const sstat = { global_erased: 0, one: '(1) one', two: '(2) two' };
    await expect(read('2.8', sstat)).rejects.toThrow('printed what is not valid for it.');
  });
});

describe('the firmware log', () => {
  const log = { 'Active Firmware Slot (afi)': 0x21 };

  it.each([
    ['no log', undefined],
    ['no slot that runs', { 'Active Firmware Slot (afi)': 0x20 }],
    ['a revision that is no number', { ...log, 'Firmware Rev Slot 2': '(1.0.....)' }],
    ['a revision that is too long', { ...log, 'Firmware Rev Slot 2': '1 (1.0.......)' }],
  ])('is refused with %s', async (_, shown) => {
    const read = readFirmwareSlots(printing({ nvme3: shown }));
    await expect(read).rejects.toThrow(/firmware log|fw-log/);
  });
});

describe('the tool', () => {
  it('is run without a shell, by its absolute path', async () => {
    const { deps, ran } = aTool({ stdout: '{"nsid_list":[{"nsid":1},{"nsid":7}]}' });
    expect(await listNamespaces(deps, true)).toEqual([1, 7]);
    expect(ran).toEqual([['/usr/sbin/nvme', 'list-ns', '/dev/nvme3', '--all', '-o', 'json']]);
  });

  it('that fails is quoted by its first line', async () => {
    const { deps } = aTool({ exitCode: 1, stderr: 'NVMe status: \u001b[1mbad\nmore' });
    await expect(identify(deps)).rejects.toThrow(
      'nvme id-ctrl failed with exit code 1: NVMe status: ?[1mbad',
    );
  });

  it.each(['', 'Segmentation fault', '{', '{"sn":1}', 'null'])(
    'that prints %j is refused',
    async (stdout) => {
      await expect(identify(aTool({ stdout }).deps)).rejects.toThrow('nvme id-ctrl printed what');
    },
  );

  it('that is late fails with the code of the port', async () => {
    const late = new HardwareError('ETIMEDOUT', 'no answer within 30 s');
    const hardware = { exec: () => Promise.reject(late) } as unknown as Hardware;
    const deps = { ...aTool({}).deps, hardware };
    await expect(identify(deps)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });
});

describe('the registers', () => {
  it.each([
    ['2.16', { vs: -1, bpinfo: -1 }],
    ['2.16', { vs: 0x10400, bpinfo: -1 }],
    ['2.11', { vs: [{ Version: '10400' }], bpinfo: [{ bpinfo: 'ffffffff' }] }],
  ])('of %s that cannot be read are refused', async (version, given) => {
    const read = bootPartitionBytes(printing(given, `nvme version ${version}`));
    await expect(read).rejects.toThrow('registers of the controller cannot be read');
  });

  it('in an unknown form are refused', async () => {
    const given = { vs: [{ Version: '10400' }], bpinfo: [{ bpinfo: '0x2' }] };
    const read = bootPartitionBytes(printing(given, 'nvme version 2.11'));
    await expect(read).rejects.toThrow('nvme show-regs printed what is not valid for it.');
  });
});
