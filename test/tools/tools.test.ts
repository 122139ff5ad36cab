import { describe, expect, it } from 'vitest';
import { parseInstances } from '#agent/drivers/nvidia/mig.ts';
import { nvmeReleases } from '#agent/drivers/nvme/output.ts';
import { createPartitions } from '#agent/drivers/pci/partitions.ts';
import { parseFacts, reset } from '#agent/drivers/xilinx-fpga/tools.ts';
import { iproute2Releases } from '#agent/hardware/devlink.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { iproute2Cases } from './iproute2-cases.ts';
import { nvmeCases } from './nvme-cases.ts';
import { type Recording, readRecordings } from './recording.ts';

/** Programs of a version, as far as they were recorded. */
function recorded({ cases }: Recording, name: string, withProgram: boolean): Hardware {
  const runs = cases.flatMap((each) =>
    ['version', 'version of ip', name].includes(each.name) ? each.runs : [],
  );
  const exec: Hardware['exec'] = async (_device, tool, args) => {
    const command = [...(withProgram ? [tool] : []), ...args].join(' ');
    const run = runs.find((each) => each.args.join(' ') === command);
    if (run) return run;
    throw new Error(`${command} was not recorded.`);
  };
  return { exec } as Hardware;
}

describe.each([...readRecordings('nvme-cli')])('nvme-cli %s', (_version, recording) => {
  it.each(nvmeCases)('$name', async ({ name, act, expected }) => {
    const hardware = recorded(recording, name, false);
    const place = { address: '0000:c1:00.0', tool: '/usr/sbin/nvme', controller: 'nvme0' };
    expect(await act({ hardware, ...place })).toEqual(expected);
  });
});

describe.each([...readRecordings('iproute2')])('iproute2 %s', (_version, recording) => {
  it.each(iproute2Cases)('$name', async ({ name, act, expected }) => {
    expect(await act(recorded(recording, name, true))).toEqual(expected);
  });
});

describe('the releases that drivers know', () => {
  it.each([
    ['nvme-cli', nvmeReleases],
    ['iproute2', iproute2Releases],
  ])('of %s begin and end with recorded ones', (program, { first, last }) => {
    const versions = [...readRecordings(program).keys()].filter((each) => !each.includes('-rc'));
    expect([first, last]).toEqual([versions[0], versions.at(-1)]);
  });
});

describe('XRT', () => {
  const printed = (version: string, name: string) => {
    const cases = readRecordings('xrt').get(version)?.cases ?? [];
    return cases.find((each) => each.name === name)?.runs[0]?.stdout ?? '';
  };

  it.each([
    ['2.6', '0000:65:00.0', 'xilinx_u200_qdma_201920_1', '4.3.7'],
    ['2.7', '0000:03:00.0', 'xilinx_u250_gen3x16_base', '4.3.9'],
  ])('%s reports the platform of a card', (version, address, base, firmware) => {
    const facts = { platforms: [base], base, firmware };
    expect(parseFacts(printed(version, 'platform'), address)).toEqual(facts);
  });

  it('2.11 confirms a reset of the card that was asked for', async () => {
    const stdout = printed('2.11', 'reset');
    const hardware = { exec: async () => ({ exitCode: 0, stdout, stderr: '' }) };
    const settings = { xbutil: 'xbutil', xbmgmt: 'xbmgmt', tool_seconds: 1 };
    const deps = { hardware: hardware as unknown as Hardware, device: '0000:43:00.0', settings };
    await reset(deps, '0000:43:00.1');
    await expect(reset(deps, '0000:44:00.1')).rejects.toThrow('has not confirmed the reset');
  });
});

describe('fmpm', () => {
  const recording = readRecordings('fmpm').get('1.0.1') as Recording;
  const [functions, uuid] = [['0000:0f:00.0', '0000:10:00.0'], 'x'] as const;
  const info = { domain: '0000', bus: '0f', device: '00', function: '0' };
  const ask = (name: string, partition: { id: number; modules: number[] }) =>
    createPartitions({
      hardware: recorded(recording, name, false),
      fabricManager: { tool: '/usr/bin/fmpm' },
      sets: [{ functions, partition }],
      prepared: () => [{ address: 'hgx0', uuid, type: 'PCI', info }],
      recheck: async () => undefined,
    });

  it.each([
    [{ id: 3, modules: [1, 3] }, 'absent'],
    [{ id: 5, modules: [5, 7] }, 'ready'],
  ])('lists partition %j, by which a handle is %s', async (partition, state) => {
    const partitions = ask('partitions', partition);
    expect(await partitions.check()).toEqual({ reasons: new Map() });
    const found = await partitions.find({ address: 'hgx0', uuid, type: 'PCI', info });
    expect(found).toEqual({ state });
  });
});

describe('nvidia-smi', () => {
  it.each([
    ['510.47.03', 'instances', [19, 19, 14, 9]],
    ['535.183.01', 'instances', [14, 14, 5]],
    ['535.183.01', 'none', []],
  ])('%s lists the profiles of GPU instances, with %s', (version, name, profiles) => {
    const cases = readRecordings('nvidia-smi').get(version)?.cases ?? [];
    const { stdout = '' } = cases.find((each) => each.name === name)?.runs[0] ?? {};
    expect(parseInstances(stdout)).toEqual(profiles);
  });
});
