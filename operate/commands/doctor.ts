// `cyborg-ops doctor --environment <file>`: checks a deployed stack, reports what is wrong,
// and names a remedy.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { IoTClient } from '@aws-sdk/client-iot';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createHttp } from '#core/clients/http.ts';
import { printFindings } from '#core/command-line/checks.ts';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { createFetch } from '#operate/any-port-fetch.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import type { CheckContext } from '#operate/doctor/check.ts';
import { examine } from '#operate/doctor/examine.ts';

async function main(input: Input): Promise<void> {
  // The findings report errors.
  process.env.POWERTOOLS_LOG_LEVEL = 'SILENT';
  await printFindings(examine(contextFor(input.text('url'))));
}

function contextFor(url: string | undefined): CheckContext {
  const deps = createConsumerDeps('doctor');
  return {
    deps,
    http: createHttp({ fetch: createFetch() }),
    aws: {
      dynamoDb: new DynamoDBClient(),
      sqs: new SQSClient(),
      iot: new IoTClient(),
      s3: new S3Client({ forcePathStyle: deps.settings.staging.usesPathStyle }),
    },
    url,
  };
}

export const doctor: StackCommand = { main };
