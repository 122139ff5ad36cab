// The conventions of all commands. `--help` prints the usage. Exit codes: 0 done; 1 the answer is
// no (something is wrong, differs, or was refused); 2 the command could not run (wrong arguments
// or settings, or a failure).

import { parseArgs } from 'node:util';
import { print, printError } from './print.ts';

/** The arguments are wrong; the message names the argument and what is allowed. */
export class WrongArguments extends Error {
  override readonly name = 'WrongArguments';
}

/** Errors of `parseArgs` and of AWS's clients as one sentence for the user of the command. */
export function sentenceOf(error: Error): string {
  if (isParseError(error)) {
    return `${error.message.split('. To specify')[0]}.`.replace('..', '.');
  }
  if (error.name === 'SettingsInvalid') {
    return `${error.message}. --environment <file> takes the settings of a function; see docs/operations.md.`;
  }
  return error.message === 'Region is missing'
    ? 'AWS_REGION is not set: set it to the region of the stack.'
    : error.message;
}

/**
 * Runs a command and sets the exit code.
 *
 * @param isRefusal whether an error means that the command ran and was refused, exit code 1
 */
export async function runCommand(
  usage: string,
  main: () => Promise<void>,
  isRefusal: (error: Error) => boolean = () => false,
): Promise<void> {
  showHelp(usage);
  await main().catch((error: Error) => {
    printError(sentenceOf(error));
    if (error instanceof WrongArguments || isParseError(error)) printError(`\n${usage}`);
    process.exitCode = isRefusal(error) ? 1 : 2;
  });
}

/** Prints the usage and ends the process if `--help` is among the arguments. */
export function showHelp(usage: string): void {
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return;
  print(usage);
  process.exit(0);
}

/** Refuses arguments, because a misspelled option would otherwise run the command without it. */
export function takeNoArguments(usage: string): void {
  showHelp(usage);
  try {
    parseArgs({ options: {} });
  } catch (error) {
    printError(`${sentenceOf(error as Error)}\n\n${usage}`);
    process.exit(2);
  }
}

function isParseError(error: Error): boolean {
  return 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}
