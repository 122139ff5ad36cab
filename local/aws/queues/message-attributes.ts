// Message attributes, and the digests with which a client verifies what arrived.

import { createHash } from 'node:crypto';
import * as z from 'zod';

export const messageAttributes = z.record(
  z.string().min(1).max(256),
  z.object({
    DataType: z.string().regex(/^(String|Number|Binary)(\..+)?$/),
    StringValue: z.string().optional(),
    /** Base64 in the JSON protocol. */
    BinaryValue: z.string().optional(),
  }),
);
export type MessageAttributes = z.infer<typeof messageAttributes>;

export function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

/**
 * The encoding of SQS, sorted by name: length and text of name and type, one byte for the kind of
 * value, length and value.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
 */
export function md5OfAttributes(attributes: MessageAttributes): string | undefined {
  const names = Object.keys(attributes).sort();
  if (names.length === 0) return undefined;
  const hash = createHash('md5');
  const part = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  };
  for (const name of names) {
    const { DataType = '', StringValue = '', BinaryValue = '' } = attributes[name] ?? {};
    const isBinary = DataType.startsWith('Binary');
    part(Buffer.from(name));
    part(Buffer.from(DataType));
    hash.update(Buffer.of(isBinary ? 2 : 1));
    part(isBinary ? Buffer.from(BinaryValue, 'base64') : Buffer.from(StringValue));
  }
  return hash.digest('hex');
}

/** The bytes that count towards the size limit of a message. */
export function messageBytes(body: string, attributes: MessageAttributes): number {
  let bytes = Buffer.byteLength(body);
  for (const [name, { DataType, StringValue = '', BinaryValue = '' }] of Object.entries(
    attributes,
  )) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(DataType);
    bytes += Buffer.byteLength(StringValue) + Buffer.byteLength(BinaryValue, 'base64');
  }
  return bytes;
}

/** The attributes that a receiver asked for: by name, by `prefix.*`, or `All`. */
export function chosenAttributes<T>(
  attributes: Readonly<Record<string, T>>,
  wanted: readonly string[],
): Record<string, T> {
  const isWanted = (name: string) =>
    wanted.some(
      (one) =>
        one === 'All' ||
        one === '.*' ||
        one === name ||
        (one.endsWith('.*') && name.startsWith(one.slice(0, -1))),
    );
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => isWanted(name)));
}
