// AWS IoT Jobs, the control plane's side: https://docs.aws.amazon.com/iot/latest/developerguide/iot-jobs.html

import {
  CancelJobCommand,
  CreateJobCommand,
  DescribeJobExecutionCommand,
  IoTClient,
} from '@aws-sdk/client-iot';
import { type JobDocument, jobDocument, jobDocumentBytesMax } from '../contracts/job-document.ts';
import { thingName } from '../contracts/topics.ts';
import { hostWork, kindOfAction } from '../domain/host-work.ts';
import { RetryLater } from '../domain/retry-later.ts';

export interface IotJobs {
  /**
   * Makes the job unless it is there. A job's document never changes: what is there is the same.
   *
   * @throws JobTooLarge
   * @throws RetryLater while the service throttles
   */
  create(jobId: string, document: JobDocument): Promise<void>;
  /** Nothing happens where there is none, or it has ended. @throws RetryLater */
  cancel(jobId: string, reason: string): Promise<void>;
  /** E.g. `QUEUED`, `SUCCEEDED`; undefined where there is no such job for the host. */
  executionStatus(jobId: string, hostname: string): Promise<string | undefined>;
}

/** So many steps fit into no job; the message is for whoever asked for them. */
export class JobTooLarge extends Error {
  override readonly name = 'JobTooLarge';
}

/** What the service says while it is asked too much, or has too many jobs at once. */
const throttles = ['ThrottlingException', 'LimitExceededException', 'ServiceUnavailableException'];
export const retrySeconds = 2;
export function createIotJobs(options: {
  readonly stage: string;
  readonly thingArnPrefix: string;
  readonly client?: IoTClient;
}): IotJobs {
  let own = options.client;
  const client = () => {
    own ??= new IoTClient();
    return own;
  };
  return {
    async create(jobId, document) {
      const text = JSON.stringify(jobDocument.parse(document));
      if (Buffer.byteLength(text) > jobDocumentBytesMax) {
        throw new JobTooLarge(
          `What host ${document.host} would have to do takes more than ${jobDocumentBytesMax} bytes to say.`,
        );
      }
      const command = new CreateJobCommand({
        jobId,
        targets: [`${options.thingArnPrefix}${thingName(options.stage, document.host)}`],
        document: text,
        targetSelection: 'SNAPSHOT',
        timeoutConfig: {
          inProgressTimeoutInMinutes: hostWork[kindOfAction(document.action)].inProgressMinutes,
        },
      });
      await unless(client().send(command), ['ResourceAlreadyExistsException']);
    },

    async cancel(jobId, reason) {
      // By force: an execution that is in progress shall end, too; the agent stops at a safe point.
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

/** The answer, or undefined for an error that means that it is so already. */
async function unless<T>(answer: Promise<T>, expected: readonly string[]): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (expected.includes(name)) return undefined;
    if (throttles.includes(name)) throw new RetryLater(`AWS IoT: ${name}`, retrySeconds);
    throw error;
  }
}
