import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { billOf, billOfIdleHost, dollarsOf, memory, scaled } from '#infra/cost/bill.ts';
import { countedUnits } from '#infra/cost/counted-units.ts';
import { prices } from '#infra/cost/prices.ts';
import { markdown, rowsOf, services } from '#infra/cost/print-bill.ts';
import { synthesize } from './synthesized.ts';

const document = readFileSync(new URL('../../docs/scale.md', import.meta.url), 'utf8');
const million = 1_000_000;
const lives = (['pci', 'vgpu', 'fpga'] as const).map((kind) => scaled(billOf(kind), million));

describe('the bill', () => {
  it('is made of what was counted, at the price that is written down', () => {
    const [pci, vgpu, fpga] = lives.map(dollarsOf);
    expect(pci?.writeUnit).toBeCloseTo(countedUnits.pci.writes * 0.625);
    expect(pci?.apiRequest).toBeCloseTo(5);
    expect(pci?.remoteAction).toBeUndefined();
    // A quarter of a million at $0.003, the rest at half of it.
    expect(vgpu?.remoteAction).toBeCloseTo(750 + 1_750_000 * 0.0015);
    expect(fpga?.objectPut).toBeCloseTo(5);
  });

  it('knows the memory of the functions', () => {
    const stack = synthesize();
    const sizeOf = (name: string) => stack.functionNamed(name).properties.MemorySize / 1024;
    expect([sizeOf('accelerator-requests'), sizeOf('host-jobs'), sizeOf('sweep')]).toEqual([
      memory.request,
      memory.consumer,
      memory.consumer,
    ]);
  });

  it('has each price in one line, and says of each where it is from', () => {
    expect(Object.values(services).flat().sort()).toEqual(Object.keys(prices).sort());
    for (const { source } of Object.values(prices)) expect(source).toMatch(/20\d\d/);
  });

  it.each([
    ['PCI', countedUnits.pci],
    ['vGPU', countedUnits.vgpu],
    ['FPGA, programmed', countedUnits.fpga],
  ])('is made of what the document says of %s', (name, units) => {
    const row = document.split('\n').find((line) => line.startsWith(`| ${name} | 5 |`)) ?? '';
    const [, , requests, writes, reads, messages, jobs] = row.split('|').map(Number.parseFloat);
    const expected = [units.requests, units.writes, units.reads, units.messages, units.jobs];
    expect([requests, writes, reads, messages, jobs]).toEqual(expected);
  });

  it('is the one in the document', () => {
    expect(document).toContain(markdown(['', 'PCI', 'vGPU', 'FPGA, programmed'], rowsOf(lives)));
    const idle = rowsOf([scaled(billOfIdleHost(), 10_000)]);
    expect(document).toContain(markdown(['', 'hosts'], idle));
  });
});
