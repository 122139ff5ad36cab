import type { ConsumerDeps } from '../../consumer-deps.ts';
import { jobDocument, jobDocumentBytesMax } from '../../contracts/job-document.ts';
import { jobId } from '../../contracts/job-ids.ts';
import type { HostJobMessageOf } from '../../contracts/queue-messages.ts';
import {
  answerWithin,
  messageForm,
  type SentKind,
  validFor,
} from '../../contracts/work-message.ts';
import type { StoredHost } from '../../domain/report-plan.ts';
import { type Asked, askHost, documentOf, type Task } from './ask-host.ts';

interface AskedByMessage<Kind extends SentKind> extends Asked {
  readonly host: Pick<StoredHost, 'presence' | 'form'>;
  /** The queue's message that creates the job, if the host does not answer. */
  readonly again: HostJobMessageOf<Kind>;
}

/**
 * Asks a connected host for short work by a message of MQTT, which costs a thousandth of a job. If
 * the host does not answer in time, the queue's message comes again and creates the job; an agent
 * that has done the work by then answers the job with the same outcome.
 *
 * @throws JobTooLarge
 * @throws RetryLater while AWS throttles
 */
export async function askByMessage<Kind extends SentKind>(
  deps: ConsumerDeps,
  kind: Kind,
  { host, again, ...asked }: AskedByMessage<Kind>,
  task: Task<Kind>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const document = jobDocument.parse(documentOf(kind, asked, task));
  const isSmall = Buffer.byteLength(JSON.stringify(document)) <= jobDocumentBytesMax;
  if (!isSmall || !takesMessages(host)) return askHost(deps, kind, asked, task, fields);
  const job_id = jobId(deps.settings.stage, kind, asked.uuid);
  const valid_until = new Date(deps.clock() + validFor(kind) * 1000).toISOString();
  const named = { job: job_id, host: asked.hostname, ...fields };
  try {
    await deps.clients.hostMessages.send(asked.hostname, { job_id, valid_until, document });
  } catch (error) {
    deps.log.warn('Work message not sent', { ...named, error });
    return askHost(deps, kind, asked, task, fields);
  }
  // If this process ends before, the queue delivers its message again, and the host gets another.
  await deps.queues.send('host-jobs', [{ ...again, was_sent: true }], answerWithin[kind]);
  deps.log.info('Work message sent', named);
}

function takesMessages({ presence, form = 1 }: Pick<StoredHost, 'presence' | 'form'>): boolean {
  return presence?.isConnected === true && form >= messageForm;
}
