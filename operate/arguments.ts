// What is wrong with a command's arguments, in one sentence each.

import { parseArgs } from 'node:util';

/** What `parseArgs` and AWS's clients throw, said to whoever typed the command. */
export function sentenceOf(error: Error): string {
  if ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')) {
    return `${error.message.split('. To specify')[0]}.`.replace('..', '.');
  }
  if (error.name === 'SettingsInvalid') {
    return `${error.message}. --environment <file> takes them from a function’s; see docs/operations.md.`;
  }
  return error.message === 'Region is missing'
    ? 'AWS_REGION is not set: in which region is the stack?'
    : error.message;
}

/** For commands that take none. Ends the process where there are some. */
export function takeNoArguments(): void {
  try {
    parseArgs({ options: {} });
  } catch (error) {
    console.error(sentenceOf(error as Error));
    process.exit(2);
  }
}
