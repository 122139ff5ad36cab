import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { metrics } from '#core/contracts/metrics.ts';
import {
  billOf,
  billOfFixedCosts,
  billOfIdleHost,
  billOfTraces,
  billsOfNetwork,
  dollarsOf,
  memory,
  scaled,
  serverKinds,
  serverTitles,
  standingTitles,
  taken,
} from '#infra/cost/bill.ts';
import { countedLogLine, countedMetricLine, countedUnits } from '#infra/cost/counted-units.ts';
import { dollarsOfProvisioned, fixedCostsOf } from '#infra/cost/fixed-costs.ts';
import { prices } from '#infra/cost/prices.ts';
import { markdown, rowsOf, services } from '#infra/cost/print-bill.ts';
import { synthesize } from '#infra/privileges/synthesized.ts';
import { runbooks } from './runbooks.ts';

const document = readFileSync(new URL('../../infra/cost/README.md', import.meta.url), 'utf8');
const scale = readFileSync(new URL('../../docs/scale.md', import.meta.url), 'utf8');
const index = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const stack = synthesize();
const resources = stack.resources.map(({ type: Type, properties: Properties }) => ({
  Type,
  Properties,
}));
const million = 1_000_000;
const lives = serverKinds.map((kind) => scaled(billOf(kind), million));
const idle = rowsOf([
  scaled(billOfIdleHost(), 10_000),
  billOfFixedCosts(fixedCostsOf(resources)),
  ...billsOfNetwork(),
]);

describe('the cost model', () => {
  it('multiplies the counted units by the documented price', () => {
    const [pci, , vgpu, , fpga] = lives.map(dollarsOf);
    const { writes, recorded } = countedUnits.pci;
    expect(pci?.writeUnit).toBeCloseTo((writes - recorded) * 0.625);
    expect(pci?.recordedWriteUnit).toBeCloseTo(recorded * 0.78);
    expect(pci?.apiRequest).toBeCloseTo(5);
    expect(pci?.remoteAction).toBeUndefined();
    // A quarter of a million at $0.003, the rest at half of that.
    expect(vgpu?.remoteAction).toBeCloseTo(750 + 750_000 * 0.0015);
    expect(fpga?.objectPut).toBeCloseTo(5);
  });

  it('counts its options: events, traces, lines of logs and metrics', () => {
    const [pci] = lives.map(dollarsOf);
    expect(pci?.customEvent).toBeCloseTo(countedUnits.pci.events);
    expect(pci?.trace).toBeUndefined();
    const traces = dollarsOf(scaled(billOfTraces('pci'), million)).trace;
    expect(traces).toBeCloseTo(countedUnits.pci.traceable * 5);
    const { requests, logLines, metricLines } = countedUnits.pci;
    const bytes =
      requests * taken.accessLineBytes +
      logLines * (countedLogLine.bytes + taken.lineOverheadBytes) +
      metricLines * (countedMetricLine.bytes + taken.lineOverheadBytes);
    expect(pci?.loggedGigabyte).toBeCloseTo(((bytes * million) / 1024 ** 3) * 0.5);
  });

  it('has fewer invocations than records, by the batches of announcements', () => {
    const { requests, messages, changes, announced } = countedUnits.pci;
    const least = requests + messages + changes;
    const invocations = (lives[0]?.invocation ?? 0) / million;
    expect(invocations).toBeGreaterThan(least + 1);
    expect(invocations).toBeLessThan(least + announced / 2);
  });

  it('polls the queues of an idle cloud, and traces and announces nothing of it', () => {
    const polls = (7 * 5 * 3 * 60 * 24 * 365.25) / 12;
    expect(billOfFixedCosts(fixedCostsOf(resources)).queueRequest).toBeCloseTo(polls, -1);
    expect(billOfTraces('heartbeat').trace).toBe(0);
    expect(billOfIdleHost().customEvent).toBe(0);
  });

  it('has each metric of ours, and each that an alarm of the stack watches', () => {
    const names = metrics.flatMap(({ name, ...row }) =>
      'dimension' in row ? row.dimension.values.map((value) => `${name} ${value}`) : [name],
    );
    const watched = stack
      .ofType('AWS::CloudWatch::Alarm')
      .flatMap(({ properties }) => properties.Metrics ?? [properties])
      .flatMap((each) => each.MetricName ?? each.MetricStat?.Metric.MetricName ?? []);
    expect(billOfFixedCosts(fixedCostsOf(resources))).toMatchObject({
      // And the metric of the access log.
      metric: names.length + 1,
      alarm: watched.length,
      dashboard: 1,
    });
    expect(index).toContain(`about $${Math.round(watched.length * prices.alarm.dollars)} a month`);
    expect(runbooks).toContain(`at most nine of the ${names.length}`);
    const hourly = metrics.flatMap((row) =>
      row.name === 'Handles' || row.name === 'Hosts' ? [...row.dimension.values] : [],
    );
    expect(hourly).toHaveLength(9);
  });

  it('has the memory of the functions', () => {
    const sizeOf = (name: string) => stack.functionNamed(name).properties.MemorySize / 1024;
    const names = ['accelerator-requests', 'device-profiles', 'host-jobs', 'sweep', 'nova-events'];
    expect(names.map(sizeOf)).toEqual([
      memory.request,
      memory.request,
      memory.consumer,
      memory.consumer,
      memory.novaEvents,
    ]);
  });

  it('has the prices of provisioned executions of docs/deploy.md', () => {
    const guide = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
    const [, section = ''] = guide.split('## Executions that have started');
    const hoursOfWeek = 5 * 12;
    const dollars = [
      dollarsOfProvisioned(memory.request),
      dollarsOfProvisioned(memory.consumer),
      dollarsOfProvisioned(memory.request, hoursOfWeek),
    ];
    for (const each of dollars) expect(section).toContain(`$${each.toFixed(2)}`);
  });

  it('has each price in one line, with its source', () => {
    expect(Object.values(services).flat().sort()).toEqual(Object.keys(prices).sort());
    for (const { source } of Object.values(prices)) expect(source).toMatch(/20\d\d/);
  });

  it.each([
    ['PCI', countedUnits.pci],
    ['vGPU, made ahead', countedUnits.vgpuAhead],
    ['vGPU', countedUnits.vgpu],
    ['FPGA, image present', countedUnits.fpgaPresent],
    ['FPGA, programmed', countedUnits.fpga],
  ])('is made of what the document says of %s', (name, units) => {
    const row = document.split('\n').find((line) => line.startsWith(`| ${name} | 5 |`)) ?? '';
    const [, , requests, writes, reads, messages, jobs] = row.split('|').map(Number.parseFloat);
    const expected = [units.requests, units.writes, units.reads, units.messages, units.jobs];
    expect([requests, writes, reads, messages, jobs]).toEqual(expected);
  });

  it('has the reboots of the document', () => {
    expect(scale).toContain(`${countedUnits.boot.writes} WRU for a host with one accelerator`);
  });

  it('equals the document', () => {
    expect(document).toContain(markdown(serverTitles, rowsOf(lives)));
    expect(document).toContain(markdown(standingTitles, idle));
  });

  it('has its totals on the page of operators', () => {
    const [, ...totals] = rowsOf(lives).at(-1) ?? [];
    for (const [at, total] of totals.entries()) {
      expect(scale).toContain(`| ${serverTitles[at + 1]} | ${total} |`);
    }
    for (const total of idle.at(-1)?.slice(1) ?? []) {
      expect(scale).toContain(`$${total}`);
    }
  });
});
