// What an update must not replace: the tables and queues with what is in them, the bucket, and the
// API, whose URL is in the catalog. CloudFormation replaces a resource whose logical id, name or
// keys change. released-resources.json is of the release before; a release adds its own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { synthesize } from '#infra/privileges/synthesized.ts';

/** Properties whose change is a replacement, by type; see AWS's reference of each. */
const replacing = {
  'AWS::DynamoDB::GlobalTable': ['TableName', 'KeySchema'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  'AWS::S3::Bucket': ['BucketName'],
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
  'AWS::IoT::ThingType': ['ThingTypeName'],
} as const;

interface Kept {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

function kept(): Record<string, Kept> {
  const stack = synthesize();
  const all = Object.entries(replacing).flatMap(([type, names]) =>
    stack.ofType(type).map(({ id, properties }) => {
      const ofIt = Object.fromEntries(
        names.flatMap((name) => (name in properties ? [[name, properties[name]]] : [])),
      );
      return [id, { type, properties: ofIt }] as const;
    }),
  );
  return Object.fromEntries(all);
}

const file = join(import.meta.dirname, 'released-resources.json');
const now = kept();
const released: Record<string, Kept> = JSON.parse(readFileSync(file, 'utf8'));

it('the release before has tables, queues, a bucket, an API and a thing type', () => {
  const types = new Set(Object.values(released).map(({ type }) => type));
  expect([...types].sort()).toEqual(Object.keys(replacing).sort());
});

it.each(Object.keys(released))('%s is not replaced', (logicalId) => {
  expect(now[logicalId]).toEqual(released[logicalId]);
});
