// The environment of every local process: the addresses of the engines and the settings of the
// stage, in AWS's own variables, so that the unmodified SDK finds the engines, LocalStack or AWS.

import { deadLetterQueueName, queueName, queues } from '#core/contracts/queues/queues.ts';
import { consumerNames, deadQueueUrlVariable, queueUrlVariable } from '#core/settings.ts';
import { serviceCredentials } from '#local/openstack/keystone/keystone.ts';

/** The account in queue URLs; the engine has only one. */
const account = '000000000000';

export interface Endpoints {
  readonly dynamoDb: string;
  readonly sqs: string;
  /** Where jobs are created; left out if no jobs are created. */
  readonly iot?: string;
  /** Where images are staged; left out if no images are staged. */
  readonly s3?: string;
  /** Where events are put; left out if no events are announced. */
  readonly events?: string;
  readonly keystone: string;
}

export function environmentFor(
  stage: string,
  endpoints: Endpoints,
): Readonly<Record<string, string>> {
  const credentials = serviceCredentials('cyborg', endpoints.keystone);
  return {
    CYBORG_STAGE: stage,
    // The fake Nova attaches every type.
    CYBORG_ATTACH_TYPES: 'PCI,TEST_PCI,MDEV',
    KEYSTONE_URL: credentials.url,
    CYBORG_OS_USERNAME: credentials.username,
    CYBORG_OS_PASSWORD: credentials.password,
    CYBORG_OS_PROJECT_NAME: credentials.projectName,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamoDb,
    AWS_ENDPOINT_URL_DYNAMODB_STREAMS: endpoints.dynamoDb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    ...(endpoints.iot && {
      AWS_ENDPOINT_URL_IOT: endpoints.iot,
      AWS_ENDPOINT_URL_IOT_DATA_PLANE: endpoints.iot,
    }),
    ...(endpoints.s3 && { AWS_ENDPOINT_URL_S3: endpoints.s3, CYBORG_S3_PATH_STYLE: 'true' }),
    ...(endpoints.events && { AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.events }),
    ...Object.fromEntries(
      consumerNames.map((name) => [
        deadQueueUrlVariable(name),
        `${endpoints.sqs}/${account}/${deadLetterQueueName(stage, name)}`,
      ]),
    ),
    ...Object.fromEntries(
      queues.map(({ name }) => [
        queueUrlVariable(name),
        `${endpoints.sqs}/${account}/${queueName(stage, name)}`,
      ]),
    ),
  };
}
