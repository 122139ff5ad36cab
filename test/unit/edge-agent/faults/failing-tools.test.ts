import { mkdirSync, mkdtempSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAmdSmi } from '#agent/faults/tools/amd-smi.ts';
import { parseNvidiaSmi } from '#agent/faults/tools/nvidia-smi.ts';
import { openToolRecords } from '#agent/faults/tools/tool-records.ts';
import { createVendorTools } from '#agent/faults/tools/vendor-tools.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer } from '#agent/hardware/port.ts';
import { confirmAddress, openConfirmations } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aClock, aLog } from '#test/support/hosts/agent.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const at = '0000:0b:00.0';

function anXml(fields: string): string {
  return `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><attached_gpus>1</attached_gpus>
<gpu id="00000000:0B:00.0">${fields}<temperature><gpu_temp>50 C</gpu_temp></temperature></gpu>
</nvidia_smi_log>
`;
}

function remapped(failure: string): string {
  return anXml(
    `<remapped_rows><remapped_row_failure>${failure}</remapped_row_failure></remapped_rows>`,
  );
}

function printed(stdout: string, exitCode = 0, stderr = ''): Answer {
  return { stdout, stderr, exitCode };
}

const [failed, well] = [printed(remapped('Yes')), printed(remapped('No'))];
const mismatch = printed('Failed to initialize NVML: Driver/library version mismatch\n', 18);
const unknown = printed(
  'Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error\n',
  255,
);
const lost = printed(
  'Unable to determine the device handle for GPU0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n',
  15,
);

function aHost(driver = 'nvidia') {
  const tree = aSysfsTree().addFunction({ address: at, driver });
  mkdirSync(join(tree.root, `bus/pci/drivers/${driver}`), { recursive: true });
  symlinkSync(`../../devices/${at}`, join(tree.root, `bus/pci/drivers/${driver}`, at));
  const directory = mkdtempSync(join(tmpdir(), 'tool-faults-'));
  const files = openStateFiles(directory);
  const clock = aClock();
  const log = aLog();
  const state: { answer: Answer | Error; installed: readonly string[] } = {
    answer: well,
    installed: ['nvidia-smi'],
  };
  const start = async () =>
    createVendorTools({
      sysfs: openSysfs(tree.root),
      hardware: {
        isInstalled: (tool = '') => state.installed.includes(tool),
        exec: async () => {
          if (state.answer instanceof Error) throw state.answer;
          return state.answer;
        },
      },
      records: await openToolRecords(files, log),
      confirmations: openConfirmations(files, log),
      clock,
      log,
    });
  return { tree, directory, files, state, clock, log, start };
}

