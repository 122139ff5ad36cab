import { jobEvent } from '#core/contracts/jobs/job-document.ts';
import { type WorkEnd, workEnd } from '#core/contracts/jobs/work-message.ts';
import { type RuleEnvelope, ruleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { readHostname } from '#core/contracts/topics.ts';
import type { EndOfJob } from '#core/operations/work-ends/end-of-job.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { readPayload } from './batch/payload.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

/** A host's job has ended, or it has answered a work message → its host work continues. */
export const makeConsumer = queueConsumer(
  'job-events',
  ruleEnvelope,
  async (deps, envelope, { attempt }) => {
    const event = envelope.topic.endsWith('/work-ended')
      ? toEvent(readPayload(workEnd, envelope), envelope)
      : readPayload(jobEvent, envelope);
    await finishJob(deps, event, attempt);
  },
);

export const handler = makeConsumer();

/** An answer as the end of the job that would have followed. */
function toEvent({ job_id, status, details }: WorkEnd, envelope: RuleEnvelope): EndOfJob {
  return {
    operation: operationOf[status],
    jobId: job_id,
    statusDetails: details,
    answeredBy: readHostname(envelope.thing),
  };
}

const operationOf = { SUCCEEDED: 'succeeded', FAILED: 'failed', REJECTED: 'rejected' } as const;
