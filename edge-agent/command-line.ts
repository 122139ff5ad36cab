// The words that the agent's program takes: none for the agent itself, or one command.

import { hostname } from 'node:os';
import { isKernelName } from '#core/contracts/attach-handle.ts';
import { isHostname, isStage, thingName } from '#core/contracts/topics.ts';
import type { HostCommand } from './host-commands.ts';
import { parsePciAddress, printPciAddress } from './sysfs/pci-address.ts';

export const usage = `Usage: node cyborg-agent.mjs [COMMAND]

Without a command the agent runs: it sets up the host, reports devices and works on jobs.

plan       prints each change that the host needs to be as the settings say; changes nothing
apply      applies these changes; refused while the agent runs, which applies them itself
assert     exits with 0 if the host is as the settings say; else prints the differences
self-test  prints what the host's hardware shows of what the drivers assume; changes nothing.
           With --erase ADDRESS it prepares and cleans one handle of that device, as jobs do,
           instead; refused for a device that was offered to guests, and while the agent runs.
           With --report FILE it also writes what it prints, the versions of the host's programs
           and its record into a new file, to send to others; without settings it looks at each
           accelerator, NVMe device and network card; takes ten minutes at most
confirm    takes the address of a device that is refused because another one was offered there, or
           because of a fault that a boot does not end, and lets it be offered as it is now
check      prints whether the agent can work: its certificate, the broker, the clock, the drivers;
           changes nothing, and may run beside the agent
record     prints the PCI devices of this host and what uses them, to send to others: no serial
           numbers, no addresses of networks, no names; needs no settings, and changes nothing
key        makes the host's private key, in key.pem, if there is none, and writes request.pem, for
           cyborg-ops enrol add HOST --csr: the key never leaves the host. Takes --stage STAGE,
           --host NAME for another name than the system's, and --folder for another folder than
           /etc/cyborg-agent; needs no settings
--help     prints this text
--version  prints the version

A change may make others possible, which the next plan has: virtual functions exist before they
are bound. Only check connects to the broker, without a session. Settings are those of the agent:
the file /etc/cyborg-agent/agent.json, or the one that CYBORG_AGENT_CONFIG names, and
CYBORG_AGENT_*.

Exit codes: 0 done; 1 something differs, is left or failed; 2 wrong arguments; 78 wrong settings.
`;

/** The message names what is wrong and what is allowed. */
export class ArgumentsInvalid extends Error {
  override readonly name = 'ArgumentsInvalid';
}

interface Command {
  readonly name: HostCommand | 'run' | 'record' | 'help' | 'version';
  /** With `self-test`: the address of the device to erase. */
  readonly erase?: string;
  /** With `self-test`: the file of the report. */
  readonly report?: string;
  /** With `confirm`: the address of the device. */
  readonly confirm?: string;
}

/** The options of `key`. */
export interface KeyCommand {
  readonly name: 'key';
  readonly thing: string;
  readonly folder: string;
}

const commands: ReadonlyMap<string, (Command | KeyCommand)['name']> = new Map([
  ['plan', 'plan'],
  ['apply', 'apply'],
  ['assert', 'assert'],
  ['self-test', 'self-test'],
  ['confirm', 'confirm'],
  ['check', 'check'],
  ['record', 'record'],
  ['key', 'key'],
  ['--help', 'help'],
  ['--version', 'version'],
]);
const allowed = [...commands.keys()].join(', ');

/** @throws ArgumentsInvalid */
export function readCommand(args: readonly string[]): Command | KeyCommand {
  const [word, ...others] = args;
  if (word === undefined) return { name: 'run' };
  const name = commands.get(word);
  if (name === undefined) {
    throw new ArgumentsInvalid(`unknown argument ${shown(word)}; allowed are ${allowed}.`);
  }
  if (name === 'self-test' && others[0] !== undefined) return { name, ...readOption(others) };
  if (name === 'confirm') return { name, confirm: readConfirm(others) };
  if (name === 'key') return { name, ...readKeyOptions(others) };
  if (others[0] !== undefined) {
    throw new ArgumentsInvalid(`${word} takes no argument, so ${shown(others[0])} is not allowed.`);
  }
  return { name };
}

function readOption([option = '', value, more]: readonly string[]) {
  if (option === '--erase') return { erase: readErase(value, more) };
  if (option !== '--report') {
    throw new ArgumentsInvalid(
      `self-test takes --erase ADDRESS or --report FILE, so ${shown(option)} is not allowed.`,
    );
  }
  if (value === undefined || value.startsWith('-') || more !== undefined) {
    throw new ArgumentsInvalid('--report takes one path, of a file that does not exist yet.');
  }
  return { report: value };
}

const keyOptions = ['--stage', '--host', '--folder'];

function readKeyOptions(words: readonly string[]) {
  const values = new Map<string, string>();
  for (let at = 0; at < words.length; at += 2) {
    const [option = '', value] = words.slice(at, at + 2);
    if (!keyOptions.includes(option) || value === undefined || values.has(option)) {
      throw new ArgumentsInvalid(
        `key takes ${keyOptions.join(', ')}, each once and with a value; ${shown(option)} is not.`,
      );
    }
    values.set(option, value);
  }
  const stage = values.get('--stage') ?? '';
  const host = values.get('--host') ?? hostname();
  const folder = values.get('--folder') ?? '/etc/cyborg-agent';
  if (!isStage(stage)) {
    throw new ArgumentsInvalid(
      'key needs --stage: at most 15 lower case letters, digits and hyphens.',
    );
  }
  if (!isHostname(host)) {
    throw new ArgumentsInvalid(`--host: ${shown(host)} is not a valid name of a compute node.`);
  }
  return { thing: thingName(stage, host), folder };
}

function readErase(address: string | undefined, more: string | undefined): string {
  if (address === undefined || more !== undefined || !isDeviceAddress(address)) {
    throw new ArgumentsInvalid(
      `--erase takes one PCI address, such as 0000:3b:00.0, or one name of the kernel, such as fpga0.`,
    );
  }
  return address;
}

function readConfirm([address = '', more]: readonly string[]): string {
  const parsed = parsePciAddress(address);
  if (parsed && more === undefined) return printPciAddress(parsed);
  throw new ArgumentsInvalid('confirm takes one PCI address, such as 0000:3b:00.0.');
}

function isDeviceAddress(text: string): boolean {
  return parsePciAddress(text) !== undefined || isKernelName(text);
}

function shown(word: string): string {
  return JSON.stringify(word.replaceAll(/[^\x20-\x7e]/g, '?'));
}
