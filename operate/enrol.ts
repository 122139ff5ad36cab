// `cyborg-ops enrol <verb> --stage <stage> ...`: issues, renews and removes the identities of
// compute nodes at AWS IoT. Account, region and credentials come from AWS's own environment
// variables.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { IoTClient } from '@aws-sdk/client-iot';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { print } from '#core/command-line/print.ts';
import { isHostname, isStage, readHostname, thingName } from '#core/contracts/topics.ts';
import { createStore } from '#core/deps.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { agentSettings, modulesIn } from './enrol/agent-settings.ts';
import {
  keepCertificate,
  refuseUnknown,
  retireCertificates,
  revokeCertificates,
} from './enrol/end-certificates.ts';
import { EnrolmentRefused, enrolHost } from './enrol/enrol-host.ts';
import { amazonAuthorities, installedAt, openHostFolder } from './enrol/host-folder.ts';
import { createRegistry, type Registry, RegistryMismatch } from './enrol/registry.ts';
import { removeHosts } from './enrol/remove-hosts.ts';
import type { StackCommand } from './ops/verb.ts';

const options = {
  stage: { type: 'string' },
  out: { type: 'string' },
  settings: { type: 'string' },
  'drivers-dir': { type: 'string' },
  port: { type: 'string' },
  ca: { type: 'string' },
  at: { type: 'string' },
  images: { type: 'string' },
  keep: { type: 'string' },
  all: { type: 'boolean' },
} as const;
type Option = keyof typeof options;

const verbs = ['add', 'rotate', 'retire', 'revoke', 'remove', 'list'] as const;
type Verb = (typeof verbs)[number];

/** The options of each verb besides `--stage`. */
const taken: Readonly<Record<Verb, readonly Option[]>> = {
  add: ['out', 'settings', 'drivers-dir', 'port', 'ca', 'at', 'images'],
  rotate: ['out', 'settings', 'drivers-dir', 'port', 'ca', 'at', 'images'],
  retire: ['keep'],
  revoke: [],
  remove: ['all'],
  list: [],
};

type GivenOptions = Partial<Record<Exclude<Option, 'all'>, string>> & { readonly all?: boolean };

interface Target {
  readonly registry: Registry;
  readonly stage: string;
  readonly thing: string;
  readonly hostname: string;
}

async function main(words: string[]): Promise<void> {
  const parsed = parseArgs({ args: words, allowPositionals: true, options });
  const { positionals } = parsed;
  const values: GivenOptions = parsed.values;
  const [name, hostname, ...others] = positionals;
  const verb = verbs.find((each) => each === name);
  if (verb === undefined) {
    throw new WrongArguments(
      name === undefined
        ? 'The verb is missing.'
        : `Unknown verb ${name}: it must be one of ${verbs.join(', ')}.`,
    );
  }
  const { stage } = values;
  if (stage === undefined) throw new WrongArguments('--stage is missing.');
  if (!isStage(stage)) {
    throw new WrongArguments(
      `--stage ${stage} must be at most 15 lower case letters, digits and hyphens.`,
    );
  }
  refuseWrongOptions(verb, values, hostname);
  if (others.length > 0) {
    throw new WrongArguments(`Only one host is allowed, not ${positionals.slice(1).join(', ')}.`);
  }
  const registry = createRegistry(new IoTClient(), stage);
  if (verb === 'list') return list(registry, stage);
  if (values.all) return remove(registry, stage, await registry.things());
  if (hostname === undefined) throw new WrongArguments('The host is missing.');
  if (!isHostname(hostname)) {
    throw new WrongArguments(`${JSON.stringify(hostname)} is not a valid name of a compute node.`);
  }
  const target = { registry, stage, hostname, thing: thingName(stage, hostname) };
  await actions[verb](target, values);
}

function refuseWrongOptions(verb: Verb, options: GivenOptions, hostname: string | undefined): void {
  for (const option of Object.keys(options) as Option[]) {
    if (option === 'stage' || taken[verb].includes(option)) continue;
    const of = verbs.filter((each) => taken[each].includes(option));
    throw new WrongArguments(`--${option} goes with ${of.join(' and ')}, not with ${verb}.`);
  }
  const isOfAll = verb === 'list' || options.all === true;
  if (isOfAll && hostname !== undefined) {
    const subject = options.all ? '--all' : verb;
    throw new WrongArguments(`${subject} takes no host, but ${hostname} was given.`);
  }
  const { port } = options;
  if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535)) {
    throw new WrongArguments(`--port ${port} must be a number from 1 to 65535.`);
  }
}

