// Large hardware: how the time of a bind changes with its provider's attach handles, and how long
// the first report of a host with many devices takes.

import { setTimeout as sleep } from 'node:timers/promises';
import { composeReport, nothingAcknowledged } from '#agent/report/compose-report.ts';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import { silentLog } from '#core/log.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import {
  createSubject,
  type LatencyOptions,
  type Measured,
  measure,
  percentile,
} from './latency.ts';
import { printMultiples } from './print/print-multiples.ts';
import { printTable } from './print/print-table.ts';
import { type OwnSystem, startOwnSystem } from './system/own-system.ts';
import { watchStreams } from './system/stream-progress.ts';

/** Sizes of the bound providers; the first is the base of the ratios. */
const handleCounts = [16, 512, 4096] as const;
/** The limit for the ratio of medians of PATCH. */
const bindGrowthMax = 1.3;
const deviceCount = 512;
const firstReports = 3;
const firstReportTargetMs = 2000;
const stillSecondsMax = 300;

/** Prints times and ratios, which are not judged. Returns false if a measurement ended early. */
export async function benchLarge({ iterations }: LatencyOptions): Promise<boolean> {
  const own = await startOwnSystem({ handles: handleCounts, arqCount: 0 });
  try {
    await streamsRead(own);
    const subjects = own.places.map((place, at) =>
      createSubject(`${handleCounts[at]?.toLocaleString('en')} handles`, own.target, [place]),
    );
    const measured = await measure(subjects, { iterations, concurrencies: [1] });
    for (const { api } of subjects) api.close();
    refuseUnmeasured(measured);
    printMultiples('PATCH', measured, bindGrowthMax);
    await benchFirstReports(own);
    return true;
  } finally {
    await own.stop();
  }
}

/** @throws Error naming the subject that was not measured to its end */
export function refuseUnmeasured(measured: readonly Measured[]): void {
  for (const { subject, rounds, failure } of measured) {
    if (failure === undefined && rounds.length > 0 && rounds.every(({ cycles }) => cycles > 0)) {
      continue;
    }
    throw new Error(`${subject.title} was not measured: ${failure ?? 'no server was bound'}.`);
  }
}

/** Without the consumers, which would tell Placement of the first devices meanwhile. */
async function benchFirstReports({ layout, system, variables }: OwnSystem): Promise<void> {
  await system.kill('consumers');
  Object.assign(process.env, variables);
  const deps = { ...createConsumerDeps('bench'), log: silentLog };
  const times: number[] = [];
  for (let at = 1; at <= firstReports; at++) {
    await announceHost(layout, `large${at}`);
    times.push(await firstReport(deps, `large${at}`));
  }
  printTable(
    `The first report of ${deviceCount} devices, until all are stored: milliseconds`,
    ['', 'least', 'median', 'most'],
    [['', ...[0, 0.5, 1].map((share) => percentile(times, share).toFixed(0))]],
  );
  console.log(`  Target on an idle machine: ${firstReportTargetMs}.`);
}

/** Applies the report in parts, as the agent sends it. Returns the milliseconds that it takes. */
async function firstReport(deps: ConsumerDeps, hostname: string): Promise<number> {
  const found = Array.from({ length: deviceCount }, (_, at) => {
    const address = `0000:${(at >> 3).toString(16).padStart(2, '0')}:00.${at & 7}`;
    const device = aDevice({ address, provider_suffix: `Large${at}`, handles: 1 });
    return { device, digest: computeDigest(device) };
  });
  const plan = composeReport(
    { devices: found, failedDrivers: [], notOffered: [], novaVersions: [] },
    nothingAcknowledged,
    0,
  );
  const startedAt = performance.now();
  for (const [at, part] of plan.parts.entries()) {
    const report = aReport(part, { sequence: at + 1, manifest: plan.manifest });
    await applyReport(deps, hostname, report, Date.now());
  }
  const ms = performance.now() - startedAt;
  const { devices } = await deps.store.inventory.host(hostname);
  if (devices.length !== deviceCount) throw new Error(`${devices.length} devices were stored.`);
  return ms;
}

export async function streamsRead({ layout }: OwnSystem): Promise<void> {
  const streams = watchStreams(layout);
  try {
    await until(async () => streams.areRead());
  } finally {
    streams.close();
  }
}

/** @throws Error after {@link stillSecondsMax} */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + stillSecondsMax * 1000;
  while (!(await isDone())) {
    if (performance.now() > giveUpAt) throw new Error('The system did not finish in time.');
    await sleep(10);
  }
}
