// Whether text is a uuid. Apart from ids.ts, whose hashes of Node a browser lacks.

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a uuid in its dashed form, in either case. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
