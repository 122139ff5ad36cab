// The unmodified AWS clients, connected to a local engine.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { SQSClient } from '@aws-sdk/client-sqs';

const fixed = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
};

export function sqsAt(url: string): SQSClient {
  return new SQSClient({ ...fixed, endpoint: url });
}

export function dynamoDbAt(url: string): DynamoDBClient {
  return new DynamoDBClient({ ...fixed, endpoint: url });
}

export function streamsAt(url: string): DynamoDBStreamsClient {
  return new DynamoDBStreamsClient({ ...fixed, endpoint: url });
}
