import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { evidence, type JobEvent, readDetail } from '#core/contracts/job-document.ts';
import { readJobId } from '#core/contracts/job-ids.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { Cleaning } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import {
  type HostRelease,
  type HostWorkKind,
  hostWork,
  type JobFinishedKind,
  type JobNote,
} from '#core/domain/host-work/host-work.ts';
import { isEndedByBoot } from '#core/domain/report/report-plan.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import {
  bindAgain,
  failBind,
  type PreparedInfo,
  succeedBind,
} from '#core/operations/bind/finish-bind.ts';
import { changeNoteOf } from '#core/operations/change-note-of.ts';
import { endProgram, quarantineProgram } from '#core/operations/program/end-program.ts';
import { cleanUnderBoot } from '#core/operations/release/clean-under-boot.ts';
import { noteSuccess, quarantine } from '#core/operations/release/quarantine.ts';
import { reprovisionInstance } from '#core/operations/reprovision/reprovision-host.ts';
import { handleInfo } from '#core/shapes/attach-handle.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';

const rejectedSeconds = 10;

/** What is read of the end of a job, or of the answer to a work message. */
export type EndOfJob = Pick<JobEvent, 'operation' | 'jobId'> &
  Partial<JobEvent> & {
    /** The host that answered; AWS IoT itself vouches for the end of a job. */
    readonly answeredBy?: string;
  };

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
    throw new RetryLater('A job was rejected; a report may tell why.', rejectedSeconds);
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
    if (host.conflict) {
      await quarantine(deps, release, inConflict(release.hostname));
      return;
    }
    if (event.operation === 'succeeded') {
      await deps.store.releases.confirm(
        release,
        changeNoteOf(deps),
        undefined,
        cleaningsOf(deps, event),
      );
      deps.log.info('Release confirmed.', namesOf(release));
      if (inventory) await noteSuccess(deps, inventory);
      return;
    }
    if (event.operation === 'rejected' && isEndedByBoot(release, host)) {
      await cleanUnderBoot(deps, release);
      return;
    }
    await quarantine(deps, release, reasonOf(event));
    // A retry, or the same event again, is no new failure of the host.
    const isNew = release.quarantine === undefined;
    if (inventory) await noteFailure(deps, inventory.host, event, isNew ? 1 : 0);
    deps.log.error('Release failed.', { ...namesOf(release), reason: reasonOf(event) });
  },

  async program(deps, programId, event) {
    const program = await deps.store.releases.program(programId);
    if (!program || isOfAnotherHost(deps, program, event)) return;
    const { host } = await deps.store.inventory.host(program.hostname);
    if (host.conflict) await quarantineProgram(deps, program, inConflict(program.hostname));
    else if (event.operation === 'succeeded') await endProgram(deps, program);
    else if (isToldByHost(event)) await endProgram(deps, program, reasonOf(event));
    else await quarantineProgram(deps, program, reasonOf(event));
  },
};

/** A host may end its own work only. */
function isOfAnotherHost(
  deps: ConsumerDeps,
  { hostname }: { readonly hostname: string },
  { answeredBy, jobId }: EndOfJob,
): boolean {
  if (answeredBy === undefined || answeredBy === hostname) return false;
  deps.log.warn('Answer of another host ignored', { job: jobId, host: hostname, answeredBy });
  return true;
}

function isFinishedByJob(kind: HostWorkKind): kind is JobFinishedKind {
  return hostWork[kind].finishedBy === 'job-end';
}

/**
 * Resolves the bindings that the job was for. The job's end counts only in the boot that the job
 * was for: another boot has removed what the host made, and its agent refuses the job. A bind then
 * starts again; a boot reprovisions other bindings.
 */
async function finishBinds(deps: ConsumerDeps, jobUuid: string, event: EndOfJob): Promise<void> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  if (!note) return;
  if (note.bindIds) return finishShared(deps, jobUuid, note, event);
  for (const instanceUuid of note.instances) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    // Another bind, or another boot's job, resolves the binding.
    if (!binding || decidingJob(binding) !== jobUuid) continue;
    if (isOfAnotherHost(deps, binding, event)) return;
    const inventory = await deps.store.inventory.host(binding.hostname);
    const { host, waiting } = inventory;
    const hasWaited = waiting.some(({ bindId }) => bindId === jobUuid);
    if (host.conflict) await finishInConflict(deps, binding);
    else if (host.bootId !== note.bootId) await bindAgain(deps, binding);
    else if (event.operation === 'succeeded') {
      await succeedBind(deps, binding, note.bootId, preparedBy(event));
      if (host.failedJobs) await noteSuccess(deps, inventory);
    } else if (note.instances.length === 1) {
      // Count the failure first: for the same event again the binding has failed already.
      await noteFailure(deps, host, event, 1);
      // A shared job that has the bind, too, may yet leave something.
      const left = hasWaited ? undefined : leftBy(event);
      await failBind(deps, binding, { cause: 'host', reason: reasonOf(event) }, left);
    }
    // One of several instances failed. A job for each shows which.
    else await reprovisionInstance(deps, host, binding);
    if (hasWaited) await deps.store.waitingBinds.forget(host.hostname, [binding.bindId]);
  }
  await deps.store.arqs.forgetJob(jobUuid);
}

