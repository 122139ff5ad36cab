/** What is stored contradicts the import; the message says what to do. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused';
}

/** `present`: an earlier attempt has stored it. */
export type Imported = 'imported' | 'present';
