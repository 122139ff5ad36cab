// The words that the agent's program takes: none for the agent itself, or one command.

import type { HostCommand } from './host-commands.ts';

export const usage = `Usage: node cyborg-agent.mjs [COMMAND]

Without a command the agent runs: it sets up the host, reports devices and works on jobs.

plan       prints each change that the host needs to be as the settings say; changes nothing
apply      applies these changes; refused while the agent runs, which applies them itself
assert     exits with 0 if the host is as the settings say; else prints the differences
--help     prints this text
--version  prints the version

A change may make others possible, which the next plan has: virtual functions exist before they
are bound. No command connects to the cloud. Settings are those of the agent: the file
/etc/cyborg-agent/agent.json, or the one that CYBORG_AGENT_CONFIG names, and CYBORG_AGENT_*.

Exit codes: 0 done; 1 something differs, is left or failed; 2 wrong arguments; 78 wrong settings.
`;

/** The message names what is wrong and what is allowed. */
export class ArgumentsInvalid extends Error {
  override readonly name = 'ArgumentsInvalid';
}

export type Command = HostCommand | 'run' | 'help' | 'version';

const commands: ReadonlyMap<string, Command> = new Map([
  ['plan', 'plan'],
  ['apply', 'apply'],
  ['assert', 'assert'],
  ['--help', 'help'],
  ['--version', 'version'],
]);
const allowed = [...commands.keys()].join(', ');

/** @throws ArgumentsInvalid */
export function readCommand(args: readonly string[]): Command {
  const [word, ...others] = args;
  if (word === undefined) return 'run';
  const command = commands.get(word);
  if (command === undefined) {
    throw new ArgumentsInvalid(`unknown argument ${shown(word)}; allowed are ${allowed}.`);
  }
  if (others[0] !== undefined) {
    throw new ArgumentsInvalid(`${word} takes no argument, so ${shown(others[0])} is not allowed.`);
  }
  return command;
}

function shown(word: string): string {
  return JSON.stringify(word.replaceAll(/[^\x20-\x7e]/g, '?'));
}
