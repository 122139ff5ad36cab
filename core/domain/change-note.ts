// Who changed a row. A stream shows the two images of a row and not the caller, so the writer
// stores the note with the change; history-of-change.ts reads it.

export interface ChangeNote {
  /** ISO 8601; never before the note that it replaces, although clocks differ. */
  readonly at: string;
  /**
   * `user:<id>`, `operator` for a command with AWS credentials, `agent`, `sweep`, or `service` for
   * what follows from earlier changes.
   */
  readonly by: string;
  readonly requestId?: string;
}

/** Who changes what has a deadline. No user of Keystone has this id. */
export const sweeper = 'sweep';

/** The later of two times in ISO 8601. */
export function laterOf(one: string, other: string | undefined): string {
  return other !== undefined && other > one ? other : one;
}