describe('a fault that a tool has named', () => {
  it.each([
    ['ends with 18', mismatch],
    ['ends with 15', printed('GPU is lost\n', 15)],
    ['ends with 15 for this card', lost],
    ['ends with 255', unknown],
    ['ends with 9', printed('NVIDIA-SMI has failed because ...', 9)],
    ['prints nothing', printed('')],
    ['prints a part', printed(remapped('No').slice(0, 150))],
    ['prints the output twice', printed(remapped('No') + remapped('No'))],
    ['prints that the field cannot be read', printed(remapped('ERR!'))],
    ['prints no such field', printed(anXml(''))],
    ['prints another card', printed(remapped('No').replace('0B:00', '0C:00'))],
    ['speaks another language', printed('NVML konnte nicht initialisiert werden\n')],
    ['floods', new HardwareError('EFBIG', 'printed too much')],
    ['hangs', new HardwareError('ETIMEDOUT', 'no answer')],
    ['cannot be started', new HardwareError('ENOENT', 'is not installed')],
  ])('stays while the tool %s', async (_what, answer) => {
    const { state, start } = aHost();
    state.answer = failed;
    const tools = await start();
    expect(await tools.read()).toBe(true);
    const before = tools.healthOf(at);
    state.answer = answer;
    await tools.read();
    expect(tools.healthOf(at)?.state).toBe('unhealthy');
    expect(before?.reason).toBe('has a row remapping that failed, by nvidia-smi');
    state.answer = well;
    await tools.read();
    expect(tools.healthOf(at)).toBeUndefined();
  });

  it('outlasts a restart of the agent whose tool fails, and an uninstalled tool', async () => {
    const { state, start } = aHost();
    state.answer = failed;
    await (await start()).read();
    state.answer = mismatch;
    const again = await start();
    expect(again.healthOf(at)?.state).toBe('unhealthy');
    await again.read();
    state.installed = [];
    await again.read();
    expect(again.healthOf(at)?.state).toBe('unhealthy');
  });

  it('stays when the card goes to vfio-pci, and is not that of another card', async () => {
    const { tree, state, start } = aHost();
    state.answer = failed;
    const tools = await start();
    await tools.read();
    tree.removeFunction(at).addFunction({ address: at, driver: 'vfio-pci' });
    await tools.read();
    expect(tools.healthOf(at)?.state).toBe('unhealthy');
    tree.removeFunction(at).addFunction({ address: at, product: '20b5', driver: 'vfio-pci' });
    expect(tools.healthOf(at)).toBeUndefined();
  });

  it('ends when an operator confirms the device, and returns if the tool names it', async () => {
    const { files, state, clock, log, start } = aHost();
    state.answer = failed;
    const tools = await start();
    await tools.read();
    await clock.advance(1_000);
    await confirmAddress(files, log, at, {
      at: new Date(clock.wallMs()).toISOString(),
      identity: '',
    });
    state.answer = mismatch;
    await tools.read();
    expect(tools.healthOf(at)).toBeUndefined();
    await clock.advance(1_000);
    state.answer = failed;
    await tools.read();
    expect(tools.healthOf(at)?.since).toBe('1970-01-01T00:00:02.000Z');
  });

  it('that is a warning ends when no tool is asked about its card', async () => {
    const { tree, state, start } = aHost();
    state.answer = printed(
      anXml('<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>'),
    );
    const tools = await start();
    await tools.read();
    expect(tools.healthOf(at)?.state).toBe('degraded');
    state.answer = mismatch;
    expect([await tools.read(), tools.healthOf(at)?.state]).toEqual([false, 'degraded']);
    unlinkSync(join(tree.root, 'bus/pci/drivers/nvidia', at));
    expect([await tools.read(), tools.healthOf(at)]).toEqual([true, undefined]);
    expect((await start()).healthOf(at)).toBeUndefined();
  });

  it('is written again after a write that failed', async () => {
    const { directory, state, log, start } = aHost();
    const tools = await start();
    mkdirSync(join(directory, 'tool-faults.json.new'));
    state.answer = failed;
    expect(await tools.read()).toBe(true);
    expect(log.lines).toMatchObject([{ message: 'Vendor tools not read' }]);
    expect((await start()).healthOf(at)).toBeUndefined();
    rmdirSync(join(directory, 'tool-faults.json.new'));
    await tools.read();
    expect((await start()).healthOf(at)?.state).toBe('unhealthy');
  });

  it('gives way to a worse one only', async () => {
    const { state, start } = aHost();
    const tools = await start();
    state.answer = printed(
      anXml(
        '<retired_pages><pending_blacklist>Yes</pending_blacklist></retired_pages>' +
          '<remapped_rows><remapped_row_failure>N/A</remapped_row_failure></remapped_rows>',
      ),
    );
    await tools.read();
    expect(tools.healthOf(at)?.reason).toContain('a pending retirement of pages');
    state.answer = failed;
    await tools.read();
    expect(tools.healthOf(at)?.reason).toContain('a row remapping that failed');
  });
});