const actions: Readonly<
  Record<Exclude<Verb, 'list'>, (target: Target, options: GivenOptions) => Promise<void>>
> = {
  add: (target, options) => {
    if (options.settings === undefined) {
      throw new WrongArguments('--settings is missing: it says what the host may offer.');
    }
    return writeFolder(target, options, false);
  },
  rotate: (target, options) => writeFolder(target, options, true),
  async retire({ registry, stage, thing, hostname }, { keep }) {
    if (keep !== undefined)
      return printChange('removed', await keepCertificate(registry, thing, keep));
    const inUse = (await presenceOf(stage, hostname))?.certificate;
    printChange('removed', await retireCertificates(registry, thing, inUse));
  },
  async revoke({ registry, thing }) {
    printChange('revoked', await revokeCertificates(registry, thing));
  },
  async remove({ registry, stage, thing }) {
    await refuseUnknown(registry, thing);
    await remove(registry, stage, [thing]);
  },
};

async function writeFolder(
  { registry, stage, hostname, thing }: Target,
  { out, settings, ca, images, at = installedAt, port = '8883', ...given }: GivenOptions,
  isRotation: boolean,
): Promise<void> {
  if (out === undefined) throw new WrongArguments('--out is missing.');
  const text = settings === undefined ? undefined : readFileSync(settings, 'utf8');
  const drivers = given['drivers-dir'];
  const modules = drivers === undefined ? [] : await modulesIn(drivers);
  const write = (host: string) => {
    const endpoint = `${host}:${port}`;
    return agentSettings({ stage, hostname, endpoint, at, images, modules }, text ?? '{}');
  };
  // Wrong settings are refused before anything is created.
  if (text !== undefined) write('broker.example');
  const certificate = await enrolHost({
    registry,
    stage,
    hostname,
    folder: openHostFolder(out),
    authorities: ca === undefined ? amazonAuthorities() : readFileSync(ca, 'utf8'),
    ...present({ settings: text === undefined ? undefined : write }),
    isRotation,
  });
  print(`${thing} may connect with certificate ${certificate.id}.`);
  print(`Copy ${resolve(out)}/ to ${at}/ of ${hostname}, for root only, and remove it here.`);
}

async function list(registry: Registry, stage: string): Promise<void> {
  for (const thing of await registry.things()) {
    const hostname = readHostname(thing);
    printHost(hostname, await registry.certificatesOf(thing), await presenceOf(stage, hostname));
  }
}

async function remove(registry: Registry, stage: string, things: readonly string[]): Promise<void> {
  if (things.length === 0) print('No hosts are enrolled.');
  const isConnected = async (hostname: string) => {
    const presence = await presenceOf(stage, hostname).catch(unlessTableIsGone);
    return presence?.isConnected ?? false;
  };
  await removeHosts(registry, things, isConnected, (hostname, certificates) => {
    printChange('removed', certificates);
    print(`removed ${hostname}`);
  });
}

async function presenceOf(stage: string, hostname: string): Promise<Presence | undefined> {
  const { store } = createStore(createDocuments(), stage);
  return (await store.inventory.host(hostname)).host.presence;
}

/** A half-removed stack may have no tables; its hosts can still be removed. */
function unlessTableIsGone(error: Error): undefined {
  if (error.name !== 'ResourceNotFoundException') throw error;
}

interface Named {
  readonly id: string;
  readonly status: string;
  readonly createdAt: Date;
}

function printHost(hostname: string, certificates: readonly Named[], presence?: Presence): void {
  const seen = presence
    ? `${presence.isConnected ? 'connected' : 'disconnected'} since ${presence.at}`
    : 'never connected';
  print(`${hostname}: ${seen}`);
  for (const { id, status, createdAt } of certificates) {
    const use = id === presence?.certificate ? '  last used' : '';
    print(`  ${id}  ${status}  ${createdAt.toISOString()}${use}`);
  }
}

function printChange(change: string, certificates: readonly Named[]): void {
  if (certificates.length === 0) print(`No certificate was ${change}.`);
  for (const { id } of certificates) print(`${change} ${id}`);
}

export const enrol: StackCommand = {
  main,
  isRefusal: (error) => error instanceof EnrolmentRefused || error instanceof RegistryMismatch,
};
