// Checks of a command, each printed as soon as it ends: what it found, or what is wrong and the
// remedy. A check only reads.

import { sentenceOf } from './arguments.ts';
import { oneLine, print, printMarked } from './print.ts';

export interface Check<Context> {
  readonly name: string;
  /** The remedy for errors that the check does not explain itself. */
  readonly remedy: string;
  /** Returns what the check found. @throws CheckFailed, Undetermined, or any error */
  readonly look: (context: Context) => Promise<string>;
}

export type Finding =
  /** @property ok what the check found */
  | { readonly check: string; readonly ok: string }
  /**
   * @property wrong what is wrong
   * @property remedy what to do
   */
  | { readonly check: string; readonly wrong: string; readonly remedy: string }
  /** @property unseen why the check has no result */
  | { readonly check: string; readonly unseen: string };

/** The check found a fault; the remedy says what to do. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The check has no result from here. */
export class Undetermined extends Error {
  override readonly name = 'Undetermined';
}

export async function perform<Context>(
  { name, remedy, look }: Check<Context>,
  context: Context,
): Promise<Finding> {
  try {
    return { check: name, ok: await look(context) };
  } catch (error) {
    if (error instanceof Undetermined) return { check: name, unseen: error.message };
    if (error instanceof CheckFailed)
      return { check: name, wrong: error.message, remedy: error.remedy };
    return isNotEmulated(error)
      ? { check: name, unseen: 'this endpoint does not support the call' }
      : { check: name, wrong: faultOf(error), remedy };
  }
}

/** Emulators lack some calls. */
function isNotEmulated(error: unknown): boolean {
  const names = ['UnknownOperationException', 'UnsupportedOperation', 'NotImplemented'];
  const { name = '', message = '' } = error instanceof Error ? error : {};
  return names.includes(name) || message.includes('not emulated');
}

/** Node hides the reason of a failed connection in the cause. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, cause } = error;
  if (cause instanceof Error) return `${message}: ${cause.message}`;
  const sentence = sentenceOf(error);
  return sentence === message && name !== 'Error' ? `${name}: ${message}` : sentence;
}

/** Prints them with their counts. The exit code is 1 if something is wrong. */
export async function printFindings(findings: AsyncIterable<Finding>): Promise<void> {
  const counts = { ok: 0, wrong: 0, unseen: 0 };
  for await (const finding of findings) {
    if ('ok' in finding) {
      counts.ok += 1;
      printMarked('ok     ', 'green', `${finding.check}: ${finding.ok}`);
    } else if ('unseen' in finding) {
      counts.unseen += 1;
      printMarked('  --   ', 'yellow', `${finding.check}: ${finding.unseen}`);
    } else {
      counts.wrong += 1;
      printMarked('WRONG  ', 'red', `${finding.check}: ${finding.wrong}`);
      print(`       → ${oneLine(finding.remedy)}`);
    }
  }
  print(`${counts.ok} ok, ${counts.wrong} wrong, ${counts.unseen} undetermined`);
  process.exitCode = counts.wrong > 0 ? 1 : 0;
}
