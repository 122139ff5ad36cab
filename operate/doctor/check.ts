// The context of the doctor's checks.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { IoTClient } from '@aws-sdk/client-iot';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Http } from '#core/clients/http.ts';
import type { Check as AnyCheck } from '#core/command-line/checks.ts';
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

export type Check = AnyCheck<CheckContext>;
