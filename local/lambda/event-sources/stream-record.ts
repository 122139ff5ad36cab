// A stream record as Lambda passes it to a function: JSON with base64 for binary and seconds for
// time.

import type { AttributeValue, _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBRecord, AttributeValue as JsonAttributeValue } from 'aws-lambda';

export function streamRecord(record: StreamRecord, streamArn: string): DynamoDBRecord {
  const { dynamodb } = record;
  return {
    eventID: record.eventID ?? '',
    eventName: record.eventName ?? 'MODIFY',
    eventVersion: record.eventVersion ?? '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: record.awsRegion ?? '',
    eventSourceARN: streamArn,
    ...(record.userIdentity && { userIdentity: record.userIdentity }),
    dynamodb: {
      ...(dynamodb?.ApproximateCreationDateTime && {
        ApproximateCreationDateTime: dynamodb.ApproximateCreationDateTime.getTime() / 1000,
      }),
      ...(dynamodb?.Keys && { Keys: jsonItem(dynamodb.Keys) }),
      ...(dynamodb?.OldImage && { OldImage: jsonItem(dynamodb.OldImage) }),
      ...(dynamodb?.NewImage && { NewImage: jsonItem(dynamodb.NewImage) }),
      SequenceNumber: dynamodb?.SequenceNumber ?? '',
      SizeBytes: dynamodb?.SizeBytes ?? 0,
      StreamViewType: dynamodb?.StreamViewType ?? 'NEW_AND_OLD_IMAGES',
    },
  };
}

function jsonItem(item: Record<string, AttributeValue>): Record<string, JsonAttributeValue> {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, jsonValue(value)]));
}

function jsonValue(value: AttributeValue): JsonAttributeValue {
  if (value.B !== undefined) return { B: base64(value.B) };
  if (value.BS !== undefined) return { BS: value.BS.map(base64) };
  if (value.M !== undefined) return { M: jsonItem(value.M) };
  if (value.L !== undefined) return { L: value.L.map(jsonValue) };
  return value as JsonAttributeValue;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
