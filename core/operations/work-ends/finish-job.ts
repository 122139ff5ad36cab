import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { readEvidence } from '#core/contracts/jobs/job-document.ts';
import { readJobId } from '#core/contracts/jobs/job-ids.ts';
import type { Cleaning } from '#core/domain/device/device.ts';
import {
  type HostProgram,
  type HostRelease,
  type HostWorkKind,
  hostWork,
  type JobFinishedKind,
} from '#core/domain/host-work/host-work.ts';
import { isEndedByBoot } from '#core/domain/report/report-plan.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import {
  awaitPowerCycle,
  endProgram,
  quarantineProgram,
} from '#core/operations/program/end-program.ts';
import { resumeProgram } from '#core/operations/program/resume-program.ts';
import { cleanUnderBoot } from '#core/operations/release/clean-under-boot.ts';
import { noteSuccess, quarantine } from '#core/operations/release/quarantine.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { endTurn } from './cleaning-turns.ts';
import {
  type EndOfJob,
  failureReason,
  isOfAnotherHost,
  mistrustReason,
  noteFailure,
} from './end-of-job.ts';
import { finishBinds } from './finish-binds.ts';

const rejectedSeconds = 10;

/**
 * Finishes the work of a job that has ended. Events come at least once and in any order; the
 * stored state of the work says whether the event still applies.
 *
 * @param attempt which delivery of the event this is, from 1; without it no other delivery follows
 * @throws RetryLater at the first delivery where a job was rejected
 */
export async function finishJob(
  deps: ConsumerDeps,
  event: EndOfJob,
  attempt = Number.POSITIVE_INFINITY,
): Promise<void> {
  const job = readJobId(deps.settings.stage, event.jobId);
  if (!job || !isFinishedByJob(job.kind)) return;
  // An agent rejects a job for another boot; the report that names its boot may be on its way.
  if (event.operation === 'rejected' && attempt === 1) {
    throw new RetryLater('A job was rejected; a report may say why.', rejectedSeconds);
  }
  await finish[job.kind](deps, job.uuid, event);
}

type Finish = (deps: ConsumerDeps, uuid: string, event: EndOfJob) => Promise<void>;

const finish: Readonly<Record<JobFinishedKind, Finish>> = {
  bind: finishBinds,
  reprovision: finishBinds,

  async release(deps, releaseId, event) {
    const release = await deps.store.releases.release(releaseId);
    if (!release || isOfAnotherHost(deps, release, event)) return;
    const inventory = await hostOfFailures(deps, release, event);
    const { host } = inventory ?? (await deps.store.inventory.host(release.hostname));
    const mistrust = mistrustReason(host);
    await endTurn(deps, host, release, mistrust ? undefined : event);
    if (mistrust) {
      await quarantine(deps, release, mistrust);
      return;
    }
    if (event.operation === 'succeeded') {
      await deps.store.releases.confirm(
        release,
        makeChangeNote(deps),
        undefined,
        readCleanings(deps, event),
      );
      deps.log.info('Release confirmed', logFields(release));
      if (inventory) await noteSuccess(deps, inventory);
      return;
    }
    if (event.operation === 'rejected' && isEndedByBoot(release, host)) {
      await cleanUnderBoot(deps, release);
      return;
    }
    await quarantine(deps, release, failureReason(event));
    // A retry, or the same event again, is no new failure of the host.
    const isNew = release.quarantine === undefined;
    if (inventory) await noteFailure(deps, inventory.host, event, isNew ? 1 : 0);
    deps.log.error('Release failed', { ...logFields(release), reason: failureReason(event) });
  },

  async program(deps, programId, event) {
    const program = await deps.store.releases.program(programId);
    if (!program || isOfAnotherHost(deps, program, event)) return;
    const { host } = await deps.store.inventory.host(program.hostname);
    const failure = failureReason(event);
    // The agent refuses a request before it touches the device.
    const isPartial = event.operation === 'failed' && event.statusDetails?.fault !== 'request';
    const mistrust = mistrustReason(host);
    if (mistrust) await quarantineProgram(deps, program, mistrust);
    else if (event.operation === 'succeeded') await succeedProgram(deps, program, event);
    else if (program.component && isEndedByBoot(program, host)) await resumeProgram(deps, program);
    else if (isEndedByHost(event)) await endProgram(deps, program, { failure, isPartial });
    else await quarantineProgram(deps, program, failure);
  },
};

/** The event may be lost, and with it what the host said: then its report decides. */
async function succeedProgram(
  deps: ConsumerDeps,
  program: HostProgram,
  { statusDetails }: EndOfJob,
): Promise<void> {
  const { component, hostname } = program;
  if (!component) return await endProgram(deps, program);
  const { name, version, deviceUuid } = component;
  const evidences = readEvidence(statusDetails);
  const { devices } = await deps.store.inventory.host(hostname);
  const device = devices.find(({ uuid }) => uuid === deviceUuid);
  const reported = device?.components?.find((each) => each.name === name);
  const awaits = statusDetails ? statusDetails.awaits : reported?.version !== version;
  if (awaits) await awaitPowerCycle(deps, program, evidences[name]);
  else await endProgram(deps, program, { evidence: evidences[name] });
}

function isFinishedByJob(kind: HostWorkKind): kind is JobFinishedKind {
  return hostWork[kind].finishedBy === 'job-end';
}

/** Whether the host itself ended the job. Otherwise it may still be working on it. */
function isEndedByHost({ operation }: EndOfJob): boolean {
  return operation === 'failed' || operation === 'rejected';
}

/** The host, where the end of the job changes its count of failures. */
async function hostOfFailures(
  deps: ConsumerDeps,
  { hostname, quarantine }: HostRelease,
  { operation }: EndOfJob,
): Promise<HostInventory | undefined> {
  const isUsual = operation === 'succeeded' && quarantine === undefined;
  return isUsual ? undefined : deps.store.inventory.host(hostname);
}

/** What the host has verified, by the handles' uuids. */
function readCleanings(deps: ConsumerDeps, { statusDetails }: EndOfJob): Record<string, Cleaning> {
  const reported = readEvidence(statusDetails);
  const at = timeNow(deps);
  return Object.fromEntries(
    Object.entries(reported).map(([handle, facts]) => [handle, { at, evidence: facts }]),
  );
}

function logFields({ hostname, id, requestId }: HostRelease) {
  return { host: hostname, release: id, ...present({ request_id: requestId }) };
}
