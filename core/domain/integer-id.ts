// The integer ids of devices and deployables in Cyborg's API. Our rows have only uuids: the
// integer is the first 48 bits of the uuid, so it needs no counter, is stable, and leads back to
// the row by the order of the index. All of them are exact in JSON.

const bits = 48n;

/** From a uuid, e.g. `00000000-00ff-…` → 255. */
export function integerId(uuid: string): number {
  return Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);
}

/** The prefix of the uuids with that integer; undefined if no uuid has it. */
export function uuidPrefix(integer: number): string | undefined {
  if (!Number.isSafeInteger(integer) || integer < 0 || BigInt(integer) >= 1n << bits) {
    return undefined;
  }
  const hex = integer.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Whether a path segment or parameter consists of digits, and so is an integer id. */
export function isIntegerText(text: string): boolean {
  return /^[0-9]{1,16}$/.test(text);
}
