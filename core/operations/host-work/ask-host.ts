import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument, JobDocumentOf } from '#core/contracts/jobs/job-document.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import { type HostWorkKind, hostWork } from '#core/domain/host-work/host-work.ts';
import { present } from '#core/shapes/derive/present.ts';

/** What the work itself says in its document; the rest is the same for all kinds. */
export type Task<Kind extends HostWorkKind> = Omit<
  JobDocumentOf<Kind>,
  'version' | 'action' | 'host' | 'boot_id' | 'request_id'
>;

export interface HostRequest {
  /** The job's uuid. The same uuid again creates no other job. */
  readonly uuid: string;
  readonly hostname: string;
  /** The boot that the work is for: under another boot the agent rejects it. */
  readonly bootId: string;
  /** The request that led to the work. */
  readonly requestId?: string | undefined;
  /** How long the job may be in progress, if longer than others of its kind. */
  readonly minutes?: number | undefined;
}

/**
 * Asks a host to do work: creates its job.
 *
 * @param fields what the log line names besides job and host
 * @throws JobTooLarge
 * @throws RetryLater while AWS throttles
 */
export async function askHost<Kind extends HostWorkKind>(
  deps: ConsumerDeps,
  kind: Kind,
  request: HostRequest,
  task: Task<Kind>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { uuid, hostname, minutes } = request;
  const id = jobId(deps.settings.stage, kind, uuid);
  await deps.clients.jobs.create(id, toDocument(kind, request, task), { minutes });
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  deps.log.info(`${name} job created`, { job: id, host: hostname, ...fields });
}

export function toDocument<Kind extends HostWorkKind>(
  kind: Kind,
  { hostname, bootId, requestId }: HostRequest,
  task: Task<Kind>,
): JobDocument {
  const document = {
    version: 1,
    action: hostWork[kind].jobAction,
    host: hostname,
    boot_id: bootId,
    ...present({ request_id: requestId }),
    ...task,
  };
  // The reader parses it with the schema of its action.
  return document as unknown as JobDocument;
}
