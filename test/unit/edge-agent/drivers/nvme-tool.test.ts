import { describe, expect, it } from 'vitest';
import {
  bootPartitionBytes,
  identify,
  listNamespaces,
  parseSanitizeLog,
  readNamespace,
  readSanitizeLog,
} from '#agent/drivers/nvme/tool.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';

/** A tool that answers everything alike. */
function aTool(answer: Partial<Answer>) {
  const ran: string[][] = [];
  const hardware = {
    exec: async (_device: string, tool: string, args: readonly string[]) => {
      ran.push([tool, ...args]);
      return { exitCode: 0, stdout: '', stderr: '', ...answer };
    },
  } as unknown as Hardware;
  const deps = { hardware, address: '0000:c1:00.0', tool: '/usr/sbin/nvme', controller: 'nvme3' };
  return { deps, ran };
}

const printing = (given: unknown) => aTool({ stdout: JSON.stringify(given) }).deps;

function log(status: string, given: object = {}) {
  return { sprog: 0x8000, sstat: { global_erased: 0, status }, cdw10_info: 4, ...given };
}

describe('the sanitize log', () => {
  it.each([
    ['(0) NVM Subsystem has never been sanitized.', 'never'],
    ['(1) Most Recent Sanitize Command Completed Successfully.', 'completed'],
    ['(2) Sanitize in Progress.', 'running'],
    ['(3) Most Recent Sanitize Command Failed.', 'failed'],
    ['(4) Most Recent Sanitize Command (No-Deallocate After Sanitize) Completed.', 'completed'],
  ])('with status %s is %s', (status, state) => {
    expect(parseSanitizeLog(log(status)).state).toBe(state);
  });

  // nvme-cli 2.7, 2.7.1 and 2.8, nvme-print-json.c: `obj_add_str(sstat, status_str, str)`.
  it.each([
    ['NVM Subsystem has never been sanitized.', 0, 'never'],
    ['Most Recent Sanitize Command Completed Successfully.', 1, 'completed'],
    ['Sanitize in Progress.', 2, 'running'],
    ['Most Recent Sanitize Command Failed.', 3, 'failed'],
  ])('may have its status under the text: %s', (text, status, state) => {
    const sstat = { global_erased: 0, no_cmplted_passes: 0, [text]: `(${status}) ${text}` };
    expect(parseSanitizeLog(log('', { sstat })).state).toBe(state);
  });

  it('with two texts that may be its status is refused', () => {
    const sstat = { global_erased: 0, one: '(1) one', two: '(2) two' };
    expect(() => parseSanitizeLog(log('', { sstat }))).toThrow('printed what is not valid for it.');
  });

  it('has the progress, the erased bit, the action and its exit', async () => {
    const sstat = { global_erased: 1, no_cmplted_passes: 0, status: '(1) done' };
    const read = readSanitizeLog(printing({ nvme3: log('', { sstat, cdw10_info: 0xa }) }));
    expect(await read).toEqual({
      ...{ state: 'completed', percent: 50, isGloballyErased: true },
      ...{ action: 2, isUnrestricted: true },
    });
  });

  it.each([
    ['another controller', { nvme0: log('(1) done') }],
    ['no status', { nvme3: { sprog: 0, sstat: { global_erased: 0 }, cdw10_info: 0 } }],
    ['a progress beyond its bits', { nvme3: log('(1) done', { sprog: 0x10000 }) }],
    ['a list', []],
  ])('with %s is refused', async (_what, given) => {
    await expect(readSanitizeLog(printing(given))).rejects.toThrow(
      'nvme sanitize-log printed what is not valid for it.',
    );
  });

  it('with an unknown status is refused', () => {
    expect(() => parseSanitizeLog(log('(5) Media Verification'))).toThrow(
      'The sanitize log has the unknown status 5.',
    );
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

describe('numbers of the controller', () => {
  it('have capacities as a number or as a text', async () => {
    const identity = { sn: 'S ', mn: 'M ', fr: '1 ', cntlid: 1 };
    const form = { ...identity, sanicap: 3, oacs: 8, fna: 4, frmw: 0x16 };
    for (const unvmcap of [1_000_204_886_016, '1000204886016']) {
      expect(await identify(printing({ ...form, unvmcap }))).toEqual({
        ...{ serial: 'S', model: 'M', firmware: '1', id: 1, sanitizeCapabilities: 3 },
        ...{ commands: 8, formatAttributes: 4, firmwareUpdates: 0x16 },
        unallocated: 1_000_204_886_016,
      });
    }
  });

  it('have an LBA format of up to six bits, and a format that runs', async () => {
    const given = { flbas: 0x41, fpi: 0x80 | 30, lbafs: [{ ds: 9 }, { ds: 12 }] };
    expect(await readNamespace(printing(given), 1)).toEqual({
      ...{ format: 33, blockSizes: [512, 4096], isFormatting: true },
    });
  });

  it('have boot partitions in 128 KiB, the active one in the highest bit', async () => {
    const bytes = (bpinfo: number) => bootPartitionBytes(printing({ vs: 0x10400, bpinfo }));
    expect(await bytes(0)).toBe(0);
    expect(await bytes(2)).toBe(256 * 1024);
    expect(await bytes(-0x80000000 + 1)).toBe(128 * 1024);
    await expect(bytes(-1)).rejects.toThrow('registers of the controller cannot be read');
  });

  it('have registers in hexadecimal, described, from nvme-cli 2.11 and 2.12', async () => {
    const bytes = (bpinfo: string) =>
      bootPartitionBytes(
        printing({
          vs: [{ Version: '10400', 'NVMe specification': '1.4.0' }],
          bpinfo: [{ bpinfo, 'Boot Partition Size (BPSZ)': 2 }],
        }),
      );
    expect(await bytes('2')).toBe(256 * 1024);
    expect(await bytes('80000001')).toBe(128 * 1024);
    await expect(bytes('ffffffff')).rejects.toThrow('registers of the controller cannot be read');
    await expect(bytes('0x2')).rejects.toThrow('nvme show-regs printed what is not valid for it.');
  });
});
