// Partitions of indexes. A key value of an index takes a thousand writes a second, and an index
// that is throttled throttles its table's writes: what all tenants write to has 16 key values, not
// one.

const digits = '0123456789abcdef';

/** All shards of a partition, e.g. `arq#0` to `arq#f`. */
export function shardsFor(partition: string): string[] {
  return [...digits].map((digit) => `${partition}#${digit}`);
}

/** The shard of one row; its uuid's last digit is random. */
export function shardFor(partition: string, uuid: string): string {
  return `${partition}#${lastDigit(uuid)}`;
}

/**
 * Kinds of rows with a deadline, each in partitions of its own: many ARQs of a tenant do not
 * delay binds.
 * `awaited` are releases and programs, which handles wait for. A quota is due to be recounted.
 */
export type DueKind = 'arq' | 'binding' | 'awaited' | 'quota';

/**
 * The partition of a deadline.
 *
 * @param key the row's uuid, or its project's id; its last digit spreads the rows
 */
export function duePartition(kind: DueKind, key: string): string {
  return shardFor(kind, key);
}

/** Keystone's ids end in a hexadecimal digit; others are spread as well. */
function lastDigit(key: string): string {
  const last = key.at(-1)?.toLowerCase() ?? '0';
  return digits.includes(last) ? last : (digits[last.charCodeAt(0) % digits.length] as string);
}
