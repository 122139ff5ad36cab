import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAmdSmi } from '#agent/faults/tools/amd-smi.ts';
import { parseNvidiaSmi } from '#agent/faults/tools/nvidia-smi.ts';
import { createVendorTools } from '#agent/faults/tools/vendor-tools.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer } from '#agent/hardware/port.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aClock, aLog } from '#test/support/hosts/agent.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { readRecordings } from '#test/tools/recording.ts';

const recorded = [...readRecordings('nvidia-smi').values()].flatMap(({ cases }) =>
  cases.flatMap(({ name, runs: [run] }) =>
    name.startsWith('query ') && run ? [{ name, run }] : [],
  ),
);
const [t4, a10g, a100, ada] = recorded.map(({ run }) => run.stdout) as [
  string,
  string,
  string,
  string,
];
const [at, adaAt] = ['0000:01:00.0', '0000:06:00.0'];

describe('nvidia-smi', () => {
  it.each(recorded)('prints a card without a fault: $name', ({ name, run }) => {
    const celsius = { 'query T4': 40, 'query A10G': 17, 'query A100': 27 }[name] ?? 38;
    const counted = name === 'query RTX 4000 SFF Ada' ? {} : { uncorrectable: 0 };
    expect(parseNvidiaSmi(run.stdout, run.args.at(-1) ?? '')).toEqual({ celsius, ...counted });
  });

  // The recorded cards are well, so the fields of a fault are changed in what they printed.
  it.each([
    ['remapped_row_failure>No', 'remapped_row_failure>Yes', 'fatal', 'a row remapping that failed'],
    [
      'unrepairable_memory>N/A',
      'unrepairable_memory>Yes',
      'fatal',
      'memory that cannot be repaired',
    ],
    ['recovery_action>None', 'recovery_action>Reset', 'fatal', 'a request for a reset or a reboot'],
    ['recovery_action>None', 'recovery_action>Drain P2P', 'warning', 'a request to stop traffic'],
    ['remapped_row_pending>No', 'remapped_row_pending>Yes', 'warning', 'a pending row remapping'],
    ['tpc_repair_pending>No', 'tpc_repair_pending>Yes', 'warning', 'a pending repair of a TPC'],
    ['threshold_exceeded>N/A', 'threshold_exceeded>Yes', 'warning', 'more uncorrectable errors'],
    ['hw_thermal_slowdown>Not Active', 'hw_thermal_slowdown>Active', 'warning', 'a slowdown'],
    ['dram_uncorrectable>N/A', 'dram_uncorrectable>3', 'warning', 'uncorrectable ECC errors'],
  ])('prints a fault: %s is %s', (well, ill, severity, what) => {
    expect(ada).toContain(well);
    const { fault } = parseNvidiaSmi(ada.replace(well, ill), adaAt) ?? {};
    expect(fault).toMatchObject({ severity, meaning: expect.stringContaining(`has ${what}`) });
  });

  it('prints a fault of releases before gpu_recovery_action', () => {
    const [needed, pending] = [
      a100.replace('<reset_required>No', '<reset_required>Yes'),
      t4.replace('<pending_retirement>No', '<pending_retirement>Yes'),
    ];
    expect(parseNvidiaSmi(needed, at)?.fault?.severity).toBe('fatal');
    expect(parseNvidiaSmi(pending, '0000:00:1e.0')?.fault?.severity).toBe('warning');
  });

  it('prints errors of a MIG device that are not those of the card', () => {
    const text = a100.replace('<sram_uncorrectable>0', '<sram_uncorrectable>5');
    expect(parseNvidiaSmi(text, at)).toMatchObject({ uncorrectable: 0 });
  });

  it.each([
    ['another card', a10g],
    [
      'two cards',
      a100.replace('</nvidia_smi_log>', '<gpu id="00000000:01:00.0"/></nvidia_smi_log>'),
    ],
    ['a part', a100.slice(0, 2000)],
    ['an entity of its own', a100.replace('"nvsmi_device_v12.dtd"', '"a" [<!ENTITY b "c">]')],
    ['no XML', 'No devices were found'],
    ['nothing', ''],
  ])('printed %s: no reading', (_what, text) => {
    expect(parseNvidiaSmi(text, at)).toBeUndefined();
  });
});

