// The spellings of a uuid. Apart from ids.ts, whose hashes of Node a browser lacks.

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a uuid in its dashed form, in either case. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Whether OpenStack takes the text for a uuid: also without hyphens, in braces, or as a URN. */
export function hasFormOfUuid(text: string): boolean {
  const plain = text
    .trim()
    .replace(/^urn:/i, '')
    .replace(/^uuid:/i, '')
    .replace(/[{}-]/g, '');
  return /^[0-9a-f]{32}$/i.test(plain);
}

/** Profiles may spell uuids without hyphens, in either case. */
export function withHyphens(uuid: string): string {
  const hex = uuid.replaceAll('-', '').toLowerCase();
  return [0, 8, 12, 16, 20].map((from, index, all) => hex.slice(from, all[index + 1])).join('-');
}
