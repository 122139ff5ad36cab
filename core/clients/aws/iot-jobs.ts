// AWS IoT Jobs, the control plane's side:
// https://docs.aws.amazon.com/iot/latest/developerguide/iot-jobs.html

import {
  CancelJobCommand,
  CreateJobCommand,
  DescribeJobExecutionCommand,
  IoTClient,
} from '@aws-sdk/client-iot';
import {
  type JobDocument,
  jobDocument,
  jobDocumentBytesMax,
} from '#core/contracts/jobs/job-document.ts';
import { thingName } from '#core/contracts/topics.ts';
import { hostWork, kindOfAction } from '#core/domain/host-work/host-work.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { isOutage } from '#core/domain/service-outage.ts';

interface JobLimits {
  /** How long it may be in progress, if longer than others of its kind. */
  readonly minutes?: number | undefined;
}

export interface IotJobs {
  /**
   * Creates the job unless it exists. A job's document never changes, so an existing one is
   * equal.
   *
   * @throws JobTooLarge
   * @throws RetryLater while the service throttles, or is away
   */
  create(jobId: string, document: JobDocument, limits?: JobLimits): Promise<void>;
  /** Does nothing if the job does not exist or has ended. @throws RetryLater */
  cancel(jobId: string, reason: string): Promise<void>;
  /** E.g. `QUEUED`, `SUCCEEDED`; undefined if the host has no such job. */
  executionStatus(jobId: string, hostname: string): Promise<string | undefined>;
}

/** The steps do not fit into one job; the message is for the caller. */
export class JobTooLarge extends Error {
  override readonly name = 'JobTooLarge';
}

export const retrySeconds = 2;
export function createIotJobs(options: {
  readonly stage: string;
  readonly thingArnPrefix: string;
  readonly client?: IoTClient;
}): IotJobs {
  let iot = options.client;
  const client = () => {
    iot ??= new IoTClient();
    return iot;
  };
  return {
    async create(jobId, document, { minutes = 0 } = {}) {
      const text = JSON.stringify(jobDocument.parse(document));
      if (Buffer.byteLength(text) > jobDocumentBytesMax) {
        throw new JobTooLarge(
          `The job document for host ${document.host} exceeds ${jobDocumentBytesMax} bytes.`,
        );
      }
      const command = new CreateJobCommand({
        jobId,
        targets: [`${options.thingArnPrefix}${thingName(options.stage, document.host)}`],
        document: text,
        targetSelection: 'SNAPSHOT',
        timeoutConfig: {
          inProgressTimeoutInMinutes: Math.max(
            minutes,
            hostWork[kindOfAction(document.action)].inProgressMinutes,
          ),
        },
      });
      await unless(client().send(command), ['ResourceAlreadyExistsException']);
    },

    async cancel(jobId, reason) {
      // `force`, so that an execution in progress ends too; the agent stops at a safe point.
      const comment = reason.replaceAll(/\p{C}/gu, ' ').slice(0, 2028) || 'cancelled';
      const command = new CancelJobCommand({ jobId, force: true, comment });
      await unless(client().send(command), [
        'ResourceNotFoundException',
        'InvalidRequestException',
      ]);
    },

    async executionStatus(jobId, hostname) {
      const command = new DescribeJobExecutionCommand({
        jobId,
        thingName: thingName(options.stage, hostname),
      });
      const answer = await unless(client().send(command), ['ResourceNotFoundException']);
      return answer?.execution?.status;
    },
  };
}

/** The answer, or undefined for an error that means that the state is already reached. */
async function unless<T>(answer: Promise<T>, expected: readonly string[]): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (expected.includes(name)) return undefined;
    // It throttles, too many jobs exist, or it is away.
    if (isOutage(error)) throw new RetryLater(`AWS IoT: ${name}`, retrySeconds);
    throw error;
  }
}
