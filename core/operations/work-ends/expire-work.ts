import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { workDueAt, workDueMs } from '#core/domain/host-work/deadlines.ts';
import type {
  AwaitedWork,
  ExpiringWorkKind,
  HostProgram,
  HostRelease,
} from '#core/domain/host-work/host-work.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { noteProgram } from '#core/operations/host-work/programs/note-program.ts';
import { resumeDrained } from '#core/operations/program/start-component.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { reprovisionInstance } from '#core/operations/reprovision/reprovision-host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { timeNow } from '../time-now.ts';
import { askAboutJob } from './ask-about-job.ts';
import { retryCleaning } from './retry-cleaning.ts';

/** Longer than AWS takes for the jobs of all hosts, when all have booted at once. */
const askAgainMs = 60 * 60_000;

/** The stored work that is overdue, by its kind. */
interface Overdue {
  readonly bind: InstanceBinding;
  readonly reprovision: InstanceBinding;
  readonly release: HostRelease;
  readonly program: HostProgram;
}

/** @param retries by host, how often this run of the sweep had it clean up again */
type Expire<Kind extends ExpiringWorkKind> = (
  deps: ConsumerDeps,
  work: Overdue[Kind],
  retries: Map<string, number>,
) => Promise<void>;

/**
 * What the sweep does with work that is overdue; first it asks AWS IoT whether the job has ended.
 */
export const expireWork: { readonly [Kind in ExpiringWorkKind]: Expire<Kind> } = {
  async bind(deps, binding) {
    const waitedMs = deps.clock() - Date.parse(binding.startedAt);
    if (waitedMs < workDueMs('bind', deps.settings)) return askAgain(deps, binding);
    if ((await askAboutJob(deps, 'bind', binding.bindId, binding.hostname)) === 'ended') return;
    const waited = Math.round(waitedMs / 1000);
    const reason = `Host ${binding.hostname} did not make it ready within ${waited} s.`;
    await failBind(deps, binding, { cause: 'deadline', reason });
  },

  async reprovision(deps, binding) {
    const { jobUuid, hostname } = binding;
    const note = jobUuid && (await deps.store.arqs.jobNote(jobUuid));
    if (!note) {
      // The consumer that decided on the job died before it stored the note, or did so for an
      // earlier boot.
      const { host } = await deps.store.inventory.host(hostname);
      return reprovisionInstance(deps, host, binding);
    }
    const standing = await askAboutJob(deps, 'reprovision', jobUuid, hostname);
    if (standing === 'ended') return;
    // The message may have been dropped: Glance or S3 may be away for longer than SQS delivers it
    // again.
    const waitedMs = deps.clock() - Date.parse(binding.startedAt);
    const isDropped = standing === 'absent' && waitedMs >= askAgainMs;
    if (isDropped) {
      await deps.queues.send('host-jobs', [{ kind: 'reprovision', job_uuid: jobUuid }]);
    }
    const dueMs = isDropped ? askAgainMs : workDueMs('reprovision', deps.settings);
    await deps.store.bindings.postpone(binding, timeNow(deps, dueMs));
  },

  async release(deps, release, retries) {
    if (release.quarantine) return retryCleaning(deps, release, retries);
    const { id, hostname } = release;
    if ((await askAboutJob(deps, 'release', id, hostname)) === 'ended') return;
    await quarantineOverdue(deps, release);
  },

  async program(deps, program, retries) {
    if (program.component?.isDraining) return resumeDrained(deps, program);
    if (program.quarantine) return retryCleaning(deps, program, retries);
    const { id, hostname } = program;
    if ((await askAboutJob(deps, 'program', id, hostname)) === 'ended') return;
    // A program that starts after this would change the region of its next holder.
    await deps.clients.jobs.cancel(jobId(deps.settings.stage, 'program', id), 'It is too late.');
    const failure = unconfirmed(deps, program);
    await noteProgram(deps, program, 'failed', { failure, isPartial: true });
    await quarantineOverdue(deps, program);
  },
};

/** A host has not answered a message in time: its job is created. */
async function askAgain(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  const { instanceUuid: instance_uuid, bindId: bind_id, requestId, startedAt } = binding;
  const note = await deps.store.arqs.jobNote(bind_id);
  // The host has not been asked yet.
  if (!note) return;
  if (note.isMessage) {
    const again = { kind: 'bind', instance_uuid, bind_id, was_sent: true } as const;
    await deps.queues.send('host-jobs', [{ ...again, request_id: requestId }]);
  }
  const deadline = workDueAt('bind', deps.settings, Date.parse(startedAt));
  await deps.store.bindings.postpone(binding, deadline);
}

function unconfirmed(deps: ConsumerDeps, { hostname, startedAt }: AwaitedWork): string {
  const seconds = Math.round((deps.clock() - Date.parse(startedAt)) / 1000);
  return `Host ${hostname} did not confirm within ${seconds} s.`;
}

async function quarantineOverdue(deps: ConsumerDeps, work: AwaitedWork): Promise<void> {
  await quarantine(deps, work, unconfirmed(deps, work));
  deps.log.error('Handles quarantined', {
    host: work.hostname,
    [work.kind]: work.id,
    handles: work.handles.length,
    ...present({ request_id: work.requestId }),
  });
}
