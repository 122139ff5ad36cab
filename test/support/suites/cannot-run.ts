/** A suite cannot run on this machine; the message is one line that says why. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}

/** Prints what is left out, and why. @throws an error that is no {@link CannotRun} */
export function skip(what: string, error: unknown): void {
  if (!(error instanceof CannotRun)) throw error;
  console.log(`SKIPPED: ${what} cannot run on this machine: ${error.message.replace(/\.$/, '')}.`);
}
