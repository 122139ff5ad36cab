import { jobEvent } from '#core/contracts/job-document.ts';
import { ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { finishJob } from '#core/operations/host-work/finish-job.ts';
import { readPayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A host's job has ended → its host work continues. */
export const makeConsumer = queueConsumer(
  'job-events',
  ruleEnvelope,
  async (deps, envelope, { attempt }) => {
    await finishJob(deps, readPayload(jobEvent, envelope), attempt);
  },
);

export const handler = makeConsumer();