/**
 * Resolves the binds that a shared job has made ready. Where it has not, each gets a job of its
 * own, by its message on host-jobs: that job's end says which failed, and why.
 */
async function finishShared(
  deps: ConsumerDeps,
  jobUuid: string,
  { instances, bootId, bindIds = [] }: JobNote,
  event: EndOfJob,
): Promise<void> {
  const stored = await Promise.all(instances.map((each) => deps.store.arqs.binding(each)));
  const bindings = stored.flatMap((binding) =>
    binding?.state === 'BindStarted' && bindIds.includes(binding.bindId) ? [binding] : [],
  );
  const [first] = bindings;
  if (first) {
    const { hostname } = first;
    if (isOfAnotherHost(deps, first, event)) return;
    const inventory = await deps.store.inventory.host(hostname);
    const { host } = inventory;
    const isMade = event.operation === 'succeeded' && !host.conflict && host.bootId === bootId;
    if (isMade) {
      for (const each of bindings) {
        await succeedBind(deps, each, bootId, preparedBy(event));
        // Of its own job: its end has no effect any more.
        await deps.store.arqs.forgetJob(each.bindId);
      }
      await deps.store.waitingBinds.forget(hostname, bindIds);
      if (host.failedJobs) await noteSuccess(deps, inventory);
    } else {
      const now = new Date(deps.clock()).toISOString();
      await deps.store.waitingBinds.putShared(hostname, bindIds, now);
      deps.log.warn('Shared job failed.', {
        host: hostname,
        job: jobUuid,
        reason: reasonOf(event),
      });
    }
  }
  await deps.store.arqs.forgetJob(jobUuid);
}

/** In a conflict no agent's answer counts: provisioning goes on when the conflict is over. */
async function finishInConflict(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  if (binding.state !== 'BindStarted') return;
  await failBind(deps, binding, { cause: 'host', reason: inConflict(binding.hostname) });
}

function inConflict(hostname: string): string {
  return `Two agents report as host ${hostname}.`;
}

/** The uuid of the job whose end resolves the binding; undefined for one that is resolved. */
function decidingJob({ state, bindId, jobUuid }: InstanceBinding): string | undefined {
  if (state === 'BindStarted') return bindId;
  return state === 'provisioning' ? jobUuid : undefined;
}

/** Whether the host itself ended the job. Otherwise it may still be working on it. */
function isToldByHost({ operation }: EndOfJob): boolean {
  return operation === 'failed' || operation === 'rejected';
}

/** `nothing` where the host itself says that the job has left nothing. */
function leftBy({ operation, statusDetails }: EndOfJob): 'nothing' | undefined {
  return operation === 'failed' && statusDetails?.left === 'nothing' ? 'nothing' : undefined;
}

/** Counts a failure of the host; a job that failed for what it asked is none. */
async function noteFailure(
  deps: ConsumerDeps,
  host: StoredHost,
  event: EndOfJob,
  count: 0 | 1,
): Promise<void> {
  if (event.operation !== 'failed' || event.statusDetails?.fault === 'request') return;
  const now = new Date(deps.clock()).toISOString();
  await deps.store.inventory.noteFailure(host, { count, reason: reasonOf(event), lastAt: now });
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

/** `info` that the host has chosen for handles, by their uuids. */
function preparedBy({ statusDetails }: EndOfJob): PreparedInfo {
  return readDetail(z.record(z.string(), handleInfo), statusDetails?.prepared) ?? {};
}

/** What the host has verified, by the handles' uuids. */
function cleaningsOf(deps: ConsumerDeps, { statusDetails }: EndOfJob): Record<string, Cleaning> {
  const told = readDetail(z.record(z.string(), evidence), statusDetails?.evidence) ?? {};
  const at = new Date(deps.clock()).toISOString();
  return Object.fromEntries(
    Object.entries(told).map(([handle, facts]) => [handle, { at, evidence: facts }]),
  );
}

function namesOf({ hostname, id, requestId }: HostRelease) {
  return { host: hostname, release: id, ...(requestId && { request_id: requestId }) };
}

function reasonOf({ operation, statusDetails }: EndOfJob): string {
  return statusDetails?.reason ?? `The host's job ended ${operation}.`;
}
