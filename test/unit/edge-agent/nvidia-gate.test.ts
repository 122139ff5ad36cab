// The example of a gate, on a simulated sysfs and with a simulated nvidia-smi: no GPU was ever
// asked. The kernel's part, that a probe binds a function, is played by the test.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const address = '0000:3b:00.0';
const gate = new URL('../../../examples/gates/nvidia-gate', import.meta.url).pathname;

let directory: string;
let sysfs: string;
let device: string;
/** Drivers that the simulated kernel binds. */
let drivers: string[];
let kernel: NodeJS.Timeout;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'nvidia-gate-'));
  sysfs = join(directory, 'sys');
  device = join(sysfs, 'bus/pci/devices', address);
  drivers = ['nvidia', 'vfio-pci'];
  mkdirSync(device, { recursive: true });
  for (const name of drivers) mkdirSync(join(sysfs, 'bus/pci/drivers', name), { recursive: true });
  writeFileSync(join(sysfs, 'bus/pci/drivers_probe'), '');
  bindTo('vfio-pci');
  kernel = setInterval(playKernel, 5);
});
afterEach(() => {
  clearInterval(kernel);
  rmSync(directory, { recursive: true });
});

function bindTo(name: string): void {
  symlinkSync(`../../drivers/${name}`, join(device, 'driver'));
}

function bound(): string {
  return basename(readlinkSync(join(device, 'driver')));
}

function takeText(path: string): string {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (text) writeFileSync(path, '');
  return text.trim();
}

function playKernel(): void {
  for (const name of drivers) {
    const isUnbound = takeText(join(sysfs, 'bus/pci/drivers', name, 'unbind')) === address;
    if (isUnbound) rmSync(join(device, 'driver'), { force: true });
  }
  if (existsSync(join(device, 'driver'))) return;
  const override = readFileSync(join(device, 'driver_override'), 'utf8').trim();
  if (takeText(join(sysfs, 'bus/pci/drivers_probe')) === address && drivers.includes(override)) {
    bindTo(override);
  }
}

const healthy = {
  remapped_row_pending: 'No',
  remapped_row_failure: 'No',
  remapped_row_corr: '0',
  remapped_row_unc: '2',
  vbios_version: '96.00.74.00.01',
  dram_uncorrectable: '0',
};
type State = Partial<Record<keyof typeof healthy, string>>;

function toXml(given: State): string {
  const { dram_uncorrectable: errors, ...others } = { ...healthy, ...given };
  const element = ([name, value]: [string, string]) => `    <${name}>${value}</${name}>`;
  return [
    '<?xml version="1.0" ?>\n<nvidia_smi_log>\n  <gpu id="00000000:3B:00.0">',
    ...Object.entries(others).map(element),
    '    <volatile>\n      <sram_uncorrectable_parity>0</sram_uncorrectable_parity>',
    element(['dram_uncorrectable', errors]),
    '    </volatile>\n    <aggregate>\n      <dram_uncorrectable>7</dram_uncorrectable>',
    '    </aggregate>\n  </gpu>\n</nvidia_smi_log>\n',
  ].join('\n');
}

/** @param states what nvidia-smi shows before and after its reset; undefined: it fails */
async function run(states: readonly (State | string | undefined)[], firmware?: string) {
  const bin = join(directory, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [index, state] of states.entries()) {
    if (state === undefined) continue;
    const xml = typeof state === 'string' ? state : toXml(state);
    writeFileSync(join(bin, `state${index}`), xml);
  }
  const calls = join(directory, 'calls');
  writeFileSync(
    join(bin, 'nvidia-smi'),
    [
      '#!/bin/sh',
      `echo "$(basename $(readlink ${device}/driver)) $*" >> ${calls}`,
      `resets=$(grep -c gpu-reset ${calls})`,
      `[ "$1" = --gpu-reset ] || exec cat ${bin}/state$resets`,
    ].join('\n'),
  );
  writeFileSync(join(bin, 'sleep'), '#!/bin/sh\nexec /bin/sleep 0.01\n');
  for (const name of ['nvidia-smi', 'sleep']) chmodSync(join(bin, name), 0o755);
  if (firmware) writeFileSync(join(directory, 'firmware'), firmware);
  const child = spawn(gate, {
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      SYSFS: sysfs,
      FIRMWARE: join(directory, 'firmware'),
      GATE_PCI_ADDRESS: address,
      GATE_MODEL: '10de:2330',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [exitCode] = (await once(child, 'close')) as [number];
  const called = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { exitCode, output: output.trim(), called };
}

const query = `nvidia -q -x -i ${address}`;

it('passes a healthy GPU, which it asks on its driver and binds as before', async () => {
  expect(await run([{}])).toEqual({
    exitCode: 0,
    output: 'vbios 96.00.74.00.01, rows remapped: 0 and 2',
    called: [query],
  });
  expect(bound()).toBe('vfio-pci');
});

it('resets a GPU once whose repair waits for that', async () => {
  const pending = { remapped_row_pending: 'Yes' };
  const { exitCode, called } = await run([pending, {}]);
  expect([exitCode, called]).toEqual([0, [query, `nvidia --gpu-reset -i ${address}`, query]]);
  rmSync(join(directory, 'calls'));
  const { exitCode: again, output } = await run([pending, pending]);
  expect([again, output]).toEqual([1, 'a repair of memory is pending after a reset']);
  expect(bound()).toBe('vfio-pci');
});

it.each<[string, State | string | undefined, string]>([
  ['memory that could not be repaired', { remapped_row_failure: 'Yes' }, 'could not be remapped'],
  ['new uncorrectable errors', { dram_uncorrectable: '1' }, 'uncorrectable ECC errors'],
  ['unknown counters', { dram_uncorrectable: 'N/A' }, 'uncorrectable ECC errors'],
  ['nonsense of the tool', 'Segmentation fault\n', 'no state of remapped rows'],
  ['an unknown state of rows', { remapped_row_pending: 'N/A' }, 'no state of remapped rows'],
  ['a tool that fails', undefined, 'nvidia-smi does not answer'],
])('fails by %s, and binds the function as before', async (_, state, reason) => {
  const { exitCode, output } = await run([state]);
  expect([exitCode, output]).toEqual([1, expect.stringContaining(reason)]);
  expect(bound()).toBe('vfio-pci');
});

it('passes only firmware of the list, where there is one', async () => {
  expect(await run([{}], '10de:2330 96.00.74.00.01\n')).toMatchObject({ exitCode: 0 });
  expect(await run([{}], '10de:2330 96.00.74.00.02\n')).toMatchObject({
    exitCode: 1,
    output: 'firmware 96.00.74.00.01 is not in the list',
  });
});