describe('exit codes of nvidia-smi', () => {
  it('are a fault of the card that the message names', async () => {
    const { state, start } = aHost();
    const tools = await start();
    state.answer = lost;
    expect(await tools.read()).toBe(true);
    expect(tools.healthOf(at)).toMatchObject({
      state: 'unhealthy',
      reason: 'has fallen off the bus or become inaccessible, by nvidia-smi',
    });
  });

  it.each([
    ['another card', lost.stdout.replace('0B:00', '0C:00')],
    ['two cards', lost.stdout + lost.stdout.replace('0B:00', '0C:00')],
    ['no card', 'GPU is lost\n'],
  ])('are no fault of the card if the message names %s', async (_what, text) => {
    const { state, start } = aHost();
    const tools = await start();
    state.answer = printed(text, 15);
    expect([await tools.read(), tools.healthOf(at)]).toEqual([false, undefined]);
  });

  it('14 names an infoROM that is corrupted, beside the output', async () => {
    const { state, start } = aHost();
    const tools = await start();
    const text = `${remapped('No')}WARNING: infoROM is corrupted at gpu 0000:0B:00.0\n`;
    state.answer = printed(text, 14);
    await tools.read();
    expect(tools.healthOf(at)).toMatchObject({ state: 'degraded' });
    expect(tools.readings().get(at)?.celsius).toBe(50);
  });

  it('are in the log with their meaning, once', async () => {
    const { state, log, start } = aHost();
    const tools = await start();
    state.answer = mismatch;
    await tools.read();
    await tools.read();
    expect(log.lines).toMatchObject([
      {
        message: 'Vendor tool not read',
        reason: 'nvidia-smi ended with 18 (its library and the driver are of different releases)',
      },
    ]);
  });

  it('are a warning of the card after an hour, which ends with the first answer', async () => {
    const { state, clock, start } = aHost();
    const tools = await start();
    state.answer = mismatch;
    expect(await tools.read()).toBe(false);
    await clock.advance(3_599_999);
    expect(await tools.read()).toBe(false);
    await clock.advance(1);
    expect(await tools.read()).toBe(true);
    expect(tools.healthOf(at)).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('has not been read for an hour: nvidia-smi ended with 18'),
      since: '1970-01-01T00:00:00.000Z',
    });
    state.answer = well;
    expect([await tools.read(), tools.healthOf(at)]).toEqual([true, undefined]);
  });
});

describe('outputs of tools', () => {
  it.each([
    ['in all', '<double_bit><device_memory>1</device_memory><total>3</total></double_bit>'],
    [
      'in parts',
      '<double_bit><device_memory>1</device_memory><cbu>2</cbu><total>N/A</total></double_bit>',
    ],
  ])('of Pascal and Volta count double-bit errors %s', (_what, fields) => {
    const single = '<single_bit><total>12</total></single_bit>';
    const volatile = `<volatile>${single}${fields}</volatile>`;
    const reading = parseNvidiaSmi(anXml(`<ecc_errors>${volatile}</ecc_errors>`), at);
    expect(reading).toMatchObject({ uncorrectable: 3, fault: { severity: 'warning' } });
  });

  it.each([
    ['warnings before it', `WARNING: a group is missing\n\n${remapped('Yes')}`],
    ['an & that is not escaped', remapped('Yes').replace('</gpu>', '<name>a & b</name></gpu>')],
    [
      'a name that closes its element',
      remapped('Yes').replace(
        '</gpu>',
        '<processes><process_info><process_name></process_name></processes></gpu><gpu id="x"></process_name></process_info></processes></gpu>',
      ),
    ],
  ])('of nvidia-smi are read with %s', (_what, text) => {
    expect(parseNvidiaSmi(text, at)?.fault?.severity).toBe('fatal');
  });

  it.each(['GPU is lost', '[GPU requires reset]'])('name a card by %j', (text) => {
    const xml = anXml('').replace('50 C', text);
    expect(parseNvidiaSmi(xml, at)?.fault?.severity).toBe('fatal');
    const process = `<processes><process_info><process_name>${text}</process_name></process_info></processes>`;
    expect(parseNvidiaSmi(anXml(process), at)?.fault).toBeUndefined();
  });

  it('of amd-smi keep the temperature without counts, and the counts without it', () => {
    const temperature = { hotspot: { value: 37, unit: 'C' } };
    const ecc = { total_uncorrectable_count: 2 };
    const read = (card: unknown) => parseAmdSmi(`WARNING: no group\n${JSON.stringify([card])}`);
    expect(read({ temperature, ecc: 'N/A' })).toEqual({ celsius: 37 });
    expect(read({ temperature: 'N/A', ecc })).toMatchObject({ uncorrectable: 2 });
    expect(read({ usage: 'N/A' })).toBeUndefined();
  });

  it('of amd-smi without the count do not end the fault', async () => {
    const { state, start } = aHost('amdgpu');
    state.installed = ['amd-smi'];
    const tools = await start();
    const answer = (errors: unknown) =>
      printed(JSON.stringify([{ ecc: { total_uncorrectable_count: errors } }]));
    state.answer = answer(1);
    await tools.read();
    state.answer = answer('N/A');
    await tools.read();
    expect(tools.healthOf(at)?.state).toBe('degraded');
    state.answer = answer(0);
    await tools.read();
    expect(tools.healthOf(at)).toBeUndefined();
  });
});
