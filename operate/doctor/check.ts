// What the doctor's checks are made of. A check asks and never changes anything.

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
  /** As the stack prints it; without it, the catalog is believed. */
  readonly url?: string | undefined;
}

export type Finding =
  /** @property ok what was seen */
  | { readonly check: string; readonly ok: string }
  /** @property wrong what was seen instead @property remedy what to do */
  | { readonly check: string; readonly wrong: string; readonly remedy: string }
  /** @property unseen why it cannot be told from here */
  | { readonly check: string; readonly unseen: string };

/** Something is as it must not be; the remedy says what to do. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Not to be told from here. */
export class Undetermined extends Error {
  override readonly name = 'Undetermined';
}

export interface Check {
  readonly name: string;
  /** For faults that the check does not explain itself. */
  readonly remedy: string;
  /** What was seen. @throws CheckFailed, Undetermined, or whatever went wrong */
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
      ? { check: name, unseen: 'this endpoint does not know the call' }
      : { check: name, wrong: text, remedy };
  }
}

/** Emulators lack calls; AWS has them all. */
function isNotEmulated(error: unknown): boolean {
  const names = ['UnknownOperationException', 'UnsupportedOperation', 'NotImplemented'];
  const { name = '', message = '' } = error instanceof Error ? error : {};
  return names.includes(name) || message.includes('not emulated');
}