describe('amd-smi', () => {
  const card = (errors: unknown) => ({
    gpu: 0,
    temperature: { edge: { value: 33, unit: 'C' }, hotspot: { value: 37, unit: 'C' } },
    ecc: { total_correctable_count: 1, total_uncorrectable_count: errors },
  });

  it.each([
    ['ROCm 6', [card(0)]],
    ['ROCm 7', { gpu_data: [card(0)] }],
    ['a host of virtual functions', [card('0')]],
  ])('prints counts and a temperature: %s', (_release, output) => {
    expect(parseAmdSmi(JSON.stringify(output))).toEqual({ celsius: 37, uncorrectable: 0 });
  });

  it('prints a fault, or that it does not know', () => {
    expect(parseAmdSmi(JSON.stringify([card(2)]))?.fault?.severity).toBe('warning');
    expect(parseAmdSmi(JSON.stringify([card('N/A')]))).toEqual({ celsius: 37 });
  });

  it.each([['{}'], ['[]'], [JSON.stringify([card(0), card(0)])], ['not JSON'], ['null']])(
    'printed %s: no reading',
    (text) => expect(parseAmdSmi(text)).toBeUndefined(),
  );
});

function aHost(answer: (tool: string) => Promise<Answer>, installed = ['nvidia-smi']) {
  const tree = aSysfsTree()
    .addFunction({ address: at, driver: 'nvidia' })
    .addFunction({ address: '0000:01:00.4', driver: 'nvidia', physicalFunction: at })
    .addFunction({ address: '0000:02:00.0', driver: 'vfio-pci' });
  for (const name of [at, '0000:01:00.4']) {
    mkdirSync(join(tree.root, 'bus/pci/drivers/nvidia'), { recursive: true });
    symlinkSync(`../../devices/${name}`, join(tree.root, 'bus/pci/drivers/nvidia', name));
  }
  const ran: string[] = [];
  const clock = aClock();
  const log = aLog();
  const tools = createVendorTools({
    sysfs: openSysfs(tree.root),
    hardware: {
      isInstalled: (tool = '') => installed.includes(tool),
      exec: async (_device, tool, args) => {
        ran.push([tool, ...args].join(' '));
        return await answer(tool);
      },
    },
    clock,
    log,
  });
  return { tools, ran, clock, log };
}

function printed(stdout: string, exitCode = 0): Answer {
  return { stdout, stderr: '', exitCode };
}

describe("vendors' tools", () => {
  it('are asked about the cards that their drivers hold, not about functions', async () => {
    const { tools, ran } = aHost(async () => printed(a100));
    expect(await tools.read()).toBe(false);
    expect(ran).toEqual([`nvidia-smi -q -x -i ${at}`]);
    expect([...tools.readings()]).toEqual([[at, { celsius: 27, uncorrectable: 0 }]]);
    expect(tools.healthOf(at)).toBeUndefined();
  });

  it('are asked only where they are installed', async () => {
    const { tools, ran } = aHost(async () => printed(a100), []);
    expect([await tools.read(), ran]).toEqual([false, []]);
  });

  it('name a fault once, with its beginning, until it has ended', async () => {
    let text = a100.replace('<reset_required>No', '<reset_required>Yes');
    const { tools, clock } = aHost(async () => printed(text));
    expect([await tools.read(), tools.healthOf(at)?.state]).toEqual([true, 'unhealthy']);
    await clock.advance(600_000);
    expect(await tools.read()).toBe(false);
    expect(tools.healthOf(at)?.since).toBe('1970-01-01T00:00:00.000Z');
    text = a100;
    expect([await tools.read(), tools.healthOf(at)]).toEqual([true, undefined]);
  });

  it.each([
    ['prints nonsense', async () => printed('<nvidia_smi_log/>')],
    ['fails', async () => printed(a100.replace('<reset_required>No', '<reset_required>Yes'), 15)],
    ['floods', () => Promise.reject(new HardwareError('EFBIG', 'printed too much'))],
  ])('say nothing of a card when one %s', async (_what, answer) => {
    const { tools, log } = aHost(answer);
    expect([await tools.read(), await tools.read()]).toEqual([false, false]);
    expect(tools.healthOf(at)).toBeUndefined();
    expect(log.lines).toMatchObject([{ message: 'Vendor tool not read', address: at }]);
  });

  it('that hang are a warning for as long as they do', async () => {
    let code = 'ETIMEDOUT';
    const { tools } = aHost(() => Promise.reject(new HardwareError(code, 'late')));
    expect([await tools.read(), tools.healthOf(at)?.state]).toEqual([true, 'degraded']);
    code = 'EBUSY';
    expect([await tools.read(), tools.healthOf(at)?.state]).toEqual([false, 'degraded']);
  });
});
