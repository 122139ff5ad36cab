import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { JobEvent } from '../../contracts/job-document.ts';
import { type JobKind, readJobId } from '../../contracts/job-ids.ts';
import type { HostRelease, InstanceBinding } from '../../domain/arq.ts';
import type { StoredHost } from '../../domain/report-plan.ts';
import { RetryLater } from '../../domain/retry-later.ts';
import type { HostInventory } from '../../store/hosts.ts';
import { failBind, failOvertaken, succeedBind } from '../bind/finish-bind.ts';
import { noteSuccess, quarantine } from '../release/quarantine.ts';
import { reprovisionInstance } from './after-reboot.ts';
import { endProgram, quarantineProgram } from './run-program.ts';

const rejectedSeconds = 10;

/**
 * A job has ended on its host. Events come at least once and in any order; what they are about says,
 * by its own state, whether they still mean anything.
 *
 * @param attempt which delivery of the event this is, from 1; without it no other comes
 * @throws RetryLater at first where a job was rejected
 */
export async function finishJob(
  deps: ConsumerDeps,
  event: JobEvent,
  attempt = Number.POSITIVE_INFINITY,
): Promise<void> {
  const job = readJobId(deps.settings.stage, event.jobId);
  if (!job) return;
  // Agents reject what is for another boot; the report that names theirs may be on its way.
  if (event.operation === 'rejected' && attempt === 1) {
    throw new RetryLater('A job was rejected; a report may tell why.', rejectedSeconds);
  }
  await finish[job.kind](deps, job.uuid, event);
}

type Finish = (deps: ConsumerDeps, uuid: string, event: JobEvent) => Promise<void>;

const finish: Readonly<Record<JobKind, Finish>> = {
  bind: finishBinds,
  boot: finishBinds,

  async free(deps, releaseId, event) {
    const release = await deps.store.releases.byId(releaseId);
    if (!release) return;
    const inventory = await hostOfFailures(deps, release, event);
    const { host } = inventory ?? (await deps.store.inventory.host(release.hostname));
    if (host.conflict) {
      await quarantine(deps, release, inConflict(release.hostname));
      return;
    }
    if (event.operation === 'succeeded') {
      await deps.store.releases.confirm(release);
      deps.log.info('The host has cleaned up.', namesOf(release));
      if (inventory) await noteSuccess(deps, inventory);
      return;
    }
    await quarantine(deps, release, reasonOf(event));
    // Its own retries, and the same event again, say nothing new of the host.
    const isNew = release.quarantine === undefined;
    if (inventory) await noteFailure(deps, inventory.host, event, isNew ? 1 : 0);
    deps.log.error('The host could not clean up.', {
      ...namesOf(release),
      reason: reasonOf(event),
    });
  },

  // The report that follows says all there is to say.
  look: async () => {},

  async prog(deps, releaseId, event) {
    const release = await deps.store.releases.byId(releaseId);
    if (!release?.program) return;
    const { host } = await deps.store.inventory.host(release.hostname);
    if (host.conflict) await quarantineProgram(deps, release, inConflict(release.hostname));
    else if (event.operation === 'succeeded') await endProgram(deps, release);
    else if (isToldByHost(event)) await endProgram(deps, release, reasonOf(event));
    else await quarantineProgram(deps, release, reasonOf(event));
  },
};

/**
 * What was made ready, at first or again after a boot, is bound; what was not, is not. Success under
 * another boot than the host's is none: what was made is gone again.
 */
async function finishBinds(deps: ConsumerDeps, jobUuid: string, event: JobEvent): Promise<void> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  if (!note) return;
  for (const instanceUuid of note.instances) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    // Another bind, or another boot's job, decides it by now.
    if (!binding || decidingJob(binding) !== jobUuid) continue;
    const inventory = await deps.store.inventory.host(binding.hostname);
    const { host } = inventory;
    if (host.conflict) await finishInConflict(deps, binding);
    else if (host.bootId !== note.bootId) await failOvertaken(deps, binding);
    else if (event.operation === 'succeeded') {
      await succeedBind(deps, binding, note.bootId);
      if (host.failedJobs) await noteSuccess(deps, inventory);
    } else if (note.instances.length === 1) {
      // Counted first: the same event again finds nothing that is left to fail.
      await noteFailure(deps, host, event, 1);
      await failBind(deps, binding, { cause: 'host', reason: reasonOf(event) }, leftBy(event));
    }
    // One of many could not be made; which, shows when each is tried by itself.
    else await reprovisionInstance(deps, host, binding);
  }
  await deps.store.arqs.forgetJob(jobUuid);
}

/** Neither agent's word is taken: what is provisioning stays so until the conflict is over. */
async function finishInConflict(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  if (binding.state !== 'BindStarted') return;
  await failBind(deps, binding, { cause: 'host', reason: inConflict(binding.hostname) });
}

function inConflict(hostname: string): string {
  return `Two agents report as host ${hostname}.`;
}

/** The uuid of the job whose end decides the binding; undefined for one that is resolved. */
function decidingJob({ state, bindId, jobUuid }: InstanceBinding): string | undefined {
  if (state === 'BindStarted') return bindId;
  return state === 'provisioning' ? jobUuid : undefined;
}

/** Else it was given up by others, and the host may be at it still. */
function isToldByHost({ operation }: JobEvent): boolean {
  return operation === 'failed' || operation === 'rejected';
}

/** Only the host itself can say that it has looked, and is not at it any more. */
function leftBy({ operation, statusDetails }: JobEvent): 'nothing' | undefined {
  return operation === 'failed' && statusDetails?.left === 'nothing' ? 'nothing' : undefined;
}

/** Counted are failures by which a host shows that it fails others, too. */
async function noteFailure(
  deps: ConsumerDeps,
  host: StoredHost,
  event: JobEvent,
  count: 0 | 1,
): Promise<void> {
  if (event.operation !== 'failed' || event.statusDetails?.fault === 'request') return;
  const now = new Date(deps.clock()).toISOString();
  await deps.store.inventory.noteFailure(host, { count, reason: reasonOf(event), lastAt: now });
}

/** Undefined where its host has done what it does every day, and nothing is to be noted of it. */
async function hostOfFailures(
  deps: ConsumerDeps,
  { hostname, quarantine }: HostRelease,
  { operation }: JobEvent,
): Promise<HostInventory | undefined> {
  const isUsual = operation === 'succeeded' && quarantine === undefined;
  return isUsual ? undefined : deps.store.inventory.host(hostname);
}

function namesOf({ hostname, id, requestId }: HostRelease) {
  return { host: hostname, release: id, ...(requestId && { request_id: requestId }) };
}

function reasonOf({ operation, statusDetails }: JobEvent): string {
  return statusDetails?.reason ?? `The host's job ended ${operation}.`;
}
