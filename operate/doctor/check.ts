// The parts of the doctor's checks. A check only reads.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { IoTClient } from '@aws-sdk/client-iot';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Http } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';

export interface CheckContext {
  readonly deps: ConsumerDeps;
  readonly http: Http;
  readonly aws: {
    readonly dynamoDb: DynamoDBClient;
    readonly sqs: SQSClient;
    readonly iot: IoTClient;
    readonly s3: S3Client;
  };
  /** The URL that the stack prints; undefined means the one in the catalog. */
  readonly url?: string | undefined;
}

export type Finding =
  /** @property ok what the check found */
  | { readonly check: string; readonly ok: string }
  /**
   * @property wrong what is wrong
   * @property remedy what to do
   */
  | { readonly check: string; readonly wrong: string; readonly remedy: string }
  /** @property unseen why the check has no result */
  | { readonly check: string; readonly unseen: string };

/** The check found a fault; the remedy says what to do. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The check has no result from here. */
export class Undetermined extends Error {
  override readonly name = 'Undetermined';
}

export interface Check {
  readonly name: string;
  /** The remedy for errors that the check does not explain itself. */
  readonly remedy: string;
  /** Returns what the check found. @throws CheckFailed, Undetermined, or any error */
  readonly look: (patient: CheckContext) => Promise<string>;
}

export async function perform(check: Check, patient: CheckContext): Promise<Finding> {
  const { name, remedy } = check;
  try {
    return { check: name, ok: await check.look(patient) };
  } catch (error) {
    if (error instanceof Undetermined) return { check: name, unseen: error.message };
    if (error instanceof CheckFailed)
      return { check: name, wrong: error.message, remedy: error.remedy };
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return isNotEmulated(error)
      ? { check: name, unseen: 'this endpoint does not support the call' }
      : { check: name, wrong: text, remedy };
  }
}

/** Emulators lack some calls. */
function isNotEmulated(error: unknown): boolean {
  const names = ['UnknownOperationException', 'UnsupportedOperation', 'NotImplemented'];
  const { name = '', message = '' } = error instanceof Error ? error : {};
  return names.includes(name) || message.includes('not emulated');
}
