import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobDocument, jobDocumentBytesMax } from '#core/contracts/jobs/job-document.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import { type SentKind, validFor } from '#core/contracts/jobs/work-message.ts';
import { timeNow } from '../time-now.ts';
import { type HostRequest, type Task, toDocument } from './ask-host.ts';

/**
 * Asks a connected host for short work by a message, which costs a thousandth of a job. If no
 * answer comes, the caller has the job created; an agent that has done the work by then answers
 * the job with the same outcome.
 *
 * @returns whether the message was sent; if not, the work needs a job at once
 */
export async function askByMessage<Kind extends SentKind>(
  deps: ConsumerDeps,
  kind: Kind,
  request: HostRequest,
  task: Task<Kind>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<boolean> {
  const document = jobDocument.parse(toDocument(kind, request, task));
  const isSmall = Buffer.byteLength(JSON.stringify(document)) <= jobDocumentBytesMax;
  if (!isSmall) return false;
  const job_id = jobId(deps.settings.stage, kind, request.uuid);
  const valid_until = timeNow(deps, validFor[kind] * 1000);
  const named = { job: job_id, host: request.hostname, ...fields };
  try {
    await deps.clients.hostMessages.send(request.hostname, { job_id, valid_until, document });
  } catch (error) {
    deps.log.warn('Work message not sent', { ...named, error });
    return false;
  }
  deps.log.info('Work message sent', named);
  return true;
}
